"""Figures of options, against slow twins and numbers worked by hand."""

import numpy as np
import pytest

from fogfold.cost.latency import late_share
from fogfold.encoding.arrays import fleet_arrays
from fogfold.encoding.rows import ContainerRow
from fogfold.encoding.rows import NodeRow as NodeFigure
from fogfold.policy.emptying import fixed_by
from fogfold.policy.learned.foreseeing import HOUR_STEPS, foresee, highest, peak
from fogfold.policy.learned.nodes import late_cost_wh_h, node_figures, trend_of
from fogfold.policy.learned.options import MOST_FULL, MOST_TARGETS, MOST_THRIFTY, node_options, target_options
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
    return a_scene(20)


@pytest.fixture(scope="module")
def crowd():
    return a_scene(60)


def a_scene(nodes):
    """A plan after an hour without orders, the figures of its nodes, and mean round trips."""
    built = training_world(TrainSettings(nodes=(nodes,), hours=6.0), 5)
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


def added_w(plan, container, node):
    """Power that a container adds, from the curve itself."""
    fleet, draft = plan.view.fleet, plan.draft
    curve, cores = fleet.power_curve[node], fleet.capacity[0, node]
    grid = np.linspace(0.0, 1.0, len(curve))
    before = draft.load()[0, node]
    after = min(before + plan.view.usage[0, container] / cores, 1.0)
    power = np.interp(after, grid, curve) - np.interp(before, grid, curve)
    return power + (curve[0] if draft.staying[node] + draft.arriving[node] == 0 else 0.0)


def test_list_holds_the_targets_that_add_least_power_beside_the_fullest(crowd):
    plan, figures, _ = crowd
    more = 0
    for c in movable(plan)[:60]:
        options = targets(crowd, c)
        assert len(set(options.node.tolist())) == len(options.node)
        listed = {n: added_w(plan, c, n) for n in options.node[1:].tolist()}
        shown = options.rows[1:, TargetRow.POWER] * figures.span_w
        assert shown == pytest.approx(list(listed.values()), rel=1e-4, abs=1e-4)
        within = [
            n
            for n in np.flatnonzero(plan.draft.reasons(c) == 0).tolist()
            if n != plan.view.placement[c]
            and plan.draft.load()[0, n] + plan.view.usage[0, c] / plan.view.fleet.capacity[0, n] <= CEILING.cpu
        ]
        left_out = [added_w(plan, c, n) for n in within if n not in listed and is_near(crowd, c, n)]
        if left_out and len(listed) > MOST_FULL:
            assert min(left_out) >= sorted(listed.values())[MOST_THRIFTY - 1] - 1e-9
            more += 1
    assert more > 5


def is_near(scene, container, node):
    """Whether the way from its users is one that a container may be given."""
    plan, _, trip_ms = scene
    fleet = plan.view.fleet
    trip, here = (trip_ms[container, fleet.site_of[n]] for n in (node, plan.view.placement[container]))
    return trip < fleet.container[ContainerRow.OBJECTIVE_MS, container] or trip <= here


def test_peaks_of_nodes_come_from_their_own_past(scene):
    plan, figures, _ = scene
    for n in range(plan.view.fleet.nodes):
        seen = foresee(figures.history[n][:, None])
        assert figures.peak_soon[n] == pytest.approx(min(peak(seen, 1)[0], 2.0))
        assert figures.peak_hour[n] == pytest.approx(min(peak(seen, HOUR_STEPS)[0], 2.0))
    assert (figures.peak_hour >= figures.peak_soon - 1e-12).all()
    assert np.ptp(figures.peak_hour) > 0.05


def test_peak_of_a_target_takes_in_what_the_container_is_expected_to_use(scene):
    plan, figures, _ = scene
    view, fleet = plan.view, plan.view.fleet
    hour = highest(foresee(figures.past), HOUR_STEPS)
    for c in movable(plan)[:20]:
        options = targets(scene, c)
        for n, row in zip(options.node[1:].tolist(), options.rows[1:], strict=True):
            extra = plan.draft.load()[0, n] - figures.history[n, -1]
            expected = figures.peak_hour[n] + extra + hour[c] / fleet.capacity[0, n]
            assert row[TargetRow.PEAK_HOUR_AFTER] == pytest.approx(np.clip(expected, 0.0, 2.0), rel=1e-5)
    assert view.cpu_history.shape[0] == 12


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
    assert (np.diff(options.rows[options.kind == NodeRow.FOLD, NodeRow.SAVING_A_MOVE]) <= 1e-6).all()
    assert options.rows[:, NodeRow.CHOSEN_BEFORE] == pytest.approx(8.0 * 2 / 20)
    tried = node_options(
        plan, figures, fold=True, tried={int(folds[0])}, fixed=fixed_by(plan), keep=set(), before=2
    )  # fmt: skip
    assert int(folds[0]) not in tried.node.tolist()
    assert NodeRow.FOLD not in node_options(
        plan, figures, fold=False, tried=set(), fixed=fixed_by(plan), keep=set(), before=0
    ).kind.tolist()  # fmt: skip
