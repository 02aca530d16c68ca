"""Nodes that sleep, wake, fail and are repaired, against numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.model.node import NodeState
from fogfold.testing.builders import a_cluster, a_container, a_group, a_node, a_site
from fogfold.world.dynamics import SLEEP, WAKE, advance
from fogfold.world.faults import FaultKind, FaultSchedule
from fogfold.world.rows import S, Total


def fault(tick, kind, target, ticks, magnitude=1.0):
    when, what, whom, length = (np.array([value], np.int32) for value in (tick, kind, target, ticks))
    return FaultSchedule(when, what, whom, length, np.array([magnitude]))


def run_ticks(world, orders, ticks):
    before = world.state.total.copy()
    advance(world.frame, world.tape, world.state, orders, ticks=ticks)
    return (world.state.total - before)[0]


def spare_pair(**second):
    return a_cluster([a_node("n0"), a_node("n1", **second)], [a_container()])


def test_empty_node_sleeps_after_its_shutdown_time_and_draws_its_energy(make_world, order):
    # 30 s of shutdown at 50 W, then 270 s at 5 W; the other node idles at 50 W.
    world = make_world(spare_pair(), level=0.0, placement={"c0": "n0"})
    happened = run_ticks(world, order(world, power={1: SLEEP}), 10)
    assert world.view().state[1] == NodeState.ASLEEP
    assert happened[Total.ENERGY_J] == pytest.approx(300 * 50 + 30 * 50 + 270 * 5)
    assert happened[Total.SLEEPS] == 1


def test_part_of_a_tick_counts_as_part(make_world, order):
    # 45 s of shutdown: 45 s x 40 W (1800 J in all), then 255 s at 5 W.
    world = make_world(spare_pair(shutdown_s=45.0, shutdown_energy_j=1800.0), level=0.0, placement={"c0": "n0"})
    happened = run_ticks(world, order(world, power={1: SLEEP}), 10)
    assert happened[Total.ENERGY_J] == pytest.approx(300 * 50 + 1800 + 255 * 5)


def test_waking_takes_its_time_and_energy(make_world, order):
    world = make_world(spare_pair(), level=0.0, placement={"c0": "n0"})
    run_ticks(world, order(world, power={1: SLEEP}), 10)
    happened = run_ticks(world, order(world, power={1: WAKE}), 1)
    assert world.view().state[1] == NodeState.WAKING
    # 60 s at 100 W: one tick of it.
    assert happened[Total.ENERGY_J] == pytest.approx(30 * 50 + 30 * 100)
    run_ticks(world, order(world), 2)
    assert world.view().state[1] == NodeState.ON


def test_move_to_a_waking_node_waits_for_it(make_world, order):
    world = make_world(spare_pair(), level=0.0, placement={"c0": "n0"})
    run_ticks(world, order(world, power={1: SLEEP}), 10)
    happened = run_ticks(world, order(world, [(0, 1)], {1: WAKE}), 2)
    assert happened[Total.MOVES_DONE] == 0
    assert world.view().target[0] == 1
    happened = run_ticks(world, order(world), 2)
    assert happened[Total.MOVES_DONE] == 1


def test_node_is_emptied_first_and_sleeps_when_the_last_has_left(make_world, order):
    world = make_world(spare_pair(), level=0.0, placement={"c0": "n1"})
    run_ticks(world, order(world), 1)
    run_ticks(world, order(world, [(0, 0)], {1: SLEEP}), 1)
    assert world.view().state[1] in (NodeState.DRAINING, NodeState.GOING_TO_SLEEP)
    run_ticks(world, order(world), 3)
    assert world.view().state[1] == NodeState.ASLEEP
    assert world.view().placement[0] == 0


def test_node_that_is_to_sleep_takes_nothing_more(make_world, order):
    world = make_world(spare_pair(), level=0.0, placement={"c0": "n0"})
    happened = run_ticks(world, order(world, [(0, 1)], {1: SLEEP}), 10)
    assert happened[Total.REFUSED] == 1
    assert world.view().state[1] == NodeState.ASLEEP


def test_draining_that_leads_nowhere_is_called_off(make_world, order):
    world = make_world(spare_pair(), level=0.0, placement={"c0": "n1"})
    run_ticks(world, order(world, power={1: SLEEP}), 2)
    assert world.view().state[1] == NodeState.DRAINING
    run_ticks(world, order(world), 1)
    assert world.view().state[1] == NodeState.ON


def test_node_that_must_stay_on_is_not_put_to_sleep(make_world, order):
    world = make_world(spare_pair(never_sleep=True), level=0.0, placement={"c0": "n0"})
    happened = run_ticks(world, order(world, power={1: SLEEP}), 2)
    assert happened[Total.REFUSED] == 1
    assert world.view().state[1] == NodeState.ON


def test_node_that_does_not_wake_is_repaired_and_tried_again(make_world, order):
    world = make_world(spare_pair(wake_failure_probability=1.0, mttr_s=120.0), level=0.0, placement={"c0": "n0"})
    run_ticks(world, order(world, power={1: SLEEP}), 3)
    happened = run_ticks(world, order(world, power={1: WAKE}), 2)
    assert happened[Total.WAKE_FAILURES] == 1
    assert world.view().state[1] == NodeState.FAILED
    run_ticks(world, order(world), 4)
    assert world.view().state[1] == NodeState.WAKING


def test_containers_of_a_lost_node_are_started_elsewhere(make_world, order):
    world = make_world(spare_pair(), level=0.5, faults=fault(2, FaultKind.NODE_LOSS, 1, 20), placement={"c0": "n1"})
    happened = run_ticks(world, order(world), 10)
    view = world.view()
    assert view.placement[0] == 0
    assert view.state[1] == NodeState.FAILED
    assert happened[Total.NODE_LOSSES] == 1
    assert happened[Total.RESTARTS] == 1
    # Lost at tick 2 and started elsewhere at the end of 60 s, so one tick runs nowhere, then comes the start, with its
    # image of 0.1 GiB at 62.5 MB/s.
    down_s = 30 + 5 + 0.1 * 2**30 / 62.5e6
    assert happened[Total.WAITING_S] == pytest.approx(down_s)
    assert happened[Total.UNSERVED] == pytest.approx(50 * down_s)


def test_failed_node_draws_nothing_and_boots_when_repaired(make_world, order):
    world = make_world(spare_pair(), level=0.0, faults=fault(0, FaultKind.NODE_LOSS, 1, 4), placement={"c0": "n0"})
    happened = run_ticks(world, order(world), 4)
    assert happened[Total.ENERGY_J] == pytest.approx(4 * 30 * 50)
    assert world.view().state[1] == NodeState.WAKING
    run_ticks(world, order(world), 2)
    assert world.view().state[1] == NodeState.ON


def test_container_that_fits_nowhere_waits_and_is_not_lost(make_world, order):
    world = make_world(
        a_cluster([a_node("n0"), a_node("n1", cores=1.0)], [a_container(cores=5.0)]),
        level=0.5,
        faults=fault(1, FaultKind.NODE_LOSS, 0, 8),
        placement={"c0": "n0"},
    )
    run_ticks(world, order(world), 6)
    assert world.view().placement[0] == -1
    run_ticks(world, order(world), 12)
    assert world.view().placement[0] == 0


def test_all_nodes_failed_is_survived(make_world, order):
    both = FaultSchedule(
        np.array([1, 1], np.int32),
        np.array([FaultKind.NODE_LOSS] * 2, np.int32),
        np.array([0, 1], np.int32),
        np.array([5, 5], np.int32),
        np.ones(2),
    )
    world = make_world(spare_pair(), level=0.5, faults=both, placement={"c0": "n0"})
    happened = run_ticks(world, order(world), 4)
    assert happened[Total.UNSERVED] == pytest.approx(3 * 30 * 50.0)
    run_ticks(world, order(world), 20)
    assert world.view().placement[0] >= 0


def test_degraded_link_slows_its_users_and_recovers(make_world, order):
    cluster = a_cluster([a_node("n0")], [a_container(users="s1")], sites=[a_site("s0"), a_site("s1", jitter_ms=1.0)])
    world = make_world(cluster, level=0.5, faults=fault(1, FaultKind.LINK_DEGRADATION, 1, 3, magnitude=9.0))
    calm = run_ticks(world, order(world), 1)
    slow = run_ticks(world, order(world), 1)
    assert world.state.site[0, S.FACTOR].tolist() == [1.0, 9.0]
    per_request = [x[Total.ROUND_TRIP_MS] / x[Total.REQUESTS] for x in (calm, slow)]
    assert per_request[1] - per_request[0] == pytest.approx(8.0)
    again = run_ticks(world, order(world), 3)
    assert world.state.site[0, S.FACTOR].tolist() == [1.0, 1.0]
    assert again[Total.REQUESTS] > 0


def test_restart_loop_answers_half_of_the_time(make_world, order):
    world = make_world(spare_pair(), level=0.5, faults=fault(0, FaultKind.RESTART_LOOP, 0, 4))
    happened = run_ticks(world, order(world), 10)
    assert happened[Total.UNSERVED] == pytest.approx(4 * 30 * 50 / 2)


def test_initial_placement_spreads_and_keeps_to_the_rules(make_world):
    from fogfold.model.cluster import Scope

    containers = [a_container(f"c{i}", group="g0") for i in range(3)]
    cluster = a_cluster(
        [a_node(f"n{i}") for i in range(3)], containers, groups=[a_group("g0", anti_affinity=Scope.NODE)]
    )
    world = make_world(cluster)
    assert sorted(world.view().placement.tolist()) == [0, 1, 2]


def test_container_that_fits_nowhere_at_all_is_refused_with_its_reasons(make_world):
    from fogfold.errors import PlacementError

    with pytest.raises(PlacementError, match=r"'big' fits on no node.*2 x NO_ROOM"):
        make_world(a_cluster([a_node("n0"), a_node("n1")], [a_container("big", cores=11.0)]))


def test_cluster_too_small_for_all_is_refused(make_world):
    from fogfold.errors import PlacementError

    containers = [a_container(f"c{i}", cores=6.0) for i in range(3)]
    with pytest.raises(PlacementError, match="once the others are placed"):
        make_world(a_cluster([a_node("n0"), a_node("n1")], containers))
