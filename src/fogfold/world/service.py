"""One tick of service: what is asked for, what the nodes can give, how long it takes, what it draws.

Three passes over the arrays. The first sums demand by node, the second finds each node's load, the share it serves and
its power, the third counts requests served, late and unserved. Demand above capacity is not served: the scarcest of
the four resources decides for all containers of a node alike.
"""

from __future__ import annotations

import numpy as np

from fogfold.compiled import Array, compiled_inline, compiled_inner
from fogfold.cost.latency import late_share, queueing_ms
from fogfold.cost.power import curve_power_w
from fogfold.encoding.rows import ContainerInt, ContainerRow, NodeRow
from fogfold.model.node import NodeState
from fogfold.units import MS_PER_S, TICK_S
from fogfold.world.live import Fixed, Future, Live
from fogfold.world.phase import Phase
from fogfold.world.rows import CI, NI, C, K, N, P, Total

__all__ = ["read_usage", "serve"]


@compiled_inner
def _ask(fixed: Fixed, live: Live, future: Future, weight: float) -> None:
    """Level and requests of every container in this tick: demand between two samples, times the surge of its region."""
    tick = live.clock[K.TICK]
    sample = int(fixed.constants[P.SAMPLE_TICKS])
    k = tick // sample
    part = np.float32((tick % sample) / sample)
    low, high, surge = future.level[k], future.level[k + 1], future.surge[tick]
    region, rate = fixed.container_int[ContainerInt.REGION], fixed.container[ContainerRow.REQUEST_RATE]
    level, asked, mean = live.container[C.LEVEL], live.container[C.ASKED], live.container[C.MEAN_LEVEL]
    for c in range(len(low)):
        wanted = np.float64((low[c] + (high[c] - low[c]) * part) * surge[region[c]])
        level[c] = wanted
        asked[c] = rate[c] * wanted * TICK_S
    for c in range(len(low)):
        mean[c] += (level[c] - mean[c]) * weight


@compiled_inner
def _interrupt(live: Live) -> None:
    """Take from this tick's requests those of containers that run nowhere, are down or restart over and over."""
    now, now_int = live.container, live.container_int
    unserved, waiting, troubled = 0.0, 0.0, 0
    for c in range(now.shape[1]):
        if now_int[CI.TROUBLE, c] == 0:
            continue
        up = 1.0
        if now_int[CI.PLACEMENT, c] < 0:
            up = 0.0
        else:
            if now_int[CI.LOOP_TICKS, c] > 0:
                now_int[CI.LOOP_TICKS, c] -= 1
                up = 0.5
            if now[C.DOWN_S, c] > 0.0:
                down = min(now[C.DOWN_S, c], TICK_S)
                now[C.DOWN_S, c] -= down
                up *= 1.0 - down / TICK_S
            if now_int[CI.LOOP_TICKS, c] == 0 and now[C.DOWN_S, c] == 0.0:
                now_int[CI.TROUBLE, c] = 0
        troubled += now_int[CI.TROUBLE, c]
        lost = now[C.ASKED, c] * (1.0 - up)
        now[C.ASKED, c] -= lost
        now[C.LEVEL, c] *= up
        now[C.REQUESTS, c] += lost
        now[C.VIOLATED, c] += lost
        unserved += lost
        waiting += (1.0 - up) * TICK_S
    live.clock[K.TROUBLED] = troubled
    live.total[Total.REQUESTS] += unserved
    live.total[Total.UNSERVED] += unserved
    live.total[Total.WAITING_S] += waiting


@compiled_inline
def _between(levels: Array, k: int, c: int, part: float) -> float:
    """A traced level between two samples."""
    return levels[k, c] + (levels[k + 1, c] - levels[k, c]) * part


