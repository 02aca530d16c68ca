"""Who is played in each part of the ablation, and against whom each is held.

A part is a list of variants: a name, a policy, and what is changed of it. The first of each part is what the others are
held against.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fogfold.decide.bias import Bias
from fogfold.decide.proposers import LEARNED_MARK
from fogfold.errors import ModelError
from fogfold.evaluate.foresight.day import DayTask
from fogfold.evaluate.foresight.paced import Every, Pace
from fogfold.forecast.registry import DEFAULT, FORECASTERS
from fogfold.seeding import stream
from fogfold.units import MINUTE_S
from fogfold.world.scenario.schema import Scenario

__all__ = ["RULE", "Variant", "forecasts", "frontier", "intervals", "peaks", "proposers", "tasks_of", "wrong_world"]

RULE = "drain-relief"
"""The best rule, which sees the last minutes and nothing else."""
REHEARSED = "rehearsed"
ALL_OFF = "all off, signs drawn"
UNCHECKED = 1e9
"""A tolerance that corrects nothing."""


@dataclass(frozen=True)
class Variant:
    """One row of a table."""

    name: str
    policy: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    pace: Callable[[], Pace] | None = None
    off: float = 0.0
    """Share by which power, bandwidth and load are off at once, with signs drawn for each seed; 0 draws nothing."""

    def task(self, scenario: Scenario, seed: int, hours: float | None = None) -> DayTask:
        """Its day on a seed."""
        parameters = dict(self.parameters)
        if self.off > 0.0:
            parameters["bias"] = drawn_bias(seed, self.off)
        return DayTask(scenario, seed, self.name, self.policy, parameters, self.pace, hours)


def tasks_of(
    variants: Sequence[Variant], scenario: Scenario, seeds: Sequence[int], hours: float | None = None
) -> list[DayTask]:
    """Every variant with every seed, seeds outermost: what an interruption leaves is whole comparisons."""
    return [variant.task(scenario, seed, hours) for seed in seeds for variant in variants]


def drawn_bias(seed: int, off: float) -> Bias:
    """A model of which everything is off by the same share, each up or down by chance; the same for the same seed."""
    signs = stream(seed, "foresight", "signs").choice((-1.0, 1.0), 3)
    return Bias(*(float(1.0 + sign * off) for sign in signs))


def peaks(*, careful: float = 3.0) -> list[Variant]:
    """The rule that reacts, and those that look ahead.

    Args:
        careful: weight of a late request for a rehearsal that spends more energy on fewer of them.
    """
    return [
        Variant(RULE, RULE),
        Variant("mpc", "mpc"),
        Variant(REHEARSED, REHEARSED),
        Variant(f"{REHEARSED}, late x {careful:g}", REHEARSED, {"late_weight": careful}),
    ]


def frontier() -> list[Variant]:
    """The rule with other marks: from careful and dear to daring and thrifty, to find one of equal energy."""
    found = []
    for high, fill, sleep_load in itertools.product((0.5, 0.6, 0.7, 0.8), (0.4, 0.5, 0.6, 0.7), (0.4, 0.5)):
        if fill <= high:
            figures = {"high_mark": high, "fill_mark": fill, "sleep_load": sleep_load, "low_mark": max(0.5, fill)}
            text = ", ".join(f"{name} {value:g}" for name, value in figures.items())
            found.append(Variant(f"{RULE} ({text})", RULE, figures))
    return found


def wrong_world(off: float) -> list[Variant]:
    """The rule; a rehearsal in the true world; rehearsals in worlds of which one thing is off, and all at once.

    A rehearsal corrects its demand where it sees that it is off (`decide.check`). What comes of a wrong demand where it
    does not is shown as well.

    Raises:
        ModelError: if the share is not within ]0, 1[.
    """
    if not 0.0 < off < 1.0:
        raise ModelError(f"a world off by {off:g} is asked for; give a share within ]0, 1[, as in 0.3")
    found = [Variant(RULE, RULE), Variant(REHEARSED, REHEARSED)]
    for name in ("power", "bandwidth", "load"):
        for sign in (1.0, -1.0):
            bias = Bias(**{name: 1.0 + sign * off})
            found.append(Variant(f"{name} {sign * off:+.0%}", REHEARSED, {"bias": bias}))
    found.append(Variant(ALL_OFF, REHEARSED, off=off))
    return [*found, Variant(f"{ALL_OFF}, unchecked", REHEARSED, {"tolerance": UNCHECKED}, off=off)]


def forecasts() -> list[Variant]:
    """The rule, which forecasts nothing; rehearsals by each forecaster, the default one first."""
    names = sorted(FORECASTERS, key=lambda name: name != DEFAULT)
    return [Variant(RULE, RULE), *(Variant(f"by {name}", REHEARSED, {"forecaster": name}) for name in names)]


def intervals(
    policy: str, minutes: Sequence[float], adaptive: Callable[[], Pace], step_min: float = 5.0
) -> list[Variant]:
    """The same policy with fixed intervals, the first to be held against, and with one that adapts.

    Args:
        policy: who decides.
        minutes: the fixed intervals.
        adaptive: makes the pace that adapts.
        step_min: the world's own step, at which a policy is asked anyway.

    Raises:
        ModelError: if there is no fixed interval, or one is no multiple of a minute above 0.
    """
    if not minutes or any(one < 1 or one != round(one) for one in minutes):
        raise ModelError(
            f"fixed intervals of {list(minutes)} min are asked for; give whole minutes from 1, at least one"
        )
    fixed = [
        Variant(f"every {one:g} min", policy, pace=None if one == step_min else partial(Every, one * MINUTE_S))
        for one in minutes
    ]
    return [*fixed, Variant("adaptive", policy, pace=adaptive)]


def proposers(checkpoint: str) -> list[Variant]:
    """The rule; rehearsal of rules; where a checkpoint is named, its policy alone and among those who propose."""
    found = [Variant(RULE, RULE), Variant("rules + rehearsal", REHEARSED)]
    if checkpoint:
        found += [
            Variant("policy alone", f"learned:{checkpoint}"),
            Variant("policy + rules + rehearsal", f"{REHEARSED}:{LEARNED_MARK}{checkpoint}"),
        ]
    return found
