"""Detection of overload, against numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.policy.overload import IQR, LR, LRR, MAD, NO_DETECTION, THR, Detection, is_overloaded, overloaded_nodes


def _how(rule, parameter):
    return Detection(rule, parameter, 0.7, 1.0)


def test_no_detection_calls_nothing_overloaded():
    assert not is_overloaded(NO_DETECTION, 2.0, np.ones(12))


def test_threshold_is_passed_not_reached():
    assert not is_overloaded(_how(THR, 0.8), 0.8, np.zeros(0))
    assert is_overloaded(_how(THR, 0.8), 0.81, np.zeros(0))


@pytest.mark.parametrize("rule", [IQR, MAD, LR, LRR])
def test_short_history_falls_back_to_a_threshold(rule):
    # Nine samples are too few for a regression, and for a spread.
    assert not is_overloaded(_how(rule, 1.2), 0.69, np.full(9, 0.95))
    assert is_overloaded(_how(rule, 1.2), 0.71, np.zeros(9))


def test_interquartile_range_lowers_the_threshold():
    # 0.00, 0.05, ..., 0.60: quartiles are the 4th and 10th of 13, 0.15 and 0.45; threshold 1 - 1.5 x 0.3 = 0.55.
    history = np.arange(13) * 0.05
    assert not is_overloaded(_how(IQR, 1.5), 0.549, history)
    assert is_overloaded(_how(IQR, 1.5), 0.551, history)


def test_median_deviation_lowers_the_threshold():
    # Median 0.30; distances 0.00 to 0.30, twice each but for the 0: their median is the 7th of 13, 0.15.
    # Threshold 1 - 2.5 x 0.15 = 0.625.
    history = np.arange(13) * 0.05
    assert not is_overloaded(_how(MAD, 2.5), 0.624, history)
    assert is_overloaded(_how(MAD, 2.5), 0.626, history)


@pytest.mark.parametrize("rule", [LR, LRR])
def test_straight_line_is_continued_whatever_the_weights(rule):
    # 0.30, 0.35, ..., 0.75: the next is 0.80; overloaded from a safety of 1 / 0.8 = 1.25 on.
    history = 0.3 + 0.05 * np.arange(10)
    assert not is_overloaded(_how(rule, 1.249), 0.75, history)
    assert is_overloaded(_how(rule, 1.251), 0.75, history)


def test_regression_reads_the_newest_ten():
    history = np.concatenate([np.full(15, 5.0), 0.3 + 0.05 * np.arange(10)])
    assert not is_overloaded(_how(LR, 1.249), 0.75, history)


def test_regression_looks_as_far_ahead_as_told():
    # Two decisions ahead the line is at 0.85.
    history = 0.3 + 0.05 * np.arange(10)
    assert is_overloaded(Detection(LR, 1.2, 0.7, 2.0), 0.75, history)
    assert not is_overloaded(Detection(LR, 1.2, 0.7, 1.0), 0.75, history)


def test_robust_regression_disregards_one_outlier():
    # A flat 0.5 with one reading of 0.95 next to the last: the plain line rises, the robust one stays at 0.5.
    history = np.full(10, 0.5)
    history[8] = 0.95
    assert is_overloaded(_how(LR, 1.5), 0.5, history)
    assert not is_overloaded(_how(LRR, 1.9), 0.5, history)


def test_weights_are_tricube():
    # A step in the oldest value only: its weight is (1 - 1^3)^3 = 0, so it changes nothing.
    history = np.full(10, 0.5)
    history[0] = 50.0
    assert not is_overloaded(_how(LR, 1.99), 0.5, history)
    assert is_overloaded(_how(LR, 2.01), 0.5, history)


def test_nodes_are_judged_one_by_one():
    found = overloaded_nodes(_how(THR, 0.5), np.array([0.4, 0.6]), np.zeros((2, 0)))
    assert found.tolist() == [False, True]
