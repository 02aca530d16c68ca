"""The store of a day of chaos in a SQLite file: each instance opens it anew, as each process would."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from fogfold.adapters.simulated.chaos.day import Stores
from fogfold.adapters.storage.schema import upgrade
from fogfold.adapters.storage.sql_store import SqlStore

__all__ = ["sqlite_stores"]


@asynccontextmanager
async def sqlite_stores() -> AsyncIterator[Stores]:
    """A SQLite file in a folder of its own, removed afterwards."""
    with TemporaryDirectory(prefix="fogfold-chaos-") as folder:
        url = f"sqlite:///{Path(folder) / 'state.db'}"
        await upgrade(url)

        @asynccontextmanager
        async def store() -> AsyncIterator[SqlStore]:
            async with SqlStore(url) as opened:
                yield opened

        yield store
