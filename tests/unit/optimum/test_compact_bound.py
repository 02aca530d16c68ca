"""The compact bound is never above a proven optimum, and saves what is worked out by hand on small clusters."""

from __future__ import annotations

import pytest

from fogfold.encoding.arrays import view_of
from fogfold.errors import ModelError
from fogfold.evaluate.snapshots.cluster import drawn_snapshot
from fogfold.evaluate.snapshots.suite import CEILING, run_snapshots
from fogfold.evaluate.snapshots.variant import variant
from fogfold.policy.assignment import solve_assignment
from fogfold.policy.compact import compact_bound
from fogfold.policy.folding import folding_of
from fogfold.policy.guided import GUIDED
from fogfold.policy.targets import Ceiling
from fogfold.testing.builders import a_cluster, a_container, a_node, a_snapshot

pytest.importorskip("highspy", reason="the extra `exact` is not installed")


def decision(snapshot):
    return folding_of(view_of(snapshot), ceiling=Ceiling(CEILING, CEILING))


def test_bound_saves_the_nodes_that_two_small_containers_leave():
    # Three nodes of 10 cores with one container of 1 core each: one node can hold all three.
    containers = [a_container(f"c{i}") for i in range(3)]
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], containers)
    bound = compact_bound(decision(a_snapshot(cluster, {f"c{i}": f"n{i}" for i in range(3)})))
    assert int(bound.keep.sum()) == 1
    # Two nodes go from 50 W idle to 5 W asleep, less switching and moves, spread over the hour.
    assert 0.0 < bound.saving_w < 2 * 45.0


@pytest.mark.parametrize("seed", range(4))
def test_bound_is_never_above_a_proven_optimum(seed):
    folding = decision(drawn_snapshot(6, 24, seed, variant("base")))
    bound = compact_bound(folding)
    best = solve_assignment(folding, held=False, gap=1e-4, time_limit_s=20.0)
    assert bound.value_w <= best.cost_w * (1 + 1e-6)


@pytest.mark.slow
def test_guided_finds_nearly_all_of_the_saving_within_a_budget_of_moves(monkeypatch):
    from fogfold.policy import registry

    entry = registry.Entry("fogfold.policy.guided", GUIDED.name.upper(), classic=False)
    monkeypatch.setattr(registry, "POLICIES", {**registry.POLICIES, "guided": entry})
    rows = run_snapshots(50, [0.1], ["guided", "drain"], [0])
    shares = {row.policy: row.saving_share for row in rows}
    assert shares["guided"] > 0.95
    assert shares["guided"] > shares["drain"]


def test_budget_out_of_range_is_refused():
    with pytest.raises(ModelError, match="budget is 2"):
        run_snapshots(20, [2.0], ["hold"], [0])
