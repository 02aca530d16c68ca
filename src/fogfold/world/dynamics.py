"""How a world gets from one decision to the next: orders, then ticks. One pure step over a batch of worlds.

`step` leaves its arguments as they are and gives a new state; `advance` is the same in place, for loops that own their
state. Worlds of a batch are independent, so threads change nothing: each world's sums run in a fixed order.
"""

from __future__ import annotations

import itertools
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array, borrowed, compiled, compiled_inner
from fogfold.errors import ModelError
from fogfold.model.node import NodeState
from fogfold.world.live import Fixed, Future, Live
from fogfold.world.moves import advance_moves, order_move, reckon
from fogfold.world.nodes import advance_nodes, order_sleep, order_wake, restart_unplaced, strike
from fogfold.world.rows import NI, K, S
from fogfold.world.service import read_usage, serve
from fogfold.world.state import Tape, WorldFrame, WorldState

__all__ = ["CHUNKS", "KEEP", "SLEEP", "WAKE", "Orders", "advance", "fixed_of", "no_orders", "one_world", "step"]

KEEP, SLEEP, WAKE = 0, 1, 2
"""Power orders to a node: leave it, empty it and let it sleep, wake it (or call off its draining)."""


CHUNKS = 8
"""Parts that a batch is cut into for threads; worlds are independent, so the number changes no result."""


@dataclass(frozen=True)
class Orders:
    """What is to be done in each world of a batch, carried out in this order: wake and cordon, then move.

    A node that is to sleep takes nothing more from the start; what runs there leaves by the moves, and it falls asleep
    once it is empty.
    """

    moves: Int[Array, "worlds moves 2"]
    """Container and target node of each move, in order; rows of -1 are left out."""
    power: Int[Array, "worlds nodes"]
    """`SLEEP`, `WAKE` or 0 for each node."""


def no_orders(worlds: int, nodes: int) -> Orders:
    """Orders to leave everything as it is."""
    return Orders(np.full((worlds, 0, 2), -1, np.int32), np.zeros((worlds, nodes), np.int8))


@compiled_inner
def _obey(moves: Array, power: Array, fixed: Fixed, live: Live) -> None:
    """Carry out the orders that are legal, and count those that are not."""
    for n in range(len(power)):
        if power[n] == WAKE:
            order_wake(n, fixed, live)
        elif power[n] == SLEEP:
            order_sleep(n, fixed, live)
    if len(moves) > 0:
        reckon(fixed, live)
        for i in range(len(moves)):
            if moves[i, 0] >= 0:
                order_move(int(moves[i, 0]), int(moves[i, 1]), fixed, live)
    for n in range(len(power)):
        if (
            power[n] != SLEEP
            and live.node_int[NI.STATE, n] == NodeState.DRAINING
            and live.node_int[NI.LEAVING, n] == 0
            and live.node_int[NI.RUNNING, n] > 0
        ):
            # What could not be emptied goes back to work: no node is left half way.
            live.node_int[NI.STATE, n] = NodeState.ON


@compiled_inner
def one_world(state: Live, w: int) -> Live:
    """One world of a batch."""
    return Live(
        borrowed(state.node[w]),
        borrowed(state.node_int[w]),
        borrowed(state.container[w]),
        borrowed(state.container_int[w]),
        borrowed(state.image[w]),
        borrowed(state.site[w]),
        borrowed(state.clock[w]),
        borrowed(state.total[w]),
        borrowed(state.used[w]),
    )


@compiled_inner
def _lend(fixed: Fixed) -> Fixed:
    return Fixed(
        borrowed(fixed.node),
        borrowed(fixed.node_int),
        borrowed(fixed.curve),
        borrowed(fixed.container),
        borrowed(fixed.container_int),
        borrowed(fixed.group),
        borrowed(fixed.members),
        borrowed(fixed.site),
        borrowed(fixed.site_km),
        borrowed(fixed.round_trip_ms),
        borrowed(fixed.user_site),
        borrowed(fixed.user_share),
        borrowed(fixed.constants),
        borrowed(fixed.request),
    )


# A call that takes all arrays costs a third of a microsecond: these ask, with few, whether it is needed.
@compiled_inner
def _is_struck(clock: Array, fault: Array, site: Array) -> bool:
    """Whether a fault is due in this tick, or one is still on a link."""
    upcoming = clock[K.NEXT_FAULT]
    if upcoming < fault.shape[1] and fault[0, upcoming] <= clock[K.TICK]:
        return True
    for s in range(site.shape[1]):  # noqa: SIM110 - a generator does not compile
        if site[S.TICKS_LEFT, s] > 0.0:
            return True
    return False


