"""The overload rules of the benchmark on histories short enough to work by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.evaluate.planetlab.overload import IQR, LR, MAD, THR, is_overloaded, sort_ascending


def overloaded(rule: int, parameter: float, load: float, history: list[float]) -> bool:
    return is_overloaded(rule, parameter, load, np.array(history, float), np.zeros((2, 30)))


def test_the_fixed_threshold_is_strict():
    assert not overloaded(THR, 0.8, 0.8, [])
    assert overloaded(THR, 0.8, np.nextafter(0.8, 1.0), [])


@pytest.mark.parametrize(("rule", "needed"), [(LR, 10), (IQR, 12), (MAD, 12)])
def test_short_histories_fall_back_to_seventy_percent(rule, needed):
    short = [0.5] * (needed - 1) + [0.0] * 5
    assert overloaded(rule, 1.0, 0.71, short)
    assert not overloaded(rule, 1.0, 0.69, short)
    # One more sample: no spread and a flat line, so only a full host is overloaded.
    assert not overloaded(rule, 1.0, 0.71, [0.5] * needed)


def test_a_host_without_history_falls_back():
    assert overloaded(LR, 1.2, 0.71, [0.0] * 30)


def test_the_interquartile_threshold_uses_the_nearest_values():
    # 13 values 0.1 ... 1.3 / 2; quartiles at round(3.5) = 4th and round(10.5) = 11th: 0.2 and 0.55.
    history = [(13 - i) * 0.05 for i in range(13)]
    # threshold 1 - 1.5 x 0.35 = 0.475
    assert overloaded(IQR, 1.5, 0.476, history)
    assert not overloaded(IQR, 1.5, 0.474, history)


def test_the_median_deviation_threshold_takes_the_median_twice():
    # Median of 12 values 0.1, 0.2 and ten times 0.4 is 0.4; deviations 0.3, 0.2, 0 ...: median 0.
    assert not overloaded(MAD, 2.5, 0.99, [0.1, 0.2] + [0.4] * 10)
    # Six at 0.2, six at 0.4: median 0.3, all deviate by 0.1: threshold 0.75.
    assert overloaded(MAD, 2.5, 0.751, [0.2, 0.4] * 6)
    assert not overloaded(MAD, 2.5, 0.749, [0.2, 0.4] * 6)


def test_the_regression_looks_one_interval_ahead():
    # A line from 0.5 (oldest) in steps of 0.03: 0.8 one interval ahead; 0.8 x 1.25 = 1.
    newest_first = [0.5 + 0.03 * i for i in range(9, -1, -1)]
    assert overloaded(LR, 1.26, 0.0, newest_first)
    assert not overloaded(LR, 1.24, 0.0, newest_first)


def test_the_regression_ignores_the_present_load():
    assert not overloaded(LR, 1.2, 5.0, [0.5] * 10)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_sorting_sorts(values):
    row = np.array(values)
    sort_ascending(row, len(row))
    assert row.tolist() == sorted(values)
