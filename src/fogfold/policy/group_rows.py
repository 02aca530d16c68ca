"""The rules of groups as rows of a full model: keep apart, spread evenly, not too many on the move."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int

from fogfold.compiled import Array
from fogfold.encoding.rows import GroupRow
from fogfold.model.cluster import Scope
from fogfold.policy.folding import Folding
from fogfold.policy.pairs import Pairs, domain_of, members_of
from fogfold.policy.program import Columns, Rows

__all__ = ["add_group_rows", "groups_out_of_balance"]


def groups_out_of_balance(folding: Folding) -> Int[Array, " groups"]:
    """Groups that break their spread as things stand."""
    group = folding.view.fleet.group
    out = []
    for g in np.flatnonzero(group[GroupRow.SPREAD] != Scope.NONE).tolist():
        domain = domain_of(folding, int(group[GroupRow.SPREAD, g]))
        counts = _counts(folding, members_of(folding, g), domain)
        counted = counts[_domains(folding, g, domain, folding.awake_anyway)]
        least = int(counted.min()) if len(counted) else 0
        if counts.max(initial=0) - least > group[GroupRow.MAX_SKEW, g]:
            out.append(g)
    return np.array(out, np.int64)


def _counts(folding: Folding, members: Int[Array, " members"], domain: Int[Array, " nodes"]) -> Int[Array, " domains"]:
    home = folding.home[members]
    return np.bincount(domain[home[home >= 0]], minlength=int(domain.max()) + 1)


def _domains(
    folding: Folding, group: int, domain: Int[Array, " nodes"], awake: Bool[Array, " nodes"]
) -> Int[Array, " domains"]:
    """Domains over which a group's spread is judged: all, or those with a node that is awake."""
    counted = np.ones(len(domain), bool) if folding.view.fleet.group[GroupRow.GHOSTS_COUNT, group] else awake
    return np.unique(domain[counted])


def add_group_rows(
    folding: Folding,
    pairs: Pairs,
    awake: Int[Array, " nodes"],
    pair: Int[Array, " pairs"],
    columns: Columns,
    rows: Rows,
    *,
    held: bool,
) -> None:
    """Add to a program what every group asks for.

    Args:
        folding: the decision.
        pairs: its pairs.
        awake: the variable of each node.
        pair: the variable of each pair.
        columns: the program's variables; each spread adds one.
        rows: the program's rows.
        held: whether a place that a member leaves stays barred.
    """
    fleet = folding.view.fleet
    of_container: list[Int[Array, " pairs"]] = [np.zeros(0, np.int64)] * fleet.containers
    edges = np.searchsorted(pairs.container, np.arange(fleet.containers + 1))
    for c in pairs.movers.tolist():
        of_container[c] = np.arange(edges[c], edges[c + 1])
    settled = pairs.settled(folding)
    for g in range(fleet.group.shape[1]):
        members = members_of(folding, g)
        moving = np.concatenate([of_container[m] for m in members.tolist()] or [np.zeros(0, np.int64)])
        if not len(moving):
            continue
        homes = moving[pairs.is_home[moving]]
        rows.put(int(rows.add(1, low=float(len(homes) - folding.moves_left[g]))[0]), pair[homes], 1.0)
        anti = int(fleet.group[GroupRow.ANTI_AFFINITY, g])
        if anti != Scope.NONE:
            domain = domain_of(folding, anti)
            fixed = _counts(folding, members[settled[members]], domain)
            most = np.maximum(_counts(folding, members, domain), 1)
            counted = moving[~pairs.is_home[moving]] if held else moving
            for d in np.unique(domain[pairs.node[counted]]):
                there = counted[domain[pairs.node[counted]] == d]
                limit = 1 if held else most[d] - fixed[d]
                if len(there) > limit:
                    rows.put(int(rows.add(1, high=float(limit))[0]), pair[there], 1.0)
        if fleet.group[GroupRow.SPREAD, g] != Scope.NONE:
            _add_spread(folding, pairs, g, members[settled[members]], moving, awake, pair, columns, rows)


def _add_spread(
    folding: Folding,
    pairs: Pairs,
    group: int,
    settled: Int[Array, " settled"],
    moving: Int[Array, " moving"],
    awake: Int[Array, " nodes"],
    pair: Int[Array, " pairs"],
    columns: Columns,
    rows: Rows,
) -> None:
    """No domain holds more than the lowest count and the skew; a domain asleep counts only where ghosts do."""
    fleet = folding.view.fleet
    domain = domain_of(folding, int(fleet.group[GroupRow.SPREAD, group]))
    skew = float(fleet.group[GroupRow.MAX_SKEW, group])
    ghosts = bool(fleet.group[GroupRow.GHOSTS_COUNT, group])
    fixed = _counts(folding, settled, domain)
    members = float(len(members_of(folding, group)))
    lowest = columns.add(1, high=members)
    everywhere = _domains(folding, group, domain, folding.may_run)
    for d in np.unique(np.concatenate([everywhere, domain[pairs.node[moving]]])):
        there = pair[moving[domain[pairs.node[moving]] == d]]
        row = int(rows.add(1, high=skew - float(fixed[d]))[0])
        rows.put(row, there, 1.0)
        rows.put(row, lowest, -1.0)
        # The lowest count is at most this domain's, where the domain counts: always, or while one of its nodes is up.
        nodes = np.flatnonzero(domain == d)
        for n in nodes[folding.may_run[nodes]] if not ghosts else nodes[:1]:
            row = int(rows.add(1, high=float(fixed[d]) + (0.0 if ghosts else members))[0])
            rows.put(row, lowest, 1.0)
            rows.put(row, there, -1.0)
            if not ghosts:
                rows.put(row, awake[[n]], members)
