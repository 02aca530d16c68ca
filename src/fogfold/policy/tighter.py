"""A tighter bound for few nodes: the compact bound, and the full model where the compact one is too hopeful.

The compact model takes load as a liquid. Where nodes end up nearly full it knows nothing of what it takes to get
everybody in: some would have to leave a node that is kept, to make room. So its choice is held against the truth: the
full model with all other nodes asleep, far smaller than that of all nodes, says what the cheapest plan within that
choice costs. Every other plan has one of the others awake, which is one more row for the compact model (logic-based
Benders decomposition: Hooker and Ottosson, Mathematical Programming 96, 2003). The lesser of the two bounds every
plan, and after some rounds they meet.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fogfold.policy.assignment import solve_assignment
from fogfold.policy.compact import Bound, compact_bound
from fogfold.policy.folding import Folding

__all__ = ["tightened_bound"]

_NODE_LIMIT = 1_000
"""Branch-and-bound nodes for each choice; what is proven by then bounds as well."""


def tightened_bound(folding: Folding, budget: int | None = None, *, rounds: int = 8, gap: float = 1e-4) -> Bound:
    """A bound that is never below the compact one, and never above the optimum.

    Args:
        folding: the decision; some fifty nodes at most, or each round takes minutes.
        budget: how many containers may be moved at most; None for no limit.
        rounds: how many choices of nodes are held against the truth at most; with 0 it is the compact bound.
        gap: relative gap at which the compact model and the full one count as solved.

    Raises:
        MissingExtraError: if HiGHS is not installed.
    """
    cuts = np.zeros((0, len(folding.may_run)))
    found = compact_bound(folding, budget, gap=gap)
    within_w = np.inf
    for _ in range(rounds):
        if found.value_w >= within_w * (1.0 - gap):
            break
        asleep = ~found.keep
        inside = solve_assignment(folding, budget, held=False, gap=gap, node_limit=_NODE_LIMIT, asleep=asleep)
        within_w = min(within_w, inside.bound_w)
        if not (asleep & folding.may_run).any():
            break
        cuts = np.concatenate([cuts, (asleep & folding.may_run)[None].astype(np.float64)])
        found = compact_bound(folding, budget, rows=cuts, gap=gap)
    return replace(found, value_w=min(found.value_w, within_w))
