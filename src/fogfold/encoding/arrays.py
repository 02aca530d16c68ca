"""A cluster and its state as structs of arrays: what compiled loops, rules and policies read.

`FleetArrays` holds what does not change, `ClusterView` what does. Both are made from the model and lead back to it
(`snapshot_of`) without loss but for one thing: a container without a reading is taken at its request, and comes back
with that as its reading. The world makes a view straight from its own state, so that a policy cannot tell a simulated
cluster from a real one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.encoding.geography import distance_km
from fogfold.encoding.rows import ContainerInt, ContainerRow, GroupRow, NodeInt, SiteRow
from fogfold.errors import ModelError
from fogfold.model.cluster import Cluster
from fogfold.model.container import Container
from fogfold.model.node import Node, NodeState
from fogfold.model.resources import RESOURCE_COUNT, Resources
from fogfold.model.snapshot import Snapshot
from fogfold.units import BITS_PER_BYTE, MS_PER_S

__all__ = ["ClusterView", "FleetArrays", "fleet_arrays", "snapshot_of", "view_of"]

NOWHERE = -1
"""Placement of a container that runs on no node, and target of one that is not on the move."""


@dataclass(frozen=True)
class FleetArrays:
    """A cluster's unchanging figures; rows as in `encoding.rows`, columns in the order of the cluster."""

    cluster: Cluster
    node: Float[Array, "node_rows nodes"]
    node_int: Int[Array, "node_int_rows nodes"]
    power_curve: Float[Array, "nodes points"]
    container: Float[Array, "container_rows containers"]
    container_int: Int[Array, "container_int_rows containers"]
    group: Int[Array, "group_rows groups"]
    members: Int[Array, " members"]
    """Containers of all groups, group after group."""
    site: Float[Array, "site_rows sites"]
    site_km: Float[Array, "sites sites"]
    user_site: Int[Array, "containers regions"]
    """User regions of each container, padded with its first."""
    user_share: Float[Array, "containers regions"]
    """Their shares, padded with 0."""

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return int(self.node.shape[1])

    @property
    def containers(self) -> int:
        """Number of containers."""
        return int(self.container.shape[1])

    @property
    def sites(self) -> int:
        """Number of sites."""
        return int(self.site.shape[1])

    @property
    def images(self) -> int:
        """Number of images."""
        return len(self.cluster.images)

    @property
    def capacity(self) -> Float[Array, "4 nodes"]:
        """What each node offers of each resource."""
        return self.node[:RESOURCE_COUNT]

    @property
    def request(self) -> Float[Array, "4 containers"]:
        """What each container was promised of each resource."""
        return self.container[:RESOURCE_COUNT]

    @property
    def site_of(self) -> Int[Array, " nodes"]:
        """Site of each node."""
        return self.node_int[NodeInt.SITE]

    @cached_property
    def idle_w(self) -> Float[Array, " nodes"]:
        """Power of each node when on and idle, in W."""
        return np.ascontiguousarray(self.power_curve[:, 0])


@dataclass(frozen=True)
class ClusterView:
    """The cluster at an instant, as arrays. Rules read it; nobody writes it."""

    fleet: FleetArrays
    state: Int[Array, " nodes"]
    """`NodeState` of each node."""
    placement: Int[Array, " containers"]
    """Node of each container, -1 where it runs nowhere."""
    target: Int[Array, " containers"]
    """Where each container is going, -1 where it is not on the move."""
    usage: Float[Array, "4 containers"]
    """What each container was measured to use (its request where there is no reading)."""
    image_present: Bool[Array, "nodes images"]
    cpu_history: Float[Array, "samples containers"] = field(default_factory=lambda: np.zeros((0, 0)))
    """Earlier CPU usage, one sample a decision, newest last; follows the container wherever it runs."""
    time_s: float = 0.0

    @cached_property
    def requested(self) -> Float[Array, "4 nodes"]:
        """Room taken on each node: requests of those that run there or are on their way there."""
        return _sum_by_node(self.fleet.request, self.placement, self.target, self.fleet.nodes)

    @cached_property
    def used(self) -> Float[Array, "4 nodes"]:
        """Usage on each node, of those that run there and (foreseen) of those on their way there."""
        return _sum_by_node(self.usage, self.placement, self.target, self.fleet.nodes)

    @cached_property
    def running(self) -> Float[Array, "4 nodes"]:
        """Usage on each node of those that run there now."""
        nowhere = np.full_like(self.target, NOWHERE)
        return _sum_by_node(self.usage, self.placement, nowhere, self.fleet.nodes)

    @cached_property
    def accelerators_taken(self) -> Int[Array, " nodes"]:
        """Accelerators in use or promised on each node."""
        need = np.maximum(self.fleet.container_int[ContainerInt.ACCELERATOR_COUNT], 0).astype(np.float64)
        need = np.where(self.fleet.container_int[ContainerInt.ACCELERATOR_KIND] >= 0, need, 0.0)
        return _sum_by_node(need[None], self.placement, self.target, self.fleet.nodes)[0].astype(np.int32)

    @property
    def on(self) -> Bool[Array, " nodes"]:
        """Which nodes run containers: on or draining."""
        return (self.state == NodeState.ON) | (self.state == NodeState.DRAINING)


