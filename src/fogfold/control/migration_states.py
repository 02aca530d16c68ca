"""What may follow what in the life of a migration, and what each state holds and needs after a crash.

The states and their one table stand in `model.migration`; the database states the same as a constraint. Here is the
check that every writer goes through, and what the executor must know of each state.
"""

from __future__ import annotations

from enum import StrEnum

from fogfold.control.failure import IllegalTransitionError
from fogfold.model.identity import ContainerId
from fogfold.model.migration import MIGRATION_TRANSITIONS, MigrationState

__all__ = [
    "AFTER_A_CRASH",
    "FINAL",
    "HOLDS_TARGET_ROOM",
    "MIGRATION_TRANSITIONS",
    "AfterCrash",
    "check_migration_transition",
    "pairs_of_migration_states",
]

FINAL: frozenset[MigrationState] = frozenset(state for state, after in MIGRATION_TRANSITIONS.items() if not after)
"""States that nothing follows."""

HOLDS_TARGET_ROOM: frozenset[MigrationState] = frozenset({MigrationState.RESERVED, MigrationState.MOVING})
"""States in which room is taken on the target; room on the source is taken in all but `VERIFIED`."""


class AfterCrash(StrEnum):
    """What to do with a migration that a crash left in a state."""

    RELEASE = "release"
    """Nothing has happened to the container: give back what is held and end as undone."""
    OBSERVE = "observe"
    """It may have arrived, be under way, or have failed: look where it is, and only then go on."""
    UNDO_OR_RETRY = "undo or retry"
    """The attempt broke: make sure that it runs on the source, or try again within the bounds."""
    NOTHING = "nothing"
    """It is over."""


AFTER_A_CRASH: dict[MigrationState, AfterCrash] = {
    MigrationState.PLANNED: AfterCrash.RELEASE,
    MigrationState.RESERVED: AfterCrash.OBSERVE,
    MigrationState.MOVING: AfterCrash.OBSERVE,
    MigrationState.FAILED: AfterCrash.UNDO_OR_RETRY,
    MigrationState.VERIFIED: AfterCrash.NOTHING,
    MigrationState.UNDONE: AfterCrash.NOTHING,
}
"""What recovery does in each state. A state is written before its act, so `RESERVED` may already have been acted on."""


def check_migration_transition(container: ContainerId, before: MigrationState, after: MigrationState) -> None:
    """Nothing, where the one state may follow the other.

    Raises:
        IllegalTransitionError: naming the container, both states and what may follow.
    """
    allowed = MIGRATION_TRANSITIONS[before]
    if after not in allowed:
        follow = ", ".join(sorted(state.name for state in allowed)) or "nothing, it is final"
        raise IllegalTransitionError(
            f"the migration of {container!r} cannot go from {before.name} to {after.name}; "
            f"after {before.name} may come: {follow}"
        )


def pairs_of_migration_states() -> tuple[tuple[MigrationState, MigrationState], ...]:
    """All legal pairs (before, after), in order: what a constraint in a database is written from."""
    return tuple((before, after) for before in MigrationState for after in sorted(MIGRATION_TRANSITIONS[before]))
