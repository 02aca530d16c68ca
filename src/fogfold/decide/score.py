"""What a rehearsal says of each proposal, and which one is chosen.

All proposals met the same futures, so they are compared in pairs: what differs between futures but not between
proposals cancels out. The best one must beat holding by a margin, and by more than the noise of the comparison; and
it must not be worse than the base rule, by the same futures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.decide.rehearse import TERMS, Rehearsal
from fogfold.errors import ModelError
from fogfold.model.resources import check_number

__all__ = ["Choice", "Score", "ScoreParams", "choose", "cost_wh", "scores_of"]


@dataclass(frozen=True)
class ScoreParams:
    """How proposals are judged.

    Raises:
        ModelError: if a figure is out of its range.
    """

    beyond_s: float = 7200.0
    """What comes after the horizon, in s: the cost of the last steps is taken to go on for so long."""
    margin: float = 0.01
    """Least saving against holding, as a share of what holding costs over the horizon. A tenth of it gives the same J
    with a fifth more moves."""
    noise: float = 1.0
    """Standard errors by which a proposal must beat holding, and what it is to replace the base rule by."""
    risk: float = 0.0
    """Weight of the worst tenth in what is compared, beside the mean: 0 minds the mean alone, 1 the worst alone."""

    def __post_init__(self) -> None:
        for name in ("beyond_s", "margin", "noise"):
            check_number(name, getattr(self, name))
        check_number("risk", self.risk, high=1.0)


@dataclass(frozen=True, slots=True)
class Score:
    """What a rehearsal says of one proposal, in Wh-equivalents."""

    mean: float
    """Mean cost over the futures, what comes after the horizon included."""
    worst_tenth: float
    """Mean over the worst tenth of the futures, at least one."""
    terms: tuple[float, float, float, float]
    """Mean terms over the horizon: energy, migration, SLA, latency."""
    saving: float
    """Mean saving against holding; negative where holding costs less."""
    standard_error: float
    """Of that saving, over the futures; infinite with one future."""
    balance: float | None
    """Share of the saving of all proposals over share of the disruption of all; None where it disrupts nothing."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which proposal is chosen, and why in one sentence."""

    index: int
    why: str


def cost_wh(rehearsal: Rehearsal, params: ScoreParams) -> Float[Array, "proposals futures"]:
    """Cost of each proposal in each future, what comes after the horizon included.

    The last steps stand for what comes: their rate of energy, SLA and latency goes on for `beyond_s`. Moves end.
    """
    going_on = np.array([term != "migration" for term in TERMS], float)
    beyond = (rehearsal.tail_wh * going_on).sum(axis=2) * (params.beyond_s / rehearsal.tail_s)
    return rehearsal.terms_wh.sum(axis=2) + beyond


def _worst(cost: Float[Array, "proposals futures"]) -> Float[Array, " proposals"]:
    count = max(1, round(cost.shape[1] / 10))
    return np.sort(cost, axis=1)[:, -count:].mean(axis=1)


def _error(difference: Float[Array, " futures"]) -> float:
    """Standard error of a mean paired difference."""
    if len(difference) < 2:
        return float("inf")
    return float(difference.std(ddof=1) / np.sqrt(len(difference)))


def scores_of(rehearsal: Rehearsal, hold: int, params: ScoreParams) -> tuple[Score, ...]:
    """The score of each proposal.

    Args:
        rehearsal: what was played.
        hold: which proposal holds.
        params: how proposals are judged.
    """
    cost = cost_wh(rehearsal, params)
    saving = cost[hold] - cost
    terms = rehearsal.terms_wh.mean(axis=1)
    worst = _worst(cost)
    gain = np.maximum(saving.mean(axis=1), 0.0)
    # Disruption is what moves cost and what else users lose; where they lose less, it is the moves alone.
    lost = terms[:, 1] + np.maximum(terms[:, 2] - terms[hold, 2], 0.0) + np.maximum(terms[:, 3] - terms[hold, 3], 0.0)
    shares = [
        None if lost[p] <= 0.0 or gain.sum() <= 0.0 else float(gain[p] / gain.sum() / (lost[p] / lost.sum()))
        for p in range(len(cost))
    ]
    return tuple(
        Score(
            mean=float(cost[p].mean()),
            worst_tenth=float(worst[p]),
            terms=(float(terms[p, 0]), float(terms[p, 1]), float(terms[p, 2]), float(terms[p, 3])),
            saving=float(saving[p].mean()),
            standard_error=_error(saving[p]),
            balance=shares[p],
        )
        for p in range(len(cost))
    )


def choose(
    rehearsal: Rehearsal, names: Sequence[str], params: ScoreParams, *, hold: int, base: int | None = None
) -> Choice:
    """The proposal of least cost that beats holding by the margin and the noise, and is not worse than the base rule.

    Args:
        rehearsal: what was played.
        names: what each proposal is called.
        params: how proposals are judged.
        hold: which proposal holds.
        base: which proposal is that of the base rule, if any.

    Raises:
        ModelError: if the names and the proposals differ in number.
    """
    cost = cost_wh(rehearsal, params)
    if len(names) != len(cost):
        raise ModelError(f"{len(names)} names are given for {len(cost)} proposals; give one a proposal")
    merit = (1.0 - params.risk) * cost.mean(axis=1) + params.risk * _worst(cost)
    least = params.margin * float(rehearsal.terms_wh[hold].sum(axis=1).mean())
    best, why = hold, "nothing beats holding"
    for p in np.argsort(merit, kind="stable").tolist():
        if p == hold:
            break
        error = _error(cost[hold] - cost[p])
        needed = max(least, params.noise * error) if np.isfinite(error) else least
        if merit[hold] - merit[p] > needed:
            best, why = p, f"saves {merit[hold] - merit[p]:.3g} Wh-eq against holding, {needed:.3g} needed"
            break
    if base is not None and best != base and merit[best] > merit[base]:
        return Choice(base, f"{names[best]} costs more than {names[base]}")
    if base is not None and best not in (base, hold):
        error = _error(cost[base] - cost[best])
        if np.isfinite(error) and merit[base] - merit[best] < params.noise * error:
            return Choice(base, f"{names[best]} beats {names[base]} by no more than the noise")
    return Choice(best, why)
