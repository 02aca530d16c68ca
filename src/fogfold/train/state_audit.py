"""An audit of what a policy is shown: each figure's source, and whether it varies at all where it is learned from.

A figure that stands still teaches nothing and makes learning harder (in one account, going from seven to thirteen
metrics a node made training worse: several were nearly constant in simulation). One that no live metric feeds cannot
be served. Both are refused. Days are played by choices that follow the rule half of the time and are drawn evenly
else, so that the figures of options are met that the rule would never come to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from fogfold.compiled import Array
from fogfold.encoding.arrays import fleet_arrays
from fogfold.policy.learned.deciding import Context, Decider
from fogfold.policy.learned.rows import NodeRow, Stage, TargetRow
from fogfold.policy.orders import orders_of
from fogfold.seeding import stream
from fogfold.train.state_sources import GROUPS, METRICS, SOURCES, Needs, Source
from fogfold.world.scenario.build import BuiltScenario, build
from fogfold.world.scenario.load import load_scenario
from fogfold.world.world import World

__all__ = ["Dimension", "StateAudit", "audit_state"]

_STILL = 1e-9
"""Range up to which a figure counts as constant: figures are float32 of order 1."""
_SAMPLES_OF_HALF_HOUR = 7
_STAGES = {Stage.INTENSITY: "intensity", Stage.NODE: "node", Stage.TARGET: "target"}
_IDLE = {Stage.NODE: NodeRow.STOP, Stage.TARGET: TargetRow.STAY}


@dataclass(frozen=True)
class Dimension:
    """One figure that a policy is shown."""

    group: str
    name: str
    sources: tuple[str, ...]
    """Words of `METRICS` that it is made from; empty where there is none."""
    unit: str
    mean: float | None
    """Over all times at which it says something; None where it never does, as the following three."""
    variance: float | None
    low: float | None
    high: float | None
    missing: float | None
    """Share of the times at which it says nothing and stands at 0 (an option that is no node, too short a past)."""
    refused: str
    """Why it has no place in the state; empty where it has."""


@dataclass(frozen=True)
class StateAudit:
    """What an audit found."""

    scenarios: tuple[str, ...]
    decisions: int
    dimensions: tuple[Dimension, ...]

    @property
    def refused(self) -> list[Dimension]:
        """Figures that have no place in the state."""
        return [dimension for dimension in self.dimensions if dimension.refused]

    def as_json(self) -> dict[str, Any]:
        """The audit as plain values, and what the words for its sources mean."""
        used = dict.fromkeys(word for d in self.dimensions for word in d.sources)
        return {
            **asdict(self),
            "metrics": {word: asdict(METRICS[word]) for word in used},
            "refused": [f"{d.group}.{d.name}" for d in self.refused],
        }


class _Tally:
    """Moments of the figures of one array, added up row by row."""

    def __init__(self, figures: int) -> None:
        self.shown = 0
        self.count = np.zeros(figures)
        self.sum = np.zeros(figures)
        self.square = np.zeros(figures)
        self.low = np.full(figures, np.inf)
        self.high = np.full(figures, -np.inf)
        self.is_finite = np.ones(figures, bool)

    def add(self, rows: Float[Array, "rows figures"], says: Bool[Array, "rows figures"]) -> None:
        """Rows, and which of their figures say something."""
        self.shown += len(rows)
        self.is_finite &= np.isfinite(rows).all(axis=0)
        exact = np.nan_to_num(rows.astype(np.float64))
        self.count += says.sum(axis=0)
        self.sum += np.where(says, exact, 0.0).sum(axis=0)
        self.square += np.where(says, exact * exact, 0.0).sum(axis=0)
        self.low = np.minimum(self.low, np.where(says, exact, np.inf).min(axis=0))
        self.high = np.maximum(self.high, np.where(says, exact, -np.inf).max(axis=0))


class _Wanderer:
    """Follows the rule half of the time, and draws evenly among all options else."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def begin(self, context: Context) -> None:
        """A new decision."""

    def choose(
        self, stage: Stage, rows: Float[Array, "options rows"], lead: Float[Array, " options"]
    ) -> tuple[int, float]:
        """The rule's option or any."""
        del stage
        wander, any_ = self._rng.random() < 0.5, int(self._rng.integers(len(rows)))
        return any_ if wander else int(np.argmax(lead)), 0.0


