"""Guided: the compact model says which nodes to keep; the others are emptied, all at once and largest containers first.

Rules choose one node after another, and each takes room that a better choice would have needed. The compact model
(`compact`) chooses all nodes together, within the moves that may be made, and knows how far from the best possible a
plan is. So the policy stops as soon as a plan is good enough, and searches on (`ruin_recreate`) where packing is tight,
as on a few nodes it is.

In all else it is a rule like the others: hot nodes are relieved first, power orders follow the same evidence, targets
the same marks and masks. It needs the solver HiGHS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from fogfold.compiled import Array
from fogfold.encoding.arrays import ClusterView, FleetArrays
from fogfold.model.reason import Reason
from fogfold.model.resources import check_number
from fogfold.policy.carry_out import carry_out, move_others
from fogfold.policy.compact import compact_bound, quick_bound
from fogfold.policy.params import RuleParams
from fogfold.policy.plan import Plan
from fogfold.policy.program import require_solver
from fogfold.policy.recipe import Recipe
from fogfold.policy.relief import relieve_by_few_moves
from fogfold.policy.remainder import closable_nodes, margin_rows, remaining_decision
from fogfold.policy.resettle import resettle
from fogfold.policy.ruin_recreate import empty_nodes, improve
from fogfold.policy.rule import Rule
from fogfold.policy.space import Space
from fogfold.policy.targets import Fit, trip_to_users_ms
from fogfold.policy.workbench import CI, NI, Tastes, Workbench, workbench_of

__all__ = ["GUIDED", "Emptying", "GuidedParams"]

_ATTEMPTS = ((False, 0.0, False), (False, 0.0, True), (False, 0.02, False), (True, 0.0, False), (True, 0.0, True))
"""Tried in turn until a plan is good enough: whether the compact model is solved to the end; the share of the room that
it leaves free, so that packing succeeds; whether nodes that could not be emptied in earlier attempts are to be kept."""
_COMPACT_GAP = 2e-4
_SEARCH_KEY = 1
"""From which all draws of a search come: the same view gives the same plan."""


@dataclass(frozen=True)
class GuidedParams(RuleParams):
    """Figures of the policy: those that all rules share, and how far it goes for a better plan."""

    low_mark: float = 1.0
    """CPU load up to which a node is looked at for emptying. All by default: the plan knows what moving costs."""
    good_enough: float = 0.004
    """Share of the greatest possible saving that may be missed without a search for more."""
    search_effort: int = 10_000_000
    """Checks of a node that a search may spend, where the first plan is not good enough: some tenths of a second."""
    snug: float = 0.001
    """What room that is left unused on a target costs, in shares of a mean node's span from idle to peak: no more than
    a tie-break between nodes that draw about the same for a core, or power is wasted for the sake of packing."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("good_enough", "search_effort", "snug"):
            check_number(name, getattr(self, name))


