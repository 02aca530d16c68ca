"""Whether a container fits on any node at all, and what stands in the way where it does not.

The rules are those of `model.placement` on empty nodes: architecture, accelerator, size, and distance from the data.
Nodes that are alike are taken together, so that thousands of containers against a thousand nodes cost milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.model.container import Container
from fogfold.model.node import Architecture, Node
from fogfold.model.placement import SLACK
from fogfold.model.resources import Resource
from fogfold.world.scenario.fleet import Fleet
from fogfold.world.scenario.ground import Ground
from fogfold.world.scenario.schema.containers import Service

__all__ = ["Reach", "why_nowhere"]


@dataclass(frozen=True)
class Reach:
    """Which kinds of node there are, and at which sites."""

    site: Int[Array, " nodes"]
    """Site of each node."""
    kind: Int[Array, " nodes"]
    """Kind of each node: nodes of one kind differ in nothing that decides who fits."""
    example: tuple[Node, ...]
    """One node of each kind."""
    capacity: Float[Array, "4 kinds"]
    count: Int[Array, "kinds sites"]
    """How many nodes of that kind a site has."""
    km: Float[Array, "sites sites"]

    @staticmethod
    def of(ground: Ground, fleet: Fleet) -> Reach:
        """The reach of a cluster."""
        number: dict[tuple[object, ...], int] = {}
        kind = np.empty(len(fleet.nodes), np.int64)
        for i, node in enumerate(fleet.nodes):
            alike = (node.architecture, node.accelerator, node.capacity.as_tuple())
            kind[i] = number.setdefault(alike, len(number))
        _, first = np.unique(kind, return_index=True)
        count = np.zeros((len(first), len(ground.sites)), np.int64)
        np.add.at(count, (kind, fleet.site), 1)
        return Reach(fleet.site, kind, tuple(fleet.nodes[i] for i in first), fleet.capacity[:, first], count, ground.km)

    def suits(self, service: Service) -> Bool[Array, " kinds"]:
        """Which kinds have an architecture and the accelerators that a service needs."""
        architectures = {Architecture[name.upper()] for name in service.architectures}
        need = service.accelerator
        return np.array(
            [
                node.architecture in architectures and (need is None or _has(node, need.kind, need.count))
                for node in self.example
            ],
            bool,
        )

    def holds(self, request: Float[Array, "4 containers"]) -> Bool[Array, "containers kinds"]:
        """Which kinds are large enough, when empty, for each request."""
        room = self.capacity[:, None, :] * (1 + SLACK) - request[:, :, None]
        return np.asarray((room >= 0).all(axis=0), dtype=bool)

    def nodes(self, kinds: Bool[Array, " kinds"], data_site: int, km: float) -> Bool[Array, " nodes"]:
        """Which nodes could hold a container that only those kinds can, that far from its data (site -1: no data)."""
        could = kinds[self.kind]
        if data_site >= 0:
            could = could & ((self.km[data_site, self.site] <= km) | (self.site == data_site))
        return could

    def places(self, kinds: Bool[Array, "deployments kinds"], scope: str, km: float | None = None) -> Int[Array, "..."]:
        """How many nodes (or sites, by the scope) could hold one container of each deployment.

        Args:
            kinds: which kinds could.
            scope: node or site.
            km: None counts over the whole cluster, shape (deployments,); else within that distance of data at each
                site, shape (deployments, sites).
        """
        # Floats, because matrix products of integers are slow; they are exact for whole numbers below 2^24.
        at_site = kinds.astype(np.float32) @ self.count.astype(np.float32)
        if scope == "site":
            at_site = (at_site > 0).astype(np.float32)
        if km is None:
            return at_site.sum(axis=1).astype(np.int64)
        near = (self.km <= km).astype(np.float32)
        np.fill_diagonal(near, 1.0)
        return (at_site @ near).astype(np.int64)


def why_nowhere(container: Container, nodes: Sequence[Node]) -> str:
    """The first rule that leaves no node for a container, as a sentence; the rules stand in the order of the mask.

    Pins and distances are no reasons here: they are drawn so that they can be met.
    """
    start = f"container {container.id!r} fits on none of the {len(nodes)} nodes: "
    names = "/".join(sorted(one.name.lower() for one in container.architectures))
    left = [node for node in nodes if node.architecture in container.architectures]
    if not left:
        return f"{start}none has architecture {names}; build its image for another one, or add such a node"
    need = container.accelerator
    if need is not None:
        left = [node for node in left if _has(node, need.kind, need.count)]
        if not left:
            return f"{start}none with architecture {names} has {need.count} x {need.kind}; add such a node"
    request = container.request.as_tuple()
    most = [max(node.capacity.as_tuple()[resource] for node in left) for resource in Resource]
    short = [
        f"{resource.name.lower()} {request[resource]:g} of at most {most[resource]:g}"
        for resource in Resource
        if request[resource] > most[resource] * (1 + SLACK)
    ]
    what = ", ".join(short) or "no single node has enough of everything"
    return f"{start}the {len(left)} that it could run on are too small ({what}); lower its sizes with `most`"


def _has(node: Node, kind: str, count: int) -> bool:
    return node.accelerator is not None and node.accelerator.kind == kind and node.accelerator.count >= count
