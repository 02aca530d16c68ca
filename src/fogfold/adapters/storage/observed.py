"""What the store knows that a world can be calibrated to: attempts at moves with their times, and boots.

Times are those at which the control plane saw something, every few seconds: a move that it hardly saw on its way has no
start. How much was sent is there only where the orchestrator told. The store keeps how long boots took and not when
they were: they come numbered in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from fogfold.adapters.storage.journal import MigrationStep
from fogfold.calibrate.records import Kind
from fogfold.control.moving import MoveSettings
from fogfold.control.outcome import Fault
from fogfold.control.ports import MigrationRow
from fogfold.control.switching import POWER_KIND
from fogfold.model.migration import MigrationState

__all__ = ["observed_rows"]

_NOT_TRIED = {Fault.REFUSED.value, Fault.UNANSWERED.value}
"""Failures that say nothing of the way between two nodes: nobody tried."""
_LEAST_LOOKS = 4
"""Looks between start and end from which the time between them is trusted."""


class _Source(Protocol):
    """What is read of a store."""

    async def migrations(self, *, plan: str | None = None, limit: int | None = None) -> tuple[MigrationRow, ...]: ...

    async def steps(self, key: str) -> tuple[MigrationStep, ...]: ...

    async def kept(self, kind: str) -> Mapping[str, Mapping[str, Any]]: ...


async def observed_rows(store: _Source, *, look_s: float | None = None) -> dict[Kind, list[dict[str, Any]]]:
    """Rows of moves and boots, in the forms of `calibrate.files`; a form of which there is none is left out.

    Args:
        store: the service's store.
        look_s: how often moves are looked at; the default of the service where None.
    """
    every_s = MoveSettings().look_s if look_s is None else look_s
    moves: list[dict[str, Any]] = []
    for row in await store.migrations():
        moves += _attempts(row, await store.steps(row.key), every_s)
    boots: list[dict[str, Any]] = []
    for node, record in (await store.kept(POWER_KIND)).items():
        for number, took_s in enumerate(record.get("boots_s", ())):
            boots.append({"node": node, "ordered_s": float(number), "up_s": number + took_s, "outcome": "up"})
    return {kind: rows for kind, rows in ((Kind.MOVES, moves), (Kind.BOOTS, boots)) if rows}


def _attempts(row: MigrationRow, steps: Sequence[MigrationStep], look_s: float) -> Iterator[dict[str, Any]]:
    """The attempts of one migration; those that were called off before they were tried are none."""
    reserved_s = moving_s = 0.0
    facts: dict[str, Any] = {}
    for step in steps:
        facts |= step.facts
        if step.after is MigrationState.RESERVED:
            reserved_s, moving_s = step.at_s, step.at_s
        elif step.after is MigrationState.MOVING:
            moving_s = step.at_s
        arrived = step.after is MigrationState.VERIFIED
        failed = step.after is MigrationState.FAILED and step.facts.get("code") not in _NOT_TRIED
        # A move that failed and was found to have arrived after all goes its whole way on paper, in no time.
        if not (arrived or failed) or (arrived and step.at_s <= reserved_s):
            continue
        is_seen = step.at_s - moving_s >= _LEAST_LOOKS * look_s
        yield {
            "container": str(row.move.container),
            "source": str(row.move.source),
            "target": str(facts["runs_on"] if arrived else row.move.target),
            "outcome": "arrived" if arrived else "failed",
            "start_s": moving_s if is_seen else None,
            "end_s": step.at_s,
            "memory_bytes": facts.get("memory_bytes"),
            "sent_bytes": facts.get("sent_bytes"),
            "downtime_s": facts.get("downtime_s"),
        }
