"""Small clusters in a line each: every figure has a round default, and a test names only what it is about."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fogfold.model.cluster import Cluster, Group, Scope, Site
from fogfold.model.container import Container, Image, Movability, ServiceClass
from fogfold.model.identity import ContainerId, GroupId, ImageId, NodeId, SiteId
from fogfold.model.node import Accelerator, Architecture, Node, NodeState, PowerCurve
from fogfold.model.resources import Resources
from fogfold.model.snapshot import Snapshot
from fogfold.units import GIB, MBIT

__all__ = ["a_cluster", "a_container", "a_group", "a_node", "a_site", "a_snapshot", "random_snapshot"]


def a_site(name: str = "s0", *, latitude_deg: float = -37.81, longitude_deg: float = 144.96, **more: Any) -> Site:
    """A site in Melbourne with a link of 1 Gbit/s, unless told otherwise."""
    figures: dict[str, Any] = {"uplink_bit_s": 1000 * MBIT, **more}
    return Site(SiteId(name), latitude_deg, longitude_deg, **figures)


def a_node(
    name: str = "n0",
    *,
    site: str = "s0",
    cores: float = 10.0,
    memory_gib: float = 10.0,
    network_mbit_s: float = 1000.0,
    disk_iops: float = 10_000.0,
    idle_w: float = 50.0,
    peak_w: float = 100.0,
    **more: Any,
) -> Node:
    """A node of 10 cores and 10 GiB that draws 50 W idle, 100 W busy and 5 W asleep, unless told otherwise."""
    curve = PowerCurve(
        f"linear-{idle_w:g}-{peak_w:g}",
        tuple(idle_w + (peak_w - idle_w) * k / 10 for k in range(11)),
        "made for a test",
    )
    figures: dict[str, Any] = {
        "network_down_bit_s": network_mbit_s * MBIT,
        "power_curve": curve,
        "sleep_w": 5.0,
        "shutdown_s": 30.0,
        "wake_s": 60.0,
        "shutdown_energy_j": 30.0 * idle_w,
        "wake_energy_j": 60.0 * peak_w,
        **more,
    }
    return Node(
        NodeId(name),
        SiteId(site),
        Resources(cores, memory_gib * GIB, network_mbit_s * MBIT, disk_iops),
        **figures,
    )


def a_container(
    name: str = "c0",
    *,
    cores: float = 1.0,
    memory_gib: float = 1.0,
    network_mbit_s: float = 1.0,
    disk_iops: float = 10.0,
    users: str | Sequence[tuple[str, float]] = "s0",
    image: str = "app",
    group: str | None = None,
    **more: Any,
) -> Container:
    """A container of 1 core and 1 GiB that serves its site in 10 ms of CPU time, unless told otherwise."""
    regions = ((SiteId(users), 1.0),) if isinstance(users, str) else tuple((SiteId(s), share) for s, share in users)
    figures: dict[str, Any] = {"service_time_ms": 10.0, "latency_objective_ms": 100.0, **more}
    return Container(
        ContainerId(name),
        ImageId(image),
        Resources(cores, memory_gib * GIB, network_mbit_s * MBIT, disk_iops),
        users=regions,
        group=GroupId(group) if group is not None else None,
        **figures,
    )


def a_group(name: str = "g0", **more: Any) -> Group:
    """A group without rules, unless told otherwise."""
    return Group(GroupId(name), **more)


def a_cluster(
    nodes: Iterable[Node],
    containers: Iterable[Container] = (),
    *,
    groups: Iterable[Group] = (),
    sites: Iterable[Site] | None = None,
    images: Iterable[Image] | None = None,
) -> Cluster:
    """A cluster of those parts; one site and the images that are named are made up where none are given."""
    containers = tuple(containers)
    if images is None:
        images = [Image(ImageId(name), 0.1 * GIB) for name in sorted({str(c.image) for c in containers})]
    return Cluster(
        tuple(sites) if sites is not None else (a_site(),), tuple(nodes), tuple(images), tuple(groups), containers
    )


def a_snapshot(
    cluster: Cluster,
    placement: Mapping[str, str],
    *,
    states: Mapping[str, NodeState] | None = None,
    usage_cores: Mapping[str, float] | None = None,
    targets: Mapping[str, str] | None = None,
    **more: Any,
) -> Snapshot:
    """A snapshot with all nodes on (or as told) and CPU usage as told; other usage is half of the request."""
    usage = {
        c.id: Resources(
            (usage_cores or {}).get(c.id, 0.5 * c.request.cpu_cores),
            0.5 * c.request.memory_bytes,
            0.5 * c.request.network_bit_s,
            0.5 * c.request.disk_iops,
        )
        for c in cluster.containers
    }
    every = {node.id: (states or {}).get(node.id, NodeState.ON) for node in cluster.nodes}
    return Snapshot(
        cluster,
        {ContainerId(c): NodeId(n) for c, n in placement.items()},
        every,
        usage,
        {ContainerId(c): NodeId(n) for c, n in (targets or {}).items()},
        **more,
    )


def random_snapshot(rng: np.random.Generator, *, nodes: int = 6, containers: int = 14) -> Snapshot:
    """A small cluster with every kind of constraint in it, placed anyhow: for tests of agreement, not of sense."""
    sites = [a_site(f"s{i}", latitude_deg=-37.8 + 0.2 * i, longitude_deg=144.9 + 0.1 * i) for i in range(3)]

    def accelerator(share: float) -> Accelerator | None:
        if rng.random() >= share:
            return None
        return Accelerator(str(rng.choice(["gpu", "npu"])), int(rng.integers(1, 3)))

    all_nodes = [
        a_node(
            f"n{i}",
            site=f"s{rng.integers(3)}",
            cores=float(rng.choice([4.0, 8.0])),
            memory_gib=float(rng.choice([4.0, 8.0])),
            architecture=Architecture(int(rng.integers(2))),
            accelerator=accelerator(0.3),
        )
        for i in range(nodes)
    ]
    groups = [
        a_group(
            f"g{i}",
            anti_affinity=Scope(int(rng.integers(3))),
            spread=Scope(int(rng.integers(3))),
            max_skew=int(rng.integers(1, 3)),
            ghosts_count=bool(rng.random() < 0.5),
            may_be_missing=int(rng.integers(0, 3)),
        )
        for i in range(3)
    ]
    both = [frozenset({Architecture.AMD64}), frozenset({Architecture.AMD64, Architecture.ARM64})]
    all_containers = []
    for i in range(containers):
        far = bool(rng.random() < 0.7)
        all_containers.append(
            a_container(
                f"c{i}",
                cores=float(rng.choice([0.5, 1.0, 2.0])),
                memory_gib=float(rng.choice([0.5, 1.0, 2.0])),
                users=f"s{rng.integers(3)}",
                architectures=both[int(rng.random() < 0.7)],
                accelerator=accelerator(0.1),
                data_site=None if far else SiteId(f"s{rng.integers(3)}"),
                data_distance_km=math.inf if far else float(rng.choice([0.0, 26.0, 100.0])),
                group=f"g{rng.integers(3)}" if rng.random() < 0.6 else None,
                movability=Movability(int(rng.choice([0, 1, 2], p=[0.6, 0.3, 0.1]))),
                pinned_to=NodeId(f"n{rng.integers(nodes)}") if rng.random() < 0.1 else None,
                service_class=ServiceClass(int(rng.integers(3))),
            )
        )
    cluster = a_cluster(all_nodes, all_containers, groups=groups, sites=sites)
    placement: dict[str, str] = {str(c.id): f"n{rng.integers(nodes)}" for c in all_containers if rng.random() < 0.9}
    drawn = {c: f"n{rng.integers(nodes)}" for c in placement if rng.random() < 0.15}
    targets = {c: target for c, target in drawn.items() if target != placement[c]}
    states: dict[str, NodeState] = {
        str(node.id): NodeState(int(s))
        for node, s in zip(all_nodes, rng.choice(6, nodes, p=[0.6, 0.1, 0.05, 0.1, 0.1, 0.05]), strict=True)
    }
    usage: dict[str, float] = {str(c.id): float(rng.uniform(0.1, 3.0)) * c.request.cpu_cores for c in all_containers}
    return a_snapshot(cluster, placement, states=states, usage_cores=usage, targets=targets)
