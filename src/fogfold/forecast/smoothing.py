"""Holt-Winters for all series at once: level, damped trend, a daily and a weekly profile, carried forward step by step.

Additive error-correction form (Hyndman, Koehler, Ord and Snyder, Forecasting with Exponential Smoothing, 2008, ch. 2;
the second profile is Taylor, Short-term electricity demand forecasting using double seasonal exponential smoothing,
JORS 54, 2003). With the error e of the one-step forecast,

    level   <- level + phi trend + alpha e          daily[part of day]   <- daily[part of day]   + gamma_d e
    trend   <- phi trend + beta e                   weekly[part of week] <- weekly[part of week] + gamma_w e

and h steps ahead it says level + (phi + ... + phi^h) trend + daily + weekly, but at least 0: loads are not negative.
The first reading is the level; trend and profiles start at 0, so a profile counts for little until it has been seen
to help. A gap moves the level along its trend and teaches nothing.

No parameter is fitted here. A grid of settings runs side by side, which costs less than one fit, and the panel
weighs them by their record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Int

from fogfold.compiled import Array, compiled
from fogfold.errors import ModelError
from fogfold.forecast.base import rearranged
from fogfold.forecast.calendar import DAYS_A_WEEK, Calendar
from fogfold.model.resources import check_number

__all__ = ["GRID", "HoltWinters", "Smoothing"]


@dataclass(frozen=True)
class Smoothing:
    """One setting of Holt-Winters: how fast each part follows.

    Raises:
        ModelError: if a figure is out of [0, 1].
    """

    level: float
    """Alpha: share of a step's error that the level takes."""
    trend: float = 0.0
    """Beta: share of a step's error that the trend takes; 0 has no trend."""
    damping: float = 0.9
    """Phi: what is left of the trend after a step."""
    daily: float = 0.0
    """Share of a part's error that the daily profile takes in a day, however many steps a part has; 0 has none."""
    weekly: float = 0.0
    """The same for the weekly profile, in a week."""

    def __post_init__(self) -> None:
        for name in ("level", "trend", "damping", "daily", "weekly"):
            check_number(f"smoothing {name}", getattr(self, name), high=1.0)

    @property
    def name(self) -> str:
        """Its figures, as in `hw-0.3-trend0.05-daily0.3`."""
        parts = [(word, getattr(self, word)) for word in ("trend", "daily", "weekly")]
        return f"hw-{self.level:g}" + "".join(f"-{word}{value:g}" for word, value in parts if value)


GRID = (
    Smoothing(0.05),
    Smoothing(0.15),
    Smoothing(0.3),
    Smoothing(0.5),
    Smoothing(0.7),
    Smoothing(0.3, trend=0.03, damping=0.9),
    Smoothing(0.7, trend=0.2, damping=0.8),
    Smoothing(0.05, daily=0.3),
    Smoothing(0.3, daily=0.3),
    Smoothing(0.7, daily=0.2),
    Smoothing(0.05, daily=0.2, weekly=0.2),
    Smoothing(0.3, daily=0.2, weekly=0.2),
)
"""The settings that run side by side: slow to fast levels, two trends, and three and two profiles."""


