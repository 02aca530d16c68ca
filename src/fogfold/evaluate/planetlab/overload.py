"""When is a host overloaded: the fixed threshold, the two adaptive ones and the regression of the benchmark.

All look at the sum of the histories of the VMs that are on the host *now*, not at the host's own past, and fall
back to a threshold of 0.7 while that history is short. Beloglazov and Buyya, CCPE 24(13), 2012, section 6; the
code differs from the paper in one point: both regressions are plain least squares, as the weights of CloudSim's are
never applied.
"""

from __future__ import annotations

from math import floor

from fogfold.compiled import Array, compiled

__all__ = ["HISTORY", "IQR", "LR", "MAD", "NEVER", "THR", "history_depth", "is_overloaded", "sort_ascending"]

NEVER, THR, IQR, MAD, LR = 0, 1, 2, 3, 4
"""Rules by number, for compiled loops; `NEVER` is for policies that do not migrate."""

HISTORY = 30
"""Samples of history that a VM keeps (`PowerVm.HISTORY_LENGTH`)."""

FALLBACK = 0.7
"""Threshold while the history is too short."""

SPREAD_MINIMUM = 12
"""Samples that the adaptive thresholds need."""

REGRESSION = 10
"""Samples that the regression needs and uses."""

MOVE_INTERVALS = 1
"""Intervals of 300 s that the longest migration takes, rounded up: 27.84 s is less than one."""


@compiled
def history_depth(rule: int, step: int) -> int:
    """Samples of history that the rule may look at, at this step; history starts at step 1."""
    if rule in (NEVER, THR):
        return 0
    return min(HISTORY, step)


@compiled
def is_overloaded(rule: int, parameter: float, load: float, history: Array, rows: Array) -> bool:
    """Whether the rule calls a host overloaded.

    Args:
        rule: `THR`, `IQR`, `MAD` or `LR`.
        parameter: the threshold (THR) or the safety parameter (the others).
        load: demand over MIPS of the host.
        history: demand over MIPS at the last scheduling events, newest first, float (samples,), at most 30; zeros
            at its end mean that nothing was running then and are cut off.
        rows: working rows, float (2, 30).
    """
    if rule == THR:
        return load > parameter
    length = len(history)
    while length > 1 and history[length - 1] == 0.0:
        length -= 1
    if rule == LR:
        if length < REGRESSION:
            return load > FALLBACK
        return _extrapolated(history) * parameter >= 1.0
    if length < SPREAD_MINIMUM:
        return load > FALLBACK
    ascending = rows[1]
    for i in range(length):
        ascending[i] = history[i]
    sort_ascending(ascending, length)
    spread = _interquartile(ascending, length) if rule == IQR else _median_deviation(ascending, length)
    return load > 1 - parameter * spread


@compiled
def _extrapolated(history: Array) -> float:
    """The least-squares line through the ten newest values, at the end of the next migration.

    Means and products are updated value by value, oldest first, as the library that CloudSim calls does it: demand
    comes in whole percent, so forecasts that meet the limit exactly are common enough for the last bit to count.
    """
    x_mean, y_mean, y_sum = 1.0, history[REGRESSION - 1], history[REGRESSION - 1]
    x_sum = 1.0
    squares = products = 0.0
    for i in range(1, REGRESSION):
        x, y = i + 1.0, history[REGRESSION - 1 - i]
        weight = i / (1.0 + i)
        dx, dy = x - x_mean, y - y_mean
        squares += dx * dx * weight
        products += dx * dy * weight
        x_mean += dx / (1.0 + i)
        y_mean += dy / (1.0 + i)
        x_sum += x
        y_sum += y
    slope = products / squares
    return float((y_sum - slope * x_sum) / REGRESSION + slope * (REGRESSION + MOVE_INTERVALS))


@compiled
def _interquartile(ascending: Array, length: int) -> float:
    """Distance between the quartiles, each the nearest value (halves round up)."""
    low = floor(0.25 * (length + 1) + 0.5) - 1
    high = floor(0.75 * (length + 1) + 0.5) - 1
    return float(ascending[high] - ascending[low])


@compiled
def _median_deviation(ascending: Array, length: int) -> float:
    """Median of the distances to the median; overwrites the row."""
    median = _median(ascending, length)
    for i in range(length):
        ascending[i] = abs(median - ascending[i])
    sort_ascending(ascending, length)
    return _median(ascending, length)


@compiled
def _median(ascending: Array, length: int) -> float:
    half = length // 2
    if length % 2 == 1:
        return float(ascending[half])
    return float(ascending[half - 1] + 0.5 * (ascending[half] - ascending[half - 1]))


@compiled
def sort_ascending(values: Array, length: int) -> None:
    """Sorts the first `length` values in place; by insertion, as rows are short and often nearly sorted."""
    for i in range(1, length):
        value = values[i]
        j = i - 1
        while j >= 0 and values[j] > value:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = value
