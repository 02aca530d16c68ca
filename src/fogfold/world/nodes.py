"""Nodes that sleep, wake, fail and are repaired, and what that does to the containers on them.

Transitions follow `model.node.NODE_TRANSITIONS`. Whatever a node loses, nobody is lost with it: its containers wait
for `reschedule_s` and are started on the node with the most room that may hold them, as a plain orchestrator would.
"""

from __future__ import annotations

from fogfold.compiled import compiled_inner
from fogfold.encoding.feasibility import refusal
from fogfold.encoding.rows import ContainerInt, ContainerRow, NodeInt, NodeRow
from fogfold.model.node import NodeState
from fogfold.model.resources import RESOURCE_COUNT
from fogfold.units import BITS_PER_BYTE, TICK_S
from fogfold.world.chance import chance
from fogfold.world.faults import FaultKind
from fogfold.world.live import Fixed, Future, Live
from fogfold.world.moves import reckon, undo
from fogfold.world.network import settle, settle_all
from fogfold.world.rows import CI, NI, C, K, N, P, S, Total

__all__ = ["advance_nodes", "best_start", "order_sleep", "order_wake", "place", "restart_unplaced", "strike"]

_TRIP_SCALE_MS = 50.0
_WAKE_PURPOSE = 3


@compiled_inner
def order_sleep(n: int, fixed: Fixed, live: Live) -> None:
    """Start to empty a node, or shut it down at once where it is empty; refused where it may not or cannot sleep."""
    legal = (
        live.node_int[NI.STATE, n] == NodeState.ON or live.node_int[NI.STATE, n] == NodeState.DRAINING
    ) and live.node_int[NI.ARRIVING, n] == 0
    if not legal or fixed.node_int[NodeInt.NEVER_SLEEP, n] != 0:
        live.total[Total.REFUSED] += 1.0
    elif live.node_int[NI.RUNNING, n] == 0:
        _shut_down(n, fixed, live)
    else:
        live.node_int[NI.STATE, n] = NodeState.DRAINING


@compiled_inner
def order_wake(n: int, fixed: Fixed, live: Live) -> None:
    """Wake a node that sleeps, or call off its draining; refused in any other state."""
    if live.node_int[NI.STATE, n] == NodeState.ASLEEP:
        live.node_int[NI.STATE, n] = NodeState.WAKING
        live.node[N.TIMER_S, n] = fixed.node[NodeRow.WAKE_S, n]
        live.total[Total.WAKES] += 1.0
    elif live.node_int[NI.STATE, n] == NodeState.DRAINING:
        live.node_int[NI.STATE, n] = NodeState.ON
    else:
        live.total[Total.REFUSED] += 1.0


@compiled_inner
def _shut_down(n: int, fixed: Fixed, live: Live) -> None:
    live.node_int[NI.STATE, n] = NodeState.GOING_TO_SLEEP
    live.node[N.TIMER_S, n] = fixed.node[NodeRow.SHUTDOWN_S, n]
    live.total[Total.SLEEPS] += 1.0


@compiled_inner
def advance_nodes(fixed: Fixed, live: Live) -> None:
    """Let timers run for one tick and change states where they end; shut down what has been emptied."""
    for n in range(len(live.node_int[NI.STATE])):
        state = live.node_int[NI.STATE, n]
        if state == NodeState.ON or state == NodeState.ASLEEP:
            continue
        if state == NodeState.DRAINING:
            if live.node_int[NI.RUNNING, n] == 0 and live.node_int[NI.ARRIVING, n] == 0:
                _shut_down(n, fixed, live)
            continue
        live.node[N.TIMER_S, n] -= TICK_S
        if live.node[N.TIMER_S, n] > 1e-9:
            continue
        live.node[N.TIMER_S, n] = 0.0
        if state == NodeState.GOING_TO_SLEEP:
            live.node_int[NI.STATE, n] = NodeState.ASLEEP
        elif state == NodeState.FAILED:
            live.node_int[NI.STATE, n] = NodeState.WAKING
            live.node[N.TIMER_S, n] = fixed.node[NodeRow.WAKE_S, n]
        elif chance(live.clock[K.KEY], n, live.clock[K.TICK], _WAKE_PURPOSE) < fixed.node[NodeRow.WAKE_FAILURE, n]:
            live.total[Total.WAKE_FAILURES] += 1.0
            _fail(n, fixed.node[NodeRow.MTTR_S, n], fixed, live)
        else:
            live.node_int[NI.STATE, n] = NodeState.ON


