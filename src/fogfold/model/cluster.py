"""A whole cluster as it is described: sites, nodes, images, groups and containers that refer to each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from fogfold.errors import ModelError, did_you_mean
from fogfold.model.container import Container, Image
from fogfold.model.identity import GroupId, SiteId, check_id, check_unique
from fogfold.model.node import Node
from fogfold.model.resources import check_number

__all__ = ["Cluster", "Group", "Scope", "Site"]


class Scope(IntEnum):
    """Over which domains a rule of a group counts."""

    NONE = 0
    NODE = 1
    SITE = 2


@dataclass(frozen=True, slots=True)
class Site:
    """A place with nodes and, round it, users: at once a location and a user region."""

    id: SiteId
    latitude_deg: float
    longitude_deg: float
    uplink_bit_s: float
    """Capacity of the link between this site and the rest."""
    access_ms: float = 2.0
    """Time between a user of this region and the site itself, there and back."""
    jitter_ms: float = 0.5
    """Standard deviation of the round trip over the site's uplink."""
    loss: float = 0.0
    """Share of packets lost on the site's uplink."""

    def __post_init__(self) -> None:
        check_id("site", self.id)
        where = f"site {self.id!r}: "
        check_number(where + "latitude_deg", self.latitude_deg, low=-90.0, high=90.0)
        check_number(where + "longitude_deg", self.longitude_deg, low=-180.0, high=180.0)
        check_number(where + "uplink_bit_s", self.uplink_bit_s, above=True)
        check_number(where + "access_ms", self.access_ms)
        check_number(where + "jitter_ms", self.jitter_ms)
        check_number(where + "loss", self.loss, high=1.0)


@dataclass(frozen=True, slots=True)
class Group:
    """Containers that do one job together, and how they must stand to each other."""

    id: GroupId
    anti_affinity: Scope = Scope.NONE
    """No two members on one node (or site)."""
    spread: Scope = Scope.NONE
    """Counts per node (or site) may differ by at most `max_skew`."""
    max_skew: int = 1
    ghosts_count: bool = True
    """Whether nodes that are draining, asleep or failed still count as (empty) domains of the spread: what
    Kubernetes does by default (nodeTaintsPolicy Ignore) while the Node object remains."""
    may_be_missing: int = 1
    """How many members may be down or on the move at once."""

    def __post_init__(self) -> None:
        check_id("group", self.id)
        if self.max_skew < 1:
            raise ModelError(f"group {self.id!r}: max_skew is {self.max_skew}; it must be at least 1")
        if self.may_be_missing < 0:
            raise ModelError(f"group {self.id!r}: may_be_missing is {self.may_be_missing}; it must be at least 0")


@dataclass(frozen=True)
class Cluster:
    """Everything that does not change while a cluster runs. All references are checked when it is made.

    Raises:
        ModelError: if there is no site or no node, an id stands twice, or a reference leads nowhere.
    """

    sites: tuple[Site, ...]
    nodes: tuple[Node, ...]
    images: tuple[Image, ...] = ()
    groups: tuple[Group, ...] = ()
    containers: tuple[Container, ...] = ()

    def __post_init__(self) -> None:
        if not self.sites:
            raise ModelError("a cluster has no site; give at least one")
        if not self.nodes:
            raise ModelError("a cluster has no node; give at least one")
        check_unique("site", [site.id for site in self.sites])
        check_unique("node", [node.id for node in self.nodes])
        check_unique("image", [image.id for image in self.images])
        check_unique("group", [group.id for group in self.groups])
        check_unique("container", [container.id for container in self.containers])
        sites = self.site_index
        for node in self.nodes:
            _known("site", node.site, sites, f"node {node.id!r}")
        for container in self.containers:
            where = f"container {container.id!r}"
            _known("image", container.image, self.image_index, where)
            for region, _ in container.users:
                _known("site", region, sites, where)
            if container.data_site is not None:
                _known("site", container.data_site, sites, where)
            if container.group is not None:
                _known("group", container.group, self.group_index, where)
            if container.pinned_to is not None:
                _known("node", container.pinned_to, self.node_index, where)

    @cached_property
    def site_index(self) -> Mapping[str, int]:
        """Position of each site id."""
        return {site.id: i for i, site in enumerate(self.sites)}

    @cached_property
    def node_index(self) -> Mapping[str, int]:
        """Position of each node id."""
        return {node.id: i for i, node in enumerate(self.nodes)}

    @cached_property
    def image_index(self) -> Mapping[str, int]:
        """Position of each image id."""
        return {image.id: i for i, image in enumerate(self.images)}

    @cached_property
    def group_index(self) -> Mapping[str, int]:
        """Position of each group id."""
        return {group.id: i for i, group in enumerate(self.groups)}

    @cached_property
    def container_index(self) -> Mapping[str, int]:
        """Position of each container id."""
        return {container.id: i for i, container in enumerate(self.containers)}

    def members(self, group: GroupId) -> tuple[Container, ...]:
        """The containers of a group, in the cluster's order."""
        return tuple(container for container in self.containers if container.group == group)

    def at_site(self, site: SiteId) -> tuple[Node, ...]:
        """The nodes of a site, in the cluster's order."""
        return tuple(node for node in self.nodes if node.site == site)


def _known(kind: str, name: str, index: Mapping[str, int], where: str) -> None:
    if name not in index:
        hint: Iterable[str] = index
        raise ModelError(f"{where} names {kind} {name!r}, which is not in the cluster; {did_you_mean(name, hint)}")
