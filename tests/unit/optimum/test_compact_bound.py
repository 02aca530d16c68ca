"""The compact bound is never above a proven optimum, near it, and saves what is worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from fogfold.encoding.arrays import view_of
from fogfold.errors import PlacementError
from fogfold.evaluate.snapshots.cluster import drawn_snapshot
from fogfold.evaluate.snapshots.suite import CEILING
from fogfold.evaluate.snapshots.variant import VARIANTS, variant
from fogfold.policy.assignment import solve_assignment
from fogfold.policy.compact import compact_bound, quick_bound
from fogfold.policy.folding import folding_of
from fogfold.policy.targets import Ceiling
from fogfold.policy.tighter import tightened_bound
from fogfold.testing.builders import a_cluster, a_container, a_node, a_snapshot


def drawn(nodes, containers, seed, kind):
    snapshot = drawn_snapshot(nodes, containers, seed, variant(kind))
    return folding_of(view_of(snapshot), ceiling=Ceiling(CEILING, CEILING))


def test_bound_saves_the_nodes_that_two_small_containers_leave(decision):
    # Three nodes of 10 cores with one container of 1 core each: one node can hold all three.
    containers = [a_container(f"c{i}") for i in range(3)]
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], containers)
    bound = compact_bound(decision(a_snapshot(cluster, {f"c{i}": f"n{i}" for i in range(3)})))
    assert int(bound.keep.sum()) == 1
    # Two nodes go from 50 W idle to 5 W asleep, less switching and moves, spread over the hour.
    assert 0.0 < bound.saving_w < 2 * 45.0


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 300), kind=st.sampled_from(sorted(VARIANTS)), share=st.sampled_from([None, 0.1, 0.3]))
def test_bound_is_never_above_a_proven_optimum(seed, kind, share):
    try:
        folding = drawn(8, 40, seed, kind)
    except PlacementError:  # some draws do not fit on their nodes
        reject()
    budget = None if share is None else int(share * len(folding.home))
    bound, quick = compact_bound(folding, budget), quick_bound(folding, budget)
    best = solve_assignment(folding, budget, held=False, gap=1e-4, time_limit_s=20.0)
    assert bound.value_w <= best.cost_w * (1 + 1e-6)
    assert quick.value_w <= best.cost_w * (1 + 1e-6)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 300), kind=st.sampled_from(sorted(VARIANTS)), share=st.sampled_from([None, 0.1, 0.3]))
def test_tightened_bound_lies_between_the_compact_one_and_the_optimum(seed, kind, share):
    try:
        folding = drawn(8, 40, seed, kind)
    except PlacementError:  # some draws do not fit on their nodes
        reject()
    budget = None if share is None else int(share * len(folding.home))
    compact, tightened = compact_bound(folding, budget), tightened_bound(folding, budget, rounds=3)
    best = solve_assignment(folding, budget, held=False, gap=1e-4, time_limit_s=20.0)
    assert compact.value_w * (1 - 2e-4) <= tightened.value_w <= best.cost_w * (1 + 1e-6)
    assert tightened_bound(folding, budget, rounds=0).value_w == pytest.approx(compact.value_w)


def test_bound_knows_the_move_that_makes_room_once_it_is_tightened(decision):
    # 6 on n0; 3 + 3 on n1; 5 on n2. As a liquid the 5 of n2 fit beside the others, in one move. As they are they fit
    # nowhere: 6 + 3 and 5 + 3 takes two moves whichever node is emptied.
    sizes = {"a": 6.0, "b": 3.0, "c": 3.0, "d": 5.0}
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container(name, cores=c) for name, c in sizes.items()])
    folding = decision(a_snapshot(cluster, {"a": "n0", "b": "n1", "c": "n1", "d": "n2"}))
    compact, tightened = compact_bound(folding), tightened_bound(folding)
    best = solve_assignment(folding, held=False, gap=1e-6)
    assert int((best.where != folding.home).sum()) == 2
    assert compact.value_w < best.cost_w * (1 - 4e-4)
    assert tightened.value_w == pytest.approx(best.cost_w, rel=1e-4)


def test_plan_with_nodes_asleep_by_order_is_the_best_of_those_or_none(decision):
    cluster = a_cluster([a_node(f"n{i}") for i in range(2)], [a_container(name, cores=6.0) for name in "ab"])
    folding = decision(a_snapshot(cluster, {"a": "n0", "b": "n1"}))
    none = solve_assignment(folding, held=False, asleep=np.array([True, False]))
    assert none.cost_w == none.bound_w == np.inf
    assert solve_assignment(folding, held=False, asleep=np.zeros(2, bool)).cost_w == pytest.approx(folding.anyway_w)


@pytest.mark.slow
def test_exact_proves_its_optimum_and_the_bound_is_near_it():
    # Twenty nodes and 150 containers; over seeds 0 to 9 the compact bound is 0.03 % under it on average, 0.135 % at
    # worst (seed 4), the tightened one 0.016 % at worst.
    above, tight = [], []
    for seed in range(6):
        folding = drawn(20, 150, seed, "base")
        best = solve_assignment(folding, held=False, gap=1e-4, time_limit_s=120.0)
        assert best.proven
        assert best.gap <= 1e-4
        above.append(best.cost_w / compact_bound(folding).value_w - 1.0)
        tight.append(best.cost_w / tightened_bound(folding).value_w - 1.0)
    assert np.mean(above) < 0.001
    assert max(above) < 0.002
    assert max(tight) < 0.0005
