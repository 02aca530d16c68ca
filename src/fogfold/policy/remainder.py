"""What is left to decide once hot nodes are relieved: which nodes could still be emptied, and what must be kept.

The planners (`guided`, `exact`) choose all nodes together, so they need the rules of one decision as a problem: the
nodes that the power rule would let go, what the plan has taken so far, and the margins that the nodes which stay on
must keep. The power rule itself is asked again for every node that is let go.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from fogfold.compiled import Array
from fogfold.model.node import NodeState
from fogfold.model.reason import Reason
from fogfold.policy.emptying import fixed_by
from fogfold.policy.folding import Folding, folding_of
from fogfold.policy.plan import Plan
from fogfold.policy.targets import OPEN

__all__ = ["closable_nodes", "margin_rows", "remaining_decision"]


def closable_nodes(plan: Plan) -> Bool[Array, " nodes"]:
    """Nodes in use that each alone may be emptied: the power rule allows it, and nobody there is bound to stay.

    The others are noted as staying, with the reason.
    """
    draft, fixed = plan.draft, fixed_by(plan)
    in_use = (draft.state == NodeState.ON) & (draft.staying > 0)
    cold = draft.load()[0] <= plan.params.low_mark * (1.0 + 1e-9)
    may = np.zeros(len(in_use), bool)
    for n in np.flatnonzero(in_use).tolist():
        reason = Reason(int(fixed[n])) or plan.power.why_not(n)
        if reason is Reason.NONE and not cold[n]:
            reason = Reason.SCORE_LOW
        if reason is Reason.NONE:
            may[n] = True
        else:
            draft.stays.setdefault(n, reason)
    return may


def remaining_decision(
    plan: Plan, may_close: Bool[Array, " nodes"], trip_ms: Float[Array, "containers sites"]
) -> Folding:
    """The decision that is left, as a problem: no other node is woken or let go, and moves made so far are made.

    A move counts with the multiple of its price that the least saving asks for.

    Args:
        plan: the plan so far.
        may_close: nodes that may be emptied.
        trip_ms: as `targets.trip_to_users_ms` gives it.
    """
    draft, params = plan.draft, plan.params
    now = replace(plan.view, state=draft.state.copy(), target=draft.target.copy())
    folding = folding_of(now, ceiling=params.fill_ceiling, sleep_s=params.sleep_s, waking=False, trip_ms=trip_ms)
    in_use = folding.at_home.any(axis=0)
    may_run = (plan.targets.open() == OPEN) | in_use
    return replace(
        folding,
        may_run=may_run,
        may_rest=(may_close & folding.may_rest) | ~may_run,
        reach=folding.reach & may_run,
        move_w=params.minimum_saving * folding.move_w,
    )


def margin_rows(plan: Plan, usage: Float[Array, "4 containers"] | None = None) -> Float[Array, "rows nodes"]:
    """Rows `row . awake >= 1`: what the power rule wants the nodes that stay on to offer beyond what is used of it.

    Args:
        plan: the plan so far.
        usage: what containers use, where not what the plan's view says.
    """
    params, view = plan.params, plan.view
    open_capacity = np.where(plan.targets.open() == OPEN, view.fleet.capacity, 0.0)
    share = np.array([params.sleep_load, params.sleep_space, params.sleep_space, params.sleep_space])
    used = (view.usage if usage is None else usage).sum(axis=1) / share
    promised = view.fleet.request.sum(axis=1) / params.sleep_requested
    need = np.concatenate([used, promised])
    offered = np.concatenate([open_capacity, open_capacity])
    return offered[need > 0.0] / need[need > 0.0][:, None]