@compiled_inner
def _fail(n: int, repair_s: float, fixed: Fixed, live: Live) -> None:
    """A node stops: moves to and from it are undone, its containers run nowhere for now."""
    i = 0
    while i < live.clock[K.ACTIVE]:
        c = int(live.container_int[CI.ACTIVE, i])
        if live.container_int[CI.TARGET, c] == n or live.container_int[CI.PLACEMENT, c] == n:
            undo(c, fixed, live)
        else:
            i += 1
    if live.node_int[NI.RUNNING, n] > 0:
        for c in range(len(live.container_int[CI.PLACEMENT])):
            if live.container_int[CI.PLACEMENT, c] != n:
                continue
            live.container_int[CI.PLACEMENT, c] = -1
            live.container_int[CI.TROUBLE, c] = 1
            live.clock[K.TROUBLED] += 1
            live.container[C.WAIT_S, c] = fixed.constants[P.RESCHEDULE_S]
            live.container[C.DOWN_S, c] = 0.0
            live.clock[K.UNPLACED] += 1
            live.node_int[NI.RUNNING, n] -= 1
            for r in range(RESOURCE_COUNT):
                live.node[N.REQUESTED_CPU + r, n] -= fixed.container[r, c]
            if fixed.container_int[ContainerInt.ACCELERATOR_KIND, c] >= 0:
                live.node_int[NI.ACCELERATORS, n] -= fixed.container_int[ContainerInt.ACCELERATOR_COUNT, c]
    live.node_int[NI.STATE, n] = NodeState.FAILED
    live.node[N.TIMER_S, n] = repair_s


@compiled_inner
def strike(fixed: Fixed, live: Live, future: Future) -> None:
    """Let the faults of this tick happen, and the degradations that are over end."""
    changed = False
    for s in range(len(live.site[S.FACTOR])):
        if live.site[S.TICKS_LEFT, s] > 0.0:
            live.site[S.TICKS_LEFT, s] -= 1.0
            if live.site[S.TICKS_LEFT, s] == 0.0:
                live.site[S.FACTOR, s] = 1.0
                changed = True
    faults = future.fault
    while live.clock[K.NEXT_FAULT] < faults.shape[1] and faults[0, live.clock[K.NEXT_FAULT]] <= live.clock[K.TICK]:
        i = live.clock[K.NEXT_FAULT]
        live.clock[K.NEXT_FAULT] += 1
        kind, target, ticks = int(faults[1, i]), int(faults[2, i]), int(faults[3, i])
        if kind == FaultKind.NODE_LOSS:
            state = live.node_int[NI.STATE, target]
            if state != NodeState.ASLEEP and state != NodeState.FAILED:
                live.total[Total.NODE_LOSSES] += 1.0
                _fail(target, ticks * TICK_S, fixed, live)
        elif kind == FaultKind.LINK_DEGRADATION:
            live.site[S.FACTOR, target] = future.fault_magnitude[i]
            live.site[S.TICKS_LEFT, target] = float(ticks)
            changed = True
        elif kind == FaultKind.RESTART_LOOP:
            live.container_int[CI.LOOP_TICKS, target] = ticks
            live.container_int[CI.TROUBLE, target] = 1
            live.clock[K.TROUBLED] += 1
    if changed:
        settle_all(fixed, live)