def _sum_by_node(
    amount: Float[Array, "rows containers"],
    placement: Int[Array, " containers"],
    target: Int[Array, " containers"],
    nodes: int,
) -> Float[Array, "rows nodes"]:
    total = np.zeros((len(amount), nodes))
    for where in (placement, target):
        there = np.flatnonzero(where >= 0)
        if len(there):
            for row in range(len(amount)):
                total[row] += np.bincount(where[there], amount[row, there], nodes)
    return total


def fleet_arrays(cluster: Cluster) -> FleetArrays:
    """The arrays of a cluster, in its own order."""
    kinds = sorted(
        {n.accelerator.kind for n in cluster.nodes if n.accelerator}
        | {c.accelerator.kind for c in cluster.containers if c.accelerator}
    )
    kind_index = {kind: i for i, kind in enumerate(kinds)}
    members: list[int] = []
    group = np.zeros((len(GroupRow), len(cluster.groups)), np.int32)
    by_group: dict[str, list[int]] = {g.id: [] for g in cluster.groups}
    for index, container in enumerate(cluster.containers):
        if container.group is not None:
            by_group[container.group].append(index)
    for index, g in enumerate(cluster.groups):
        first = len(members)
        members += by_group[g.id]
        group[:, index] = (
            int(g.anti_affinity),
            int(g.spread),
            g.max_skew,
            int(g.ghosts_count),
            g.may_be_missing,
            first,
            len(members),
        )
    site = np.array(
        [[s.latitude_deg, s.longitude_deg, s.uplink_bit_s, s.access_ms, s.jitter_ms, s.loss] for s in cluster.sites]
    ).T
    regions = max((len(c.users) for c in cluster.containers), default=1)
    user_site = np.zeros((len(cluster.containers), regions), np.int32)
    user_share = np.zeros((len(cluster.containers), regions))
    for index, container in enumerate(cluster.containers):
        user_site[index] = cluster.site_index[container.users[0][0]]
        for k, (region, share) in enumerate(container.users):
            user_site[index, k] = cluster.site_index[region]
            user_share[index, k] = share
    return FleetArrays(
        cluster=cluster,
        node=np.array([_node_row(n) for n in cluster.nodes]).T.copy(),
        node_int=np.array([_node_int(cluster, n, kind_index) for n in cluster.nodes], np.int32).T.copy(),
        power_curve=np.array([n.power_curve.points_w for n in cluster.nodes]),
        container=np.array([_container_row(cluster, c) for c in cluster.containers])
        .reshape(len(cluster.containers), len(ContainerRow))
        .T.copy(),
        container_int=np.array([_container_int(cluster, c, kind_index) for c in cluster.containers], np.int32)
        .reshape(len(cluster.containers), len(ContainerInt))
        .T.copy(),
        group=group,
        members=np.array(members, np.int32),
        site=np.ascontiguousarray(site),
        site_km=distance_km(site[SiteRow.LATITUDE_DEG], site[SiteRow.LONGITUDE_DEG]),
        user_site=user_site,
        user_share=user_share,
    )


def _node_row(node: Node) -> tuple[float, ...]:
    return (
        *node.capacity.as_tuple(),
        node.network_down_bit_s,
        node.sleep_w,
        node.shutdown_s,
        node.wake_s,
        node.shutdown_energy_j / node.shutdown_s,
        node.wake_energy_j / node.wake_s,
        node.wake_failure_probability,
        node.core_speed,
        node.mttr_s,
    )


