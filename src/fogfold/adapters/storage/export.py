"""Writes the journal out for other tools, as CSV or Parquet, entry by entry: a long journal does not fill memory.

An export of entries has the columns `number, kind, at_s, at_utc, value`; the value is JSON text. A file appears under
its name only once it is whole.
"""

from __future__ import annotations

import csv
import importlib
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from fogfold.adapters.storage.journal import JournalEntry
from fogfold.adapters.storage.rules import plain_json
from fogfold.errors import MissingExtraError

__all__ = ["COLUMNS", "utc", "write_csv", "write_parquet", "write_rows"]

COLUMNS = {"number": "BIGINT", "kind": "VARCHAR", "at_s": "DOUBLE", "at_utc": "TIMESTAMPTZ", "value": "VARCHAR"}
"""Columns of an export, with their types in Parquet."""

_LONGEST_LINE_BYTES = 256 * 2**20
"""Longest entry that can be brought into Parquet: a snapshot of a very large cluster is some 10 MB."""


async def write_csv(entries: AsyncIterable[JournalEntry], path: Path) -> int:
    """Write entries as CSV (UTF-8, RFC 4180, with a header); gives how many. An existing file is replaced."""
    return await write_rows(COLUMNS, _rows(entries), path, parquet=False)


async def write_parquet(entries: AsyncIterable[JournalEntry], path: Path) -> int:
    """Write entries as Parquet (zstd); gives how many. An existing file is replaced.

    Raises:
        MissingExtraError: if duckdb is not installed.
    """
    return await write_rows(COLUMNS, _rows(entries), path, parquet=True)


async def write_rows(
    columns: Mapping[str, str], rows: AsyncIterable[Sequence[object]], path: Path, *, parquet: bool
) -> int:
    """Write a table as CSV (UTF-8, RFC 4180, with a header) or Parquet (zstd); gives how many rows it has.

    An existing file is replaced. Parquet goes by way of a CSV file beside it, which is removed. What is None is empty
    in CSV and null in Parquet.

    Args:
        columns: names, with their types in Parquet.
        rows: a value for each column.
        path: where to.
        parquet: whether it is to be Parquet.

    Raises:
        MissingExtraError: if it is, and duckdb is not installed.
    """
    if not parquet:
        return await _csv(columns, rows, path)
    try:
        duckdb = importlib.import_module("duckdb")
    except ImportError as error:
        raise MissingExtraError(
            f"an export to Parquet needs duckdb ({error}); pip install 'fogfold[parquet]', or export to CSV"
        ) from error
    between = path.with_name(path.name + ".csv")
    try:
        count = await _csv(columns, rows, between)
        with _whole(path) as part, duckdb.connect() as connection:
            # Small buffers: lines are read one by one, and most are short.
            found = connection.read_csv(
                str(between),
                header=True,
                columns=dict(columns),
                delimiter=",",
                quotechar='"',
                escapechar='"',
                parallel=False,
                max_line_size=_LONGEST_LINE_BYTES,
            )
            found.write_parquet(str(part), compression="zstd")
    finally:
        between.unlink(missing_ok=True)
    return count


def utc(at_s: float) -> str:
    """A time since the epoch as text."""
    return datetime.fromtimestamp(at_s, UTC).isoformat()


async def _csv(columns: Mapping[str, str], rows: AsyncIterable[Sequence[object]], path: Path) -> int:
    count = 0
    with _whole(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        async for row in rows:
            writer.writerow([repr(value) if isinstance(value, float) else value for value in row])
            count += 1
    return count


async def _rows(entries: AsyncIterable[JournalEntry]) -> AsyncIterator[Sequence[object]]:
    async for entry in entries:
        yield entry.number, entry.kind, entry.at_s, utc(entry.at_s), plain_json(entry.value)


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A name to write under; what was written gets the right name at the end, or is removed."""
    part = path.with_name(path.name + ".part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
