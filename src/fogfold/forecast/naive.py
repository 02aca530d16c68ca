"""The two naive forecasts that all others have to beat: as now, and as a season ago."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32, Int

from fogfold.compiled import Array, compiled
from fogfold.errors import ModelError
from fogfold.forecast.base import rearranged

__all__ = ["Persistence", "SeasonalNaive"]


class Persistence:
    """As now: the last reading, however far ahead."""

    def __init__(self, series: int) -> None:
        self._last = np.full(series, np.nan)

    @property
    def names(self) -> tuple[str, ...]:
        """One candidate."""
        return ("persistence",)

    def observe(self, readings: Float[Array, " series"]) -> None:
        """Keep the reading; where there is none, the one before stands."""
        self._last = np.where(np.isnan(readings), self._last, readings)

    def write(self, candidates: Float32[Array, "series steps candidates"], first: int) -> None:
        """The same value for each step."""
        candidates[:, :, first] = self._last[:, None]

    def take(self, columns: Int[Array, " series"]) -> None:
        """Follow other series."""
        self._last = rearranged(self._last, columns, np.nan)


class SeasonalNaive:
    """As a season ago: the reading of the same time one season back.

    Until a season has passed, and where that time has no reading, it says nothing.
    """

    def __init__(self, series: int, season_steps: int, *, name: str = "seasonal-naive") -> None:
        if season_steps < 1:
            raise ModelError(f"season_steps is {season_steps}; a season lasts at least one step")
        self._name = name
        self._season = season_steps
        self._ring = np.full((series, season_steps), np.nan, np.float32)
        self._step = 0

    @property
    def names(self) -> tuple[str, ...]:
        """One candidate."""
        return (self._name,)

    def observe(self, readings: Float[Array, " series"]) -> None:
        """Put the readings in the place of those a season ago; a gap stays a gap."""
        self._ring[:, self._step % self._season] = readings
        self._step += 1

    def write(self, candidates: Float32[Array, "series steps candidates"], first: int) -> None:
        """What the ring holds for the time of each step."""
        _write_season(self._ring, self._step % self._season, candidates, first)

    def take(self, columns: Int[Array, " series"]) -> None:
        """Follow other series."""
        self._ring = rearranged(self._ring, columns, np.nan)


@compiled
def _write_season(ring: Array, at: int, candidates: Array, first: int) -> None:
    season = ring.shape[1]
    for n in range(candidates.shape[0]):
        for h in range(candidates.shape[1]):
            candidates[n, h, first] = ring[n, (at + h) % season]
