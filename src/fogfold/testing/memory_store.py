"""A store that a test holds in its hand: the promises of the real one, and nothing that survives.

Every call is one step without a pause, so it is one transaction. Values go in and come out as plain JSON, as they do
with a database: what works here works there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from fogfold.adapters.storage import rules
from fogfold.adapters.storage.journal import JournalEntry, MigrationStep
from fogfold.control.failure import PortError
from fogfold.control.migration_states import FINAL
from fogfold.control.ports import InputsRow, Lease, MigrationRow
from fogfold.model.migration import MigrationState

__all__ = ["MemoryStore"]


class MemoryStore:
    """`control.ports.Store` and `adapters.storage.journal.Journal`, in memory."""

    def __init__(self) -> None:
        self._held = rules.NOBODY
        self._migrations: dict[str, MigrationRow] = {}
        self._steps: dict[str, list[MigrationStep]] = {}
        self._kept: dict[str, dict[str, dict[str, Any]]] = {}
        self._journal: dict[int, JournalEntry] = {}
        self._last_number = 0
        self._inputs: dict[tuple[str, int], InputsRow] = {}
        self._parts: dict[str, bytes] = {}

    async def acquire(self, holder: str, *, for_s: float, now_s: float) -> Lease | None:
        """The lease, new or renewed; None while another holds it."""
        granted = rules.grant(self._held, holder, for_s=for_s, now_s=now_s)
        if granted is None:
            self._held = rules.cut(self._held, for_s=for_s, now_s=now_s)
            return None
        self._held = granted
        return Lease(holder, granted.fence, granted.until_s)

    async def release(self, lease: Lease) -> None:
        """Give the lease back; nothing where it is another's by now."""
        if (self._held.holder, self._held.fence) == (lease.holder, lease.fence):
            self._held = rules.Held(None, lease.fence, 0.0)

    async def add_migrations(self, rows: Sequence[MigrationRow], *, fence: int) -> None:
        """Write migrations down as planned, all or none."""
        rules.check_fence(self._held, fence)
        for row in rules.only_new(rows, self._migrations):
            self._migrations[row.key] = row
            self._steps[row.key] = [
                MigrationStep(row.key, 0, None, row.state, row.changed_s, fence, rules.plain(row.facts))
            ]

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
        """Take a migration from one state to another, if it is in the former."""
        rules.check_fence(self._held, fence)
        row = self._migrations.get(key)
        if row is None:
            raise PortError(f"no migration of key {key!r} is stored; add it before it takes a step")
        stepped = rules.step(row, before, after, at_s=at_s, facts=facts)
        self._migrations[key] = stepped
        steps = self._steps[key]
        steps.append(MigrationStep(key, len(steps), before, after, at_s, fence, rules.plain(facts)))
        return _copy(stepped)

    async def open_migrations(self) -> Sequence[MigrationRow]:
        """All that are in no final state, oldest first."""
        return tuple(_copy(row) for row in self._migrations.values() if row.state not in FINAL)

    async def keep(self, kind: str, name: str, value: Mapping[str, Any], *, fence: int) -> None:
        """Keep a record that replaces the one of that name."""
        rules.check_fence(self._held, fence)
        self._kept.setdefault(kind, {})[name] = rules.plain(value)

    async def kept(self, kind: str) -> Mapping[str, Mapping[str, Any]]:
        """All records of a kind, by name."""
        return {name: rules.plain(value) for name, value in sorted(self._kept.get(kind, {}).items())}

    async def append(self, kind: str, value: Mapping[str, Any], *, at_s: float) -> int:
        """Add an entry to the journal; gives its number."""
        rules.check_time("the time of an entry", at_s)
        entry = JournalEntry(self._last_number + 1, kind, at_s, rules.plain(value))
        self._last_number = entry.number
        self._journal[entry.number] = entry
        return entry.number

    async def remember_inputs(self, rows: Sequence[InputsRow], parts: Mapping[str, bytes]) -> None:
        """Store what decisions were made from. What is stored already stays as it is."""
        for row in rows:
            rules.check_time("the time of a decision", row.at_s)
        for row in rows:
            if row.journal is None or await self.inputs_of(row.journal) is None:
                self._inputs.setdefault((row.life, row.number), row)
        needed = {digest for row in rows for digest in row.parts}
        self._parts |= {digest: value for digest, value in parts.items() if digest in needed}

    async def inputs_of(self, journal: int) -> InputsRow | None:
        """What the decision with that number in the journal was made from, where it is stored."""
        return next((row for row in self._inputs.values() if row.journal == journal), None)

    async def inputs_until(self, life: str, number: int) -> AsyncIterator[InputsRow]:
        """What all decisions of a life were made from, up to that one."""
        found = [row for row in self._inputs.values() if row.life == life and row.number <= number]
        for row in sorted(found, key=lambda row: row.number):
            yield row

    async def inputs_part(self, digest: str) -> bytes | None:
        """A part by its digest, where it is stored."""
        return self._parts.get(digest)

    async def prune_inputs(self, before_s: float, most_bytes: int) -> int:
        """Forget old decisions' inputs, and the oldest beyond that size; gives how many."""
        left = most_bytes - sum(len(value) for value in self._parts.values())
        before, kept = len(self._inputs), dict[tuple[str, int], InputsRow]()
        for key, row in reversed(self._inputs.items()):
            left -= len(row.value)
            if left >= 0 and row.at_s >= before_s:
                kept[key] = row
        self._inputs = dict(reversed(kept.items()))
        needed = {digest for row in self._inputs.values() for digest in row.parts}
        self._parts = {digest: value for digest, value in self._parts.items() if digest in needed}
        return before - len(self._inputs)

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
        """Entries in the order of their numbers."""
        rules.check_limit(limit)
        found = [
            entry
            for entry in self._journal.values()
            if (kinds is None or entry.kind in kinds)
            and (since_s is None or entry.at_s >= since_s)
            and (until_s is None or entry.at_s < until_s)
            and (after is None or entry.number > after)
            and (before is None or entry.number < before)
        ]
        for entry in (found[::-1] if newest_first else found)[:limit]:
            yield JournalEntry(entry.number, entry.kind, entry.at_s, rules.plain(entry.value))

    async def entry(self, number: int) -> JournalEntry | None:
        """The entry of that number, where there is one."""
        return self._journal.get(number)

    async def prune(self, before_s: float, kinds: Collection[str] | None = None) -> int:
        """Forget entries older than that; gives how many."""
        old = [
            entry.number
            for entry in self._journal.values()
            if entry.at_s < before_s and (kinds is None or entry.kind in kinds)
        ]
        for number in old:
            del self._journal[number]
        return len(old)

    async def prune_migrations(self, before_s: float) -> int:
        """Forget migrations that ended before that; gives how many."""
        old = [row.key for row in self._migrations.values() if row.state in FINAL and row.changed_s < before_s]
        for key in old:
            del self._migrations[key], self._steps[key]
        return len(old)

    async def migrations(self, *, plan: str | None = None, limit: int | None = None) -> tuple[MigrationRow, ...]:
        """Migrations, newest first; only those of a plan where one is given."""
        rules.check_limit(limit)
        found = [row for row in self._migrations.values() if plan is None or row.plan == plan]
        return tuple(_copy(row) for row in found[::-1][:limit])

    async def steps(self, key: str) -> tuple[MigrationStep, ...]:
        """The life of a migration from its first step."""
        return tuple(self._steps.get(key, ()))


def _copy(row: MigrationRow) -> MigrationRow:
    return MigrationRow(row.key, row.plan, row.move, row.state, row.attempt, row.changed_s, rules.plain(row.facts))
