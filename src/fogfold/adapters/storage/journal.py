"""The journal as it is read: entries by kind, span of time and number, one page after the other.

Writing is part of the `Store` port; only those who look back (review, replay, training, export) need this.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from fogfold.control.ports import MigrationRow
from fogfold.model.migration import MigrationState

__all__ = ["Journal", "JournalEntry", "MigrationStep"]


@dataclass(frozen=True)
class JournalEntry:
    """One entry, as it was appended; nobody changes it."""

    number: int
    """Grows with every entry and is never given twice, not even after pruning."""
    kind: str
    at_s: float
    """Seconds since the epoch, UTC, as the writer said. A clock that was set back shows here; the number does not."""
    value: Mapping[str, Any]


@dataclass(frozen=True)
class MigrationStep:
    """One step in the life of a migration."""

    key: str
    number: int
    """0 is the step with which it was written down as planned."""
    before: MigrationState | None
    """None for step 0 only."""
    after: MigrationState
    at_s: float
    fence: int
    """Under which lease it was written."""
    facts: Mapping[str, Any]
    """What was said at this step, and only that."""


@runtime_checkable
class Journal(Protocol):
    """Looks back. All times are seconds since the epoch; a span holds its start and not its end."""

    def entries(
        self,
        *,
        kinds: Collection[str] | None = None,
        since_s: float | None = None,
        until_s: float | None = None,
        after: int | None = None,
        before: int | None = None,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> AsyncIterator[JournalEntry]:
        """Entries in the order of their numbers, read in pages: a long journal does not fill memory.

        No transaction stays open between pages, so a slow reader holds nobody up. A reader that follows the journal
        remembers the last number and asks for what is `after` it: it misses none.

        Args:
            kinds: only these; None means all, and an empty collection none.
            since_s: at or after this time.
            until_s: before this time.
            after: with a greater number.
            before: with a smaller number.
            newest_first: from the greatest number down.
            limit: at most so many.

        Raises:
            ModelError: if the limit is negative.
        """
        ...

    async def entry(self, number: int) -> JournalEntry | None:
        """The entry of that number; None where there never was one, or it was pruned."""
        ...

    async def prune(self, before_s: float, kinds: Collection[str] | None = None) -> int:
        """Forget entries older than that (of these kinds; None means all kinds); gives how many. Repeat at will."""
        ...

    async def prune_migrations(self, before_s: float) -> int:
        """Forget migrations that ended before that, with their steps; gives how many. Open ones are never touched."""
        ...

    async def migrations(self, *, plan: str | None = None, limit: int | None = None) -> tuple[MigrationRow, ...]:
        """Migrations, newest first, open and ended; only those of a plan where one is given."""
        ...

    async def steps(self, key: str) -> tuple[MigrationStep, ...]:
        """The life of a migration from its first step; empty where the key is not known."""
        ...
