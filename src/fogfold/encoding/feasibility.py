"""Where a container may go: the one statement of the hard constraints on arrays.

The world asks `refusal` before it accepts a move, rules and policies ask `reason_row` for all nodes at once, and the
planner asks again before it acts: one compiled function answers all three. `model.placement.refusal` says the same in
plain Python, and a parity test on random clusters holds the two together, reason by reason.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int

from fogfold.compiled import Array, compiled, compiled_inner
from fogfold.encoding.arrays import ClusterView
from fogfold.encoding.rows import ContainerInt, ContainerRow, GroupRow, NodeInt
from fogfold.model.cluster import Scope
from fogfold.model.container import Movability
from fogfold.model.node import NodeState
from fogfold.model.placement import SLACK
from fogfold.model.reason import Reason
from fogfold.model.resources import RESOURCE_COUNT

__all__ = ["group_refusal", "mask", "reason_row", "reasons_into", "refusal"]


@compiled_inner
def group_refusal(
    c: int,
    n: int,
    node_int: Array,
    container_int: Array,
    group: Array,
    members: Array,
    node_state: Array,
    placement: Array,
    target: Array,
) -> int:
    """The first rule of the container's group that keeps it from the node; 0 where none does."""
    g = container_int[ContainerInt.GROUP, c]
    if g < 0:
        return Reason.NONE
    first, end = group[GroupRow.FIRST, g], group[GroupRow.END, g]
    if placement[c] >= 0:
        missing = 0
        for i in range(first, end):
            m = members[i]
            if m != c and (target[m] >= 0 or placement[m] < 0):
                missing += 1
        if missing >= group[GroupRow.MAY_BE_MISSING, g]:
            return Reason.GROUP_BUDGET
    anti = group[GroupRow.ANTI_AFFINITY, g]
    if anti != Scope.NONE:
        by_site = anti == Scope.SITE
        mine = node_int[NodeInt.SITE, n] if by_site else n
        for i in range(first, end):
            m = members[i]
            if m == c:
                continue
            for where in (placement[m], target[m]):
                if where >= 0 and (node_int[NodeInt.SITE, where] if by_site else where) == mine:
                    return Reason.ANTI_AFFINITY
    spread = group[GroupRow.SPREAD, g]
    if spread != Scope.NONE:
        by_site = spread == Scope.SITE
        mine = node_int[NodeInt.SITE, n] if by_site else n
        here = 1
        for i in range(first, end):
            m = members[i]
            where = target[m] if target[m] >= 0 else placement[m]
            if m != c and where >= 0 and (node_int[NodeInt.SITE, where] if by_site else where) == mine:
                here += 1
        least = here - group[GroupRow.MAX_SKEW, g]
        if least > 0:
            # Every domain must hold at least `least` members; the first that does not decides.
            for other in range(node_int.shape[1]):
                if (
                    group[GroupRow.GHOSTS_COUNT, g] == 0
                    and node_state[other] != NodeState.ON
                    and node_state[other] != NodeState.WAKING
                ):
                    continue
                domain = node_int[NodeInt.SITE, other] if by_site else other
                count = 0
                for i in range(first, end):
                    m = members[i]
                    where = target[m] if target[m] >= 0 else placement[m]
                    if m != c and where >= 0 and (node_int[NodeInt.SITE, where] if by_site else where) == domain:
                        count += 1
                if count < least:
                    return Reason.SPREAD
    return Reason.NONE


