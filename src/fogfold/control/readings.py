"""What a collector brings back: what is there, what was measured, and when. What is missing is missing.

A reading that was not made is not in the mapping; a figure that was not measured is None. Neither is ever zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from fogfold.control.orders import Hold
from fogfold.errors import ModelError
from fogfold.model.cluster import Cluster
from fogfold.model.identity import ContainerId, ImageId, NodeId, SiteId
from fogfold.model.node import NodeState
from fogfold.model.resources import Resources

__all__ = ["ContainerReading", "NodeReading", "Readings"]


@dataclass(frozen=True, slots=True)
class NodeReading:
    """What was measured on a node at one time. Figures are taken as they come: `collect` judges whether they can be."""

    at_s: float
    """When it was measured, in seconds since the epoch, by the node's own clock."""
    responds: bool = True
    """Whether the node answered when it was asked."""
    usage: tuple[float, float, float, float] | None = None
    """Cores, bytes, bit/s up and IOPS in use on the whole node, system included; None where nobody measures that."""
    power_w: float | None = None
    """Draw at the plug; None where there is no meter."""


@dataclass(frozen=True, slots=True)
class ContainerReading:
    """What was measured of a container at one time."""

    at_s: float
    usage: Resources
    restarts: int | None = None
    """How often it was restarted since it was made; None where nobody counts."""
    requests_s: float | None = None
    """Requests a second that reach it; None where nobody counts."""


@dataclass(frozen=True)
class Readings:
    """All that one collection found.

    Raises:
        ModelError: if the time of the listing is not finite.
    """

    cluster: Cluster
    listed_s: float
    """When nodes, states and placement were listed, in seconds since the epoch."""
    states: Mapping[NodeId, NodeState]
    """State of every node, as the orchestrator (and the power records) have it."""
    placement: Mapping[ContainerId, NodeId]
    """Where each running container was observed to run."""
    targets: Mapping[ContainerId, NodeId] = field(default_factory=dict)
    """Where containers on the move are going."""
    images: Mapping[NodeId, frozenset[ImageId]] = field(default_factory=dict)
    nodes: Mapping[NodeId, NodeReading] = field(default_factory=dict)
    containers: Mapping[ContainerId, ContainerReading] = field(default_factory=dict)
    container_holds: Mapping[ContainerId, Hold] = field(default_factory=dict)
    """Containers that the orchestrator's own rules protect (budgets, volumes, owners), with the name of the rule."""
    node_holds: Mapping[NodeId, Hold] = field(default_factory=dict)
    """Nodes that nothing may be moved from or to: marked by somebody else, owned by another controller."""
    sleep_holds: Mapping[NodeId, Hold] = field(default_factory=dict)
    """Nodes that must stay on as things are: the last replica of a volume, a control plane member."""
    cut_off: frozenset[SiteId] = frozenset()
    """Sites whose uplink is known to be lost."""

    def __post_init__(self) -> None:
        if not math.isfinite(self.listed_s):
            raise ModelError(f"readings were listed at {self.listed_s}; give the time of the listing in seconds")
