"""Who could be where after a decision: the pairs of a container and a node that a full model decides about.

Each container that the decision may move has a pair with its home and one with every node that it could go to. A pair
that no plan can use is left out, which is most of what makes a full model small enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from fogfold.compiled import Array
from fogfold.encoding.rows import ContainerInt, GroupRow, NodeInt
from fogfold.model.cluster import Scope
from fogfold.model.placement import SLACK
from fogfold.policy.folding import Folding

__all__ = ["Pairs", "domain_of", "members_of", "pairs_of"]


@dataclass(frozen=True)
class Pairs:
    """Pairs of a container and a node, container after container."""

    container: Int[Array, " pairs"]
    node: Int[Array, " pairs"]
    is_home: Bool[Array, " pairs"]
    movers: Int[Array, " movers"]
    """The containers that have pairs; all others are where they are."""

    @property
    def count(self) -> int:
        """How many pairs there are."""
        return len(self.container)

    def settled(self, folding: Folding) -> Bool[Array, " containers"]:
        """Containers that are part of the folding and stay where they are."""
        out = folding.home >= 0
        out[self.movers] = False
        return out


def pairs_of(folding: Folding, *, held: bool, frozen: Int[Array, " groups"]) -> Pairs:
    """The pairs of a decision.

    Args:
        folding: the decision.
        held: whether room that a container leaves stays taken, and a place that a member of a group leaves stays barred
            to the others.
        frozen: groups whose members are not to be moved.
    """
    view, fleet = folding.view, folding.view.fleet
    movable = folding.movable & ~np.isin(fleet.container_int[ContainerInt.GROUP], frozen)
    movers = np.flatnonzero(movable)
    home = folding.home[movers]
    allowed = folding.reach[folding.kind[movers]]
    if held:
        left = folding.room * (1.0 + SLACK) - np.concatenate([view.requested, view.used])
        for amount, free in zip(folding.amount, left, strict=True):
            allowed &= amount[movers][:, None] <= free
        needed = np.where(
            fleet.container_int[ContainerInt.ACCELERATOR_KIND] >= 0,
            fleet.container_int[ContainerInt.ACCELERATOR_COUNT],
            0,
        )[movers]
        spare = fleet.node_int[NodeInt.ACCELERATOR_COUNT] - view.accelerators_taken
        allowed &= (needed[:, None] == 0) | (needed[:, None] <= spare)
        _bar_places_of_others(folding, movers, allowed)
    allowed[np.arange(len(movers)), home] = True
    mover, node = np.nonzero(allowed)
    return Pairs(movers[mover], node, node == home[mover], movers)


def _bar_places_of_others(
    folding: Folding, movers: Int[Array, " movers"], allowed: Bool[Array, "movers nodes"]
) -> None:
    """Take out nodes in whose domain another member of a group that keeps apart runs or is going."""
    view, fleet = folding.view, folding.view.fleet
    row = np.full(fleet.containers, -1)
    row[movers] = np.arange(len(movers))
    for g in np.flatnonzero(fleet.group[GroupRow.ANTI_AFFINITY] != Scope.NONE):
        domain = domain_of(folding, int(fleet.group[GroupRow.ANTI_AFFINITY, g]))
        members = members_of(folding, int(g))
        places = {
            int(m): {int(domain[n]) for n in (view.placement[m], view.target[m]) if n >= 0} for m in members.tolist()
        }
        for m in members[row[members] >= 0].tolist():
            others: set[int] = set().union(*(places[k] for k in places if k != m))
            allowed[row[m]] &= ~np.isin(domain, list(others))


def domain_of(folding: Folding, scope: int) -> Int[Array, " nodes"]:
    """The domain of each node over which a rule of a group counts: itself, or its site."""
    fleet = folding.view.fleet
    return fleet.site_of.astype(np.int64) if scope == Scope.SITE else np.arange(fleet.nodes)


def members_of(folding: Folding, group: int) -> Int[Array, " members"]:
    """The containers of a group, in its order."""
    fleet = folding.view.fleet
    return fleet.members[fleet.group[GroupRow.FIRST, group] : fleet.group[GroupRow.END, group]]
