"""When is a node's processor overloaded: a fixed threshold, two that adapt to the spread, two that look ahead.

A. Beloglazov and R. Buyya, Optimal online deterministic algorithms and adaptive heuristics for energy and performance
efficient dynamic consolidation of virtual machines in Cloud data centers, CCPE 24(13), 2012, section 6. A node's
history is the sum of the histories of those that are on it, so it follows containers, as in the authors' simulator.

Departures. CloudSim's local regression is plain least squares, since its weights are never applied, and its robust
variant is the same again; here both have the weights of the paper: tricube weights for nearness in time, and bisquare
weights against outliers in the robust one (Cleveland, J. American Statistical Association 74, 1979).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from fogfold.compiled import Array, compiled, compiled_inner

__all__ = ["IQR", "LR", "LRR", "MAD", "NO_DETECTION", "OFF", "THR", "Detection", "is_overloaded", "overloaded_nodes"]

OFF, THR, IQR, MAD, LR, LRR = 0, 1, 2, 3, 4, 5
"""Rules by number, for compiled loops; `OFF` calls no node overloaded."""

SPREAD_SAMPLES = 12
"""Decisions of history that the adaptive thresholds need (CloudSim's figure)."""
FIT_SAMPLES = 10
"""Decisions of history that the regressions need and use (CloudSim's figure)."""
_ROBUST_ROUNDS = 2
"""Rounds of re-weighting: two are enough in almost all situations (Cleveland 1979)."""
_BISQUARE_REACH = 6.0
"""Residuals beyond that many median residuals get no weight (Cleveland 1979)."""


class Detection(NamedTuple):
    """A rule of detection with its figures."""

    rule: int
    """One of the numbers above."""
    parameter: float
    """THR: the threshold, as a share of the cores. Others: the safety parameter of the paper."""
    fallback: float
    """Threshold while the history is too short, as a share of the cores."""
    ahead: float
    """How many decisions ahead the regressions look: the longest move, in decisions, rounded up."""


NO_DETECTION = Detection(OFF, 0.0, 1.0, 1.0)


@compiled
def is_overloaded(how: Detection, load: float, history: Array) -> bool:
    """Whether the rule calls a node overloaded.

    Args:
        how: the rule.
        load: CPU usage over the cores.
        history: the same at earlier decisions, newest last, float (samples,).
    """
    if how.rule == OFF:
        return False
    if how.rule == THR:
        return load > how.parameter
    if how.rule == LR or how.rule == LRR:
        if len(history) < FIT_SAMPLES:
            return load > how.fallback
        return how.parameter * _foretold(history[-FIT_SAMPLES:], how.ahead, how.rule == LRR) >= 1.0
    if len(history) < SPREAD_SAMPLES:
        return load > how.fallback
    spread = _interquartile_range(history) if how.rule == IQR else _median_deviation(history)
    return load > 1.0 - how.parameter * spread


@compiled_inner
def _at(ascending: Array, position: float) -> float:
    """Value at a position between two entries, linearly."""
    below = int(position)
    if below + 1 >= len(ascending):
        return float(ascending[-1])
    return float(ascending[below] + (position - below) * (ascending[below + 1] - ascending[below]))


@compiled_inner
def _sort(values: Array) -> None:
    """Sort in place, by insertion: rows are short, and the compiler is done with it in no time."""
    for i in range(1, len(values)):
        value = values[i]
        j = i - 1
        while j >= 0 and values[j] > value:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = value


@compiled_inner
def _interquartile_range(values: Array) -> float:
    ascending = values.copy()
    _sort(ascending)
    last = len(values) - 1
    return _at(ascending, 0.75 * last) - _at(ascending, 0.25 * last)


@compiled_inner
def _median_deviation(values: Array) -> float:
    """Median of the distances to the median."""
    half = 0.5 * (len(values) - 1)
    ascending = values.copy()
    _sort(ascending)
    median = _at(ascending, half)
    for i in range(len(values)):
        ascending[i] = abs(values[i] - median)
    _sort(ascending)
    return _at(ascending, half)


@compiled_inner
def _foretold(values: Array, ahead: float, robust: bool) -> float:
    """The weighted least-squares line through the values, at `ahead` steps beyond the last."""
    k = len(values)
    near = np.empty(k)
    for i in range(k):
        distance = (k - 1 - i) / (k - 1)
        near[i] = (1.0 - distance**3) ** 3
    weight = near.copy()
    level, slope = _line(values, weight)
    for _ in range(_ROBUST_ROUNDS if robust else 0):
        residual = np.empty(k)
        for i in range(k):
            residual[i] = abs(values[i] - level - slope * i)
        ascending = residual.copy()
        _sort(ascending)
        reach = _BISQUARE_REACH * _at(ascending, 0.5 * (k - 1))
        if reach <= 0.0:
            break
        for i in range(k):
            u = residual[i] / reach
            weight[i] = near[i] * (1.0 - u * u) ** 2 if u < 1.0 else 0.0
        level, slope = _line(values, weight)
    return level + slope * (k - 1 + ahead)


@compiled_inner
def _line(values: Array, weight: Array) -> tuple[float, float]:
    """Value at position 0 and slope of the weighted least-squares line through values at 0, 1, ..."""
    total, mean_x, mean_y = 0.0, 0.0, 0.0
    for i in range(len(values)):
        total += weight[i]
        mean_x += weight[i] * i
        mean_y += weight[i] * values[i]
    mean_x /= total
    mean_y /= total
    across, along = 0.0, 0.0
    for i in range(len(values)):
        across += weight[i] * (i - mean_x) * (values[i] - mean_y)
        along += weight[i] * (i - mean_x) ** 2
    slope = across / along if along > 0.0 else 0.0
    return mean_y - slope * mean_x, slope


@compiled
def _fill(how: Detection, load: Array, history: Array, out: Array) -> None:
    for n in range(len(load)):
        out[n] = is_overloaded(how, load[n], history[n])


def overloaded_nodes(
    how: Detection, load: Float[Array, " nodes"], history: Float[Array, "nodes samples"]
) -> Bool[Array, " nodes"]:
    """Which nodes the rule calls overloaded; arguments as in `is_overloaded`, a row a node."""
    out = np.zeros(len(load), bool)
    _fill(how, load, history, out)
    return out
