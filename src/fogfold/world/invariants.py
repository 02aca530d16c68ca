"""What must hold in every world at every moment, whatever is done to it: a referee that any test can run.

No container is lost or doubled, no room is promised twice, energy and requests add up, and no node or move is in a
state that its table does not allow. A violation is a fault in fogfold, never in its input, and is raised as such.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.encoding.rows import ContainerInt, NodeInt, NodeRow
from fogfold.errors import InvariantError
from fogfold.model.node import NODE_TRANSITIONS, NodeState
from fogfold.model.resources import Resource
from fogfold.units import TICK_S
from fogfold.world.phase import Phase
from fogfold.world.rows import CI, NI, C, K, N, Total
from fogfold.world.state import WorldFrame, WorldState

__all__ = ["check_state", "check_step"]

_TOLERANCE = 1e-6


def _require(holds: bool | np.bool_, sentence: str) -> None:
    if not holds:
        raise InvariantError(sentence)


def check_state(frame: WorldFrame, state: WorldState) -> None:
    """Nothing, where every world of the batch is in order.

    Raises:
        InvariantError: naming the first rule that is broken, and where.
    """
    for w in range(state.worlds):
        _check_containers(frame, state, w)
        _check_nodes(frame, state, w)
        _check_totals(state.total[w], w)


def _check_containers(frame: WorldFrame, state: WorldState, w: int) -> None:
    fleet = frame.fleet
    ints, floats = state.container_int[w], state.container[w]
    placement, target, phase = ints[CI.PLACEMENT], ints[CI.TARGET], ints[CI.PHASE]
    nodes = fleet.nodes
    _require(((placement >= -1) & (placement < nodes)).all(), f"world {w}: a container is placed on no known node")
    _require(((target >= -1) & (target < nodes)).all(), f"world {w}: a container moves to no known node")
    _require(((phase >= 0) & (phase < len(Phase))).all(), f"world {w}: a move is in no known phase")
    moving = target >= 0
    _require((moving == (phase != Phase.NONE)).all(), f"world {w}: a move has a target without a phase, or the reverse")
    _require((placement[moving] >= 0).all(), f"world {w}: a container moves that runs nowhere")
    _require((placement[moving] != target[moving]).all(), f"world {w}: a container moves to where it runs")
    active = ints[CI.ACTIVE, : state.clock[w, K.ACTIVE]]
    _require(
        np.array_equal(np.sort(active), np.flatnonzero(moving)), f"world {w}: the list of moves and the moves differ"
    )
    unplaced = int((placement < 0).sum())
    _require(unplaced == state.clock[w, K.UNPLACED], f"world {w}: {unplaced} containers run nowhere, the count differs")
    for row in (C.DOWN_S, C.WAIT_S, C.REQUESTS, C.VIOLATED):
        _require((floats[row] >= -_TOLERANCE).all(), f"world {w}: {row.name} is negative for a container")
    _require(
        (floats[C.VIOLATED] <= floats[C.REQUESTS] * (1 + _TOLERANCE) + _TOLERANCE).all(),
        f"world {w}: a container violated more requests than it was asked",
    )
    pinned = fleet.container_int[ContainerInt.PINNED]
    bound = (pinned >= 0) & (placement >= 0)
    _require((placement[bound] == pinned[bound]).all(), f"world {w}: a pinned container runs elsewhere")
    on_node = np.where(placement >= 0, placement, 0)
    fits = (fleet.container_int[ContainerInt.ARCHITECTURES] >> fleet.node_int[NodeInt.ARCHITECTURE][on_node]) & 1
    _require((fits[placement >= 0] == 1).all(), f"world {w}: a container runs on a node of another architecture")


def _check_nodes(frame: WorldFrame, state: WorldState, w: int) -> None:
    fleet = frame.fleet
    ints, floats = state.node_int[w], state.node[w]
    placement, target = state.container_int[w, CI.PLACEMENT], state.container_int[w, CI.TARGET]
    states = ints[NI.STATE]
    _require(((states >= 0) & (states < len(NodeState))).all(), f"world {w}: a node is in no known state")
    here = np.bincount(placement[placement >= 0], minlength=fleet.nodes)
    arriving = np.bincount(target[target >= 0], minlength=fleet.nodes)
    leaving = np.bincount(placement[target >= 0], minlength=fleet.nodes)
    for row, count in ((NI.RUNNING, here), (NI.ARRIVING, arriving), (NI.LEAVING, leaving)):
        _require(np.array_equal(ints[row], count), f"world {w}: the count {row.name} of a node is not what is there")
    runs = (states == NodeState.ON) | (states == NodeState.DRAINING)
    _require((here[~runs] == 0).all(), f"world {w}: a container runs on a node that is not on")
    may_receive = runs | (states == NodeState.WAKING)
    _require((arriving[~may_receive] == 0).all(), f"world {w}: a container moves to a node that cannot take it")
    for resource in Resource:
        request = fleet.request[resource]
        promised = np.bincount(placement[placement >= 0], request[placement >= 0], fleet.nodes) + np.bincount(
            target[target >= 0], request[target >= 0], fleet.nodes
        )
        capacity = fleet.capacity[resource]
        _require(
            np.allclose(floats[N.REQUESTED_CPU + resource], promised, rtol=1e-6, atol=1e-6 * capacity.max()),
            f"world {w}: the room taken of {resource.name} is not the sum of requests",
        )
        _require(
            (promised <= capacity * (1 + 1e-6)).all(), f"world {w}: more {resource.name} is promised than a node has"
        )
    _require(
        (ints[NI.ACCELERATORS] >= 0).all()
        and (ints[NI.ACCELERATORS] <= fleet.node_int[NodeInt.ACCELERATOR_COUNT]).all(),
        f"world {w}: more accelerators are promised than a node has",
    )
    need = fleet.container_int[ContainerInt.ACCELERATOR_COUNT]
    taken = np.bincount(placement[placement >= 0], need[placement >= 0], fleet.nodes) + np.bincount(
        target[target >= 0], need[target >= 0], fleet.nodes
    )
    _require(
        np.array_equal(ints[NI.ACCELERATORS], taken), f"world {w}: the accelerators taken are not the sum of needs"
    )
    peak = np.maximum(
        fleet.power_curve.max(axis=1), fleet.node[[NodeRow.SLEEP_W, NodeRow.WAKE_W, NodeRow.SHUTDOWN_W]].max(axis=0)
    )
    power = floats[N.POWER_W]
    _require(
        ((power >= 0) & (power <= peak * (1 + _TOLERANCE))).all(),
        f"world {w}: a node draws what its curve does not allow",
    )


def _check_totals(total: Float[Array, " totals"], w: int) -> None:
    _require(np.isfinite(total).all(), f"world {w}: a total is not finite: {total.tolist()}")
    _require((total >= -_TOLERANCE).all(), f"world {w}: a total is negative: {total.tolist()}")
    part_j = total[Total.ENERGY_ASLEEP_J] + total[Total.ENERGY_SWITCHING_J]
    _require(
        part_j <= total[Total.ENERGY_J] * (1 + _TOLERANCE),
        f"world {w}: sleeping and switching nodes drew more energy than all nodes",
    )
    requests = total[Total.REQUESTS]
    bad = total[Total.LATE] + total[Total.UNSERVED]
    _require(bad <= requests * (1 + _TOLERANCE) + _TOLERANCE, f"world {w}: more requests were violated than asked")
    ended = total[Total.MOVES_DONE] + total[Total.MOVES_UNDONE]
    _require(ended <= total[Total.MOVES_STARTED], f"world {w}: more moves ended than were started")


def check_step(frame: WorldFrame, before: WorldState, after: WorldState, *, tick_by_tick: bool = False) -> None:
    """Nothing, where a step led from one good state to another and no total ran backwards.

    Args:
        frame: what does not change.
        before: the batch before the step.
        after: the batch after it.
        tick_by_tick: whether the step was one tick long, so that node states may have changed at most once by order
            and once by time: then each change is held against the table.

    Raises:
        InvariantError: naming the first rule that is broken, and where.
    """
    check_state(frame, after)
    for w in range(after.worlds):
        _require((after.total[w] >= before.total[w] - _TOLERANCE).all(), f"world {w}: a total ran backwards")
        served_and_not = after.container[w, C.REQUESTS].sum()
        _require(
            np.isclose(served_and_not, after.total[w, Total.REQUESTS], rtol=1e-6),
            f"world {w}: the requests of the containers do not add up to those of the world",
        )
        _require(
            np.isclose(
                after.container[w, C.VIOLATED].sum(),
                after.total[w, Total.LATE] + after.total[w, Total.UNSERVED],
                rtol=1e-6,
                atol=_TOLERANCE * (1 + after.total[w, Total.REQUESTS]),
            ),
            f"world {w}: the violated requests of the containers do not add up to those of the world",
        )
        in_flight = int(after.clock[w, K.ACTIVE])
        total = after.total[w]
        _require(
            total[Total.MOVES_STARTED] == total[Total.MOVES_DONE] + total[Total.MOVES_UNDONE] + in_flight,
            f"world {w}: moves that were started are neither done nor undone nor under way",
        )
        if tick_by_tick:
            drawn_j = after.total[w, Total.ENERGY_J] - before.total[w, Total.ENERGY_J]
            _require(
                np.isclose(drawn_j, after.node[w, N.POWER_W].sum() * TICK_S, rtol=1e-6),
                f"world {w}: the energy of the tick is not the power of the nodes times its length",
            )
            for a, b in zip(before.node_int[w, NI.STATE], after.node_int[w, NI.STATE]):
                one = NODE_TRANSITIONS[NodeState(int(a))]
                two = {last for middle in one for last in NODE_TRANSITIONS[middle]}
                _require(
                    a == b or NodeState(int(b)) in one | two,
                    f"world {w}: a node went from {NodeState(int(a)).name} to {NodeState(int(b)).name}",
                )
