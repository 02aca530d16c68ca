"""Series of several seeds as one curve: the mean over seeds, thinned to what a figure can show.

Thinning takes means (or sums, for counts) over equal spans of a round length, so that a peak is lowered but nothing
is left out. The mean over seeds is of seeds that may have had different weather; figures say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.errors import ModelError
from fogfold.evaluate.result import RunSeries
from fogfold.units import HOUR_S, MINUTE_S

__all__ = ["Curve", "SeriesByPolicy", "curve", "span_minutes", "span_text"]

SeriesByPolicy = Mapping[str, Sequence[RunSeries]]
"""The series of each policy, one a seed, in the order of the seeds."""

_MINUTES_PER_HOUR = HOUR_S / MINUTE_S
_ROUND_MINUTES = (1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 720, 1440, 2880, 10080)


@dataclass(frozen=True)
class Curve:
    """One policy's curve; every array has one entry a span."""

    start_hour: Float[Array, " spans"]
    end_hour: Float[Array, " spans"]
    mean: Float[Array, " spans"]
    """Not a number where no step of the span knows the value."""
    low: Float[Array, " spans"]
    """Least over seeds."""
    high: Float[Array, " spans"]
    seeds: int

    @property
    def middle_hour(self) -> Float[Array, " spans"]:
        """The middle of each span, where its mean is drawn."""
        return (self.start_hour + self.end_hour) / 2.0


def span_minutes(hour: Float[Array, " steps"], most: int) -> float:
    """The least round length that gives at most `most` spans and is a whole number of steps, in minutes.

    Raises:
        ModelError: if there is no step, or the hours do not rise from above zero.
    """
    if len(hour) == 0 or not (np.diff(hour, prepend=0.0) > 0.0).all():
        raise ModelError(f"a series has {len(hour)} steps whose hours must rise from above 0; keep one entry a step")
    step = float(hour[-1]) / len(hour) * _MINUTES_PER_HOUR
    for minutes in _ROUND_MINUTES:
        whole = abs(minutes / step - round(minutes / step)) < 1e-6
        if whole and minutes >= step and len(hour) * step / minutes <= most:
            return float(minutes)
    return step * int(np.ceil(len(hour) / most))


def span_text(minutes: float) -> str:
    """A length in words of its own size.

    >>> span_text(90.0), span_text(1440.0)
    ('90 min', '24 h')
    """
    hours = minutes / _MINUTES_PER_HOUR
    return f"{hours:g} h" if hours >= 1.0 and hours == int(hours) else f"{minutes:g} min"


def curve(series: Sequence[RunSeries], key: str, *, most: int, total: bool = False) -> Curve:
    """One figure of one policy over its seeds.

    Args:
        series: one a seed, all over the same steps.
        key: name of an array of `RunSeries`.
        most: most spans.
        total: sums in place of means over each span, for counts.

    Raises:
        ModelError: if there is no series, or the seeds have different steps.
    """
    if not series:
        raise ModelError("0 series make no curve; give at least one")
    hour = series[0].hour
    if any(not np.array_equal(one.hour, hour) for one in series):
        raise ModelError("the seeds of a policy have series with different steps; run all seeds for the same hours")
    minutes = span_minutes(hour, most)
    ends = np.minimum(np.ceil(hour * _MINUTES_PER_HOUR / minutes - 1e-9), np.inf)
    spans, first = np.unique(ends, return_index=True)
    values = np.array([np.asarray(getattr(one, key), dtype=float) for one in series])
    known = np.isfinite(values)
    sums = np.add.reduceat(np.where(known, values, 0.0), first, axis=1)
    counts = np.add.reduceat(known.astype(float), first, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        by_seed = np.where(counts > 0, sums if total else sums / counts, np.nan)
    nothing = np.isnan(by_seed).all(axis=0)
    filled = np.where(nothing, 0.0, by_seed)
    mean, low, high = (np.where(nothing, np.nan, pick(filled, axis=0)) for pick in (np.nanmean, np.nanmin, np.nanmax))
    end_hour = np.minimum(spans * minutes / _MINUTES_PER_HOUR, hour[-1])
    start_hour = np.concatenate(([0.0], end_hour[:-1]))
    return Curve(start_hour, end_hour, mean, low, high, len(series))
