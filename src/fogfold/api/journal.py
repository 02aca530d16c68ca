"""The journal as the API reads it: what it asks of a store beside the port that the loop writes through."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from fogfold.control.ports import MigrationRow

__all__ = ["Entry", "Journal"]


@runtime_checkable
class Entry(Protocol):
    """One entry of the journal."""

    @property
    def number(self) -> int:
        """Grows with every entry."""
        ...

    @property
    def kind(self) -> str:
        """What it is of."""
        ...

    @property
    def at_s(self) -> float:
        """When it was written, in seconds since the epoch."""
        ...

    @property
    def value(self) -> Mapping[str, Any]:
        """What it says."""
        ...


@runtime_checkable
class Journal(Protocol):
    """Looks back."""

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
    ) -> AsyncIterator[Entry]:
        """Entries in the order of their numbers."""
        ...

    async def entry(self, number: int) -> Entry | None:
        """The entry of that number; None where there is none."""
        ...

    async def migrations(self, *, plan: str | None = None, limit: int | None = None) -> Sequence[MigrationRow]:
        """Migrations, newest first; only those of a plan where one is given."""
        ...
