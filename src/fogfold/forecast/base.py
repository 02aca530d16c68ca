"""What a forecast is, and the one interface of everything that makes one.

A forecaster follows many series at once, in steps of one length. It is told a reading of each series per step, NaN
where there is none, and can at any time say what comes next. Nothing here fits a model in one go: all that is known
lives in a state that is carried forward, so a tick costs the same after a minute as after a month.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array
from fogfold.errors import ModelError

__all__ = ["DEFAULT_LEVELS", "FRESH", "Forecast", "Forecaster", "check_levels", "check_readings", "rearranged"]

DEFAULT_LEVELS = (0.05, 0.5, 0.95)
"""A median between the ends of a 90 % interval."""

FRESH = -1
"""Column number of a series that was not there before (`Forecaster.take`)."""


@dataclass(frozen=True)
class Forecast:
    """What every series is expected to be, step by step, and how sure that is.

    NaN stands where nothing can be said: a series without a reading yet, or quantiles of one that was never checked
    against its future. It is never to be read as zero.

    Raises:
        ModelError: if the levels are not ascending within ]0, 1[, or the shapes do not agree.
    """

    mean: Float[Array, "steps series"]
    """Expected value: what adds up to the expected load of a node."""
    quantiles: Float[Array, "levels steps series"]
    """Values that the future stays under with the probability of each level."""
    levels: tuple[float, ...]
    """Probabilities, ascending."""
    step_s: float
    """Time between steps; the first step is this long after the last reading."""

    def __post_init__(self) -> None:
        check_levels(self.levels)
        if self.quantiles.shape != (len(self.levels), *self.mean.shape):
            raise ModelError(
                f"quantiles have shape {self.quantiles.shape}, expected {(len(self.levels), *self.mean.shape)}: "
                "one plane of the mean's shape for each level"
            )

    @property
    def steps(self) -> int:
        """How many steps ahead it reaches."""
        return int(self.mean.shape[0])

    @property
    def series(self) -> int:
        """How many series it is about."""
        return int(self.mean.shape[1])

    def quantile(self, level: float) -> Float[Array, "steps series"]:
        """The quantile of one of the levels, as in `quantile(0.95)`.

        Raises:
            ModelError: if the forecast was not made with that level.
        """
        for index, known in enumerate(self.levels):
            if math.isclose(known, level, abs_tol=1e-9):
                return self.quantiles[index]
        raise ModelError(
            f"level {level:g} was not forecast, only {', '.join(f'{known:g}' for known in self.levels)}; "
            "name it in `levels` where the forecaster is made"
        )


@runtime_checkable
class Forecaster(Protocol):
    """Something that follows many series and says what comes next."""

    @property
    def series(self) -> int:
        """How many series it follows."""
        ...

    def observe(self, readings: Float[Array, " series"]) -> None:
        """Take one reading of each series, a step after the last; NaN where there is none.

        Raises:
            ModelError: if a reading is infinite or negative, or there are more or fewer than series.
        """
        ...

    def forecast(self, horizon_steps: int) -> Forecast:
        """What comes in the next so many steps.

        Raises:
            ModelError: if there are none, or more than the forecaster was made for.
        """
        ...

    def take(self, columns: Sequence[int]) -> None:
        """Follow other series from now on: for each new column the old one that it goes on from, or `FRESH`.

        Raises:
            ModelError: if a column is not there, or is taken twice.
        """
        ...


def check_levels(levels: Sequence[float]) -> None:
    """Nothing, where the levels are probabilities in ascending order.

    Raises:
        ModelError: if one is not within ]0, 1[, or not above the one before it.
    """
    before = 0.0
    for level in levels:
        if not before < level < 1.0:
            raise ModelError(
                f"level {level:g} stands after {before:g}; levels are probabilities within ]0, 1[, in ascending order"
            )
        before = level


def check_readings(readings: Float[Array, " given"], series: int) -> None:
    """Nothing, where there is a reading of each series and each is a demand: at least 0, or NaN for none.

    Raises:
        ModelError: naming the first that is not.
    """
    if len(readings) != series:
        raise ModelError(
            f"{len(readings)} readings are given, {series} series are followed; "
            "give one a series, NaN where there is none"
        )
    bad = np.flatnonzero((readings < 0) | np.isinf(readings))
    if len(bad):
        raise ModelError(
            f"reading of series {bad[0]} is {readings[bad[0]]:g}; a demand is finite and at least 0, NaN says unknown"
        )


def rearranged(array: Array, columns: Int[Array, " series"], fresh: float) -> Array:
    """The rows of a per-series array in their new order, rows of new series filled with one value."""
    found = array[np.maximum(columns, 0)] if len(array) else np.empty((len(columns), *array.shape[1:]), array.dtype)
    found[columns == FRESH] = fresh
    return np.ascontiguousarray(found)
