"""Episodes and their figures: the referee of every comparison, against numbers worked by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fogfold.cost.total import ExchangeRates
from fogfold.errors import ModelError, UnknownNameError
from fogfold.evaluate.episodes import run_episode
from fogfold.evaluate.metrics import StepRecord, result_of, series_of
from fogfold.evaluate.runs import run_tasks, tasks_of
from fogfold.evaluate.tune import FIRST_TUNING_SEED, tune
from fogfold.policy.base import Intensity, Move, Proposal
from fogfold.policy.orders import orders_of
from fogfold.policy.registry import policy
from fogfold.world.dynamics import SLEEP, WAKE
from fogfold.world.rows import Total
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario


@pytest.fixture(scope="module")
def tiny():
    return build(load_scenario("tiny-4"), 1, hours=2.0)


def record(**totals):
    happened = np.zeros(len(Total))
    for name, value in totals.items():
        happened[Total[name]] = value
    return StepRecord(happened, ticks=10, nodes_asleep=1, nodes_failed=0, decision_s=0.002)


def figures(records, **options):
    options = {"rates": ExchangeRates(), "cpu_s": None, **options}
    return result_of(records, scenario="s", policy="p", seed=0, nodes=4, containers=7, **options)


def test_figures_are_their_formulae():
    one = record(
        ENERGY_J=3.6e6,
        ASLEEP_NODE_S=300.0,
        REQUESTS=1000.0,
        LATE=10.0,
        UNSERVED=40.0,
        LATENCY_MS=960.0 * 25.0,
        ROUND_TRIP_MS=960.0 * 5.0,
        MOVES_DONE=2.0,
        ATTEMPTS_FAILED=1.0,
        REFUSED=3.0,
        MOVED_BYTES=2.0 * 2**30,
        MOVE_MEMORY_BYTE_S=6.0 * 2**30,
        MOVE_DOWNTIME_S=4.0,
        WORK_CORE_S=7200.0,
        WAITING_S=1800.0,
    )
    two = record(ENERGY_J=1.8e6)
    rates = ExchangeRates(late_request_wh=0.01, migrated_gib_wh=0.5, downtime_s_wh=0.25, latency_ms_request_wh=0.001)
    result = figures([one, two], rates=rates)
    assert result.hours == pytest.approx(600 / 3600)
    assert result.energy_kwh == pytest.approx(1.5)
    # 300 node-seconds of 4 nodes x 600 s.
    assert result.nodes_asleep_share == pytest.approx(0.125)
    assert result.sla_violation_rate == pytest.approx(0.05)
    # 6 GiB s over two cycles.
    assert result.migration_cost == pytest.approx(3.0)
    assert result.mean_latency_ms == pytest.approx(25.0)
    assert (result.moves, result.failed_moves, result.refused, result.first_placements) == (2, 1, 3, 7)
    assert dataclasses.astuple(result.terms) == pytest.approx((1500.0, 2 * 0.5 + 4 * 0.25, 50 * 0.01, 4.8))
    assert result.total_cost == pytest.approx(1500.0 + 2.0 + 0.5 + 4.8)
    assert result.work_core_h == pytest.approx(2.0)
    assert result.waiting_container_h == pytest.approx(0.5)
    assert result.decision_ms_p50 is None


def test_nothing_served_has_no_latency():
    result = figures([record(REQUESTS=5.0, UNSERVED=5.0)])
    assert result.mean_latency_ms is None
    series = series_of([record(REQUESTS=5.0, UNSERVED=5.0), record()], cores=8.0)
    assert np.isnan(series.latency_ms).all()
    assert series.sla_violation_rate.tolist() == [1.0, 0.0]


def test_times_are_reported_when_asked_for():
    result = figures([record(), record()], cpu_s=1.5)
    assert result.decision_ms_p50 == pytest.approx(2.0)
    assert result.cpu_s == 1.5


def test_orders_carry_the_proposal():
    proposal = Proposal("p", Intensity.DEEP, (Move(3, 1), Move(4, 0)), sleep=(2,), wake=(1,))
    orders = orders_of(proposal, 3)
    assert orders.moves.tolist() == [[[3, 1], [4, 0]]]
    assert orders.power.tolist() == [[0, WAKE, SLEEP]]
    assert orders_of(Proposal("p"), 3).moves.shape == (1, 0, 2)


@pytest.mark.parametrize("name", ["hold", "drain", "drain-relief", "balanced", "lr-mmt"])
def test_every_step_of_an_episode_passes_the_referee(tiny, name):
    steps = []
    episode = run_episode(tiny, policy(name), check=True, on_step=lambda done, total: steps.append((done, total)))
    assert steps[-1] == (24, 24)
    assert episode.result.hours == 2.0
    assert episode.result.refused == 0
    assert len(episode.series.hour) == 24
    assert episode.sites.nodes.sum() == 4


def test_hold_moves_nothing_and_sleeps_never(tiny):
    result = run_episode(tiny, policy("hold")).result
    assert (result.moves, result.nodes_asleep_share, result.migration_cost) == (0, 0.0, 0.0)


def test_folding_saves_energy_on_a_calm_cluster(tiny):
    held, folded = (run_episode(tiny, policy(name)).result for name in ("hold", "drain-relief"))
    assert folded.nodes_asleep_share > 0.1
    assert folded.energy_kwh < held.energy_kwh


def test_policies_meet_the_same_demand(tiny):
    held, folded = (run_episode(tiny, policy(name)) for name in ("hold", "drain"))
    # Demand differs only by what moves add to it.
    assert folded.series.load_share == pytest.approx(held.series.load_share, rel=0.05)


def test_episode_is_repeatable(tiny):
    first, second = (run_episode(tiny, policy("drain-relief")) for _ in range(2))
    assert first.result == second.result
    assert np.array_equal(first.series.power_w, second.series.power_w)


def test_scenario_shorter_than_a_step_is_refused():
    short = build(load_scenario("tiny-4"), 1, hours=0.05)
    with pytest.raises(ModelError, match="one step takes 10"):
        run_episode(short, policy("hold"))


def test_nothing_to_run_is_refused():
    with pytest.raises(ModelError, match="0 policies"):
        tasks_of(load_scenario("tiny-4"), [], [0])


def test_tasks_are_every_policy_with_every_seed_in_order():
    tasks = tasks_of(load_scenario("tiny-4"), ["hold", "drain"], [4, 5], hours=0.5)
    assert [(task.policy, task.seed) for task in tasks] == [("hold", 4), ("hold", 5), ("drain", 4), ("drain", 5)]
    assert [index for index, _ in run_tasks(tasks)] == [0, 1, 2, 3]


def test_tuning_never_ends_worse_than_the_defaults_on_its_own_seeds():
    found = tune([load_scenario("tiny-4")], "drain-relief", trials=4, seeds=2, check_seeds=2, hours=1.0)
    assert found.best.seeds == found.default.seeds == 2
    assert found.best.total_cost <= found.default.total_cost
    assert len(found.trials) == 4
    assert found.check.mean is not None


def test_tuning_is_repeatable_and_uses_seeds_of_its_own(monkeypatch):
    from fogfold.evaluate.runs import run_tasks as real

    seen: list[int] = []

    def spy(tasks, **options):
        seen.extend(task.seed for task in tasks)
        return real(tasks, **options)

    monkeypatch.setattr("fogfold.evaluate.tune.run_tasks", spy)

    def search():
        return tune([load_scenario("tiny-4")], "best-fit", trials=3, seeds=1, check_seeds=1, hours=0.5).as_json()

    first = search()
    assert min(seen) >= FIRST_TUNING_SEED
    assert search() == first


def test_tuning_of_nothing_is_refused():
    with pytest.raises(ModelError, match="no parameters to search"):
        tune([load_scenario("tiny-4")], "hold", trials=2, seeds=1, check_seeds=1)
    with pytest.raises(UnknownNameError, match="did you mean"):
        tune([load_scenario("tiny-4")], "drain-relif", trials=2, seeds=1, check_seeds=1)
    with pytest.raises(ModelError, match="1 trials"):
        tune([load_scenario("tiny-4")], "drain", trials=1)
