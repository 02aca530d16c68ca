"""One container's move, as a value, and the one table of its legal states."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from fogfold.model.identity import ContainerId, NodeId

__all__ = ["MIGRATION_TRANSITIONS", "Migration", "MigrationState", "is_legal"]


class MigrationState(IntEnum):
    """The states of a migration; `MIGRATION_TRANSITIONS` says which may follow which."""

    PLANNED = 0
    """Decided, nothing done."""
    RESERVED = 1
    """Room is held on the target, which may still be waking; the image may be on its way."""
    MOVING = 2
    """Memory is being copied, or the container is down between source and target."""
    VERIFIED = 3
    """Runs on the target, answers, and is gone from the source."""
    FAILED = 4
    """The attempt broke; it may be tried again or undone."""
    UNDONE = 5
    """Given up: it runs on the source, the room on the target is free again."""


MIGRATION_TRANSITIONS: dict[MigrationState, frozenset[MigrationState]] = {
    MigrationState.PLANNED: frozenset({MigrationState.RESERVED, MigrationState.UNDONE}),
    MigrationState.RESERVED: frozenset({MigrationState.MOVING, MigrationState.FAILED, MigrationState.UNDONE}),
    MigrationState.MOVING: frozenset({MigrationState.VERIFIED, MigrationState.FAILED}),
    MigrationState.FAILED: frozenset({MigrationState.RESERVED, MigrationState.UNDONE}),
    MigrationState.VERIFIED: frozenset(),
    MigrationState.UNDONE: frozenset(),
}
"""Which state may follow which: the one table."""


def is_legal(before: MigrationState, after: MigrationState) -> bool:
    """Whether a migration may go from one state to the other."""
    return after in MIGRATION_TRANSITIONS[before]


@dataclass(frozen=True, slots=True)
class Migration:
    """One container's move from its source to a target."""

    container: ContainerId
    source: NodeId
    target: NodeId
    state: MigrationState = MigrationState.PLANNED
    attempt: int = 1