@compiled_inner
def best_start(c: int, ceiling: float, fixed: Fixed, live: Live) -> int:
    """Node on which to start a container that runs nowhere: the most room, then the nearest; -1 where none may.

    The score is the largest requested share after the start, as in Kubernetes' LeastAllocated, plus the round trip to
    its users over 50 ms: a whole empty node is worth 50 ms.
    """
    best, best_score = -1, 1e30
    for n in range(len(live.node_int[NI.STATE])):
        if live.node_int[NI.STATE, n] != NodeState.ON:
            continue
        reason = refusal(
            c,
            n,
            ceiling,
            fixed.node,
            fixed.node_int,
            fixed.container,
            fixed.container_int,
            fixed.group,
            fixed.members,
            fixed.site_km,
            live.node_int[NI.STATE],
            live.container_int[CI.PLACEMENT],
            live.container_int[CI.TARGET],
            live.container,
            live.node[N.REQUESTED_CPU : N.REQUESTED_CPU + 4],
            live.node[N.FORESEEN_CPU : N.FORESEEN_CPU + 4],
            live.node_int[NI.ACCELERATORS],
        )
        if reason != 0:
            continue
        score = 0.0
        for r in range(RESOURCE_COUNT):
            score = max(score, (live.node[N.REQUESTED_CPU + r, n] + fixed.container[r, c]) / fixed.node[r, n])
        here = fixed.node_int[NodeInt.SITE, n]
        for k in range(fixed.user_site.shape[1]):
            region = fixed.user_site[c, k]
            score += fixed.user_share[c, k] * fixed.round_trip_ms[region, here] / _TRIP_SCALE_MS
        if score < best_score:
            best, best_score = n, score
    return best


@compiled_inner
def place(c: int, n: int, fixed: Fixed, live: Live) -> None:
    """Put a container that runs nowhere on a node that may hold it."""
    for r in range(RESOURCE_COUNT):
        live.node[N.REQUESTED_CPU + r, n] += fixed.container[r, c]
        live.node[N.FORESEEN_CPU + r, n] += live.container[r, c]
    if fixed.container_int[ContainerInt.ACCELERATOR_KIND, c] >= 0:
        live.node_int[NI.ACCELERATORS, n] += fixed.container_int[ContainerInt.ACCELERATOR_COUNT, c]
    live.container_int[CI.PLACEMENT, c] = n
    live.node_int[NI.RUNNING, n] += 1
    live.clock[K.UNPLACED] -= 1
    settle(c, n, fixed, live)


@compiled_inner
def restart_unplaced(fixed: Fixed, live: Live) -> None:
    """Start elsewhere those whose wait is over; whoever finds no node waits on."""
    reckoned = False
    for c in range(len(live.container_int[CI.PLACEMENT])):
        if live.container_int[CI.PLACEMENT, c] >= 0:
            continue
        live.container[C.WAIT_S, c] -= TICK_S
        if live.container[C.WAIT_S, c] > 0.0:
            continue
        live.container[C.WAIT_S, c] = 0.0
        if not reckoned:
            reckon(fixed, live)
            reckoned = True
        n = best_start(c, 1.0, fixed, live)
        if n < 0:
            continue
        place(c, n, fixed, live)
        live.total[Total.RESTARTS] += 1.0
        live.container[C.DOWN_S, c] = fixed.container[ContainerRow.START_S, c]
        live.container_int[CI.TROUBLE, c] = 1
        live.clock[K.TROUBLED] += 1
        if live.image[n, fixed.container_int[ContainerInt.IMAGE, c]] == 0:
            rate = min(
                fixed.constants[P.LINK_SHARE] * fixed.node[NodeRow.NETWORK_DOWN_BIT_S, n] / BITS_PER_BYTE,
                fixed.constants[P.RATE_CAP_BYTE_S],
            )
            live.container[C.DOWN_S, c] += fixed.container[ContainerRow.IMAGE_BYTES, c] / rate
            if fixed.constants[P.KEEP_IMAGES] != 0.0:
                live.image[n, fixed.container_int[ContainerInt.IMAGE, c]] = 1
