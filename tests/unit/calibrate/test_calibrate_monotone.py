"""Fits of a power curve: numbers worked by hand, and properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.calibrate.monotone import fit_curve, hat_weights, interval_of_curve, pool_adjacent_violators
from fogfold.seeding import stream

LINEAR = np.linspace(10.0, 20.0, 11)


def test_pools_take_the_mean_of_what_falls():
    # 4 and 2 fall: their mean, 3, stays above 1 and below 5.
    found = pool_adjacent_violators(np.array([1.0, 4.0, 2.0, 5.0]), np.ones(4))
    assert found.tolist() == [1.0, 3.0, 3.0, 5.0]


def test_pools_weigh():
    # (4 x 1 + 1 x 3) / 4 = 1.75
    found = pool_adjacent_violators(np.array([4.0, 1.0]), np.array([1.0, 3.0]))
    assert found.tolist() == [1.75, 1.75]


def test_a_pool_reaches_back():
    # 3 and 2 pool to 2.5; 0 pulls them all to (3 + 2 + 0) / 3.
    found = pool_adjacent_violators(np.array([3.0, 2.0, 0.0]), np.ones(3))
    assert found == pytest.approx([5 / 3] * 3)


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_pools_never_fall_keep_the_mean_and_leave_what_rises(values, random):
    values = np.array(values)
    weights = np.array([random.uniform(0.1, 3.0) for _ in values])
    found = pool_adjacent_violators(values, weights)
    assert (np.diff(found) >= -1e-9).all()
    assert (found * weights).sum() == pytest.approx((values * weights).sum(), abs=1e-6)
    rising = np.sort(values)
    assert pool_adjacent_violators(rising, weights) == pytest.approx(rising)


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=8))
def test_no_rising_sequence_is_nearer_than_the_pools(values):
    values = np.array(values)
    found = pool_adjacent_violators(values, np.ones(len(values)))
    best = ((found - values) ** 2).sum()
    for other in (np.maximum.accumulate(values), np.sort(values), np.full(len(values), values.mean())):
        assert best <= ((other - values) ** 2).sum() + 1e-6


def test_a_reading_speaks_of_its_two_neighbours():
    # 23 % lies 0.3 of the way from 20 to 30 %.
    weights = hat_weights(np.array([0.23]))[0]
    assert weights == pytest.approx([0, 0, 0.7, 0.3, 0, 0, 0, 0, 0, 0, 0])


def test_the_ends_speak_for_themselves():
    assert hat_weights(np.array([0.0, 1.0]))[:, [0, 10]].tolist() == [[1.0, 0.0], [0.0, 1.0]]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.0, 5.0), min_size=11, max_size=11), st.integers(0, 1000))
def test_a_rising_curve_is_found_again_from_clean_readings(rises, seed):
    truth = 5.0 + np.cumsum(rises)
    load = np.concatenate([np.linspace(0, 1, 200), stream(seed, "loads").random(200)])
    fit = fit_curve(load, hat_weights(load) @ truth, LINEAR)
    assert fit.is_fitted.all()
    assert fit.points_w == pytest.approx(truth, rel=2e-3)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.1, 500.0)), min_size=5, max_size=60),
)
def test_whatever_is_read_the_curve_never_falls_nor_drops_below_zero(readings):
    load, power = (np.array(column) for column in zip(*readings, strict=True))
    points = fit_curve(load, power, LINEAR).points_w
    assert np.isfinite(points).all()
    assert (points >= 0).all()
    assert (np.diff(points) >= -1e-9).all()


def test_points_that_no_load_came_near_keep_their_shape():
    # Idle alone is read, at 13 W for a curve that began at 10 W: all of it is 1.3 of what it was.
    fit = fit_curve(np.zeros(50), np.full(50, 13.0), LINEAR)
    assert fit.is_fitted.tolist() == [True] + [False] * 10
    assert fit.points_w == pytest.approx(1.3 * LINEAR)


def test_wild_readings_count_little_and_are_told():
    rng = stream(1, "wild")
    load = rng.random(500)
    power = hat_weights(load) @ (1.3 * LINEAR) * (1.0 + 0.01 * rng.standard_normal(500))
    power[:25] = 900.0
    fit = fit_curve(load, power, LINEAR)
    assert fit.points_w == pytest.approx(1.3 * LINEAR, rel=0.02)
    assert fit.outliers == 25


def test_interval_of_a_curve_is_wider_where_blocks_differ():
    rng = stream(2, "blocks")
    load = np.tile(np.repeat(np.linspace(0, 1, 11), 8), 20)
    block = np.repeat(np.arange(20), 88)
    of_block = np.repeat(1.0 + 0.05 * rng.standard_normal(20), 88)
    power = hat_weights(load) @ LINEAR * of_block
    assert interval_of_curve(load, power, LINEAR, block % 4, resamples=60, rng=stream(2, "a")) == (None, None)
    low, high = interval_of_curve(load, power, LINEAR, block, resamples=60, rng=stream(2, "a"))
    each = np.arange(1760)
    near, far = interval_of_curve(load, power, LINEAR, each, resamples=60, rng=stream(2, "a"))
    assert low is not None and high is not None and near is not None and far is not None  # noqa: PT018 - for the types
    assert (low <= LINEAR * 1.05).all()
    assert (high >= LINEAR * 0.95).all()
    assert (high - low).mean() > 1.5 * (far - near).mean()
