"""A decision as a problem: who is part of it, who may go where, and what it costs, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.encoding.arrays import view_of
from fogfold.model.container import Movability
from fogfold.model.identity import NodeId, SiteId
from fogfold.model.node import Architecture, NodeState
from fogfold.policy.worth import estimate_moves, move_cost_wh
from fogfold.testing.builders import a_cluster, a_container, a_group, a_node, a_site, a_snapshot

AMD = frozenset({Architecture.AMD64})
SLEEP_W = 50.0 - (50 * 3660 - 1500 - 6000 - 5 * 3570) / 3600
"""Mean power of a test node that is sent to sleep for an hour: idle 50 W less what the sleep saves."""


def test_home_is_where_a_container_runs_or_is_going(decision):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container(name) for name in "abc"])
    folding = decision(a_snapshot(cluster, {"a": "n0", "b": "n0"}, targets={"b": "n1"}))
    assert folding.home.tolist() == [0, 1, -1]
    assert folding.movable.tolist() == [True, False, False]
    # Half a core each; what runs nowhere takes nothing.
    assert folding.at_home[4].tolist() == [0.5, 0.5]


def test_containers_on_a_node_that_is_not_awake_are_left_out(decision):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("a")])
    folding = decision(a_snapshot(cluster, {"a": "n0"}, states={"n0": NodeState.FAILED}))
    assert folding.home.tolist() == [-1]
    assert folding.may_run.tolist() == [False, True]


def test_who_never_moves_keeps_the_node_awake(decision):
    containers = [a_container("a", movability=Movability.NEVER), a_container("b"), a_container("c")]
    cluster = a_cluster([a_node("n0"), a_node("n1"), a_node("n2", never_sleep=True)], containers)
    folding = decision(a_snapshot(cluster, {"a": "n0", "b": "n1", "c": "n2"}))
    assert folding.movable.tolist() == [False, True, True]
    assert folding.may_rest.tolist() == [False, True, False]


def test_group_that_may_miss_one_cannot_leave_a_node_with_two(decision):
    containers = [a_container(name, group="g0") for name in "abc"]
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], containers, groups=[a_group(may_be_missing=1)])
    folding = decision(a_snapshot(cluster, {"a": "n0", "b": "n0", "c": "n1"}))
    assert folding.moves_left.tolist() == [1]
    assert folding.may_rest.tolist() == [False, True, True]


def test_reach_is_what_instruction_set_pin_and_data_leave(decision):
    # Melbourne and a place some 1100 km north of it: 10 degrees of latitude.
    sites = [a_site("s0"), a_site("s1", latitude_deg=-27.81)]
    nodes = [
        a_node("n0"),
        a_node("n1", architecture=Architecture.ARM64),
        a_node("n2", site="s1"),
    ]
    containers = [
        a_container("any", architectures=frozenset(Architecture)),
        a_container("amd", architectures=AMD),
        a_container("near", architectures=AMD, data_site=SiteId("s0"), data_distance_km=100.0),
        a_container("pinned", architectures=AMD, pinned_to=NodeId("n0")),
    ]
    cluster = a_cluster(nodes, containers, sites=sites)
    folding = decision(a_snapshot(cluster, dict.fromkeys(("any", "amd", "near", "pinned"), "n0")))
    reach = [np.flatnonzero(folding.may_go(c)).tolist() for c in range(4)]
    assert reach == [[0, 1, 2], [0, 2], [0], [0]]
    assert folding.movable.tolist() == [True, True, False, False]


def test_impatient_containers_stay_within_their_objective(decision):
    # 1100 km are some 11 ms of fibre and back at least; the objective is 10 ms.
    sites = [a_site("s0"), a_site("s1", latitude_deg=-27.81)]
    cluster = a_cluster(
        [a_node("n0"), a_node("n1"), a_node("n2", site="s1")],
        [a_container("a", latency_objective_ms=10.0), a_container("b", latency_objective_ms=1000.0)],
        sites=sites,
    )
    snapshot = a_snapshot(cluster, {"a": "n0", "b": "n0"})
    assert decision(snapshot).may_go(0).tolist() == [True, True, False]
    assert decision(snapshot).may_go(1).tolist() == [True, True, True]
    assert decision(snapshot, patience=False).may_go(0).tolist() == [True, True, True]


def test_cost_of_a_plan_is_power_and_the_price_of_moves(decision):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("a", cores=2.0), a_container("b", cores=4.0)])
    snapshot = a_snapshot(cluster, {"a": "n0", "b": "n1"})
    folding = decision(snapshot)
    # 50 W idle and 5 W a core, 1 and 2 cores in use.
    assert folding.anyway_w == pytest.approx(55.0 + 60.0)
    view = view_of(snapshot)
    price_wh = move_cost_wh(view, estimate_moves(view))
    together = folding.mean_power_w(np.array([1, 1]), np.array([False, True]))
    assert together == pytest.approx(SLEEP_W + 65.0 + price_wh[0])


def test_sleeping_node_costs_its_sleep_and_a_boot_where_it_wakes(decision):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("a")])
    folding = decision(a_snapshot(cluster, {"a": "n0"}, states={"n1": NodeState.ASLEEP}))
    assert folding.asleep_w[1] == pytest.approx(5.0)
    # 6000 J of booting over an hour.
    assert folding.awake_w[1] == pytest.approx(50.0 + 6000 / 3600)
    assert folding.awake_anyway.tolist() == [True, False]
    asleep = a_snapshot(cluster, {"a": "n0"}, states={"n1": NodeState.ASLEEP})
    assert decision(asleep, waking=False).may_run.tolist() == [True, False]
