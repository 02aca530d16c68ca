"""Who takes room where while moves go on: a ledger that answers the hard rules step by step.

`model.placement.refusal` judges one snapshot and looks at every container each time. A plan asks hundreds of times
about a cluster that changes with each of its own moves, so the sums are kept here. A test holds the two together,
reason by reason.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cached_property

from fogfold.model.cluster import Cluster, Group, Scope
from fogfold.model.container import Container, Movability
from fogfold.model.identity import ContainerId, GroupId, NodeId
from fogfold.model.node import Node, NodeState
from fogfold.model.placement import SLACK, data_distance_km
from fogfold.model.reason import Reason
from fogfold.model.resources import RESOURCE_COUNT
from fogfold.model.snapshot import Snapshot

__all__ = ["Ledger"]

_Amount = tuple[float, float, float, float]


class Ledger:
    """Room taken on each node, as moves are begun and finished on paper.

    Args:
        snapshot: the cluster as it is; moves that are on their way hold room at both ends.
        ceiling: share of each capacity that usage on a target may reach, in ]0, 1].
        states: states of nodes that the orders change before any move (woken, to be emptied).
    """

    def __init__(
        self, snapshot: Snapshot, *, ceiling: float = 1.0, states: Mapping[NodeId, NodeState] | None = None
    ) -> None:
        cluster = snapshot.cluster
        self.cluster: Cluster = cluster
        self.placement: dict[ContainerId, NodeId] = dict(snapshot.placement)
        """Where each container runs."""
        self.targets: dict[ContainerId, NodeId] = dict(snapshot.targets)
        """Where those on the move are going."""
        self.states: dict[NodeId, NodeState] = {**snapshot.states, **(states or {})}
        self._ceiling = ceiling
        self._containers: dict[ContainerId, Container] = {c.id: c for c in cluster.containers}
        self._nodes: dict[NodeId, Node] = {n.id: n for n in cluster.nodes}
        self._measured = snapshot.usage
        self._there: dict[NodeId, set[ContainerId]] = {n.id: set() for n in cluster.nodes}
        for mapping in (self.placement, self.targets):
            for name, node in mapping.items():
                self._there[node].add(name)
        # Plans are about few of many nodes: sums are made once they are asked for.
        self._sums: dict[NodeId, tuple[list[float], list[float]]] = {}
        self._open_domains: dict[tuple[Scope, bool], frozenset[str]] = {}

    def begin(self, container: ContainerId, target: NodeId) -> None:
        """A container sets out: from here on it holds room at both ends."""
        requested, used = self._sums_of(target)
        self.targets[container] = target
        self._there[target].add(container)
        for r, (request, usage) in enumerate(
            zip(self._containers[container].request.as_tuple(), self._usage(container), strict=True)
        ):
            requested[r] += request
            used[r] += usage

    def finish(self, container: ContainerId) -> None:
        """A container has arrived: its source is free of it."""
        target = self.targets.pop(container)
        source = self.placement.get(container)
        self.placement[container] = target
        if source is not None:
            self._there[source].discard(container)
            self._sums.pop(source, None)

    def leave(self, container: ContainerId) -> None:
        """A container is taken off the ledger: it runs nowhere, and holds no room."""
        for mapping in (self.placement, self.targets):
            node = mapping.pop(container, None)
            if node is not None:
                self._there[node].discard(container)
                self._sums.pop(node, None)

    def occupants(self, node: NodeId) -> frozenset[ContainerId]:
        """Containers that take room on a node: those that run there and those on their way there."""
        return frozenset(self._there[node])

    def requested(self, node: NodeId) -> tuple[float, ...]:
        """Requests of all that take room on a node, in the order of `Resource`."""
        return tuple(self._sums_of(node)[0])

    def refusal(self, container_id: ContainerId, node_id: NodeId) -> Reason:
        """The first rule that keeps a container from a node now, or `Reason.NONE`; ordered as in `model.placement`."""
        container, node = self._containers[container_id], self._nodes[node_id]
        source = self.placement.get(container_id)
        if container_id in self.targets:
            return Reason.IN_FLIGHT
        if source == node_id:
            return Reason.SAME_NODE
        if source is not None and container.movability is Movability.NEVER:
            return Reason.NEVER_MOVES
        if self.states[node_id] not in (NodeState.ON, NodeState.WAKING):
            return Reason.NODE_NOT_READY
        if node.architecture not in container.architectures:
            return Reason.ARCHITECTURE
        if not self._has_accelerator(container, node):
            return Reason.ACCELERATOR
        if container.pinned_to is not None and container.pinned_to != node_id:
            return Reason.PINNED
        if data_distance_km(self.cluster, container, node) > container.data_distance_km * (1 + SLACK):
            return Reason.DATA_DISTANCE
        reason = self._room(container, node)
        return reason if reason is not Reason.NONE else self._group(container, node)

    @cached_property
    def _members(self) -> Mapping[GroupId, list[ContainerId]]:
        members: dict[GroupId, list[ContainerId]] = defaultdict(list)
        for container in self.cluster.containers:
            if container.group is not None:
                members[container.group].append(container.id)
        return members

    def _usage(self, name: ContainerId) -> _Amount:
        """What a container is measured to use; its request where that is not known."""
        measured = self._measured.get(name)
        return self._containers[name].request.as_tuple() if measured is None else measured.as_tuple()

    def _sums_of(self, node: NodeId) -> tuple[list[float], list[float]]:
        """Requests and usage on a node, in the order of `Resource`."""
        found = self._sums.get(node)
        if found is None:
            # Summed anew, in one order, whenever somebody has left: no remainders of subtraction are left behind.
            requested, used = [0.0] * RESOURCE_COUNT, [0.0] * RESOURCE_COUNT
            for name in sorted(self._there[node]):
                request, usage = self._containers[name].request.as_tuple(), self._usage(name)
                for r in range(RESOURCE_COUNT):
                    requested[r] += request[r]
                    used[r] += usage[r]
            found = self._sums[node] = (requested, used)
        return found

    def _has_accelerator(self, container: Container, node: Node) -> bool:
        need = container.accelerator
        if need is None:
            return True
        if node.accelerator is None or node.accelerator.kind != need.kind:
            return False
        taken = 0
        for name in self._there[node.id]:
            other = self._containers[name].accelerator
            if other is not None and name != container.id:
                taken += other.count
        return taken + need.count <= node.accelerator.count

    def _room(self, container: Container, node: Node) -> Reason:
        capacity = node.capacity.as_tuple()
        request, usage = container.request.as_tuple(), self._usage(container.id)
        requested, used = self._sums_of(node.id)
        if any(requested[r] + request[r] > capacity[r] * (1 + SLACK) for r in range(RESOURCE_COUNT)):
            return Reason.NO_ROOM
        if any(used[r] + usage[r] > self._ceiling * capacity[r] * (1 + SLACK) for r in range(RESOURCE_COUNT)):
            return Reason.NODE_HOT
        return Reason.NONE

    def _group(self, container: Container, node: Node) -> Reason:
        if container.group is None:
            return Reason.NONE
        group = self.cluster.groups[self.cluster.group_index[container.group]]
        others = [name for name in self._members[container.group] if name != container.id]
        if container.id in self.placement:
            missing = sum(name in self.targets or name not in self.placement for name in others)
            if missing >= group.may_be_missing:
                return Reason.GROUP_BUDGET
        final = {
            name: where for name in others if (where := self.targets.get(name, self.placement.get(name))) is not None
        }
        if group.anti_affinity is not Scope.NONE:
            mine = self._domain(node.id, group.anti_affinity)
            stood = [self.placement[name] for name in others if name in self.targets and name in self.placement]
            if any(self._domain(where, group.anti_affinity) == mine for where in (*final.values(), *stood)):
                return Reason.ANTI_AFFINITY
        if group.spread is not Scope.NONE and not self._spread_holds(final, node, group):
            return Reason.SPREAD
        return Reason.NONE

    def _domain(self, node: NodeId, scope: Scope) -> str:
        return node if scope is Scope.NODE else self._nodes[node].site

    def _spread_holds(self, final: Mapping[ContainerId, NodeId], node: Node, group: Group) -> bool:
        counts = Counter(self._domain(where, group.spread) for where in final.values())
        domains = self._domains(group.spread, ghosts_count=group.ghosts_count)
        lowest = min((counts[domain] for domain in domains), default=0)
        return counts[self._domain(node.id, group.spread)] + 1 - lowest <= group.max_skew

    def _domains(self, scope: Scope, *, ghosts_count: bool) -> frozenset[str]:
        found = self._open_domains.get((scope, ghosts_count))
        if found is None:
            found = frozenset(
                self._domain(node, scope)
                for node in self._nodes
                if ghosts_count or self.states[node] in (NodeState.ON, NodeState.WAKING)
            )
            self._open_domains[scope, ghosts_count] = found
        return found
