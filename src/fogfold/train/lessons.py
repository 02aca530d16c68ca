"""What a teacher does, written down: the experience that a policy learns from before it tries anything itself.

A teacher that is slow and good (rules and plans that are rehearsed) decides in many worlds. Its decisions are put
through the same chain of choices that the policy makes, and what it would take of each short list is the lesson. The
worlds go on as the chain does, so that a pupil that follows meets what it has seen. Single snapshots with a budget
(`drawn`) are a topic of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from fogfold.encoding.arrays import ClusterView, fleet_arrays
from fogfold.errors import ModelError
from fogfold.policy.learned.deciding import Choice, Context, Decider, Decision
from fogfold.policy.learned.rows import Stage
from fogfold.policy.orders import orders_of
from fogfold.policy.registry import policy as policy_named
from fogfold.train.drawn import drawn_case
from fogfold.train.rollout import training_world
from fogfold.train.settings import TrainSettings
from fogfold.world.world import World

__all__ = ["TOPICS", "Lesson", "LessonStore", "Topic", "taught_snapshot", "taught_world"]

Topic: TypeAlias = tuple[str, int]
"""A word of `TOPICS`, and a number."""


@dataclass(frozen=True)
class Lesson:
    """One decision of a teacher, as choices; those bear its marks."""

    context: Context
    choices: tuple[Choice, ...]


def taught_world(settings: TrainSettings, number: int) -> list[Lesson]:
    """The lessons of the training world of that number, in the order of time."""
    built = training_world(settings, number, hours=settings.lesson_hours)
    fleet = fleet_arrays(built.cluster)
    world = World(fleet, built.params, [(built.workload, built.faults)], seed=built.seed)
    decider = Decider(teacher=policy_named(settings.teacher))
    decider.reset(built.seed)
    lessons = []
    for _ in range(built.ticks // built.params.ticks_per_step):
        decision = _followed(decider, world.view())
        lessons.append(Lesson(decision.context, tuple(decision.choices)))
        world.step(orders_of(decision.proposal, fleet.nodes))
    return lessons


def taught_snapshot(settings: TrainSettings, number: int) -> list[Lesson]:
    """The lesson of the drawn snapshot of that number."""
    view, limits, teacher = drawn_case(settings, number)
    decider = Decider(limits, teacher=teacher)
    decider.reset(0)
    decision = _followed(decider, view)
    return [Lesson(decision.context, tuple(decision.choices))]


TOPICS: Mapping[str, Callable[[TrainSettings, int], list[Lesson]]] = {
    "world": taught_world,
    "snapshot": taught_snapshot,
}
"""What is taught, and by whom."""


def _followed(decider: Decider, view: ClusterView) -> Decision:
    """The decision that takes what the teacher marks: of several marks the first."""
    asking = decider.ask(view)
    question = next(asking)
    while True:
        assert question.taught is not None  # noqa: S101 - this decider has a teacher
        try:
            question = asking.send((int(np.argmax(question.taught)), 0.0))
        except StopIteration as end:
            decision: Decision = end.value
            return decision


class LessonStore:
    """A folder with one file for each world or snapshot; one that is there is not played again.

    Args:
        folder: where; made where it is not there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def wanted(self, settings: TrainSettings) -> list[Topic]:
        """All that is to be taught by the settings."""
        counts = {"world": settings.lesson_worlds, "snapshot": settings.lesson_snapshots}
        return [(topic, number) for topic, count in counts.items() for number in range(count)]

    def divided(self, settings: TrainSettings) -> tuple[list[Lesson], list[Lesson]]:
        """The lessons to learn from, and a tenth of each topic that only says how well that went.

        Raises:
            ModelError: if one is not there.
        """
        tenth = {"world": settings.lesson_worlds // 10, "snapshot": settings.lesson_snapshots // 10}
        learned: list[Lesson] = []
        held_back: list[Lesson] = []
        for topic in self.wanted(settings):
            name, number = topic
            part = held_back if number < max(1, tenth[name]) else learned
            part.extend(self.read(topic))
        return learned, held_back

    def missing(self, settings: TrainSettings) -> list[Topic]:
        """What of it is not there yet."""
        return [topic for topic in self.wanted(settings) if not self._path(topic).is_file()]

    def fill(self, settings: TrainSettings, topic: Topic) -> None:
        """Have it taught, and write the lessons down."""
        path = self._path(topic)
        partial = path.with_suffix(".part")
        name, number = topic
        with partial.open("wb") as file:
            np.savez_compressed(file, **_packed(TOPICS[name](settings, number)))  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)

    def read(self, topic: Topic) -> list[Lesson]:
        """The lessons of a world or snapshot.

        Raises:
            ModelError: if they are not there.
        """
        path = self._path(topic)
        if not path.is_file():
            raise ModelError(f"{path} is not there; fill the store first")
        with np.load(path) as arrays:
            return _unpacked({name: arrays[name] for name in arrays.files})

    def _path(self, topic: Topic) -> Path:
        name, number = topic
        return self._folder / f"{name}-{number:05d}.npz"


def _packed(lessons: Sequence[Lesson]) -> dict[str, np.ndarray]:
    """Lessons as a few arrays: choices one after the other, stage by stage."""
    out = {
        "tokens": np.stack([lesson.context.tokens for lesson in lessons]),
        "whole": np.stack([lesson.context.whole for lesson in lessons]),
    }
    for stage in Stage:
        found = [
            (d, k, c) for d, lesson in enumerate(lessons) for k, c in enumerate(lesson.choices) if c.stage == stage
        ]
        name = stage.name.lower()
        out[f"{name}_at"] = np.array([(d, k, len(c.lead), c.chosen) for d, k, c in found], np.int32).reshape(-1, 4)
        if found:
            out[f"{name}_rows"] = np.concatenate([c.rows for _, _, c in found])
            out[f"{name}_lead"] = np.concatenate([c.lead for _, _, c in found])
            out[f"{name}_taught"] = np.concatenate([c.taught for _, _, c in found if c.taught is not None])
    return out


def _unpacked(arrays: dict[str, np.ndarray]) -> list[Lesson]:
    choices: list[dict[int, Choice]] = [{} for _ in arrays["tokens"]]
    for stage in Stage:
        name, at = stage.name.lower(), 0
        for d, k, options, chosen in arrays[f"{name}_at"].tolist():
            span = slice(at, at + options)
            at += options
            choices[d][k] = Choice(
                stage,
                arrays[f"{name}_rows"][span],
                arrays[f"{name}_lead"][span],
                chosen,
                0.0,
                arrays[f"{name}_taught"][span],
            )
    return [
        Lesson(Context(tokens, whole), tuple(made[k] for k in range(len(made))))
        for tokens, whole, made in zip(arrays["tokens"], arrays["whole"], choices, strict=True)
    ]
