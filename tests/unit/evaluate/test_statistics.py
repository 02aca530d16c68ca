"""Intervals cover what they claim, differences pair by seed, and what cannot be known stays absent."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.errors import ModelError, UnknownNameError
from fogfold.evaluate.result import FIGURES, RunResult, Terms
from fogfold.evaluate.statistics import (
    Interval,
    _student_quantile,
    compare,
    mean_interval,
    ratio_interval,
    summarise,
)


def run_of(policy: str, seed: int, **figures: Any) -> RunResult:
    plain = RunResult(
        scenario="city-20",
        policy=policy,
        seed=seed,
        hours=24.0,
        energy_kwh=10.0,
        nodes_asleep_share=0.25,
        sla_violation_rate=0.001,
        migration_cost=3.0,
        mean_latency_ms=20.0,
        moves=12,
        failed_moves=1,
        refused=0,
        total_cost=11_000.0,
        terms=Terms(energy=10_000.0, migration=300.0, sla=500.0, latency=200.0),
        work_core_h=100.0,
        waiting_container_h=0.5,
        first_placements=80,
        decision_ms_p50=1.0,
        decision_ms_p99=2.0,
        cpu_s=3.0,
    )
    return replace(plain, **figures)


@pytest.mark.parametrize("count", [2, 4, 5, 12])
def test_interval_of_a_normal_mean_covers_about_95_percent(count: int) -> None:
    trials = 500
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(trials):
        interval = mean_interval(rng.normal(10.0, 2.0, count))
        assert interval.low is not None
        assert interval.high is not None
        held += interval.low <= 10.0 <= interval.high
    assert 0.91 <= held / trials <= 0.98


def test_interval_of_a_paired_ratio_covers_about_95_percent() -> None:
    rng = np.random.default_rng(11)
    for count in (3, 10):
        held = 0
        for _ in range(500):
            day = rng.normal(100.0, 20.0, count)
            interval = ratio_interval(0.7 * day + rng.normal(0.0, 2.0, count), day)
            assert interval is not None
            assert interval.low is not None
            assert interval.high is not None
            held += interval.low <= -0.3 <= interval.high
        assert 0.90 <= held / 500 <= 0.98


def test_two_seeds_take_the_student_interval_worked_by_hand() -> None:
    interval = mean_interval(np.array([9.0, 11.0]))
    # Standard deviation sqrt(2), standard error 1, t(0.975, 1) = 12.7062.
    assert interval.mean == 10.0
    assert interval.low == pytest.approx(10.0 - 12.7062, abs=1e-4)
    assert interval.high == pytest.approx(10.0 + 12.7062, abs=1e-4)


@pytest.mark.parametrize(("freedom", "expected"), [(1, 12.7062), (3, 3.1824), (4, 2.7764), (9, 2.2622), (30, 2.0423)])
def test_student_quantile_agrees_with_the_printed_tables(freedom: int, expected: float) -> None:
    assert _student_quantile(freedom) == pytest.approx(expected, rel=1e-3)


def test_bootstrap_interval_is_wider_than_the_normal_one_by_the_small_sample_factor() -> None:
    values = np.arange(1.0, 21.0)
    half = mean_interval(values).half_width
    assert half is not None
    # t(0.975, 19) = 2.093 standard errors, each sqrt(35) / sqrt(20).
    assert half == pytest.approx(2.093 * math.sqrt(35.0 / 20.0), rel=0.03)


def test_one_seed_has_a_mean_and_no_interval() -> None:
    interval = mean_interval(np.array([4.0]))
    assert interval == Interval(4.0, None, None)
    assert interval.half_width is None
    assert interval.holds_zero is None
    assert interval.as_json() == {"mean": 4.0, "low": None, "high": None}
    ratio = ratio_interval(np.array([4.0]), np.array([5.0]))
    assert ratio is not None
    assert ratio.mean == pytest.approx(-0.2)
    assert ratio.low is None
    assert ratio.high is None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=9), st.integers(0, 5))
def test_interval_holds_its_mean_and_repeats(values: list[float], seed: int) -> None:
    sample = np.array(values)
    interval = mean_interval(sample, seed=seed)
    assert interval.low is not None
    assert interval.high is not None
    assert interval.low <= interval.mean <= interval.high
    assert interval == mean_interval(sample, seed=seed)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.1, 100.0), min_size=5, max_size=8), st.floats(0.1, 4.0))
def test_scaling_both_figures_leaves_the_relative_difference(values: list[float], scale: float) -> None:
    base = np.array(values)
    interval = ratio_interval(base * scale, base)
    assert interval is not None
    assert interval.mean == pytest.approx(scale - 1.0, abs=1e-9)
    assert interval.low == pytest.approx(scale - 1.0, abs=1e-9)


def test_pairing_cancels_what_the_seeds_have_in_common() -> None:
    days = np.array([8.0, 12.0, 9.0, 15.0, 10.0, 11.0])
    runs = [run_of("hold", seed, energy_kwh=float(day)) for seed, day in enumerate(days)]
    runs += [run_of("drain", seed, energy_kwh=float(day) - 2.0) for seed, day in enumerate(days)]
    (paired,) = compare(runs, "hold")
    difference = paired.figures["energy_kwh"]
    assert difference is not None
    assert difference.absolute.mean == pytest.approx(-2.0)
    assert difference.absolute.half_width == pytest.approx(0.0, abs=1e-9)
    alone = summarise(runs)[0].figures["energy_kwh"]
    assert alone is not None
    assert alone.half_width is not None
    assert alone.half_width > 1.0
    assert difference.relative is not None
    assert difference.relative.mean == pytest.approx(-2.0 * 6 / 65.0)


def test_only_seeds_that_both_ran_are_paired() -> None:
    runs = [run_of("hold", seed) for seed in (0, 1, 2)]
    runs += [run_of("drain", seed, energy_kwh=8.0) for seed in (1, 2, 3)]
    assert compare(runs, "hold")[0].seeds == (1, 2)
    with pytest.raises(ModelError, match="no seed in common"):
        compare([run_of("hold", 0), run_of("drain", 1)], "hold")


def test_order_of_runs_does_not_change_the_intervals() -> None:
    runs = [run_of("hold", seed, energy_kwh=10.0 + seed**0.5) for seed in range(6)]
    assert summarise(runs) == summarise(runs[::-1])


def test_share_of_nothing_is_absent_and_the_difference_stays() -> None:
    runs = [run_of("hold", seed, moves=0) for seed in range(5)] + [run_of("drain", seed, moves=9) for seed in range(5)]
    difference = compare(runs, "hold")[0].figures["moves"]
    assert difference is not None
    assert difference.absolute.mean == 9.0
    assert difference.relative is None


def test_resample_without_a_base_leaves_the_ends_open() -> None:
    assert ratio_interval(np.full(5, 3.0), np.array([0.0, 0.0, 0.0, 0.0, 5.0])) == Interval(2.0, None, None)


def test_figure_that_a_run_does_not_know_is_absent_not_zero() -> None:
    runs = [run_of("hold", 0), run_of("hold", 1), run_of("drain", 0, mean_latency_ms=math.nan), run_of("drain", 1)]
    runs = [replace(run, decision_ms_p50=None) for run in runs]
    hold, drain = summarise(runs)
    assert hold.figures["mean_latency_ms"] is not None
    assert drain.figures["mean_latency_ms"] is None
    assert compare(runs, "hold")[0].figures["mean_latency_ms"] is None
    assert drain.as_json()["mean_latency_ms"] is None
    assert hold.figures["decision_ms_p50"] is None


def test_json_has_the_documented_keys() -> None:
    runs = [run_of("hold", 0), run_of("drain", 0)]
    row = summarise(runs)[0].as_json()
    assert list(row) == ["policy", "seeds", *(figure.key for figure in FIGURES)]
    assert row["energy_kwh"] == {"mean": 10.0, "low": None, "high": None}
    paired = compare(runs, "hold")[0].as_json()
    assert list(paired) == ["policy", "against", "seeds", *(figure.key for figure in FIGURES)]
    assert paired["energy_kwh"]["relative"] == {"mean": 0.0, "low": None, "high": None}


def test_degenerate_input_is_refused_with_a_sentence() -> None:
    with pytest.raises(ModelError, match="0 values"):
        mean_interval(np.array([]))
    with pytest.raises(ModelError, match="holds nan"):
        mean_interval(np.array([1.0, math.nan]))
    with pytest.raises(ModelError, match="pair them seed by seed"):
        ratio_interval(np.array([1.0]), np.array([1.0, 2.0]))
    with pytest.raises(ModelError, match="is negative"):
        ratio_interval(np.array([1.0, 1.0]), np.array([-1.0, 2.0]))
    with pytest.raises(ModelError, match="0 runs"):
        summarise([])
    with pytest.raises(ModelError, match="two runs of seed 3"):
        summarise([run_of("hold", 3), run_of("hold", 3)])
    with pytest.raises(ModelError, match="one scenario and length"):
        summarise([run_of("hold", 0), run_of("hold", 1, hours=12.0)])
    with pytest.raises(UnknownNameError, match='did you mean "hold"'):
        compare([run_of("hold", 0)], "hald")
    with pytest.raises(ModelError, match="both ends or neither"):
        Interval(1.0, 0.0, None)
    with pytest.raises(ModelError, match="swap them"):
        Interval(1.0, 2.0, 0.0)
    with pytest.raises(ModelError, match="is nan"):
        Interval(math.nan, None, None)
