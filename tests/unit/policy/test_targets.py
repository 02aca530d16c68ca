"""Which node takes a container best: scores, the price of distance, and the masks beside the hard constraints."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fogfold.encoding.arrays import fleet_arrays
from fogfold.model.node import NodeState
from fogfold.model.reason import Reason
from fogfold.policy.draft import Draft
from fogfold.policy.overload import NO_DETECTION, THR, Detection
from fogfold.policy.targets import (
    ASLEEP,
    FULL,
    OPEN,
    Ceiling,
    Fit,
    Targets,
    Taste,
    out_of_patience,
    trip_to_users_ms,
)
from fogfold.testing.builders import a_cluster, a_container, a_node, a_site
from fogfold.world.params import WorldParams

FAR_KM = 111.195  # One degree of latitude: 6371.0088 km x pi / 180.
WAY_MS = 2 * FAR_KM * 2.0 / 204.2


def _targets(
    view, fit=Fit.FULLEST, *, trip_per_ms=0.0, image_per_gib=0.0, late_limit=1.0, least_rate=0.0, detection=NO_DETECTION
):
    draft = Draft(view, ceiling=1.0, with_history=detection is not NO_DETECTION)
    taste = Taste(int(fit), trip_per_ms, image_per_gib, late_limit, 50.0, least_rate, detection)
    return Targets(draft, taste, trip_to_users_ms(view.fleet))


def _best(view, container=0, fit=Fit.FULLEST, ceiling=FULL, **more):
    targets = _targets(view, fit, **more)
    return targets.best(container, targets.open(), ceiling)


def _two_sites():
    return [a_site("s0"), a_site("s1", latitude_deg=-36.81)]


def test_round_trip_is_the_worlds():
    users = [("s0", 0.25), ("s1", 0.75)]
    fleet = fleet_arrays(a_cluster([a_node()], [a_container("a", users=users)], sites=_two_sites()))
    # Access of 2 ms for all; the way, a hop of 1 ms and the jitter of both uplinks for those elsewhere.
    away = 2.0 + WAY_MS + 1.0 + 0.5 + 0.5
    expected = [0.25 * 2.0 + 0.75 * away, 0.25 * away + 0.75 * 2.0]
    assert trip_to_users_ms(fleet)[0].tolist() == pytest.approx(expected, rel=1e-4)


def test_patience_is_used_up_where_the_way_takes_the_objective():
    cluster = a_cluster(
        [a_node()],
        [a_container("a", latency_objective_ms=5.0), a_container("b", latency_objective_ms=math.inf)],
        sites=_two_sites(),
    )
    fleet = fleet_arrays(cluster)
    # 2 ms at home, some 6.2 ms from the other site.
    assert out_of_patience(fleet, trip_to_users_ms(fleet)).tolist() == [[False, True], [False, False]]


def test_best_fit_takes_the_fullest_and_first_fit_the_first(look):
    cluster = a_cluster(
        [a_node("n0"), a_node("n1"), a_node("n2")], [a_container("a"), a_container("b"), a_container("c", cores=4.0)]
    )
    view = look(cluster, {"a": "n0", "b": "n1", "c": "n2"})
    assert _best(view) == 2
    assert _best(view, fit=Fit.NEAREST) == 1


def test_most_allocated_reads_requests_and_best_fit_what_is_more(look):
    # n1: requests 4 of 10 cores, uses 2. n2: requests 3, uses 9. Best fit sees the 9.
    cluster = a_cluster(
        [a_node("n0"), a_node("n1"), a_node("n2")],
        [a_container("a"), a_container("b", cores=4.0), a_container("c", cores=3.0)],
    )
    view = look(cluster, {"a": "n0", "b": "n1", "c": "n2"}, usage_cores={"c": 9.0})
    assert _best(view, fit=Fit.MOST_ALLOCATED) == 1
    assert _best(view, fit=Fit.FULLEST) == 2


def test_least_power_takes_the_flattest_curve(look):
    # One core used: 100/10 W a core on n1, 20/10 W a core on n2.
    nodes = [a_node("n0"), a_node("n1", idle_w=20.0, peak_w=120.0), a_node("n2", idle_w=90.0, peak_w=110.0)]
    view = look(a_cluster(nodes, [a_container("a")]), {"a": "n0"})
    assert _best(view, fit=Fit.LEAST_POWER) == 2


def test_sleeping_node_counts_with_its_sleep_power(look):
    # Asleep n2 (5 W) would draw 20 + 0.5 W: 15.5 W more. n1, on, rises by 0.5 core of 320/10 W: 16 W.
    nodes = [a_node("n0"), a_node("n1", idle_w=80.0, peak_w=400.0), a_node("n2", idle_w=20.0, peak_w=30.0)]
    view = look(a_cluster(nodes, [a_container("a")]), {"a": "n0"}, states={"n2": NodeState.ASLEEP})
    targets = _targets(view, Fit.LEAST_POWER)
    view_state = targets._draft.state
    view_state[2] = NodeState.WAKING
    wanted = np.array([OPEN, OPEN, ASLEEP], np.int8)
    assert targets.best(0, wanted, FULL) == 2
    # At 30 W idle it would be 25.5 W more, and the node that is on wins.
    dearer = [*nodes[:2], a_node("n2", idle_w=30.0, peak_w=40.0)]
    view = look(a_cluster(dearer, [a_container("a")]), {"a": "n0"}, states={"n2": NodeState.ASLEEP})
    targets = _targets(view, Fit.LEAST_POWER)
    targets._draft.state[2] = NodeState.WAKING
    assert targets.best(0, wanted, FULL) == 1


def test_of_equal_nodes_the_one_near_the_users_is_taken(look):
    nodes = [a_node("n0"), a_node("n1", site="s1"), a_node("n2")]
    view = look(a_cluster(nodes, [a_container("a")], sites=_two_sites()), {"a": "n0"})
    assert _best(view, trip_per_ms=0.0) == 1
    assert _best(view, trip_per_ms=1e-6) == 2


def test_of_equal_nodes_the_one_with_the_image_is_taken(look):
    view = look(a_cluster([a_node("n0"), a_node("n1"), a_node("n2")], [a_container("a")]), {"a": "n0"})
    view.image_present[2, 0] = True
    assert _best(view, image_per_gib=0.0) == 1
    assert _best(view, image_per_gib=1e-6) == 2


def test_ceilings_hold_for_processor_and_space_apart(look):
    # After the move n1 uses 5 of 10 cores and 2 of 10 GiB.
    cluster = a_cluster(
        [a_node("n0"), a_node("n1")],
        [a_container("a", cores=4.0, memory_gib=2.0), a_container("b", cores=4.0, memory_gib=2.0)],
    )
    view = look(cluster, {"a": "n0", "b": "n1"}, usage_cores={"a": 3.0, "b": 2.0})
    assert _best(view, ceiling=Ceiling(0.5, 0.2)) == 1
    assert _best(view, ceiling=Ceiling(0.49, 0.2)) == -1
    assert _best(view, ceiling=Ceiling(0.5, 0.19)) == -1


def test_target_without_patience_is_masked(look):
    far = [a_node("n0"), a_node("n1", site="s1")]
    near = a_container("a", latency_objective_ms=5.0)
    assert _best(look(a_cluster(far, [near], sites=_two_sites()), {"a": "n0"})) == -1
    # Whoever is as far from its users where it is now may go from bad to no worse.
    lost = a_container("a", latency_objective_ms=5.0, users="s1")
    nodes = [a_node("n0"), a_node("n1")]
    assert _best(look(a_cluster(nodes, [lost], sites=_two_sites()), {"a": "n0"})) == 1


def test_target_where_too_many_would_be_late_is_masked(look):
    # Patience (100 - 2) / 10 = 9.8; at a load of (4 + 0.5) / 10 late are exp(-9.8 x 0.55) = 0.46 %.
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("a"), a_container("b", cores=5.0)])
    view = look(cluster, {"a": "n0", "b": "n1"}, usage_cores={"b": 4.0})
    assert _best(view, late_limit=0.005) == 1
    assert _best(view, late_limit=0.004) == -1


def test_target_that_is_late_may_relieve_one_that_is_later(look):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("a", cores=9.0), a_container("b", cores=1.0)])
    view = look(cluster, {"a": "n0", "b": "n1"}, usage_cores={"a": 8.0, "b": 1.0})
    # On n0 at 80 % and on n1 at 90 %: no better.
    assert _best(view, late_limit=0.001) == -1
    # "b" from n1 at 95 % to n0 at 85 %: late there, but less so.
    view = look(cluster, {"a": "n0", "b": "n1"}, usage_cores={"a": 7.0, "b": 9.5})
    view.usage[0, 1] = 1.5
    view = look(cluster, {"a": "n0", "b": "n0"}, usage_cores={"a": 8.5, "b": 0.5})
    assert _best(view, container=0, late_limit=0.001) == 1


def test_target_that_the_rule_would_call_overloaded_is_masked(look):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("a"), a_container("b", cores=5.0)])
    view = look(cluster, {"a": "n0", "b": "n1"}, usage_cores={"a": 1.0, "b": 4.0})
    assert _best(view, detection=Detection(THR, 0.5, 0.7, 1.0)) == 1
    assert _best(view, detection=Detection(THR, 0.49, 0.7, 1.0)) == -1


def test_no_more_moves_cross_an_uplink_than_it_bears(look):
    # Half of 1000 Mbit/s for moves: two at 200 each, not three. Within the site any number.
    nodes = [a_node("n0"), a_node("n1", site="s1"), a_node("n2")]
    containers = [a_container(f"c{i}") for i in range(4)]
    view = look(a_cluster(nodes, containers, sites=_two_sites()), {f"c{i}": "n0" for i in range(4)})
    targets = _targets(view, least_rate=200e6)
    away = np.array([0, 1, 0], np.int8)
    assert targets.place(np.arange(3), away, FULL) == 2
    assert targets.why_nowhere(2, away, FULL) is Reason.MOVE_LIMIT
    assert targets.best(2, targets.open(), FULL) == 2
    # Those on the move already count; given back, a move counts no more.
    targets._draft.take_back(1)
    assert targets._draft.crossing.tolist() == [1, 1]
    flying = look(
        a_cluster(nodes, containers, sites=_two_sites()), dict.fromkeys(("c0", "c1"), "n0"), targets={"c0": "n1"}
    )
    assert Draft(flying).crossing.tolist() == [1, 1]


def test_each_placement_takes_the_room_that_it_uses(look):
    # n1 has room for two of the three.
    cluster = a_cluster([a_node("n0", cores=20.0), a_node("n1")], [a_container(f"c{i}", cores=5.0) for i in range(3)])
    view = look(cluster, {f"c{i}": "n0" for i in range(3)})
    targets = _targets(view)
    assert targets.place(np.arange(3), targets.open(), FULL) == 2
    assert targets.why_nowhere(2, targets.open(), FULL) is Reason.NO_ROOM


def test_reason_is_the_most_frequent_one(look):
    cluster = a_cluster(
        [a_node("n0"), a_node("n1"), a_node("n2", cores=1.0), a_node("n3", cores=1.0)],
        [a_container("a", cores=4.0), a_container("b", cores=4.0)],
    )
    view = look(cluster, {"a": "n0", "b": "n1"}, usage_cores={"a": 4.0, "b": 4.0})
    targets = _targets(view)
    assert targets.why_nowhere(0, targets.open(), Ceiling(0.5, 0.5)) is Reason.NO_ROOM
    assert targets.why_nowhere(0, np.array([1, 1, 0, 0], np.int8), Ceiling(0.5, 0.5)) is Reason.NODE_HOT
    assert targets.why_nowhere(0, np.array([1, 0, 0, 0], np.int8), FULL) is Reason.NO_IMPROVING_TARGET


def test_world_params_decide_the_way():
    fleet = fleet_arrays(a_cluster([a_node()], [a_container("a", users="s1")], sites=_two_sites()))
    straight = trip_to_users_ms(fleet, WorldParams(path_stretch=1.0, hop_ms=0.0))
    assert straight[0, 0] == pytest.approx(2.0 + WAY_MS / 2 + 1.0, rel=1e-4)
