"""Power of the nodes of a simulated cluster: the `Power` port."""

from __future__ import annotations

from fogfold.adapters.simulated.cluster import SimulatedCluster
from fogfold.control.failure import PortError
from fogfold.control.ports import PowerReading, PowerSight
from fogfold.model.identity import NodeId
from fogfold.model.node import NodeState
from fogfold.world.rows import NI, N

__all__ = ["SimulatedPower"]

_GOES_OFF = (NodeState.ON, NodeState.DRAINING)


class SimulatedPower:
    """The `Power` port of a simulated cluster. Every node is proven: the simulator brings back what it puts off.

    Args:
        cluster: whose nodes are switched.
    """

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster

    def is_proven(self, node: NodeId) -> bool:
        """Whether this node was once seen to go off and to come back."""
        self._cluster.node(node)
        return True

    async def off(self, node: NodeId, key: str) -> None:
        """Order a clean shutdown; one that something runs on, or is on its way to, is refused."""
        del key
        cluster, n = self._cluster, self._cluster.node(node)
        state = cluster.state().node_int[0, :, n]
        if state[NI.STATE] not in _GOES_OFF:
            return
        if state[NI.RUNNING] > 0 or state[NI.ARRIVING] > 0:
            raise PortError(f"{node} is not empty; move what runs there, or is on its way there, first")
        cluster.order_sleep(n)

    async def on(self, node: NodeId, key: str) -> None:
        """Order it on; one that is just shutting down comes up once it is off."""
        del key
        self._cluster.order_wake(self._cluster.node(node))

    async def read(self, node: NodeId) -> PowerSight:
        """What its power is now; a node that has failed cannot be read."""
        cluster, n = self._cluster, self._cluster.node(node)
        state = cluster.state()
        power_w = float(state.node[0, N.POWER_W, n])
        match NodeState(int(state.node_int[0, NI.STATE, n])):
            case NodeState.ASLEEP:
                return PowerSight(PowerReading.OFF, power_w=power_w)
            case NodeState.FAILED:
                return PowerSight(PowerReading.UNKNOWN)
            case _:
                return PowerSight(PowerReading.ON, power_w=power_w)
