"""Relief of hot nodes by few moves: the smallest container that is enough, or else the largest that can go.

The minimisation of migrations of Beloglazov, Abawajy and Buyya (FGCS 28, 2012, section 5.2), on the resource that is
furthest above the mark. Where no node that is on may take any of a hot node's containers, one is woken.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from fogfold.compiled import Array
from fogfold.model.reason import Reason
from fogfold.policy.hot import hot_nodes, is_hot
from fogfold.policy.plan import Plan

__all__ = ["note_relieved", "relieve_by_few_moves"]


def relieve_by_few_moves(plan: Plan) -> None:
    """Move containers away from hot nodes, the hottest first, until none is hot or nothing more can go."""
    hot = np.flatnonzero(hot_nodes(plan))
    for n in hot[np.argsort(-plan.draft.load()[:, hot].max(axis=0), kind="stable")].tolist():
        _relieve(plan, n, waking=False)
        if plan.power.can_wake and is_hot(plan, n):
            _relieve(plan, n, waking=True)
        note_relieved(plan, n)


def note_relieved(plan: Plan, node: int) -> None:
    """Say why a node that was hot stays on: it is needed, or nothing that could go has anywhere better to be."""
    if not is_hot(plan, node):
        plan.draft.stays[node] = Reason.NODE_HOT
    else:
        plan.draft.stays[node] = Reason.MOVE_LIMIT if plan.draft.full else Reason.NO_IMPROVING_TARGET


def _relieve(plan: Plan, node: int, *, waking: bool) -> None:
    draft, ceiling = plan.draft, plan.params.relief_ceiling
    tried: set[int] = set()
    while is_hot(plan, node) and not draft.full:
        container = _next(plan, node, tried)
        if container < 0:
            return
        tried.add(container)
        target = plan.targets.best(container, plan.targets.open(), ceiling)
        if target < 0 and waking:
            target = plan.power.wake_for(container, ceiling)
        if target >= 0:
            draft.move(container, target)


def _next(plan: Plan, node: int, tried: set[int]) -> int:
    """The smallest container not yet tried that alone brings the worst resource under its mark, else the largest."""
    here: Int[Array, " residents"] = plan.draft.stayers(node)
    if tried:
        here = here[~np.isin(here, list(tried))]
    if not len(here):
        return -1
    load = plan.draft.load_of(node)
    cpu, space = plan.params.relief_ceiling
    excess = load - np.array([cpu, space, space, space])
    worst = int(np.argmax(excess))
    share = plan.view.usage[worst, here] / plan.view.fleet.capacity[worst, node]
    enough = np.flatnonzero(share >= excess[worst])
    if len(enough):
        return int(here[enough[np.argmin(share[enough])]])
    return int(here[np.argmax(share)])