class Emptying:
    """Empties the nodes that the compact model does not keep.

    Args:
        params: the policy's figures.
        foreseen: the view that the choice is made for, where that is not how the plan's view stands: other usage, other
            curves, but the same placement.
    """

    def __init__(
        self, params: GuidedParams, foreseen: Callable[[ClusterView], ClusterView] = lambda view: view
    ) -> None:
        self._params = params
        self._foreseen = foreseen
        self._fleet: FleetArrays | None = None
        self._trip_ms: Float[Array, "containers sites"] = np.zeros((0, 0))

    def __call__(self, plan: Plan) -> None:
        """Empty them on the plan, and note why the others stay."""
        fleet = plan.view.fleet
        if fleet is not self._fleet:
            self._fleet, self._trip_ms = fleet, trip_to_users_ms(fleet)
        may_close = closable_nodes(plan)
        if not may_close.any() or plan.draft.full:
            return
        bench = self._best_plan(plan, may_close)
        closing = bench.node_int[NI.CLOSING] > 0
        where = bench.container_int[CI.TARGET]
        carry_out(plan, closing, where)
        # Those whose node was to be emptied and could not be stay there.
        move_others(plan, np.where(closing[bench.container_int[CI.HOME]], -1, where))
        for n in np.flatnonzero(may_close & ~closing).tolist():
            short = plan.draft.room_for_moves < plan.draft.staying[n]
            plan.draft.stays.setdefault(n, Reason.MOVE_LIMIT if short else Reason.NO_IMPROVING_TARGET)

    def _best_plan(self, plan: Plan, may_close: Bool[Array, " nodes"]) -> Workbench:
        """The best plan that was found, on a workbench."""
        params, budget, then = self._params, plan.draft.room_for_moves, self._foreseen(plan.view)
        rows = margin_rows(plan, then.usage)
        folding = remaining_decision(plan, may_close, self._trip_ms)
        folding = replace(folding, view=replace(folding.view, fleet=then.fleet, usage=then.usage))
        tastes = self._tastes(plan)
        best: Workbench | None = None
        best_w = enough_w = np.inf
        bound_w = -np.inf
        stuck: Bool[Array, " nodes"] = np.zeros(len(may_close), bool)
        for exact, reserve, learned in _ATTEMPTS:
            if learned and not stuck.any():
                continue
            asked = np.concatenate([rows, np.eye(len(stuck))[stuck]]) if learned else rows
            if exact:
                bound = compact_bound(folding, budget, rows=asked, reserve=reserve, gap=_COMPACT_GAP)
            else:
                bound = quick_bound(folding, budget, rows=asked, reserve=reserve)
            if reserve == 0.0 and not learned:
                bound_w = max(bound_w, bound.value_w)
            stake_w = bound.anyway_w - bound_w
            bench = workbench_of(folding, may_close=may_close, size=plan.size, trip_ms=self._trip_ms, tastes=tastes)
            nothing_w, _ = empty_nodes(~bound.keep, bench)
            cost_w = resettle(bench, limit=budget)
            stuck |= may_close & ~bound.keep & (bench.node_int[NI.CLOSING] == 0)
            enough_w = nothing_w - (1.0 - params.good_enough) * stake_w
            if best is None or cost_w < best_w:
                best, best_w = bench, cost_w
            if best_w <= enough_w:
                break
        assert best is not None  # noqa: S101 - there is at least one attempt
        effort = int(params.search_effort)
        improve(best, key=_SEARCH_KEY, effort=effort, enough_w=enough_w, stake_w=stake_w, limit=budget)
        resettle(best, limit=budget)
        return best

    def _tastes(self, plan: Plan) -> Tastes:
        """What the rule prefers, in W: its shares of a node are shares of a mean node's span from idle to peak."""
        params, curve = self._params, plan.view.fleet.power_curve
        span_w = max(float((curve[:, -1] - curve[:, 0]).mean()), 1e-9)
        return Tastes(
            trip_w_per_ms=span_w * params.trip_per_ms,
            image_w_per_gib=span_w * params.image_per_gib,
            snug_w=span_w * params.snug,
            late_limit=params.late_limit,
        )


def _make(name: str, params: GuidedParams) -> Rule:
    require_solver()
    return Rule(name, params, fit=Fit.FULLEST, relieve=relieve_by_few_moves, empty=Emptying(params))


GUIDED = Recipe(
    name="guided",
    summary="Relieves hot nodes, then empties the nodes that a compact optimum of the whole cluster does not keep.",
    params=GuidedParams(),
    space=Space(
        {
            "high_mark": (0.6, 0.7, 0.75, 0.8, 0.9),
            "fill_mark": (0.4, 0.5, 0.6),
            "minimum_saving": (0.0, 1.0, 3.0, 10.0),
            "trip_per_ms": (0.0, 0.01, 0.02, 0.05, 0.1),
            "late_limit": (0.001, 0.003, 0.01, 0.05, 1.0),
            "wake_load": (0.5, 0.6, 0.7),
            "sleep_load": (0.3, 0.4, 0.45),
            "calm_decisions": (1, 2, 4, 8),
        }
    ),
    maker=_make,
)
