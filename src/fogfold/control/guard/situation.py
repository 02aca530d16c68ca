"""What the guard judges by: the cluster, how far it can be trusted, what others protect, and what happened before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from fogfold.control.guard.memory import Memory
from fogfold.control.orders import Hold
from fogfold.control.ports import Capabilities
from fogfold.model.container import Container
from fogfold.model.identity import ContainerId, GroupId, NodeId, SiteId
from fogfold.model.node import Node, NodeState
from fogfold.model.snapshot import Snapshot

__all__ = ["Situation"]


@dataclass(frozen=True)
class Situation:
    """Everything that a judgement is made from; the same situation and orders give the same verdict."""

    snapshot: Snapshot
    now_s: float
    """Seconds since the epoch."""
    blind: Mapping[NodeId, str] = field(default_factory=dict)
    """Nodes of which nothing is known, and why."""
    unreachable: frozenset[NodeId] = frozenset()
    """Nodes that should be up and do not answer."""
    cut_off: frozenset[SiteId] = frozenset()
    """Sites whose uplink is lost."""
    container_holds: Mapping[ContainerId, Hold] = field(default_factory=dict)
    """Containers that the orchestrator's own rules protect."""
    node_holds: Mapping[NodeId, Hold] = field(default_factory=dict)
    """Nodes that nothing may be moved from or to."""
    sleep_holds: Mapping[NodeId, Hold] = field(default_factory=dict)
    """Nodes that may not sleep now, by the power rules or the orchestrator's."""
    capabilities: Capabilities = field(default_factory=lambda: Capabilities(live=True, restart=True))
    """What the orchestrator can do."""
    opted_in: frozenset[ContainerId] = frozenset()
    """Containers whose owners accept an interruption although there is no second one."""
    stopped: str = ""
    """Why everything is stopped by hand; empty where it is not."""
    memory: Memory = field(default_factory=Memory)

    @cached_property
    def age_s(self) -> float:
        """How old the snapshot's oldest reading is by now."""
        return self.snapshot.age_s + max(0.0, self.now_s - self.snapshot.time_s)

    @cached_property
    def members(self) -> Mapping[GroupId, tuple[Container, ...]]:
        """The containers of each group, in the cluster's order."""
        found: dict[GroupId, list[Container]] = {group.id: [] for group in self.snapshot.cluster.groups}
        for container in self.snapshot.cluster.containers:
            if container.group is not None:
                found[container.group].append(container)
        return {group: tuple(members) for group, members in found.items()}

    @cached_property
    def should_be_up(self) -> frozenset[NodeId]:
        """Nodes that are on, draining, or have failed."""
        up = (NodeState.ON, NodeState.DRAINING, NodeState.FAILED)
        return frozenset(node for node, state in self.snapshot.states.items() if state in up)

    def node(self, node: NodeId) -> Node:
        """The node of that id."""
        cluster = self.snapshot.cluster
        return cluster.nodes[cluster.node_index[node]]

    def container(self, container: ContainerId) -> Container:
        """The container of that id."""
        cluster = self.snapshot.cluster
        return cluster.containers[cluster.container_index[container]]
