"""The naive forecasts, moving medians and what comes out where nothing is known."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.errors import ModelError, UnknownNameError
from fogfold.forecast.moving import MovingMedian


def test_persistence_says_the_last_reading_over_a_gap(follow):
    found = follow("persistence", [[1.0, 5.0], [3.0, np.nan]]).forecast(3)
    assert found.mean.tolist() == [[3.0, 5.0]] * 3


def test_seasonal_naive_says_the_reading_of_a_day_ago(follow):
    # Steps of six hours: four a day.
    rows = [[1.0], [2.0], [3.0], [4.0], [5.0]]
    found = follow("seasonal-naive", rows, step_s=21600.0, horizon_steps=5).forecast(5)
    # Steps 5, 6, 7 are those after steps 1, 2, 3; step 8 is a day after step 4, and step 9 wraps to the same as 5.
    assert found.mean[:4, 0].tolist() == [2.0, 3.0, 4.0, 5.0]


def test_seasonal_naive_without_a_day_before_is_persistence(follow):
    assert follow("seasonal-naive", [[1.0], [2.0]], step_s=21600.0).forecast(2).mean[:, 0].tolist() == [2.0, 2.0]


def test_gap_a_day_ago_is_filled_by_the_last_reading_not_by_zero(follow):
    rows = [[1.0], [np.nan], [3.0], [4.0], [5.0]]
    assert follow("seasonal-naive", rows, step_s=21600.0).forecast(1).mean[0, 0] == 5.0


def test_moving_median_ignores_a_spike_and_a_gap():
    family = MovingMedian(1, (3, 5))
    for reading in (1.0, 90.0, 2.0, np.nan, 3.0):
        family.observe(np.array([reading]))
    found = np.empty((1, 2, 2), np.float32)
    family.write(found, 0)
    # Of the last three only 2 and 3 are there; of the last five 1, 2, 3 and 90.
    assert found[0].tolist() == [[2.5, 2.5]] * 2


def test_series_without_a_reading_has_no_forecast(follow):
    for name in ("persistence", "seasonal-naive", "holt-winters", "combined"):
        found = follow(name, [[1.0, np.nan]] * 30).forecast(12)
        assert np.isfinite(found.mean[:, 0]).all()
        assert np.isnan(found.mean[:, 1]).all()
        assert np.isnan(found.quantiles[:, :, 1]).all()


def test_before_the_first_error_there_is_a_mean_but_no_interval(follow):
    found = follow("combined", [[1.0]]).forecast(2)
    assert found.mean[:, 0].tolist() == [1.0, 1.0]
    assert np.isnan(found.quantile(0.95)).all()


def test_forecast_is_of_the_shape_that_is_asked_for(follow):
    found = follow("combined", np.ones((3, 4)), levels=(0.1, 0.25, 0.5, 0.9)).forecast(5)
    assert found.mean.shape == (5, 4)
    assert found.quantiles.shape == (4, 5, 4)
    assert found.steps == 5
    assert found.series == 4
    assert (np.diff(found.quantiles, axis=0) >= 0).all()


def test_unknown_forecaster_is_refused_with_the_nearest_name(follow):
    with pytest.raises(UnknownNameError, match='did you mean "holt-winters"'):
        follow("holt-winter", [[1.0]])


@pytest.mark.parametrize(
    ("reading", "message"), [(-0.5, "series 1 is -0.5"), (np.inf, "series 1 is inf")], ids=["negative", "infinite"]
)
def test_reading_that_is_no_demand_is_refused(follow, reading, message):
    with pytest.raises(ModelError, match=message):
        follow("combined", [[1.0, reading]])


def test_what_was_not_made_for_is_refused(follow):
    ready = follow("combined", [[1.0, 2.0]])
    with pytest.raises(ModelError, match="made for 1 to 12"):
        ready.forecast(13)
    with pytest.raises(ModelError, match=r"level 0\.9 was not forecast"):
        ready.forecast(1).quantile(0.9)
    with pytest.raises(ModelError, match="3 readings are given, 2 series"):
        ready.observe(np.ones(3))
    with pytest.raises(ModelError, match=r"level 0\.5 stands after 0\.9"):
        follow("combined", [[1.0]], levels=(0.9, 0.5))
    with pytest.raises(ModelError, match="at least one step ahead"):
        follow("combined", [[1.0]], horizon_steps=0)
