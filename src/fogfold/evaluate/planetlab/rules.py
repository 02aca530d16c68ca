"""The seven policies of the benchmark by name, each with its overload rule and parameter.

Names are lower case; `thr-mmt` and `thr-mmt-0.8` mean `thr`. All that migrate choose VMs by minimum migration time.
"""

from __future__ import annotations

from dataclasses import dataclass

from fogfold.errors import UnknownNameError, did_you_mean
from fogfold.evaluate.planetlab.overload import IQR, LR, MAD, NEVER, THR

__all__ = ["RULES", "Rule", "rule_named"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One policy of the benchmark."""

    name: str
    overload: int
    """Its rule by number, see `overload`."""
    parameter: float
    meaning: str
    all_on: bool = False
    """Whether every host draws full power all the time."""

    @property
    def migrates(self) -> bool:
        """Whether it moves VMs at all."""
        return self.overload != NEVER


RULES: tuple[Rule, ...] = (
    Rule("npa", NEVER, 0.0, "no power management: every host at full power, no moves", all_on=True),
    Rule("dvfs", NEVER, 0.0, "first fit at the start, power follows load, no moves"),
    Rule("thr", THR, 0.8, "overloaded above 80 % of the MIPS"),
    Rule("iqr", IQR, 1.5, "threshold 1 - 1.5 x interquartile range of the history"),
    Rule("mad", MAD, 2.5, "threshold 1 - 2.5 x median absolute deviation of the history"),
    Rule("lr", LR, 1.2, "1.2 x least-squares forecast reaches the MIPS"),
    Rule("lrr", LR, 1.2, "the robust regression of the paper; in CloudSim's code the same as lr"),
)
"""All policies, in the order of the paper's tables."""


def rule_named(name: str) -> Rule:
    """The policy of this name or alias.

    Raises:
        UnknownNameError: if there is none.
    """
    known: dict[str, Rule] = {}
    for rule in RULES:
        known[rule.name] = rule
        if rule.migrates:
            known[f"{rule.name}-mmt"] = rule
            known[f"{rule.name}-mmt-{rule.parameter:g}"] = rule
    if name not in known:
        raise UnknownNameError(f'PlanetLab policy "{name}" is unknown; {did_you_mean(name, known)}')
    return known[name]
