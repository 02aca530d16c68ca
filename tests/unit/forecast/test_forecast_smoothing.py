"""Holt-Winters: numbers worked by hand, gaps, profiles."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.errors import ModelError
from fogfold.forecast.calendar import Calendar
from fogfold.forecast.smoothing import GRID, HoltWinters, Smoothing

SIX_HOURS = Calendar(21600.0)
"""Four steps a day: four parts of the daily profile, 28 of the weekly one."""


def played(readings, *settings, steps=2, calendar=SIX_HOURS):
    """Candidates after these readings of one series, as (steps, settings)."""
    family = HoltWinters(1, calendar, settings)
    for reading in readings:
        family.observe(np.array([reading]))
    found = np.empty((1, steps, len(settings)), np.float32)
    family.write(found, 0)
    return found[0]


def test_level_and_damped_trend_are_those_of_the_sheet():
    # alpha 0.5, beta 0.25, phi 0.8. Reading 10: level 10, trend 0.
    # Reading 14: error 4, level 12, trend 1.
    # Reading 12: one-step forecast 12 + 0.8 = 12.8, error -0.8, level 12.4, trend 0.8 - 0.2 = 0.6.
    # One step: 12.4 + 0.8 * 0.6 = 12.88. Two: 12.4 + (0.8 + 0.64) * 0.6 = 13.264.
    found = played([10.0, 14.0, 12.0], Smoothing(0.5, trend=0.25, damping=0.8))
    assert found[:, 0] == pytest.approx([12.88, 13.264])


def test_daily_profile_is_that_of_the_sheet():
    # alpha 0, daily 0.5: level stays 10. Parts after a day of 10, 14, 10, 6: 0, 2, 0, -2.
    # Second day, 10 and 14: part 1 errs by 14 - 12 = 2 and becomes 3.
    found = played([10.0, 14.0, 10.0, 6.0, 10.0, 14.0], Smoothing(0.0, daily=0.5), steps=4)
    assert found[:, 0] == pytest.approx([10.0, 8.0, 10.0, 13.0])


def test_weekly_profile_knows_sunday_from_monday():
    week = [10.0] * 24 + [4.0] * 4
    found = played(week * 6, Smoothing(0.0, weekly=0.5), steps=28)
    # Six weeks close all but 1/64 of the gap of 6.
    assert found[:24, 0] == pytest.approx(10.0)
    assert found[24:, 0] == pytest.approx(4.0 + 6.0 / 64.0)


def test_rate_of_a_profile_is_that_of_a_day_however_short_the_steps():
    # A day of 300 s steps has six to a part: six corrections come to one of 0.5.
    calendar = Calendar(300.0)
    day = [0.0] * 6 + [8.0] * 6 + [0.0] * 276
    found = played(day, Smoothing(0.0, daily=0.5), steps=12, calendar=calendar)
    assert found[:6, 0] == pytest.approx(0.0)
    assert found[6:, 0] == pytest.approx(4.0, abs=1e-5)


def test_gap_moves_the_level_along_its_trend_and_teaches_nothing():
    # Level 12, trend 1 after 10, 14 (as above); the gap takes 0.8 of the trend into the level: 12.8 and trend 0.8.
    found = played([10.0, 14.0, np.nan], Smoothing(0.5, trend=0.25, damping=0.8), steps=1)
    assert found[0, 0] == pytest.approx(12.8 + 0.8 * 0.8)


def test_series_without_a_reading_is_not_zero():
    assert np.isnan(played([np.nan, np.nan], *GRID)).all()


def test_falling_trend_stops_at_zero():
    assert played([9.0, 5.0, 1.0], Smoothing(0.9, trend=0.9, damping=1.0), steps=3)[-1, 0] == 0.0


def test_rate_above_one_is_refused():
    with pytest.raises(ModelError, match=r"smoothing level is 1\.5"):
        Smoothing(1.5)
    with pytest.raises(ModelError, match="grid of smoothings is empty"):
        HoltWinters(1, SIX_HOURS, ())


def test_step_that_does_not_divide_the_day_is_refused():
    with pytest.raises(ModelError, match="must be a whole number of steps"):
        Calendar(7000.0)


def test_calendar_starts_where_the_world_does():
    # Wednesday 22:00 is half hour 44 of day 2; the week ends after 336 half hours.
    assert Calendar(1800.0, 252000.0).part_of_week(0, 5).tolist() == [140, 141, 142, 143, 144]
    assert Calendar(1800.0, 604800.0 - 1800.0).part_of_week(0, 2).tolist() == [335, 0]
