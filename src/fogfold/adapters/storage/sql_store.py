"""The store in a database: each call one transaction, each fenced write checked in the one that writes it.

SQLite takes one writer at a time. PostgreSQL takes many: a fenced write holds the lease's row shared, so the lease
cannot change hands before it is committed, and holds the migration's row, so two cannot take the same step.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any, Self

from sqlalchemy import delete, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from fogfold.adapters.storage import inputs, reading, rules
from fogfold.adapters.storage.database import Database
from fogfold.adapters.storage.journal import JournalEntry, MigrationStep
from fogfold.adapters.storage.tables import INPUTS, JOURNAL, KEPT, LEASES, MIGRATIONS, PARTS, STEPS, THE_LEASE
from fogfold.control.failure import PortError
from fogfold.control.ports import InputsRow, Lease, MigrationRow
from fogfold.model.migration import MigrationState

__all__ = ["SqlStore"]

_APPENDING = 0x666F67666F6C64  # "fogfold": the advisory lock under which entries are numbered
_PORTION = 400
"""Rows in one statement: databases bound the values of a statement, and locks are to be short."""
_INPUTS_PAGE = 50
"""Decisions whose inputs are read at once: each may be some 100 kB."""


class SqlStore:
    """`control.ports.Store` and `adapters.storage.journal.Journal`, in SQLite or PostgreSQL.

    The tables must be there: `schema.upgrade` makes them. Whoever acquires the lease gives a holder's name that no
    other process ever bears (host, process and a random part), since the name is how a renewal is known.

    Args:
        url: `sqlite:///path/to/file` or `postgresql://user@host/name`.
        timeout_s: how long a call may take before it is a `PortTimeoutError`.
    """

    def __init__(self, url: str, *, timeout_s: float = 5.0) -> None:
        self._database = Database(url, timeout_s=timeout_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Give all connections back."""
        await self._database.close()

    async def acquire(self, holder: str, *, for_s: float, now_s: float) -> Lease | None:
        """The lease, new or renewed; None while another holds it."""
        async with self._database.write() as connection:
            held = await _held(connection, change=True)
            granted = rules.grant(held, holder, for_s=for_s, now_s=now_s)
            if granted is None:
                shorter = rules.cut(held, for_s=for_s, now_s=now_s)
                if shorter != held:
                    await _set_held(connection, shorter)
                return None
            await _set_held(connection, granted)
        return Lease(holder, granted.fence, granted.until_s)

    async def release(self, lease: Lease) -> None:
        """Give the lease back; nothing where it is another's by now."""
        async with self._database.write() as connection:
            held = await _held(connection, change=True)
            if (held.holder, held.fence) == (lease.holder, lease.fence):
                await _set_held(connection, rules.Held(None, lease.fence, 0.0))

    async def add_migrations(self, rows: Sequence[MigrationRow], *, fence: int) -> None:
        """Write migrations down as planned, all or none. What is written down already is left as it is."""
        async with self._database.write() as connection:
            rules.check_fence(await _held(connection), fence)
            known: dict[str, MigrationRow] = {}
            for start in range(0, len(rows), _PORTION):
                keys = [row.key for row in rows[start : start + _PORTION]]
                found = await connection.execute(select(MIGRATIONS).where(MIGRATIONS.c.key.in_(keys)))
                known |= {row.key: reading.migration_of(row) for row in found}
            new = rules.only_new(rows, known)
            if new:
                await _insert(connection, new, fence)

    async def transition(
        self,
        key: str,
        before: MigrationState,
        after: MigrationState,
        *,
        at_s: float,
        facts: Mapping[str, Any],
        fence: int,
    ) -> MigrationRow:
        """Take a migration from one state to another, if it is in the former.

        Raises:
            PortError: if no migration bears that key.
        """
        async with self._database.write() as connection:
            rules.check_fence(await _held(connection), fence)
            query = select(MIGRATIONS).where(MIGRATIONS.c.key == key).with_for_update()
            stored = (await connection.execute(query)).one_or_none()
            if stored is None:
                raise PortError(f"no migration of key {key!r} is stored; add it before it takes a step")
            stepped = rules.step(reading.migration_of(stored), before, after, at_s=at_s, facts=facts)
            number = stored.step + 1
            await connection.execute(
                insert(STEPS).values(
                    key=key,
                    number=number,
                    previous=stored.step,
                    before=before.name,
                    after=after.name,
                    at_s=at_s,
                    fence=fence,
                    facts=rules.plain(facts),
                )
            )
            await connection.execute(
                update(MIGRATIONS).where(MIGRATIONS.c.key == key).values(**_values(stepped), step=number)
            )
        return stepped

    async def open_migrations(self) -> Sequence[MigrationRow]:
        """All that are in no final state, oldest first."""
        async with self._database.read() as connection:
            return await reading.read_open(connection)

    async def keep(self, kind: str, name: str, value: Mapping[str, Any], *, fence: int) -> None:
        """Keep a record that replaces the one of that name."""
        plain = rules.plain(value)
        async with self._database.write() as connection:
            rules.check_fence(await _held(connection), fence)
            here = (KEPT.c.kind == kind) & (KEPT.c.name == name)
            await connection.execute(delete(KEPT).where(here))
            await connection.execute(insert(KEPT).values(kind=kind, name=name, value=plain, fence=fence))

    async def kept(self, kind: str) -> Mapping[str, Mapping[str, Any]]:
        """All records of a kind, by name."""
        async with self._database.read() as connection:
            rows = await connection.execute(select(KEPT.c.name, KEPT.c.value).where(KEPT.c.kind == kind))
            return dict(sorted((row.name, row.value) for row in rows))

    async def append(self, kind: str, value: Mapping[str, Any], *, at_s: float) -> int:
        """Add an entry to the journal; gives its number. Numbers appear in their order, for whoever follows it."""
        rules.check_time("the time of an entry", at_s)
        plain = rules.plain(value)
        async with self._database.write() as connection:
            if not self._database.is_sqlite:
                await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _APPENDING})
            query = insert(JOURNAL).values(kind=kind, at_s=at_s, value=plain).returning(JOURNAL.c.number)
            return int((await connection.execute(query)).scalar_one())

    async def remember_inputs(self, rows: Sequence[InputsRow], parts: Mapping[str, bytes]) -> None:
        """Store what decisions were made from, all or none. What is stored already stays as it is."""
        for row in rows:
            rules.check_time("the time of a decision", row.at_s)
        async with self._database.write() as connection:
            await inputs.insert_rows(connection, rows)
            await inputs.insert_parts(connection, rows, parts)

    async def inputs_of(self, journal: int) -> InputsRow | None:
        """What the decision with that number in the journal was made from, where it is stored."""
        async with self._database.read() as connection:
            row = (await connection.execute(select(INPUTS).where(INPUTS.c.journal == journal))).one_or_none()
            return None if row is None else inputs.row_of(row)

    async def inputs_until(self, life: str, number: int) -> AsyncIterator[InputsRow]:
        """What all decisions of a life were made from, up to that one, read in pages."""
        last = 0
        while True:
            here = (INPUTS.c.life == life) & (INPUTS.c.number > last) & (INPUTS.c.number <= number)
            query = select(INPUTS).where(here).order_by(INPUTS.c.number).limit(_INPUTS_PAGE)
            async with self._database.read() as connection:
                page = [inputs.row_of(row) for row in await connection.execute(query)]
            for row in page:
                yield row
            if len(page) < _INPUTS_PAGE:
                return
            last = page[-1].number

    async def inputs_part(self, digest: str) -> bytes | None:
        """A part by its digest, where it is stored."""
        async with self._database.read() as connection:
            found = await connection.execute(select(PARTS.c.value).where(PARTS.c.digest == digest))
            value = found.scalar_one_or_none()
            return None if value is None else bytes(value)

    async def prune_inputs(self, before_s: float, most_bytes: int) -> int:
        """Forget old decisions' inputs, and the oldest beyond that size; gives how many. Done in portions."""
        total = 0
        while True:
            async with self._database.write() as connection:
                gone = await inputs.forget(connection, before_s, most_bytes, _PORTION)
            total += gone
            if gone < _PORTION:
                return total

    async def entries(
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
        """Entries in the order of their numbers, read in pages."""
        pages = reading.Pages(
            kinds=kinds,
            since_s=since_s,
            until_s=until_s,
            after=after,
            before=before,
            newest_first=newest_first,
            limit=limit,
        )
        while pages.more:
            async with self._database.read() as connection:
                page = await pages.read(connection)
            for entry in page:
                yield entry

    async def entry(self, number: int) -> JournalEntry | None:
        """The entry of that number, where there is one."""
        async with self._database.read() as connection:
            row = (await connection.execute(select(JOURNAL).where(JOURNAL.c.number == number))).one_or_none()
            return None if row is None else reading.entry_of(row)

    async def prune(self, before_s: float, kinds: Collection[str] | None = None) -> int:
        """Forget entries older than that; gives how many. Done in portions, so that nobody waits for long."""
        old = select(JOURNAL.c.number).where(JOURNAL.c.at_s < before_s).limit(_PORTION)
        if kinds is not None:
            old = old.where(JOURNAL.c.kind.in_(sorted(kinds)))
        total = 0
        while True:
            async with self._database.write() as connection:
                gone = (await connection.execute(delete(JOURNAL).where(JOURNAL.c.number.in_(old)))).rowcount
            total += gone
            if gone < _PORTION:
                return total

    async def prune_migrations(self, before_s: float) -> int:
        """Forget migrations that ended before that, with their steps; gives how many."""
        total = 0
        while True:
            async with self._database.write() as connection:
                keys = await reading.read_ended_keys(connection, before_s, _PORTION)
                await connection.execute(delete(MIGRATIONS).where(MIGRATIONS.c.key.in_(keys)))
                await connection.execute(delete(STEPS).where(STEPS.c.key.in_(keys)))
            total += len(keys)
            if len(keys) < _PORTION:
                return total

    async def migrations(self, *, plan: str | None = None, limit: int | None = None) -> tuple[MigrationRow, ...]:
        """Migrations, newest first; only those of a plan where one is given."""
        async with self._database.read() as connection:
            return await reading.read_migrations(connection, plan, limit)

    async def steps(self, key: str) -> tuple[MigrationStep, ...]:
        """The life of a migration from its first step."""
        async with self._database.read() as connection:
            return await reading.read_steps(connection, key)


async def _held(connection: AsyncConnection, *, change: bool = False) -> rules.Held:
    """How the lease stands, and stays until the transaction ends."""
    query = select(LEASES).where(LEASES.c.name == THE_LEASE).with_for_update(read=not change)
    row: Any = (await connection.execute(query)).one()
    return rules.Held(row.holder, row.fence, row.until_s)


async def _set_held(connection: AsyncConnection, held: rules.Held) -> None:
    await connection.execute(
        update(LEASES)
        .where(LEASES.c.name == THE_LEASE)
        .values(holder=held.holder, fence=held.fence, until_s=held.until_s)
    )


async def _insert(connection: AsyncConnection, rows: Sequence[MigrationRow], fence: int) -> None:
    await connection.execute(insert(STEPS), [_first_step(row, fence) for row in rows])
    await connection.execute(insert(MIGRATIONS), [_values(row) | {"step": 0} for row in rows])


def _values(row: MigrationRow) -> dict[str, Any]:
    return {
        "key": row.key,
        "plan": row.plan,
        "container": row.move.container,
        "source": row.move.source,
        "target": row.move.target,
        "state": row.state.name,
        "attempt": row.attempt,
        "changed_s": row.changed_s,
        "facts": dict(row.facts),
    }


def _first_step(row: MigrationRow, fence: int) -> dict[str, Any]:
    return {
        "key": row.key,
        "number": 0,
        "previous": None,
        "before": None,
        "after": row.state.name,
        "at_s": row.changed_s,
        "fence": fence,
        "facts": dict(row.facts),
    }
