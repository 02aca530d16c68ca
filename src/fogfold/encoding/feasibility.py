"""Where a container may go: the one statement of the hard constraints on arrays.

The world asks `refusal` before it accepts a move, rules and policies ask `mask_row` for all nodes at once, and the
planner asks again before it acts: one compiled function answers all three. `model.placement.refusal` says the same in
plain Python, and a parity test on random clusters holds the two together, reason by reason.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int

from fogfold.compiled import Array, compiled
from fogfold.encoding.arrays import ClusterView
from fogfold.encoding.rows import ContainerInt, ContainerRow, GroupRow, NodeInt
from fogfold.model.cluster import Scope
from fogfold.model.container import Movability
from fogfold.model.node import NodeState
from fogfold.model.placement import SLACK
from fogfold.model.reason import Reason
from fogfold.model.resources import RESOURCE_COUNT

__all__ = ["mask", "reason_row", "refusal"]

# Plain numbers for the compiler, which knows no enumerations of ours.
_NONE, _IN_FLIGHT, _NEVER_MOVES = int(Reason.NONE), int(Reason.IN_FLIGHT), int(Reason.NEVER_MOVES)
_SAME_NODE, _NOT_READY, _ARCHITECTURE = int(Reason.SAME_NODE), int(Reason.NODE_NOT_READY), int(Reason.ARCHITECTURE)
_ACCELERATOR, _PINNED, _DISTANCE = int(Reason.ACCELERATOR), int(Reason.PINNED), int(Reason.DATA_DISTANCE)
_NO_ROOM, _HOT = int(Reason.NO_ROOM), int(Reason.NODE_HOT)
_ANTI, _SPREAD, _BUDGET = int(Reason.ANTI_AFFINITY), int(Reason.SPREAD), int(Reason.GROUP_BUDGET)
_ON, _WAKING = int(NodeState.ON), int(NodeState.WAKING)
_NEVER = int(Movability.NEVER)
_SCOPE_NONE, _SCOPE_SITE = int(Scope.NONE), int(Scope.SITE)
_N_SITE, _N_ARCHITECTURE = int(NodeInt.SITE), int(NodeInt.ARCHITECTURE)
_N_KIND, _N_COUNT = int(NodeInt.ACCELERATOR_KIND), int(NodeInt.ACCELERATOR_COUNT)
_C_ARCHITECTURES, _C_KIND = int(ContainerInt.ARCHITECTURES), int(ContainerInt.ACCELERATOR_KIND)
_C_COUNT, _C_DATA, _C_GROUP = int(ContainerInt.ACCELERATOR_COUNT), int(ContainerInt.DATA_SITE), int(ContainerInt.GROUP)
_C_MOVABILITY, _C_PINNED = int(ContainerInt.MOVABILITY), int(ContainerInt.PINNED)
_C_DATA_KM = int(ContainerRow.DATA_KM)
_G_ANTI, _G_SPREAD, _G_SKEW = int(GroupRow.ANTI_AFFINITY), int(GroupRow.SPREAD), int(GroupRow.MAX_SKEW)
_G_GHOSTS, _G_MISSING = int(GroupRow.GHOSTS_COUNT), int(GroupRow.MAY_BE_MISSING)
_G_FIRST, _G_END = int(GroupRow.FIRST), int(GroupRow.END)
_RESOURCES = RESOURCE_COUNT


@compiled
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
    g = container_int[_C_GROUP, c]
    if g < 0:
        return _NONE
    first, end = group[_G_FIRST, g], group[_G_END, g]
    if placement[c] >= 0:
        missing = 0
        for i in range(first, end):
            m = members[i]
            if m != c and (target[m] >= 0 or placement[m] < 0):
                missing += 1
        if missing >= group[_G_MISSING, g]:
            return _BUDGET
    anti = group[_G_ANTI, g]
    if anti != _SCOPE_NONE:
        by_site = anti == _SCOPE_SITE
        mine = node_int[_N_SITE, n] if by_site else n
        for i in range(first, end):
            m = members[i]
            if m == c:
                continue
            for where in (placement[m], target[m]):
                if where >= 0 and (node_int[_N_SITE, where] if by_site else where) == mine:
                    return _ANTI
    spread = group[_G_SPREAD, g]
    if spread != _SCOPE_NONE:
        by_site = spread == _SCOPE_SITE
        mine = node_int[_N_SITE, n] if by_site else n
        here = 1
        for i in range(first, end):
            m = members[i]
            where = target[m] if target[m] >= 0 else placement[m]
            if m != c and where >= 0 and (node_int[_N_SITE, where] if by_site else where) == mine:
                here += 1
        least = here - group[_G_SKEW, g]
        if least > 0:
            # Every domain must hold at least `least` members; the first that does not decides.
            for other in range(node_int.shape[1]):
                if group[_G_GHOSTS, g] == 0 and node_state[other] != _ON and node_state[other] != _WAKING:
                    continue
                domain = node_int[_N_SITE, other] if by_site else other
                count = 0
                for i in range(first, end):
                    m = members[i]
                    where = target[m] if target[m] >= 0 else placement[m]
                    if m != c and where >= 0 and (node_int[_N_SITE, where] if by_site else where) == domain:
                        count += 1
                if count < least:
                    return _SPREAD
    return _NONE


@compiled
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
        return _IN_FLIGHT
    if placement[c] == n:
        return _SAME_NODE
    if placement[c] >= 0 and container_int[_C_MOVABILITY, c] == _NEVER:
        return _NEVER_MOVES
    if node_state[n] != _ON and node_state[n] != _WAKING:
        return _NOT_READY
    if (container_int[_C_ARCHITECTURES, c] >> node_int[_N_ARCHITECTURE, n]) & 1 == 0:
        return _ARCHITECTURE
    kind = container_int[_C_KIND, c]
    if kind >= 0 and (node_int[_N_KIND, n] != kind or taken[n] + container_int[_C_COUNT, c] > node_int[_N_COUNT, n]):
        return _ACCELERATOR
    if container_int[_C_PINNED, c] >= 0 and container_int[_C_PINNED, c] != n:
        return _PINNED
    at = container_int[_C_DATA, c]
    if at >= 0 and site_km[at, node_int[_N_SITE, n]] > container[_C_DATA_KM, c]:
        return _DISTANCE
    for r in range(_RESOURCES):
        if requested[r, n] + container[r, c] > node[r, n] * (1.0 + SLACK):
            return _NO_ROOM
    for r in range(_RESOURCES):
        if used[r, n] + usage[r, c] > ceiling * node[r, n] * (1.0 + SLACK):
            return _HOT
    return group_refusal(c, n, node_int, container_int, group, members, node_state, placement, target)


@compiled
def _reasons(
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
    _reasons(
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
