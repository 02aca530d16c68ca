"""A database that is locked, gone or frozen for a while: calls end in time, nothing is half written, and it goes on."""

import asyncio
import sqlite3
import time
from contextlib import closing

import pytest
import pytest_asyncio

from fogfold.adapters.storage import schema, sql_store
from fogfold.adapters.storage.sql_store import SqlStore
from fogfold.control.failure import PortError, PortTimeoutError
from fogfold.model.migration import MigrationState
from fogfold.testing.store_contract import a_migration, leased

pytestmark = pytest.mark.asyncio

LIMIT_S = 0.4


async def fails_in_time(call):
    """The call ends in a time-out, well before a test's patience does (0.4 s limit; other work may slow it)."""
    start_s = time.monotonic()
    with pytest.raises(PortTimeoutError) as caught:
        await call
    assert caught.value.retryable
    assert time.monotonic() - start_s < 10.0


@pytest_asyncio.fixture
async def hurried(url):
    """A store with a short time-out, and a lease that is held."""
    await schema.upgrade(url)
    async with SqlStore(url, timeout_s=LIMIT_S) as store:
        yield store, (await leased(store)).fence


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
async def test_locked_file_is_a_time_out_and_works_again_after(hurried, url):
    store, fence = hurried
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        await fails_in_time(store.add_migrations([a_migration("1")], fence=fence))
        await fails_in_time(store.append("x", {}, at_s=1.0))
        calls = (store.append("x", {}, at_s=1.0) for _ in range(5))
        got = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(one) for one in got] == [PortTimeoutError] * 5
        assert await store.open_migrations() == ()  # readers are not held up
        other.execute("ROLLBACK")
    assert [entry async for entry in store.entries()] == []
    await store.add_migrations([a_migration("1")], fence=fence)
    assert len(await store.open_migrations()) == 1


async def test_file_that_is_no_database_is_refused_for_good(tmp_path):
    path = tmp_path / "letter.db"
    path.write_text("Dear operator, " * 100)
    async with SqlStore(f"sqlite:///{path}") as store:
        with pytest.raises(PortError, match="not a database") as caught:
            await store.open_migrations()
    assert not caught.value.retryable


async def test_transaction_that_breaks_leaves_nothing(hurried):
    store, fence = hurried

    async def crash():
        async with store._database.write() as connection:
            await sql_store._insert(connection, [a_migration("1")], fence)
            raise RuntimeError("crash")

    with pytest.raises(RuntimeError, match="crash"):
        await crash()
    assert await store.migrations() == ()
    assert await store.steps("1") == ()


async def test_call_that_is_cancelled_leaves_a_store_that_works(hurried):
    store, fence = hurried
    for turns in range(40):
        task = asyncio.create_task(store.add_migrations([a_migration(f"{turns}")], fence=fence))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    for row in await store.migrations():
        assert len(await store.steps(row.key)) == 1
    await store.add_migrations([a_migration("last")], fence=fence)
    await store.transition("last", MigrationState.PLANNED, MigrationState.UNDONE, at_s=1.0, facts={}, fence=fence)


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
async def test_server_that_stops_is_a_time_out_and_works_again_after(hurried, postgres):
    store, fence = hurried
    await store.add_migrations([a_migration("1")], fence=fence)
    postgres.stop()
    try:
        await fails_in_time(store.transition(*_STEP, at_s=1.0, facts={}, fence=fence))
        await fails_in_time(store.open_migrations())
    finally:
        postgres.start()
    await store.transition(*_STEP, at_s=1.0, facts={}, fence=fence)
    assert [row.state for row in await store.open_migrations()] == [MigrationState.RESERVED]


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
async def test_server_that_restarts_is_not_noticed_by_the_next_call(hurried, postgres):
    store, _ = hurried
    await asyncio.gather(*(store.append("x", {}, at_s=1.0) for _ in range(4)))
    postgres.stop()
    postgres.start()
    await store.append("x", {}, at_s=1.0)


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
async def test_server_that_freezes_is_a_time_out_and_works_again_after(hurried, postgres):
    store, fence = hurried
    postgres.freeze()
    try:
        await fails_in_time(store.add_migrations([a_migration("1")], fence=fence))
        await fails_in_time(store.open_migrations())
    finally:
        postgres.thaw()
    await store.add_migrations([a_migration("1")], fence=fence)
    assert len(await store.open_migrations()) == 1


_STEP = ("1", MigrationState.PLANNED, MigrationState.RESERVED)
