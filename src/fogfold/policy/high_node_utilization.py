"""HighNodeUtilization of the Kubernetes descheduler: nodes that request little of everything are emptied.

A node is under-used where its requests of CPU and of memory are both below the threshold; usage is not looked at. Such
nodes are taken in order of requests, and the scheduler puts their containers where most is requested already
(MostAllocated): the descheduler's documentation asks for that scoring. As in the original nothing happens
where no node, or every node, is under-used; nodes at or above the threshold are the only targets.

Departures. The original evicts one by one, the least important first, and leaves half-emptied nodes behind; here a
node is emptied whole or not at all, its largest containers first. Usage is judged on the target beside requests, so
that containers that use more than they request do not pile up. Hot nodes are relieved by few moves, which the original
leaves to another plug-in. Pods are not counted (by default neither does the original).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from fogfold.model.node import NodeState
from fogfold.model.reason import Reason
from fogfold.model.resources import check_number
from fogfold.policy.emptying import empty_each
from fogfold.policy.params import RuleParams
from fogfold.policy.plan import Plan
from fogfold.policy.recipe import Recipe
from fogfold.policy.relief import relieve_by_few_moves
from fogfold.policy.rule import Rule
from fogfold.policy.space import Space
from fogfold.policy.targets import Fit

__all__ = ["HIGH_NODE_UTILIZATION", "HighNodeUtilizationParams"]


@dataclass(frozen=True)
class HighNodeUtilizationParams(RuleParams):
    """Figures of the rule: those that all share, and its own threshold."""

    threshold: float = 0.5
    """A node is under-used where it requests less than this share of CPU and of memory. The documentation's examples
    say 0.2, at which hardly a node would ever be emptied: requests of the clusters here start at a half."""
    minimum_saving: float = 0.0
    """The original weighs no cost of moves."""

    def __post_init__(self) -> None:
        RuleParams.__post_init__(self)
        check_number("threshold", self.threshold, high=1.0)


def _empty(params: HighNodeUtilizationParams, plan: Plan) -> None:
    draft, fleet = plan.draft, plan.view.fleet
    requested = plan.view.requested / fleet.capacity
    on = (draft.state == NodeState.ON) & ((draft.staying > 0) | (draft.arriving > 0))
    under = on & (requested[:2] < params.threshold).all(axis=0)
    over = on & ~under
    sources = np.flatnonzero(under & (draft.staying > 0))
    for n in np.flatnonzero(over).tolist():
        draft.stays.setdefault(n, Reason.SCORE_LOW)
    if not over.any():
        for n in sources.tolist():
            draft.stays.setdefault(n, Reason.NO_IMPROVING_TARGET)
        return
    total = requested[:2, sources].sum(axis=0)
    empty_each(plan, sources[np.argsort(total, kind="stable")].tolist(), wanted=over)


def _make(name: str, params: HighNodeUtilizationParams) -> Rule:
    return Rule(name, params, fit=Fit.MOST_ALLOCATED, relieve=relieve_by_few_moves, empty=partial(_empty, params))


HIGH_NODE_UTILIZATION = Recipe(
    name="high-node-utilization",
    summary="The descheduler's HighNodeUtilization: nodes with few requests are emptied onto those with many.",
    params=HighNodeUtilizationParams(),
    space=Space(
        {
            "threshold": (0.2, 0.3, 0.4, 0.5, 0.6),
            "high_mark": (0.5, 0.55, 0.6, 0.7, 0.8),
            "fill_mark": (0.3, 0.4, 0.45, 0.5),
            "late_limit": (0.0003, 0.001, 0.003, 0.01, 0.03),
            "least_rate_bit_s": (30e6, 100e6, 200e6),
            "wake_load": (0.55, 0.6, 0.65),
            "sleep_load": (0.3, 0.35, 0.4, 0.45, 0.5),
            "calm_decisions": (1, 2, 4, 8),
        }
    ),
    maker=_make,
)