class HoltWinters:
    """A grid of Holt-Winters settings over many series."""

    def __init__(self, series: int, calendar: Calendar, grid: Sequence[Smoothing] = GRID) -> None:
        if not grid:
            raise ModelError("the grid of smoothings is empty; give at least one setting")
        self._grid = tuple(grid)
        self._calendar = calendar
        visits = calendar.steps_a_day / calendar.parts_a_day
        self._rates = np.array(
            [[s.level, s.trend, s.damping, _a_step(s.daily, visits), _a_step(s.weekly, visits)] for s in grid]
        )
        daily = [s.daily > 0 or s.weekly > 0 for s in grid]
        weekly = [s.weekly > 0 for s in grid]
        # Settings without a profile have no room for one: -1.
        self._rows = np.stack([_numbered(daily), _numbered(weekly)], axis=1)
        self._level = np.full((series, len(grid)), np.nan)
        self._trend = np.zeros((series, len(grid)))
        self._daily = np.zeros((series, sum(daily), calendar.parts_a_day), np.float32)
        self._weekly = np.zeros((series, sum(weekly), DAYS_A_WEEK * calendar.parts_a_day), np.float32)
        self._step = 0

    @property
    def names(self) -> tuple[str, ...]:
        """One candidate for each setting."""
        return tuple(setting.name for setting in self._grid)

    def observe(self, readings: Float[Array, " series"]) -> None:
        """One step of error correction."""
        part = int(self._calendar.part_of_week(self._step, 1)[0])
        _correct(readings, self._rates, self._rows, part, self._level, self._trend, self._daily, self._weekly)
        self._step += 1

    def write(self, candidates: Float32[Array, "series steps candidates"], first: int) -> None:
        """Level, what is left of the trend, and the profiles of each step."""
        steps = candidates.shape[1]
        parts = self._calendar.part_of_week(self._step, steps)
        trends = np.cumsum(self._rates[:, 2][None, :] ** np.arange(1, steps + 1)[:, None], axis=0)
        _write(self._rows, parts, trends, self._level, self._trend, self._daily, self._weekly, candidates, first)

    def take(self, columns: Int[Array, " series"]) -> None:
        """Follow other series."""
        self._level = rearranged(self._level, columns, np.nan)
        self._trend = rearranged(self._trend, columns, 0.0)
        self._daily = rearranged(self._daily, columns, 0.0)
        self._weekly = rearranged(self._weekly, columns, 0.0)


def _a_step(rate: float, visits: float) -> float:
    """The share a step that comes to `rate` over as many visits."""
    return 1.0 - (1.0 - rate) ** (1.0 / visits)


def _numbered(chosen: Sequence[bool]) -> Int[Array, " settings"]:
    return np.where(chosen, np.cumsum(chosen) - 1, -1).astype(np.int64)


@compiled
def _correct(
    readings: Array,
    rates: Array,
    rows: Array,
    part: int,
    level: Array,
    trend: Array,
    daily: Array,
    weekly: Array,
) -> None:
    part_of_day = part % daily.shape[2]
    for n in range(len(readings)):
        reading = readings[n]
        for k in range(rates.shape[0]):
            if np.isnan(level[n, k]):
                level[n, k] = reading
                continue
            damped = rates[k, 2] * trend[n, k]
            if np.isnan(reading):
                level[n, k] += damped
                trend[n, k] = damped
                continue
            error = reading - level[n, k] - damped
            day, week = rows[k, 0], rows[k, 1]
            if day >= 0:
                error -= daily[n, day, part_of_day]
            if week >= 0:
                error -= weekly[n, week, part]
            level[n, k] += damped + rates[k, 0] * error
            trend[n, k] = damped + rates[k, 1] * error
            if day >= 0:
                daily[n, day, part_of_day] += rates[k, 3] * error
            if week >= 0:
                weekly[n, week, part] += rates[k, 4] * error


@compiled
def _write(
    rows: Array,
    parts: Array,
    trends: Array,
    level: Array,
    trend: Array,
    daily: Array,
    weekly: Array,
    candidates: Array,
    first: int,
) -> None:
    for n in range(candidates.shape[0]):
        for h in range(candidates.shape[1]):
            part = parts[h]
            part_of_day = part % daily.shape[2]
            for k in range(level.shape[1]):
                value = level[n, k] + trends[h, k] * trend[n, k]
                if rows[k, 0] >= 0:
                    value += daily[n, rows[k, 0], part_of_day]
                if rows[k, 1] >= 0:
                    value += weekly[n, rows[k, 1], part]
                # Written so that NaN stays NaN.
                candidates[n, h, first + k] = 0.0 if value < 0.0 else value
