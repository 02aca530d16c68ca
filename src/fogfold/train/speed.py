"""How fast a policy is trained, on one core and on several: one update, played and learned from again and again.

Every number of cores does the very same update from the very same worlds, in turns, so that other work on the machine
meets all of them; the fastest round of each counts, since such work can only slow one down. What they learn must be
the same to the bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

import torch

from fogfold.errors import InvariantError, ModelError
from fogfold.policy.learned.weights import Weights
from fogfold.seeding import stream
from fogfold.train.crew import Crew
from fogfold.train.loop import learned_from
from fogfold.train.ppo import Learner
from fogfold.train.rollout import training_world
from fogfold.train.settings import TrainSettings

__all__ = ["METHODS", "TrainingRow", "measure_training"]

METHODS = {"ppo": "paired", "ahead": "ahead"}
"""The methods by the names that a benchmark gives them: PPO against a twin that does nothing, and looks ahead."""

_SIZES = {"ppo": (24, 48), "ahead": (12, 8)}
"""Seats and steps of an update."""


@dataclass(frozen=True, slots=True)
class TrainingRow:
    """Speed of training, with as many cores as that."""

    nodes: int
    containers: int
    method: str
    cores: int
    steps_per_s: float
    """Decisions of an update that the worlds went on with, over the time to play them and to learn from them."""
    choices_per_s: float
    """Choices that are learned from, over the same time."""
    update_s: float
    """Part of that time that learning takes."""
    cpu_s: float
    """CPU time of all processes in that time."""
    path_cpu_s: float
    """CPU time of the process that plays longest, and of learning without what threads do side by side: what a clock
    shows where every core is free."""
    speedup: float
    """Speed over that of the first number of cores."""

    def as_json(self) -> dict[str, Any]:
        """The row as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class _Round:
    """One update, timed."""

    play_s: float
    update_s: float
    cpu_s: float
    path_cpu_s: float
    choices: int
    digest: str

    @property
    def all_s(self) -> float:
        return self.play_s + self.update_s


def measure_training(
    nodes: Sequence[int],
    methods: Sequence[str],
    cores: Sequence[int],
    *,
    seed: int = 0,
    rounds: int = 3,
    seats: int | None = None,
    steps: int | None = None,
    on_row: Callable[[TrainingRow], None] | None = None,
) -> list[TrainingRow]:
    """A row for each size of cluster, method and number of cores.

    Args:
        nodes: sizes of the cluster.
        methods: names in `METHODS`.
        cores: numbers of processes.
        seed: root of all draws.
        rounds: how often each does the same update.
        seats: of an update, instead of the method's own.
        steps: of each seat, likewise.
        on_row: called with each row when it is there.

    Raises:
        ModelError: if there is to be no round.
        InvariantError: if numbers of cores learn different things.
    """
    if rounds < 1:
        raise ModelError(f"rounds is {rounds}; time at least one")
    rows = []
    for count in nodes:
        for method in methods:
            own_seats, own_steps = _SIZES[method]
            settings = TrainSettings(
                seed=seed,
                method=METHODS[method],
                nodes=(count,),
                seats=seats or own_seats,
                steps=steps or own_steps,
            )
            for row in _rows(settings, method, cores, rounds):
                rows.append(row)
                if on_row is not None:
                    on_row(row)
    return rows


def _rows(settings: TrainSettings, method: str, cores: Sequence[int], rounds: int) -> list[TrainingRow]:
    cluster = training_world(settings, 0, hours=1.0).cluster
    weights = Learner(settings, torch.device("cpu")).policy.weights({})
    best: dict[int, _Round] = {}
    with ExitStack() as stack:
        crews = {jobs: stack.enter_context(Crew(settings, jobs)) for jobs in cores}
        for crew in crews.values():
            crew.play(weights, 0)  # every seat begins a world, and loops are compiled
        kept = next(iter(crews.values())).keep()
        for _ in range(rounds):
            for jobs, crew in crews.items():
                crew.take(kept)
                found = _round(settings, crew, weights)
                if jobs not in best or found.all_s < best[jobs].all_s:
                    best[jobs] = found
    if len({found.digest for found in best.values()}) > 1:
        raise InvariantError(f"training on {', '.join(map(str, cores))} cores gave different weights")
    steps = settings.seats * settings.steps
    return [
        TrainingRow(
            len(cluster.nodes),
            len(cluster.containers),
            method,
            jobs,
            steps / found.all_s,
            found.choices / found.all_s,
            found.update_s,
            found.cpu_s,
            found.path_cpu_s,
            best[cores[0]].all_s / found.all_s,
        )
        for jobs, found in best.items()
    ]


def _round(settings: TrainSettings, crew: Crew, weights: Weights) -> _Round:
    learner = Learner(settings, torch.device("cpu"), jobs=crew.jobs)
    cpu_before, started = crew.cpu_s(), time.perf_counter()
    played = crew.play(weights, 1)
    play_s, cpu_between = time.perf_counter() - started, crew.cpu_s()
    started, before = time.perf_counter(), time.process_time()
    figures = learned_from(learner, played, 0.0, stream(settings.seed, "train", "shuffle", 1))
    update_s, update_cpu_s = time.perf_counter() - started, time.process_time() - before
    play_cpu_s = [after - was for was, after in zip(cpu_before, cpu_between, strict=True)]
    return _Round(
        play_s,
        update_s,
        sum(play_cpu_s) + update_cpu_s,
        max(play_cpu_s) + update_cpu_s - learner.overlapped_s,
        figures.choices,
        learner.policy.weights({}).digest,
    )
