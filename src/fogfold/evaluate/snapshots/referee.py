"""The referee of a snapshot: whether the end of a plan is legal, by rules written for it alone, on the plain model.

It shares no code with masks, drafts or bounds, so that a fault in those shows here. It judges the end, not the way:
where everybody is, which nodes sleep, and how many moves were made. What was wrong before the plan is no fault of it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping

from fogfold.model.cluster import Cluster, Group, Scope
from fogfold.model.container import Container, Movability
from fogfold.model.geography import great_circle_km
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.node import Node
from fogfold.model.resources import Resource
from fogfold.model.snapshot import Snapshot

__all__ = ["faults_of"]

_SLACK = 1e-6
"""Relative; capacities are compared as sums of decimal fractions."""

Where = Mapping[ContainerId, NodeId]


def faults_of(
    snapshot: Snapshot, where: Where, asleep: frozenset[NodeId], *, ceiling: float, budget: int | None
) -> list[str]:
    """What is wrong with a plan, one sentence each; nothing where it is legal.

    Args:
        snapshot: the cluster before the plan.
        where: the node of every container after it.
        asleep: the nodes that sleep after it.
        ceiling: share of each capacity that usage may reach on a node that received a container.
        budget: how many containers may have moved; None for no limit.
    """
    cluster = snapshot.cluster
    nodes = {node.id: node for node in cluster.nodes}
    moved = [c for c in cluster.containers if where.get(c.id) != snapshot.placement.get(c.id)]
    faults = []
    if set(where) != set(snapshot.placement):
        faults.append("the plan places other containers than the snapshot; it may neither add nor drop any")
    if budget is not None and len(moved) > budget:
        faults.append(f"{len(moved)} containers moved; the budget is {budget}")
    for c in moved:
        faults += _moved(cluster, c, nodes[where[c.id]])
    for container, n in where.items():
        if n in asleep:
            faults.append(f"container {container!r} is on node {n!r}, which sleeps; only empty nodes may")
    faults += [f"node {n!r} sleeps; it must stay on" for n in asleep if nodes[n].never_sleep]
    receivers = {where[c.id] for c in moved}
    faults += _room(snapshot, where, receivers, ceiling)
    for group in cluster.groups:
        faults += _group(snapshot, where, group, {c.id for c in moved})
    return faults


def _moved(cluster: Cluster, container: Container, node: Node) -> list[str]:
    """What forbids this container to be on this node, whoever else is there."""
    name = f"container {container.id!r} moved to node {node.id!r}, "
    faults = []
    if container.movability is Movability.NEVER:
        faults.append(name + "but it never moves")
    if node.architecture not in container.architectures:
        faults.append(name + f"but has no image for {node.architecture.name}")
    if container.pinned_to not in (None, node.id):
        faults.append(name + f"but is bound to {container.pinned_to!r}")
    if container.data_site is not None:
        here = cluster.sites[cluster.site_index[node.site]]
        there = cluster.sites[cluster.site_index[container.data_site]]
        km = great_circle_km(here.latitude_deg, here.longitude_deg, there.latitude_deg, there.longitude_deg)
        if km > container.data_distance_km + 1e-6:
            faults.append(name + f"{km:.1f} km from its data; it may be {container.data_distance_km:g} km away")
    need, has = container.accelerator, node.accelerator
    if need is not None and (has is None or has.kind != need.kind):
        faults.append(name + f"which has no {need.kind!r}")
    return faults


def _room(snapshot: Snapshot, where: Where, receivers: set[NodeId], ceiling: float) -> list[str]:
    """Nodes that received somebody and now hold more than they may."""
    there: dict[NodeId, list[Container]] = defaultdict(list)
    for c in snapshot.cluster.containers:
        if c.id in where:
            there[where[c.id]].append(c)
    faults = []
    for node in snapshot.cluster.nodes:
        if node.id not in receivers:
            continue
        for resource in Resource:
            capacity = node.capacity.as_tuple()[resource]
            requested = math.fsum(c.request.as_tuple()[resource] for c in there[node.id])
            used = math.fsum(snapshot.usage.get(c.id, c.request).as_tuple()[resource] for c in there[node.id])
            for what, amount, limit in (("requests", requested, capacity), ("usage", used, ceiling * capacity)):
                if amount > limit * (1.0 + _SLACK):
                    faults.append(f"node {node.id!r} has {what} of {amount:g} {resource.name}; its limit is {limit:g}")
        taken = sum(c.accelerator.count for c in there[node.id] if c.accelerator)
        if node.accelerator and taken > node.accelerator.count:
            faults.append(f"node {node.id!r} has {taken} accelerators taken; it has {node.accelerator.count}")
    return faults


def _group(snapshot: Snapshot, where: Where, group: Group, moved: set[ContainerId]) -> list[str]:
    """Rules of a group that a plan broke by moving one of its members."""
    cluster = snapshot.cluster
    members = [c.id for c in cluster.members(group.id) if c.id in where]
    movers = [m for m in members if m in moved]
    if not movers:
        return []
    faults = []
    if len(movers) > group.may_be_missing:
        faults.append(
            f"{len(movers)} members of group {group.id!r} moved; {group.may_be_missing} may be missing at once"
        )
    if group.anti_affinity is not Scope.NONE:
        place = {m: _domain(cluster, where[m], group.anti_affinity) for m in members}
        count = Counter(place.values())
        faults += [
            f"container {m!r} of group {group.id!r} is with another member at {place[m]!r}"
            for m in movers
            if count[place[m]] > 1
        ]
    if group.spread is not Scope.NONE:
        count = Counter(_domain(cluster, where[m], group.spread) for m in members)
        domains = {_domain(cluster, node.id, group.spread) for node in cluster.nodes}
        if group.ghosts_count and max(count.values()) - min(count[d] for d in domains) > group.max_skew:
            faults.append(f"group {group.id!r} is spread {dict(count)}; it may differ by {group.max_skew}")
    return faults


def _domain(cluster: Cluster, node: NodeId, scope: Scope) -> str:
    return node if scope is Scope.NODE else cluster.nodes[cluster.node_index[node]].site
