"""What is expected of a load: numbers worked by hand, slow twins, and properties that any series must have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.policy.learned.foreseeing import HOUR_STEPS, crossing, foresee, highest, peak


def test_two_steps_worked_by_hand():
    # 1, 1, 1, 2: nothing surprises until the last, which comes 1 above; the level takes 0.4 of that, the trend 0.12.
    seen = foresee(np.array([[1.0], [1.0], [1.0], [2.0]]))
    assert seen.level[0] == pytest.approx(1.4)
    assert seen.trend[0] == pytest.approx(0.12)
    assert seen.spread[0] == pytest.approx(np.sqrt(1.0 / 3.0))
    # The trend of two steps, damped by 0.9, is 0.12 (1 + 0.9).
    assert highest(seen, 2)[0] == pytest.approx(1.4 + 0.12 * (1 - 0.9**2) / 0.1)
    assert peak(seen, 1)[0] == pytest.approx(1.4 + 0.12 + 1.28 * np.sqrt(1.0 / 3.0))


def test_with_a_few_samples_the_last_one_is_believed():
    seen = foresee(np.array([[0.3, 0.1], [0.5, 0.2]]))
    assert seen.level.tolist() == [0.5, 0.2]
    assert seen.trend.tolist() == [0.0, 0.0]
    assert peak(seen, HOUR_STEPS).tolist() == [0.5, 0.2]
    assert crossing(np.array([0.5, 0.2]), seen, 0.4).tolist() == [0.0, 0.0]


@given(st.floats(0.0, 10.0), st.integers(1, 40))
def test_what_stands_still_is_expected_to_stay(value, samples):
    seen = foresee(np.full((samples, 1), value))
    assert seen.level[0] == pytest.approx(value)
    assert peak(seen, HOUR_STEPS)[0] == pytest.approx(value)
    assert highest(seen, 1)[0] == pytest.approx(value)


@given(st.lists(st.floats(0.0, 2.0), min_size=1, max_size=40), st.integers(1, 24))
def test_peaks_are_finite_never_negative_and_grow_with_the_time(samples, steps):
    seen = foresee(np.array(samples)[:, None])
    assert np.isfinite(peak(seen, steps)).all()
    assert peak(seen, steps)[0] >= highest(seen, steps)[0] >= 0.0
    assert peak(seen, steps + 1)[0] >= peak(seen, steps)[0] - 1e-12


def test_series_know_nothing_of_each_other():
    rng = np.random.default_rng(3)
    samples = rng.random((31, 7))
    together = foresee(samples)
    for i in range(7):
        alone = foresee(samples[:, i : i + 1])
        assert [figure[i] for figure in together] == [figure[0] for figure in alone]


def test_crossings_are_told_with_their_direction_and_nearness():
    up = foresee(np.linspace(0.3, 0.58, 30)[:, None])
    down = foresee(np.linspace(0.9, 0.62, 30)[:, None])
    now = np.array([0.58])
    soon = crossing(now, up, 0.6)[0]
    assert 0.5 < soon <= 1.0
    assert crossing(np.array([0.62]), down, 0.6)[0] == pytest.approx(-soon, abs=0.35)
    assert crossing(now, up, 0.62)[0] < soon
    assert crossing(now, up, 5.0)[0] == 0.0
    assert crossing(now, up, 0.1)[0] == 0.0


def test_a_mark_reached_in_the_first_step_is_nearest():
    seen = foresee(np.array([[0.2], [0.4], [0.6], [0.8]]))
    assert crossing(np.array([0.5]), seen, 0.55)[0] == 1.0


def test_nine_in_ten_stay_under_the_peak_of_the_next_step():
    # Ripples without a trend: the share that stays below is what the figure says, or it says nothing.
    rng = np.random.default_rng(1)
    series = 0.5 + 0.1 * rng.standard_normal((31, 4000))
    said = peak(foresee(series[:30]), 1)
    assert np.mean(series[30] <= said) == pytest.approx(0.9, abs=0.03)
