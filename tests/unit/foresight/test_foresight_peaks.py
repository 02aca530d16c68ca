"""Peaks of load, and what is counted near them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.cost.total import ExchangeRates
from fogfold.encoding.arrays import fleet_arrays
from fogfold.encoding.rows import ContainerInt
from fogfold.evaluate.foresight.day import Day, DayTask, play_day, true_load_cores
from fogfold.evaluate.foresight.peaks import PeakRule, near_peaks, peaks_of, violations_near_peaks
from fogfold.evaluate.foresight.rows import COMPARED, equal_energy, row_of, summarise_rows
from fogfold.evaluate.metrics import StepRecord, result_of
from fogfold.world.rows import Total
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario

STEP_S = 300.0
DAY = np.arange(288) * STEP_S / 3600.0


def _hump(hour, height=1.0):
    return height * np.exp(-0.5 * ((DAY - hour) / 1.0) ** 2)


def a_day(load, happened, variant="one", seed=0):
    records = [StepRecord(row, 10, 0, 0, 0.0) for row in happened]
    result = result_of(
        records, scenario="s", policy="p", seed=seed, nodes=1, containers=1, rates=ExchangeRates(), cpu_s=None
    )
    return Day(variant, result, happened, load, STEP_S, len(records))


def test_two_humps_are_two_peaks_and_a_low_bump_is_none():
    load = 1.0 + _hump(9.0) + _hump(18.0, 0.8) + _hump(1.5, 0.05)
    found = DAY[peaks_of(load, STEP_S)]
    np.testing.assert_allclose(found, [9.0, 18.0], atol=0.1)


def test_shoulder_within_two_hours_of_a_higher_peak_is_no_peak():
    found = DAY[peaks_of(1.0 + _hump(9.0) + 0.9 * np.exp(-0.5 * ((DAY - 10.5) / 0.3) ** 2), STEP_S)]
    assert len(found) == 1


def test_spike_of_a_single_step_is_smoothed_away():
    load = 1.0 + _hump(9.0)
    load[240] += 0.5
    np.testing.assert_allclose(DAY[peaks_of(load, STEP_S)], [9.0], atol=0.1)


@pytest.mark.parametrize("load", [np.ones(288), DAY + 1.0, 25.0 - DAY])
def test_load_that_only_stands_or_goes_one_way_has_no_peak(load):
    assert len(peaks_of(load, STEP_S)) == 0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31))
def test_windows_of_two_peaks_never_overlap(seed):
    load = 5.0 + np.cumsum(np.random.default_rng(seed).normal(size=288)) * 0.1
    found = peaks_of(load, STEP_S)
    assert (np.diff(found) * STEP_S >= PeakRule().apart_s).all()


def test_only_the_hour_before_and_after_counts():
    load = 1.0 + _hump(12.0)
    happened = np.zeros((288, len(Total)))
    happened[:, Total.REQUESTS] = 100.0
    happened[132, Total.LATE] = 24.0  # 11:00, the first step of the window
    happened[131, Total.LATE] = 1000.0
    happened[156, Total.UNSERVED] = 1000.0  # 13:00, the first step after it
    day = a_day(load, happened)
    assert near_peaks(day).sum() == 24
    # 24 of 2400 requests, in two hours.
    assert violations_near_peaks(day) == pytest.approx((0.01, 12.0))


def test_day_without_a_peak_has_no_violation_near_one():
    assert violations_near_peaks(a_day(np.ones(288), np.zeros((288, len(Total))))) == (0.0, 0.0)


# What the days say together.


def _row(variant, seed, energy_kwh, late):
    happened = np.zeros((288, len(Total)))
    happened[:, Total.ENERGY_J] = energy_kwh * 3.6e6 / 288
    happened[:, Total.REQUESTS] = 100.0
    happened[:, Total.LATE] = late
    return row_of(a_day(1.0 + _hump(12.0), happened, variant, seed))


def test_differences_are_paired_and_relative_to_the_base():
    rows = [_row(name, seed, e * (1 + seed), 1.0) for seed in range(3) for name, e in (("a", 1.0), ("b", 0.9))]
    base, other = summarise_rows(rows, "a")
    assert base.relative["energy_kwh"] is None
    assert other.figures["energy_kwh"].mean == pytest.approx(1.8)
    relative = other.relative["energy_kwh"]
    assert relative is not None
    assert relative.mean == pytest.approx(-0.1)
    assert relative.low == pytest.approx(-0.1)
    assert set(other.as_json()) >= {"scenario", "variant", "against", "seeds", *COMPARED}


def test_equal_energy_takes_the_least_harmful_within_one_per_cent_else_the_nearest():
    target = [_row("t", 0, 1.0, 0.0)]
    settings_of = [[_row("a", 0, 1.005, 5.0)], [_row("b", 0, 0.995, 3.0)], [_row("c", 0, 1.02, 0.0)]]
    assert equal_energy(target, settings_of) == 1
    assert equal_energy([_row("t", 0, 2.0, 0.0)], settings_of) == 2


# The player.


def test_true_load_is_what_the_world_is_asked_for():
    built = build(load_scenario("city-20"), 3, hours=1.0)
    fleet = fleet_arrays(built.cluster)
    load = true_load_cores(built, fleet.container_int[ContainerInt.REGION], fleet.request[0])
    day = play_day(DayTask(load_scenario("city-20"), 3, "hold", "hold", hours=1.0))
    assert len(load) == 12
    np.testing.assert_allclose(load, day.happened[:, Total.DEMAND_CORE_S] / STEP_S, rtol=0.02)
    np.testing.assert_array_equal(load, day.load_cores)
