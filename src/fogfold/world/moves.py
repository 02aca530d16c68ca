"""A move from its order to its end: room held, image pulled, memory copied, frozen, arrived; or failed and undone.

The room on the target is held from the start, and the source keeps its own until the container has arrived: at no
moment could an abort leave a container without a place. Pre-copy follows `cost.migration`, tick by tick, at a
bandwidth that changes with traffic and with other moves.
"""

from __future__ import annotations

from fogfold.compiled import compiled_inner
from fogfold.encoding.feasibility import refusal
from fogfold.encoding.rows import ContainerInt, ContainerRow
from fogfold.model.container import Movability
from fogfold.model.node import NodeState
from fogfold.model.reason import Reason
from fogfold.model.resources import RESOURCE_COUNT
from fogfold.units import TICK_S
from fogfold.world.chance import chance
from fogfold.world.live import Fixed, Live
from fogfold.world.network import attempt_failure_probability, count_transfers, settle, transfer_rate_byte_s
from fogfold.world.phase import Phase
from fogfold.world.rows import CI, NI, C, K, N, P, Total

__all__ = ["advance_moves", "order_move", "reckon", "undo"]

_NEVER_FAILS = 2.0


@compiled_inner
def reckon(fixed: Fixed, live: Live) -> None:
    """Sum anew, node by node, the room taken and the usage foreseen, of those here and those on their way.

    In the order in which `encoding.arrays.ClusterView` sums, so that a policy's mask and the world agree.
    """
    live.node[N.REQUESTED_CPU : N.REQUESTED_CPU + 4] = 0.0
    live.node[N.FORESEEN_CPU : N.FORESEEN_CPU + 4] = 0.0
    for stage in range(2):
        for c in range(len(live.container_int[CI.PLACEMENT])):
            n = live.container_int[CI.PLACEMENT, c] if stage == 0 else live.container_int[CI.TARGET, c]
            if n >= 0:
                for r in range(RESOURCE_COUNT):
                    live.node[N.REQUESTED_CPU + r, n] += fixed.container[r, c]
                    live.node[N.FORESEEN_CPU + r, n] += live.container[r, c]


