"""Emptying of nodes: all of a node's containers find another place within one plan, or none of them moves.

Containers go largest first. Targets are nodes that stay on and have containers already, filled up to the fill marks; a
node that received some in this plan is not emptied in the same one, so no container moves twice.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, Int

from fogfold.compiled import Array
from fogfold.encoding.rows import ContainerInt
from fogfold.model.container import Movability
from fogfold.model.node import NodeState
from fogfold.model.reason import Reason
from fogfold.policy.plan import Plan
from fogfold.policy.targets import BARRED

__all__ = ["cold_nodes", "drain", "empty_each", "finish_draining", "fixed_by"]


def fixed_by(plan: Plan) -> Int[Array, " nodes"]:
    """For each node, the `Reason` why one of its containers can never leave it; 0 where none is bound to it."""
    fleet, placement = plan.view.fleet, plan.view.placement
    out = np.zeros(fleet.nodes, np.int32)
    pinned = (fleet.container_int[ContainerInt.PINNED] == placement) & (placement >= 0)
    out[placement[pinned]] = Reason.PINNED
    never = (fleet.container_int[ContainerInt.MOVABILITY] == Movability.NEVER) & (placement >= 0)
    out[placement[never]] = Reason.NEVER_MOVES
    return out


def cold_nodes(plan: Plan) -> Int[Array, " cold"]:
    """Nodes that are on, have containers, and whose CPU load is at most the low mark; the least loaded first.

    Nodes above the mark are noted as staying: so much to move for one node's idle power.
    """
    draft = plan.draft
    load = draft.load()[0]
    in_use = (draft.state == NodeState.ON) & (draft.staying > 0)
    cold = in_use & (load <= plan.params.low_mark * (1.0 + 1e-9))
    for n in np.flatnonzero(in_use & ~cold).tolist():
        draft.stays.setdefault(n, Reason.SCORE_LOW)
    found = np.flatnonzero(cold)
    return found[np.argsort(load[found], kind="stable")]


def empty_each(plan: Plan, nodes: Iterable[int], *, wanted: Bool[Array, " nodes"] | None = None) -> None:
    """Empty those nodes, in that order, that may sleep, are worth it, and whose containers find room elsewhere.

    Nodes that stay for a reason found before (they were hot, or were called off) are passed over.

    Args:
        plan: the plan so far; it gets the moves, the power orders, and why the other nodes stay.
        nodes: which to try, in which order.
        wanted: which nodes may receive; all that are on and in use where None.
    """
    fixed = fixed_by(plan)
    in_use = (plan.draft.staying > 0) | (plan.draft.arriving > 0)
    receivers = in_use if wanted is None else wanted
    enough = _enough(plan)
    failed = emptied = 0
    for n in nodes:
        if n in plan.draft.stays:
            continue
        if failed >= plan.params.most_failures or emptied >= plan.params.most_emptied:
            plan.draft.stays[n] = Reason.SCORE_LOW
            continue
        reason = Reason(int(fixed[n])) or plan.power.why_not(n)
        if reason is Reason.NONE and not enough[n]:
            reason = Reason.SCORE_LOW
        if reason is Reason.NONE and plan.draft.full:
            reason = Reason.MOVE_LIMIT
        if reason is Reason.NONE:
            reason = drain(plan, n, receivers)
            failed = 0 if reason is Reason.NONE else failed + 1
        if reason is Reason.NONE:
            plan.power.let_go(n)
            emptied += 1
        else:
            plan.draft.stays[n] = reason


def _enough(plan: Plan) -> Bool[Array, " nodes"]:
    """Which nodes save enough for what moving all that stays there would cost."""
    draft, placement = plan.draft, plan.view.placement
    staying = np.flatnonzero((placement >= 0) & (draft.target < 0))
    cost_wh = np.bincount(placement[staying], plan.cost_wh[staying], plan.view.fleet.nodes)
    enough: Bool[Array, " nodes"] = plan.saving_wh >= plan.params.minimum_saving * cost_wh
    return enough


def drain(plan: Plan, node: int, receivers: Bool[Array, " nodes"]) -> Reason:
    """Plan to move all of a node's containers elsewhere, or nothing of it.

    Gives `Reason.NONE` and leaves the node closed where all found a place; otherwise why the first one did not, and
    the plan is as it was, to the last bit.
    """
    draft = plan.draft
    before, state, ceiling = draft.moves, draft.state[node], plan.params.fill_ceiling
    draft.close(node)
    order = plan.decreasing(draft.stayers(node))
    wanted = np.where(receivers, plan.targets.open(), BARRED).astype(np.int8)
    placed = plan.targets.place(order, wanted, ceiling)
    if placed == len(order):
        return Reason.NONE
    blocked = Reason.MOVE_LIMIT
    if not draft.full:
        blocked = plan.targets.why_nowhere(int(order[placed]), wanted, ceiling)
    draft.take_back(before)
    draft.state[node] = state
    return blocked


def finish_draining(plan: Plan) -> None:
    """Order draining nodes to sleep again, so that their draining goes on; call it off where somebody cannot leave.

    A node whose containers are all on their way is left alone; those for whom a move was undone are moved again.
    """
    draft = plan.draft
    receivers = (draft.staying > 0) | (draft.arriving > 0)
    for n in np.flatnonzero((plan.view.state == NodeState.DRAINING) & (draft.state == NodeState.DRAINING)).tolist():
        may = draft.may_sleep(n)
        if may and not draft.is_emptied(n) and plan.power.woken == 0:
            drain(plan, n, receivers)
        if may and draft.is_emptied(n):
            plan.power.let_go(n)
        else:
            plan.power.wake(n)
            draft.stays[n] = Reason.NO_IMPROVING_TARGET
