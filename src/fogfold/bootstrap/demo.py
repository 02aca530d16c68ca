"""A demonstration: the whole service on a simulated cluster, whose time goes fast and waits for whoever is slow.

It is the service of `fogfold serve`, wired by the same list: it collects, decides, guards, plans, carries out and
writes down. Beside it stands the same day under `hold`, played directly, so that a saving can be told while it grows.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from fogfold.adapters.simulated.clocks import Pace
from fogfold.api.server import Server
from fogfold.bootstrap.clock import MachineClock
from fogfold.bootstrap.planes import Plane, jumping_plane
from fogfold.bootstrap.service import Refined, Service, open_service
from fogfold.bootstrap.settings import ServiceSettings, SimulatedPlanePart
from fogfold.compiled import Array
from fogfold.control.deciding import Limits
from fogfold.control.guard.memory import MemorySettings
from fogfold.control.loop import LoopSettings
from fogfold.control.power import PowerSettings
from fogfold.control.schedule import ScheduleSettings
from fogfold.control.signs import SignSettings
from fogfold.control.switching import SwitchSettings
from fogfold.evaluate.episodes import Episode, run_episode
from fogfold.model.node import NodeState
from fogfold.policy.registry import policy as policy_named
from fogfold.units import HOUR_S, J_PER_KWH, TICK_S
from fogfold.world.rows import Total
from fogfold.world.scenario.build import BuiltScenario, build
from fogfold.world.scenario.schema import Scenario

__all__ = ["Demo", "DemoSettings", "Standing", "bare", "open_demo"]

_LOOK_S = 0.2
"""How often whoever watches is told how things stand, in seconds of the machine."""
_SHUTDOWN_S = 5.0
"""How long moves under way may take to end: at these speeds they last a blink."""
_NEVER_S = 1e9


@dataclass(frozen=True)
class DemoSettings:
    """What is shown."""

    scenario: Scenario
    policy: str = "drain-relief"
    seed: int = 0
    hours: float = 24.0
    store: str = "memory"
    """Where the journal is kept; see `settings.ServiceSettings.store`."""
    is_bare: bool = False
    """Whether guards, rests and rules of power are off: the policy alone, at its own rhythm."""
    speed: float | None = None
    """Seconds of the cluster in one second, at most; None for as fast as it can be computed."""


@dataclass(frozen=True)
class Standing:
    """How a demonstration stands, as of the last look of the loop."""

    now_s: float
    """The cluster's time, in seconds since the epoch."""
    hours: float
    """How long it has been played."""
    asleep: int
    nodes: int
    saved_kwh: float
    """Energy of the same time under hold, less what was used."""
    saved_share: float
    """That over the energy under hold; 0 before the first step is over."""
    moves: int
    next_s: float | None
    """When the next decision is due, as it was last known; None before the first."""
    is_over: bool


class Demo:
    """A demonstration that is ready to run.

    Args:
        service: the service, on a simulated plane.
        built: what it plays.
        settings: what is shown.
        first_entry: number of the last entry that the journal had before.
    """

    def __init__(self, service: Service, built: BuiltScenario, settings: DemoSettings, first_entry: int | None) -> None:
        assert service.plane.simulated is not None  # noqa: S101 - opened by `open_demo`
        self.service, self.built, self.settings = service, built, settings
        self.first_entry = first_entry
        self.cluster = service.plane.simulated
        self._began_s = service.plane.clock.now_s()
        self._hold_j = _energy_j(self.hold())
        self._next_s: float | None = None

    def hold(self, steps: int | None = None) -> Episode:
        """The same time with everything left where it is, played directly.

        Args:
            steps: how many steps; all where None.
        """
        return run_episode(first_steps(self.built, steps), policy_named("hold"))

    def standing(self) -> Standing:
        """How it stands; looking changes nothing."""
        service, clock = self.service, self.service.plane.clock
        sums, _ = self.cluster.steps()
        held_j = float(self._hold_j[: len(sums)].sum())
        saved_j = held_j - float(sums[:, Total.ENERGY_J].sum())
        collected, next_in_s = service.loop.watch.collected, service.loop.status().next_in_s
        if next_in_s is not None:
            self._next_s = clock.now_s() + next_in_s
        states = [] if collected is None else list(collected.snapshot.states.values())
        return Standing(
            now_s=clock.now_s(),
            hours=(clock.now_s() - self._began_s) / HOUR_S,
            asleep=states.count(NodeState.ASLEEP),
            nodes=len(self.built.cluster.nodes),
            saved_kwh=saved_j / J_PER_KWH,
            saved_share=saved_j / held_j if held_j > 0.0 else 0.0,
            moves=round(float(sums[:, Total.MOVES_DONE].sum())),
            next_s=self._next_s,
            is_over=self.cluster.is_over,
        )

    async def play(self, stop: asyncio.Event, watch: Callable[[Standing], None]) -> None:
        """Play it to its end, or until it is told to stop; nobody is answered meanwhile.

        Args:
            stop: set where it is to end before its time.
            watch: told how it stands, a few times a second.
        """
        loop = self.service.loop
        running = asyncio.create_task(loop.run())
        watching = asyncio.create_task(self._tell(watch))
        waiting = [asyncio.create_task(self._ended()), asyncio.create_task(stop.wait())]
        try:
            await asyncio.wait([running, watching, *waiting], return_when=asyncio.FIRST_COMPLETED)
            if watching.done():
                watching.result()
            # Time stands still: what is under way would never come to its end.
            while not running.done():
                running.cancel()
                await asyncio.wait([running], timeout=_LOOK_S)
            if not running.cancelled():
                running.result()
        finally:
            for task in (running, watching, *waiting):
                task.cancel()

    async def serve(
        self,
        listening: socket.socket,
        stop: asyncio.Event,
        watch: Callable[[Standing], None],
        on_end: Callable[[], object],
    ) -> None:
        """Play it, and answer over HTTP until it is told to stop; a day that is over can still be looked at.

        Args:
            listening: where it listens.
            stop: set where it is to end.
            watch: told how it stands, a few times a second.
            on_end: called once when the day is over, where that comes before the stop.
        """
        server, ended = Server(self.service.app, listening), asyncio.Event()
        answering = asyncio.create_task(server.run(ended))
        operating = asyncio.create_task(self.service.run(stop))
        watching = asyncio.create_task(self._tell(watch))
        over = asyncio.create_task(self._ended())
        try:
            tasks = {answering, operating, watching, over}
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if over.done() and not stop.is_set():
                on_end()
                await asyncio.wait(tasks - {over}, return_when=asyncio.FIRST_COMPLETED)
            stop.set()
            await operating
        finally:
            self.service.stream.close()
            ended.set()
            over.cancel()
            watching.cancel()
            await answering

    async def _ended(self) -> None:
        ended = self.service.plane.ended
        assert ended is not None  # noqa: S101 - a simulated plane ends
        await ended()

    async def _tell(self, watch: Callable[[Standing], None]) -> None:
        while True:
            watch(self.standing())
            await asyncio.sleep(_LOOK_S)


