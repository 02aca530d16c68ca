"""One tick of service: what is asked for, what the nodes can give, how long it takes, what it draws.

Three passes over the arrays. The first sums demand by node, the second finds each node's load, the share it serves and
its power, the third counts requests served, late and unserved. Demand above capacity is not served: the scarcest of
the four resources decides for all containers of a node alike.
"""

from __future__ import annotations

from fogfold.compiled import compiled
from fogfold.cost.latency import late_share, queueing_ms
from fogfold.cost.power import curve_power_w
from fogfold.encoding.rows import ContainerInt, ContainerRow, NodeRow
from fogfold.model.container import ServiceClass
from fogfold.model.node import NodeState
from fogfold.units import MS_PER_S, TICK_S
from fogfold.world.live import Fixed, Future, Live
from fogfold.world.phase import Phase
from fogfold.world.rows import CI, NI, C, K, N, P, Total

__all__ = ["serve"]

_TICK_MS = TICK_S * MS_PER_S


@compiled
def _sum_demand(fixed: Fixed, live: Live, future: Future, weight: float) -> None:
    """Demand of every container in this tick, summed by node; `weight` is 1 / ticks of this step so far."""
    tick = live.clock[K.TICK]
    sample = int(fixed.constants[P.SAMPLE_TICKS])
    k, part = tick // sample, (tick % sample) / sample
    low, high = future.level[k], future.level[k + 1]
    surge = future.surge[tick]
    own_memory = future.memory_level.shape[0] > 0
    own_network = future.network_level.shape[0] > 0
    own_disk = future.disk_level.shape[0] > 0
    overhead, idle_memory = 1.0 + fixed.constants[P.OVERHEAD], fixed.constants[P.IDLE_MEMORY]
    container, now, now_int, used = fixed.container, live.container, live.container_int, live.node
    region = fixed.container_int[ContainerInt.REGION]
    placement, loop_ticks, phase = now_int[CI.PLACEMENT], now_int[CI.LOOP_TICKS], now_int[CI.PHASE]
    used[N.USED_CPU : N.USED_CPU + 4] = 0.0
    requests, unserved, waiting = 0.0, 0.0, 0.0
    for c in range(len(placement)):
        here = surge[region[c]]
        level = (low[c] + (high[c] - low[c]) * part) * here
        work = container[ContainerRow.CPU_CORES, c] * level
        offered = work * _TICK_MS / container[ContainerRow.SERVICE_MS, c]
        now[C.OFFERED, c] = offered
        requests += offered
        n = placement[c]
        if n < 0:
            unserved += offered
            waiting += TICK_S
            now[C.REQUESTS, c] += offered
            now[C.VIOLATED, c] += offered
            now[C.UP, c] = 0.0
            continue
        up = 1.0
        if loop_ticks[c] > 0:
            loop_ticks[c] -= 1
            up = 0.5
            waiting += 0.5 * TICK_S
        if now[C.DOWN_S, c] > 0.0:
            down = min(now[C.DOWN_S, c], TICK_S)
            now[C.DOWN_S, c] -= down
            up *= 1.0 - down / TICK_S
            waiting += down
        now[C.UP, c] = up
        cpu = work * up
        if phase[c] == Phase.COPYING:
            cpu *= overhead
        memory = idle_memory + (1.0 - idle_memory) * min(level, 1.0)
        if own_memory:
            memory = future.memory_level[k, c] + (future.memory_level[k + 1, c] - future.memory_level[k, c]) * part
        network, disk = level, level
        if own_network:
            network = future.network_level[k, c] + (future.network_level[k + 1, c] - future.network_level[k, c]) * part
            network *= here
        if own_disk:
            disk = future.disk_level[k, c] + (future.disk_level[k + 1, c] - future.disk_level[k, c]) * part
        memory *= container[ContainerRow.MEMORY_BYTES, c]
        network *= container[ContainerRow.NETWORK_BIT_S, c] * up
        disk *= container[ContainerRow.DISK_IOPS, c] * up
        used[N.USED_CPU, n] += cpu
        used[N.USED_MEMORY, n] += memory
        used[N.USED_NETWORK, n] += network
        used[N.USED_DISK, n] += disk
        now[C.USAGE_CPU, c] += (cpu - now[C.USAGE_CPU, c]) * weight
        now[C.USAGE_MEMORY, c] += (memory - now[C.USAGE_MEMORY, c]) * weight
        now[C.USAGE_NETWORK, c] += (network - now[C.USAGE_NETWORK, c]) * weight
        now[C.USAGE_DISK, c] += (disk - now[C.USAGE_DISK, c]) * weight
    live.total[Total.REQUESTS] += requests
    live.total[Total.UNSERVED] += unserved
    live.total[Total.WAITING_S] += waiting


