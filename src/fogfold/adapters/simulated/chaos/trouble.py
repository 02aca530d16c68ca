"""What befalls the service on a day of chaos, beside being killed: each kind comes at random times of its own."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from fogfold.adapters.simulated.chaos.settings import ChaosSettings, Trouble
from fogfold.adapters.simulated.chaos.slot import Slot
from fogfold.adapters.simulated.chaos.unreliable import SetClock, Unreliable
from fogfold.adapters.simulated.chaos.witness import Eye
from fogfold.adapters.simulated.clocks import SimulatedClock
from fogfold.adapters.simulated.cluster import SimulatedCluster
from fogfold.adapters.simulated.readings import ReadingFault, SimulatedCollector
from fogfold.units import HOUR_S, MINUTE_S, TICK_S

__all__ = ["Plane", "befall"]

_FOREVER_S = 1e12
"""Reading faults are ended by whoever began them: they are told wall time, which is set back and forth."""

Happening = Callable[[np.random.Generator], Awaitable[None]]


@dataclass
class Plane:
    """All that outlives an instance."""

    clock: SimulatedClock
    wall: SetClock
    cluster: SimulatedCluster
    eye: Eye
    collector: SimulatedCollector
    reads: Unreliable
    """The collector, as it is reached."""
    orchestrator: Unreliable
    power: Unreliable
    store_rng: np.random.Generator
    store_lost_answers: float
    stores: dict[int, Unreliable] = field(default_factory=dict)
    """The store as each slot reaches it."""
    store_back_at_s: float = 0.0
    befell: Counter[str] = field(default_factory=Counter)

    @property
    def store_gone_for_s(self) -> float:
        """How long the store will still be gone; not positive where it is there."""
        return self.store_back_at_s - self.clock.monotonic_s()

    def calm_down(self) -> None:
        """From now on nothing goes wrong; the wall clock stays as it was set last."""
        self.collector.faults.clear()
        self.store_back_at_s = self.store_lost_answers = 0.0
        for port in (self.reads, self.orchestrator, self.power, *self.stores.values()):
            port.come_back()


def befall(
    plane: Plane,
    slots: Sequence[Slot],
    settings: ChaosSettings,
    rng: Callable[..., np.random.Generator],
    *,
    until_s: float,
) -> list[asyncio.Future[None]]:
    """Tasks that let it all happen until that time.

    Args:
        plane: what it happens to.
        slots: where instances run.
        settings: what, and how often.
        rng: a stream by its name.
        until_s: monotonic time.
    """
    happenings = _Happenings(plane, slots, settings)
    rates: dict[Trouble, tuple[tuple[str, float, Happening], ...]] = {
        Trouble.NODES: (("node", settings.node_losses_h, happenings.lose_node),),
        Trouble.READINGS: (
            ("reading", settings.bad_readings_h, happenings.spoil_readings),
            ("collector", settings.outages_h, happenings.lose_collector),
        ),
        Trouble.STORE: (("store", settings.outages_h, happenings.lose_store),),
        Trouble.PORTS: (
            ("orchestrator", settings.outages_h, happenings.lose_orchestrator),
            ("power", settings.outages_h, happenings.lose_power),
        ),
        Trouble.CLOCK: (("clock", settings.clock_jumps_h, happenings.set_clock),),
        Trouble.PAUSES: (("pause", settings.pauses_h, happenings.pause),),
    }
    return [
        asyncio.ensure_future(_at_random(plane.clock, rate_h, happening, rng(name), until_s))
        for trouble in sorted(settings.troubles)
        for name, rate_h, happening in rates.get(trouble, ())
        if rate_h > 0.0
    ]


async def _at_random(
    clock: SimulatedClock, rate_h: float, happening: Happening, rng: np.random.Generator, until_s: float
) -> None:
    """Again and again with gaps that are exponential, counted from the end of the last."""
    while True:
        gap_s = float(rng.exponential(HOUR_S / rate_h))
        if clock.monotonic_s() + gap_s >= until_s:
            return
        await clock.sleep(gap_s)
        await happening(rng)


class _Happenings:
    def __init__(self, plane: Plane, slots: Sequence[Slot], settings: ChaosSettings) -> None:
        self._plane, self._slots, self._settings = plane, slots, settings

    async def lose_node(self, rng: np.random.Generator) -> None:
        """A source or a target in the middle of a move; where none moves for a while, any node."""
        plane = self._plane
        kind = ("source of a move", "target of a move", "node")[int(rng.integers(3))]
        node = int(rng.integers(plane.cluster.fleet.nodes))
        if kind != "node":
            for _ in range(20):
                moves = plane.eye.in_flight
                if moves:
                    source, target = moves[int(rng.integers(len(moves)))]
                    node = source if kind == "source of a move" else target
                    break
                await plane.clock.sleep(TICK_S / 2.0)
            else:
                kind = "node"
        plane.cluster.lose_node(node, float(rng.exponential(self._settings.repair_s)))
        plane.befell[f"{kind} lost"] += 1

    async def spoil_readings(self, rng: np.random.Generator) -> None:
        """One node's readings stop, lag or lie."""
        plane = self._plane
        nodes = plane.cluster.cluster.nodes
        node = nodes[int(rng.integers(len(nodes)))].id
        kind, fault = (
            ("stopped", ReadingFault(_FOREVER_S, is_silent=True)),
            ("lagged", ReadingFault(_FOREVER_S, lag_s=float(rng.uniform(60.0, 900.0)))),
            ("lied", ReadingFault(_FOREVER_S, factor=float(rng.choice([0.0, 0.1, 3.0])))),
        )[int(rng.integers(3))]
        plane.collector.faults[node] = fault
        plane.befell[f"readings {kind}"] += 1
        await plane.clock.sleep(float(rng.uniform(1.0, 15.0)) * MINUTE_S)
        plane.collector.faults.pop(node, None)

    async def lose_collector(self, rng: np.random.Generator) -> None:
        """Nobody can read the cluster."""
        self._lose("collector", self._plane.reads, rng)

    async def lose_orchestrator(self, rng: np.random.Generator) -> None:
        """The orchestrator does not answer."""
        self._lose("orchestrator", self._plane.orchestrator, rng)

    async def lose_power(self, rng: np.random.Generator) -> None:
        """No power driver answers."""
        self._lose("power", self._plane.power, rng)

    async def lose_store(self, rng: np.random.Generator) -> None:
        """The database is locked or gone, for all instances."""
        plane = self._plane
        plane.store_back_at_s = plane.clock.monotonic_s() + self._outage_s(rng)
        for store in plane.stores.values():
            store.go(plane.store_gone_for_s)
        plane.befell["store gone"] += 1

    async def set_clock(self, rng: np.random.Generator) -> None:
        """The wall clock is set back or forth, for good."""
        ahead = bool(rng.random() < 0.5)
        self._plane.wall.ahead_s += self._settings.clock_jump_s * (1.0 if ahead else -1.0)
        self._plane.befell["clock set " + ("forth" if ahead else "back")] += 1

    async def pause(self, rng: np.random.Generator) -> None:
        """An instance stands still."""
        slot = self._slots[int(rng.integers(len(self._slots)))]
        if slot.instance is not None:
            slot.instance.life.stand_still(self._settings.pause_s)
            self._plane.befell["pause"] += 1

    def _lose(self, name: str, port: Unreliable, rng: np.random.Generator) -> None:
        port.go(self._outage_s(rng))
        self._plane.befell[f"{name} gone"] += 1

    def _outage_s(self, rng: np.random.Generator) -> float:
        return self._settings.outage_s * float(rng.uniform(0.5, 1.5))
