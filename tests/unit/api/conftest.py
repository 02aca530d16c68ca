"""A loop on a simulated cluster with its API, played in memory; what the tests of the API share."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from fogfold.adapters.simulated.clocks import MONDAY_S, SimulatedClock, start_of
from fogfold.adapters.simulated.cluster import SimulatedCluster
from fogfold.adapters.simulated.orchestrator import SimulatedOrchestrator
from fogfold.adapters.simulated.power import SimulatedPower
from fogfold.adapters.simulated.readings import SimulatedCollector
from fogfold.api.access import Access, Role, Token
from fogfold.api.app import create_app
from fogfold.api.metrics import Metrics
from fogfold.api.recent import Recent
from fogfold.api.stream import Stream
from fogfold.control.deciding import Decider, Limits
from fogfold.control.loop import Loop, LoopSettings, Mode
from fogfold.control.means import Means
from fogfold.control.watch import Watch
from fogfold.policy.registry import policy
from fogfold.seeding import stream
from fogfold.testing.memory_store import MemoryStore
from fogfold.world.scenario.build import BuiltScenario, build
from fogfold.world.scenario.load import load_scenario

TOKENS = {"read": "r" * 20, "approve": "a" * 20, "admin": "z" * 20}
ACCESS = Access([Token(f"the {role}", Role[role.upper()], secret) for role, secret in TOKENS.items()])


class Served:
    """A loop on a simulated cluster, and its API."""

    def __init__(
        self,
        built: BuiltScenario,
        *,
        mode: Mode = Mode.AUTOMATIC,
        limits: Limits | None = None,
        access: Access | None = None,
        hours: float = 6.0,
        events: Stream | None = None,
    ) -> None:
        self.clock = SimulatedClock(start_of(built), lasts_s=hours * 3600.0)
        self.cluster = SimulatedCluster(built, self.clock)
        self.store = MemoryStore()
        self.stream, self.metrics, self.recent = events or Stream(heartbeat_s=60.0), Metrics(), Recent()
        self.written: list[tuple[str, int, Mapping[str, Any]]] = []
        self.power = SimulatedPower(self.cluster)
        watch = Watch(SimulatedCollector(self.cluster, self.clock), self.clock)
        orchestrator = SimulatedOrchestrator(self.cluster, stream(0, "orchestrator"))
        means = Means(orchestrator, self.power, self.store, self.clock, watch, stream(0, "executor"))
        decider = Decider(policy("drain-relief"), limits or Limits.none(week_began_s=MONDAY_S))
        self.loop = Loop(means, watch, decider, LoopSettings("one", mode), on_change=self.on_change)
        self.app = create_app(
            self.loop,
            self.store,
            access=access,
            stream=self.stream,
            metrics=self.metrics,
            recent=self.recent,
        )

    def on_change(self, kind: str, number: int, value: Mapping[str, Any]) -> None:
        self.written.append((kind, number, value))
        self.recent.note(kind, number, value)
        self.metrics.count(kind, value)
        self.stream.publish(kind, number, value)

    async def play(self) -> None:
        """Let time pass until the clock stands still, then end all that sleeps."""
        running = asyncio.create_task(self.loop.run())
        over = asyncio.create_task(self.clock.ended())
        await asyncio.wait([running, over], return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        for _ in range(2):
            running.cancel()
            await asyncio.sleep(0)
        await asyncio.gather(running, return_exceptions=True)


def a_city(hours: float = 6.0) -> BuiltScenario:
    """The smallest city."""
    return build(load_scenario("city-20"), 0, hours=hours)


def bearer(role: str) -> dict[str, str]:
    """The header that bears the token of that role; any other word is a token itself."""
    return {"Authorization": f"Bearer {TOKENS.get(role, role)}"}


@pytest.fixture(scope="session")
def kit() -> SimpleNamespace:
    """What makes a service with its API, and asks it."""
    return SimpleNamespace(Served=Served, a_city=a_city, bearer=bearer, access=ACCESS, tokens=TOKENS)


@pytest.fixture(scope="session")
def played() -> Served:
    """Two hours under automatic, with tokens; to be looked at only."""
    served = Served(a_city(2.0), access=ACCESS, hours=2.0)
    asyncio.run(served.play())
    return served
