"""A day of chaos from its first tick to its last: the service on a simulated cluster, and all that befalls it.

The cluster and the store outlive whoever manages them. At the end nothing goes wrong for an hour; what is not in order
by then never will be.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from fogfold.adapters.simulated.chaos.life import Life, MortalClock, was_killed
from fogfold.adapters.simulated.chaos.settings import ChaosSettings, Trouble
from fogfold.adapters.simulated.chaos.slot import Instance, Slot
from fogfold.adapters.simulated.chaos.trouble import Plane, befall
from fogfold.adapters.simulated.chaos.unreliable import SetClock, Unreliable
from fogfold.adapters.simulated.chaos.witness import Eye, Witness
from fogfold.adapters.simulated.clocks import SimulatedClock, start_of
from fogfold.adapters.simulated.cluster import SimulatedCluster
from fogfold.adapters.simulated.holding import Holding
from fogfold.adapters.simulated.orchestrator import SimulatedOrchestrator
from fogfold.adapters.simulated.power import SimulatedPower
from fogfold.adapters.simulated.readings import SimulatedCollector
from fogfold.control.deciding import Decider
from fogfold.control.loop import Loop, LoopSettings, Mode
from fogfold.control.means import Means
from fogfold.control.watch import Watch
from fogfold.model.identity import ContainerId
from fogfold.policy.base import Policy
from fogfold.seeding import stream
from fogfold.units import HOUR_S, TICK_S
from fogfold.world.rows import Total
from fogfold.world.scenario.build import BuiltScenario

__all__ = ["ChaosReport", "ChaosRow", "Stores", "play_chaos"]

Stores = Callable[[], AbstractAsyncContextManager[Any]]
"""Opens the one store of the day once more, as each instance does."""


@dataclass(frozen=True, slots=True)
class ChaosRow:
    """The figures of one day."""

    kills: int
    moves: int
    """Moves that were begun."""
    failed_moves: int
    """Those of them of which at least one attempt failed."""
    undone: int
    """Those of them that ended at their source."""
    lost: int
    """Containers that run nowhere at the end."""
    doubled: int
    """Containers that ran, or were being moved, twice at once, at any time."""
    locked: int
    """Moves, marks, nodes and room that are still held at the end."""
    safe_share: float | None
    """Share of the moves begun that ended with the container running where the store says; None where none was."""
    hours: float

    def as_json(self) -> dict[str, Any]:
        """The row as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class ChaosReport:
    """What a day came to."""

    row: ChaosRow
    nowhere: tuple[ContainerId, ...] = ()
    locked: tuple[str, ...] = ()
    unsafe: tuple[str, ...] = ()
    """Keys of moves that did not end well."""
    broken: tuple[str, ...] = ()
    """What must never be and was, a sentence each."""
    crashes: tuple[str, ...] = ()
    """Instances that ended by an error of their own."""
    deaths: dict[str, int] = field(default_factory=dict)
    """How often it died where."""
    befell: dict[str, int] = field(default_factory=dict)
    """What else befell it, and how often."""
    world: dict[str, float] = field(default_factory=dict)
    """Figures of the world: node losses, sleeps, wakes, restarts."""

    @property
    def is_good(self) -> bool:
        """Whether nobody was lost or doubled, nothing is locked, and nothing happened that must never happen."""
        row = self.row
        return not (row.lost or row.doubled or row.locked or self.broken or self.crashes)


async def play_chaos(
    built: BuiltScenario,
    settings: ChaosSettings,
    policy: Callable[[np.random.Generator], Policy],
    stores: Stores,
    *,
    on_kill: Callable[[], None] = lambda: None,
) -> ChaosReport:
    """Play one day.

    Args:
        built: the scenario, at least as long as the day.
        settings: what goes wrong.
        policy: a new policy for each instance, with chance of its own.
        stores: opens the store.
        on_kill: called at each kill.
    """
    asyncio.get_running_loop().set_exception_handler(_quiet_about_the_dead)
    return await _Day(built, settings, policy, stores, on_kill).play()