@compiled_inner
def order_move(c: int, n: int, fixed: Fixed, live: Live) -> int:
    """Accept a move, or refuse it and count that. Gives the `Reason`, 0 where it was accepted."""
    reason = 0 + Reason.UNPLACED
    if live.container_int[CI.PLACEMENT, c] >= 0:
        reason = refusal(
            c,
            n,
            fixed.constants[P.CEILING],
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
        live.total[Total.REFUSED] += 1.0
        return reason
    for r in range(RESOURCE_COUNT):
        live.node[N.REQUESTED_CPU + r, n] += fixed.container[r, c]
        live.node[N.FORESEEN_CPU + r, n] += live.container[r, c]
    if fixed.container_int[ContainerInt.ACCELERATOR_KIND, c] >= 0:
        live.node_int[NI.ACCELERATORS, n] += fixed.container_int[ContainerInt.ACCELERATOR_COUNT, c]
    live.container_int[CI.TARGET, c] = n
    live.node_int[NI.ARRIVING, n] += 1
    live.node_int[NI.LEAVING, live.container_int[CI.PLACEMENT, c]] += 1
    live.container_int[CI.MOVES, c] += 1
    live.container_int[CI.ATTEMPT, c] = 0
    live.container[C.MOVE_AGE_S, c] = 0.0
    live.container_int[CI.ACTIVE, live.clock[K.ACTIVE]] = c
    live.clock[K.ACTIVE] += 1
    live.total[Total.MOVES_STARTED] += 1.0
    _wait(c, 0.0, live)
    return 0


@compiled_inner
def _wait(c: int, pause_s: float, live: Live) -> None:
    live.container_int[CI.PHASE, c] = Phase.WAITING
    live.container[C.TIMER_S, c] = pause_s


@compiled_inner
def _release(c: int, fixed: Fixed, live: Live) -> None:
    """Free the room on the target and take the container off the list of moves."""
    n = int(live.container_int[CI.TARGET, c])
    for r in range(RESOURCE_COUNT):
        live.node[N.REQUESTED_CPU + r, n] -= fixed.container[r, c]
    if fixed.container_int[ContainerInt.ACCELERATOR_KIND, c] >= 0:
        live.node_int[NI.ACCELERATORS, n] -= fixed.container_int[ContainerInt.ACCELERATOR_COUNT, c]
    live.node_int[NI.ARRIVING, n] -= 1
    if live.container_int[CI.PLACEMENT, c] >= 0:
        live.node_int[NI.LEAVING, live.container_int[CI.PLACEMENT, c]] -= 1
    live.total[Total.MOVE_MEMORY_BYTE_S] += live.container[1, c] * live.container[C.MOVE_AGE_S, c]
    live.container_int[CI.TARGET, c] = -1
    live.container_int[CI.PHASE, c] = Phase.NONE
    last = live.clock[K.ACTIVE] - 1
    for i in range(last + 1):
        if live.container_int[CI.ACTIVE, i] == c:
            # Later entries move up by one, so that the order stays the order of acceptance.
            for j in range(i, last):
                live.container_int[CI.ACTIVE, j] = live.container_int[CI.ACTIVE, j + 1]
            break
    live.clock[K.ACTIVE] = last


@compiled_inner
def undo(c: int, fixed: Fixed, live: Live) -> None:
    """Give a move up: the container stays at its source, the room on the target is free again."""
    _release(c, fixed, live)
    live.total[Total.MOVES_UNDONE] += 1.0


@compiled_inner
def _arrive(c: int, fixed: Fixed, live: Live) -> None:
    """The container now runs on its target, and its room on the source is free."""
    source, n = int(live.container_int[CI.PLACEMENT, c]), int(live.container_int[CI.TARGET, c])
    live.total[Total.MOVES_DONE] += 1.0
    _release(c, fixed, live)
    for r in range(RESOURCE_COUNT):
        live.node[N.REQUESTED_CPU + r, source] -= fixed.container[r, c]
        live.node[N.REQUESTED_CPU + r, n] += fixed.container[r, c]
    if fixed.container_int[ContainerInt.ACCELERATOR_KIND, c] >= 0:
        live.node_int[NI.ACCELERATORS, source] -= fixed.container_int[ContainerInt.ACCELERATOR_COUNT, c]
        live.node_int[NI.ACCELERATORS, n] += fixed.container_int[ContainerInt.ACCELERATOR_COUNT, c]
    live.container_int[CI.PLACEMENT, c] = n
    live.node_int[NI.RUNNING, source] -= 1
    live.node_int[NI.RUNNING, n] += 1
    settle(c, n, fixed, live)


@compiled_inner
def _fail_attempt(c: int, fixed: Fixed, live: Live) -> None:
    """One attempt broke: pause and try again, longer each time, or give up."""
    live.total[Total.ATTEMPTS_FAILED] += 1.0
    live.container_int[CI.ATTEMPT, c] += 1
    if live.container_int[CI.ATTEMPT, c] >= int(fixed.constants[P.ATTEMPTS]):
        undo(c, fixed, live)
    else:
        _wait(c, fixed.constants[P.RETRY_S] * 2.0 ** (live.container_int[CI.ATTEMPT, c] - 1), live)


@compiled_inner
def _begin(c: int, fixed: Fixed, live: Live) -> None:
    """Start an attempt: the image first, where it is missing."""
    n = int(live.container_int[CI.TARGET, c])
    occasion = live.container_int[CI.MOVES, c] * 64 + live.container_int[CI.ATTEMPT, c]
    p = attempt_failure_probability(int(live.container_int[CI.PLACEMENT, c]), n, fixed, live)
    live.container[C.FAILS_AT, c] = _NEVER_FAILS
    if chance(live.clock[K.KEY], c, occasion, 0) < p:
        live.container[C.FAILS_AT, c] = chance(live.clock[K.KEY], c, occasion, 1)
    live.container[C.SENT_BYTES, c] = 0.0
    if live.image[n, fixed.container_int[ContainerInt.IMAGE, c]] == 0:
        live.container_int[CI.PHASE, c] = Phase.PULLING
        live.container[C.LEFT_BYTES, c] = fixed.container[ContainerRow.IMAGE_BYTES, c]
    else:
        _begin_copy(c, fixed, live)


@compiled_inner
def _begin_copy(c: int, fixed: Fixed, live: Live) -> None:
    if fixed.container_int[ContainerInt.MOVABILITY, c] == Movability.LIVE:
        live.container_int[CI.PHASE, c] = Phase.COPYING
        live.container[C.LEFT_BYTES, c] = live.container[1, c]
        live.container[C.SENT_BYTES, c] = 0.0
    else:
        _freeze(c, fixed.container[ContainerRow.START_S, c], live)


@compiled_inner
def _freeze(c: int, frozen_s: float, live: Live) -> None:
    live.container_int[CI.PHASE, c] = Phase.FROZEN
    live.container[C.TIMER_S, c] = frozen_s
    live.container[C.DOWN_S, c] += frozen_s
    live.container_int[CI.TROUBLE, c] = 1
    live.clock[K.TROUBLED] += 1
    live.total[Total.MOVE_DOWNTIME_S] += frozen_s


@compiled_inner
def _thaw(c: int, fixed: Fixed, live: Live) -> None:
    """Frozen time is over: it runs on the target, or, where this attempt was to fail here, at the source again."""
    if (
        fixed.container_int[ContainerInt.MOVABILITY, c] != Movability.LIVE
        and live.container[C.FAILS_AT, c] < _NEVER_FAILS
    ):
        live.container[C.DOWN_S, c] += fixed.container[ContainerRow.START_S, c]
        live.container_int[CI.TROUBLE, c] = 1
        live.clock[K.TROUBLED] += 1
        live.total[Total.MOVE_DOWNTIME_S] += fixed.container[ContainerRow.START_S, c]
        _fail_attempt(c, fixed, live)
    else:
        _arrive(c, fixed, live)


@compiled_inner
def _copy(c: int, rate: float, left_s: float, fixed: Fixed, live: Live) -> float:
    """Copy memory for at most that long; gives the time that was not needed."""
    memory = max(live.container[1, c], 1.0)
    stop = min(fixed.constants[P.STOP_BYTES], memory)
    net = rate - fixed.container[ContainerRow.DIRTY_BYTE_S, c]
    # Three things can end pre-copy: it has converged, it has sent too much, or this attempt fails.
    done_s = (live.container[C.LEFT_BYTES, c] - stop) / net if net > 0.0 else 1e30
    limit_s = (fixed.constants[P.TRAFFIC_LIMIT] * memory - live.container[C.SENT_BYTES, c]) / rate
    fail_s = (
        (live.container[C.FAILS_AT, c] * memory - live.container[C.SENT_BYTES, c]) / rate
        if live.container[C.FAILS_AT, c] < 1.0
        else 1e30
    )
    first_s = max(0.0, min(done_s, limit_s, fail_s))
    step_s = min(first_s, left_s)
    live.container[C.LEFT_BYTES, c] = min(memory, live.container[C.LEFT_BYTES, c] - net * step_s)
    live.container[C.SENT_BYTES, c] += rate * step_s
    live.total[Total.MOVED_BYTES] += rate * step_s
    if first_s > left_s:
        return 0.0
    if fail_s <= first_s:
        _fail_attempt(c, fixed, live)
    else:
        rest = max(0.0, live.container[C.LEFT_BYTES, c])
        live.total[Total.MOVED_BYTES] += rest
        _freeze(c, rest / rate + fixed.constants[P.RESTORE_S], live)
    return left_s - step_s


@compiled_inner
def advance_moves(fixed: Fixed, live: Live) -> None:
    """Let every move go on for one tick, in the order in which they were accepted."""
    count_transfers(fixed, live)
    i = 0
    while i < live.clock[K.ACTIVE]:
        c = int(live.container_int[CI.ACTIVE, i])
        live.container[C.MOVE_AGE_S, c] += TICK_S
        _advance(c, fixed, live)
        if i < live.clock[K.ACTIVE] and live.container_int[CI.ACTIVE, i] == c:
            i += 1


@compiled_inner
def _advance(c: int, fixed: Fixed, live: Live) -> None:
    if (
        live.container[C.MOVE_AGE_S, c] > fixed.constants[P.TIMEOUT_S]
        and live.container_int[CI.PHASE, c] != Phase.FROZEN
    ):
        undo(c, fixed, live)
        return
    left_s = TICK_S
    while left_s > 0.0 and live.container_int[CI.PHASE, c] != Phase.NONE:
        phase = live.container_int[CI.PHASE, c]
        if phase == Phase.WAITING:
            state = live.node_int[NI.STATE, live.container_int[CI.TARGET, c]]
            if state == NodeState.WAKING:
                return
            if live.container[C.TIMER_S, c] > left_s:
                live.container[C.TIMER_S, c] -= left_s
                return
            left_s -= live.container[C.TIMER_S, c]
            if state != NodeState.ON:
                undo(c, fixed, live)
                return
            _begin(c, fixed, live)
        elif phase == Phase.PULLING:
            rate = transfer_rate_byte_s(c, fixed, live)
            step_s = min(left_s, live.container[C.LEFT_BYTES, c] / rate)
            live.container[C.LEFT_BYTES, c] -= rate * step_s
            live.total[Total.MOVED_BYTES] += rate * step_s
            left_s -= step_s
            if live.container[C.LEFT_BYTES, c] <= 1e-6:
                if fixed.constants[P.KEEP_IMAGES] != 0.0:
                    live.image[live.container_int[CI.TARGET, c], fixed.container_int[ContainerInt.IMAGE, c]] = 1
                _begin_copy(c, fixed, live)
        elif phase == Phase.COPYING:
            left_s = _copy(c, transfer_rate_byte_s(c, fixed, live), left_s, fixed, live)
        else:
            if live.container[C.TIMER_S, c] > left_s:
                live.container[C.TIMER_S, c] -= left_s
                return
            left_s -= live.container[C.TIMER_S, c]
            _thaw(c, fixed, live)
