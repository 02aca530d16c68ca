"""What became of a plan, step by step: where everything runs now, what was undone, what is still open.

A plan is a success only where all of it came out as asked. What was undone is called so only where it was seen to run
where it ran before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from fogfold.control.codes import Code
from fogfold.control.guard.memory import Ending, Memory, MemorySettings, begun, ended
from fogfold.control.orders import Hold, MoveOrder
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.migration import MigrationState
from fogfold.model.snapshot import Snapshot

__all__ = ["ExecutionReport", "Fault", "StepEnd", "StepOutcome", "Verdict", "remembered"]


class Fault(StrEnum):
    """Why a move that was begun did not arrive."""

    BROKE = "BROKE"
    """The orchestrator says that it failed."""
    STALLED = "STALLED"
    """Nothing was seen to go on for too long."""
    REFUSED = "REFUSED"
    """The orchestrator says that it can never be done."""
    UNANSWERED = "UNANSWERED"
    """Nobody took the order."""
    CAME_BACK = "CAME_BACK"
    """It was moved, and runs where it ran before."""


class StepEnd(StrEnum):
    """How a step ended."""

    ARRIVED = "arrived"
    ELSEWHERE = "elsewhere"
    """It runs, on another node than was asked for."""
    UNDONE = "undone"
    """It was begun, given up, and seen to run at its source."""
    NOT_BEGUN = "not begun"
    LEFT = "left open"
    """Nobody can say yet how it ended: recovery looks at it again."""


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What became of one step."""

    key: str
    move: MoveOrder
    end: StepEnd
    state: MigrationState | None
    """Its state in the store; None where it was never written down."""
    attempts: int = 0
    runs_on: NodeId | None = None
    """Where the container was last observed to run; None where nobody looked or nobody can say."""
    code: Code | Fault | None = None
    """Why it did not arrive; None where it did."""
    detail: str = ""
    began_s: float | None = None
    """When it was first begun, in seconds since the epoch; None where it never was."""
    ended_s: float | None = None

    @property
    def has_left(self) -> bool:
        """Whether its source is free of it."""
        return self.end in {StepEnd.ARRIVED, StepEnd.ELSEWHERE}


class Verdict(StrEnum):
    """What to call the whole."""

    DONE = "done"
    """All of it, as asked."""
    PARTIAL = "partial"
    FAILED = "failed"
    """Nothing of it."""
    STOPPED = "stopped"
    """The stop button kept it from being done."""
    LEASE_LOST = "lease lost"
    """Another instance took over: what is open is that one's affair."""


@dataclass(frozen=True)
class ExecutionReport:
    """What became of a plan."""

    plan: str
    verdict: Verdict
    steps: tuple[StepOutcome, ...] = ()
    asleep: tuple[NodeId, ...] = ()
    """Nodes that are off by now."""
    presumed: tuple[NodeId, ...] = ()
    """Those of them of which that was concluded, not read from outside."""
    not_asleep: Mapping[NodeId, Hold] = field(default_factory=dict)
    woken: tuple[NodeId, ...] = ()
    """Nodes that are up and receive; others may stand in for those that did not come."""
    not_woken: Mapping[NodeId, str] = field(default_factory=dict)
    marked: tuple[NodeId, ...] = ()
    """Nodes that may still bear our mark though they should not, since nobody took the order to remove it."""
    alerts: tuple[str, ...] = ()
    began_s: float = 0.0
    ended_s: float = 0.0

    @property
    def left(self) -> tuple[StepOutcome, ...]:
        """Steps that are still open."""
        return tuple(step for step in self.steps if step.end is StepEnd.LEFT)

    def to_json(self) -> dict[str, Any]:
        """The report as plain values, for the journal."""
        return {
            "plan": self.plan,
            "verdict": self.verdict.value,
            "steps": [
                {
                    "key": step.key,
                    "container": step.move.container,
                    "source": step.move.source,
                    "target": step.move.target,
                    "end": step.end.value,
                    "attempts": step.attempts,
                    "runs_on": step.runs_on,
                    "code": None if step.code is None else step.code.value,
                    "detail": step.detail,
                    "began_s": step.began_s,
                    "ended_s": step.ended_s,
                }
                for step in self.steps
            ],
            "asleep": list(self.asleep),
            "presumed": list(self.presumed),
            "not_asleep": {node: [hold.code.value, hold.detail] for node, hold in self.not_asleep.items()},
            "woken": list(self.woken),
            "not_woken": dict(self.not_woken),
            "marked": list(self.marked),
            "alerts": list(self.alerts),
            "began_s": self.began_s,
            "ended_s": self.ended_s,
        }


def remembered(memory: Memory, steps: Iterable[StepOutcome], snapshot: Snapshot, settings: MemorySettings) -> Memory:
    """The guard's memory with those steps in it: who moved, who failed, who is to be left alone for a while.

    A detour and what follows it are one move. Steps that were never begun are not remembered, and one that is still
    open is under way: the report of a later recovery ends it.
    """
    of: dict[ContainerId, list[StepOutcome]] = {}
    for step in sorted(steps, key=lambda step: step.began_s or 0.0):
        if step.began_s is not None and step.move.container in snapshot.cluster.container_index:
            of.setdefault(step.move.container, []).append(step)
    for container, chain in of.items():
        first, last = chain[0], chain[-1]
        past = memory.last_move(container)
        if past is None or past.ending is not Ending.UNDER_WAY:
            whole = MoveOrder(container, first.move.source, last.move.target)
            memory = begun(memory, whole, snapshot, first.began_s or 0.0, settings)
        if last.end is not StepEnd.LEFT and last.ended_s is not None:
            elsewhere = last.runs_on if last.runs_on != first.move.source else None
            memory = ended(memory, container, last.ended_s, settings, arrived_on=elsewhere)
    return memory
