"""Shifts and crossings: sums worked by hand, and warnings held against what came."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.errors import ModelError
from fogfold.forecast.backtest import Track
from fogfold.forecast.base import FRESH, Forecast
from fogfold.forecast.foretold import events_of, judge_warnings, nodes_of
from fogfold.forecast.turning import NEVER, Cusum, CusumParams, foresee
from fogfold.seeding import stream


def shifts(readings, **params):
    cusum = Cusum(1, CusumParams(**params))
    return [int(cusum.observe(np.array([reading]))[0]) for reading in readings]


def test_sums_are_those_of_the_sheet():
    # Settling 2. Readings 1 and 3: mean 2, spread 1.2533 x 2 = 2.5066.
    # Reading 10: off by 8, which is 3.1915 spreads; the sum is 2.6915. Mean 2 + 8/3 = 4.6667, spread
    # 2.5066 + (1.2533 x 8 - 2.5066) / 3 = 5.0133.
    # Reading 20: off by 15.3333, 3.0585 spreads; the sum is 2.6915 + 2.5585 = 5.25.
    assert shifts([1.0, 3.0, 10.0, 20.0], settling=2, limit=5.2) == [0, 0, 0, 1]
    assert shifts([1.0, 3.0, 10.0, 20.0], settling=2, limit=5.3) == [0, 0, 0, 0]


def test_step_up_and_step_down_are_found_soon_after_they_happen():
    rng = stream(1, "step")
    level = np.concatenate([rng.normal(10.0, 1.0, 100), rng.normal(13.0, 1.0, 100), rng.normal(10.0, 1.0, 100)])
    found = {at: way for at, way in enumerate(shifts(level)) if way}
    assert [way for at, way in found.items() if 100 <= at < 106] == [1]
    assert [way for at, way in found.items() if 200 <= at < 206] == [-1]
    assert len(found) <= 4


def test_false_alarms_on_normal_noise_are_rare():
    rng = stream(2, "calm")
    cusum = Cusum(200)
    alarms = sum(int(np.abs(cusum.observe(row)).sum()) for row in rng.normal(50.0, 1.0, (465, 200)))
    # 465 readings a false alarm where mean and spread are known; learned ones cost some.
    assert 100 <= alarms <= 500


def test_gap_changes_nothing():
    readings = [1.0, 3.0, 10.0, np.nan, np.nan, 20.0]
    assert shifts(readings, settling=2, limit=5.2) == [0, 0, 0, 0, 0, 1]


def test_constant_load_never_shifts():
    assert not any(shifts([0.3] * 200))


def test_cusum_follows_series_that_come_and_go():
    cusum = Cusum(2, CusumParams(settling=2, limit=5.2))
    for a, b in ((7.0, 1.0), (7.0, 3.0), (7.0, 10.0)):
        cusum.observe(np.array([a, b]))
    cusum.take([1, FRESH])
    assert cusum.observe(np.array([20.0, 20.0])).tolist() == [1, 0]
    with pytest.raises(ModelError, match="there are 0 to 1"):
        cusum.take([2])
    with pytest.raises(ModelError, match="1 readings are given, 2 series"):
        cusum.observe(np.zeros(1))


def a_forecast(*paths):
    """Medians as given, the ends of the interval 2 off."""
    median = np.array(paths, float).T
    return Forecast(median, np.stack([median - 2.0, median, median + 2.0]), (0.05, 0.5, 0.95), 300.0)


def test_first_crossing_is_announced_with_its_direction_and_lead():
    forecast = a_forecast([4.0, 6.0, 7.0], [6.0, 5.5, 4.0], [4.0, 4.5, 4.9], [6.0, 6.0, 6.0])
    found = foresee(forecast, np.array([4.0, 6.0, 4.0, 6.0]), np.full(4, 5.0))
    assert found.direction.tolist() == [1, -1, 0, 0]
    assert found.step.tolist() == [2, 3, NEVER, NEVER]
    assert found.lead_s[:2].tolist() == [600.0, 900.0]
    assert np.isnan(found.lead_s[2:]).all()


def test_after_a_shift_the_side_of_the_interval_is_believed():
    forecast = a_forecast([4.0, 4.5], [6.0, 6.5], [4.0, 4.5])
    found = foresee(forecast, np.array([4.0, 6.0, 4.0]), np.full(3, 5.0), np.array([1, -1, -1]))
    # 4 + 2 is over 5 at once; 6 - 2 is under it; a shift down announces no rise.
    assert found.direction.tolist() == [1, -1, 0]
    assert found.step.tolist() == [1, 1, NEVER]


def test_nothing_is_announced_where_nothing_is_known():
    forecast = a_forecast([9.0, 9.0], [np.nan, np.nan])
    found = foresee(forecast, np.array([np.nan, 1.0]), np.full(2, 5.0))
    assert found.direction.tolist() == [0, 0]


def test_shapes_that_do_not_agree_are_refused():
    with pytest.raises(ModelError, match="now has 2 series, the forecast 1"):
        foresee(a_forecast([1.0]), np.zeros(2), np.zeros(2))
    with pytest.raises(ModelError, match="one plane of the mean's shape"):
        Forecast(np.zeros((2, 1)), np.zeros((1, 2, 1)), (0.05, 0.5), 300.0)


def test_event_needs_calm_before_and_after():
    above = np.array([0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0], bool)
    # Up at 3 stays for three samples; down at 6 does not, up at 8 is not calm before.
    assert events_of(above).tolist() == [[3, 1]]
    assert events_of(np.array([1, 1, 1, 0, 0, 0], bool)).tolist() == [[3, -1]]


def test_warnings_are_judged_as_on_the_sheet():
    warned = np.zeros(30, bool)
    warned[[2, 3, 4]] = True  # true: the event at 6 is within 3 of its end; lead 4
    warned[10] = True  # false: 14 is more than 3 after it
    warned[[20, 21, 22]] = True  # true for 21 and 24
    assert judge_warnings(warned, [6, 14, 21, 24], 3) == (3, 2, [4, 1, 4])


def test_warning_at_the_moment_of_the_event_is_no_warning():
    warned = np.zeros(10, bool)
    warned[5] = True
    assert judge_warnings(warned, [5], 3) == (1, 0, [])


def test_node_is_the_sum_of_its_machines_and_a_gap_makes_a_gap():
    track = Track("toy", np.array([[1.0, 2.0, 3.0, 4.0, 9.0], [1.0, np.nan, 3.0, 4.0, 9.0]]), 300.0, 0.0, 1)
    found = nodes_of(track, 2).level
    assert found[0].tolist() == [3.0, 7.0]
    assert np.isnan(found[1, 0])
    assert found[1, 1] == 7.0
    with pytest.raises(ModelError, match="nodes of 6 machines"):
        nodes_of(track, 6)