def _node_int(cluster: Cluster, node: Node, kinds: dict[str, int]) -> tuple[int, ...]:
    return (
        cluster.site_index[node.site],
        int(node.architecture),
        kinds[node.accelerator.kind] if node.accelerator else -1,
        node.accelerator.count if node.accelerator else 0,
        int(node.never_sleep),
    )


def _container_row(cluster: Cluster, container: Container) -> tuple[float, ...]:
    return (
        *container.request.as_tuple(),
        container.service_time_ms,
        container.latency_objective_ms,
        container.data_distance_km,
        container.dirty_rate_bit_s / BITS_PER_BYTE,
        container.start_s,
        cluster.images[cluster.image_index[container.image]].size_bytes,
        container.request.cpu_cores * MS_PER_S / container.service_time_ms,
    )


def _container_int(cluster: Cluster, container: Container, kinds: dict[str, int]) -> tuple[int, ...]:
    main_region = max(container.users, key=lambda user: user[1])[0]
    return (
        cluster.image_index[container.image],
        sum(1 << int(architecture) for architecture in container.architectures),
        kinds[container.accelerator.kind] if container.accelerator else -1,
        container.accelerator.count if container.accelerator else 0,
        cluster.site_index[container.data_site] if container.data_site is not None else -1,
        cluster.group_index[container.group] if container.group is not None else -1,
        int(container.movability),
        cluster.node_index[container.pinned_to] if container.pinned_to is not None else -1,
        cluster.site_index[main_region],
        int(container.service_class),
    )


def view_of(snapshot: Snapshot, fleet: FleetArrays | None = None) -> ClusterView:
    """A snapshot as arrays. A container without a reading is taken at its request: never at zero.

    Args:
        snapshot: the cluster at an instant.
        fleet: the arrays of its cluster, where they have been made before.

    Raises:
        ModelError: if `fleet` belongs to another cluster.
    """
    cluster = snapshot.cluster
    if fleet is None:
        fleet = fleet_arrays(cluster)
    elif fleet.cluster is not cluster:
        raise ModelError("the fleet's arrays belong to another cluster than the snapshot; make them from the same one")
    placement = np.full(fleet.containers, NOWHERE, np.int32)
    target = np.full(fleet.containers, NOWHERE, np.int32)
    for where, mapping in ((placement, snapshot.placement), (target, snapshot.targets)):
        for container, node in mapping.items():
            where[cluster.container_index[container]] = cluster.node_index[node]
    usage = fleet.request.copy()
    for container, amount in snapshot.usage.items():
        usage[:, cluster.container_index[container]] = amount.as_tuple()
    present = np.zeros((fleet.nodes, fleet.images), bool)
    for node, images in snapshot.images.items():
        for image in images:
            present[cluster.node_index[node], cluster.image_index[image]] = True
    return ClusterView(
        fleet=fleet,
        state=np.array([int(snapshot.states[node.id]) for node in cluster.nodes], np.int32),
        placement=placement,
        target=target,
        usage=usage,
        image_present=present,
        cpu_history=np.zeros((0, fleet.containers)),
        time_s=snapshot.time_s,
    )


def snapshot_of(view: ClusterView, *, age_s: float = 0.0) -> Snapshot:
    """The snapshot that a view stands for; the way back of `view_of`."""
    cluster = view.fleet.cluster
    nodes, containers = cluster.nodes, cluster.containers
    return Snapshot(
        cluster=cluster,
        placement={c.id: nodes[n].id for c, n in zip(containers, view.placement, strict=True) if n >= 0},
        states={node.id: NodeState(int(s)) for node, s in zip(nodes, view.state, strict=True)},
        usage={c.id: Resources(*map(float, view.usage[:, i])) for i, c in enumerate(containers)},
        targets={c.id: nodes[n].id for c, n in zip(containers, view.target, strict=True) if n >= 0},
        images={
            node.id: frozenset(cluster.images[int(k)].id for k in np.flatnonzero(view.image_present[i]))
            for i, node in enumerate(nodes)
        },
        time_s=view.time_s,
        age_s=age_s,
    )
