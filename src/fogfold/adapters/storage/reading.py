"""Reads rows back into values: migrations, their steps, and the journal page by page.

Statements only; the transaction is the caller's.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fogfold.adapters.storage.journal import JournalEntry, MigrationStep
from fogfold.adapters.storage.rules import check_limit
from fogfold.adapters.storage.tables import JOURNAL, MIGRATIONS, STEPS
from fogfold.control.migration_states import FINAL
from fogfold.control.orders import MoveOrder
from fogfold.control.ports import MigrationRow
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.migration import MigrationState

__all__ = [
    "Pages",
    "entry_of",
    "migration_of",
    "read_ended_keys",
    "read_migrations",
    "read_open",
    "read_steps",
]

_PAGE = 200
"""Entries of one page: an entry may hold a snapshot of a large cluster, about 1 MB."""

_OPEN_NAMES = [state.name for state in MigrationState if state not in FINAL]
_FINAL_NAMES = [state.name for state in MigrationState if state in FINAL]


class Pages:
    """The place in the journal up to which a reader has come. Arguments as `Journal.entries`."""

    def __init__(
        self,
        *,
        kinds: Collection[str] | None,
        since_s: float | None,
        until_s: float | None,
        after: int | None,
        before: int | None,
        newest_first: bool,
        limit: int | None,
    ) -> None:
        check_limit(limit)
        number = JOURNAL.c.number
        conditions: list[ColumnElement[bool]] = []
        if kinds is not None:
            conditions.append(JOURNAL.c.kind.in_(sorted(kinds)))
        if since_s is not None:
            conditions.append(JOURNAL.c.at_s >= since_s)
        if until_s is not None:
            conditions.append(JOURNAL.c.at_s < until_s)
        if after is not None:
            conditions.append(number > after)
        if before is not None:
            conditions.append(number < before)
        self._query = select(JOURNAL).where(*conditions).order_by(number.desc() if newest_first else number)
        self._newest_first = newest_first
        self._left = limit
        self._last: int | None = None
        self.more = limit != 0
        """Whether there may be another page."""

    async def read(self, connection: AsyncConnection) -> list[JournalEntry]:
        """The next page."""
        size = _PAGE if self._left is None else min(_PAGE, self._left)
        query = self._query.limit(size)
        if self._last is not None:
            number = JOURNAL.c.number
            query = query.where(number < self._last if self._newest_first else number > self._last)
        page = [entry_of(row) for row in await connection.execute(query)]
        if page:
            self._last = page[-1].number
        if self._left is not None:
            self._left -= len(page)
        self.more = len(page) == size and self._left != 0
        return page


async def read_open(connection: AsyncConnection) -> tuple[MigrationRow, ...]:
    """All migrations in no final state, oldest first."""
    query = select(MIGRATIONS).where(MIGRATIONS.c.state.in_(_OPEN_NAMES)).order_by(MIGRATIONS.c.id)
    return tuple(migration_of(row) for row in await connection.execute(query))


async def read_migrations(connection: AsyncConnection, plan: str | None, limit: int | None) -> tuple[MigrationRow, ...]:
    """Migrations, newest first, at most so many, of one plan or of all."""
    check_limit(limit)
    query = select(MIGRATIONS).order_by(MIGRATIONS.c.id.desc()).limit(limit)
    if plan is not None:
        query = query.where(MIGRATIONS.c.plan == plan)
    return tuple(migration_of(row) for row in await connection.execute(query))


async def read_ended_keys(connection: AsyncConnection, before_s: float, limit: int) -> list[str]:
    """Keys of migrations that ended before a time, at most so many."""
    query = (
        select(MIGRATIONS.c.key)
        .where(MIGRATIONS.c.state.in_(_FINAL_NAMES), MIGRATIONS.c.changed_s < before_s)
        .limit(limit)
    )
    return list((await connection.execute(query)).scalars())


async def read_steps(connection: AsyncConnection, key: str) -> tuple[MigrationStep, ...]:
    """The steps of one migration, from the first."""
    rows = await connection.execute(select(STEPS).where(STEPS.c.key == key).order_by(STEPS.c.number))
    return tuple(
        MigrationStep(
            key=row.key,
            number=row.number,
            before=None if row.before is None else MigrationState[row.before],
            after=MigrationState[row.after],
            at_s=row.at_s,
            fence=row.fence,
            facts=row.facts,
        )
        for row in rows
    )


def migration_of(row: Any) -> MigrationRow:
    """A row of `migrations` as a value."""
    return MigrationRow(
        key=row.key,
        plan=row.plan,
        move=MoveOrder(ContainerId(row.container), NodeId(row.source), NodeId(row.target)),
        state=MigrationState[row.state],
        attempt=row.attempt,
        changed_s=row.changed_s,
        facts=row.facts,
    )


def entry_of(row: Any) -> JournalEntry:
    """A row of `journal` as a value."""
    return JournalEntry(row.number, row.kind, row.at_s, row.value)
