"""The referee, put to the proof: each rule is broken by hand, and it must say so in the right words."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fogfold.encoding.arrays import fleet_arrays
from fogfold.encoding.rows import NodeInt, NodeRow
from fogfold.errors import InvariantError
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.node import Accelerator, Architecture, NodeState
from fogfold.model.resources import Resource
from fogfold.testing.builders import a_cluster, a_container, a_node
from fogfold.world.dynamics import Orders, advance, no_orders
from fogfold.world.faults import FaultSchedule
from fogfold.world.invariants import check_state, check_step
from fogfold.world.params import WorldParams
from fogfold.world.phase import Phase
from fogfold.world.rows import CI, NI, C, K, N, Total
from fogfold.world.workload.base import Workload
from fogfold.world.world import World

MOVER, PINNED, PLAIN = 0, 1, 2
SOURCE, TARGET, OTHER = 0, 1, 2
IN = 1
"""The world of the batch that is broken; the first stays in order."""


@pytest.fixture(scope="module")
def world():
    """Two worlds in which `mover` is on its way from n0 to n1 over a slow link, `plain` runs on n1 and n2 is empty."""
    gpu = Accelerator("gpu", 2)
    cluster = a_cluster(
        [
            a_node("n0", network_mbit_s=20.0, accelerator=gpu),
            a_node("n1", network_mbit_s=20.0, accelerator=gpu),
            a_node("n2", architecture=Architecture.ARM64),
        ],
        [
            a_container("mover", accelerator=Accelerator("gpu", 1)),
            a_container("pinned", pinned_to=NodeId("n0")),
            a_container("plain"),
        ],
    )
    fleet = fleet_arrays(cluster)
    levels = np.full((25, fleet.containers), 0.5, np.float32)
    demand = Workload(levels, 300.0, 0.0, np.ones((240, fleet.sites), np.float32))
    built = World(
        fleet,
        WorldParams(migration_failure_base=0.0, migration_failure_per_jitter=0.0),
        [(demand, FaultSchedule.none())] * 2,
        seed=1,
        placement={ContainerId(c): NodeId(n) for c, n in (("mover", "n0"), ("pinned", "n0"), ("plain", "n1"))},
    )
    built.step(no_orders(2, fleet.nodes))
    moves = np.array([[[MOVER, TARGET]]] * 2, np.int32)
    advance(built.frame, built.tape, built.state, Orders(moves, np.zeros((2, 3), np.int8)), ticks=1)
    return built


@pytest.fixture
def state(world):
    """The state of both worlds, to be broken."""
    return world.state.copy()


@pytest.fixture
def steps(world):
    """A good state, and the state one tick later."""
    after = world.state.copy()
    advance(world.frame, world.tape, after, no_orders(2, 3), ticks=1)
    return world.state.copy(), after


def test_worlds_in_order_pass(world, steps):
    before, after = steps
    assert after.container_int[IN, CI.TARGET].tolist() == [TARGET, -1, -1]
    assert after.container_int[IN, CI.PHASE, MOVER] == Phase.COPYING
    check_state(world.frame, before)
    check_step(world.frame, before, after, tick_by_tick=True)


def put(array, row, column, value):
    """A fault: one figure of the second world is another."""

    def breaks(state):
        getattr(state, array)[IN, row, column] = value

    return breaks


def total(row, value):
    def breaks(state):
        state.total[IN, row] = value

    return breaks


def count(row, value):
    def breaks(state):
        state.clock[IN, row] = value

    return breaks


def all_of(*parts):
    def breaks(state):
        for part in parts:
            part(state)

    return breaks


def leaves_nothing_behind(state):
    """`plain` moves to n0, so that n1 has nobody but the one who arrives."""
    state.container_int[IN, CI.PLACEMENT, PLAIN] = SOURCE
    state.node_int[IN, NI.RUNNING] = [3, 0, 0]


BROKEN = [
    ("a container is placed on no known node", put("container_int", CI.PLACEMENT, PLAIN, 3)),
    ("a container is placed on no known node", put("container_int", CI.PLACEMENT, PLAIN, -2)),
    ("a container moves to no known node", put("container_int", CI.TARGET, MOVER, 3)),
    ("a container moves to no known node", put("container_int", CI.TARGET, PLAIN, -2)),
    ("a move is in no known phase", put("container_int", CI.PHASE, MOVER, 5)),
    ("a move is in no known phase", put("container_int", CI.PHASE, PLAIN, -1)),
    ("a move has a target without a phase, or the reverse", put("container_int", CI.PHASE, MOVER, Phase.NONE)),
    ("a move has a target without a phase, or the reverse", put("container_int", CI.PHASE, PLAIN, Phase.FROZEN)),
    ("a move has a target without a phase, or the reverse", put("container_int", CI.TARGET, MOVER, -1)),
    ("a container moves that runs nowhere", put("container_int", CI.PLACEMENT, MOVER, -1)),
    ("a container moves to where it runs", put("container_int", CI.PLACEMENT, MOVER, TARGET)),
    ("the list of moves and the moves differ", put("container_int", CI.ACTIVE, 0, PLAIN)),
    ("the list of moves and the moves differ", count(K.ACTIVE, 0)),
    ("the list of moves and the moves differ", count(K.ACTIVE, 2)),
    ("1 containers run nowhere, the count differs", put("container_int", CI.PLACEMENT, PLAIN, -1)),
    ("0 containers run nowhere, the count differs", count(K.UNPLACED, 1)),
    *(
        (f"{row.name} is negative for a container", put("container", row, PLAIN, -1.0))
        for row in (C.DOWN_S, C.WAIT_S, C.REQUESTS, C.VIOLATED)
    ),
    ("DOWN_S is negative for a container", put("container", C.DOWN_S, PLAIN, np.nan)),
    ("a container violated more requests than it was asked", put("container", C.VIOLATED, PLAIN, 1e9)),
    ("a pinned container runs elsewhere", put("container_int", CI.PLACEMENT, PINNED, TARGET)),
    ("a container runs on a node of another architecture", put("container_int", CI.PLACEMENT, PLAIN, OTHER)),
    ("a node is in no known state", put("node_int", NI.STATE, OTHER, 6)),
    ("a node is in no known state", put("node_int", NI.STATE, OTHER, -1)),
    *(
        (f"the count {row.name} of a node is not what is there", put("node_int", row, OTHER, 1))
        for row in (NI.RUNNING, NI.ARRIVING, NI.LEAVING)
    ),
    *(
        ("a container runs on a node that is not on", put("node_int", NI.STATE, SOURCE, off))
        for off in (NodeState.GOING_TO_SLEEP, NodeState.ASLEEP, NodeState.WAKING, NodeState.FAILED)
    ),
    *(
        (
            "a container moves to a node that cannot take it",
            all_of(leaves_nothing_behind, put("node_int", NI.STATE, TARGET, off)),
        )
        for off in (NodeState.GOING_TO_SLEEP, NodeState.ASLEEP, NodeState.FAILED)
    ),
    *(
        (
            f"the room taken of {resource.name} is not the sum of requests",
            put("node", N.REQUESTED_CPU + resource, OTHER, 1e-3 * (10.0, 10 * 2.0**30, 1e9, 1e4)[resource]),
        )
        for resource in Resource
    ),
    ("more accelerators are promised than a node has", put("node_int", NI.ACCELERATORS, TARGET, 3)),
    ("more accelerators are promised than a node has", put("node_int", NI.ACCELERATORS, OTHER, -1)),
    ("the accelerators taken are not the sum of needs", put("node_int", NI.ACCELERATORS, SOURCE, 0)),
    ("the accelerators taken are not the sum of needs", put("node_int", NI.ACCELERATORS, TARGET, 2)),
    ("a node draws what its curve does not allow", put("node", N.POWER_W, SOURCE, 100.1)),
    ("a node draws what its curve does not allow", put("node", N.POWER_W, SOURCE, -0.1)),
    ("a node draws what its curve does not allow", put("node", N.POWER_W, SOURCE, np.nan)),
    *((r"a total is negative: \[", total(row, -1.0)) for row in Total),
    (r"a total is not finite: \[", total(Total.LATENCY_MS, np.inf)),
    (r"a total is not finite: \[", total(Total.ENERGY_J, np.nan)),
    ("sleeping and switching nodes drew more energy than all nodes", total(Total.ENERGY_ASLEEP_J, 1e9)),
    ("sleeping and switching nodes drew more energy than all nodes", total(Total.ENERGY_SWITCHING_J, 1e9)),
    ("more requests were violated than asked", total(Total.LATE, 1e9)),
    ("more requests were violated than asked", total(Total.UNSERVED, 1e9)),
    ("more moves ended than were started", total(Total.MOVES_DONE, 2.0)),
    ("more moves ended than were started", total(Total.MOVES_UNDONE, 2.0)),
]


@pytest.mark.parametrize(("sentence", "breaks"), BROKEN, ids=[f"{i}-{s}" for i, (s, _) in enumerate(BROKEN)])
def test_broken_rule_is_named_with_its_world(world, state, sentence, breaks):
    breaks(state)
    with pytest.raises(InvariantError, match=f"^world 1: {sentence}"):
        check_state(world.frame, state)


@pytest.mark.parametrize("resource", list(Resource))
def test_room_promised_twice_is_named(world, state, resource):
    """The nodes shrink until what was promised on n1, two requests, is more than it has."""
    fleet = world.frame.fleet
    node = fleet.node.copy()
    node[resource, TARGET] = 1.9 * fleet.request[resource, MOVER]
    frame = dataclasses.replace(world.frame, fleet=dataclasses.replace(fleet, node=node))
    with pytest.raises(InvariantError, match=f"^world 0: more {resource.name} is promised than a node has"):
        check_state(frame, state)


def test_power_of_booting_counts_as_allowed(world, state):
    """A node may draw more than its curve's peak while it boots, and no more than that."""
    fleet = world.frame.fleet
    node = fleet.node.copy()
    node[NodeRow.WAKE_W, OTHER] = 150.0
    frame = dataclasses.replace(world.frame, fleet=dataclasses.replace(fleet, node=node))
    state.node[IN, N.POWER_W, OTHER] = 149.0
    check_state(frame, state)
    with pytest.raises(InvariantError, match="a node draws what its curve does not allow"):
        check_state(world.frame, state)


