"""Statements about what decisions were made from: written once, read in order, forgotten from the oldest on.

The transaction is the caller's. A part is stored once for all decisions that share it, and lives as long as one of them
does: `used_s` is no earlier than the latest of them, so whatever is older than all that are left is needed by none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import case, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from fogfold.adapters.storage.tables import INPUTS, PARTS
from fogfold.control.ports import InputsRow

__all__ = ["forget", "insert_parts", "insert_rows", "row_of"]


async def insert_rows(connection: AsyncConnection, rows: Sequence[InputsRow]) -> None:
    """Store rows; those of a life and number, or of a journal entry, that are there already stay as they are."""
    for row in rows:
        values = {
            "life": row.life,
            "number": row.number,
            "journal": row.journal,
            "at_s": row.at_s,
            "is_alone": row.is_alone,
            "parts": list(row.parts),
            "size_bytes": len(row.value),
            "value": row.value,
        }
        await connection.execute(_insert(connection.dialect.name, INPUTS).values(values).on_conflict_do_nothing())


async def insert_parts(connection: AsyncConnection, rows: Sequence[InputsRow], parts: Mapping[str, bytes]) -> None:
    """Store the parts that are given, and note of all that the rows need how long they are needed."""
    used_s: dict[str, float] = {}
    for row in rows:
        for digest in row.parts:
            used_s[digest] = max(row.at_s, used_s.get(digest, row.at_s))
    # In one order for everybody, so that no two writers wait for each other.
    for digest in sorted(used_s):
        at_s = used_s[digest]
        if digest in parts:
            values = {"digest": digest, "used_s": at_s, "size_bytes": len(parts[digest]), "value": parts[digest]}
            query = _insert(connection.dialect.name, PARTS).values(values)
            later = case((PARTS.c.used_s < at_s, at_s), else_=PARTS.c.used_s)
            await connection.execute(query.on_conflict_do_update(index_elements=["digest"], set_={"used_s": later}))
        else:
            here = (PARTS.c.digest == digest) & (PARTS.c.used_s < at_s)
            await connection.execute(PARTS.update().where(here).values(used_s=at_s))


async def forget(connection: AsyncConnection, before_s: float, most_bytes: int, portion: int) -> int:
    """Forget some that are older than that or beyond that size, at most so many; gives how many."""
    parts_bytes = (await connection.execute(select(func.coalesce(func.sum(PARTS.c.size_bytes), 0)))).scalar_one()
    kept = func.sum(INPUTS.c.size_bytes).over(order_by=INPUTS.c.id.desc()).label("kept")
    sums = select(INPUTS.c.id, INPUTS.c.at_s, kept).subquery()
    old = select(sums.c.id).where((sums.c.at_s < before_s) | (sums.c.kept > most_bytes - parts_bytes))
    oldest = old.order_by(sums.c.id).limit(portion)
    gone = (await connection.execute(delete(INPUTS).where(INPUTS.c.id.in_(oldest)))).rowcount
    first_s = (await connection.execute(select(func.min(INPUTS.c.at_s)))).scalar_one()
    unused = delete(PARTS) if first_s is None else delete(PARTS).where(PARTS.c.used_s < first_s)
    await connection.execute(unused)
    return int(gone)


def row_of(row: Any) -> InputsRow:
    """A row of `decision_inputs` as a value."""
    return InputsRow(
        row.life, row.number, row.journal, row.at_s, bool(row.is_alone), bytes(row.value), tuple(row.parts)
    )


def _insert(dialect: str, table: Any) -> Any:
    return (sqlite if dialect == "sqlite" else postgresql).insert(table)
