"""Every forecaster by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.errors import UnknownNameError, did_you_mean
from fogfold.forecast.base import DEFAULT_LEVELS, Forecaster
from fogfold.forecast.calendar import Calendar
from fogfold.forecast.family import Family
from fogfold.forecast.follow import Follower
from fogfold.forecast.moving import MovingMedian
from fogfold.forecast.naive import Persistence, SeasonalNaive
from fogfold.forecast.smoothing import HoltWinters

__all__ = ["DEFAULT", "FORECASTERS", "YARDSTICK", "forecaster"]


def _persistence(series: int, _: Calendar) -> list[Family]:
    return [Persistence(series)]


def _seasonal_naive(series: int, calendar: Calendar) -> list[Family]:
    return [SeasonalNaive(series, calendar.steps_a_day), Persistence(series)]


def _holt_winters(series: int, calendar: Calendar) -> list[Family]:
    return [HoltWinters(series, calendar)]


def _combined(series: int, calendar: Calendar) -> list[Family]:
    hour = calendar.steps_an_hour
    return [
        Persistence(series),
        HoltWinters(series, calendar),
        MovingMedian(series, (hour, 4 * hour)),
        SeasonalNaive(series, hour, name="hour-ago"),
        SeasonalNaive(series, calendar.steps_a_day),
    ]


FORECASTERS: Mapping[str, Callable[[int, Calendar], list[Family]]] = MappingProxyType(
    {
        "persistence": _persistence,
        "seasonal-naive": _seasonal_naive,
        "holt-winters": _holt_winters,
        "combined": _combined,
    }
)
"""The families of each forecaster, in the order in which tables show them."""

YARDSTICK = "seasonal-naive"
"""The forecaster whose error is 1 in every comparison: as a day ago, or as now while there is no day before."""

DEFAULT = "combined"
"""The forecaster that is used where none is named."""


def forecaster(
    name: str,
    history: Float[Array, "samples series"],
    *,
    step_s: float,
    start_s: float = 0.0,
    horizon_steps: int = 12,
    levels: Sequence[float] = DEFAULT_LEVELS,
) -> Forecaster:
    """A forecaster that has seen a history, gaps in it as NaN, and goes on from its end.

    Args:
        name: one of `FORECASTERS`.
        history: readings, oldest first; no sample is needed, the number of series is.
        step_s: time between samples; a day must be a whole number of them.
        start_s: world time of the first sample, in seconds since Monday 00:00 UTC.
        horizon_steps: how far ahead it will ever be asked.
        levels: probabilities of the quantiles.

    Raises:
        UnknownNameError: if there is no forecaster of that name.
        ModelError: if a reading is infinite or negative, a day is no whole number of steps, the horizon has no step,
            or the levels are not ascending within ]0, 1[.
    """
    if name not in FORECASTERS:
        raise UnknownNameError(f'forecaster "{name}" is unknown; {did_you_mean(name, FORECASTERS)}')
    series = int(history.shape[1])
    found = Follower(
        series,
        FORECASTERS[name](series, Calendar(step_s, start_s)),
        step_s=step_s,
        horizon_steps=horizon_steps,
        levels=levels,
        by_record=name not in ("persistence", "seasonal-naive"),
    )
    for readings in np.asarray(history, np.float64):
        found.observe(readings)
    return found
