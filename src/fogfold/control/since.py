"""What was done since a snapshot was taken, laid over it: a plan's own acts are known before anybody reads them back.

A snapshot is up to minutes old. Without this, two moves would be judged to fit into the same room, and one that has
ended would still be on its way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from fogfold.control.node_power import NODE_STATE
from fogfold.control.orders import MoveOrder
from fogfold.control.power import PowerRecord
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.snapshot import Snapshot

__all__ = ["Since", "taken_s"]


def taken_s(snapshot: Snapshot) -> float:
    """When the readings of a snapshot were made, in seconds since the epoch."""
    return snapshot.time_s - snapshot.age_s


@dataclass
class Since:
    """What one has done, and when."""

    under_way: dict[ContainerId, MoveOrder] = field(default_factory=dict)
    landed: dict[ContainerId, tuple[NodeId, float]] = field(default_factory=dict)
    """Where containers were seen to run, and when."""

    def land(self, container: ContainerId, node: NodeId, at_s: float) -> None:
        """A move is over, and the container was seen to run there."""
        self.under_way.pop(container, None)
        self.landed[container] = (node, at_s)

    def over(self, snapshot: Snapshot, records: Mapping[NodeId, PowerRecord]) -> Snapshot:
        """The snapshot as it would be if it were taken now, as far as one's own acts go.

        Args:
            snapshot: as it was taken; what it says of landings before that is believed.
            records: nodes that one is switching oneself.
        """
        known, nodes = snapshot.cluster.container_index, snapshot.cluster.node_index
        placement, targets = dict(snapshot.placement), dict(snapshot.targets)
        for container, (node, at_s) in self.landed.items():
            if at_s >= taken_s(snapshot) and container in known and node in nodes:
                placement[container] = node
                targets.pop(container, None)
        for container, move in self.under_way.items():
            if container in known:
                targets[container] = move.target
        targets = {container: node for container, node in targets.items() if placement.get(container) != node}
        switched = {node: NODE_STATE[record.state] for node, record in records.items() if node in nodes}
        states = {**snapshot.states, **switched}
        return replace(snapshot, placement=placement, targets=targets, states=states)
