"""Writes the journal out for other tools, as CSV or Parquet, entry by entry: a long journal does not fill memory.

Both have the columns `number, kind, at_s, at_utc, value`; the value is JSON text. A file appears under its name only
once it is whole.
"""

from __future__ import annotations

import csv
import importlib
from collections.abc import AsyncIterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from fogfold.adapters.storage.journal import JournalEntry
from fogfold.adapters.storage.rules import plain_json
from fogfold.errors import MissingExtraError

__all__ = ["COLUMNS", "write_csv", "write_parquet"]

COLUMNS = {"number": "BIGINT", "kind": "VARCHAR", "at_s": "DOUBLE", "at_utc": "TIMESTAMPTZ", "value": "VARCHAR"}
"""Columns of an export, with their types in Parquet."""

_LONGEST_LINE_BYTES = 256 * 2**20
"""Longest entry that can be brought into Parquet: a snapshot of a very large cluster is some 10 MB."""


async def write_csv(entries: AsyncIterable[JournalEntry], path: Path) -> int:
    """Write entries as CSV (UTF-8, RFC 4180, with a header); gives how many. An existing file is replaced."""
    count = 0
    with _whole(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        async for entry in entries:
            at_utc = datetime.fromtimestamp(entry.at_s, UTC).isoformat()
            writer.writerow((entry.number, entry.kind, repr(entry.at_s), at_utc, plain_json(entry.value)))
            count += 1
    return count


async def write_parquet(entries: AsyncIterable[JournalEntry], path: Path) -> int:
    """Write entries as Parquet (zstd); gives how many. An existing file is replaced.

    Goes by way of a CSV file beside it, which is removed.

    Raises:
        MissingExtraError: if duckdb is not installed.
    """
    try:
        duckdb = importlib.import_module("duckdb")
    except ImportError as error:
        raise MissingExtraError(
            f"an export to Parquet needs duckdb ({error}); pip install 'fogfold[parquet]', or export to CSV"
        ) from error
    between = path.with_name(path.name + ".csv")
    try:
        count = await write_csv(entries, between)
        with _whole(path) as part, duckdb.connect() as connection:
            # Small buffers: lines are read one by one, and most are short.
            rows = connection.read_csv(
                str(between),
                header=True,
                columns=COLUMNS,
                delimiter=",",
                quotechar='"',
                escapechar='"',
                parallel=False,
                max_line_size=_LONGEST_LINE_BYTES,
            )
            rows.write_parquet(str(part), compression="zstd")
    finally:
        between.unlink(missing_ok=True)
    return count


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A name to write under; what was written gets the right name at the end, or is removed."""
    part = path.with_name(path.name + ".part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
