"""Notes what decisions are made from, so that they can be made again, and gives it to the store.

A policy that can say what it remembers is asked before each decision: the record of such a decision is enough by
itself. Of any other, all decisions since it was fresh are noted, also those that stand in no journal; what the store
did not take is given to it again with the next, since one that is missing breaks the chain.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fogfold.control.collect import CollectSettings
from fogfold.control.deciding import Decider, Decision, Known
from fogfold.control.inputs import Inputs, Parts, digest_of, packed
from fogfold.control.ports import Clock, InputsRow, Store
from fogfold.control.schedule import Run
from fogfold.errors import ModelError
from fogfold.model.identity import ContainerId
from fogfold.model.resources import check_number
from fogfold.policy.base import Remembering
from fogfold.units import DAY_S, HOUR_S, MIB

__all__ = ["InputsSettings", "Recorder", "Taken", "digest_of_decision"]

_MOST_WAITING = 200
"""Rows that wait for a store that is away; the oldest are given up beyond that."""


@dataclass(frozen=True, slots=True)
class InputsSettings:
    """How long it is kept what decisions were made from."""

    keep_s: float = 7 * DAY_S
    """After that it is forgotten; with 0 nothing is stored, and no decision can be made again."""
    most_mib: float = 512.0
    """Beyond that the oldest is forgotten earlier: a decision about twenty nodes takes some 12 kB."""
    prune_s: float = HOUR_S
    """Time between two times of forgetting."""

    def __post_init__(self) -> None:
        check_number("keep_s", self.keep_s)
        for name in ("most_mib", "prune_s"):
            check_number(name, float(getattr(self, name)), above=True)


@dataclass(frozen=True)
class Taken:
    """What has to be noted before a decision, since making it changes it."""

    known: Known
    run: Run
    usage: tuple[Mapping[ContainerId, float], ...]
    remembered: Mapping[str, Any] | None


class Recorder:
    """Notes what one decider decides from.

    Args:
        decider: who decides; its policy is fresh, or has recalled all that it remembers.
        collect: what is believed of readings.
        settings: how long it is kept.
        holder: a name that no other process bears.
    """

    def __init__(self, decider: Decider, collect: CollectSettings, settings: InputsSettings, holder: str) -> None:
        self.trouble = ""
        """Why the latest decision could not be noted; empty where it was."""
        self._decider, self._collect, self._settings, self._holder = decider, collect, settings, holder
        self._parts = Parts()
        self._rows: list[InputsRow] = []
        self._life = ""
        self._number = 0
        self._pruned_s: float | None = None

    @property
    def is_on(self) -> bool:
        """Whether anything is noted at all."""
        return self._settings.keep_s > 0.0

    def take(self, known: Known, run: Run) -> Taken:
        """What is to be kept in mind while the decision is made."""
        policy = self._decider.policy
        remembered = policy.memory() if self.is_on and isinstance(policy, Remembering) else None
        return Taken(known, run, self._decider.usage, remembered)

    def note(self, taken: Taken, decision: Decision, journal: int | None) -> None:
        """Note a decision; `journal` is the number of its entry, None where it has none."""
        if not self.is_on:
            return
        # Two lives of one holder are told apart by when they began.
        self._life = self._life or f"{self._holder} since {taken.known.now_s!r}"
        self._number += 1
        if journal is None and taken.remembered is not None:
            return
        inputs = Inputs(
            taken.run,
            taken.known,
            self._decider.limits,
            self._collect,
            taken.usage,
            self._decider.policy.name,
            self._decider.seed,
            taken.remembered,
            digest_of_decision(decision.to_json()),
        )
        try:
            row = packed(inputs, life=self._life, number=self._number, journal=journal, parts=self._parts)
        except ModelError as error:
            self.trouble = f"decision {journal} cannot be replayed: {error}"
            return
        self.trouble = ""
        self._rows = [*self._rows, row][-_MOST_WAITING:]

    async def write(self, store: Store, clock: Clock) -> None:
        """Give the store what was noted, and have it forget what is old.

        Raises:
            PortError: if it does not take it; it is given again with the next.
        """
        if self._rows:
            rows, parts = tuple(self._rows), dict(self._parts.waiting)
            await store.remember_inputs(rows, parts)
            self._parts.stored(parts, rows[-1].at_s)
            self._rows = [row for row in self._rows if row not in rows]
        now_s = clock.monotonic_s()
        if self.is_on and (self._pruned_s is None or now_s - self._pruned_s >= self._settings.prune_s):
            self._pruned_s = now_s
            await store.prune_inputs(clock.now_s() - self._settings.keep_s, int(self._settings.most_mib * MIB))


def digest_of_decision(decision: Mapping[str, Any]) -> str:
    """The name of a decision by all that it says."""
    return digest_of(json.dumps(decision, sort_keys=True).encode())
