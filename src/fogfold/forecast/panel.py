"""The record of every candidate, for each series and distance ahead, and the forecast made of the best of them.

Each candidate's past forecasts are held against what came. Its record is the mean error, older errors counting less
(half after twelve hours). Candidates are then averaged with weights (least error / own error) ^ 16: the best and those
as good as it count, the others hardly. Absolute errors give a median, squared ones a mean; both are kept, because a
median is what is most likely to be near, and only means add up to the load of a node. A record is kept for each
distance, as what is good five minutes ahead (the last reading) is poor an hour ahead.

Weighing forecasts by the inverse of their error is Bates and Granger's (The Combination of Forecasts, OR Quarterly 20,
1969).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32, Int

from fogfold.compiled import Array, compiled
from fogfold.forecast.anchors import anchor_above
from fogfold.forecast.base import rearranged
from fogfold.units import HOUR_S

__all__ = ["HALF_LIFE_S", "Panel"]

HALF_LIFE_S = 12 * HOUR_S
"""Age at which an error counts half. On every fourth machine of both traces 3 h and 48 h were within 3 % of it."""
_LEAST_RECORD = 5.5
"""Discounted number of errors from which on a candidate is weighed: a newcomer's first lucky hits say little."""
_TINY = 1e-7
"""Added to errors, in shares of a request: differences below it are none."""


class Panel:
    """Scores and weights of all candidates over all series."""

    def __init__(
        self, series: int, candidates: int, anchors: Int[Array, " anchors"], step_s: float, *, by_record: bool = True
    ) -> None:
        horizon = int(anchors[-1])
        self._anchors = anchors
        self._above = anchor_above(anchors, horizon)
        self._decay = 0.5 ** (step_s / HALF_LIFE_S)
        self._by_record = by_record
        shape = (series, len(anchors), candidates)
        self._issued = np.full((series, horizon, len(anchors), candidates), np.nan, np.float32)
        self._weight = np.zeros(shape, np.float32)
        self._absolute = np.zeros(shape, np.float32)
        self._squared = np.zeros(shape, np.float32)
        self._step = 0

    def score(self, readings: Float[Array, " series"]) -> None:
        """Hold past forecasts for now against the readings; a gap scores nothing."""
        if self._by_record:
            _score(
                readings,
                self._step,
                self._anchors,
                self._decay,
                self._issued,
                self._weight,
                self._absolute,
                self._squared,
            )

    def blend(
        self, candidates: Float32[Array, "series steps candidates"]
    ) -> tuple[Float[Array, "series steps"], Float[Array, "series steps"]]:
        """Mean and median made of the candidates, which are kept to be scored later; closes the step."""
        mean, median = np.empty(candidates.shape[:2]), np.empty(candidates.shape[:2])
        if self._by_record:
            _issue(candidates, self._step % len(self._above), self._anchors, self._issued)
            _blend(candidates, self._above, self._weight, self._absolute, self._squared, mean, median)
        else:
            _first_spoken(candidates, mean)
            median[:] = mean
        self._step += 1
        return mean, median

    def take(self, columns: Int[Array, " series"]) -> None:
        """Follow other series."""
        self._issued = rearranged(self._issued, columns, np.nan)
        self._weight = rearranged(self._weight, columns, 0.0)
        self._absolute = rearranged(self._absolute, columns, 0.0)
        self._squared = rearranged(self._squared, columns, 0.0)


@compiled
def _score(
    readings: Array,
    step: int,
    anchors: Array,
    decay: float,
    issued: Array,
    weight: Array,
    absolute: Array,
    squared: Array,
) -> None:
    depth = issued.shape[1]
    for n in range(len(readings)):
        if np.isnan(readings[n]):
            continue
        for a in range(len(anchors)):
            if anchors[a] > step:
                break
            slot = (step - anchors[a]) % depth
            for k in range(issued.shape[3]):
                error = abs(issued[n, slot, a, k] - readings[n])
                if not np.isnan(error):
                    weight[n, a, k] = decay * weight[n, a, k] + 1.0
                    absolute[n, a, k] = decay * absolute[n, a, k] + error
                    squared[n, a, k] = decay * squared[n, a, k] + error * error


@compiled
def _issue(candidates: Array, slot: int, anchors: Array, issued: Array) -> None:
    for n in range(candidates.shape[0]):
        for a in range(len(anchors)):
            for k in range(candidates.shape[2]):
                issued[n, slot, a, k] = candidates[n, anchors[a] - 1, k]


@compiled
def _blend(
    candidates: Array,
    above: Array,
    weight: Array,
    absolute: Array,
    squared: Array,
    mean: Array,
    median: Array,
) -> None:
    count = candidates.shape[2]
    anchors = weight.shape[1]
    for_mean, for_median = np.empty((anchors, count)), np.empty((anchors, count))
    for n in range(candidates.shape[0]):
        for a in range(anchors):
            best_absolute, best_squared = np.inf, np.inf
            for k in range(count):
                if weight[n, a, k] >= _LEAST_RECORD:
                    best_absolute = min(best_absolute, absolute[n, a, k] / weight[n, a, k])
                    best_squared = min(best_squared, squared[n, a, k] / weight[n, a, k])
            for k in range(count):
                if weight[n, a, k] >= _LEAST_RECORD:
                    ratio = (best_absolute + _TINY) / (absolute[n, a, k] / weight[n, a, k] + _TINY)
                    # To the power 16; in squared errors to the power 8, which is the same in root mean square.
                    ratio *= ratio
                    ratio *= ratio
                    ratio *= ratio
                    for_median[a, k] = ratio * ratio
                    ratio = (best_squared + _TINY * _TINY) / (squared[n, a, k] / weight[n, a, k] + _TINY * _TINY)
                    ratio *= ratio
                    ratio *= ratio
                    for_mean[a, k] = ratio * ratio
                else:
                    for_median[a, k] = 0.0
                    for_mean[a, k] = 0.0
        for h in range(candidates.shape[1]):
            a = above[h]
            sum_mean, sum_median, all_mean, all_median = 0.0, 0.0, 0.0, 0.0
            spoken = np.nan
            for k in range(count):
                value = candidates[n, h, k]
                if np.isnan(value):
                    continue
                if np.isnan(spoken):
                    spoken = value
                sum_mean += for_mean[a, k] * value
                all_mean += for_mean[a, k]
                sum_median += for_median[a, k] * value
                all_median += for_median[a, k]
            # Without a record the first candidate that says anything speaks for all.
            mean[n, h] = sum_mean / all_mean if all_mean > 0.0 else spoken
            median[n, h] = sum_median / all_median if all_median > 0.0 else spoken


@compiled
def _first_spoken(candidates: Array, found: Array) -> None:
    for n in range(candidates.shape[0]):
        for h in range(candidates.shape[1]):
            found[n, h] = np.nan
            for k in range(candidates.shape[2]):
                if not np.isnan(candidates[n, h, k]):
                    found[n, h] = candidates[n, h, k]
                    break
