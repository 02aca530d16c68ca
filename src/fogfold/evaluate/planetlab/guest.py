"""A policy of fogfold as a guest of the benchmark: it sees each optimisation as a cluster, and its moves are played.

Accounting, sharing and the length of moves stay the benchmark's. Two things are lost on the way. A node that a policy
sends to sleep goes off when its last VM has left, whatever it says; and one that it wakes goes on when the first
arrives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from fogfold.errors import UnknownNameError, did_you_mean
from fogfold.evaluate.planetlab.cluster import ClusterMaker
from fogfold.evaluate.planetlab.rules import RULES, Rule, rule_named
from fogfold.evaluate.planetlab.seam import MovePolicy, Observation
from fogfold.policy.base import Policy
from fogfold.policy.registry import POLICIES, policy, recipe

__all__ = ["SETTINGS", "Guest", "player_named"]

SETTINGS: Mapping[str, Any] = {
    "calm_decisions": 0,
    "cooldown_s": 0.0,
    "move_share": 1.0,
    "least_rate_bit_s": 0.0,
    "late_limit": 1.0,
    "wake_load": 0.9,
    "sleep_load": 0.88,
    "sleep_requested": 1.0,
    "high_mark": 0.9,
    "fill_mark": 0.8,
    "low_mark": 0.3,
}
"""Figures of a guest that has them; all others keep their defaults.

What guards against things that the benchmark does not have is off: power switches that take time, links that are
shared, requests that come late. The three marks were chosen on the day 20110303, out of eight settings; the other days
had no say.
"""

_OPENING_STEPS = 6


class Guest:
    """A policy of fogfold in the benchmark.

    Args:
        name: as the registry has it, with what it takes after a colon.
        settings: figures of the policy beside `SETTINGS`, which must be its own.
        opening: another that decides in its place for the first half hour, while VMs are still spread over all hosts;
            none where empty.

    Raises:
        UnknownNameError: if there is no such policy, or it has no figure of a given name.
        ModelError: if a figure is out of its range.
    """

    def __init__(self, name: str, settings: Mapping[str, Any] | None = None, *, opening: str = "") -> None:
        self._policy = _policy(name, settings or {})
        self._opening = _policy(opening, {}) if opening else None
        self._maker = ClusterMaker()

    @property
    def name(self) -> str:
        """What the row of results calls it."""
        return self._policy.name

    def moves(self, seen: Observation) -> Sequence[tuple[int, int]]:
        """The moves that it proposes, in its order."""
        if seen.step == 1:
            self._policy.reset(0)
            self._maker = ClusterMaker()
            if self._opening is not None:
                self._opening.reset(0)
        view, vms = self._maker.view(seen)
        playing = self._policy
        if self._opening is not None and seen.step <= _OPENING_STEPS:
            playing = self._opening
        return [(int(vms[move.container]), move.target) for move in playing.propose(view).moves]


def _policy(name: str, settings: Mapping[str, Any]) -> Policy:
    known = {figure.name for figure in fields(recipe(name.partition(":")[0]).params)}
    common = {key: value for key, value in SETTINGS.items() if key in known}
    return policy(name, **{**common, **settings})


def player_named(name: str, *, opening: str = "") -> Rule | MovePolicy:
    """Who plays under that name: one of the benchmark's own policies, else a policy of fogfold.

    Args:
        name: its name.
        opening: as for `Guest`; the benchmark's own policies know nothing of it.

    Raises:
        UnknownNameError: if there is neither.
    """
    base = name.partition(":")[0]
    try:
        return rule_named(name)
    except UnknownNameError as error:
        if base not in POLICIES:
            known = [rule.name for rule in RULES] + list(POLICIES)
            raise UnknownNameError(f'PlanetLab policy "{name}" is unknown; {did_you_mean(name, known)}') from error
    return Guest(name, opening=opening)
