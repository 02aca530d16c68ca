"""Every figure of a training run, with its unit and its reason; read from a YAML file, unknown keys refused."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from fogfold.errors import ModelError, UnknownNameError, did_you_mean
from fogfold.model.resources import check_number
from fogfold.policy.learned.weights import Shape

__all__ = ["TrainSettings", "read_settings"]


_METHODS = ("paired", "ahead")


@dataclass(frozen=True)
class TrainSettings:
    """A training run.

    Raises:
        ModelError: if a figure is out of its range.
    """

    seed: int = 1
    """Root of all draws of the run: worlds, choices, order of the updates."""
    scenario: str = "city-20"
    """The scenario that all worlds are variants of."""
    nodes: tuple[int, ...] = (8, 14, 20, 30, 45, 60)
    """Sizes of cluster that are drawn from, evenly."""
    mean_level: tuple[float, float] = (0.25, 0.55)
    """Span of the mean demand over request that is drawn from: trained at one load, a policy fails at others."""
    days: tuple[str, ...] = ("monday", "wednesday", "friday", "saturday")
    """Days on which episodes start."""
    hours: float = 24.0
    """Length of an episode."""
    first_world: int = 10_000
    """Seed of the first world of training; those below are for judging."""
    start: str = ""
    """Weights to start from, a file that training wrote; with them there is no warm-up."""
    teacher: str = "rehearsed"
    """The policy that is learned from in the warm-up."""
    lesson_worlds: int = 0
    """Worlds that it teaches in; 0 leaves the warm-up out."""
    lesson_snapshots: int = 0
    """Drawn snapshots with a budget that `guided` empties nodes in; they are learned from beside the worlds."""
    snapshot_nodes: tuple[int, ...] = (12, 20, 30, 40, 60, 90)
    """Sizes of these."""
    lesson_hours: float = 12.0
    """Length of each."""
    lesson_passes: int = 16
    """Passes over all lessons."""
    lesson_rate: float = 2e-3
    """Learning rate of the warm-up; it falls to a twentieth in a straight line."""
    lesson_part: int = 64
    """Decisions of one step of the warm-up."""
    method: str = "paired"
    """How choices are paid in the main phase: `paired` by what each step saves against a twin that does nothing, with a
    value network; `ahead` by playing several chains from each state ahead in the same future."""
    chains: int = 8
    """Chains that are drawn from a state, where it is looked ahead."""
    ahead_steps: int = 18
    """Steps that each is played ahead: an hour and a half."""
    ahead_rule: str = "drain-relief"
    """The rule that goes on after the first of them."""
    seats: int = 24
    """Worlds that go on side by side; each with a cluster, a day and an hour of its own."""
    steps: int = 48
    """Decisions of each world between two updates (four hours)."""
    updates: int = 400
    """Updates in all."""
    epochs: int = 3
    """Passes over the decisions of an update."""
    parts: int = 6
    """Parts that each pass is cut into."""
    learning_rate: float = 5e-4
    """At the start; it falls to a tenth in a straight line."""
    discount: float = 0.97
    """What a step's gain counts a step before: 0.97 looks some three hours ahead."""
    trace: float = 0.9
    """GAE's lambda."""
    greatest_advantage: float = 3.0
    """Advantages beyond so many standard deviations count as that many: a flash crowd costs as much as a day's saving,
    and would drown what else there is to learn."""
    clip: float = 0.2
    """PPO's clip of the ratio."""
    entropy: tuple[float, float] = (0.004, 0.0003)
    """What a nat of entropy is worth at the start and at the end."""
    value_weight: float = 0.5
    greatest_gradient: float = 0.5
    most_divergence: float = 0.03
    """An update stops early when the policy has gone further than this from where it was (mean KL a choice)."""
    follow: float = 4.0
    """How strongly the rule's choice counts at the start, as a difference of logits."""
    judge_every: int = 20
    """Updates between two judgements."""
    judge_worlds: int = 6
    """Worlds of the scenario as it stands on which a frozen policy is judged beside the rule."""
    encoder: int = 32
    summary: int = 32
    hidden: int = 48
    last: int = 32

    def __post_init__(self) -> None:
        whole = (
            "lesson_passes",
            "lesson_part",
            "chains",
            "ahead_steps",
            "seats",
            "steps",
            "updates",
            "epochs",
            "parts",
            "judge_every",
            "judge_worlds",
        )
        for name in (*whole, "encoder", "summary", "hidden", "last"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ModelError(f"{name} is {value!r}; it is a whole number from 1")
        for name in ("lesson_worlds", "lesson_snapshots"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 0:
                raise ModelError(f"{name} is {value!r}; it is a whole number from 0")
        if self.method not in _METHODS:
            raise ModelError(f'method is "{self.method}"; it is one of {", ".join(_METHODS)}')
        for name in ("learning_rate", "hours", "lesson_hours", "lesson_rate"):
            check_number(name, float(getattr(self, name)), above=True)
        for name in ("discount", "trace"):
            check_number(name, float(getattr(self, name)), high=1.0)
        for name in ("clip", "greatest_advantage", "value_weight", "greatest_gradient", "most_divergence", "follow"):
            check_number(name, float(getattr(self, name)))
        for name in ("nodes", "snapshot_nodes"):
            sizes = getattr(self, name)
            if not sizes or min(sizes) < 2:
                raise ModelError(f"{name} is {sizes!r}; give at least one size from 2")

    @property
    def shape(self) -> Shape:
        """Widths of the network."""
        return Shape(self.encoder, self.summary, self.hidden, self.last)


def read_settings(path: Path) -> TrainSettings:
    """The settings of a YAML file; what it leaves out is at its default.

    Raises:
        ModelError: if it cannot be read, or a figure is out of its range.
        UnknownNameError: if a key is unknown.
    """
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ModelError(f"{path} cannot be read as YAML: {error}") from error
    if found is None:
        found = {}
    if not isinstance(found, dict):
        raise ModelError(f"{path} holds {type(found).__name__}; it is to hold keys and values")
    known = {field.name: field.default for field in fields(TrainSettings)}
    values: dict[str, Any] = {}
    for name, value in found.items():
        if name not in known:
            raise UnknownNameError(f'{path}: training has no setting "{name}"; {did_you_mean(str(name), known)}')
        values[name] = tuple(value) if isinstance(value, list) else value
        if isinstance(known[name], float) and isinstance(value, int) and not isinstance(value, bool):
            values[name] = float(value)
        if not isinstance(values[name], type(known[name])):
            raise ModelError(f"{path}: {name} is {value!r}; it is to be like {known[name]!r}")
    return TrainSettings(**values)
