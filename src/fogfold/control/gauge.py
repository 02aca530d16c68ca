"""A gauge of how restless the cluster is: shown every reading, it forecasts the whole load and says the volatility.

Load of the whole cluster is what is forecast, because no move changes it; pressures of nodes are what moves change.
The rules are in `volatility`; this keeps what they need from one reading to the next. It is not kept over a restart: a
gauge that begins anew knows nothing for a reading, and no daily pattern for a day.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fogfold.control.volatility import (
    Usual,
    VolatilitySettings,
    change_of,
    change_part,
    error_part,
    turn_part,
    volatility,
)
from fogfold.errors import ModelError
from fogfold.forecast.base import Forecaster
from fogfold.forecast.registry import DEFAULT, forecaster
from fogfold.forecast.turning import Cusum, foresee
from fogfold.model.snapshot import Snapshot
from fogfold.units import MINUTE_S

__all__ = ["Gauge", "load_cores"]

_HAIR = 1e-9
_SHIFT_STEPS = 6
"""Readings for which a shift of level is believed, once found: half an hour."""
_KNOWN_SHARE = 0.5
"""Share of what is requested that must be measured, or nothing is said of the whole."""


def load_cores(snapshot: Snapshot) -> float | None:
    """What all containers use together, in cores; None where less than half of what they request is measured.

    A container that is not measured is taken to use as much of its request as the others do of theirs: were it left
    out, a node that falls silent would look like a load that falls.
    """
    asked = known = used = 0.0
    for container in snapshot.cluster.containers:
        if container.id not in snapshot.placement:
            continue
        request = container.request.cpu_cores
        asked += request
        usage = snapshot.usage.get(container.id)
        if usage is not None:
            known += request
            used += usage.cpu_cores
    return used / known * asked if known > 0.0 and known >= _KNOWN_SHARE * asked else None


class Gauge:
    """The gauge. It takes one reading a step; what is shown in between changes nothing.

    Args:
        shortest_s: shortest time between whole decisions.
        longest_s: longest time between whole decisions, which is also how far ahead is looked.
        settings: what counts as a storm; defaults where None.
        step_s: time between two readings, of which a day is a whole number.
    """

    def __init__(
        self,
        shortest_s: float,
        longest_s: float,
        settings: VolatilitySettings | None = None,
        *,
        step_s: float = 5 * MINUTE_S,
    ) -> None:
        if not 0.0 < shortest_s < longest_s:
            raise ModelError(f"intervals are {shortest_s:g} and {longest_s:g} s; give the shorter first, above 0")
        self._shortest_s, self._longest_s, self._step_s = shortest_s, longest_s, step_s
        self._settings = settings or VolatilitySettings()
        self._steps = max(1, round(longest_s / step_s))
        self._pressure: Mapping[str, float] = {}
        self._change: float | None = None
        self._usual = Usual()
        self._forecaster: Forecaster | None = None
        self._cusum = Cusum(1)
        self._shifts: list[int] = []
        self._said: float | None = None
        """What was forecast for the next reading."""
        self._last_step: int | None = None
        self._is_blind = True
        self.parts: dict[str, float | None] = {"change": None, "error": None, "turn": None, "work": None}
        """The parts of the volatility, by name: why it is what it is."""

    @property
    def volatility(self) -> float | None:
        """How restless the cluster is, in [0, 1]; None before two readings and where none came for long: no calm."""
        return None if self._is_blind or self._change is None else volatility(*self.parts.values())

    def wants(self, time_s: float) -> bool:
        """Whether a reading of that time would be taken in: the first of each step is."""
        return self._last_step is None or self._step_at(time_s) > self._last_step

    def decided(self, *, is_idle: bool) -> None:
        """A whole decision was taken; `is_idle` where it ordered nothing.

        It knew of the last error of the forecast, which therefore calls for no other.
        """
        if self.parts["error"] is not None:
            self.parts["error"] = 0.0
        self.parts["work"] = 0.0 if is_idle else self._settings.work

    def miss(self, time_s: float) -> None:
        """No reading came; where none did for the longest interval, what was known before counts no more."""
        if self._last_step is not None and self._step_at(time_s) - self._last_step > self._steps:
            self._is_blind = True

    def see(self, time_s: float, pressure: Mapping[str, float], load: float) -> None:
        """Take in a reading.

        Args:
            time_s: time of the reading; it never goes back.
            pressure: of each node that was read.
            load: what all containers use together, in cores.
        """
        if not self.wants(time_s):
            return
        step = self._step_at(time_s)
        missed = 0 if self._last_step is None else min(step - self._last_step - 1, self._steps)
        self._last_step, self._is_blind = step, False
        self._see_pressure(pressure)
        self._see_load(step * self._step_s, load, missed)

    def _step_at(self, time_s: float) -> int:
        return int(time_s / self._step_s + _HAIR)

    def _see_pressure(self, pressure: Mapping[str, float]) -> None:
        change = change_of(self._pressure, pressure)
        if change is not None:
            weight = self._settings.smoothing
            self._change = change if self._change is None else weight * change + (1.0 - weight) * self._change
            self.parts["change"] = change_part(self._change, self._settings)
        self._pressure = dict(pressure)

    def _see_load(self, time_s: float, load: float, missed: int) -> None:
        if self._forecaster is None:
            self._forecaster = forecaster(
                DEFAULT, np.zeros((0, 1)), step_s=self._step_s, start_s=time_s, horizon_steps=self._steps
            )
        for _ in range(missed):
            self._forecaster.observe(np.array([np.nan]))
        if missed:
            # What was said was said of a reading that never came.
            self._said = None
        if self._said is not None:
            error = abs(load - self._said)
            self.parts["error"] = error_part(error, self._usual, self._settings)
            self._usual = self._usual.taking(error, self._settings)
        reading = np.array([load])
        self._shifts = [*self._shifts, int(self._cusum.observe(reading)[0])][-_SHIFT_STEPS:]
        self._forecaster.observe(reading)
        forecast = self._forecaster.forecast(self._steps)
        said = float(forecast.quantile(0.5)[0, 0])
        self._said = None if np.isnan(said) else said
        shift = np.sign(np.array([sum(self._shifts)]))
        band = self._settings.band
        leads = [
            float(foresee(forecast, reading, np.array([load * (1.0 + way * band)]), shift).lead_s[0])
            for way in (1.0, -1.0)
        ]
        near = [lead for lead in leads if not np.isnan(lead)]
        self.parts["turn"] = turn_part(min(near) if near else None, self._shortest_s, self._longest_s)
