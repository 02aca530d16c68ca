"""Carries out a plan that was made elsewhere: node by node through the draft, which checks every move again."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int

from fogfold.compiled import Array, compiled
from fogfold.model.reason import Reason
from fogfold.policy.plan import Plan
from fogfold.policy.sheet import Sheet, refused, take

__all__ = ["carry_out", "move_others"]


@compiled
def _move_all(container: Array, target: Array, ceiling: float, sheet: Sheet) -> int:
    """Plan the moves in that order until one is refused; gives how many were planned."""
    for i in range(len(container)):
        if target[i] < 0 or refused(container[i], target[i], ceiling, sheet) != Reason.NONE:
            return i
        take(container[i], target[i], sheet)
    return len(container)


def carry_out(plan: Plan, closing: Bool[Array, " nodes"], where: Int[Array, " containers"]) -> Bool[Array, " nodes"]:
    """Empty nodes as a plan says; gives those that were emptied and let go.

    Nodes that save most for each move go first, so that what the plan's limit or the power rule cuts off is least.
    What is refused leaves its node as it was, with the reason; a second round follows for those that waited for others.

    Args:
        plan: the decision in the making; it gets the moves and the power orders.
        closing: nodes to be emptied.
        where: the node to which each of their containers goes.
    """
    draft, power = plan.draft, plan.power
    done = np.zeros(len(closing), bool)
    nodes = np.flatnonzero(closing)
    saving = plan.saving_wh[nodes] / np.maximum(draft.staying[nodes], 1)
    waiting = nodes[np.argsort(-saving, kind="stable")].tolist()
    for n in waiting:
        draft.close(n)
    before = -1
    while waiting and len(waiting) != before:
        before = len(waiting)
        for n in list(waiting):
            reason = power.why_not(n) or _empty(plan, n, where)
            if reason is Reason.NONE:
                power.let_go(n)
                draft.stays.pop(n, None)
                waiting.remove(n)
                done[n] = True
            else:
                draft.stays[n] = reason
    for n in waiting:
        draft.reopen(n)
    return done


def move_others(plan: Plan, where: Int[Array, " containers"]) -> None:
    """Make the moves of a plan that empty no node, each where it is legal by then and the plan has room for it.

    Args:
        plan: the decision in the making.
        where: the node on which each container is to be; -1 for those that the plan says nothing about.
    """
    draft, placement = plan.draft, plan.view.placement
    wanted = np.flatnonzero((draft.target < 0) & (placement >= 0) & (where >= 0) & (where != placement))
    for c in plan.decreasing(wanted).tolist():
        if not draft.full:
            _move_all(np.array([c]), where[[c]], draft.ceiling, draft.sheet)


def _empty(plan: Plan, node: int, where: Int[Array, " containers"]) -> Reason:
    draft = plan.draft
    order = plan.decreasing(draft.stayers(node))
    if len(order) > draft.room_for_moves:
        return Reason.MOVE_LIMIT
    start = draft.moves
    placed = int(_move_all(order, where[order], draft.ceiling, draft.sheet))
    if placed == len(order):
        return Reason.NONE
    c, n = int(order[placed]), int(where[order[placed]])
    reason = Reason.NO_IMPROVING_TARGET if n < 0 else Reason(int(draft.reasons(c)[n]))
    draft.take_back(start)
    return reason
