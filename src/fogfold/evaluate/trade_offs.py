"""The trade-off of consolidation: every policy at several settings, and which of them no other beats in everything.

Less energy is to be had for more late requests or more moves, so one setting of a policy says little about it. A dial
turns the figures that make a policy bolder, in a few steps with a name each; all settings meet the same seeds, and
those on the Pareto front of energy, SLA violations and moves are marked. Weights price the terms of J anew over the
same runs: they say which setting would be best if, say, a late request cost twice as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from fogfold.errors import ModelError, UnknownNameError, did_you_mean
from fogfold.evaluate.result import RunResult, Terms
from fogfold.evaluate.runs import Task
from fogfold.evaluate.statistics import Difference, Interval, compare, mean_interval, summarise
from fogfold.policy.registry import recipe
from fogfold.world.scenario.schema import Scenario

__all__ = [
    "DIALS",
    "TRADED",
    "Best",
    "Setting",
    "TradeOff",
    "best_by_weight",
    "pareto",
    "settings_of",
    "trade_off_tasks",
    "trade_offs",
    "weights_of",
]

TRADED = ("energy_kwh", "sla_violation_rate", "moves")
"""The figures that are traded for one another; less is better in each."""
_SHOWN = (*TRADED, "total_cost")
_DEFAULT = "default"

_MARKS: tuple[tuple[str, Mapping[str, float]], ...] = (
    ("marks 0.4", {"high_mark": 0.4, "fill_mark": 0.3, "wake_load": 0.4, "sleep_load": 0.3}),
    ("marks 0.5", {"high_mark": 0.5, "fill_mark": 0.4, "wake_load": 0.5, "sleep_load": 0.38}),
    (_DEFAULT, {}),
    ("marks 0.7", {"high_mark": 0.7, "fill_mark": 0.6, "wake_load": 0.7, "sleep_load": 0.55}),
    ("marks 0.8", {"high_mark": 0.8, "fill_mark": 0.7, "wake_load": 0.8, "sleep_load": 0.65}),
)
"""How full nodes may be: the default's marks are 0.6, 0.5, 0.6 and 0.45."""
_CALM: tuple[tuple[str, Mapping[str, float]], ...] = (
    ("calm 8", {"calm_decisions": 8, "minimum_saving": 4.0}),
    ("calm 24", {"calm_decisions": 24, "minimum_saving": 8.0}),
)
"""How reluctant a rule is to empty nodes: fewer moves for the same marks."""
_LATE: tuple[tuple[str, Mapping[str, float]], ...] = (
    ("late x 0.25", {"late_weight": 0.25}),
    ("late x 0.5", {"late_weight": 0.5}),
    (_DEFAULT, {}),
    ("late x 2", {"late_weight": 2.0}),
    ("late x 4", {"late_weight": 4.0}),
)
"""What a late request counts where proposals are rehearsed."""
_MARGIN: tuple[tuple[str, Mapping[str, float]], ...] = (
    ("margin 0.1 %", {"margin": 0.001}),
    ("margin 5 %", {"margin": 0.05}),
)
"""What a proposal must save against holding: fewer moves."""
_DIALS = {"marks": _MARKS, "calm": _CALM, "late": _LATE, "margin": _MARGIN}
DIALS = tuple(_DIALS)
"""Names of the dials: how full nodes may be, how reluctant a rule is to empty them, what a late request counts, what a
proposal must save."""


@dataclass(frozen=True)
class Setting:
    """A policy with some of its figures set otherwise."""

    policy: str
    name: str
    """What the setting is called; `default` for the policy as it comes."""
    parameters: Mapping[str, float] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Policy and setting in one word for tables and pairing."""
        return f"{self.policy} [{self.name}]"


@dataclass(frozen=True)
class TradeOff:
    """One setting over its seeds."""

    setting: Setting
    seeds: int
    figures: Mapping[str, Interval]
    """Energy, SLA violation rate, moves and total cost, by the keys of a run's result."""
    against: Mapping[str, Difference | None] | None
    """The same less the reference's, paired by seed; absent for the reference itself."""
    is_on_front: bool
    """Whether no other setting is as good in all traded figures and better in one, by means."""

    def as_json(self) -> dict[str, Any]:
        """The row as plain values; each figure is `{mean, low, high, against}`, `against` null for the reference."""
        out: dict[str, Any] = {
            "policy": self.setting.policy,
            "setting": self.setting.name,
            "parameters": dict(self.setting.parameters),
            "seeds": self.seeds,
        }
        for key, interval in self.figures.items():
            difference = None if self.against is None else self.against[key]
            out[key] = interval.as_json() | {"against": None if difference is None else difference.as_json()}
        return out | {"is_on_front": self.is_on_front}


@dataclass(frozen=True)
class Best:
    """The setting of least total cost where a term of J is priced anew."""

    weight: str
    """Such as `sla=2`."""
    setting: Setting
    total_cost: Interval
    """In Wh-equivalents at that weight."""

    def as_json(self) -> dict[str, Any]:
        """`{weight, policy, setting, total_cost}` as plain values."""
        return {
            "weight": self.weight,
            "policy": self.setting.policy,
            "setting": self.setting.name,
            "total_cost": self.total_cost.as_json(),
        }


