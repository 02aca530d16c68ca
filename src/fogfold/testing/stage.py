"""A small cluster with everything that acts on it, all fake, on a clock that jumps: where a plan is played out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from fogfold.control.means import Means
from fogfold.control.node_power import PowerState
from fogfold.control.ports import Capabilities, Lease
from fogfold.control.readings import ContainerReading, NodeReading, Readings
from fogfold.control.switching import POWER_KIND, record_of_kept
from fogfold.errors import InvariantError
from fogfold.model.cluster import Cluster
from fogfold.model.identity import NodeId
from fogfold.model.resources import Resources
from fogfold.seeding import stream
from fogfold.testing.clock import FakeClock
from fogfold.testing.fakes import LIVE, FakeEyes, FakeOrchestrator, FakePower
from fogfold.testing.kill import Fuse
from fogfold.testing.memory_store import MemoryStore

__all__ = ["Stage", "StageReads"]

_T = TypeVar("_T")


class Stage:
    """A cluster, its fakes, a store and a clock.

    Args:
        cluster: what there is.
        placement: where each container runs at first.
        capabilities: what the orchestrator can do.
        asleep: nodes that are off at first.
    """

    def __init__(
        self,
        cluster: Cluster,
        placement: Mapping[str, str],
        *,
        capabilities: Capabilities = LIVE,
        asleep: tuple[str, ...] = (),
    ) -> None:
        self.clock = FakeClock()
        self.cluster = cluster
        self.store = MemoryStore()
        self.orchestrator = FakeOrchestrator(self.clock, placement, capabilities)
        self.power = FakePower(self.clock, self.orchestrator, asleep=asleep)
        self.eyes = FakeEyes(cluster, self.orchestrator, self.power, self.clock)

    def means(self, fuse: Fuse | None = None) -> Means:
        """What one acts with; through a fuse where one is given."""
        fuse = fuse or Fuse()
        return Means(
            fuse.wrap(self.orchestrator),
            fuse.wrap(self.power),
            fuse.wrap(self.store),
            self.clock,
            fuse.wrap(self.eyes),
            stream(7, "executor"),
        )

    async def lease(self, holder: str = "first") -> Lease:
        """The right to act.

        Raises:
            InvariantError: if another holds it.
        """
        lease = await self.store.acquire(holder, for_s=60.0, now_s=self.clock.now_s())
        if lease is None:
            raise InvariantError(f"{holder!r} cannot have the lease, since another holds it; let time pass first")
        return lease

    async def play(self, acting: Coroutine[Any, Any, _T], *, for_s: float = 6 * 3600.0) -> _T:
        """What comes of it, time passing as it is waited for.

        Raises:
            InvariantError: if it has not ended in that time.
        """
        task = asyncio.ensure_future(acting)
        end_s = self.clock.monotonic_s() + for_s
        while not task.done():
            if self.clock.monotonic_s() >= end_s:
                task.cancel()
                raise InvariantError(f"it has not ended after {for_s:g} s")
            await self.clock.run(5.0)
        return task.result()

    async def faults(self) -> list[str]:
        """What is not as it must be when nobody acts any more: one sentence each, none where all is well."""
        out = [
            f"{container} runs on {sorted(nodes)}"
            for container, nodes in self.orchestrator.runs.items()
            if len(nodes) != 1
        ]
        out += [f"room is held on {node} for {key}" for key, node in self.orchestrator.held.items()]
        out += [f"{row.key} is still {row.state.name}" for row in await self.store.open_migrations()]
        kept = await self.store.kept(POWER_KIND)
        states = {NodeId(name): record_of_kept(NodeId(name), value).state for name, value in kept.items()}
        for node in (node.id for node in self.cluster.nodes):
            state = states.get(node, PowerState.OFF if self.power.is_off(node) else PowerState.ON)
            # Given up is a state to be in, as long as the node does not answer.
            given_up = state in {PowerState.WAKE_FAILED, PowerState.LOST} and not self.power.answers(node)
            if state not in {PowerState.ON, PowerState.OFF} and not given_up:
                out.append(f"{node} is left {state.name}")
            if not given_up and (state is PowerState.OFF) is not self.power.is_off(node):
                out.append(f"{node} is kept as {state.name}, which it is not")
            if node in self.orchestrator.nodes_marked and state is PowerState.ON:
                out.append(f"{node} still bears a mark")
        out += [f"{node} was cut with {sorted(who)} on it" for node, who in self.power.cut.items() if who]
        return out


class StageReads:
    """A collector of a stage on which all containers use the same.

    Args:
        stage: what is read.
        cores: what each uses, by the seconds since the clock's start; None where none is measured.
    """

    def __init__(self, stage: Stage, cores: Callable[[float], float | None]) -> None:
        self._stage, self._cores = stage, cores

    async def read(self) -> Readings:
        """The cluster as it stands, read this moment."""
        snapshot, now_s = await self._stage.eyes.snapshot(), self._stage.clock.now_s()
        cores = self._cores(self._stage.clock.monotonic_s())
        measured = () if cores is None else snapshot.placement
        return Readings(
            snapshot.cluster,
            now_s,
            snapshot.states,
            snapshot.placement,
            snapshot.targets,
            nodes={node.id: NodeReading(now_s) for node in snapshot.cluster.nodes},
            containers={
                container: ContainerReading(now_s, Resources(cores or 0.0, 1e8, 0.0, 0.0)) for container in measured
            },
        )
