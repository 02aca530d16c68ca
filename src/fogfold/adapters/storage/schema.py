"""Brings a database to the tables that this version of fogfold needs, and tells where it stands.

The steps are Alembic's and lie in `migrations/`; each command is one transaction, so a database is never half way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, select

from fogfold.adapters.storage.database import Database
from fogfold.adapters.storage.tables import LEGAL_STEPS, METADATA
from fogfold.control.failure import PortError
from fogfold.control.migration_states import pairs_of_migration_states
from fogfold.errors import UnknownNameError

__all__ = ["current", "differences", "downgrade", "newest", "upgrade"]

_VERSION_TABLE = "schema_version"

_T = TypeVar("_T")


async def upgrade(url: str, to: str = "head", *, timeout_s: float = 60.0) -> None:
    """Bring the database up to a revision; nothing where it is there already.

    Raises:
        UnknownNameError: if there is no such revision, or the database is of a later fogfold.
        PortError: if the database refuses.
        PortTimeoutError: if it is locked or cannot be reached.
    """
    await _do(url, timeout_s, lambda connection: command.upgrade(_config(connection), to))


async def downgrade(url: str, to: str, *, timeout_s: float = 60.0) -> None:
    """Bring the database back to a revision; `base` removes all tables and what is in them. Raises as `upgrade`."""
    await _do(url, timeout_s, lambda connection: command.downgrade(_config(connection), to))


async def current(url: str, *, timeout_s: float = 60.0) -> str | None:
    """The revision that the database is at; None where it has no tables yet."""
    return await _do(url, timeout_s, _revision)


def newest() -> str:
    """The revision that this version of fogfold needs."""
    head = ScriptDirectory.from_config(_config(None)).get_current_head()
    if head is None:
        raise PortError("no revision of the tables is installed; install fogfold again")
    return head


async def differences(url: str, *, timeout_s: float = 60.0) -> tuple[str, ...]:
    """How the database differs from what this version of fogfold needs, one sentence each; none is well.

    Compares the revision, tables, columns, keys and indexes, and the legal transitions of migrations.
    """
    return await _do(url, timeout_s, _differences)


def _differences(connection: Connection) -> tuple[str, ...]:
    at = _revision(connection)
    if at != newest():
        return (f"the database is at revision {at}, and {newest()} is needed; bring it up to date with `upgrade`",)
    context = MigrationContext.configure(connection, opts={"version_table": _VERSION_TABLE, "compare_type": True})
    found = [f"the tables differ: {change}" for change in compare_metadata(context, METADATA)]
    wanted = {(before.name, after.name) for before, after in pairs_of_migration_states()}
    stored = {(row.before, row.after) for row in connection.execute(select(LEGAL_STEPS))}
    found += [f"{before} to {after} is legal, and the database refuses it" for before, after in sorted(wanted - stored)]
    found += [f"{before} to {after} is illegal, and the database takes it" for before, after in sorted(stored - wanted)]
    return tuple(found)


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection, opts={"version_table": _VERSION_TABLE}).get_current_revision()


async def _do(url: str, timeout_s: float, act: Callable[[Connection], _T]) -> _T:
    database = Database(url, timeout_s=timeout_s)
    try:
        async with database.write() as connection:
            return await connection.run_sync(act)
    except CommandError as error:
        raise UnknownNameError(f"{error}; the newest revision known here is {newest()}") from error
    finally:
        await asyncio.shield(database.close())


def _config(connection: Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
