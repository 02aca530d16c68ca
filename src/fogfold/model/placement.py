"""What the hard rules say of a placement, in plain Python over plain values: slow, and easy to check by eye.

`encoding/feasibility` says the same on arrays, fast; a parity test holds the two together. Whoever changes a
rule changes both, or the test fails.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from fogfold.model.cluster import Cluster, Group, Scope
from fogfold.model.container import Container, Movability
from fogfold.model.geography import great_circle_km
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.node import Node, NodeState
from fogfold.model.reason import Reason
from fogfold.model.resources import Resource
from fogfold.model.snapshot import Snapshot

__all__ = ["SLACK", "data_distance_km", "occupants", "refusal"]

SLACK = 1e-9
"""Relative slack of every comparison with a capacity or a distance, so that sums in another order, or another
library's sine, do not change the answer."""


def occupants(snapshot: Snapshot, node: NodeId) -> list[Container]:
    """Containers that take room on a node: those that run there and those on their way there."""
    return [
        container
        for container in snapshot.cluster.containers
        if snapshot.placement.get(container.id) == node or snapshot.targets.get(container.id) == node
    ]


def refusal(snapshot: Snapshot, container_id: ContainerId, node_id: NodeId, *, ceiling: float = 1.0) -> Reason:
    """The first rule that keeps a container from a node, or `Reason.NONE`.

    The order is fixed: the container itself, the node's state, what never changes (architecture, accelerator
    kind, pin, distance), then room, usage and the other members of its group.

    Args:
        snapshot: the cluster as it is.
        container_id: who is to go.
        node_id: where to.
        ceiling: share of each capacity that the usage on the target may reach, in ]0, 1].
    """
    cluster = snapshot.cluster
    container = cluster.containers[cluster.container_index[container_id]]
    node = cluster.nodes[cluster.node_index[node_id]]
    source = snapshot.placement.get(container_id)
    if container_id in snapshot.targets:
        return Reason.IN_FLIGHT
    if source == node_id:
        return Reason.SAME_NODE
    if source is not None and container.movability is Movability.NEVER:
        return Reason.NEVER_MOVES
    if snapshot.states[node_id] not in (NodeState.ON, NodeState.WAKING):
        return Reason.NODE_NOT_READY
    if node.architecture not in container.architectures:
        return Reason.ARCHITECTURE
    if not _has_accelerator(snapshot, container, node):
        return Reason.ACCELERATOR
    if container.pinned_to is not None and container.pinned_to != node_id:
        return Reason.PINNED
    if data_distance_km(cluster, container, node) > container.data_distance_km * (1 + SLACK):
        return Reason.DATA_DISTANCE
    reason = _room(snapshot, container, node, ceiling)
    if reason is not Reason.NONE:
        return reason
    return _group(snapshot, container, node)


def _has_accelerator(snapshot: Snapshot, container: Container, node: Node) -> bool:
    need = container.accelerator
    if need is None:
        return True
    if node.accelerator is None or node.accelerator.kind != need.kind:
        return False
    taken = sum(
        other.accelerator.count
        for other in occupants(snapshot, node.id)
        if other.accelerator is not None and other.id != container.id
    )
    return taken + need.count <= node.accelerator.count


def data_distance_km(cluster: Cluster, container: Container, node: Node) -> float:
    """How far a container on a node would be from its data, in km; -infinity where it depends on none."""
    if container.data_site is None:
        return -math.inf
    if node.site == container.data_site:
        return 0.0
    here = cluster.sites[cluster.site_index[node.site]]
    there = cluster.sites[cluster.site_index[container.data_site]]
    return great_circle_km(here.latitude_deg, here.longitude_deg, there.latitude_deg, there.longitude_deg)


def _room(snapshot: Snapshot, container: Container, node: Node, ceiling: float) -> Reason:
    there = occupants(snapshot, node.id)
    own_usage = snapshot.usage.get(container.id, container.request).as_tuple()
    for resource in Resource:
        capacity = node.capacity.as_tuple()[resource]
        requested = sum(other.request.as_tuple()[resource] for other in there)
        if requested + container.request.as_tuple()[resource] > capacity * (1 + SLACK):
            return Reason.NO_ROOM
    for resource in Resource:
        capacity = node.capacity.as_tuple()[resource]
        used = sum(snapshot.usage.get(other.id, other.request).as_tuple()[resource] for other in there)
        if used + own_usage[resource] > ceiling * capacity * (1 + SLACK):
            return Reason.NODE_HOT
    return Reason.NONE


def _group(snapshot: Snapshot, container: Container, node: Node) -> Reason:
    if container.group is None:
        return Reason.NONE
    cluster = snapshot.cluster
    group = cluster.groups[cluster.group_index[container.group]]
    if container.id in snapshot.placement:
        missing = sum(
            member.id in snapshot.targets or member.id not in snapshot.placement
            for member in cluster.members(container.group)
            if member.id != container.id
        )
        if missing >= group.may_be_missing:
            return Reason.GROUP_BUDGET
    final: dict[ContainerId, NodeId] = {}
    for member in cluster.members(container.group):
        if member.id == container.id:
            continue
        where = snapshot.targets.get(member.id, snapshot.placement.get(member.id))
        if where is not None:
            final[member.id] = where
            if group.anti_affinity is not Scope.NONE and member.id in snapshot.targets:
                # A member on the move still runs at its source until it has arrived.
                here = snapshot.placement.get(member.id)
                if here is not None and _domain(cluster, here, group.anti_affinity) == _domain(
                    cluster, node.id, group.anti_affinity
                ):
                    return Reason.ANTI_AFFINITY
    if group.anti_affinity is not Scope.NONE:
        mine = _domain(cluster, node.id, group.anti_affinity)
        if any(_domain(cluster, where, group.anti_affinity) == mine for where in final.values()):
            return Reason.ANTI_AFFINITY
    if group.spread is not Scope.NONE and not _spread_holds(snapshot, final, node, group):
        return Reason.SPREAD
    return Reason.NONE


def _domain(cluster: Cluster, node_id: NodeId, scope: Scope) -> str:
    return node_id if scope is Scope.NODE else cluster.nodes[cluster.node_index[node_id]].site


def _spread_holds(snapshot: Snapshot, final: Mapping[ContainerId, NodeId], node: Node, group: Group) -> bool:
    cluster = snapshot.cluster
    scope = group.spread
    domains = {
        _domain(cluster, other.id, scope)
        for other in cluster.nodes
        if group.ghosts_count or snapshot.states[other.id] in (NodeState.ON, NodeState.WAKING)
    }
    counts = Counter(_domain(cluster, where, scope) for where in final.values())
    mine = _domain(cluster, node.id, scope)
    lowest = min(counts[domain] for domain in domains)
    return counts[mine] + 1 - lowest <= group.max_skew
