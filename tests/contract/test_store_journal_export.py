"""The journal goes out as CSV and Parquet, whole or not at all."""

import csv
import json
import sys
from typing import Any

import pytest

from fogfold.adapters.storage.export import COLUMNS, write_csv, write_parquet
from fogfold.errors import MissingExtraError
from fogfold.testing.memory_store import MemoryStore

pytestmark = pytest.mark.asyncio

VALUES: list[dict[str, Any]] = [{"say": 'a "b", c\nd'}, {}, {"deep": {"list": [1, None, 0.1]}}, {"long": "x" * 100_000}]


async def a_journal():
    store = MemoryStore()
    for number, value in enumerate(VALUES):
        await store.append("plan", value, at_s=1_767_571_200.1 + number)
    return store


async def test_csv_holds_every_entry(tmp_path):
    store = await a_journal()
    path = tmp_path / "journal.csv"
    assert await write_csv(store.entries(), path) == 4
    with path.open(newline="", encoding="utf-8") as file:
        csv.field_size_limit(1_000_000)
        header, *rows = csv.reader(file)
    assert header == list(COLUMNS)
    assert rows[0][:4] == ["1", "plan", "1767571200.1", "2026-01-05T00:00:00.100000+00:00"]
    assert [json.loads(row[4]) for row in rows] == VALUES
    assert list(tmp_path.iterdir()) == [path]


async def test_parquet_holds_every_entry(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    store = await a_journal()
    path = tmp_path / "journal.parquet"
    assert await write_parquet(store.entries(), path) == 4
    with duckdb.connect() as connection:
        query = f"SELECT number, kind, at_s, epoch(at_utc), value FROM '{path}' ORDER BY number"  # noqa: S608
        rows = connection.execute(query).fetchall()
    assert rows[0][:4] == (1, "plan", 1_767_571_200.1, 1_767_571_200.1)
    assert [json.loads(row[4]) for row in rows] == VALUES
    assert list(tmp_path.iterdir()) == [path]


async def test_empty_journal_gives_an_empty_file(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    assert await write_parquet(MemoryStore().entries(), tmp_path / "a.parquet") == 0
    with duckdb.connect() as connection:
        assert connection.execute(f"SELECT count(*) FROM '{tmp_path / 'a.parquet'}'").fetchone() == (0,)  # noqa: S608


async def test_missing_duckdb_is_named_with_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtraError, match=r"fogfold\[parquet\]"):
        await write_parquet(MemoryStore().entries(), tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []


async def test_export_that_breaks_leaves_the_earlier_file(tmp_path):
    path = tmp_path / "journal.csv"
    path.write_text("earlier")

    async def broken():
        async for entry in (await a_journal()).entries(limit=2):
            yield entry
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        await write_csv(broken(), path)
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]
