"""The newest that is known of a cluster: readings, taken anew where they are too old, and what follows from them.

One collection serves all who ask within a few seconds. It is what the loop decides on, and what the executor sees
while it acts (`eyes.Eyes`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from fogfold.control.collect import Collected, CollectSettings, assemble
from fogfold.control.failure import PortTimeoutError
from fogfold.control.orders import Hold
from fogfold.control.ports import Clock, Collector
from fogfold.control.power import NodeSight
from fogfold.control.readings import Readings
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.node import NodeState
from fogfold.model.snapshot import Snapshot

__all__ = ["Watch"]


class Watch:
    """Collects, and remembers the last collection.

    Args:
        collector: who reads the cluster.
        clock: time.
        settings: what is believed; defaults where None.
        fresh_s: how long a collection is new enough for whoever asks.
        keeps_on: what stands against a node's going off beside what was read.
    """

    def __init__(
        self,
        collector: Collector,
        clock: Clock,
        settings: CollectSettings | None = None,
        *,
        fresh_s: float = 2.0,
        keeps_on: Callable[[NodeId], Hold | None] = lambda node: None,  # noqa: ARG005
    ) -> None:
        self._collector, self._clock = collector, clock
        self.settings = settings or CollectSettings()
        self._fresh_s = fresh_s
        self._keeps_on = keeps_on
        self._lock = asyncio.Lock()
        self._at_s: float | None = None
        self.readings: Readings | None = None
        """The last readings; None before the first."""
        self.collected: Collected | None = None

    async def collect(self) -> tuple[Readings, Collected]:
        """The newest there is; read anew where the last collection is no longer fresh.

        Raises:
            PortTimeoutError: if the cluster does not answer.
        """
        async with self._lock:
            now_s = self._clock.monotonic_s()
            is_fresh = self._at_s is not None and now_s - self._at_s < self._fresh_s
            if self.readings is None or self.collected is None or not is_fresh:
                readings = await self._collector.read()
                self.readings, self.collected = readings, assemble(readings, self._clock.now_s(), self.settings)
                self._at_s = self._clock.monotonic_s()
            return self.readings, self.collected

    async def snapshot(self) -> Snapshot:
        """The cluster as it was last seen. Raises as `collect`."""
        _, collected = await self.collect()
        return collected.snapshot

    def holds(self) -> Mapping[ContainerId, Hold]:
        """Containers that must not be touched by now, and why."""
        return self.readings.container_holds if self.readings is not None else {}

    def keeps_on(self, node: NodeId) -> Hold | None:
        """Why a node may not go off by now; None where nothing stands against it."""
        read = self.readings.sleep_holds.get(node) if self.readings is not None else None
        return read or self._keeps_on(node)

    async def look(self, node: NodeId) -> NodeSight:
        """One node, looked at now; its power is left out. Raises as `collect`."""
        readings, collected = await self.collect()
        snapshot = collected.snapshot
        if node not in snapshot.states:
            raise PortTimeoutError(f"{node} is not among the nodes that were listed; it cannot be looked at")
        answers = snapshot.states[node] in (NodeState.ON, NodeState.DRAINING) and node not in collected.blind
        there = any(where == node for where in (*snapshot.placement.values(), *snapshot.targets.values()))
        # A volume that keeps a node on is a hold of the orchestrator's; without one, none is known to be attached.
        held = node in readings.sleep_holds
        return NodeSight(
            answers, is_empty=not there, volumes=None if held else 0, system_is_ready=True if answers else None
        )
