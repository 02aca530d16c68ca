"""Medians of the last readings: a level that a single spike cannot move."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float32, Int

from fogfold.compiled import Array, compiled
from fogfold.errors import ModelError
from fogfold.forecast.base import rearranged

__all__ = ["MovingMedian"]


class MovingMedian:
    """The median of the readings within each of several windows, however far ahead.

    Gaps are left out of a window; a window of gaps says nothing.
    """

    def __init__(self, series: int, windows_steps: Sequence[int]) -> None:
        if not windows_steps or min(windows_steps) < 1:
            raise ModelError(f"windows_steps is {list(windows_steps)}; give at least one window of at least one step")
        self._windows = np.array(windows_steps, np.int64)
        self._ring = np.full((series, int(self._windows.max())), np.nan, np.float32)
        self._medians = np.full((series, len(self._windows)), np.nan, np.float32)
        self._step = 0

    @property
    def names(self) -> tuple[str, ...]:
        """One candidate for each window."""
        return tuple(f"median-of-{window}" for window in self._windows)

    def observe(self, readings: Float[Array, " series"]) -> None:
        """Take in the newest reading and let the oldest go."""
        self._ring[:, self._step % self._ring.shape[1]] = readings
        self._step += 1
        _find_medians(self._ring, self._step, self._windows, self._medians)

    def write(self, candidates: Float32[Array, "series steps candidates"], first: int) -> None:
        """The same value for each step."""
        candidates[:, :, first : first + len(self._windows)] = self._medians[:, None, :]

    def take(self, columns: Int[Array, " series"]) -> None:
        """Follow other series."""
        self._ring = rearranged(self._ring, columns, np.nan)
        self._medians = rearranged(self._medians, columns, np.nan)


@compiled
def _find_medians(ring: Array, step: int, windows: Array, medians: Array) -> None:
    length = ring.shape[1]
    row = np.empty(length, np.float32)
    for n in range(ring.shape[0]):
        for w in range(len(windows)):
            seen = 0
            for back in range(1, min(windows[w], step) + 1):
                value = ring[n, (step - back) % length]
                if not np.isnan(value):
                    row[seen] = value
                    seen += 1
            if seen == 0:
                medians[n, w] = np.nan
                continue
            row[:seen].sort()
            medians[n, w] = 0.5 * (row[(seen - 1) // 2] + row[seen // 2])
