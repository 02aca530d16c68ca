"""Intervals: hand-worked moves of an offset, and coverage on noise of many kinds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fogfold.forecast.anchors import anchors_up_to
from fogfold.forecast.intervals import Intervals
from fogfold.forecast.registry import forecaster
from fogfold.seeding import stream


def band(intervals):
    return intervals.around(np.array([[10.0]]))[:, 0, 0]


def test_offsets_move_as_on_the_sheet():
    intervals = Intervals(1, anchors_up_to(1), (0.05, 0.5, 0.95), 300.0)
    said = np.array([[10.0]])
    intervals.issue(said)
    assert np.isnan(band(intervals)).all()
    intervals.score(np.array([12.0]))
    intervals.issue(said)
    # The first error is 2: the mean size. Offsets are still Laplace's, plus and minus ln 10 = 2.3026.
    assert band(intervals) == pytest.approx([10.0 - 2.0 * math.log(10.0), 10.0, 10.0 + 2.0 * math.log(10.0)])
    intervals.score(np.array([16.0]))
    # An error of 6 is over 4.6: the upper offset rises by 0.6 x 0.95, the lower one by 0.6 x 0.05 (6 is above it too).
    # The mean size is now (2 d + 6) / (d + 1) with d = 2 ** (-1/24), what is left of an error after 5 of 120 minutes.
    kept = 2.0 ** (-1.0 / 24.0)
    size = (2.0 * kept + 6.0) / (kept + 1.0)
    upper, lower = math.log(10.0) + 0.57, -math.log(10.0) + 0.03
    assert band(intervals) == pytest.approx([max(0.0, 10.0 + size * lower), 10.0, 10.0 + size * upper])


def test_offset_falls_after_an_error_inside_it():
    # Two errors of 2: the second is within both ends, so the upper offset falls by 0.6 x 0.05 and the lower one rises
    # by as much. The mean size stays 2.
    intervals = Intervals(1, anchors_up_to(1), (0.05, 0.95), 300.0)
    for _ in range(2):
        intervals.issue(np.array([[10.0]]))
        intervals.score(np.array([12.0]))
    end = 2.0 * (math.log(10.0) - 0.03)
    assert band(intervals) == pytest.approx([10.0 - end, 10.0 + end])


def test_gap_teaches_nothing():
    intervals = Intervals(1, anchors_up_to(1), (0.05, 0.95), 300.0)
    for reading in (12.0, 11.0):
        intervals.issue(np.array([[10.0]]))
        intervals.score(np.array([reading]))
    before = band(intervals).tolist()
    intervals.issue(np.array([[10.0]]))
    intervals.score(np.array([np.nan]))
    assert band(intervals).tolist() == before


def covered(level, warm_up=60, horizons=(1, 6, 12)):
    """Share of readings within the 90 % interval, for each distance ahead."""
    follower = forecaster("combined", level[:warm_up], step_s=300.0)
    inside: dict[int, list[np.ndarray]] = {h: [] for h in horizons}
    for now in range(warm_up, len(level)):
        found = follower.forecast(12)
        for h in horizons:
            if now + h - 1 < len(level):
                came = level[now + h - 1]
                inside[h].append((came >= found.quantile(0.05)[h - 1]) & (came <= found.quantile(0.95)[h - 1]))
        follower.observe(level[now])
    return [float(np.mean(inside[h])) for h in horizons]


def noise(kind, rng, samples, series):
    if kind == "normal":
        return np.abs(5.0 + rng.normal(0.0, 1.0, (samples, series)))
    if kind == "lognormal":
        return rng.lognormal(0.0, 1.0, (samples, series))
    if kind == "walk":
        return np.abs(50.0 + rng.normal(0.0, 0.5, (samples, series)).cumsum(axis=0))
    if kind == "spikes":
        return np.where(rng.random((samples, series)) < 0.04, 20.0, 1.0 + 0.1 * rng.random((samples, series)))
    growing = np.linspace(0.2, 3.0, samples)[:, None]
    return 10.0 + growing * rng.uniform(-1.0, 1.0, (samples, series))


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kind=st.sampled_from(["normal", "lognormal", "walk", "growing"]), seed=st.integers(0, 2**32))
def test_nine_of_ten_readings_lie_within_the_interval_whatever_the_noise(kind, seed):
    for share in covered(noise(kind, stream(seed, kind), 500, 30)):
        assert 0.86 <= share <= 0.94


def test_rare_spikes_are_never_missed_more_than_in_one_of_ten():
    shares = covered(noise("spikes", stream(3, "spikes"), 500, 30))
    assert min(shares) >= 0.86


def test_constant_load_has_an_interval_of_no_width():
    follower = forecaster("combined", np.full((50, 1), 0.3), step_s=300.0)
    assert follower.forecast(12).quantiles == pytest.approx(np.full((3, 12, 1), 0.3))


def test_quantiles_never_cross_and_none_is_negative():
    level = noise("lognormal", stream(5, "cross"), 200, 20)
    follower = forecaster("combined", level[:1], step_s=300.0, levels=(0.01, 0.2, 0.5, 0.8, 0.99))
    for now in level[1:]:
        follower.observe(now)
        found = follower.forecast(12).quantiles
        assert (np.diff(found, axis=0) >= 0).all()
        assert (found >= 0).all()
