"""A training run from its first lesson to its last update: learn from a teacher, then play, learn, judge, keep.

Same settings, same curve: every draw comes from a stream named after the update it belongs to, so that a run that was
killed and goes on writes the same log as one that was not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fogfold.policy.learned.choosers import Drawn
from fogfold.policy.learned.weights import Weights, load_weights
from fogfold.seeding import stream
from fogfold.train.ahead import AheadSeat
from fogfold.train.imitation import Imitator
from fogfold.train.judge import Judge, Judgement
from fogfold.train.keeping import RunFolder
from fogfold.train.lessons import LessonStore
from fogfold.train.ppo import Learner, UpdateFigures
from fogfold.train.rollout import Seat
from fogfold.train.settings import TrainSettings

__all__ = ["Outcome", "Report", "train"]

_STEPS_A_DAY = 288


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
    on_update: Callable[[Report], None] | None = None,
    on_lesson: Callable[[str, int, int], None] | None = None,
) -> Outcome:
    """Train a policy; goes on where the folder holds an unfinished run of the same settings.

    Args:
        settings: every figure of it.
        folder: where it is kept.
        device: where torch computes.
        on_update: told after each update.
        on_lesson: told in the warm-up: of what, how many of how many.

    Writes `settings.yaml`, `log.jsonl`, `best.safetensors` (least J in a judgement), `last.safetensors` and the state
    to go on from.

    Raises:
        ModelError: if the folder belongs to other settings.
    """
    kept = RunFolder(folder)
    kept.check(settings)
    learner = Learner(settings, torch.device(device))
    judge = Judge(settings)
    first, best = 0, math.inf
    seats = _seats(settings)
    if kept.can_go_on:
        first, best, seats = kept.go_on(learner)
    elif settings.start:
        learner.policy.take(load_weights(Path(settings.start)))
    elif settings.lesson_worlds > 0:
        _warm_up(settings, kept, learner, on_lesson or (lambda what, done, all_: None))  # noqa: ARG005
    watch = _Watch()
    for update in range(first, settings.updates + 1):
        weights = learner.policy.weights(_notes(settings, update))
        judged = None
        if update % settings.judge_every == 0 or update == settings.updates:
            judged = judge.judge(weights)
            kept.save("last", weights)
            if judged.best_against_rule < best:
                best = judged.best_against_rule
                kept.save("best", Weights(weights.shape, weights.arrays, {**weights.notes, **_verdict_notes(judged)}))
            # A run that goes on from here judges once more and writes the same line.
            kept.keep(update, learner, seats, best, log_bytes=kept.log_bytes)
            kept.log({"update": update, "judged": judged.as_json()})
        if update == settings.updates:
            break
        started = time.perf_counter()
        chooser = Drawn(weights, stream(settings.seed, "train", "draw", update))
        done, rng = update / settings.updates, stream(settings.seed, "train", "shuffle", update)
        figures = _learned(settings, learner, seats, chooser, update, done, rng)
        warning = watch.see(figures.reward, judged)
        kept.log({"update": update, **asdict(figures)} | ({"warning": warning} if warning else {}))
        if on_update is not None:
            speed = settings.seats * settings.steps / (time.perf_counter() - started)
            on_update(Report(update, settings.updates, figures, judged, warning, speed))
    return Outcome(best, settings.updates, folder)


def _seats(settings: TrainSettings) -> list[Seat] | list[AheadSeat]:
    if settings.method == "ahead":
        return [AheadSeat(settings, i) for i in range(settings.seats)]
    return [
        Seat(settings, i, 1 + int(stream(settings.seed, "train", "cut", i).integers(_STEPS_A_DAY)))
        for i in range(settings.seats)
    ]


def _learned(
    settings: TrainSettings,
    learner: Learner,
    seats: Sequence[Seat | AheadSeat],
    chooser: Drawn,
    update: int,
    done: float,
    rng: np.random.Generator,
) -> UpdateFigures:
    """One update's play, and what was learned from it."""
    experience = [seat.play(chooser, settings.steps) for seat in seats if isinstance(seat, Seat)]
    if experience:
        return learner.update(experience, done=done, rng=rng)
    groups = [
        group
        for i, seat in enumerate(seats)
        if isinstance(seat, AheadSeat)
        for group in seat.play(chooser, settings.steps, stream(settings.seed, "train", "go on", update, i))
    ]
    if not groups:
        return UpdateFigures(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0.0)  # all chains were alike: nothing to learn from
    return learner.update_ahead(groups, done=done, rng=rng)


def _warm_up(settings: TrainSettings, kept: RunFolder, learner: Learner, told: Callable[[str, int, int], None]) -> None:
    """Have worlds taught, and the network learn from them; a tenth of the worlds only says how well it does."""
    store = LessonStore(kept.path / "lessons")
    store.fill(settings, on_world=lambda done, worlds: told("worlds taught", done, worlds))
    held_back = max(1, settings.lesson_worlds // 10)
    learned = [lesson for k in range(held_back, settings.lesson_worlds) for lesson in store.read(k)]
    asked = [lesson for k in range(held_back) for lesson in store.read(k)]
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


class _Watch:
    """Raises its hand when the reward rises while a real figure falls."""

    def __init__(self) -> None:
        self._rewards: list[float] = []
        self._before: tuple[float, Judgement] | None = None

    def see(self, reward: float, judged: Judgement | None) -> str | None:
        """A warning after a judgement that contradicts the reward since the one before."""
        self._rewards.append(reward)
        if judged is None:
            return None
        mean = float(np.mean(self._rewards))
        before, self._before, self._rewards = self._before, (mean, judged), []
        if before is None or mean <= before[0]:
            return None
        old, new = before[1].drawn, judged.drawn
        worse = [
            name
            for name, was, now, slack in (
                ("SLA violation rate", old.sla_violation_rate, new.sla_violation_rate, 1.1),
                ("energy", old.energy_wh, new.energy_wh, 1.01),
                ("moves", old.moves, new.moves, 1.25),
                ("total cost", old.total_cost_wh, new.total_cost_wh, 1.005),
            )
            if now > slack * was
        ]
        if not worse:
            return None
        return (
            f"reward rose from {before[0]:.4f} to {mean:.4f} while {', '.join(worse)} got worse in the judge's worlds"
        )
