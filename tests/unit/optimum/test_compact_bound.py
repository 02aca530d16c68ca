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


@pytest.mark.slow
def test_exact_proves_its_optimum_and_the_bound_is_near_it():
    # Twenty nodes and 150 containers; measured over seeds 0 to 9: mean 0.03 %, worst 0.135 % (seed 4).
    above = []
    for seed in range(6):
        folding = drawn(20, 150, seed, "base")
        best = solve_assignment(folding, held=False, gap=1e-4, time_limit_s=120.0)
        assert best.proven
        assert best.gap <= 1e-4
        above.append(best.cost_w / compact_bound(folding).value_w - 1.0)
    assert np.mean(above) < 0.001
    assert max(above) < 0.002