STEPS = [
    ("a total ran backwards", total(Total.ENERGY_J, 1.0)),
    ("the requests of the containers do not add up to those of the world", total(Total.REQUESTS, 1e6)),
    ("the requests of the containers do not add up to those of the world", put("container", C.REQUESTS, PLAIN, 1e6)),
    ("the violated requests of the containers do not add up to", put("container", C.VIOLATED, PLAIN, 100.0)),
    ("the violated requests of the containers do not add up to", total(Total.UNSERVED, 100.0)),
    ("moves that were started are neither done nor undone nor under way", total(Total.MOVES_STARTED, 2.0)),
    ("moves that were started are neither done nor undone nor under way", total(Total.MOVES_DONE, 1.0)),
]


@pytest.mark.parametrize(("sentence", "breaks"), STEPS, ids=[f"{i}-{s}" for i, (s, _) in enumerate(STEPS)])
@pytest.mark.parametrize("tick_by_tick", [False, True])
def test_broken_step_is_named_with_its_world(world, steps, sentence, breaks, tick_by_tick):
    before, after = steps
    breaks(after)
    with pytest.raises(InvariantError, match=f"^world 1: {sentence}"):
        check_step(world.frame, before, after, tick_by_tick=tick_by_tick)


def test_step_into_a_broken_state_is_named_as_that(world, steps):
    before, after = steps
    after.node_int[IN, NI.STATE, OTHER] = 9
    with pytest.raises(InvariantError, match=r"^world 1: a node is in no known state"):
        check_step(world.frame, before, after)