@compiled_inner
def _is_changing(node_int: Array) -> bool:
    """Whether a node is in a state that time ends."""
    for n in range(node_int.shape[1]):
        state = node_int[NI.STATE, n]
        if state != NodeState.ON and state != NodeState.ASLEEP:
            return True
    return False


@compiled
def _advance_worlds(
    first: int, last: int, ticks: int, done: int, moves: Array, power: Array, fixed: Fixed, state: Live, tape: Future
) -> None:
    """One step of some worlds of a batch, or the rest of it once so many ticks are done: orders, then ticks."""
    fixed = _lend(fixed)
    for w in range(first, last):
        live = one_world(state, w)
        future = Future(
            borrowed(tape.level[w]),
            borrowed(tape.memory_level[w]),
            borrowed(tape.network_level[w]),
            borrowed(tape.disk_level[w]),
            borrowed(tape.surge[w]),
            borrowed(tape.fault[w]),
            borrowed(tape.fault_magnitude[w]),
        )
        _obey(moves[w], power[w], fixed, live)
        for k in range(ticks):
            if _is_struck(live.clock, future.fault, live.site):
                strike(fixed, live, future)
            if live.clock[K.ACTIVE] > 0:
                advance_moves(fixed, live)
            if live.clock[K.UNPLACED] > 0:
                restart_unplaced(fixed, live)
            serve(fixed, live, future, 1.0 / (done + k + 1))
            if _is_changing(live.node_int):
                advance_nodes(fixed, live)
            live.clock[K.TICK] += 1
        read_usage(fixed, live, future)


def fixed_of(frame: WorldFrame) -> Fixed:
    """The arrays of a frame, as compiled code takes them."""
    fleet = frame.fleet
    return Fixed(
        fleet.node,
        fleet.node_int,
        fleet.power_curve,
        fleet.container,
        fleet.container_int,
        fleet.group,
        fleet.members,
        fleet.site,
        fleet.site_km,
        frame.round_trip_ms,
        fleet.user_site,
        fleet.user_share,
        frame.constants,
        frame.request,
    )


def _future_of(tape: Tape) -> Future:
    return Future(
        tape.level,
        tape.memory_level,
        tape.network_level,
        tape.disk_level,
        tape.surge,
        tape.fault,
        tape.fault_magnitude,
    )


def advance(
    frame: WorldFrame,
    tape: Tape,
    state: WorldState,
    orders: Orders,
    *,
    ticks: int | None = None,
    done: int = 0,
    threads: Executor | None = None,
) -> None:
    """Carry out the orders and let `ticks` ticks pass (a step's worth, where not given), in place.

    Args:
        frame: what does not change.
        tape: what will happen whatever is done.
        state: the batch of worlds; overwritten.
        orders: what to do first.
        ticks: how many ticks.
        done: ticks of the present step that are over already: mean usage goes on from there, where a step is cut.
        threads: a pool of threads to share the worlds among, in `CHUNKS` parts; pays off from some ten worlds on.

    Raises:
        ModelError: if the tape ends before, or the orders do not fit the batch.
    """
    ticks = frame.params.ticks_per_step if ticks is None else ticks
    now = int(state.clock[0, K.TICK])
    worlds = state.worlds
    if now + ticks > tape.ticks:
        raise ModelError(
            f"the workload ends at tick {tape.ticks}; a step of {ticks} from tick {now} needs a longer one"
        )
    if len(orders.moves) != worlds or orders.power.shape != (worlds, frame.fleet.nodes):
        raise ModelError(
            f"orders are for {len(orders.moves)} worlds and {orders.power.shape[-1]} nodes, "
            f"the batch has {worlds} and {frame.fleet.nodes}"
        )
    rest = (ticks, done, orders.moves, orders.power, fixed_of(frame), Live(*state.arrays()), _future_of(tape))
    if threads is None or worlds == 1:
        _advance_worlds(0, worlds, *rest)
        return
    edges = [worlds * part // CHUNKS for part in range(CHUNKS + 1)]
    parts = [threads.submit(_advance_worlds, a, b, *rest) for a, b in itertools.pairwise(edges) if b > a]
    for part in parts:
        part.result()


def step(
    frame: WorldFrame, tape: Tape, state: WorldState, orders: Orders, *, ticks: int | None = None
) -> tuple[WorldState, Float[Array, "worlds totals"]]:
    """The state after the orders and a step's ticks, and what happened meanwhile (rows of `Total`). Pure."""
    after = state.copy()
    advance(frame, tape, after, orders, ticks=ticks)
    return after, after.total - state.total
