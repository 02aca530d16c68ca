"""Worlds that start from a view stand where the cluster stands, and go on as it would."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.decide.outset import outset_of, view_of_world
from fogfold.encoding.arrays import fleet_arrays, view_of
from fogfold.errors import ModelError
from fogfold.model.node import NodeState
from fogfold.testing.builders import a_cluster, a_container, a_node, a_snapshot, random_snapshot
from fogfold.world.dynamics import SLEEP, Orders, advance, no_orders
from fogfold.world.params import WorldParams
from fogfold.world.rows import CI, NI, C, K, N
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario
from fogfold.world.state import frame_of, tape_of
from fogfold.world.world import World


def two_nodes(state=NodeState.ON, **more):
    nodes = [a_node("n0"), a_node("n1", shutdown_s=40.0, wake_s=200.0, mttr_s=7200.0)]
    cluster = a_cluster(nodes, [a_container("c0", memory_gib=2.0)])
    return view_of(a_snapshot(cluster, {"c0": "n0"}, states={"n1": state}, **more))


def outset(view, keys=(1,), **more):
    return outset_of(view, frame_of(view.fleet, WorldParams()), list(keys), **more)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_a_world_that_starts_from_a_view_shows_that_view(seed):
    view = view_of(random_snapshot(np.random.default_rng(seed)))
    frame = frame_of(view.fleet, WorldParams())
    state = outset_of(view, frame, [1, 2])
    for world in range(2):
        seen = view_of_world(frame, state, world, cpu_history=view.cpu_history, time_s=view.time_s)
        for name in ("state", "placement", "target", "usage", "image_present", "requested", "used"):
            np.testing.assert_array_equal(getattr(seen, name), getattr(view, name), err_msg=name)
    on_the_move = (view.target >= 0) & (view.placement >= 0)
    assert state.clock[0, K.ACTIVE] == on_the_move.sum()
    assert state.clock[0, K.UNPLACED] == (view.placement < 0).sum()
    assert state.node_int[0, NI.LEAVING].sum() == on_the_move.sum()


def test_boots_and_shutdowns_of_unknown_age_are_half_way_and_repairs_begin_anew():
    assert outset(two_nodes(NodeState.WAKING)).node[0, N.TIMER_S].tolist() == [0.0, 100.0]
    assert outset(two_nodes(NodeState.GOING_TO_SLEEP)).node[0, N.TIMER_S].tolist() == [0.0, 20.0]
    assert outset(two_nodes(NodeState.FAILED)).node[0, N.TIMER_S].tolist() == [0.0, 7200.0]
    assert outset(two_nodes(NodeState.ASLEEP)).node[0, N.TIMER_S].tolist() == [0.0, 0.0]


def test_a_boot_of_known_age_lasts_for_the_rest_and_at_least_a_tick():
    waking = two_nodes(NodeState.WAKING)
    assert outset(waking, in_state_s=np.array([np.nan, 120.0])).node[0, N.TIMER_S, 1] == 80.0
    assert outset(waking, in_state_s=np.array([np.nan, 500.0])).node[0, N.TIMER_S, 1] == 30.0
    on = two_nodes()
    assert outset(on, in_state_s=np.array([500.0, 500.0])).node[0, N.TIMER_S].tolist() == [0.0, 0.0]


def test_a_move_on_the_way_is_half_done():
    moving = two_nodes(targets={"c0": "n1"}, images={"n1": frozenset({"app"})})
    state = outset(moving)
    # The reading is half of the 2 GiB that were asked for; half of that is left.
    assert state.container[0, C.LEFT_BYTES, 0] == 0.5 * 2**30
    assert state.container_int[0, CI.TARGET, 0] == 1
    pulling = outset(two_nodes(targets={"c0": "n1"}))
    assert pulling.container[0, C.LEFT_BYTES, 0] == pytest.approx(0.05 * 2**30)


def test_worlds_of_an_outset_go_on_as_the_cluster_itself_does():
    built = build(load_scenario("city-20", {"faults.enabled": False}), 3, hours=3.0)
    fleet = fleet_arrays(built.cluster)
    world = World(fleet, built.params, [(built.workload, built.faults)], seed=3)
    empty = int(np.flatnonzero(np.bincount(world.view().placement, minlength=fleet.nodes) == 0)[:1].sum())
    power = np.zeros((1, fleet.nodes), np.int8)
    power[0, empty] = SLEEP
    world.step(Orders(np.full((1, 0, 2), -1, np.int32), power))
    for _ in range(5):
        world.step(no_orders(1, fleet.nodes))
    view = world.view()
    # The same future from now on: the start of the workload is cut off, a sample at a time.
    passed = world.tick // world.tape.sample_ticks
    assert world.tick % world.tape.sample_ticks == 0
    later = tape_of(
        [
            (
                type(built.workload)(
                    built.workload.level[passed:],
                    built.workload.sample_s,
                    view.time_s,
                    built.workload.surge[world.tick :],
                ),
                built.faults,
            )
        ]
    )
    state = outset_of(view, world.frame, [int(world.state.clock[0, K.KEY])])
    before = world.state.total.copy()
    for _ in range(12):
        world.step(no_orders(1, fleet.nodes))
        advance(world.frame, later, state, no_orders(1, fleet.nodes))
    np.testing.assert_allclose(state.total, world.state.total - before, rtol=1e-9, atol=1e-6)


def test_an_outset_without_keys_or_with_a_foreign_frame_is_refused():
    view = two_nodes()
    with pytest.raises(ModelError, match="at least one key"):
        outset(view, keys=())
    with pytest.raises(ModelError, match="another fleet"):
        outset_of(view, frame_of(two_nodes().fleet, WorldParams()), [1])