def audit_state(
    scenarios: Sequence[str],
    *,
    days: Sequence[str] = ("monday", "saturday"),
    hours: float | None = None,
    seed: int = 0,
    on_world: Callable[[], None] | None = None,
) -> StateAudit:
    """Play days and say of every figure where it comes from and how it varied.

    Args:
        scenarios: names or paths; all count together.
        days: days of the week on which a generated load begins; a trace has its own.
        hours: how long each is played; the scenario's hours where not given.
        seed: root of all draws.
        on_world: called after every world.
    """
    tallies = {name: _Tally(len(rows)) for name, rows in GROUPS.items()}
    decisions = 0
    for name in scenarios:
        for built in _worlds(name, days, hours, seed):
            decisions += _play(built, tallies)
            if on_world is not None:
                on_world()
    found = [
        _dimension(group, row, SOURCES[group].get(row), tallies[group])
        for group, rows in GROUPS.items()
        for row in rows
    ]
    return StateAudit(tuple(scenarios), decisions, tuple(found))


def _worlds(name: str, days: Sequence[str], hours: float | None, seed: int) -> list[BuiltScenario]:
    scenario = load_scenario(name)
    if scenario.workload.kind != "generated":
        return [build(scenario, seed, hours=hours)]
    return [build(load_scenario(name, {"start.day": day}), seed, hours=hours) for day in days]


def _play(built: BuiltScenario, tallies: Mapping[str, _Tally]) -> int:
    fleet = fleet_arrays(built.cluster)
    world = World(fleet, built.params, [(built.workload, built.faults)], seed=built.seed)
    decider = Decider()
    decider.reset(built.seed)
    wanderer = _Wanderer(stream(built.seed, "audit", built.scenario.name, round(built.start_s)))
    steps = built.ticks // built.params.ticks_per_step
    for k in range(steps):
        decision = decider.decide(world.view(), wanderer)
        context = decision.context
        shown: list[tuple[str, Array, IntEnum | None]] = [
            ("token", context.tokens, None),
            ("whole", context.whole[None], None),
        ]
        shown += [(_STAGES[c.stage], c.rows, _IDLE.get(c.stage)) for c in decision.choices]
        for group, rows, idle in shown:
            tallies[group].add(rows, _says(group, rows, idle, samples=k + 1))
        world.step(orders_of(decision.proposal, fleet.nodes))
    return steps


def _says(
    group: str, rows: Float[Array, "rows figures"], idle: IntEnum | None, *, samples: int
) -> Bool[Array, "rows figures"]:
    """Which figures say something: all but those of an option that is no node, and those that need a longer past."""
    an_option = np.ones(len(rows), bool) if idle is None else rows[:, idle] == 0.0
    out = np.ones(rows.shape, bool)
    for row, source in SOURCES[group].items():
        if source.needs in (Needs.OPTION, Needs.OPTION_AND_HALF_HOUR):
            out[:, row] &= an_option
        if source.needs in (Needs.HALF_HOUR, Needs.OPTION_AND_HALF_HOUR):
            out[:, row] &= samples >= _SAMPLES_OF_HALF_HOUR
        if source.needs == Needs.SAMPLES:
            out[:, row] &= samples > 1
    return out


def _dimension(group: str, row: IntEnum, source: Source | None, tally: _Tally) -> Dimension:
    count = float(tally.count[row])
    mean = float(tally.sum[row]) / count if count else None
    return Dimension(
        group=group,
        name=row.name.lower(),
        sources=() if source is None else source.metrics,
        unit="" if source is None else source.unit,
        mean=mean,
        variance=None if mean is None else max(float(tally.square[row]) / count - mean * mean, 0.0),
        low=float(tally.low[row]) if count else None,
        high=float(tally.high[row]) if count else None,
        missing=1.0 - count / tally.shown if tally.shown else None,
        refused=_refused(row, source, tally),
    )


def _refused(row: IntEnum, source: Source | None, tally: _Tally) -> str:
    if source is None or not source.metrics:
        return "no live metric feeds it"
    if not tally.is_finite[row]:
        return "it is not finite at times"
    if not tally.count[row]:
        return "it was never met"
    if tally.high[row] - tally.low[row] <= _STILL:
        return "it is constant"
    return ""