@asynccontextmanager
async def open_demo(settings: DemoSettings) -> AsyncIterator[Demo]:
    """The demonstration of these settings; its store is closed at the end of the block.

    Raises:
        FogfoldError: if a scenario, a policy or the store is not as it should be.
    """
    built = build(settings.scenario, settings.seed, hours=settings.hours)
    pace = None if settings.speed is None else Pace(MachineClock(), settings.speed)

    def plane_of(_: SimulatedPlanePart, /, *, last_entry_s: float | None) -> Plane:
        return jumping_plane(built, last_entry_s=last_entry_s, pace=pace)

    service_settings = ServiceSettings(
        plane=SimulatedPlanePart(
            kind="simulated",
            scenario=settings.scenario.name,
            seed=settings.seed,
            hours=settings.hours,
            speed=settings.speed or "max",
        ),
        store=settings.store,
        policy=settings.policy,
        mode="automatic",
        shutdown_s=_SHUTDOWN_S,
    )
    refine = bare if settings.is_bare else _as_served
    async with open_service(service_settings, plane_of=plane_of, refine=refine) as service:
        last = [entry.number async for entry in service.store.entries(newest_first=True, limit=1)]
        yield Demo(service, built, settings, last[0] if last else None)


def bare(limits: Limits, loop: LoopSettings) -> Refined:
    """Limits and rhythm without rates, rests and rules of power: a decision every five minutes, and nothing between.

    What keeps things safe stays: rules of placement, budgets of groups, stale readings. Where no move fails, the day is
    then the day of a policy that is asked directly.
    """
    none = Limits.none(week_began_s=limits.week_began_s)
    step_s, at_once_s = 10 * TICK_S, 1e-3
    return none, replace(
        loop,
        schedule=ScheduleSettings(
            macro_shortest_s=step_s, macro_unknown_s=step_s, macro_longest_s=step_s, micro_s=_NEVER_S
        ),
        signs=SignSettings(surge_factor=_NEVER_S),
        memory=MemorySettings(bounce_s=at_once_s, first_wait_s=at_once_s, longest_wait_s=at_once_s, veto_s=at_once_s),
        execute=replace(
            loop.execute,
            settle_s=0.0,
            caps=none.plan,
            switching=SwitchSettings(power=PowerSettings(rest_s=0.0, settle_s=0.0)),
        ),
    )


def first_steps(built: BuiltScenario, steps: int | None) -> BuiltScenario:
    """The same scenario, over after so many steps; all of it where None."""
    return built if steps is None else replace(built, ticks=steps * built.params.ticks_per_step)


def _as_served(limits: Limits, loop: LoopSettings) -> Refined:
    return limits, loop


def _energy_j(episode: Episode) -> Float[Array, " steps"]:
    series = episode.series
    energy_j: Float[Array, " steps"] = series.power_w * np.diff(series.hour, prepend=0.0) * HOUR_S
    return energy_j
