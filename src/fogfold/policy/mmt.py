"""The five rules of Beloglazov and Buyya (CCPE 24(13), 2012): detect overload, move what moves fastest, empty the rest.

1. Overloaded nodes are detected by `policy.overload`: thr (a fixed threshold), iqr and mad (thresholds that adapt to
   the spread of the past), lr and lrr (local regression, plain and robust).
2. From each the container with the least migration time is taken, until the node is no longer overloaded (MMT).
3. Those are placed in order of decreasing CPU use, each where it adds the least power (PABFD), if need be on a node
   that is asleep; a target must not be overloaded afterwards.
4. Then every other node is emptied, the least used first, if all its containers find a target that is on.

Departures. Migration time is memory, dirty pages and image over bandwidth, not memory alone. Containers that find no
target are passed over and the next is taken. Nodes hot by memory, network or disk are relieved as well. A node that is
asleep counts with its sleep power before a placement, not with its idle power as in CloudSim. Room on the source is
not given free before the move has ended. A node whose emptying failed may still receive, and one that receives is not
emptied in the same decision. How sleep and wake go is the rule that all share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fogfold.policy.emptying import cold_nodes, empty_each
from fogfold.policy.hot import hot_nodes, is_hot
from fogfold.policy.overload import IQR, LR, LRR, MAD, THR, Detection
from fogfold.policy.params import RuleParams
from fogfold.policy.plan import Plan
from fogfold.policy.recipe import Recipe
from fogfold.policy.relief import note_relieved
from fogfold.policy.rule import Rule
from fogfold.policy.space import Space
from fogfold.policy.targets import Fit

__all__ = ["IQR_MMT", "LRR_MMT", "LR_MMT", "MAD_MMT", "THR_MMT", "MmtParams"]


@dataclass(frozen=True)
class MmtParams(RuleParams):
    """Figures of the five rules: those that all share, and those of the paper."""

    high_mark: float = 0.9
    """The most that CPU load may reach on a target through a move; overload itself is a matter of detection."""
    fill_mark: float = 0.9
    """The paper knows no lower mark for targets: they must not be overloaded, that is all."""
    low_mark: float = 1.0
    """Every node that is not overloaded may be emptied, the least used first."""
    minimum_saving: float = 0.0
    """The paper weighs no cost of moves."""
    parameter: float = 0.8
    """thr: share of the cores above which a node is overloaded. iqr, mad, lr, lrr: the safety parameter; the higher,
    the more cautious for iqr and mad (how many spreads to stay away from full) and for lr (by what the forecast is
    multiplied)."""
    fallback: float = 0.7
    """Threshold while a history is too short for the adaptive rules (CloudSim's figure)."""
    ahead: int = 1
    """How many decisions ahead the regressions look: moves mostly end within one."""


def _relieve(plan: Plan) -> None:
    """Rounds of selection and placement, until no node is overloaded or nothing is left to try."""
    hot = np.flatnonzero(hot_nodes(plan)).tolist()
    tried: set[int] = set()
    ceiling = plan.params.relief_ceiling
    while not plan.draft.full:
        chosen = np.array([c for n in hot for c in _least_time(plan, n, tried)], np.int64)
        if not len(chosen):
            break
        tried.update(chosen.tolist())
        for c in chosen[np.argsort(-plan.view.usage[0, chosen], kind="stable")].tolist():
            target = plan.power.best_awake_or_asleep(c, ceiling) if plan.draft.room_for_moves else -1
            if target >= 0:
                plan.draft.move(c, target)
    for n in hot:
        note_relieved(plan, n)


def _least_time(plan: Plan, node: int, tried: set[int]) -> list[int]:
    """Containers whose leaving would end the overload, those with the least migration time first."""
    here = plan.draft.stayers(node)
    chosen: list[int] = []
    for c in here[np.argsort(plan.moves.duration_s[here], kind="stable")].tolist():
        if c in tried:
            continue
        if not is_hot(plan, node, chosen):
            break
        chosen.append(c)
    return chosen


def _empty(plan: Plan) -> None:
    receivers = ((plan.draft.staying > 0) | (plan.draft.arriving > 0)) & ~hot_nodes(plan)
    empty_each(plan, cold_nodes(plan).tolist(), wanted=receivers)


def _recipe(name: str, rule: int, parameter: float, summary: str, tried: tuple[int | float, ...]) -> Recipe[MmtParams]:
    def make(name: str, params: MmtParams) -> Rule:
        detection = Detection(rule, float(params.parameter), float(params.fallback), float(params.ahead))
        return Rule(name, params, fit=Fit.LEAST_POWER, relieve=_relieve, empty=_empty, detection=detection)

    space = Space(
        {
            "parameter": tried,
            "fallback": (0.5, 0.6, 0.7),
            "fill_mark": (0.45, 0.6, 0.9),
            "minimum_saving": (0.0, 1.0, 2.0, 4.0),
            "trip_per_ms": (0.0, 0.01, 0.02, 0.05, 0.1),
            "late_limit": (0.0003, 0.001, 0.003, 0.01, 0.03),
            "least_rate_bit_s": (30e6, 100e6, 200e6),
            "wake_load": (0.55, 0.6, 0.65),
            "sleep_load": (0.3, 0.35, 0.4, 0.45, 0.5),
            "calm_decisions": (1, 2, 4, 8),
        }
    )
    return Recipe(name, summary, MmtParams(parameter=parameter), space, make)


_REST = "moves what moves fastest to where it adds least power, then empties the least used nodes."

THR_MMT = _recipe("thr-mmt", THR, 0.8, f"Overload at a fixed threshold; {_REST}", (0.5, 0.6, 0.7, 0.8, 0.9))
IQR_MMT = _recipe("iqr-mmt", IQR, 1.5, f"Overload by interquartile range; {_REST}", (0.5, 1.0, 1.5, 2.0, 3.0, 4.0))
MAD_MMT = _recipe("mad-mmt", MAD, 2.5, f"Overload by median deviation; {_REST}", (0.5, 1.5, 2.5, 3.5, 5.0, 7.0))
LR_MMT = _recipe("lr-mmt", LR, 1.2, f"Overload by local regression; {_REST}", (1.0, 1.1, 1.2, 1.4, 1.7, 2.0))
LRR_MMT = _recipe("lrr-mmt", LRR, 1.2, f"Overload by robust local regression; {_REST}", (1.0, 1.1, 1.2, 1.4, 1.7, 2.0))