class _Day:
    """One day on its way."""

    def __init__(
        self,
        built: BuiltScenario,
        settings: ChaosSettings,
        policy: Callable[[np.random.Generator], Policy],
        stores: Stores,
        on_kill: Callable[[], None],
    ) -> None:
        self._settings, self._policy, self._stores, self._on_kill = settings, policy, stores, on_kill
        self._seed = built.seed
        self._clock = SimulatedClock(start_of(built), lasts_s=settings.hours * HOUR_S)
        self._calm_at_s = settings.hours * HOUR_S - settings.calm_s
        cluster = SimulatedCluster(_calm_at_the_end(built, self._calm_at_s), self._clock)
        self._eye = Eye(cluster)
        wall = SetClock(self._clock)
        answers = settings.lost_answers if Trouble.ANSWERS in settings.troubles else 0.0

        def unreliable(port: Any, name: str) -> Unreliable:
            return Unreliable(port, self._clock, self._rng("answers", name), lost_answers=answers)

        self._orchestrator = SimulatedOrchestrator(
            cluster, self._rng("orchestrator"), move_failure=settings.move_failure
        )
        collector = SimulatedCollector(cluster, wall)
        self._plane = Plane(
            clock=self._clock,
            wall=wall,
            cluster=cluster,
            eye=self._eye,
            collector=collector,
            reads=Unreliable(collector, self._clock, self._rng("answers", "collector")),
            orchestrator=unreliable(self._orchestrator, "orchestrator"),
            power=unreliable(SimulatedPower(cluster), "power"),
            store_rng=self._rng("answers", "store"),
            store_lost_answers=answers,
        )
        count = 2 if Trouble.RIVAL in settings.troubles else 1
        self._slots = [
            Slot(self._maker(number), self._clock, self._rng("restart", number), settings.restart_s)
            for number in range(count)
        ]
        self._born = 0

    def _rng(self, *names: str | int) -> np.random.Generator:
        return stream(self._seed, "chaos", *names)

    async def play(self) -> ChaosReport:
        """All of it."""
        tasks: list[asyncio.Future[None]] = [asyncio.ensure_future(slot.go_on()) for slot in self._slots]
        tasks += [asyncio.ensure_future(self._look()), asyncio.ensure_future(self._kill()), self._calm_down()]
        tasks += befall(self._plane, self._slots, self._settings, self._rng, until_s=self._calm_at_s)
        over = asyncio.ensure_future(self._clock.ended())
        try:
            waiting = {over, *tasks}
            while not over.done():
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            return await self._report()
        finally:
            for slot in self._slots:
                slot.kill()
            for task in (over, *tasks):
                task.cancel()
            await asyncio.gather(over, *tasks, return_exceptions=True)

    def _maker(self, slot: int) -> Callable[[], Any]:
        async def make() -> Instance:
            return await self._make(slot)

        return make

    async def _make(self, slot: int) -> Instance:
        plane, number = self._plane, self._born
        self._born += 1
        opening = self._stores()
        with self._clock.held():
            opened = await opening.__aenter__()
        store = Unreliable(
            Witness(Holding(opened, self._clock), self._eye),
            self._clock,
            plane.store_rng,
            lost_answers=plane.store_lost_answers,
        )
        if plane.store_gone_for_s > 0.0:
            store.go(plane.store_gone_for_s)
        plane.stores[slot] = store
        life = Life(self._clock)
        clock = MortalClock(plane.wall, life)
        watch = Watch(life.wrap(plane.reads), clock)
        means = Means(
            life.wrap(plane.orchestrator),
            life.wrap(plane.power),
            life.wrap(store),
            clock,
            watch,
            self._rng("executor", number),
        )
        limits = self._settings.limits
        settings = LoopSettings(f"instance-{number}", Mode.AUTOMATIC)
        if limits.power is not None:
            settings = replace(settings, evidence=limits.power.evidence)

        async def bury() -> None:
            with self._clock.held():
                await opening.__aexit__(None, None, None)

        return Instance(
            Loop(means, watch, Decider(self._policy(self._rng("policy", number)), limits), settings), life, bury
        )

    async def _kill(self) -> None:
        """Kill at random instants: at once, or a little later at a point of all calls, or of those that act."""
        rng = self._rng("kills")
        at_s = np.sort(rng.uniform(0.0, self._calm_at_s, self._settings.kills))
        for when_s in at_s.tolist():
            await self._clock.sleep(when_s - self._clock.monotonic_s())
            slot = self._one_of(rng)
            await self._make_good(slot)
            match int(rng.integers(3)):
                case 0:
                    slot.doom(0, of_acts=False)
                    slot.kill()
                case 1:
                    slot.doom(int(rng.integers(60)), of_acts=False)
                case _:
                    slot.doom(int(rng.integers(60)), of_acts=True)
            self._on_kill()
        for slot in self._slots:
            await self._make_good(slot)

    async def _make_good(self, slot: Slot) -> None:
        """Have a kill that was ordered and has not hit hit now."""
        while slot.is_doomed:
            slot.kill()
            await self._clock.sleep(1.0)

    def _one_of(self, rng: np.random.Generator) -> Slot:
        """Mostly the one that holds the lease."""
        holds = [s for s in self._slots if s.instance is not None and s.instance.loop.status().holds_lease]
        if holds and rng.random() < 0.8:
            return holds[0]
        return self._slots[int(rng.integers(len(self._slots)))]

    async def _look(self) -> None:
        while True:
            self._eye.look()
            await self._clock.sleep(TICK_S)

    def _calm_down(self) -> asyncio.Future[None]:
        async def calm() -> None:
            await self._clock.sleep(self._calm_at_s)
            self._plane.calm_down()
            self._orchestrator.move_failure = 0.0
            await self._clock.sleep(self._settings.calm_s / 2.0)
            for slot in self._slots:
                slot.change(_begin_nothing)

        return asyncio.ensure_future(calm())

    async def _report(self) -> ChaosReport:
        self._eye.look()
        seen, nowhere = self._eye.seen, self._eye.nowhere()
        async with self._stores() as store:
            await self._eye.settle(store)
            locked = await self._eye.locked(store)
        total = self._plane.cluster.total()
        deaths = [where for slot in self._slots for where in slot.deaths]
        begun = len(seen.begun)
        row = ChaosRow(
            kills=len(deaths),
            moves=begun,
            failed_moves=len(seen.failed),
            undone=len(seen.undone),
            lost=len(nowhere),
            doubled=len(seen.doubled),
            locked=len(locked),
            safe_share=len(seen.safe) / begun if begun else None,
            hours=self._settings.hours,
        )
        return ChaosReport(
            row,
            nowhere,
            locked,
            tuple(sorted(seen.begun - seen.safe)),
            tuple(seen.broken),
            tuple(crash for slot in self._slots for crash in slot.crashes),
            dict(Counter(deaths).most_common()),
            dict(sorted(self._plane.befell.items())),
            {
                name.name.lower(): float(total[name])
                for name in (Total.NODE_LOSSES, Total.SLEEPS, Total.WAKES, Total.RESTARTS, Total.MOVES_STARTED)
            },
        )


def _begin_nothing(loop: Loop) -> None:
    loop.mode = Mode.RECOMMEND


def _calm_at_the_end(built: BuiltScenario, calm_at_s: float) -> BuiltScenario:
    """The scenario without the faults that it has in store for the calm."""
    faults = built.faults
    keep = faults.tick < calm_at_s / TICK_S
    return replace(
        built,
        faults=replace(
            faults,
            tick=faults.tick[keep],
            kind=faults.kind[keep],
            target=faults.target[keep],
            ticks=faults.ticks[keep],
            magnitude=faults.magnitude[keep],
        ),
    )


def _quiet_about_the_dead(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What the dead leave behind is no error of anybody's."""
    if not was_killed(context.get("exception")):
        loop.default_exception_handler(context)
