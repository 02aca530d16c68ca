"""What was measured, as columns: power of nodes, moves of containers, boots; and what had to be refused of it.

A figure that was not measured is NaN here, never zero. Times are seconds since the epoch (or since any one start).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from fogfold.compiled import Array

__all__ = ["Boots", "Kind", "Moves", "NodeReadings", "Observations", "Refused", "beyond_s", "sifted"]

R = TypeVar("R", bound="_Columns")
Names = Shaped[Array, " rows"]


class Kind(StrEnum):
    """The three forms of record."""

    READINGS = "readings"
    MOVES = "moves"
    BOOTS = "boots"


@dataclass(frozen=True)
class _Columns:
    """Columns of equal length."""

    def __len__(self) -> int:
        first: Array = getattr(self, fields(self)[0].name)
        return len(first)

    def take(self: R, rows: Bool[Array, " rows"] | Int[Array, " some"]) -> R:  # noqa: PYI019 - beartype knows no Self
        """Those rows only."""
        return type(self)(**{one.name: getattr(self, one.name)[rows] for one in fields(self)})


@dataclass(frozen=True)
class NodeReadings(_Columns):
    """Draw and load of nodes, a row a reading."""

    line: Int[Array, " rows"]
    """Where the row stood, for messages: line of the file, the header being line 1."""
    time_s: Float[Array, " rows"]
    node: Names
    power_w: Float[Array, " rows"]
    cpu_cores: Float[Array, " rows"]
    """Cores in use, in the scenario's reference cores."""
    state: Names
    """on, or what else it was; empty means on."""
    machine: Names
    """Kind of machine; empty where the scenario's node of that id says."""


@dataclass(frozen=True)
class Moves(_Columns):
    """Attempts to move a container, a row an attempt."""

    line: Int[Array, " rows"]
    start_s: Float[Array, " rows"]
    """When its memory began to be copied (its image was there by then), or it was stopped."""
    end_s: Float[Array, " rows"]
    """When it ran on its target, or the attempt broke."""
    container: Names
    source: Names
    target: Names
    outcome: Names
    """arrived or failed."""
    memory_bytes: Float[Array, " rows"]
    sent_bytes: Float[Array, " rows"]
    """Memory that was sent, what was sent again included."""
    downtime_s: Float[Array, " rows"]
    resolution_s: Float[Array, " rows"]
    """By how much at most the span from start to end may be too long."""
    service: Names
    """Service of the scenario that it belongs to; empty where the scenario's container of that id says."""

    @property
    def arrived(self) -> Bool[Array, " rows"]:
        """Which attempts came to their end."""
        return np.asarray(self.outcome == "arrived", dtype=bool)

    @property
    def took_s(self) -> Float[Array, " rows"]:
        """From start to end, less half of what the clock may have added."""
        return self.end_s - self.start_s - self.resolution_s / 2.0

    @property
    def at_s(self) -> Float[Array, " rows"]:
        """Some time of each attempt that orders them."""
        return np.where(np.isnan(self.start_s), self.end_s, self.start_s)


@dataclass(frozen=True)
class Boots(_Columns):
    """Orders to wake, a row an order."""

    line: Int[Array, " rows"]
    ordered_s: Float[Array, " rows"]
    up_s: Float[Array, " rows"]
    node: Names
    outcome: Names
    """up or failed."""
    resolution_s: Float[Array, " rows"]
    machine: Names

    @property
    def took_s(self) -> Float[Array, " rows"]:
        """From the order until it was up, less half of what the clock may have added."""
        return self.up_s - self.ordered_s - self.resolution_s / 2.0


def beyond_s(
    told_s: Float[Array, " rows"], took_s: Float[Array, " rows"], resolution_s: Float[Array, " rows"]
) -> Float[Array, " rows"]:
    """How far foretold times lie off what was seen, beyond what the clock's resolution leaves open."""
    return np.maximum(np.abs(told_s - took_s) - resolution_s / 2.0, 0.0)


@dataclass
class Refused:
    """Rows that were not used, by the reason, with the line of the first."""

    rows: dict[tuple[Kind, str], tuple[int, int]] = field(default_factory=dict)
    """Count and line of the first, by kind and reason."""

    def note(self, kind: Kind, reason: str, lines: Int[Array, " some"]) -> None:
        """Count rows of a kind under a reason."""
        if len(lines):
            count, first = self.rows.get((kind, reason), (0, int(lines[0])))
            self.rows[(kind, reason)] = (count + len(lines), first)

    def of(self, kind: Kind) -> int:
        """How many rows of a kind."""
        return sum(count for (of, _), (count, _) in self.rows.items() if of is kind)

    def as_json(self) -> list[dict[str, Any]]:
        """As plain values."""
        return [
            {"records": kind.value, "reason": reason, "rows": count, "first_line": first}
            for (kind, reason), (count, first) in self.rows.items()
        ]


def sifted(columns: R, kind: Kind, refused: Refused, rules: list[tuple[str, Callable[[R], Bool[Array, " rows"]]]]) -> R:
    """The rows that no rule forbids; each rule is a reason and which rows it meets, and takes its rows away."""
    for reason, rule in rules:
        met = rule(columns)
        refused.note(kind, reason, columns.line[met])  # type: ignore[attr-defined]  # every form has lines
        columns = columns.take(~met)
    return columns


@dataclass(frozen=True)
class Observations:
    """All that was measured; a form of which there is none is absent."""

    readings: NodeReadings | None = None
    moves: Moves | None = None
    boots: Boots | None = None
