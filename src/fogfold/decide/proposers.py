"""Who proposes beside the pieces of `shaping`: holding, the base rule, and rules with other figures.

Names here are the names that a decision's record shows. Rules keep their own evidence of calm, as if each had been in
charge all along; whatever was done, all of them see it. A learned policy may stand among them: what it finds
likeliest is one proposal, what is drawn from it are others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from fogfold.policy.base import Policy, Proposal
from fogfold.policy.registry import policy as policy_named

__all__ = ["EAGER", "HOLD", "LEARNED_MARK", "RELIEF", "SHY", "TUNED", "Proposer", "distinct", "lineup"]

HOLD = "hold"
"""Name of the proposal that does nothing; it is always there, and the first."""

LEARNED_MARK = "learned="
"""What stands before the path of a checkpoint that proposes beside the rules (`rehearsed:learned=best.safetensors`)."""

Figures = Mapping[str, int | float | str]

TUNED: Figures = MappingProxyType(
    {
        "high_mark": 0.7,
        "fill_mark": 0.45,
        "low_mark": 0.3,
        "minimum_saving": 4.0,
        "trip_per_ms": 0.0,
        "late_limit": 0.01,
        "least_rate_bit_s": 30e6,
        "wake_load": 0.65,
        "sleep_load": 0.35,
        "calm_decisions": 2,
    }
)
"""Figures of drain-relief that a search on city-20 found: hotter before relief, fewer and surer sleeps."""
EAGER: Figures = MappingProxyType(
    {
        **TUNED,
        "fill_mark": 0.55,
        "low_mark": 0.5,
        "minimum_saving": 2.0,
        "calm_decisions": 1,
        "sleep_load": 0.45,
    }
)
"""The same, fuller and sooner."""
SHY: Figures = MappingProxyType({**TUNED, "high_mark": 0.6, "fill_mark": 0.35, "low_mark": 0.25, "sleep_load": 0.3})
"""The same, emptier and relieved sooner."""
RELIEF: Figures = MappingProxyType({**TUNED, "high_mark": 0.55, "fill_mark": 0.4, "calm_decisions": 1_000_000})
"""Relief alone, early: so much calm that nothing is ever emptied."""


@dataclass(frozen=True)
class Proposer:
    """A rule that proposes, under a name of its own."""

    name: str
    policy: str
    """Its name in the registry."""
    figures: Figures = field(default_factory=dict)

    def make(self) -> Policy:
        """The rule, fresh, under this name: what is drawn by two of one kind then differs."""
        made = policy_named(self.policy, **self.figures)
        made.name = self.name
        return made


def lineup(rule: str, checkpoint: str = "", draws: int = 0) -> tuple[Proposer, ...]:
    """Holding first, the base rule second, then the others; the base rule is not named twice.

    Args:
        rule: the base rule.
        checkpoint: path of a learned policy that proposes as well; none where empty.
        draws: proposals that are drawn from it, beside its likeliest.
    """
    base = Proposer("tuned", "drain-relief", TUNED) if rule == "tuned" else Proposer(rule, rule)
    others = (
        Proposer("tuned", "drain-relief", TUNED),
        Proposer("drain-relief", "drain-relief"),
        Proposer("eager", "drain-relief", EAGER),
        Proposer("shy", "drain-relief", SHY),
        Proposer("relief", "drain-relief", RELIEF),
        Proposer("balanced", "balanced"),
        Proposer("best-fit", "best-fit"),
    )
    learned = tuple(
        Proposer("learned", "learned", {"checkpoint": checkpoint})
        if draw == 0
        else Proposer(f"learned-{draw}", "learned", {"checkpoint": checkpoint, "serve": "drawn"})
        for draw in range(1 + draws if checkpoint else 0)
    )
    return (Proposer(HOLD, "hold"), base, *learned, *(other for other in others if other.name not in (HOLD, base.name)))


def distinct(names: Sequence[str], proposals: Sequence[Proposal]) -> tuple[list[str], list[Proposal], dict[str, int]]:
    """Proposals that order different things, each under the first name that proposed it; and where each name went."""
    kept_names: list[str] = []
    kept: list[Proposal] = []
    known: dict[object, int] = {}
    where: dict[str, int] = {}
    for name, proposal in zip(names, proposals, strict=True):
        orders = (proposal.moves, tuple(sorted(proposal.sleep)), tuple(sorted(proposal.wake)))
        if orders not in known:
            known[orders] = len(kept)
            kept_names.append(name)
            kept.append(proposal)
        where[name] = known[orders]
    return kept_names, kept, where
