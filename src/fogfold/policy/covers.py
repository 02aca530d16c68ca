"""What the nodes that stay on must offer together: room for all, room for those who may run only on some of them.

A container that never leaves a set of nodes (an instruction set, a site and its surroundings, a kind of accelerator)
needs room within the set. Summed over all such containers this is one linear row over the nodes: necessary, never
sufficient, and cheap. Rows that are far from binding are left out, which keeps a bound a bound.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.encoding.rows import ContainerInt, GroupRow, NodeInt
from fogfold.model.cluster import Scope
from fogfold.policy.folding import Folding
from fogfold.policy.program import Rows

__all__ = ["cover_rows", "put_covers", "scaled_covers"]

_MOST_SETS = 256
"""Sets of nodes that are looked at: those to which most usage is bound."""
_SLACK_NEED = 0.02
"""A row is left out where the need is a smaller share of what all nodes of the set offer."""


def cover_rows(folding: Folding, *, most: int = 96) -> Float[Array, "rows nodes"]:
    """Rows `row . awake >= 1` that hold for every plan, those closest to binding first.

    Args:
        folding: the decision.
        most: how many rows at most.
    """
    offered = np.concatenate([np.where(folding.may_run, folding.most, 0.0), _accelerators(folding)])
    amount = np.concatenate([folding.amount, _accelerator_needs(folding)])
    sets = _sets(folding)
    bound = _bound_within(folding, sets, amount)
    inside = sets.astype(np.float64) @ offered.T
    # What is needed beyond all that there is (an overloaded start) cannot be asked for.
    share = np.divide(bound, inside, out=np.zeros_like(bound), where=inside > 0.0)
    share[share > 1.0] = 0.0
    row_set, resource = np.nonzero(share > _SLACK_NEED)
    tightest = np.argsort(-share[row_set, resource], kind="stable")[:most]
    row_set, resource = row_set[tightest], resource[tightest]
    rows = np.minimum(offered[resource] / bound[row_set, resource][:, None], 1.0) * sets[row_set]
    return np.concatenate([rows, _keep_apart(folding, most)])


def scaled_covers(covers: Float[Array, "rows nodes"]) -> tuple[Float[Array, "rows nodes"], Float[Array, " rows"]]:
    """The same rows as `scaled . awake >= low`, with entries near 1 whatever the number of nodes.

    An entry is what one node offers of the need of all, a thousandth on a thousand nodes; beside the solver's
    tolerances that is little.
    """
    low = np.maximum(np.count_nonzero(covers, axis=1), 1).astype(np.float64)
    return covers * low[:, None], low


def put_covers(covers: Float[Array, "rows nodes"], awake: Int[Array, " nodes"], rows: Rows) -> None:
    """Add rows `row . awake >= 1` to a program.

    Args:
        covers: the rows.
        awake: the variable of each node.
        rows: the program's rows.
    """
    scaled, low = scaled_covers(covers)
    which = rows.add(len(scaled), low=low)
    row, node = np.nonzero(scaled)
    rows.put(which[row], awake[node], scaled[row, node])


def _accelerators(folding: Folding) -> Float[Array, "kinds nodes"]:
    """How many accelerators of each kind every node has."""
    fleet = folding.view.fleet
    kind, count = fleet.node_int[NodeInt.ACCELERATOR_KIND], fleet.node_int[NodeInt.ACCELERATOR_COUNT]
    kinds = max(int(kind.max(initial=-1)), int(fleet.container_int[ContainerInt.ACCELERATOR_KIND].max(initial=-1))) + 1
    has = np.arange(kinds)[:, None] == kind
    return np.where(has & folding.may_run, count, 0).astype(np.float64)


def _accelerator_needs(folding: Folding) -> Float[Array, "kinds containers"]:
    """How many accelerators of each kind every container needs."""
    fleet = folding.view.fleet
    kinds = len(_accelerators(folding))
    kind, count = (
        fleet.container_int[ContainerInt.ACCELERATOR_KIND],
        fleet.container_int[ContainerInt.ACCELERATOR_COUNT],
    )
    needs = (np.arange(kinds)[:, None] == kind) & (folding.home >= 0)
    return np.where(needs, count, 0).astype(np.float64)


def _sets(folding: Folding) -> Bool[Array, "sets nodes"]:
    """All nodes that may run, and the reaches of the kinds of containers, without repetition."""
    usage = np.bincount(folding.kind, folding.amount[4], len(folding.reach))
    heaviest = np.argsort(-usage, kind="stable")[:_MOST_SETS]
    sets = np.concatenate([folding.may_run[None], folding.reach[heaviest]])
    return np.unique(sets[sets.any(axis=1)], axis=0) if sets.any() else sets


def _bound_within(
    folding: Folding, sets: Bool[Array, "sets nodes"], amount: Float[Array, "rows containers"]
) -> Float[Array, "sets rows"]:
    """How much of each amount belongs to containers that stay within each set whatever is decided."""
    home, kind = folding.home, folding.kind
    there = home >= 0
    settled = folding.movable & there & folding.reach[kind, np.maximum(home, 0)]
    outside = (~sets).astype(np.float32)
    within = (folding.reach.astype(np.float32) @ outside.T) == 0
    by_kind = np.array([np.bincount(kind[settled], row[settled], len(folding.reach)) for row in amount])
    total: Float[Array, "sets rows"] = within.T.astype(np.float64) @ by_kind.T
    # Those that never move, and those whose home is not within their own reach.
    stays = np.flatnonzero(there & ~folding.movable)
    total += sets[:, home[stays]].astype(np.float64) @ amount[:, stays].T
    stray = np.flatnonzero(there & folding.movable & ~settled)
    total += (sets[:, home[stray]] & within[kind[stray]].T).astype(np.float64) @ amount[:, stray].T
    return total


def _keep_apart(folding: Folding, most: int) -> Float[Array, "rows nodes"]:
    """Members of a group that keep apart need as many nodes as they have homes: those who move may not join another."""
    fleet = folding.view.fleet
    needed: dict[bytes, int] = {}
    for g in np.flatnonzero(fleet.group[GroupRow.ANTI_AFFINITY] != Scope.NONE):
        members = fleet.members[fleet.group[GroupRow.FIRST, g] : fleet.group[GroupRow.END, g]]
        members = members[folding.home[members] >= 0]
        homes = len(np.unique(folding.home[members]))
        if homes > 1:
            kinds = folding.kind[members[folding.movable[members]]]
            where: Bool[Array, " nodes"] = np.array(folding.reach[kinds].any(axis=0))
            where[folding.home[members]] = True
            key = np.packbits(where).tobytes()
            needed[key] = max(needed.get(key, 0), homes)
    hardest = sorted(needed.items(), key=lambda item: (-item[1], item[0]))[:most]
    rows = np.zeros((len(hardest), fleet.nodes))
    for row, (key, homes) in zip(rows, hardest, strict=True):
        row[:] = np.unpackbits(np.frombuffer(key, np.uint8), count=fleet.nodes) / homes
    return rows
