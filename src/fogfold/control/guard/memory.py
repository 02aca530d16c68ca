"""What the guard remembers: recent moves, who bounced and how long it is left alone, who is moved by somebody else.

History is kept by workload (a group, or a container without one) where it is about trust, since members are replaced,
and by container where it is about rest. All values are frozen: each function gives the memory that comes next.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from fogfold.control.orders import MoveOrder, workload_of
from fogfold.errors import ModelError
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.resources import check_number
from fogfold.model.snapshot import Snapshot
from fogfold.units import DAY_S, HOUR_S, MINUTE_S

__all__ = [
    "BackOff",
    "Ending",
    "Memory",
    "MemorySettings",
    "PastMove",
    "begun",
    "ended",
    "forgive",
    "kept_memory",
    "memory_of_kept",
    "seen",
]


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """How long what is remembered."""

    bounce_s: float = HOUR_S
    """A container that is elsewhere again within this time of a move has bounced."""
    first_wait_s: float = 10 * MINUTE_S
    """How long a workload is left alone after its first bounce; twice as long after each further one."""
    longest_wait_s: float = DAY_S
    veto_s: float = DAY_S
    """How long a workload is left alone that somebody else moves back; an operator may lift it earlier."""
    keep_s: float = DAY_S
    """How long moves are remembered, and how long a workload must behave before its waits begin anew."""

    def __post_init__(self) -> None:
        for name in ("bounce_s", "first_wait_s", "longest_wait_s", "veto_s", "keep_s"):
            check_number(name, float(getattr(self, name)), above=True)
        if self.first_wait_s > self.longest_wait_s:
            raise ModelError(
                f"first_wait_s is {self.first_wait_s:g}, above longest_wait_s of {self.longest_wait_s:g}; "
                "waits grow from the first to the longest"
            )


class Ending(StrEnum):
    """How a move ended."""

    UNDER_WAY = "under way"
    ARRIVED = "arrived"
    FAILED = "failed"
    """Undone: it runs where it ran."""
    BOUNCED = "bounced"
    """It arrived, and was soon elsewhere again."""


@dataclass(frozen=True, slots=True)
class PastMove:
    """A move of ours, as it is remembered."""

    container: ContainerId
    workload: str
    source: NodeId
    target: NodeId
    """Where it was sent; once arrived, where it was observed."""
    at_s: float
    """When it began."""
    ending: Ending = Ending.UNDER_WAY
    ended_s: float | None = None


@dataclass(frozen=True, slots=True)
class BackOff:
    """How long a workload is left alone."""

    until_s: float
    times: int
    """Bounces and failures in a row."""
    last_s: float


@dataclass(frozen=True)
class Memory:
    """Everything that is remembered."""

    moves: tuple[PastMove, ...] = ()
    """The oldest first."""
    back_offs: Mapping[str, BackOff] = field(default_factory=dict)
    """By workload."""
    vetoes: Mapping[str, float] = field(default_factory=dict)
    """Workloads that somebody else moves back, and until when they are left alone."""

    def last_move(self, container: ContainerId) -> PastMove | None:
        """The latest move of a container."""
        return next((move for move in reversed(self.moves) if move.container == container), None)


def begun(memory: Memory, move: MoveOrder, snapshot: Snapshot, at_s: float, settings: MemorySettings) -> Memory:
    """A move was begun. One more within the bounce time of the last makes the next wait longer."""
    workload = workload_of(snapshot.cluster, move.container)
    last = memory.last_move(move.container)
    past = PastMove(move.container, workload, move.source, move.target, at_s)
    after = replace(memory, moves=(*_recent(memory.moves, at_s - settings.keep_s), past))
    if last is not None and last.ending is Ending.ARRIVED and at_s - last.at_s < settings.bounce_s:
        after = _back_off(after, workload, at_s, settings)
    return after


def ended(
    memory: Memory, container: ContainerId, at_s: float, settings: MemorySettings, *, arrived_on: NodeId | None
) -> Memory:
    """The move of a container is over: it was observed on a node, or (None) it failed and was undone.

    Raises:
        ModelError: if no move of the container is under way.
    """
    past = memory.last_move(container)
    if past is None or past.ending is not Ending.UNDER_WAY:
        raise ModelError(f"no move of container {container!r} is under way; note when it begins before it ends")
    if arrived_on is None:
        now = replace(past, ending=Ending.FAILED, ended_s=at_s)
        return _back_off(_exchange(memory, past, now), past.workload, at_s, settings)
    return _exchange(memory, past, replace(past, ending=Ending.ARRIVED, target=arrived_on, ended_s=at_s))


def seen(memory: Memory, snapshot: Snapshot, now_s: float, settings: MemorySettings) -> tuple[Memory, tuple[str, ...]]:
    """Compare where containers are with where our moves left them; what is elsewhere by itself has bounced.

    A container that is back at its source was moved by somebody who wants the opposite: its workload is left alone, and
    an alert says so. Gives the memory that comes next, and the alerts.
    """
    alerts: list[str] = []
    latest: dict[ContainerId, PastMove] = {move.container: move for move in memory.moves}
    for container, past in latest.items():
        here = snapshot.placement.get(container)
        recent = past.ended_s is not None and now_s - past.ended_s < settings.bounce_s
        if (
            past.ending is not Ending.ARRIVED
            or not recent
            or here in (None, past.target)
            or container in snapshot.targets
        ):
            continue
        memory = _exchange(memory, past, replace(past, ending=Ending.BOUNCED))
        memory = _back_off(memory, past.workload, now_s, settings)
        if here == past.source:
            memory = replace(memory, vetoes={**memory.vetoes, past.workload: now_s + settings.veto_s})
            alerts.append(
                f"somebody moved {container} back from {past.target} to {past.source}; "
                f"{past.workload} is left alone until that is settled"
            )
    vetoes = {workload: until_s for workload, until_s in memory.vetoes.items() if until_s > now_s}
    back_offs = {
        workload: back_off
        for workload, back_off in memory.back_offs.items()
        if max(back_off.until_s, back_off.last_s + settings.keep_s) > now_s
    }
    moves = _recent(memory.moves, now_s - settings.keep_s)
    return Memory(moves, back_offs, vetoes), tuple(alerts)


def forgive(memory: Memory, workload: str) -> Memory:
    """An operator has settled it: no veto and no wait stands against the workload any more."""
    return replace(
        memory,
        back_offs={name: back_off for name, back_off in memory.back_offs.items() if name != workload},
        vetoes={name: until_s for name, until_s in memory.vetoes.items() if name != workload},
    )


def kept_memory(memory: Memory) -> dict[str, Any]:
    """The memory as plain values, as it is kept."""
    return {
        "moves": [
            {
                "container": move.container,
                "workload": move.workload,
                "source": move.source,
                "target": move.target,
                "at_s": move.at_s,
                "ending": move.ending.value,
                "ended_s": move.ended_s,
            }
            for move in memory.moves
        ],
        "back_offs": {
            workload: {"until_s": back_off.until_s, "times": back_off.times, "last_s": back_off.last_s}
            for workload, back_off in memory.back_offs.items()
        },
        "vetoes": dict(memory.vetoes),
    }


def memory_of_kept(value: Mapping[str, Any]) -> Memory:
    """The memory that was kept.

    Raises:
        ModelError: if it is of another form.
    """
    try:
        memory = Memory(
            tuple(PastMove(**{**move, "ending": Ending(move["ending"])}) for move in value["moves"]),
            {str(workload): BackOff(**back_off) for workload, back_off in value["back_offs"].items()},
            {str(workload): float(until_s) for workload, until_s in value["vetoes"].items()},
        )
        for move in memory.moves:
            check_number("at_s", move.at_s, low=-math.inf)
            if move.ended_s is not None:
                check_number("ended_s", move.ended_s, low=-math.inf)
        for back_off in memory.back_offs.values():
            check_number("until_s", back_off.until_s, low=-math.inf)
            check_number("last_s", back_off.last_s, low=-math.inf)
            check_number("times", back_off.times)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"a memory of moves cannot be read ({error!r}); it is of another version") from error
    return memory


def _back_off(memory: Memory, workload: str, at_s: float, settings: MemorySettings) -> Memory:
    before = memory.back_offs.get(workload)
    times = 1 if before is None or at_s - before.last_s > settings.keep_s else before.times + 1
    doubled_s = settings.first_wait_s * 2.0 ** min(times - 1, 60)
    wait_s = min(doubled_s, settings.longest_wait_s)
    return replace(memory, back_offs={**memory.back_offs, workload: BackOff(at_s + wait_s, times, at_s)})


def _exchange(memory: Memory, old: PastMove, new: PastMove) -> Memory:
    return replace(memory, moves=tuple(new if move is old else move for move in memory.moves))


def _recent(moves: tuple[PastMove, ...], since_s: float) -> tuple[PastMove, ...]:
    return tuple(move for move in moves if move.at_s >= since_s or move.ending is Ending.UNDER_WAY)