@compiled
def _load_nodes(fixed: Fixed, live: Live) -> None:
    """Load, served share and power of every node; energy of the tick."""
    bound = fixed.constants[P.LOAD_BOUND]
    node, now, curve = fixed.node, live.node, fixed.curve
    states = live.node_int[NI.STATE]
    energy, asleep_j, switching_j, asleep_s, failed_s, demand = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for n in range(len(states)):
        state = states[n]
        if state == NodeState.ON or state == NodeState.DRAINING:
            load = now[N.USED_CPU, n] / node[NodeRow.CPU_CORES, n]
            worst = load
            for r in range(1, 4):
                worst = max(worst, now[N.USED_CPU + r, n] / node[r, n])
            now[N.SERVED, n] = 1.0 / worst if worst > 1.0 else 1.0
            now[N.SLACK, n] = 1.0 - min(load, bound)
            demand += now[N.USED_CPU, n] * TICK_S
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


@compiled
def _count_requests(fixed: Fixed, live: Live) -> None:
    """Requests served, late and unserved, and how long the served ones took."""
    late_sum, unserved_sum, latency_sum, trip_sum, work_sum = 0.0, 0.0, 0.0, 0.0, 0.0
    critical, critical_bad = 0.0, 0.0
    container, now, node = fixed.container, live.container, live.node
    placement = live.container_int[CI.PLACEMENT]
    service_class = fixed.container_int[ContainerInt.SERVICE_CLASS]
    for c in range(len(placement)):
        n = placement[c]
        if n < 0:
            continue
        offered, slack, trip = now[C.OFFERED, c], node[N.SLACK, n], now[C.ROUND_TRIP_MS, c]
        good = offered * now[C.UP, c] * node[N.SERVED, n]
        late = good * late_share(now[C.PATIENCE, c], slack)
        bad = offered - good + late
        now[C.REQUESTS, c] += offered
        now[C.VIOLATED, c] += bad
        late_sum += late
        unserved_sum += offered - good
        trip_sum += good * trip
        latency_sum += good * (queueing_ms(now[C.SERVICE_MS, c], slack) + trip)
        work_sum += good * container[ContainerRow.SERVICE_MS, c]
        if service_class[c] == ServiceClass.CRITICAL:
            critical += offered
            critical_bad += bad
    live.total[Total.LATE] += late_sum
    live.total[Total.UNSERVED] += unserved_sum
    live.total[Total.LATENCY_MS] += latency_sum
    live.total[Total.ROUND_TRIP_MS] += trip_sum
    live.total[Total.WORK_CORE_S] += work_sum / MS_PER_S
    live.total[Total.CRITICAL_REQUESTS] += critical
    live.total[Total.CRITICAL_VIOLATED] += critical_bad


@compiled
def serve(fixed: Fixed, live: Live, future: Future, weight: float) -> None:
    """One tick of service."""
    _sum_demand(fixed, live, future, weight)
    _load_nodes(fixed, live)
    _count_requests(fixed, live)
