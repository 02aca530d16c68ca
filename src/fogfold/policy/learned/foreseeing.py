"""What each load is expected to be within the hour, from what a view remembers of it: level, damped trend, spread.

Holt's method with a damped trend (Gardner and McKenzie, Forecasting trends in time series, Management Science 31,
1985), run anew over the samples at every decision: nothing is carried along, so a decision depends on its view alone
and can be made again from a record. The figures suit a past of two hours and a half in steps of five minutes; longer
cycles are for the rehearsal (`fogfold.decide`), which keeps histories.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array, borrowed, compiled

__all__ = ["HOUR_STEPS", "Foreseen", "crossing", "foresee", "highest", "peak"]

HOUR_STEPS = 12
"""Decisions in an hour."""
_LEVEL = 0.4
"""Share of the surprise that the level takes."""
_TREND = 0.12
"""Share of that which the trend takes."""
_DAMPING = 0.9
"""What is left of the trend a step later: beyond an hour it says next to nothing."""
_SPREADS = 1.28
"""Spreads above the mean at which a peak is looked for: nine in ten stay below."""
_LEAST_SAMPLES = 4
"""Samples from which a trend is believed."""


class Foreseen(NamedTuple):
    """What is expected of some series."""

    level: Float[Array, " series"]
    """Where each stands, ripples left out."""
    trend: Float[Array, " series"]
    """Change in the next step."""
    spread: Float[Array, " series"]
    """Root of the mean square of what was not expected a step ahead."""


@compiled
def _follow(samples: Array, level: Array, trend: Array, square: Array) -> None:
    own, levels, trends, squares = borrowed(samples), borrowed(level), borrowed(trend), borrowed(square)
    count, series = own.shape
    for i in range(series):
        levels[i] = own[0, i]
    for s in range(1, count):
        for i in range(series):
            expected = levels[i] + _DAMPING * trends[i]
            surprise = own[s, i] - expected
            levels[i] = expected + _LEVEL * surprise
            trends[i] = _DAMPING * trends[i] + _TREND * surprise
            squares[i] += surprise * surprise


def foresee(samples: Float[Array, "samples series"]) -> Foreseen:
    """What is expected of series of which these samples are known, the newest last; with few of them, the last one.

    >>> rising = foresee(np.arange(30.0)[:, None])
    >>> round(float(rising.trend[0]), 2), round(float(rising.level[0]), 1)
    (0.69, 27.9)
    """
    count, series = samples.shape
    if count < _LEAST_SAMPLES:
        return Foreseen(samples[-1].astype(np.float64), np.zeros(series), np.zeros(series))
    level, trend, square = np.empty(series), np.zeros(series), np.zeros(series)
    _follow(np.ascontiguousarray(samples, np.float64), level, trend, square)
    return Foreseen(level, trend, np.sqrt(square / (count - 1)))


def _damped(steps: int) -> float:
    """How many steps' trend so many steps amount to."""
    return (1.0 - _DAMPING**steps) / (1.0 - _DAMPING)


def highest(seen: Foreseen, steps: int) -> Float[Array, " series"]:
    """The highest mean within so many steps, from 1; at least 0."""
    first, last = seen.level + seen.trend, seen.level + seen.trend * _damped(steps)
    return np.maximum(np.maximum(first, last), 0.0)


def peak(seen: Foreseen, steps: int) -> Float[Array, " series"]:
    """What nine in ten will stay under within so many steps, from 1; at least 0.

    The spread grows with the steps as that of simple smoothing does (Hyndman et al., Forecasting with Exponential
    Smoothing, 2008, table 6.1).
    """
    grown = float(np.sqrt(1.0 + (steps - 1) * _LEVEL * _LEVEL))
    first = seen.level + seen.trend + _SPREADS * seen.spread
    last = seen.level + seen.trend * _damped(steps) + _SPREADS * grown * seen.spread
    return np.maximum(np.maximum(first, last), 0.0)


def crossing(now: Float[Array, " series"], seen: Foreseen, mark: float) -> Float[Array, " series"]:
    """When the mean crosses a mark within the hour: 1 up in the next step, -1 down in the next, 0 not within it.

    In between it falls in a straight line: 0.5 is up in half an hour. Where a series stands above the mark now it can
    only cross down, else only up.
    """
    found = np.zeros(len(now))
    above = now >= mark
    for step in range(HOUR_STEPS, 0, -1):
        mean = seen.level + seen.trend * _damped(step)
        nearness = 1.0 - (step - 1) / HOUR_STEPS
        found[(mean >= mark) & ~above] = nearness
        found[(mean < mark) & above] = -nearness
    return found
