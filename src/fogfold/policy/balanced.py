"""Balanced, Karpenter's rule of 2026: a node goes where its share of the saving is worth its share of the disruption.

score = (saving of the node / saving of all) / (disruption of the node / disruption of all); a node is emptied at a
score of at least 1 / threshold, by default 0.5, the best score first. Both sides are shares, so the rule means the
same in clusters of any size. Disruption is 1 for the node and, for each container, a weight by class that grows with
downtime, cut at 10 as Karpenter cuts its eviction cost. Source: kubernetes-sigs/karpenter, designs/balanced-
consolidation.md.

Departures. Price is idle less sleep power, since what containers draw goes with them. Karpenter may replace a node by a
cheaper one; here nodes are only emptied. Where containers go is Kubernetes' affair there; here it is best fit. Hot
nodes are relieved by few moves, which Karpenter does not do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.encoding.rows import ContainerInt, NodeRow
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

__all__ = ["BALANCED", "BalancedParams", "balanced_scores"]

_MOST = 10.0
"""Most that one container's disruption counts (Karpenter's clamp)."""


@dataclass(frozen=True)
class BalancedParams(RuleParams):
    """Figures of the rule: those that all share, and Karpenter's."""

    low_mark: float = 1.0
    """Karpenter looks at no utilisation: the score decides."""
    minimum_saving: float = 0.0
    """The same."""
    threshold: float = 2.0
    """Karpenter's consolidationThreshold: a node is emptied at a score of at least 1 over this. Its default."""
    critical_weight: float = 4.0
    """Disruption of a critical container, where a standard one counts 1 (Karpenter: by pod priority, up to 10)."""
    batch_weight: float = 0.5
    """Disruption of a batch container: nobody waits for it, but its work is thrown back."""
    downtime_s: float = 10.0
    """Downtime that doubles the disruption of a container, in s: a live move is down for one, a restart for many."""

    def __post_init__(self) -> None:
        RuleParams.__post_init__(self)
        check_number("critical_weight", self.critical_weight)
        check_number("batch_weight", self.batch_weight)
        check_number("threshold", self.threshold, above=True)
        check_number("downtime_s", self.downtime_s, above=True)


def balanced_scores(params: BalancedParams, plan: Plan) -> Float[Array, " nodes"]:
    """Score of emptying each node that is on, by the cluster as it stands; 0 for nodes that are not on."""
    view, fleet = plan.view, plan.view.fleet
    weights = np.array([params.critical_weight, 1.0, params.batch_weight])
    by_class = weights[fleet.container_int[ContainerInt.SERVICE_CLASS]]
    each = np.minimum(by_class * (1.0 + plan.moves.downtime_s / params.downtime_s), _MOST)
    here = np.flatnonzero(view.placement >= 0)
    disruption = 1.0 + np.bincount(view.placement[here], each[here], fleet.nodes)
    saving_w = fleet.idle_w - fleet.node[NodeRow.SLEEP_W]
    on = view.on
    total_w, total_disruption = saving_w[on].sum(), disruption[on].sum()
    if total_w <= 0.0:
        return np.zeros(fleet.nodes)
    return np.where(on, (saving_w / total_w) / (disruption / max(total_disruption, 1.0)), 0.0)


def _empty(params: BalancedParams, plan: Plan) -> None:
    draft = plan.draft
    score = balanced_scores(params, plan)
    in_use = (draft.state == NodeState.ON) & (draft.staying > 0)
    good = score >= 1.0 / params.threshold
    for n in np.flatnonzero(in_use & ~good).tolist():
        draft.stays.setdefault(n, Reason.SCORE_LOW)
    found = np.flatnonzero(in_use & good)
    empty_each(plan, found[np.argsort(-score[found], kind="stable")].tolist())


def _make(name: str, params: BalancedParams) -> Rule:
    return Rule(name, params, fit=Fit.FULLEST, relieve=relieve_by_few_moves, empty=partial(_empty, params))


BALANCED = Recipe(
    name="balanced",
    summary="Karpenter's Balanced: nodes are emptied whose share of the saving is worth their share of the disruption.",
    params=BalancedParams(),
    space=Space(
        {
            "threshold": (0.5, 1.0, 2.0, 4.0),
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