@compiled_inner
def refusal(
    c: int,
    n: int,
    ceiling: float,
    node: Array,
    node_int: Array,
    container: Array,
    container_int: Array,
    group: Array,
    members: Array,
    site_km: Array,
    node_state: Array,
    placement: Array,
    target: Array,
    usage: Array,
    requested: Array,
    used: Array,
    taken: Array,
) -> int:
    """The first rule (a `Reason`) that keeps container `c` from node `n`; 0 where none does.

    Args:
        c: column of the container.
        n: column of the node.
        ceiling: share of each capacity that usage on the target may reach.
        node: figures of the nodes, rows as `NodeRow`.
        node_int: whole-number figures of the nodes, rows as `NodeInt`.
        container: figures of the containers, rows as `ContainerRow`.
        container_int: whole-number figures of the containers, rows as `ContainerInt`.
        group: figures of the groups, rows as `GroupRow`.
        members: containers of all groups, group after group.
        site_km: distance between sites.
        node_state: `NodeState` of each node.
        placement: node of each container, or -1.
        target: where each container is going, or -1.
        usage: usage of each container, (4, containers).
        requested: room taken on each node, (4, nodes).
        used: usage on each node, foreseen arrivals included, (4, nodes).
        taken: accelerators taken on each node.
    """
    if target[c] >= 0:
        return Reason.IN_FLIGHT
    if placement[c] == n:
        return Reason.SAME_NODE
    if placement[c] >= 0 and container_int[ContainerInt.MOVABILITY, c] == Movability.NEVER:
        return Reason.NEVER_MOVES
    if node_state[n] != NodeState.ON and node_state[n] != NodeState.WAKING:
        return Reason.NODE_NOT_READY
    if (container_int[ContainerInt.ARCHITECTURES, c] >> node_int[NodeInt.ARCHITECTURE, n]) & 1 == 0:
        return Reason.ARCHITECTURE
    kind = container_int[ContainerInt.ACCELERATOR_KIND, c]
    if kind >= 0 and (
        node_int[NodeInt.ACCELERATOR_KIND, n] != kind
        or taken[n] + container_int[ContainerInt.ACCELERATOR_COUNT, c] > node_int[NodeInt.ACCELERATOR_COUNT, n]
    ):
        return Reason.ACCELERATOR
    if container_int[ContainerInt.PINNED, c] >= 0 and container_int[ContainerInt.PINNED, c] != n:
        return Reason.PINNED
    at = container_int[ContainerInt.DATA_SITE, c]
    if at >= 0 and site_km[at, node_int[NodeInt.SITE, n]] > container[ContainerRow.DATA_KM, c] * (1.0 + SLACK):
        return Reason.DATA_DISTANCE
    for r in range(RESOURCE_COUNT):
        if requested[r, n] + container[r, c] > node[r, n] * (1.0 + SLACK):
            return Reason.NO_ROOM
    for r in range(RESOURCE_COUNT):
        if used[r, n] + usage[r, c] > ceiling * node[r, n] * (1.0 + SLACK):
            return Reason.NODE_HOT
    return group_refusal(c, n, node_int, container_int, group, members, node_state, placement, target)


@compiled
def reasons_into(
    c: int,
    ceiling: float,
    node: Array,
    node_int: Array,
    container: Array,
    container_int: Array,
    group: Array,
    members: Array,
    site_km: Array,
    node_state: Array,
    placement: Array,
    target: Array,
    usage: Array,
    requested: Array,
    used: Array,
    taken: Array,
    out: Array,
) -> None:
    """Write for each node the `Reason` that keeps container `c` from it, into `out`; arguments as in `refusal`."""
    for n in range(len(out)):
        out[n] = refusal(
            c,
            n,
            ceiling,
            node,
            node_int,
            container,
            container_int,
            group,
            members,
            site_km,
            node_state,
            placement,
            target,
            usage,
            requested,
            used,
            taken,
        )


def reason_row(view: ClusterView, container: int, *, ceiling: float = 1.0) -> Int[Array, " nodes"]:
    """For each node, the first `Reason` that keeps the container from it; 0 where it may go."""
    fleet = view.fleet
    out = np.empty(fleet.nodes, np.int32)
    reasons_into(
        container,
        ceiling,
        fleet.node,
        fleet.node_int,
        fleet.container,
        fleet.container_int,
        fleet.group,
        fleet.members,
        fleet.site_km,
        view.state,
        view.placement,
        view.target,
        view.usage,
        view.requested,
        view.used,
        view.accelerators_taken,
        out,
    )
    return out


def mask(
    view: ClusterView, candidates: Int[Array, " candidates"], *, ceiling: float = 1.0
) -> Bool[Array, "candidates nodes"]:
    """Where each candidate may go, as the cluster stands: True where no rule refuses it."""
    rows = [reason_row(view, int(c), ceiling=ceiling) == 0 for c in candidates]
    return np.array(rows, bool).reshape(len(rows), view.fleet.nodes)
