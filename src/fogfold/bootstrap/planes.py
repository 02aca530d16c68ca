"""Data planes by their settings: what is operated, and by whose time.

A simulated plane begins anew with each start of the service, on the weekday and at the hour of its scenario, in the
first week after all that its journal tells of: there is no going back in time, and no lease of a life before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from fogfold.adapters.simulated.apart import CourseApart
from fogfold.adapters.simulated.clocks import MONDAY_S, Pace, PacedClock, SimulatedClock, start_of
from fogfold.adapters.simulated.cluster import SimulatedCluster
from fogfold.adapters.simulated.orchestrator import SimulatedOrchestrator
from fogfold.adapters.simulated.power import SimulatedPower
from fogfold.adapters.simulated.readings import SimulatedCollector
from fogfold.bootstrap.clock import MachineClock
from fogfold.bootstrap.settings import SimulatedPlanePart
from fogfold.control.ports import Clock, Collector, Orchestrator, Power
from fogfold.seeding import stream
from fogfold.units import HOUR_S, TICK_S, WEEK_S
from fogfold.world.scenario.build import BuiltScenario, build
from fogfold.world.scenario.load import load_scenario

__all__ = ["Plane", "PlaneMaker", "jumping_plane", "simulated_plane"]

_HELD_UP_S = 30.0
"""How long a busy machine may hold up a process, in seconds of the machine."""


@dataclass(frozen=True)
class Plane:
    """What is operated, and by whose time."""

    clock: Clock
    collector: Collector
    orchestrator: Orchestrator
    power: Power
    week_began_s: float
    """A Monday 00:00 from which policies count their time, in seconds since the epoch."""
    least_lease_s: float
    """A lease must outlast what a process may be held up by, in seconds of that time."""
    ended: Callable[[], Coroutine[Any, Any, None]] | None
    """Returns once there is nothing to operate any more; None where that never comes."""
    simulated: SimulatedCluster | None = None
    """The cluster itself, where it is simulated."""


class PlaneMaker(Protocol):
    """Makes a plane from its settings, as `simulated_plane` does."""

    def __call__(self, settings: SimulatedPlanePart, /, *, last_entry_s: float | None) -> Plane:
        """The plane, beginning after the newest entry of the journal."""
        ...


def simulated_plane(settings: SimulatedPlanePart, *, last_entry_s: float | None) -> Plane:
    """A simulated cluster that begins now.

    Args:
        settings: which, and how fast.
        last_entry_s: time of the newest entry of the journal, in seconds since the epoch; None where there is none.

    Raises:
        ScenarioError, UnknownNameError, TraceError: as `world.scenario`.
    """
    built = build(load_scenario(settings.scenario), settings.seed, hours=settings.hours)
    if settings.speed == "max":
        return jumping_plane(built, last_entry_s=last_entry_s)
    weeks, lasts_s = _weeks(built, last_entry_s), built.ticks * TICK_S
    clock = PacedClock(MachineClock(), settings.speed, start_of(built) + weeks * WEEK_S)
    return _plane(built, clock, weeks, _HELD_UP_S * settings.speed, lambda: clock.sleep(lasts_s))


def jumping_plane(
    built: BuiltScenario,
    *,
    last_entry_s: float | None,
    pace: Pace | None = None,
    course: CourseApart | None = None,
) -> Plane:
    """A simulated cluster that begins now, whose time waits for whoever has something to do.

    Args:
        built: the scenario's inputs under a seed.
        last_entry_s: as for `simulated_plane`.
        pace: how fast time may go at most; None for as fast as it can be computed.
        course: its world, where another process plays it.
    """
    weeks = _weeks(built, last_entry_s)
    clock = SimulatedClock(start_of(built) + weeks * WEEK_S, lasts_s=built.ticks * TICK_S, pace=pace)
    return _plane(built, clock, weeks, 0.0, clock.ended, course)


def _plane(
    built: BuiltScenario,
    clock: Clock,
    weeks: int,
    least_lease_s: float,
    ended: Callable[[], Coroutine[Any, Any, None]],
    course: CourseApart | None = None,
) -> Plane:
    cluster = SimulatedCluster(built, clock, course)
    return Plane(
        clock,
        SimulatedCollector(cluster, clock),
        SimulatedOrchestrator(cluster, stream(built.seed, "orchestrator")),
        SimulatedPower(cluster),
        MONDAY_S + weeks * WEEK_S,
        least_lease_s,
        ended,
        cluster,
    )


def _weeks(built: BuiltScenario, last_entry_s: float | None) -> int:
    """Weeks after `MONDAY_S` in which it begins."""
    if last_entry_s is None:
        return 0
    return max(0, math.ceil((last_entry_s + HOUR_S - start_of(built)) / WEEK_S))
