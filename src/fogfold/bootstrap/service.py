"""Settings become a service: one list of constructors, in the order in which each needs the other.

Nothing runs yet when it is opened: `Service.run` goes on until it is told to end, or until there is nothing to operate.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from fogfold.adapters.simulated.clocks import SimulatedClock
from fogfold.adapters.simulated.holding import Holding
from fogfold.adapters.storage import schema
from fogfold.adapters.storage.sql_store import SqlStore
from fogfold.api.access import Access
from fogfold.api.app import create_app
from fogfold.api.metrics import Metrics
from fogfold.api.recent import Recent
from fogfold.api.stream import Stream
from fogfold.bootstrap.planes import Plane, PlaneMaker, simulated_plane
from fogfold.bootstrap.settings import ServiceSettings
from fogfold.control.deciding import Decider, Limits
from fogfold.control.load_evidence import EvidenceSettings
from fogfold.control.loop import Loop, LoopSettings
from fogfold.control.means import ExecuteSettings, Means
from fogfold.control.recorder import InputsSettings
from fogfold.control.saving import SavingSettings
from fogfold.control.watch import Watch
from fogfold.policy.registry import policy as policy_named
from fogfold.seeding import stream
from fogfold.units import DAY_S

__all__ = ["Service", "open_service"]

_SEED = 0
"""Of what is drawn beside a simulated world: the jitter of waits, the draws of a policy."""


@dataclass(frozen=True)
class Service:
    """A service that is ready to run."""

    settings: ServiceSettings
    plane: Plane
    loop: Loop
    store: SqlStore
    stream: Stream
    metrics: Metrics
    app: FastAPI

    async def run(self, stop: asyncio.Event) -> None:
        """Operate the cluster until it is told to end; what is being carried out comes to its end first.

        A cluster that has come to its own end stands still; it can be looked at until `stop` is set.

        Args:
            stop: set where the service is to end.
        """
        running = asyncio.create_task(self.loop.run())
        over = asyncio.create_task(self.plane.ended()) if self.plane.ended is not None else None
        told = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({running, told} | ({over} if over else set()), return_when=asyncio.FIRST_COMPLETED)
            if over is not None and over.done() and not told.done():
                self.loop.trouble = "the simulated cluster has come to its end; start the service again for another run"
                await _end(running, 0.0 if isinstance(self.plane.clock, SimulatedClock) else self.settings.shutdown_s)
                await told
            self.loop.close()
            await _end(running, self.settings.shutdown_s)
        finally:
            for task in (running, over, told):
                if task is not None:
                    task.cancel()
        if not running.cancelled():
            running.result()


class _TimedLoop(Loop):
    """A loop of which each cycle is timed."""

    on_cycle: Callable[[float], None] = staticmethod(lambda duration_s: None)  # noqa: ARG005

    async def cycle(self) -> None:
        """One look, and what is due after it."""
        began_s = time.perf_counter()
        try:
            await super().cycle()
        finally:
            self.on_cycle(time.perf_counter() - began_s)


async def _end(running: asyncio.Task[None], limit_s: float) -> None:
    """End the loop: it waits for what is being carried out, but no longer than that."""
    # A loop that sleeps is ended at once; one that acts first sees its moves to their end.
    for _ in range(2):
        running.cancel()
        done, _ = await asyncio.wait({running}, timeout=limit_s)
        if done:
            return


Refined = tuple[Limits, LoopSettings]


def _as_they_are(limits: Limits, loop: LoopSettings) -> Refined:
    return limits, loop


@asynccontextmanager
async def open_service(
    settings: ServiceSettings,
    *,
    folder: Path = Path(),
    environment: Mapping[str, str] | None = None,
    plane_of: PlaneMaker = simulated_plane,
    refine: Callable[[Limits, LoopSettings], Refined] = _as_they_are,
) -> AsyncIterator[Service]:
    """The service of these settings; its store is closed at the end of the block.

    Args:
        settings: see `settings.read_settings`.
        folder: where relative paths of tokens start.
        environment: where tokens may be; that of this process where None.
        plane_of: makes the plane.
        refine: gives the limits and the settings of the loop their last touch, beyond what settings files may say.

    Raises:
        FogfoldError: if a scenario, a token or the store is not as it should be.
    """
    found = dict(os.environ) if environment is None else dict(environment)
    access = Access([token.read(folder, found) for token in settings.api.tokens])
    policy = policy_named(settings.policy)
    policy.reset(_SEED)
    with tempfile.TemporaryDirectory(prefix="fogfold-") as temporary:
        url = f"sqlite:///{temporary}/fogfold.db" if settings.store == "memory" else settings.store
        await schema.upgrade(url)
        async with SqlStore(url) as store:
            plane = plane_of(settings.plane, last_entry_s=await _last_entry_s(store))
            limits = _limits(settings, plane)
            limits, loop = refine(limits, _loop_settings(settings, plane, limits))
            yield _wired(settings, plane, store, Decider(policy, limits, seed=_SEED), loop, access)


def _wired(
    settings: ServiceSettings,
    plane: Plane,
    store: SqlStore,
    decider: Decider,
    loop_settings: LoopSettings,
    access: Access,
) -> Service:
    api = settings.api
    events = Stream(most_readers=api.most_readers, heartbeat_s=api.heartbeat_s)
    metrics, recent = Metrics(), Recent()

    def on_change(kind: str, number: int, value: Mapping[str, Any]) -> None:
        recent.note(kind, number, value)
        metrics.count(kind, value)
        events.publish(kind, number, value)

    kept = Holding(store, plane.clock) if isinstance(plane.clock, SimulatedClock) else store
    watch = Watch(plane.collector, plane.clock, settings.limits.reading.made())
    means = Means(plane.orchestrator, plane.power, kept, plane.clock, watch, stream(_SEED, "executor"))
    loop = _TimedLoop(means, watch, decider, loop_settings, on_change=on_change)
    loop.on_cycle = metrics.time_cycle
    app = create_app(loop, store, access=access, stream=events, metrics=metrics, recent=recent)
    return Service(settings, plane, loop, store, events, metrics, app)


def _loop_settings(settings: ServiceSettings, plane: Plane, limits: Limits) -> LoopSettings:
    lease_s = max(settings.lease_s, plane.least_lease_s)
    return LoopSettings(
        holder=f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}",
        mode=settings.mode_of,
        collect_s=settings.collect_s,
        lease_s=lease_s,
        approval_s=settings.approval_s,
        schedule=settings.limits.rhythm.made(),
        evidence=limits.power.evidence if limits.power is not None else EvidenceSettings(),
        execute=ExecuteSettings(caps=limits.plan, lease_s=lease_s),
        inputs=InputsSettings(keep_s=settings.replay_days * DAY_S, most_mib=settings.replay_mib),
        saving=SavingSettings(window_s=settings.outcome_s),
    )


def _limits(settings: ServiceSettings, plane: Plane) -> Limits:
    given = settings.limits
    power = None if given.power is None else given.power.made()
    return Limits(given.guard.made(), given.plan.made(), power, plane.week_began_s)


async def _last_entry_s(store: SqlStore) -> float | None:
    async for entry in store.entries(newest_first=True, limit=1):
        return entry.at_s
    return None
