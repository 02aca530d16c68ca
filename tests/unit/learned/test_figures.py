"""Figures of options, against slow twins and numbers worked by hand."""

import numpy as np
import pytest

from fogfold.cost.latency import late_share
from fogfold.encoding.arrays import fleet_arrays
from fogfold.encoding.rows import ContainerRow
from fogfold.encoding.rows import NodeRow as NodeFigure
from fogfold.policy.emptying import fixed_by
from fogfold.policy.learned.nodes import late_cost_wh_h, node_figures, trend_of
from fogfold.policy.learned.options import MOST_TARGETS, node_options, target_options
from fogfold.policy.learned.rows import NodeRow, TargetRow
from fogfold.policy.params import RuleParams
from fogfold.policy.plan import Plan
from fogfold.policy.sleeping import Evidence
from fogfold.policy.targets import Ceiling, Fit, trip_to_users_ms
from fogfold.train.rollout import training_world
from fogfold.train.settings import TrainSettings
from fogfold.world.dynamics import no_orders
from fogfold.world.world import World

CEILING = Ceiling(0.8, 0.85)


@pytest.fixture(scope="module")
def scene():
    built = training_world(TrainSettings(nodes=(20,), hours=6.0), 5)
    fleet = fleet_arrays(built.cluster)
    world = World(fleet, built.params, [(built.workload, built.faults)], seed=built.seed)
    for _ in range(12):
        world.step(no_orders(1, fleet.nodes))
    view = world.view()
    evidence = Evidence()
    evidence.see(view)
    trip_ms = trip_to_users_ms(fleet)
    plan = Plan(view, RuleParams(high_mark=0.8, fill_mark=0.8), evidence, trip_ms, fit=Fit.FULLEST)
    return plan, node_figures(plan, evidence.since_woken_s(), trip_ms), trip_ms


def late_rate(plan, figures, trip_ms, node, load):
    """Late requests a second on a node at a load, container by container."""
    view, fleet = plan.view, plan.view.fleet
    total = 0.0
    for c in np.flatnonzero((view.placement == node) & (view.target < 0)):
        left_ms = fleet.container[ContainerRow.OBJECTIVE_MS, c] - trip_ms[c, fleet.site_of[node]]
        if left_ms <= 0:
            total += figures.rate_per_s[c]
            continue
        patience = left_ms * fleet.node[NodeFigure.CORE_SPEED, node] / fleet.container[ContainerRow.SERVICE_MS, c]
        total += figures.rate_per_s[c] * late_share(patience, 1.0 - load)
    return total


def test_load_of_a_node_is_what_its_containers_use(scene):
    plan, figures, _ = scene
    view = plan.view
    for n in range(view.fleet.nodes):
        used = view.usage[0, view.placement == n].sum() / view.fleet.capacity[0, n]
        assert figures.history[n, -1] == pytest.approx(used)


def test_late_cost_is_that_of_its_containers(scene):
    plan, figures, trip_ms = scene
    for n in range(plan.view.fleet.nodes):
        load = plan.draft.load()[0, n]
        wanted = late_cost_wh_h(late_rate(plan, figures, trip_ms, n, load)) / figures.span_w
        assert figures.late_cost[n] == pytest.approx(wanted, rel=1e-6, abs=1e-9)


def test_an_hour_of_one_late_request_a_second_costs_3_6_wh():
    assert late_cost_wh_h(1.0) == pytest.approx(3.6)


def test_trend_is_the_change_since_so_many_samples():
    rows = np.array([[0.1, 0.2, 0.4], [0.3, 0.3, 0.3]])
    np.testing.assert_allclose(trend_of(rows, 2), [0.3, 0.0])
    np.testing.assert_allclose(trend_of(rows, 3), [0.0, 0.0])


def targets(scene, container, *, keep=()):
    plan, figures, trip_ms = scene
    wanted = plan.targets.open()
    wanted[plan.view.placement[container]] = 0
    return target_options(
        plan, figures, container, wanted=wanted, ceiling=CEILING, trip_ms=trip_ms, keep=keep, folding=True,
        left=3,
    )  # fmt: skip


def movable(plan):
    return [c for c in range(plan.view.fleet.containers) if (plan.draft.reasons(c) == 0).any()]


def test_figures_of_a_target_are_those_after_the_move(scene):
    plan, figures, trip_ms = scene
    view, fleet = plan.view, plan.view.fleet
    seen = 0
    for c in movable(plan)[:40]:
        options = targets(scene, c)
        for n, row in zip(options.node[1:].tolist(), options.rows[1:], strict=True):
            before = plan.draft.load()[0, n]
            after = before + view.usage[0, c] / fleet.capacity[0, n]
            assert row[TargetRow.CPU_LOAD] == pytest.approx(before, rel=1e-5)
            assert row[TargetRow.CPU_AFTER] == pytest.approx(after, rel=1e-5)
            promised = ((plan.draft.requested[:, n] + fleet.request[:, c]) / fleet.capacity[:, n]).max()
            assert row[TargetRow.PROMISED_AFTER] == pytest.approx(promised, rel=1e-5)
            rise = late_rate(plan, figures, trip_ms, n, after) - late_rate(plan, figures, trip_ms, n, before)
            wanted = min(late_cost_wh_h(rise) / figures.span_w, 4.0)
            assert row[TargetRow.NEIGHBOURS_COST] == pytest.approx(wanted, rel=1e-4, abs=1e-6)
            assert row[TargetRow.SAME_SITE] == float(fleet.site_of[n] == fleet.site_of[view.placement[c]])
            assert row[TargetRow.FOLDING] == 1.0
            assert row[TargetRow.LEFT] == pytest.approx(0.3)
            seen += 1
    assert seen > 20


def test_every_target_on_the_list_is_legal(scene):
    plan = scene[0]
    for c in movable(plan):
        for n in targets(scene, c).node[1:].tolist():
            assert plan.draft.reasons(c)[n] == 0


def test_kept_target_stands_on_the_list(scene):
    plan = scene[0]
    found = 0
    for c in movable(plan):
        options = targets(scene, c)
        assert len(options.node) <= MOST_TARGETS + 1
        if len(options.node) > 2:
            last = int(options.node[-1])
            assert int(targets(scene, c, keep=(last,)).node[1]) == last
            found += 1
    assert found


def test_more_nodes_are_offered_for_folding_the_more_they_save_for_a_move(scene):
    plan, figures, _ = scene
    options = node_options(
        plan, figures, fold=True, tried=set(), fixed=fixed_by(plan), keep=set(), before=2
    )  # fmt: skip
    folds = options.node[options.kind == NodeRow.FOLD]
    worth = plan.saving_wh[folds] / np.maximum(plan.draft.staying[folds], 0.5)
    assert (np.diff(worth) <= 0).all()
    assert (options.rows[:, NodeRow.CHOSEN_BEFORE] == 0.25).all()
    tried = node_options(
        plan, figures, fold=True, tried={int(folds[0])}, fixed=fixed_by(plan), keep=set(), before=2
    )  # fmt: skip
    assert int(folds[0]) not in tried.node.tolist()
    assert NodeRow.FOLD not in node_options(
        plan, figures, fold=False, tried=set(), fixed=fixed_by(plan), keep=set(), before=0
    ).kind.tolist()  # fmt: skip
