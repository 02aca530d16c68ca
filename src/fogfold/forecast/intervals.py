"""How far off forecasts have been, as quantiles that hold without any belief about the errors.

For each series, distance ahead and level an offset is tracked so that the share of errors under it comes to the
level: after each error it moves up by rate x level where the error was above it, and down by rate x (1 - level)
where it was not (quantile tracking, the first part of Angelopoulos, Candes and Tibshirani, Conformal PID Control for
Time Series Prediction, NeurIPS 2023; adaptive conformal inference by Gibbs and Candes, NeurIPS 2021, is its elder).
While the offset stays bounded, the share of errors under it over T readings is off the level by no more than the
order of 1 / (rate x T), whatever the errors are: drifting, bursting, dependent. What is tracked is the error over
its recent mean size, so that an interval widens within minutes when load turns restless. An error that meets the
offset exactly counts as inside, as it does where intervals are judged.

The level 0.5 is not tracked: the median is what the panel says. Offsets start at those of Laplace's distribution and
learn fast at first. Between two distances ahead that are tracked they go in a straight line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array, compiled
from fogfold.forecast.anchors import anchor_above, anchor_shares
from fogfold.forecast.base import check_levels, rearranged
from fogfold.units import HOUR_S

__all__ = ["Intervals"]

_RATE = 0.06
"""Share of the mean error by which an offset moves in the long run. Higher follows sooner and is more ragged."""
_FIRST_RATE = 0.6
"""The same at the start; it falls as 1 / number of errors to `_RATE`."""
_SIZE_HALF_LIFE_S = 2 * HOUR_S
"""Age at which an error counts half in the mean size: long enough to be steady, short enough to notice a burst."""


class Intervals:
    """Offsets of the quantiles from the median, for many series."""

    def __init__(self, series: int, anchors: Int[Array, " anchors"], levels: Sequence[float], step_s: float) -> None:
        check_levels(levels)
        horizon = int(anchors[-1])
        self._anchors = anchors
        self._levels = np.array(levels)
        self._above = anchor_above(anchors, horizon)
        self._shares = anchor_shares(anchors, horizon)
        self._decay = 0.5 ** (step_s / _SIZE_HALF_LIFE_S)
        self._start = np.array([_laplace_quantile(level) for level in levels])
        self._issued = np.full((series, horizon, len(anchors)), np.nan, np.float32)
        self._offset = np.broadcast_to(self._start, (series, len(anchors), len(levels))).copy()
        self._size = np.zeros((series, len(anchors)))
        self._weight = np.zeros((series, len(anchors)))
        self._count = np.zeros((series, len(anchors)))
        self._step = 0

    def score(self, readings: Float[Array, " series"]) -> None:
        """Learn from the errors of past forecasts for now; a gap teaches nothing."""
        _track(
            readings,
            self._step,
            self._anchors,
            self._levels,
            self._decay,
            self._issued,
            self._offset,
            self._size,
            self._weight,
            self._count,
        )

    def issue(self, median: Float[Array, "series steps"]) -> None:
        """Keep the forecast made now, to be held against what comes; closes the step."""
        self._issued[:, self._step % self._issued.shape[1]] = median[:, self._anchors - 1]
        self._step += 1

    def around(self, median: Float[Array, "series steps"]) -> Float[Array, "levels steps series"]:
        """The quantiles about the median, ascending with the level and none below 0; NaN before the first error."""
        found = np.empty((len(self._levels), median.shape[1], median.shape[0]))
        _spread(median, self._levels, self._above, self._shares, self._offset, self._size, self._weight, found)
        return found

    def take(self, columns: Int[Array, " series"]) -> None:
        """Follow other series."""
        self._issued = rearranged(self._issued, columns, np.nan)
        self._offset = rearranged(self._offset, columns, 0.0)
        self._offset[columns < 0] = self._start
        self._size = rearranged(self._size, columns, 0.0)
        self._weight = rearranged(self._weight, columns, 0.0)
        self._count = rearranged(self._count, columns, 0.0)


def _laplace_quantile(level: float) -> float:
    """Quantile of Laplace's distribution whose mean absolute value is 1."""
    return math.log(2.0 * level) if level < 0.5 else -math.log(2.0 * (1.0 - level))


@compiled
def _track(
    readings: Array,
    step: int,
    anchors: Array,
    levels: Array,
    decay: float,
    issued: Array,
    offset: Array,
    size: Array,
    weight: Array,
    count: Array,
) -> None:
    depth = issued.shape[1]
    for n in range(len(readings)):
        if np.isnan(readings[n]):
            continue
        for a in range(len(anchors)):
            if anchors[a] > step:
                break
            error = readings[n] - issued[n, (step - anchors[a]) % depth, a]
            if np.isnan(error):
                continue
            if weight[n, a] > 0.0:
                count[n, a] += 1.0
                rate = max(_RATE, _FIRST_RATE / count[n, a])
                mean_size = size[n, a] / weight[n, a]
                for q in range(len(levels)):
                    if levels[q] == 0.5:
                        continue
                    limit = offset[n, a, q] * mean_size
                    # An error that meets the limit is inside: below an upper limit, above a lower one.
                    above = error > limit if levels[q] >= 0.5 else error >= limit
                    offset[n, a, q] += rate * (levels[q] if above else levels[q] - 1.0)
            size[n, a] = decay * size[n, a] + abs(error)
            weight[n, a] = decay * weight[n, a] + 1.0


@compiled
def _spread(
    median: Array,
    probabilities: Array,
    above: Array,
    shares: Array,
    offset: Array,
    size: Array,
    weight: Array,
    found: Array,
) -> None:
    levels = found.shape[0]
    anchors = size.shape[1]
    width = np.empty((anchors, levels))
    middle = 0
    while middle < levels and probabilities[middle] < 0.5:
        middle += 1
    for n in range(median.shape[0]):
        known = -1
        for a in range(anchors):
            if weight[n, a] > 0.0:
                known = a
            for q in range(levels):
                # A distance that has no error yet takes the widest known; it is soon put right.
                width[a, q] = offset[n, known, q] * size[n, known] / weight[n, known] if known >= 0 else np.nan
        for h in range(median.shape[1]):
            a = above[h]
            for q in range(levels):
                before = width[a - 1, q] if a > 0 else 0.0
                value = median[n, h] + before + shares[h] * (width[a, q] - before)
                found[q, h, n] = 0.0 if value < 0.0 else value
            # Quantiles never cross each other, nor the median. Comparisons with NaN are false and change nothing.
            reached = median[n, h]
            for q in range(middle, levels):
                if found[q, h, n] < reached:  # noqa: PLR1730 - max() is not bound to keep NaN
                    found[q, h, n] = reached
                reached = found[q, h, n]
            reached = median[n, h]
            for q in range(middle - 1, -1, -1):
                if found[q, h, n] > reached:  # noqa: PLR1730 - as above
                    found[q, h, n] = reached
                reached = found[q, h, n]