def settings_of(policy: str, dials: Sequence[str] = DIALS) -> list[Setting]:
    """All settings of a policy: every dial whose figures it has, from cautious to bold; else as it comes, alone.

    A learned policy has no dial: what it trades is in its weights.

    Args:
        policy: its name, with what it takes after a colon.
        dials: which dials to turn, of `DIALS`.

    Raises:
        UnknownNameError: if there is no such policy or dial.
    """
    for dial in dials:
        if dial not in _DIALS:
            raise UnknownNameError(f'dial "{dial}" is unknown; {did_you_mean(dial, DIALS)}')
    known = {figure.name for figure in fields(recipe(policy.partition(":")[0]).params)}
    found: dict[str, Setting] = {}
    for dial in dials:
        if all(known >= parameters.keys() for _, parameters in _DIALS[dial]):
            for name, parameters in _DIALS[dial]:
                found.setdefault(name, Setting(policy, name, parameters))
    return list(found.values()) or [Setting(policy, _DEFAULT)]


def trade_off_tasks(
    scenario: Scenario, settings: Sequence[Setting], seeds: Sequence[int], *, hours: float | None = None
) -> list[Task]:
    """Every setting with every seed, settings outermost.

    Raises:
        ModelError: if there is no setting or no seed.
    """
    if not settings or not seeds:
        raise ModelError(f"there are {len(settings)} settings and {len(seeds)} seeds to run; give one of each or more")
    return [Task(scenario, setting.policy, seed, hours, setting.parameters) for setting in settings for seed in seeds]


def trade_offs(runs: Iterable[tuple[Setting, RunResult]]) -> list[TradeOff]:
    """One row a setting, in the order of their first runs; differences are against the first policy's default.

    Raises:
        ModelError: if there is no run, or the runs are of different scenarios or lengths.
    """
    pairs = list(runs)
    settings = {setting.label: setting for setting, _ in pairs}
    renamed = [replace(result, policy=setting.label) for setting, result in pairs]
    summaries = summarise(renamed)
    defaults = [label for label, setting in settings.items() if setting.name == _DEFAULT]
    reference = (defaults or list(settings))[0]
    paired = {pair.policy: pair for pair in compare(renamed, reference)}
    figures: list[dict[str, Interval]] = []
    for summary in summaries:
        known = {key: interval for key in _SHOWN if (interval := summary.figures[key]) is not None}
        figures.append(known)
    front = set(pareto([tuple(each[key].mean for key in TRADED) for each in figures]))
    return [
        TradeOff(
            settings[summary.policy],
            len(summary.seeds),
            each,
            {key: paired[summary.policy].figures[key] for key in _SHOWN} if summary.policy in paired else None,
            index in front,
        )
        for index, (summary, each) in enumerate(zip(summaries, figures))
    ]


def pareto(points: Sequence[Sequence[float]]) -> list[int]:
    """Indices of the points that no other is at most as large as in all coordinates and smaller than in one.

    >>> pareto([(3.0, 1.0, 5.0), (1.0, 3.0, 5.0), (3.0, 1.0, 6.0), (3.0, 1.0, 5.0)])
    [0, 1, 3]
    """
    table = np.asarray(points, float)
    kept = []
    for index, point in enumerate(table):
        beaten = (table <= point).all(axis=1) & (table < point).any(axis=1)
        if not beaten.any():
            kept.append(index)
    return kept


def weights_of(texts: Sequence[str]) -> list[tuple[str, float]]:
    """Terms of J and the factors on their price, from texts such as `sla=0.5,1,2`.

    Raises:
        UnknownNameError: if a term is unknown.
        ModelError: if a factor is no number from 0.
    """
    terms = [term.name for term in fields(Terms)]
    found = []
    for text in texts:
        term, equals, factors = text.partition("=")
        if term not in terms:
            raise UnknownNameError(f'J has no term "{term}"; {did_you_mean(term, terms)}')
        for word in factors.split(",") if equals else ():
            try:
                factor = float(word)
            except ValueError:
                factor = -1.0
            if not 0.0 <= factor < np.inf:
                raise ModelError(f"--weights has {word!r} for {term}; give numbers from 0, as in {term}=0.5,1,2")
            found.append((term, factor))
        if not equals:
            raise ModelError(f"--weights has {text!r}; give a term and factors, as in {term}=0.5,1,2")
    return found


def best_by_weight(runs: Iterable[tuple[Setting, RunResult]], weights: Sequence[tuple[str, float]]) -> list[Best]:
    """For each weight the setting whose mean total cost is least, once that term of J counts so many times.

    Args:
        runs: as for `trade_offs`.
        weights: terms and factors, as `weights_of` gives them.
    """
    terms: dict[str, list[Terms]] = {}
    settings: dict[str, Setting] = {}
    for setting, result in runs:
        settings[setting.label] = setting
        terms.setdefault(setting.label, []).append(result.terms)
    found = []
    for term, factor in weights:
        costs = {label: np.array([_weighted(each, term, factor) for each in many]) for label, many in terms.items()}
        best = min(costs, key=lambda label: float(costs[label].mean()))
        found.append(Best(f"{term}={factor:g}", settings[best], mean_interval(costs[best])))
    return found


def _weighted(terms: Terms, term: str, factor: float) -> float:
    total = terms.energy + terms.migration + terms.sla + terms.latency
    return float(total + (factor - 1.0) * getattr(terms, term))
