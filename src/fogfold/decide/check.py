"""Whether what was rehearsed is what came: the demand that was believed, held against the demand that was read.

Forecasts that err are made good elsewhere, by the record of their errors (`futures`). What is left is a world that is
wrong as a whole: the demand that is played in it is not the demand of the cluster. All containers together say so
within an hour, because what one of them does by chance cancels out. Small differences are left alone, since a forecast
of the next minutes is off by some per cent without anything being wrong.
"""

from __future__ import annotations

from collections import deque
from statistics import median

import numpy as np

from fogfold.decide.futures import Futures
from fogfold.encoding.arrays import ClusterView

__all__ = ["LoadCheck"]

_KEPT = 12
"""Readings that are kept: an hour of five-minute ones."""
_LEAST = 6
"""Readings before anything is believed of the difference."""


class LoadCheck:
    """Follows the ratio of what came to what was believed: its median over an hour, which no single surge moves.

    Args:
        tolerance: share by which the two may differ before the difference is believed.
        step_s: time between two readings.
    """

    def __init__(self, tolerance: float, step_s: float) -> None:
        self._tolerance, self._step_s = tolerance, step_s
        self._ratios: deque[float] = deque(maxlen=_KEPT)
        self._said: tuple[float, float] | None = None

    @property
    def factor(self) -> float:
        """What to multiply the believed demand by; 1 while the two differ by no more than the tolerance."""
        if len(self._ratios) < _LEAST:
            return 1.0
        ratio = median(self._ratios)
        return ratio if max(ratio, 1.0 / ratio) - 1.0 > self._tolerance else 1.0

    def see(self, view: ClusterView) -> None:
        """Hold what was believed of this instant against what is read; another instant says nothing."""
        if self._said is None:
            return
        time_s, cores = self._said
        if abs(view.time_s - time_s) > self._step_s / 2:
            return
        came = float(view.usage[0].sum())
        self._said = None
        if came > 0.0 and cores > 0.0:
            self._ratios.append(came / cores)

    def say(self, view: ClusterView, futures: Futures) -> None:
        """Keep what the futures, as they are believed before any correction, say of the next step."""
        level = futures.level[:, 1].mean(axis=0, dtype=np.float64)
        self._said = (view.time_s + self._step_s, float(level @ view.fleet.request[0]))
