"""When load turns: shifts of level as they happen, and crossings of a threshold before they do.

Two signs are read together. A two-sided CUSUM (Page, Continuous Inspection Schemes, Biometrika 41, 1954) adds up how
far readings stand from their slow mean, in spreads, less an allowance; a sum over the limit says that the level has
shifted, up or down. The forecast says where each series will stand. A crossing is announced where the median crosses
the threshold; after a shift in that direction the quantile on that side is believed instead, because a median follows
a shift late. Where a series stands at or above its threshold now, only a crossing down can be announced, else only
one up.

Nothing here decides what to do about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array, compiled
from fogfold.errors import ModelError
from fogfold.forecast.base import FRESH, Forecast, rearranged
from fogfold.model.resources import check_number

__all__ = ["NEVER", "Crossings", "Cusum", "CusumParams", "foresee"]

NEVER = -1
"""Step of a crossing that is not announced."""


@dataclass(frozen=True)
class CusumParams:
    """What counts as a shift.

    Raises:
        ModelError: if a figure is out of its range.
    """

    allowance: float = 0.5
    """Spreads that a reading may stand off the mean without counting; half the shift that is to be found soonest."""
    limit: float = 5.0
    """Sum at which a shift is announced. With 0.5 and 5 one comes by chance every 465 readings of normal noise
    (Montgomery, Introduction to Statistical Quality Control, table 9.3), a shift by one spread is found after ten."""
    memory: float = 0.02
    """Share of a step's difference that mean and spread take: what they were 50 readings ago counts a third."""
    settling: int = 12
    """Readings after the first, or after a shift, in which mean and spread are learned and nothing is announced."""

    def __post_init__(self) -> None:
        check_number("cusum allowance", self.allowance)
        check_number("cusum limit", self.limit, above=True)
        check_number("cusum memory", self.memory, above=True, high=1.0)
        check_number("cusum settling", self.settling, low=2)


class Cusum:
    """A two-sided CUSUM over many series; after a shift it learns the new level from the start."""

    def __init__(self, series: int, params: CusumParams | None = None) -> None:
        self._params = params or CusumParams()
        self._mean = np.zeros(series)
        self._spread = np.zeros(series)
        self._sums = np.zeros((series, 2))
        self._seen = np.zeros(series, np.int64)

    def observe(self, readings: Float[Array, " series"]) -> Int[Array, " series"]:
        """+1 where the level has just been found to have shifted up, -1 down, 0 else; a gap changes nothing.

        Raises:
            ModelError: if there are more or fewer readings than series.
        """
        if len(readings) != len(self._mean):
            raise ModelError(
                f"{len(readings)} readings are given, {len(self._mean)} series are followed; give one a series"
            )
        shifts = np.zeros(len(readings), np.int64)
        params = self._params
        _accumulate(
            np.ascontiguousarray(readings, np.float64),
            params.allowance,
            params.limit,
            params.memory,
            params.settling,
            self._mean,
            self._spread,
            self._sums,
            self._seen,
            shifts,
        )
        return shifts

    def take(self, columns: Sequence[int]) -> None:
        """Follow other series from now on: for each new column the old one, or `base.FRESH`.

        Raises:
            ModelError: if a column is not there.
        """
        wanted = np.asarray(columns, np.int64)
        if len(wanted) and (wanted.min() < FRESH or wanted.max() >= len(self._mean)):
            raise ModelError(
                f"columns {wanted.min()} to {wanted.max()} are taken; there are 0 to {len(self._mean) - 1}"
            )
        self._mean = rearranged(self._mean, wanted, 0.0)
        self._spread = rearranged(self._spread, wanted, 0.0)
        self._sums = rearranged(self._sums, wanted, 0.0)
        self._seen = rearranged(self._seen, wanted, 0)


@compiled
def _accumulate(
    readings: Array,
    allowance: float,
    limit: float,
    memory: float,
    settling: int,
    mean: Array,
    spread: Array,
    sums: Array,
    seen: Array,
    shifts: Array,
) -> None:
    for n in range(len(readings)):
        reading = readings[n]
        if np.isnan(reading):
            continue
        seen[n] += 1
        off = reading - mean[n]
        if seen[n] > settling and spread[n] > 0.0:
            sums[n, 0] = max(0.0, sums[n, 0] + off / spread[n] - allowance)
            sums[n, 1] = max(0.0, sums[n, 1] - off / spread[n] - allowance)
            if sums[n, 0] > limit or sums[n, 1] > limit:
                shifts[n] = 1 if sums[n, 0] > sums[n, 1] else -1
                sums[n, 0] = 0.0
                sums[n, 1] = 0.0
                seen[n] = 1
                mean[n] = reading
                continue
        if seen[n] == 1:
            mean[n] = reading
            continue
        share = max(memory, 1.0 / seen[n])
        mean[n] += share * off
        # A normal spread is 1.2533 times the mean absolute deviation, which a single spike moves less.
        first = seen[n] == 2 and spread[n] == 0.0
        spread[n] += (1.0 if first else share) * (1.2533141373155 * abs(off) - spread[n])


@dataclass(frozen=True)
class Crossings:
    """Which series are expected to cross their threshold."""

    direction: Int[Array, " series"]
    """+1 where load is to rise to the threshold or over it, -1 where it is to fall under it, 0 where neither."""
    step: Int[Array, " series"]
    """At which step ahead, from 1 on; `NEVER` where none is announced."""
    lead_s: Float[Array, " series"]
    """How long until then; NaN where none is announced."""


def foresee(
    forecast: Forecast,
    now: Float[Array, " series"],
    threshold: Float[Array, " series"],
    shift: Int[Array, " series"] | None = None,
    *,
    low: float = 0.05,
    high: float = 0.95,
) -> Crossings:
    """The first crossing of each series within the forecast.

    Args:
        forecast: of the series, with the levels 0.5, `low` and `high`.
        now: where each stands; where it is NaN nothing is announced.
        threshold: of each series.
        shift: +1 or -1 where the level has shifted of late, 0 elsewhere; None has no shifts.
        low: level believed for crossings down after a shift down.
        high: level believed for crossings up after a shift up.

    Raises:
        ModelError: if shapes do not agree, or a level was not forecast.
    """
    for name, array in (("now", now), ("threshold", threshold), ("shift", shift)):
        if array is not None and len(array) != forecast.series:
            raise ModelError(f"{name} has {len(array)} series, the forecast {forecast.series}; they must agree")
    path = forecast.quantile(0.5)
    if shift is not None:
        path = np.where(shift > 0, forecast.quantile(high), np.where(shift < 0, forecast.quantile(low), path))
    above = now >= threshold
    crosses = np.where(above, path < threshold, path >= threshold) & ~np.isnan(now)
    found = crosses.any(axis=0)
    step = np.where(found, crosses.argmax(axis=0) + 1, NEVER)
    return Crossings(
        direction=np.where(found, np.where(above, -1, 1), 0),
        step=step,
        lead_s=np.where(found, step * forecast.step_s, np.nan),
    )
