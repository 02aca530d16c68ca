"""The judge of a training run: a frozen policy over whole episodes, in worlds of its own, beside the rule."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from fogfold.evaluate.episodes import run_episode
from fogfold.evaluate.result import RunResult
from fogfold.policy.learned.deciding import DeciderParams
from fogfold.policy.learned.policy import Learned
from fogfold.policy.learned.weights import Weights
from fogfold.policy.registry import policy as policy_named
from fogfold.train.crew import Crew
from fogfold.train.settings import TrainSettings
from fogfold.world.scenario.build import BuiltScenario, build
from fogfold.world.scenario.load import load_scenario

__all__ = ["Judge", "Judgement", "Verdict", "judged_world"]

_FIRST_JUDGED = 5_000
"""Seed of the first world that is judged on: below those of training, above those that tables use."""


@dataclass(frozen=True)
class Verdict:
    """Mean figures over the judge's worlds."""

    total_cost_wh: float
    against_rule: float
    """Mean over worlds of J over the rule's J, less 1."""
    energy_wh: float
    sla_wh: float
    migration_wh: float
    latency_wh: float
    nodes_asleep_share: float
    sla_violation_rate: float
    moves: float
    refused: float


@dataclass(frozen=True)
class Judgement:
    """A policy in both ways of being asked, and the rule."""

    likeliest: Verdict
    drawn: Verdict
    rule: Verdict

    @property
    def best(self) -> str:
        """The way of being asked that costs less."""
        return "likeliest" if self.likeliest.against_rule <= self.drawn.against_rule else "drawn"

    @property
    def best_against_rule(self) -> float:
        """J over the rule's J, less 1, asked that way."""
        return min(self.likeliest.against_rule, self.drawn.against_rule)

    def as_json(self) -> dict[str, dict[str, float]]:
        """The figures by name."""
        return asdict(self)

    @staticmethod
    def of_json(figures: Mapping[str, Mapping[str, float]]) -> Judgement:
        """The way back of `as_json`."""
        return Judgement(**{name: Verdict(**verdict) for name, verdict in figures.items()})


@functools.lru_cache(maxsize=64)
def _world(scenario: str, seed: int, hours: float) -> BuiltScenario:
    return build(load_scenario(scenario), seed, hours=hours)


def judged_world(scenario: str, seed: int, hours: float, weights: Weights | None, serve: str) -> RunResult:
    """What a network makes of one world when it is asked in one way, or the rule where there is none."""
    policy = policy_named(DeciderParams().rule) if weights is None else Learned("learned", weights, serve=serve)
    return run_episode(_world(scenario, seed, hours), policy).result


class Judge:
    """Worlds that no training sees, and what the rule makes of them.

    Args:
        settings: of the run.
        crew: who plays them.
    """

    def __init__(self, settings: TrainSettings, crew: Crew) -> None:
        self._settings, self._crew = settings, crew
        self._rule = self._play(None, "likeliest")

    def _play(self, weights: Weights | None, *ways: str) -> list[RunResult]:
        """Every world asked in each way: the worlds in their order, way after way."""
        s = self._settings
        tasks = [(s.scenario, _FIRST_JUDGED + k, s.hours, weights, way) for way in ways for k in range(s.judge_worlds)]
        return self._crew.run(judged_world, tasks)

    def _verdict(self, results: Sequence[RunResult]) -> Verdict:
        def mean(values: Sequence[float]) -> float:
            return float(np.mean(values))

        return Verdict(
            total_cost_wh=mean([r.total_cost for r in results]),
            against_rule=mean([r.total_cost / o.total_cost - 1.0 for r, o in zip(results, self._rule, strict=True)]),
            energy_wh=mean([r.terms.energy for r in results]),
            sla_wh=mean([r.terms.sla for r in results]),
            migration_wh=mean([r.terms.migration for r in results]),
            latency_wh=mean([r.terms.latency for r in results]),
            nodes_asleep_share=mean([r.nodes_asleep_share for r in results]),
            sla_violation_rate=mean([r.sla_violation_rate for r in results]),
            moves=mean([r.moves for r in results]),
            refused=mean([r.refused for r in results]),
        )

    def judge(self, weights: Weights) -> Judgement:
        """Whole episodes of a frozen policy, asked in both ways."""
        played = self._play(weights, "likeliest", "drawn")
        worlds = self._settings.judge_worlds
        return Judgement(
            likeliest=self._verdict(played[:worlds]),
            drawn=self._verdict(played[worlds:]),
            rule=self._verdict(self._rule),
        )
