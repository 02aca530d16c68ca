"""A short day of chaos with a store in memory: how a change to the service is tried against all that can go wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np

from fogfold.adapters.simulated.chaos.day import ChaosReport, play_chaos
from fogfold.adapters.simulated.chaos.restless import Restless
from fogfold.adapters.simulated.chaos.settings import ChaosSettings
from fogfold.policy.base import Policy
from fogfold.policy.registry import policy as policy_named
from fogfold.testing.memory_store import MemoryStore
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario

__all__ = ["chaos_day", "restless"]


def restless(rng: np.random.Generator) -> Policy:
    """A policy under which much is always under way."""
    return Restless(policy_named("drain-relief"), rng)


def chaos_day(
    settings: ChaosSettings,
    seed: int,
    *,
    scenario: str = "city-20",
    nodes: int = 8,
    policy: Callable[[np.random.Generator], Policy] = restless,
    store: Any = None,
) -> ChaosReport:
    """Play a day of chaos to its end.

    Args:
        settings: what goes wrong.
        seed: root of all randomness.
        scenario: the cluster; a city.
        nodes: how many nodes it has instead of its own.
        policy: a new policy for each instance.
        store: the one store of the day, in memory; a new one where None.
    """
    only = MemoryStore() if store is None else store

    @asynccontextmanager
    async def stores() -> AsyncIterator[Any]:
        yield only

    built = build(load_scenario(scenario, {"nodes.edge.count": nodes}), seed, hours=settings.hours)
    return asyncio.run(play_chaos(built, settings, policy, stores))
