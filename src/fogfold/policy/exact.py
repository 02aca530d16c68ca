"""Exact: every decision of a small cluster solved to a proven optimum, as the yardstick for all that is faster.

The full model (`assignment`) says who goes where, with all hard constraints, in the reading in which room that is left
stays taken, so its plan can be carried out as it is. It decides about each pair of a container and a node, so it is
refused on clusters where that would take minutes: `guided` is within a per cent of it, and its bound is proven too.

In all else it is a rule like the others. It minimises power and the price of moves, nothing else: of two places that
are both within a container's patience it does not prefer the nearer one. It needs the solver HiGHS.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.encoding.arrays import FleetArrays
from fogfold.errors import ModelError
from fogfold.model.reason import Reason
from fogfold.model.resources import check_number
from fogfold.policy.assignment import pair_count, solve_assignment
from fogfold.policy.carry_out import carry_out, move_others
from fogfold.policy.params import RuleParams
from fogfold.policy.plan import Plan
from fogfold.policy.program import require_solver
from fogfold.policy.recipe import Recipe
from fogfold.policy.relief import relieve_by_few_moves
from fogfold.policy.remainder import closable_nodes, margin_rows, remaining_decision
from fogfold.policy.rule import Rule
from fogfold.policy.space import Space
from fogfold.policy.targets import Fit, trip_to_users_ms

__all__ = ["EXACT", "ExactParams"]


@dataclass(frozen=True)
class ExactParams(RuleParams):
    """Figures of the policy: those that all rules share, and when a plan counts as optimal."""

    low_mark: float = 1.0
    """CPU load up to which a node is looked at for emptying. All by default: the plan knows what moving costs."""
    gap: float = 1e-4
    """Relative distance between the plan's cost and the proven bound at which the plan counts as optimal."""
    time_limit_s: float = 60.0
    """Time after which the best plan found so far is taken, in s. A decision that hits it depends on the machine."""
    most_pairs: float = 12_000
    """Most pairs of a container and a node that a decision may be about: some forty nodes with three hundred
    containers, or a minute."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("gap", self.gap)
        check_number("time_limit_s", self.time_limit_s, above=True)
        check_number("most_pairs", self.most_pairs)


class _Emptying:
    """Empties the nodes that a proven optimum does not keep."""

    def __init__(self, params: ExactParams) -> None:
        self._params = params
        self._fleet: FleetArrays | None = None
        self._trip_ms: Float[Array, "containers sites"] = np.zeros((0, 0))

    def __call__(self, plan: Plan) -> None:
        fleet, params = plan.view.fleet, self._params
        if fleet is not self._fleet:
            self._fleet, self._trip_ms = fleet, trip_to_users_ms(fleet)
        may_close = closable_nodes(plan)
        if not may_close.any() or plan.draft.full:
            return
        folding = remaining_decision(plan, may_close, self._trip_ms)
        pairs = pair_count(folding)
        if pairs > params.most_pairs:
            raise ModelError(
                f"an exact decision about {fleet.nodes} nodes and {fleet.containers} containers has {pairs} pairs of a "
                f"container and a node, its limit is {params.most_pairs:g}; use the policy guided, or raise most_pairs "
                "and wait"
            )
        best = solve_assignment(
            folding,
            plan.draft.room_for_moves,
            held=True,
            gap=params.gap,
            time_limit_s=params.time_limit_s,
            rows=margin_rows(plan),
        )
        closing = may_close & ~best.awake
        emptied = carry_out(plan, closing, best.where)
        if (emptied == closing).all():
            move_others(plan, best.where)
        for n in np.flatnonzero(may_close & ~closing).tolist():
            plan.draft.stays.setdefault(n, Reason.NO_IMPROVING_TARGET)


def _make(name: str, params: ExactParams) -> Rule:
    require_solver()
    return Rule(name, params, fit=Fit.FULLEST, relieve=relieve_by_few_moves, empty=_Emptying(params))


EXACT = Recipe(
    name="exact",
    summary="Relieves hot nodes, then empties the nodes that a proven optimum does not keep; for small clusters.",
    params=ExactParams(),
    space=Space(
        {
            "high_mark": (0.6, 0.7, 0.75, 0.8, 0.9),
            "fill_mark": (0.4, 0.5, 0.6),
            "minimum_saving": (0.0, 1.0, 2.0, 3.0, 10.0),
            "wake_load": (0.5, 0.6, 0.7),
            "sleep_load": (0.3, 0.4, 0.45),
            "calm_decisions": (1, 2, 4, 8),
        }
    ),
    maker=_make,
)
