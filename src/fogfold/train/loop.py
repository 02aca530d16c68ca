"""A training run from its first lesson to its last update: learn from a teacher, then play, learn, judge, keep.

Same settings, same curve: every draw comes from a stream named after the update it belongs to, so that a run that was
killed and goes on writes the same log as one that was not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fogfold.policy.learned.weights import Weights, load_weights
from fogfold.seeding import stream
from fogfold.train.ahead import Group
from fogfold.train.crew import Crew
from fogfold.train.devices import device_named
from fogfold.train.imitation import Imitator
from fogfold.train.judge import Judge, Judgement
from fogfold.train.keeping import RunFolder
from fogfold.train.lessons import LessonStore
from fogfold.train.ppo import Learner, UpdateFigures
from fogfold.train.rollout import Step
from fogfold.train.seats import Played
from fogfold.train.settings import TrainSettings
from fogfold.train.trackers import tracker_named
from fogfold.train.watch import Watch

__all__ = ["Outcome", "Report", "learned_from", "train"]


@dataclass(frozen=True)
class Report:
    """What a run tells after each update."""

    update: int
    updates: int
    figures: UpdateFigures
    judged: Judgement | None
    """Where this update was judged."""
    warning: str | None
    steps_per_s: float


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    best_against_rule: float
    """Of the best judgement: J over the rule's J, less 1."""
    updates: int
    folder: Path


def train(
    settings: TrainSettings,
    folder: Path,
    *,
    device: str = "cpu",
    jobs: int = 1,
    tracker: str | None = None,
    on_update: Callable[[Report], None] | None = None,
    on_lesson: Callable[[str, int, int], None] | None = None,
) -> Outcome:
    """Train a policy; goes on where the folder holds an unfinished run of the same settings.

    Args:
        settings: every figure of it.
        folder: where it is kept.
        device: where torch computes, as `devices.device_named` takes it.
        jobs: processes that play; how many changes nothing but the time.
        tracker: `tensorboard` or `trackio`, to show there what the log holds.
        on_update: told after each update.
        on_lesson: told in the warm-up: of what, how many of how many.

    Writes `settings.yaml`, `log.jsonl`, `best.safetensors` (least J in a judgement), `last.safetensors` and the state
    to go on from.

    Raises:
        ModelError: if the folder belongs to other settings, there is to be no process, or no such device.
        UnknownNameError: if the tracker or the device is unknown.
        MissingExtraError: if the tracker's package is not installed.
    """
    learner = Learner(settings, device_named(device), jobs=jobs)
    RunFolder(folder).check(settings)
    shown = tracker_named(tracker, folder, settings) if tracker is not None else None
    try:
        with Crew(settings, jobs) as crew:
            return _run(settings, RunFolder(folder, shown), crew, learner, on_update, on_lesson)
    finally:
        if shown is not None:
            shown.close()


def _run(
    settings: TrainSettings,
    kept: RunFolder,
    crew: Crew,
    learner: Learner,
    on_update: Callable[[Report], None] | None,
    on_lesson: Callable[[str, int, int], None] | None,
) -> Outcome:
    judge = Judge(settings, crew)
    first, best = 0, math.inf
    watch = Watch()
    if kept.can_go_on:
        first, best, seats = kept.go_on(learner)
        crew.take(seats)
        watch.recall(kept.lines())
    else:
        kept.begin()
        if settings.start:
            learner.policy.take(load_weights(Path(settings.start)))
        elif settings.lesson_worlds + settings.lesson_snapshots > 0:
            _warm_up(settings, kept, crew, learner, on_lesson or (lambda what, done, all_: None))  # noqa: ARG005
    for update in range(first, settings.updates + 1):
        weights = learner.policy.weights(_notes(settings, update))
        judged, warning = None, None
        if update % settings.judge_every == 0 or update == settings.updates:
            judged = judge.judge(weights)
            kept.save("last", weights)
            if judged.best_against_rule < best:
                best = judged.best_against_rule
                kept.save("best", Weights(weights.shape, weights.arrays, {**weights.notes, **_verdict_notes(judged)}))
            # A run that goes on from here judges once more and writes the same line.
            kept.keep(update, learner, crew.keep(), best, log_bytes=kept.log_bytes)
            kept.log({"update": update, "judged": judged.as_json()})
            warning = watch.judge(judged)
            if warning is not None:
                kept.log({"update": update, "warning": warning})
        if update == settings.updates:
            break
        started = time.perf_counter()
        played = crew.play(weights, update)
        done, rng = update / settings.updates, stream(settings.seed, "train", "shuffle", update)
        figures = learned_from(learner, played, done, rng)
        watch.see(figures.reward)
        kept.log({"update": update, **asdict(figures)})
        if on_update is not None:
            speed = settings.seats * settings.steps / (time.perf_counter() - started)
            on_update(Report(update, settings.updates, figures, judged, warning, speed))
    return Outcome(best, settings.updates, kept.path)


def learned_from(learner: Learner, played: list[Played], done: float, rng: np.random.Generator) -> UpdateFigures:
    """What was learned from what the seats brought."""
    steps = [[step for step in found if isinstance(step, Step)] for found in played]
    if any(steps):
        return learner.update(steps, done=done, rng=rng)
    groups = [group for found in played for group in found if isinstance(group, Group)]
    if not groups:
        return UpdateFigures(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0.0)  # all chains were alike: nothing to learn from
    return learner.update_ahead(groups, done=done, rng=rng)


def _warm_up(
    settings: TrainSettings, kept: RunFolder, crew: Crew, learner: Learner, told: Callable[[str, int, int], None]
) -> None:
    """Have lessons given, and the network learn from them; a tenth of each topic only says how well it does."""
    store = LessonStore(kept.path / "lessons")
    wanted, missing = store.wanted(settings), store.missing(settings)
    there = len(wanted) - len(missing)
    crew.run(
        store.fill,
        [(settings, topic) for topic in missing],
        on_done=lambda done: told("lessons given", there + done, len(wanted)),
    )
    learned, asked = store.divided(settings)
    imitator = Imitator(
        learner.policy, learned, rate=settings.lesson_rate, part=settings.lesson_part, device=learner.device
    )
    for k in range(settings.lesson_passes):
        done = k / settings.lesson_passes
        seen = imitator.learn(done=done, rng=stream(settings.seed, "train", "lessons", k))
        kept.log({"lesson": k, "learned": asdict(seen), "held_back": asdict(imitator.judge(asked))})
        told("passes over lessons", k + 1, settings.lesson_passes)


def _notes(settings: TrainSettings, update: int) -> dict[str, Any]:
    return {
        "trained_on": settings.scenario,
        "seed": settings.seed,
        "update": update,
        "decisions": update * settings.seats * settings.steps,
    }


def _verdict_notes(judged: Judgement) -> dict[str, Any]:
    return {"serve": judged.best, "judged_against_rule": round(judged.best_against_rule, 5)}
