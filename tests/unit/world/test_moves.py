"""Moves: how long they take, what they cost, how they fail, against numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.model.container import Image, Movability
from fogfold.model.identity import ImageId
from fogfold.testing.builders import a_cluster, a_container, a_node, a_site
from fogfold.units import GIB
from fogfold.world.dynamics import advance
from fogfold.world.faults import FaultKind, FaultSchedule
from fogfold.world.params import WorldParams
from fogfold.world.phase import Phase
from fogfold.world.rows import CI, N, Total

CALM = WorldParams(migration_failure_base=0.0, migration_failure_per_jitter=0.0, migration_failure_per_loss=0.0)
ALWAYS = WorldParams(migration_failure_base=1.0)
NO_IMAGE = [Image(ImageId("app"), 0.0)]


def two_nodes(**container):
    return a_cluster([a_node("n0"), a_node("n1")], [a_container(**container)], images=NO_IMAGE)


def loss_of(node, *, ticks):
    """Loss of a node at tick 12."""
    tick, kind, target, length = (np.array([v], np.int32) for v in (12, FaultKind.NODE_LOSS, node, ticks))
    return FaultSchedule(tick, kind, target, length, np.ones(1))


def run_ticks(world, orders, ticks):
    before = world.state.total.copy()
    advance(world.frame, world.tape, world.state, orders, ticks=ticks)
    return (world.state.total - before)[0]


def test_live_move_takes_memory_over_rate_and_freezes_for_the_rest(make_world, order):
    # Level 0: 60 % of 1 GiB held, nothing dirtied. Half of 1 Gbit/s: 62.5 MB/s.
    world = make_world(two_nodes(), level=0.0, params=CALM, placement={"c0": "n0"})
    world.step(order(world))
    happened = run_ticks(world, order(world, [(0, 1)]), 1)
    assert happened[Total.MOVES_DONE] == 1
    assert world.view().placement[0] == 1
    memory = 0.6 * GIB
    assert happened[Total.MOVED_BYTES] == pytest.approx(memory)
    stop = CALM.precopy_stop_bytes
    assert happened[Total.MOVE_DOWNTIME_S] == pytest.approx(stop / 62.5e6 + CALM.restore_s)
    assert (memory - stop) / 62.5e6 + happened[Total.MOVE_DOWNTIME_S] < 30.0


def test_slow_move_takes_several_ticks_and_holds_room_on_both_ends(make_world, order):
    # 10 Mbit/s half used: 0.625 MB/s for 0.6 GiB is more than a quarter of an hour.
    cluster = a_cluster(
        [a_node("n0", network_mbit_s=100.0), a_node("n1", network_mbit_s=100.0)], [a_container()], images=NO_IMAGE
    )
    world = make_world(cluster, level=0.0, params=CALM, placement={"c0": "n0"})
    world.step(order(world))
    run_ticks(world, order(world, [(0, 1)]), 1)
    view = world.view()
    assert (view.placement[0], view.target[0]) == (0, 1)
    assert view.requested[0].tolist() == [1.0, 1.0]
    # (0.6 GiB - 16 MiB) / 6.25 MB/s = 100.4 s, then 16 MiB / 6.25 MB/s + restore.
    happened = run_ticks(world, order(world), 3)
    assert happened[Total.MOVES_DONE] == 1
    assert world.view().requested[0].tolist() == [0.0, 1.0]


def test_dirtied_memory_is_sent_again(make_world, order):
    # Net rate 62.5 - 31.25 MB/s: twice the time, so twice the bytes before the freeze.
    world = make_world(two_nodes(dirty_rate_bit_s=250e6), level=0.0, params=CALM, placement={"c0": "n0"})
    world.step(order(world))
    happened = run_ticks(world, order(world, [(0, 1)]), 2)
    memory, stop = 0.6 * GIB, CALM.precopy_stop_bytes
    assert happened[Total.MOVED_BYTES] == pytest.approx(2 * (memory - stop) + stop)
    assert happened[Total.MOVES_DONE] == 1


def test_memory_dirtied_faster_than_the_link_ends_in_a_long_freeze(make_world, order):
    world = make_world(two_nodes(dirty_rate_bit_s=2e9), level=0.0, params=CALM, placement={"c0": "n0"})
    world.step(order(world))
    happened = run_ticks(world, order(world, [(0, 1)]), 4)
    memory = 0.6 * GIB
    # Three memory sizes of pre-copy are given up on, then all of it is sent frozen.
    assert happened[Total.MOVED_BYTES] == pytest.approx(4 * memory)
    assert happened[Total.MOVE_DOWNTIME_S] == pytest.approx(memory / 62.5e6 + CALM.restore_s)
    assert happened[Total.MOVES_DONE] == 1


def test_two_moves_share_the_link_of_their_source(make_world, order):
    cluster = a_cluster(
        [a_node("n0"), a_node("n1"), a_node("n2")], [a_container("a"), a_container("b")], images=NO_IMAGE
    )
    world = make_world(cluster, level=0.0, params=CALM, placement={"a": "n0", "b": "n0"})
    world.step(order(world))
    happened = run_ticks(world, order(world, [(0, 1), (1, 2)]), 1)
    # 10.3 s alone, 20.6 s at half the rate; both are counted at the shared rate for the whole tick.
    each = (0.6 * GIB - CALM.precopy_stop_bytes) / 31.25e6
    assert 20.0 < each < 20.6
    assert happened[Total.MOVE_DOWNTIME_S] == pytest.approx(2 * (CALM.precopy_stop_bytes / 31.25e6 + CALM.restore_s))


def test_missing_image_is_pulled_first_and_stays(make_world, order):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container()], images=[Image(ImageId("app"), 625e6)])
    world = make_world(cluster, level=0.0, params=CALM, placement={"c0": "n0"})
    world.step(order(world))
    assert world.view().image_present.tolist() == [[True], [False]]
    happened = run_ticks(world, order(world, [(0, 1)]), 1)
    # 625 MB at 62.5 MB/s: 10 s before the memory starts.
    assert happened[Total.MOVED_BYTES] == pytest.approx(625e6 + 0.6 * GIB)
    assert world.view().image_present.tolist() == [[True], [True]]


def test_restart_serves_until_it_stops_and_is_down_for_its_start(make_world, order):
    world = make_world(
        two_nodes(movability=Movability.RESTART, start_s=12.0), level=0.5, params=CALM, placement={"c0": "n0"}
    )
    world.step(order(world))
    happened = run_ticks(world, order(world, [(0, 1)]), 1)
    assert happened[Total.MOVE_DOWNTIME_S] == 12.0
    assert happened[Total.UNSERVED] == pytest.approx(12.0 * 50.0)
    assert happened[Total.WAITING_S] == pytest.approx(12.0)
    assert happened[Total.MOVED_BYTES] == 0.0


def test_failing_move_is_tried_again_and_then_undone(make_world, order):
    world = make_world(two_nodes(), level=0.0, params=ALWAYS, placement={"c0": "n0"})
    world.step(order(world))
    happened = run_ticks(world, order(world, [(0, 1)]), 10)
    assert happened[Total.ATTEMPTS_FAILED] == ALWAYS.migration_attempts
    assert happened[Total.MOVES_UNDONE] == 1
    view = world.view()
    assert (view.placement[0], view.target[0]) == (0, -1)
    assert view.requested[0].tolist() == [1.0, 0.0]
    assert world.state.node[0, N.REQUESTED_CPU].tolist() == pytest.approx([1.0, 0.0])


def test_failing_restart_comes_back_at_its_source(make_world, order):
    world = make_world(
        two_nodes(movability=Movability.RESTART, start_s=10.0), level=0.5, params=ALWAYS, placement={"c0": "n0"}
    )
    world.step(order(world))
    happened = run_ticks(world, order(world, [(0, 1)]), 12)
    # Each of three attempts is down for the start there and for the start here.
    assert happened[Total.MOVE_DOWNTIME_S] == pytest.approx(3 * 20.0)
    assert world.view().placement[0] == 0


def test_chance_of_failure_rises_with_jitter(make_world, order):
    def failed_share(jitter_ms):
        sites = [a_site("s0", jitter_ms=jitter_ms), a_site("s1", jitter_ms=jitter_ms)]
        containers = [a_container(f"c{i}", cores=0.1, memory_gib=0.1) for i in range(60)]
        cluster = a_cluster([a_node("n0", site="s0"), a_node("n1", site="s1")], containers, sites=sites)
        params = WorldParams(migration_attempts=1)
        world = make_world(cluster, level=0.0, params=params, placement={f"c{i}": "n0" for i in range(60)})
        world.step(order(world))
        happened = run_ticks(world, order(world, [(i, 1) for i in range(60)]), 60)
        return happened[Total.MOVES_UNDONE] / 60

    calm, stormy = failed_share(0.0), failed_share(8.0)
    # 1 % and 1 % + 16 ms x 2 % = 33 %; bounds four standard errors wide.
    assert calm < 0.08
    assert 0.09 < stormy < 0.57


def test_illegal_orders_are_refused_and_counted(make_world, order):
    world = make_world(two_nodes(movability=Movability.NEVER), level=0.0, params=CALM, placement={"c0": "n0"})
    happened = world.step(order(world, [(0, 1)]))[0]
    assert happened[Total.REFUSED] == 1
    assert happened[Total.MOVES_STARTED] == 0


def test_second_order_for_a_container_on_the_move_is_refused(make_world, order):
    world = make_world(two_nodes(), level=0.0, params=CALM, placement={"c0": "n0"})
    happened = world.step(order(world, [(0, 1), (0, 1)]))[0]
    assert happened[Total.REFUSED] == 1
    assert happened[Total.MOVES_DONE] == 1


def test_each_move_takes_the_room_it_uses(make_world, order):
    containers = [a_container(f"c{i}", cores=4.0, memory_gib=1.0) for i in range(3)]
    cluster = a_cluster([a_node("n0", cores=20.0), a_node("n1", cores=9.0)], containers)
    world = make_world(cluster, level=0.1, params=CALM, placement={f"c{i}": "n0" for i in range(3)})
    happened = world.step(order(world, [(0, 1), (1, 1), (2, 1)]))[0]
    assert happened[Total.MOVES_STARTED] == 2
    assert happened[Total.REFUSED] == 1


def test_loss_of_the_target_leaves_the_container_at_its_source(make_world, order):
    cluster = a_cluster(
        [a_node("n0", network_mbit_s=20.0), a_node("n1", network_mbit_s=20.0)], [a_container()], images=NO_IMAGE
    )
    lost = loss_of(1, ticks=10)
    world = make_world(cluster, level=0.0, params=CALM, faults=lost, placement={"c0": "n0"})
    world.step(order(world))
    happened = run_ticks(world, order(world, [(0, 1)]), 5)
    assert happened[Total.MOVES_UNDONE] == 1
    assert world.view().placement[0] == 0
    assert world.state.container_int[0, CI.PHASE, 0] == Phase.NONE


def test_loss_of_the_source_mid_move_restarts_the_container_elsewhere(make_world, order):
    cluster = a_cluster(
        [a_node("n0", network_mbit_s=20.0), a_node("n1", network_mbit_s=20.0)], [a_container()], images=NO_IMAGE
    )
    lost = loss_of(0, ticks=100)
    world = make_world(cluster, level=0.0, params=CALM, faults=lost, placement={"c0": "n0"})
    world.step(order(world))
    happened = run_ticks(world, order(world, [(0, 1)]), 10)
    assert happened[Total.RESTARTS] == 1
    view = world.view()
    assert (view.placement[0], view.target[0]) == (1, -1)


def test_move_that_lasts_too_long_is_undone(make_world, order):
    cluster = a_cluster(
        [a_node("n0", network_mbit_s=1.0), a_node("n1", network_mbit_s=1.0)], [a_container()], images=NO_IMAGE
    )
    params = WorldParams(migration_failure_base=0.0, migration_timeout_s=300.0)
    world = make_world(cluster, level=0.0, params=params, placement={"c0": "n0"})
    world.step(order(world))
    happened = run_ticks(world, order(world, [(0, 1)]), 12)
    assert happened[Total.MOVES_UNDONE] == 1


def test_predicted_move_is_the_move_that_happens(make_world, order):
    from fogfold.cost.migration import precopy

    world = make_world(two_nodes(dirty_rate_bit_s=100e6), level=0.0, params=CALM, placement={"c0": "n0"})
    world.step(order(world))
    happened = run_ticks(world, order(world, [(0, 1)]), 2)
    _, downtime, sent = precopy(
        np.array([0.6 * GIB]),
        np.array([62.5e6]),
        np.array([12.5e6]),
        stop_bytes=CALM.precopy_stop_bytes,
        traffic_limit=CALM.precopy_traffic_limit,
        restore_s=CALM.restore_s,
    )
    assert happened[Total.MOVED_BYTES] == pytest.approx(sent[0])
    assert happened[Total.MOVE_DOWNTIME_S] == pytest.approx(downtime[0])
