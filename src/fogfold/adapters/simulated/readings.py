"""What a simulated cluster's collector brings back, and how its readings can fail.

Nodes can be silent, can lag behind, and can lie: each for a while, by name. A collector that answers at all lists
nodes and containers as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from fogfold.adapters.simulated.cluster import SimulatedCluster
from fogfold.control.failure import PortTimeoutError
from fogfold.control.ports import Clock
from fogfold.control.readings import ContainerReading, NodeReading, Readings
from fogfold.model.identity import ContainerId, NodeId
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
        usage = state.container[0, C.USAGE_CPU : C.USAGE_CPU + 4].T.tolist()
        asked = state.container[0, C.ASKED].tolist()
        power_w = node_row[N.POWER_W].tolist()
        capacity = simulated.fleet.capacity.T.tolist()
        used = [[0.0] * 4 for _ in cluster.nodes]
        for node, amounts in zip(placed, usage, strict=True):
            if node >= 0:
                for r, amount in enumerate(amounts):
                    used[node][r] += amount
        faults = {name: fault for name, fault in self.faults.items() if now_s < fault.until_s}
        # Before the first tick nothing has been measured yet.
        is_measured = simulated.tick > 0
        nodes: dict[NodeId, NodeReading] = {}
        for k, thing in enumerate(cluster.nodes):
            fault = faults.get(thing.id, _WELL)
            if states[k] not in _READ or fault.is_silent:
                continue
            # A machine cannot use more than it has, whatever its containers want.
            c, m, n, d = (fault.factor * min(u, have) for u, have in zip(used[k], capacity[k], strict=True))
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
            fault = faults.get(cluster.nodes[where].id, _WELL)
            if not fault.is_silent:
                amounts = Resources(*(fault.factor * amount for amount in usage[k]))
                containers[container.id] = ContainerReading(
                    now_s - fault.lag_s, amounts, requests_s=fault.factor * asked[k] / TICK_S
                )
        present = state.image[0]
        return Readings(
            cluster,
            now_s,
            states={
                node.id: NodeState.DRAINING if node.id in simulated.marks and s is NodeState.ON else s
                for node, s in zip(cluster.nodes, states, strict=True)
            },
            placement={c.id: cluster.nodes[n].id for c, n in zip(cluster.containers, placed, strict=True) if n >= 0},
            targets={c.id: cluster.nodes[n].id for c, n in zip(cluster.containers, going, strict=True) if n >= 0},
            images={
                node.id: frozenset(image.id for i, image in enumerate(cluster.images) if present[k, i])
                for k, node in enumerate(cluster.nodes)
            },
            nodes=nodes,
            containers=containers,
        )


_WELL = ReadingFault(until_s=0.0)
