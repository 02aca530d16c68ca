"""Volatility: its parts, worked by hand, and the schedule that follows it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.control.gauge import Gauge
from fogfold.control.schedule import Rhythm, Schedule, ScheduleSettings, interval_s_at
from fogfold.control.volatility import (
    Usual,
    VolatilitySettings,
    change_of,
    change_part,
    error_part,
    turn_part,
    volatility,
)
from fogfold.errors import ModelError
from fogfold.testing.clock import FakeClock

SETTINGS = VolatilitySettings()


def test_change_is_the_mean_over_nodes_read_both_times():
    assert change_of({"a": 0.5, "b": 0.5}, {"a": 0.7, "b": 0.5}) == pytest.approx(0.1)
    assert change_of({"a": 0.5}, {"b": 0.5}) is None


def test_change_counts_fully_at_the_high_one_and_half_at_half_of_it():
    assert change_part(SETTINGS.high_change / 2, SETTINGS) == pytest.approx(0.5)
    assert change_part(9.0, SETTINGS) == 1.0


def test_usual_size_is_the_plain_mean_at_first_and_then_forgets():
    usual = Usual().taking(1.0, SETTINGS).taking(3.0, SETTINGS)
    assert usual == Usual(2.0, 2)
    # From the twentieth on the newest weighs a twentieth: 2 + 0.05 x (22 - 2).
    assert Usual(2.0, 50).taking(22.0, SETTINGS).size == pytest.approx(3.0)


def test_usual_error_is_calm_and_four_times_as_much_is_a_storm():
    usual = Usual(2.0, 10)
    assert error_part(2.0, usual, SETTINGS) == 0.0
    # (5 / 2 - 1) / (4 - 1)
    assert error_part(5.0, usual, SETTINGS) == pytest.approx(0.5)
    assert error_part(8.0, usual, SETTINGS) == 1.0


@pytest.mark.parametrize("usual", [Usual(), Usual(1.0, 5), Usual(0.0, 50)])
def test_without_a_usual_size_an_error_says_nothing(usual):
    assert error_part(1.0, usual, SETTINGS) is None


def test_turn_within_the_shortest_interval_is_a_storm_and_beyond_the_longest_nothing():
    assert turn_part(None, 120.0, 1800.0) == 0.0
    assert turn_part(1800.0, 120.0, 1800.0) == 0.0
    assert turn_part(60.0, 120.0, 1800.0) == 1.0
    # The geometric middle: sqrt(120 x 1800) s.
    assert turn_part(math.sqrt(120.0 * 1800.0), 120.0, 1800.0) == pytest.approx(0.5)


@given(lead_s=st.floats(120.0, 1800.0))
def test_the_next_decision_comes_when_load_turns(lead_s):
    settings = ScheduleSettings()
    share = turn_part(lead_s, settings.macro_shortest_s, settings.macro_longest_s)
    assert interval_s_at(share, settings) == pytest.approx(lead_s)


def test_volatility_is_the_largest_part_that_is_known():
    assert volatility(None, 0.25, 0.5) == 0.5
    assert volatility(None, None) is None


@pytest.mark.parametrize("figures", [{"high_change": 0.0}, {"high_error": 1.0}, {"smoothing": 1.5}, {"band": -0.1}])
def test_figures_out_of_range_are_refused(figures):
    with pytest.raises(ModelError):
        VolatilitySettings(**figures)


# The gauge.


def _shown(loads, pressures=None, **settings):
    gauge = Gauge(120.0, 1800.0, VolatilitySettings(**settings))
    for k, load in enumerate(loads):
        gauge.see(300.0 * k, {"n0": pressures[k] if pressures else 0.5}, float(load))
    return gauge


def test_gauge_knows_nothing_at_first_and_steady_load_is_calm():
    assert Gauge(120.0, 1800.0).volatility is None
    assert _shown([10.0]).volatility is None
    gauge = _shown(10.0 + 0.01 * np.sin(np.arange(60)))
    assert gauge.volatility == pytest.approx(0.0, abs=0.5)
    assert gauge.parts["change"] == 0.0
    assert gauge.parts["turn"] == 0.0


def test_missed_forecast_is_a_storm():
    calm = 10.0 + 0.01 * (np.arange(60) % 3)
    assert _shown([*calm, 11.0]).parts["error"] == 1.0


def test_rise_that_comes_every_morning_brings_the_decision_before_it():
    # Two days and a part of the third, on each of which load doubles from 9:00 to 9:30.
    hour = (np.arange(2 * 288 + 120) * 5 / 60) % 24
    load = 10.0 + 10.0 * np.clip((hour - 9.0) / 0.5, 0.0, 1.0) * (hour < 17.0)
    at_eight = 2 * 288 + 96
    assert _shown(load[: at_eight + 1]).parts["turn"] == 0.0
    # At 8:50 the load will have left its band of a tenth at 9:05, in 15 min: ln(1800 / 900) / ln(15).
    assert _shown(load[: at_eight + 11]).parts["turn"] == pytest.approx(math.log(2.0) / math.log(15.0))


def test_pressure_that_moves_is_volatile_though_load_stands_still():
    gauge = _shown(np.full(20, 10.0), [0.5 + 0.2 * (k % 2) for k in range(20)])
    assert gauge.parts["change"] == pytest.approx(1.0)
    assert gauge.volatility == pytest.approx(1.0)


def test_cluster_whose_last_decision_ordered_something_is_not_at_rest():
    gauge = _shown(np.full(20, 10.0), work=0.5)
    gauge.decided(is_idle=False)
    assert gauge.volatility == 0.5
    gauge.decided(is_idle=True)
    assert gauge.volatility == 0.0


def test_missed_forecast_that_was_decided_on_calls_for_no_other_decision():
    gauge = _shown([*(10.0 + 0.01 * (np.arange(60) % 3)), 11.0])
    gauge.decided(is_idle=True)
    assert gauge.parts["error"] == 0.0
    # What it never knew it does not know then.
    gauge = _shown([10.0, 10.0])
    gauge.decided(is_idle=True)
    assert gauge.parts["error"] is None


def test_second_look_within_a_step_changes_nothing():
    gauge = _shown(np.full(20, 10.0))
    before = dict(gauge.parts)
    gauge.see(300.0 * 19 + 60.0, {"n0": 5.0}, 90.0)
    assert gauge.parts == before


def test_gap_says_nothing_of_the_forecast():
    gauge = _shown(10.0 + 0.01 * (np.arange(60) % 3))
    before = gauge.parts["error"]
    gauge.see(300.0 * 70, {"n0": 0.5}, 20.0)
    assert gauge.parts["error"] == before


def test_gauge_that_was_shown_nothing_for_long_knows_nothing_until_the_next_reading():
    gauge = _shown(np.full(20, 10.0))
    for minutes, known in ((30, True), (35, False)):
        gauge.miss(300.0 * 19 + 60.0 * minutes)
        gauge.decided(is_idle=True)
        assert (gauge.volatility is not None) is known
    gauge.see(300.0 * 30, {"n0": 0.5}, 10.0)
    assert gauge.volatility is not None


def test_first_reading_of_a_step_is_wanted_and_no_other():
    gauge = Gauge(120.0, 1800.0)
    assert gauge.wants(0.0)
    gauge.see(10.0, {}, 1.0)
    assert not gauge.wants(299.9)
    assert gauge.wants(300.0)


def test_idle_decision_alone_is_no_calm():
    gauge = Gauge(120.0, 1800.0)
    gauge.decided(is_idle=True)
    assert gauge.volatility is None


def test_intervals_out_of_order_are_refused():
    with pytest.raises(ModelError, match="shorter first"):
        Gauge(1800.0, 120.0)
    with pytest.raises(ModelError, match="shorter first"):
        turn_part(60.0, 1800.0, 120.0)


# The schedule follows what it is given.


def test_schedule_follows_the_volatility_it_is_given():
    schedule = Schedule(FakeClock())
    assert schedule.interval_s == 300.0
    schedule.see_volatility(0.0)
    assert schedule.interval_s == 1800.0
    schedule.see_volatility(1.0)
    assert schedule.interval_s == pytest.approx(120.0)
    schedule.see_volatility(None)
    assert schedule.interval_s == 300.0


def test_storm_brings_the_next_whole_decision_nearer_and_calm_does_not_push_it_away():
    clock = FakeClock()
    schedule = Schedule(clock)
    schedule.see_volatility(0.0)
    run = schedule.due()
    assert run is not None
    schedule.finished(run)
    clock.advance(600.0)
    schedule.see_volatility(1.0)
    schedule.see_volatility(0.0)
    while True:
        next_s = schedule.next_s()
        assert next_s is not None
        clock.advance(max(0.0, next_s - clock.monotonic_s()))
        run = schedule.due()
        assert run is not None
        if run.rhythm is Rhythm.MACRO:
            break
        schedule.finished(run)
    assert clock.monotonic_s() == pytest.approx(720.0)


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_volatility_outside_its_range_is_refused(share):
    with pytest.raises(ModelError):
        Schedule(FakeClock()).see_volatility(share)
