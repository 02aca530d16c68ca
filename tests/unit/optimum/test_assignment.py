"""The full model on clusters of two or three nodes whose best plan is worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.model.cluster import Scope
from fogfold.model.container import Movability
from fogfold.model.node import Accelerator, PowerCurve
from fogfold.policy.assignment import pair_count, solve_assignment
from fogfold.testing.builders import a_cluster, a_container, a_group, a_node, a_snapshot

BENT = PowerCurve("bent", (50.0, 70.0, 80.0, 86.0, 90.0, 93.0, 95.0, 97.0, 98.0, 99.0, 100.0), "made for a test")
"""Rises fast and flattens: 2 W for each of the first points, less and less after."""


def asleep(folding, plan):
    return [str(folding.view.fleet.cluster.nodes[n].id) for n in np.flatnonzero(~plan.awake)]


@pytest.mark.parametrize("held", [False, True])
def test_three_small_containers_end_on_one_node(decision, held):
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container(f"c{i}") for i in range(3)])
    folding = decision(a_snapshot(cluster, {f"c{i}": f"n{i}" for i in range(3)}))
    plan = solve_assignment(folding, held=held)
    assert plan.proven
    assert len(set(plan.where.tolist())) == 1
    assert len(asleep(folding, plan)) == 2
    assert plan.cost_w == pytest.approx(folding.mean_power_w(plan.where, plan.awake))
    assert plan.gap <= 1e-4
    # Each of the three could go to two others.
    assert pair_count(folding) == 9


def test_room_that_is_left_counts_in_the_end_but_not_on_the_way(decision):
    # 6 | 5 + 4 | 5 of 10 cores each, the middle one to stay on: two nodes hold 20 only as 6 + 4 and 5 + 5, and 5 has
    # room on n1 only once 4 has left it.
    sizes = {"a": 6.0, "b": 5.0, "c": 4.0, "d": 5.0}
    nodes = [a_node("n0"), a_node("n1", never_sleep=True), a_node("n2")]
    cluster = a_cluster(nodes, [a_container(name, cores=cores) for name, cores in sizes.items()])
    folding = decision(a_snapshot(cluster, {"a": "n0", "b": "n1", "c": "n1", "d": "n2"}))
    final, held = solve_assignment(folding, held=False), solve_assignment(folding, held=True)
    assert len(asleep(folding, final)) == 1
    assert asleep(folding, held) == []
    assert held.cost_w == pytest.approx(folding.anyway_w)
    assert final.cost_w < held.cost_w - 30.0


def test_budget_of_one_move_closes_one_node(decision):
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container(f"c{i}") for i in range(4)])
    folding = decision(a_snapshot(cluster, {"c0": "n0", "c1": "n1", "c2": "n2", "c3": "n2"}))
    plan = solve_assignment(folding, 1, held=True)
    assert int((plan.where != folding.home).sum()) == 1
    assert len(asleep(folding, plan)) == 1
    assert asleep(folding, plan)[0] in {"n0", "n1"}
    assert solve_assignment(folding, 0, held=True).where.tolist() == folding.home.tolist()


def test_members_that_keep_apart_need_a_node_each(decision):
    containers = [a_container(f"c{i}", group="g0") for i in range(2)]
    groups = [a_group(anti_affinity=Scope.NODE, may_be_missing=2)]
    cluster = a_cluster([a_node(f"n{i}") for i in range(2)], containers, groups=groups)
    folding = decision(a_snapshot(cluster, {"c0": "n0", "c1": "n1"}))
    assert asleep(folding, solve_assignment(folding, held=False)) == []


def test_spread_holds_at_the_end(decision):
    # Two and two may differ by one, and a node asleep still counts: four and none is too uneven.
    containers = [a_container(f"c{i}", group="g0") for i in range(4)]
    groups = [a_group(spread=Scope.NODE, max_skew=1, ghosts_count=True, may_be_missing=4)]
    cluster = a_cluster([a_node(f"n{i}") for i in range(2)], containers, groups=groups)
    folding = decision(a_snapshot(cluster, {"c0": "n0", "c1": "n0", "c2": "n1", "c3": "n1"}))
    plan = solve_assignment(folding, held=False)
    counts = np.bincount(plan.where, minlength=2)
    assert counts.max() - counts.min() <= 1
    assert asleep(folding, plan) == []


def test_group_that_is_out_of_balance_keeps_its_nodes_awake(decision):
    # Three and none at a skew of one: the group is not moved, so the node under it stays on.
    containers = [a_container(f"c{i}", group="g0") for i in range(3)] + [a_container("d")]
    groups = [a_group(spread=Scope.NODE, max_skew=1, ghosts_count=True, may_be_missing=4)]
    cluster = a_cluster([a_node(f"n{i}") for i in range(2)], containers, groups=groups)
    folding = decision(a_snapshot(cluster, {"c0": "n0", "c1": "n0", "c2": "n0", "d": "n1"}))
    plan = solve_assignment(folding, held=False)
    assert asleep(folding, plan) == ["n1"]
    assert plan.bound_w <= plan.cost_w * (1 + 1e-9)


def test_accelerators_are_counted(decision):
    gpu = Accelerator("gpu", 2)
    nodes = [a_node("n0", accelerator=gpu), a_node("n1", accelerator=gpu), a_node("n2")]
    # n0 has two accelerators for three containers that need one each: one of the two nodes cannot hold them all.
    containers = [a_container(f"c{i}", accelerator=Accelerator("gpu", 1)) for i in range(3)] + [a_container("d")]
    cluster = a_cluster(nodes, containers)
    folding = decision(a_snapshot(cluster, {"c0": "n0", "c1": "n0", "c2": "n1", "d": "n2"}))
    assert asleep(folding, solve_assignment(folding, held=True)) == ["n2"]


def test_bent_curves_are_followed_to_the_end(decision):
    nodes = [a_node(f"n{i}", power_curve=BENT) for i in range(3)]
    containers = [a_container(f"c{i}", cores=4.0, movability=Movability.RESTART, start_s=1.0) for i in range(3)]
    folding = decision(a_snapshot(a_cluster(nodes, containers), {f"c{i}": f"n{i}" for i in range(3)}))
    plan = solve_assignment(folding, held=True)
    # 12 cores of requests need two nodes: one with 4 cores in use (90 W) and one with 2 (80 W).
    cores = sorted(np.bincount(plan.where, [2.0, 2.0, 2.0], 3).tolist())
    assert cores == [0.0, 2.0, 4.0]
    sleeper = int(np.flatnonzero(~plan.awake)[0])
    moved = int(np.flatnonzero(plan.where != folding.home)[0])
    assert plan.cost_w == pytest.approx(90.0 + 80.0 + folding.asleep_w[sleeper] + folding.move_w[moved])
    assert plan.bound_w == pytest.approx(plan.cost_w, rel=1e-4)
