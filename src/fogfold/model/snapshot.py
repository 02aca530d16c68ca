"""The cluster at an instant: who runs where, in which state each node is, what was measured, how long ago."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from fogfold.errors import ModelError, did_you_mean
from fogfold.model.cluster import Cluster
from fogfold.model.identity import ContainerId, ImageId, NodeId
from fogfold.model.node import NodeState
from fogfold.model.resources import Resources, check_number

__all__ = ["Snapshot"]


@dataclass(frozen=True)
class Snapshot:
    """The cluster at an instant. What is missing is missing: an absent container is unplaced, an absent reading
    is unknown, and neither is read as zero.

    Raises:
        ModelError: if an id is unknown, a node's state is missing, the time is not finite, or an age is negative.
    """

    cluster: Cluster
    placement: Mapping[ContainerId, NodeId]
    """Where each running container runs."""
    states: Mapping[NodeId, NodeState]
    """State of every node."""
    usage: Mapping[ContainerId, Resources] = field(default_factory=dict)
    """What each container was measured to use; absent where there is no reading."""
    targets: Mapping[ContainerId, NodeId] = field(default_factory=dict)
    """Where containers that are on the move are going; room is held for them there."""
    images: Mapping[NodeId, frozenset[ImageId]] = field(default_factory=dict)
    """Which images each node has."""
    time_s: float = 0.0
    """When it was taken, in seconds since the start of the week (Monday 00:00 UTC) or since the epoch."""
    age_s: float = 0.0
    """How old the readings are."""

    def __post_init__(self) -> None:
        check_number("snapshot time_s", self.time_s, low=-math.inf)
        check_number("snapshot age_s", self.age_s)
        nodes, containers = self.cluster.node_index, self.cluster.container_index
        for name, mapping in (("placement", self.placement), ("targets", self.targets)):
            for container, node in mapping.items():
                if container not in containers:
                    raise ModelError(
                        f"{name} names container {container!r}, which is not in the cluster; "
                        f"{did_you_mean(container, containers)}"
                    )
                if node not in nodes:
                    raise ModelError(
                        f"{name} puts {container!r} on node {node!r}, which is not in the cluster; "
                        f"{did_you_mean(node, nodes)}"
                    )
        for container, node in self.targets.items():
            if self.placement.get(container) == node:
                raise ModelError(
                    f"targets sends {container!r} to {node!r}, where it already runs; leave out moves that are done"
                )
        for known in self.cluster.nodes:
            if known.id not in self.states:
                raise ModelError(f"snapshot has no state for node {known.id!r}; give the state of every node")
        for name, keys in (("states", self.states), ("images", self.images)):
            for node in keys:
                if node not in nodes:
                    raise ModelError(
                        f"{name} names node {node!r}, which is not in the cluster; {did_you_mean(node, nodes)}"
                    )
        for node, present in self.images.items():
            for image in present:
                if image not in self.cluster.image_index:
                    raise ModelError(
                        f"images puts {image!r} on node {node!r}, which is no image of the cluster; "
                        f"{did_you_mean(image, self.cluster.image_index)}"
                    )
        for container in self.usage:
            if container not in containers:
                raise ModelError(
                    f"usage names container {container!r}, which is not in the cluster; "
                    f"{did_you_mean(container, containers)}"
                )
