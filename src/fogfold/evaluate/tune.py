"""A fair search over a rule's parameters: no baseline is called tuned without one.

Successive halving (Jamieson and Talwalkar, AISTATS 2016): many combinations are tried on few seeds, the better half
goes on with twice as many, until few are left. The seeds of the search are its own; what was found is then held
against the defaults on other seeds, paired, so that the figure that is reported is not what the search looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.errors import ModelError
from fogfold.evaluate.runs import Task, run_tasks
from fogfold.evaluate.statistics import Interval, mean_interval
from fogfold.policy.registry import recipe
from fogfold.seeding import stream
from fogfold.world.scenario.schema import Scenario

__all__ = ["FIRST_TUNING_SEED", "Trial", "Tuning", "tune"]

FIRST_TUNING_SEED = 100_000
"""Seeds of a search start here, far from those that comparisons use."""


@dataclass(frozen=True)
class Trial:
    """One combination of parameters, and its mean total cost on the seeds that it was tried on."""

    parameters: Mapping[str, int | float]
    """Those that differ from the defaults; empty for the defaults."""
    seeds: int
    total_cost: float


@dataclass(frozen=True)
class Tuning:
    """What a search found."""

    policy: str
    scenarios: tuple[str, ...]
    best: Trial
    default: Trial
    trials: tuple[Trial, ...]
    """All combinations, best first, each with the seeds that it got to."""
    check: Interval
    """Total cost of the best less that of the defaults, relative, on seeds that the search did not see."""

    def as_json(self) -> dict[str, Any]:
        """The result as plain values."""

        def plain(trial: Trial) -> dict[str, Any]:
            return {"parameters": dict(trial.parameters), "seeds": trial.seeds, "total_cost": trial.total_cost}

        return {
            "policy": self.policy,
            "scenarios": list(self.scenarios),
            "best": plain(self.best),
            "default": plain(self.default),
            "check": self.check.as_json(),
            "trials": [plain(trial) for trial in self.trials],
        }


def tune(
    scenarios: Sequence[Scenario],
    policy: str,
    *,
    trials: int = 48,
    seeds: int = 8,
    check_seeds: int = 8,
    hours: float | None = None,
    root: int = 0,
    jobs: int = 1,
    on_runs: Callable[[int, int], None] | None = None,
) -> Tuning:
    """The best combination of a rule's parameters for some scenarios.

    Several scenarios count alike: a combination is judged by the mean of its cost over the defaults' cost.

    Args:
        scenarios: what to tune for.
        policy: whose parameters.
        trials: combinations to start with, the defaults among them, at least 2.
        seeds: seeds that the last ones are tried on, at least 1.
        check_seeds: seeds of the check, at least 1.
        hours: length of each run, where not the scenario's.
        root: seed of the search's draws.
        jobs: processes to run on.
        on_runs: called with the runs done and in all, as far as known.

    Raises:
        ModelError: if there is nothing to try or a number is out of its range.
        UnknownNameError: if there is no such policy.
    """
    space = recipe(policy).space
    if not scenarios or trials < 2 or seeds < 1 or check_seeds < 1:
        raise ModelError(
            f"{len(scenarios)} scenarios, {trials} trials, {seeds} seeds and {check_seeds} check seeds are asked for; "
            "a search needs at least 1, 2, 1 and 1"
        )
    if space.size < 2:
        raise ModelError(f"policy {policy} has no parameters to search; choose another")
    rng = stream(root, "tune", policy)
    tried: list[dict[str, int | float]] = [{}]
    while len(tried) < min(trials, space.size):
        drawn = space.draw(rng)
        if drawn not in tried and _is_legal(policy, drawn):
            tried.append(drawn)
    search = _Search(scenarios, policy, hours, jobs, on_runs)
    search.expect(_runs_in_all(len(tried), seeds) * len(scenarios) + 2 * check_seeds * len(scenarios))
    field, final = list(range(len(tried))), {}
    depth = max(1, seeds // 2 ** max(0, int(np.ceil(np.log2(len(tried)))) - 2))
    while True:
        costs = search.costs([tried[i] for i in field], FIRST_TUNING_SEED, depth)
        for i, cost in zip(field, costs):
            final[i] = Trial(tried[i], depth, cost)
        field = [i for _, i in sorted(zip(costs, field))]
        if depth >= seeds and len(field) <= 2:
            break
        # The defaults stay to the end, so that the last comparison is on equal seeds.
        kept = field[: max(2, len(field) // 2)]
        field = kept if 0 in kept else [*kept[:-1], 0]
        depth = min(seeds, 2 * depth)
    ranked = sorted(final.values(), key=lambda trial: (-trial.seeds, trial.total_cost))
    best = ranked[0]
    first_check = FIRST_TUNING_SEED + seeds
    relative = search.relative([best.parameters, {}], first_check, check_seeds)
    return Tuning(
        policy,
        tuple(scenario.name for scenario in scenarios),
        best,
        final[0],
        tuple(ranked),
        mean_interval(relative),
    )


def _is_legal(policy: str, parameters: Mapping[str, int | float]) -> bool:
    try:
        recipe(policy).make(**parameters)
    except ModelError:
        return False
    return True


def _runs_in_all(trials: int, seeds: int) -> int:
    runs, depth, left = 0, max(1, seeds // 2 ** max(0, int(np.ceil(np.log2(trials))) - 2)), trials
    while True:
        runs += left * depth
        if depth >= seeds and left <= 2:
            return runs
        left, depth = max(2, left // 2), min(seeds, 2 * depth)


class _Search:
    """Runs combinations, remembers what it ran, and tells how far it is."""

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        policy: str,
        hours: float | None,
        jobs: int,
        on_runs: Callable[[int, int], None] | None,
    ) -> None:
        self._scenarios, self._policy, self._hours, self._jobs, self._on_runs = scenarios, policy, hours, jobs, on_runs
        self._cost: dict[tuple[str, int, int], float] = {}
        self._done, self._total = 0, 0

    def expect(self, runs: int) -> None:
        self._total = runs

    def _key(self, parameters: Mapping[str, int | float], scenario: int, seed: int) -> tuple[str, int, int]:
        return repr(sorted(parameters.items())), scenario, seed

    def _fill(self, combinations: Sequence[Mapping[str, int | float]], seeds: Sequence[int]) -> None:
        keys, tasks = [], []
        for parameters in combinations:
            for place, scenario in enumerate(self._scenarios):
                for seed in seeds:
                    key = self._key(parameters, place, seed)
                    if key not in self._cost:
                        keys.append(key)
                        tasks.append(Task(scenario, self._policy, seed, self._hours, parameters))
        for index, episode in run_tasks(tasks, jobs=self._jobs):
            self._cost[keys[index]] = episode.result.total_cost
            self._done += 1
            if self._on_runs is not None:
                self._on_runs(self._done, max(self._total, self._done))

    def _table(self, parameters: Mapping[str, int | float], seeds: Sequence[int]) -> list[list[float]]:
        return [
            [self._cost[self._key(parameters, place, seed)] for seed in seeds] for place in range(len(self._scenarios))
        ]

    def costs(self, combinations: Sequence[Mapping[str, int | float]], first: int, count: int) -> list[float]:
        """Mean total cost of each combination; over several scenarios, relative to the defaults' of each."""
        seeds = range(first, first + count)
        self._fill([*combinations, {}], seeds)
        base = np.array(self._table({}, seeds)).mean(axis=1)
        scale = base if len(self._scenarios) > 1 else np.ones(1)
        return [float((np.array(self._table(each, seeds)).mean(axis=1) / scale).mean()) for each in combinations]

    def relative(self, pair: Sequence[Mapping[str, int | float]], first: int, count: int) -> Float[Array, " seeds"]:
        """Cost of the first over the second less 1, seed by seed, the mean over scenarios."""
        seeds = range(first, first + count)
        self._fill(pair, seeds)
        one, two = (np.array(self._table(each, seeds)) for each in pair)
        return np.asarray((one / two - 1.0).mean(axis=0))
