"""Who is drawn, in which order and in which colour: the same in every figure and table of a report.

Curves over time show the baseline and a few policies, since more lines than five cannot be told apart; tables and
charts show all, those without a colour of their own in grey. Colours are names here, not values: the page gives
each name a value for light and one for dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fogfold.errors import UnknownNameError, did_you_mean
from fogfold.evaluate.statistics import Summary

__all__ = ["MOST_SHOWN", "Lineup", "lineup"]

MOST_SHOWN = 4
"""Most policies with a colour of their own, beside the baseline."""


@dataclass(frozen=True, slots=True)
class Lineup:
    """All policies by total cost J, least first, and those that have a colour."""

    order: tuple[str, ...]
    baseline: str | None
    shown: tuple[str, ...]
    """Policies with a colour of their own, the one that the report speaks of first; without the baseline."""

    @property
    def drawn(self) -> tuple[str, ...]:
        """Policies that are drawn over time: the baseline first, so that it lies below the others."""
        return self.shown if self.baseline is None else (self.baseline, *self.shown)

    def colour(self, policy: str) -> str:
        """The name of the policy's colour."""
        if policy == self.baseline:
            return "baseline"
        return f"policy-{self.shown.index(policy) + 1}" if policy in self.shown else "other"


def lineup(summaries: Sequence[Summary], baseline: str | None, highlight: str | None = None) -> Lineup:
    """The order and colours for these policies: the highlighted one, then those of least total cost.

    Raises:
        UnknownNameError: if the baseline or the highlighted policy is not among the summaries.
    """
    names = {summary.policy for summary in summaries}
    for name in (baseline, highlight):
        if name is not None and name not in names:
            raise UnknownNameError(f'"{name}" is not among the policies that ran; {did_you_mean(name, names)}')
    costs = {summary.policy: summary.figures["total_cost"] for summary in summaries}

    def rank(policy: str) -> tuple[float, str]:
        cost = costs[policy]
        return (float("inf") if cost is None else cost.mean, policy)

    order = tuple(sorted(names, key=rank))
    others = [policy for policy in order if policy != baseline]
    if highlight is not None and highlight != baseline:
        others.remove(highlight)
        others.insert(0, highlight)
    return Lineup(order, baseline, tuple(others[:MOST_SHOWN]))
