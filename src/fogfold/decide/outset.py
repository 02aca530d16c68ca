"""A batch of worlds that start where a cluster stands now, so that what may be done can be tried before it is done.

What a view shows is taken over: placement, states, readings, images, moves on the way. What no cluster shows is taken
at its expected value: a node that shuts down or boots is half way through, and so is a move. All worlds of a batch
start alike; that is fair to what is compared, because every proposal starts from the same guess.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array, compiled
from fogfold.encoding.arrays import ClusterView
from fogfold.encoding.rows import ContainerInt, ContainerRow, NodeRow
from fogfold.errors import ModelError
from fogfold.model.container import Movability
from fogfold.model.node import NodeState
from fogfold.model.resources import RESOURCE_COUNT
from fogfold.units import TICK_S
from fogfold.world.dynamics import fixed_of, one_world
from fogfold.world.live import Fixed, Live
from fogfold.world.moves import reckon
from fogfold.world.network import settle_all
from fogfold.world.phase import Phase
from fogfold.world.rows import CI, NI, C, K, N
from fogfold.world.state import WorldFrame, WorldState, blank_state

__all__ = ["outset_of", "view_of_world"]

_HALF = 0.5
"""Expected share of a phase that is still to come, where nobody knows when it began."""
_NEVER_FAILS = 2.0


@compiled
def _settle(fixed: Fixed, state: Live, w: int) -> None:
    """Sum up the nodes of one world and write the ways of its containers' users."""
    live = one_world(state, w)
    settle_all(fixed, live)
    reckon(fixed, live)


def outset_of(
    view: ClusterView,
    frame: WorldFrame,
    keys: Sequence[int],
    *,
    in_state_s: Float[Array, " nodes"] | None = None,
) -> WorldState:
    """States of a batch of worlds that all start from one view, one a key, at tick 0.

    Args:
        view: the cluster as it stands.
        frame: the frame of the worlds, made from the view's fleet.
        keys: for each world, the key of its draws that depend on what is done; worlds to be compared share one.
        in_state_s: how long each node has been in its state, in s; NaN where unknown, all unknown where None.

    Raises:
        ModelError: if the frame belongs to another fleet, or there is no key.
    """
    if frame.fleet is not view.fleet:
        raise ModelError("the frame belongs to another fleet than the view; make it with frame_of(view.fleet, ...)")
    if not keys:
        raise ModelError("a batch of worlds needs at least one key; give one a world")
    one = blank_state(view.fleet, [0])
    _nodes(one, view, in_state_s)
    _containers(one, view, frame)
    _moves(one, view)
    _settle(fixed_of(frame), Live(*one.arrays()), 0)
    state = WorldState(*(np.repeat(array, len(keys), axis=0) for array in one.arrays()))
    state.clock[:, K.KEY] = keys
    return state


def _nodes(one: WorldState, view: ClusterView, in_state_s: Float[Array, " nodes"] | None) -> None:
    fleet, states = view.fleet, view.state
    whole = np.zeros(fleet.nodes)
    for state, row in (
        (NodeState.GOING_TO_SLEEP, NodeRow.SHUTDOWN_S),
        (NodeState.WAKING, NodeRow.WAKE_S),
    ):
        whole = np.where(states == state, fleet.node[row], whole)
    left = _HALF * whole
    if in_state_s is not None:
        left = np.where(np.isnan(in_state_s), left, np.maximum(whole - in_state_s, TICK_S))
        left = np.where(whole > 0.0, left, 0.0)
    # Repair has no memory: what is still to come is as long as ever.
    one.node[0, N.TIMER_S] = np.where(states == NodeState.FAILED, fleet.node[NodeRow.MTTR_S], left)
    one.node_int[0, NI.STATE] = states
    one.node_int[0, NI.ACCELERATORS] = view.accelerators_taken
    for figure, where in ((NI.RUNNING, view.placement), (NI.ARRIVING, view.target)):
        one.node_int[0, figure] = np.bincount(where[where >= 0], minlength=fleet.nodes)
    leaving = view.placement[(view.target >= 0) & (view.placement >= 0)]
    one.node_int[0, NI.LEAVING] = np.bincount(leaving, minlength=fleet.nodes)
    one.used[0] = view.running.T


def _containers(one: WorldState, view: ClusterView, frame: WorldFrame) -> None:
    nowhere = view.placement < 0
    one.container[0, :RESOURCE_COUNT] = view.usage
    one.container[0, C.WAIT_S] = np.where(nowhere, _HALF * frame.params.reschedule_s, 0.0)
    one.container_int[0, CI.PLACEMENT] = view.placement
    one.container_int[0, CI.TROUBLE] = nowhere
    one.clock[0, K.UNPLACED] = int(nowhere.sum())
    one.clock[0, K.TROUBLED] = int(nowhere.sum())
    one.image[0, :, : view.fleet.images] = view.image_present


def _moves(one: WorldState, view: ClusterView) -> None:
    """Moves on the way, each in the middle of the phase that it is likely to be in."""
    fleet = view.fleet
    moving = np.flatnonzero((view.target >= 0) & (view.placement >= 0))
    one.clock[0, K.ACTIVE] = len(moving)
    one.container_int[0, CI.ACTIVE, : len(moving)] = moving
    one.container_int[0, CI.TARGET, moving] = view.target[moving]
    one.container_int[0, CI.MOVES, moving] = 1
    for c in moving.tolist():
        target = int(view.target[c])
        one.container[0, C.FAILS_AT, c] = _NEVER_FAILS
        if view.state[target] != NodeState.ON:
            one.container_int[0, CI.PHASE, c] = Phase.WAITING
        elif not view.image_present[target, fleet.container_int[ContainerInt.IMAGE, c]]:
            one.container_int[0, CI.PHASE, c] = Phase.PULLING
            one.container[0, C.LEFT_BYTES, c] = _HALF * fleet.container[ContainerRow.IMAGE_BYTES, c]
        elif fleet.container_int[ContainerInt.MOVABILITY, c] == Movability.LIVE:
            one.container_int[0, CI.PHASE, c] = Phase.COPYING
            one.container[0, C.LEFT_BYTES, c] = _HALF * view.usage[1, c]
            one.container[0, C.SENT_BYTES, c] = _HALF * view.usage[1, c]
        else:
            left_s = _HALF * fleet.container[ContainerRow.START_S, c]
            one.container_int[0, CI.PHASE, c] = Phase.FROZEN
            one.container[0, C.TIMER_S, c] = left_s
            one.container[0, C.DOWN_S, c] = left_s
            one.container_int[0, CI.TROUBLE, c] = 1
            one.clock[0, K.TROUBLED] += 1


def view_of_world(
    frame: WorldFrame, state: WorldState, world: int, *, cpu_history: Float[Array, "samples containers"], time_s: float
) -> ClusterView:
    """One world of a batch as a policy would see it then."""
    fleet = frame.fleet
    return ClusterView(
        fleet=fleet,
        state=state.node_int[world, NI.STATE].copy(),
        placement=state.container_int[world, CI.PLACEMENT].copy(),
        target=state.container_int[world, CI.TARGET].copy(),
        usage=state.container[world, :RESOURCE_COUNT].copy(),
        image_present=state.image[world, :, : fleet.images].astype(bool),
        cpu_history=cpu_history,
        time_s=time_s,
    )