@compiled_inner
def _sum_demand(fixed: Fixed, live: Live, future: Future) -> None:
    """Demand on every node in this tick."""
    tick = live.clock[K.TICK]
    sample = int(fixed.constants[P.SAMPLE_TICKS])
    k, part = tick // sample, (tick % sample) / sample
    traced = future.memory_level.shape[0] > 0
    overhead, idle_memory = 1.0 + fixed.constants[P.OVERHEAD], fixed.constants[P.IDLE_MEMORY]
    request, used, level = fixed.request, live.used, live.container[C.LEVEL]
    placement, phase = live.container_int[CI.PLACEMENT], live.container_int[CI.PHASE]
    used[:] = 0.0
    for c in range(len(placement)):
        n = placement[c]
        if n < 0:
            continue
        cpu = network = disk = level[c]
        memory = idle_memory + (1.0 - idle_memory) * min(cpu, 1.0)
        if traced:
            memory = _between(future.memory_level, k, c, part)
            network = _between(future.network_level, k, c, part)
            disk = _between(future.disk_level, k, c, part)
        if phase[c] == Phase.COPYING:
            cpu *= overhead
        # Four neighbours in memory: the compiler adds them at once.
        used[n, 0] += request[c, 0] * cpu
        used[n, 1] += request[c, 1] * memory
        used[n, 2] += request[c, 2] * network
        used[n, 3] += request[c, 3] * disk


@compiled_inner
def read_usage(fixed: Fixed, live: Live, future: Future) -> None:
    """Take the readings of a step at its end: mean CPU demand, and memory, network and disk as they are now.

    A container that runs nowhere keeps its last reading: absence is not zero.
    """
    tick = live.clock[K.TICK] - 1
    sample = int(fixed.constants[P.SAMPLE_TICKS])
    k, part = tick // sample, (tick % sample) / sample
    traced = future.memory_level.shape[0] > 0
    idle_memory = fixed.constants[P.IDLE_MEMORY]
    request, now, placement = fixed.request, live.container, live.container_int[CI.PLACEMENT]
    for c in range(len(placement)):
        if placement[c] < 0:
            continue
        level = now[C.LEVEL, c]
        memory, network, disk = idle_memory + (1.0 - idle_memory) * min(level, 1.0), level, level
        if traced:
            memory = _between(future.memory_level, k, c, part)
            network = _between(future.network_level, k, c, part)
            disk = _between(future.disk_level, k, c, part)
        now[C.USAGE_CPU, c] = request[c, 0] * now[C.MEAN_LEVEL, c]
        now[C.USAGE_MEMORY, c] = request[c, 1] * memory
        now[C.USAGE_NETWORK, c] = request[c, 2] * network
        now[C.USAGE_DISK, c] = request[c, 3] * disk


@compiled_inner
def _load_nodes(fixed: Fixed, live: Live) -> None:
    """Load, served share and power of every node; energy of the tick."""
    bound = fixed.constants[P.LOAD_BOUND]
    node, now, used, curve = fixed.node, live.node, live.used, fixed.curve
    states = live.node_int[NI.STATE]
    energy, asleep_j, switching_j, asleep_s, failed_s, demand = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for n in range(len(states)):
        state = states[n]
        if state == NodeState.ON or state == NodeState.DRAINING:
            load = used[n, 0] / node[NodeRow.CPU_CORES, n]
            worst = load
            for r in range(1, 4):
                worst = max(worst, used[n, r] / node[r, n])
            now[N.SERVED, n] = 1.0 / worst if worst > 1.0 else 1.0
            now[N.SLACK, n] = 1.0 - min(load, bound)
            demand += used[n, 0] * TICK_S
            power = curve_power_w(min(load, 1.0), curve[n])
        elif state == NodeState.ASLEEP:
            power = node[NodeRow.SLEEP_W, n]
            asleep_j += power * TICK_S
            asleep_s += TICK_S
        elif state == NodeState.FAILED:
            power = 0.0
            failed_s += TICK_S
        else:
            # A transition that ends within the tick draws the power of the state that follows for the rest.
            part = min(now[N.TIMER_S, n], TICK_S) / TICK_S
            if state == NodeState.GOING_TO_SLEEP:
                power = part * node[NodeRow.SHUTDOWN_W, n] + (1.0 - part) * node[NodeRow.SLEEP_W, n]
            else:
                power = part * node[NodeRow.WAKE_W, n] + (1.0 - part) * curve[n, 0]
            switching_j += power * TICK_S
        now[N.POWER_W, n] = power
        energy += power * TICK_S
    live.total[Total.ENERGY_J] += energy
    live.total[Total.ENERGY_ASLEEP_J] += asleep_j
    live.total[Total.ENERGY_SWITCHING_J] += switching_j
    live.total[Total.ASLEEP_NODE_S] += asleep_s
    live.total[Total.FAILED_NODE_S] += failed_s
    live.total[Total.DEMAND_CORE_S] += demand


