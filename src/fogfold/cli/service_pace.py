"""The service's own rhythm on a simulated day: its schedule and its gauge say when a whole decision is due.

A pace for `evaluate.foresight`, which knows nothing of services. What is left out of the rhythm is what that part is
not about: light decisions and events. Time is that of the views.
"""

from __future__ import annotations

import numpy as np

from fogfold.control.collect import CollectSettings
from fogfold.control.gauge import Gauge
from fogfold.control.schedule import Rhythm, Run, Schedule, ScheduleSettings
from fogfold.control.volatility import VolatilitySettings
from fogfold.encoding.arrays import ClusterView
from fogfold.errors import ModelError
from fogfold.policy.base import Proposal

__all__ = ["ServicePace"]


class _ViewClock:
    """Time as the last view told it."""

    def __init__(self) -> None:
        self.time_s = 0.0

    def now_s(self) -> float:
        return self.time_s

    def monotonic_s(self) -> float:
        return self.time_s

    async def sleep(self, duration_s: float) -> None:
        raise NotImplementedError("nobody waits on a simulated day; views bring the time")


class ServicePace:
    """When the service would take a whole decision.

    Args:
        schedule: the rhythms' figures; defaults where None.
        volatility: what counts as a storm; defaults where None.
    """

    def __init__(self, schedule: ScheduleSettings | None = None, volatility: VolatilitySettings | None = None) -> None:
        self._settings = schedule or ScheduleSettings()
        self._gauge = Gauge(self._settings.macro_shortest_s, self._settings.macro_longest_s, volatility)
        self._marks = np.array(CollectSettings().marks)[:, None]
        self._clock = _ViewClock()
        self._schedule: Schedule | None = None
        self._run: Run | None = None

    def due(self, view: ClusterView) -> bool:
        """Whether a whole decision is due at this look."""
        self._clock.time_s = view.time_s
        if self._schedule is None:
            self._schedule = Schedule(self._clock, self._settings)
        self._gauge.see(view.time_s, self._pressure(view), float(view.usage[0, view.placement >= 0].sum()))
        self._tell(self._schedule)
        self._run = self._schedule.due()
        if self._run is not None and self._run.rhythm is not Rhythm.MACRO:
            # A light decision: none is taken here.
            self._schedule.finished(self._run)
            self._run = None
        return self._run is not None

    def decided(self, proposal: Proposal) -> None:
        """A whole decision is over."""
        if self._schedule is None or self._run is None:
            raise ModelError("a decision was taken that was not due; ask due() first")
        self._gauge.decided(is_idle=not (proposal.moves or proposal.sleep or proposal.wake))
        self._tell(self._schedule)
        self._schedule.finished(self._run)
        self._run = None

    def _tell(self, schedule: Schedule) -> None:
        if self._gauge.volatility is not None:
            schedule.see_volatility(self._gauge.volatility)

    def _pressure(self, view: ClusterView) -> dict[str, float]:
        """Pressure of each node that is on, as the service reckons it."""
        shares = (view.used / view.fleet.capacity / self._marks).max(axis=0)
        nodes = view.fleet.cluster.nodes
        return {nodes[n].id: float(shares[n]) for n in np.flatnonzero(view.on).tolist()}
