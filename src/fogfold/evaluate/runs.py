"""Many episodes, several at once: every policy meets every seed, and each seed is the same world for all.

Results come back in a fixed order whatever finishes first, so that the same command prints the same bytes. What was
finished when a run is interrupted is kept.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any

from fogfold.cost.total import ExchangeRates
from fogfold.errors import ModelError
from fogfold.evaluate.episodes import Episode, run_episode
from fogfold.policy.registry import policy as policy_named
from fogfold.world.scenario.build import build
from fogfold.world.scenario.schema import Scenario

__all__ = ["Task", "run_tasks", "tasks_of"]


@dataclass(frozen=True)
class Task:
    """One episode to run: everything a worker process needs to know."""

    scenario: Scenario
    policy: str
    seed: int
    hours: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the policy that differ from its defaults."""
    rates: ExchangeRates = field(default_factory=ExchangeRates)
    timing: bool = False


def tasks_of(
    scenario: Scenario,
    policies: Sequence[str],
    seeds: Sequence[int],
    *,
    hours: float | None = None,
    rates: ExchangeRates | None = None,
    timing: bool = False,
) -> list[Task]:
    """Every policy with every seed, policies outermost.

    Raises:
        ModelError: if there is no policy or no seed.
    """
    if not policies or not seeds:
        raise ModelError(f"there are {len(policies)} policies and {len(seeds)} seeds to run; give at least one of each")
    return [
        Task(scenario, policy, seed, hours, rates=rates or ExchangeRates(), timing=timing)
        for policy in policies
        for seed in seeds
    ]


def _run(task: Task, on_step: Callable[[int, int], None] | None = None) -> Episode:
    built = build(task.scenario, task.seed, hours=task.hours)
    chosen = policy_named(task.policy, **task.parameters)
    return run_episode(built, chosen, rates=task.rates, timing=task.timing, on_step=on_step)


def _run_indexed(index: int, task: Task) -> tuple[int, Episode]:
    return index, _run(task)


def run_tasks(
    tasks: Sequence[Task],
    *,
    jobs: int = 1,
    on_step: Callable[[int, int], None] | None = None,
) -> Iterator[tuple[int, Episode]]:
    """The episodes as they finish, each with the position of its task.

    Args:
        tasks: what to run.
        jobs: processes to run them on; 1 stays in this one.
        on_step: with one job, called after every step with the steps done and in all of the present episode.
    """
    if jobs <= 1 or len(tasks) <= 1:
        for index, task in enumerate(tasks):
            yield index, _run(task, on_step)
        return
    # The first runs here, so that what it compiles is on disk before the others look for it.
    yield 0, _run(tasks[0], on_step)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(tasks) - 1), mp_context=context) as pool:
        futures = [pool.submit(_run_indexed, i, tasks[i]) for i in range(1, len(tasks))]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            for future in futures:
                future.cancel()
