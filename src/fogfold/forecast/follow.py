"""A forecaster made of families, a panel that weighs them, and intervals about what it says.

The order within a step is: score what was said before against the reading, let the families take the reading in,
say what comes, keep that to be scored. A forecast never sees the reading that it is scored on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.errors import ModelError
from fogfold.forecast.anchors import anchors_up_to
from fogfold.forecast.base import FRESH, Forecast, check_readings
from fogfold.forecast.family import Family
from fogfold.forecast.intervals import Intervals
from fogfold.forecast.panel import Panel

__all__ = ["Follower"]


class Follower:
    """A `Forecaster` whose state is carried forward: a tick costs O(series x steps x candidates).

    Args:
        series: how many series it follows at first.
        families: where candidates come from; where no record exists yet, the first that says anything is heard.
        step_s: time between readings.
        horizon_steps: how far ahead it will ever be asked.
        levels: probabilities of the quantiles.
        by_record: weigh candidates by their record; else always hear the first that says anything.

    Raises:
        ModelError: if the horizon has no step, or the levels are not ascending within ]0, 1[.
    """

    def __init__(
        self,
        series: int,
        families: Sequence[Family],
        *,
        step_s: float,
        horizon_steps: int,
        levels: Sequence[float],
        by_record: bool = True,
    ) -> None:
        anchors = anchors_up_to(horizon_steps)
        self._families = tuple(families)
        self._step_s = step_s
        self._levels = tuple(levels)
        count = sum(len(family.names) for family in families)
        self._panel = Panel(series, count, anchors, step_s, by_record=by_record)
        self._intervals = Intervals(series, anchors, levels, step_s)
        self._candidates = np.full((series, horizon_steps, count), np.nan, np.float32)
        self._mean = np.full((series, horizon_steps), np.nan)
        self._median = np.full((series, horizon_steps), np.nan)

    @property
    def series(self) -> int:
        """How many series it follows."""
        return int(self._mean.shape[0])

    def observe(self, readings: Float[Array, " series"]) -> None:
        """Take one reading of each series, a step after the last; NaN where there is none.

        Raises:
            ModelError: if a reading is infinite or negative, or there are more or fewer than series.
        """
        check_readings(readings, self.series)
        readings = np.ascontiguousarray(readings, np.float64)
        self._panel.score(readings)
        self._intervals.score(readings)
        first = 0
        for family in self._families:
            family.observe(readings)
            family.write(self._candidates, first)
            first += len(family.names)
        self._mean, self._median = self._panel.blend(self._candidates)
        self._intervals.issue(self._median)

    def forecast(self, horizon_steps: int) -> Forecast:
        """What comes in the next so many steps.

        Raises:
            ModelError: if there are none, or more than it was made for.
        """
        most = self._mean.shape[1]
        if not 1 <= horizon_steps <= most:
            raise ModelError(
                f"{horizon_steps} steps ahead are asked for, the forecaster was made for 1 to {most}; "
                "make it with a longer horizon_steps"
            )
        return Forecast(
            mean=self._mean[:, :horizon_steps].T.copy(),
            quantiles=self._intervals.around(self._median[:, :horizon_steps]),
            levels=self._levels,
            step_s=self._step_s,
        )

    def take(self, columns: Sequence[int]) -> None:
        """Follow other series from now on: for each new column the old one that it goes on from, or `FRESH`.

        Raises:
            ModelError: if a column is not there, or is taken twice.
        """
        wanted = np.asarray(columns, np.int64)
        kept = wanted[wanted != FRESH]
        if len(kept) and (kept.min() < 0 or kept.max() >= self.series):
            raise ModelError(
                f"column {kept.min() if kept.min() < 0 else kept.max()} is taken; there are 0 to {self.series - 1}"
            )
        if len(np.unique(kept)) != len(kept):
            raise ModelError("a column is taken twice; each series goes on in one place")
        parts: list[Panel | Intervals | Family] = [self._panel, self._intervals, *self._families]
        for part in parts:
            part.take(wanted)
        steps, count = self._candidates.shape[1:]
        self._candidates = np.full((len(wanted), steps, count), np.nan, np.float32)
        fresh = np.full((len(wanted), steps), np.nan)
        kept_rows = wanted != FRESH
        mean, median = fresh.copy(), fresh
        mean[kept_rows] = self._mean[kept]
        median[kept_rows] = self._median[kept]
        self._mean, self._median = mean, median
