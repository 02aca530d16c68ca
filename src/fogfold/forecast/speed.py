"""How long a tick of forecasting takes: all series told a reading, and all forecast, on one core."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fogfold.forecast.registry import DEFAULT, forecaster

__all__ = ["ForecastSpeedRow", "measure_forecast"]

_STEP_S = 300.0
_WARM_UP = 24
_TICKS = 20


@dataclass(frozen=True, slots=True)
class ForecastSpeedRow:
    """CPU time of a tick."""

    forecaster: str
    default: bool
    series: int
    steps: int
    tick_ms_p50: float
    tick_ms_max: float
    """The slowest of the ticks that were measured."""

    def as_json(self) -> dict[str, Any]:
        """The row as plain values."""
        return asdict(self)


def measure_forecast(name: str, series: int, steps: int, rng: np.random.Generator) -> ForecastSpeedRow:
    """Speed of one forecaster on noise, after two hours of it, in steps of five minutes.

    Raises:
        UnknownNameError: if the forecaster is unknown.
        ModelError: if there are no steps.
    """
    readings = rng.gamma(2.0, 0.1, (_WARM_UP + _TICKS, series))
    follower = forecaster(name, readings[:_WARM_UP], step_s=_STEP_S, horizon_steps=steps)
    follower.forecast(steps)
    taken_s = []
    for reading in readings[_WARM_UP:]:
        started_s = time.process_time()
        follower.observe(reading)
        follower.forecast(steps)
        taken_s.append(time.process_time() - started_s)
    return ForecastSpeedRow(name, name == DEFAULT, series, steps, 1e3 * float(np.median(taken_s)), 1e3 * max(taken_s))
