"""First fit decreasing: the least loaded node is emptied, its largest container first, each onto the first that fits.

The bin-packing rule of Johnson (1973) as a drain: bins are the nodes that are on, and only nodes at or under the low
mark are opened again. Departure for the fog: nodes are gone through from the nearest to the container's users
outward, since a first node at random places would cost more latency than it saves energy.
"""

from __future__ import annotations

from dataclasses import dataclass

from fogfold.policy.emptying import cold_nodes, empty_each
from fogfold.policy.params import RuleParams
from fogfold.policy.plan import Plan
from fogfold.policy.recipe import Recipe
from fogfold.policy.relief import relieve_by_few_moves
from fogfold.policy.rule import Rule
from fogfold.policy.space import Space
from fogfold.policy.targets import Fit

__all__ = ["FIRST_FIT", "FirstFitParams"]


@dataclass(frozen=True)
class FirstFitParams(RuleParams):
    """Figures of the rule: those that all share."""


def _empty(plan: Plan) -> None:
    empty_each(plan, cold_nodes(plan).tolist())


def _make(name: str, params: FirstFitParams) -> Rule:
    return Rule(name, params, fit=Fit.NEAREST, relieve=relieve_by_few_moves, empty=_empty)


FIRST_FIT = Recipe(
    name="first-fit",
    summary="Empties the least loaded node, largest container first, each onto the first near node that fits.",
    params=FirstFitParams(),
    space=Space(
        {
            "high_mark": (0.5, 0.55, 0.6, 0.7, 0.8),
            "fill_mark": (0.3, 0.4, 0.45, 0.5),
            "low_mark": (0.3, 0.5, 0.7),
            "late_limit": (0.0003, 0.001, 0.003, 0.01, 0.03),
            "least_rate_bit_s": (30e6, 100e6, 200e6),
            "wake_load": (0.55, 0.6, 0.65),
            "sleep_load": (0.3, 0.35, 0.4, 0.45, 0.5),
            "calm_decisions": (1, 2, 4, 8),
        }
    ),
    maker=_make,
)