def test_energy_that_no_node_drew_is_named(world, steps):
    before, after = steps
    after.total[IN, Total.ENERGY_J] += 10.0
    check_step(world.frame, before, after)
    with pytest.raises(InvariantError, match=r"^world 1: the energy of the tick is not the power of the nodes times"):
        check_step(world.frame, before, after, tick_by_tick=True)


OUT_OF_THE_TABLE = {
    # From each state, what neither one change nor two lead to.
    NodeState.ON: set(),
    NodeState.DRAINING: set(),
    NodeState.GOING_TO_SLEEP: {NodeState.ON, NodeState.DRAINING},
    NodeState.ASLEEP: {NodeState.DRAINING, NodeState.GOING_TO_SLEEP},
    NodeState.WAKING: {NodeState.ASLEEP},
    NodeState.FAILED: {NodeState.DRAINING, NodeState.GOING_TO_SLEEP, NodeState.ASLEEP},
}


@pytest.mark.parametrize("last", list(NodeState))
@pytest.mark.parametrize("first", list(NodeState))
def test_change_of_state_out_of_the_table_is_named_tick_by_tick(world, steps, first, last):
    before, after = steps
    before.node_int[IN, NI.STATE, OTHER] = first
    after.node_int[IN, NI.STATE, OTHER] = last
    check_step(world.frame, before, after)
    if last not in OUT_OF_THE_TABLE[first]:
        check_step(world.frame, before, after, tick_by_tick=True)
        return
    with pytest.raises(InvariantError, match=f"^world 1: a node went from {first.name} to {last.name}$"):
        check_step(world.frame, before, after, tick_by_tick=True)


def test_fixture_has_something_of_everything(world):
    """The rules say little about a world in which nothing runs, moves or is bound."""
    fleet = world.frame.fleet
    assert fleet.node_int[NodeInt.ACCELERATOR_COUNT].tolist() == [2, 2, 0]
    assert world.state.node_int[IN, NI.ACCELERATORS].tolist() == [1, 1, 0]
    assert world.state.node_int[IN, NI.RUNNING].tolist() == [2, 1, 0]
    assert world.state.total[IN, Total.REQUESTS] > 0
