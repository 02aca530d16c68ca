"""What a simulated cluster's collector brings back, and how its readings can fail.

Nodes can be silent, can lag behind, and can lie: each for a while, by name. A collector that answers at all lists
nodes and containers as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt8

from fogfold.adapters.simulated.cluster import SimulatedCluster
from fogfold.compiled import Array
from fogfold.control.failure import PortTimeoutError
from fogfold.control.ports import Clock
from fogfold.control.readings import ContainerReading, NodeReading, Readings
from fogfold.model.identity import ContainerId, ImageId, NodeId
from fogfold.model.node import NodeState
from fogfold.model.resources import Resources
from fogfold.units import TICK_S
from fogfold.world.rows import CI, NI, C, N

__all__ = ["ReadingFault", "SimulatedCollector"]

_READ = (NodeState.ON, NodeState.DRAINING)


@dataclass(frozen=True, slots=True)
class ReadingFault:
    """How a node's readings fail."""

    until_s: float
    """Until when, in seconds since the epoch."""
    is_silent: bool = False
    """No reading at all."""
    lag_s: float = 0.0
    """How much older they are than they should be."""
    factor: float = 1.0
    """What usage and power are multiplied by: 0 is a meter that reads nothing."""


class SimulatedCollector:
    """The `Collector` port of a simulated cluster.

    Args:
        cluster: what is read.
        clock: the time that readings bear.
    """

    def __init__(self, cluster: SimulatedCluster, clock: Clock) -> None:
        self._cluster, self._clock = cluster, clock
        self.faults: dict[NodeId, ReadingFault] = {}
        """Nodes whose readings fail."""
        self.gone_until_s = 0.0
        """Until when nobody answers at all."""
        self._rows: dict[bytes, frozenset[ImageId]] = {}

    async def read(self) -> Readings:
        """What is there and what was measured.

        Raises:
            PortTimeoutError: while nobody answers.
        """
        now_s = self._clock.now_s()
        if now_s < self.gone_until_s:
            raise PortTimeoutError("the simulated cluster does not answer; try again later")
        simulated, cluster = self._cluster, self._cluster.cluster
        state = simulated.state()
        node_int, node_row = state.node_int[0], state.node[0]
        states = [NodeState(s) for s in node_int[NI.STATE].tolist()]
        placed = state.container_int[0, CI.PLACEMENT].tolist()
        going = state.container_int[0, CI.TARGET].tolist()
        amounts = state.container[0, C.USAGE_CPU : C.USAGE_CPU + 4]
        usage = amounts.T.tolist()
        requests_s = (state.container[0, C.ASKED] / TICK_S).tolist()
        power_w = node_row[N.POWER_W].tolist()
        # A machine cannot use more than it has, whatever its containers want.
        used = np.minimum(
            _by_node(amounts, state.container_int[0, CI.PLACEMENT], len(cluster.nodes)), simulated.fleet.capacity
        ).T.tolist()
        faults = {name: fault for name, fault in self.faults.items() if now_s < fault.until_s}
        # Before the first tick nothing has been measured yet.
        is_measured = simulated.tick > 0
        nodes: dict[NodeId, NodeReading] = {}
        for k, thing in enumerate(cluster.nodes):
            fault = faults.get(thing.id, _WELL)
            if states[k] not in _READ or fault.is_silent:
                continue
            c, m, n, d = (fault.factor * amount for amount in used[k])
            nodes[thing.id] = NodeReading(
                now_s - fault.lag_s,
                usage=(c, m, n, d) if is_measured else None,
                power_w=fault.factor * power_w[k] if is_measured else None,
            )
        containers: dict[ContainerId, ContainerReading] = {}
        for k, container in enumerate(cluster.containers):
            where = placed[k]
            if where < 0 or states[where] not in _READ or not is_measured:
                continue
            fault = faults.get(cluster.nodes[where].id, _WELL) if faults else _WELL
            if not fault.is_silent:
                c, m, n, d = usage[k]
                f = fault.factor
                containers[container.id] = ContainerReading(
                    now_s - fault.lag_s, Resources(f * c, f * m, f * n, f * d), requests_s=f * requests_s[k]
                )
        return Readings(
            cluster,
            now_s,
            states={
                node.id: NodeState.DRAINING if node.id in simulated.marks and s is NodeState.ON else s
                for node, s in zip(cluster.nodes, states, strict=True)
            },
            placement={c.id: cluster.nodes[n].id for c, n in zip(cluster.containers, placed, strict=True) if n >= 0},
            targets={c.id: cluster.nodes[n].id for c, n in zip(cluster.containers, going, strict=True) if n >= 0},
            images=self._images(state.image[0]),
            nodes=nodes,
            containers=containers,
        )

    def _images(self, present: UInt8[Array, "nodes images"]) -> dict[NodeId, frozenset[ImageId]]:
        """Which images each node has. Few change between two looks: the sets are made once for each row."""
        cluster = self._cluster.cluster
        sets: dict[bytes, frozenset[ImageId]] = {}
        out: dict[NodeId, frozenset[ImageId]] = {}
        for node, row in zip(cluster.nodes, present, strict=True):
            key = row.tobytes()
            found = self._rows.get(key)
            if found is None:
                found = frozenset(cluster.images[i].id for i in np.flatnonzero(row[: len(cluster.images)]).tolist())
            sets[key] = out[node.id] = found
        self._rows = sets
        return out


def _by_node(
    amounts: Float[Array, "4 containers"], placed: Int[Array, " containers"], nodes: int
) -> Float[Array, "4 nodes"]:
    """Sums over the containers of each node, in the containers' order."""
    here = placed >= 0
    return np.array([np.bincount(placed[here], row[here], minlength=nodes) for row in amounts])


_WELL = ReadingFault(until_s=0.0)