@compiled_inner
def _answer(live: Live) -> None:
    """Requests that each container serves in this tick, how many of them late, and the time of all of them.

    Short loops that each write one row: the compiler runs eight containers at once through them, which it cannot do
    where a loop looks up its node and writes three rows.
    """
    now, node, placement = live.container, live.node, live.container_int[CI.PLACEMENT]
    asked, served, late, spent = now[C.ASKED], now[C.SERVED], now[C.LATE], now[C.SPENT_MS]
    patience, slack, service = now[C.PATIENCE], now[C.SLACK], now[C.SERVICE_MS]
    share, node_slack = node[N.SERVED], node[N.SLACK]
    for c in range(len(placement)):
        # What runs nowhere asks nothing any more (`_interrupt`), so that it may look at any node.
        served[c] = asked[c] * share[max(placement[c], 0)]
    for c in range(len(placement)):
        slack[c] = node_slack[max(placement[c], 0)]
    for c in range(len(placement)):
        late[c] = served[c] * late_share(patience[c], slack[c])
    for c in range(len(placement)):
        spent[c] = served[c] * queueing_ms(service[c], slack[c])


@compiled_inner
def _count_requests(fixed: Fixed, live: Live) -> None:
    """Add up requests served, late and unserved, and how long the served ones took."""
    asked_sum, late_sum, served_sum, queue_sum, trip_sum, work_sum = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    now = live.container
    asked, served, late, spent = now[C.ASKED], now[C.SERVED], now[C.LATE], now[C.SPENT_MS]
    trip, service = now[C.ROUND_TRIP_MS], fixed.container[ContainerRow.SERVICE_MS]
    requests, violated = now[C.REQUESTS], now[C.VIOLATED]
    for c in range(len(asked)):
        requests[c] += asked[c]
    for c in range(len(asked)):
        violated[c] += asked[c] - served[c] + late[c]
    for c in range(len(asked)):
        asked_sum += asked[c]
        served_sum += served[c]
        late_sum += late[c]
        queue_sum += spent[c]
        trip_sum += served[c] * trip[c]
        work_sum += served[c] * service[c]
    live.total[Total.REQUESTS] += asked_sum
    live.total[Total.LATE] += late_sum
    live.total[Total.UNSERVED] += asked_sum - served_sum
    live.total[Total.LATENCY_MS] += queue_sum + trip_sum
    live.total[Total.ROUND_TRIP_MS] += trip_sum
    live.total[Total.WORK_CORE_S] += work_sum / MS_PER_S


@compiled_inner
def serve(fixed: Fixed, live: Live, future: Future, weight: float) -> None:
    """One tick of service; `weight` is 1 / ticks of this step so far, for the mean over the step."""
    _ask(fixed, live, future, weight)
    if live.clock[K.TROUBLED] > 0:
        _interrupt(live)
    _sum_demand(fixed, live, future)
    _load_nodes(fixed, live)
    _answer(live)
    _count_requests(fixed, live)
