"""Which nodes are hot: usage of a resource above its mark, or a processor that a rule of detection calls overloaded.

Only nodes that are on count; one that is draining is being emptied anyway. Requests make no node hot: they are room
that was promised, and `feasibility` sees to it that no more is promised than there is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from fogfold.compiled import Array
from fogfold.model.node import NodeState
from fogfold.policy.overload import OFF, is_overloaded, overloaded_nodes
from fogfold.policy.plan import Plan

__all__ = ["hot_nodes", "is_hot"]

_SLACK = 1e-9
"""Relative slack of a comparison with a mark: a node that a move filled to the mark is not above it."""


def _marks(plan: Plan) -> Float[Array, " 4"]:
    """The mark of each resource."""
    cpu, space = plan.params.relief_ceiling
    return np.array([cpu, space, space, space]) * (1.0 + _SLACK)


def hot_nodes(plan: Plan) -> Bool[Array, " nodes"]:
    """Which nodes are on and hot by the plan so far."""
    draft, load, mark = plan.draft, plan.draft.load(), _marks(plan)
    on = draft.state == NodeState.ON
    if plan.detection.rule == OFF:
        return on & (load > mark[:, None]).any(axis=0)
    history = draft.history.copy()
    past = draft.sheet.cpu_history
    leaving = np.flatnonzero((draft.target >= 0) & (plan.view.placement >= 0))
    source = plan.view.placement[leaving]
    np.subtract.at(history, source, past[leaving] / plan.view.fleet.capacity[0, source][:, None])
    return on & ((load[1:] > mark[1:, None]).any(axis=0) | overloaded_nodes(plan.detection, load[0], history))


def is_hot(plan: Plan, node: int, without: Sequence[int] = ()) -> bool:
    """Whether a node that is on is hot once all moves of the plan so far are done.

    Args:
        plan: the plan so far.
        node: which node.
        without: containers that stay there by the plan and are to be left out of account.
    """
    draft, mark = plan.draft, _marks(plan)
    capacity = plan.view.fleet.capacity[:, node]
    gone = list(without)
    load = draft.load_of(node) - plan.view.usage[:, gone].sum(axis=1) / capacity
    if plan.detection.rule == OFF:
        return bool((load > mark).any())
    if (load[1:] > mark[1:]).any():
        return True
    here = draft.everyone(node)
    gone += here[draft.target[here] >= 0].tolist()
    history = draft.history[node] - draft.sheet.cpu_history[gone].sum(axis=0) / capacity[0]
    return bool(is_overloaded(plan.detection, load[0], history))
