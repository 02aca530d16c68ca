"""Drain: the least loaded node is emptied, whenever there is room up to the ceiling, and hot nodes are left hot.

Kept as the known-bad simple rule: the energy it saves is the largest and its users pay for it. It looks at the room
that is left and at nothing else, as a first attempt at consolidation does. Waking is the same as in all rules, but
without relief nobody moves to a node that was woken.
"""

from __future__ import annotations

from dataclasses import dataclass

from fogfold.policy.emptying import cold_nodes, empty_each
from fogfold.policy.params import RuleParams
from fogfold.policy.plan import Plan
from fogfold.policy.recipe import Recipe
from fogfold.policy.rule import Rule, leave_hot
from fogfold.policy.space import Space
from fogfold.policy.targets import Fit

__all__ = ["DRAIN", "DrainParams"]


@dataclass(frozen=True)
class DrainParams(RuleParams):
    """Figures of the rule: those that all share, with nothing kept in reserve."""

    high_mark: float = 0.9
    """The world's own ceiling: no node is called hot before."""
    fill_mark: float = 0.9
    """The same: targets are filled as far as moves are allowed at all."""
    space_fill_mark: float = 0.9
    """The same."""
    low_mark: float = 1.0
    """Every node may be emptied."""
    late_limit: float = 1.0
    """Lateness is not looked at, unless every request would be late."""


def _empty(plan: Plan) -> None:
    empty_each(plan, cold_nodes(plan).tolist())


def _make(name: str, params: DrainParams) -> Rule:
    return Rule(name, params, fit=Fit.FULLEST, relieve=leave_hot, empty=_empty)


DRAIN = Recipe(
    name="drain",
    summary="Empties the least loaded node while there is room, and never relieves a hot one: known to be bad.",
    params=DrainParams(),
    space=Space(
        {
            "high_mark": (0.7, 0.8, 0.9),
            "fill_mark": (0.5, 0.6, 0.7),
            "low_mark": (0.3, 0.5, 1.0),
            "wake_load": (0.55, 0.65, 0.75),
            "sleep_load": (0.35, 0.45, 0.5),
        }
    ),
    maker=_make,
)
