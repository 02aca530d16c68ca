"""A database by its URL: connections that wait only so long, whole transactions, and failures in our own words.

SQLite runs with a write-ahead log and full synchronisation: what is written before an act must outlive a power cut.
Knows nothing of tables.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import Any

from sqlalchemy import Connection, event, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from fogfold.control.failure import PortError, PortTimeoutError
from fogfold.errors import MissingExtraError, ModelError, did_you_mean

__all__ = ["Database", "database_url"]

_DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "sqlite+aiosqlite": "sqlite+aiosqlite",
    "postgresql": "postgresql+asyncpg",
    "postgres": "postgresql+asyncpg",
    "postgresql+asyncpg": "postgresql+asyncpg",
}
_WRITE = "fogfold_write"

_PASSING_SQLITE = ("locked", "busy", "disk i/o error", "unable to open")
_PASSING_POSTGRES = ("08", "40", "53", "55P03", "57")
"""Beginnings of SQLSTATE: connection, rollback, resources, lock, operator."""
_NO_TABLE = ("no such table", "undefinedtable")


def database_url(url: str) -> URL:
    """The URL with the driver that fogfold uses: `sqlite:///file` or `postgresql://user@host/name`.

    Raises:
        ModelError: if it is no such URL, or names a SQLite database that is in no file: it would not survive.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise ModelError(
            f"{url!r} is no database URL; give sqlite:///path/to/file or postgresql://user@host/name"
        ) from error
    driver = _DRIVERS.get(parsed.drivername)
    if driver is None:
        raise ModelError(
            f"database {parsed.drivername!r} is not supported; {did_you_mean(parsed.drivername, _DRIVERS)}"
        )
    if driver.startswith("sqlite") and parsed.database in {None, "", ":memory:"}:
        raise ModelError(f"{url!r} is in memory and does not survive; give a file: sqlite:///path/to/file")
    return parsed.set(drivername=driver)


class Database:
    """Connections to one database.

    Args:
        url: see `database_url`.
        timeout_s: how long any one transaction may take, waiting for locks and connections included.
    """

    def __init__(self, url: str, *, timeout_s: float = 5.0) -> None:
        if not timeout_s > 0.0:
            raise ModelError(f"a time-out of {timeout_s:g} s lets nothing be done; give more than 0 s")
        self.url = database_url(url)
        self.timeout_s = timeout_s
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._turn = asyncio.Lock()
        try:
            self._engine = self._make_engine()
        except ModuleNotFoundError as error:
            extra = "serve" if self.is_sqlite else "postgres"
            raise MissingExtraError(
                f"{self.url.get_backend_name()} needs the package {error.name!r}; pip install 'fogfold[{extra}]'"
            ) from error

    @property
    def name(self) -> str:
        """The URL for people: the password is not shown."""
        return self.url.render_as_string(hide_password=True)

    async def close(self) -> None:
        """Give all connections back."""
        await self._engine.dispose()

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that writes: committed as a whole at the end of the block, or not at all.

        Raises:
            PortTimeoutError: if the database is locked, gone or slow.
            PortError: if it refused.
        """
        turn = self._turn if self.is_sqlite else nullcontext()
        async with self._guard(), turn, self._begin(write=True) as connection:
            yield connection

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that only reads. Raises as `write`."""
        async with self._guard(), self._begin(write=False) as connection:
            yield connection

    @asynccontextmanager
    async def _begin(self, *, write: bool) -> AsyncIterator[AsyncConnection]:
        async with self._engine.connect() as connection:
            await connection.execution_options(**{_WRITE: write})
            async with connection.begin():
                yield connection

    @asynccontextmanager
    async def _guard(self) -> AsyncIterator[None]:
        """Time-out and translation of failures."""
        try:
            # SQLite itself stops waiting for a lock after timeout_s; the margin lets its own answer come first.
            async with asyncio.timeout(self.timeout_s * 1.5):
                yield
        except (TimeoutError, PoolTimeoutError) as error:
            raise PortTimeoutError(
                f"{self.name} did not answer within {self.timeout_s:g} s; see whether it runs and is not locked"
            ) from error
        except OSError as error:
            raise PortTimeoutError(f"{self.name} cannot be reached: {error}; see whether it runs") from error
        except SQLAlchemyError as error:
            raise self._failure(error) from error
        except Exception as error:
            if type(error).__module__.startswith("asyncpg"):  # asyncpg's own, from connecting
                raise self._failure(error) from error
            raise

    def _failure(self, error: Exception) -> PortError:
        cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
        text = " ".join(str(cause).split())[:300]
        state = getattr(cause, "sqlstate", None) or ""
        lost = isinstance(error, DBAPIError) and error.connection_invalidated
        if state == "42P01" or any(sign in text.lower() for sign in _NO_TABLE):
            return PortError(f"{self.name} lacks a table ({text}); bring it up to date with `upgrade`")
        if self.is_sqlite:
            passing = any(sign in text.lower() for sign in _PASSING_SQLITE)
        else:
            passing = state.startswith(_PASSING_POSTGRES) or "closed" in text.lower()
        if lost or passing:
            return PortTimeoutError(f"{self.name} is locked or gone for now ({text}); try again")
        return PortError(f"{self.name} refused: {text}; see its log")

    def _make_engine(self) -> AsyncEngine:
        # Values come as JSON text that `rules.plain_json` has checked: they are stored and read as they are.
        make = partial(create_async_engine, self.url, json_serializer=_as_json, json_deserializer=json.loads)
        if not self.is_sqlite:
            limit_ms = str(round(self.timeout_s * 1000))
            return make(
                pool_pre_ping=True,
                pool_timeout=self.timeout_s,
                connect_args={
                    "timeout": self.timeout_s,
                    "command_timeout": self.timeout_s,
                    "server_settings": {
                        "application_name": "fogfold",
                        "lock_timeout": limit_ms,
                        "statement_timeout": limit_ms,
                        "idle_in_transaction_session_timeout": str(round(self.timeout_s * 2000)),
                    },
                },
            )
        engine = make(pool_timeout=self.timeout_s, connect_args={"timeout": self.timeout_s})
        event.listen(engine.sync_engine, "connect", _set_up_sqlite)
        event.listen(engine.sync_engine, "begin", _begin_sqlite)
        return engine


def _as_json(value: Mapping[str, Any] | list[str]) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _set_up_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where `_begin_sqlite` says, not where sqlite3 guesses
    cursor = connection.cursor()
    try:
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
    finally:
        cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes the lock at once: one that reads first could find that another wrote in between.
    write = connection.get_execution_options().get(_WRITE, True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
