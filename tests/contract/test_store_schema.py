"""The database has the form that the code needs, goes up and down, and refuses illegal transitions by itself."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from fogfold.adapters.storage import schema
from fogfold.adapters.storage.database import Database
from fogfold.adapters.storage.sql_store import SqlStore
from fogfold.control.failure import PortError, PortTimeoutError
from fogfold.control.migration_states import pairs_of_migration_states
from fogfold.errors import UnknownNameError
from fogfold.model.migration import MigrationState
from fogfold.testing.store_contract import a_migration, leased

pytestmark = pytest.mark.asyncio

STEP = (
    "INSERT INTO migration_steps (key, number, previous, before, after, at_s, fence, facts) "
    "VALUES ('1', {number}, {previous}, {before}, {after}, 0, 1, '{{}}')"
)


async def by_hand(url, *statements):
    """Run statements as one transaction, past all of fogfold's checks; gives the rows of the last."""
    database = Database(url)
    try:
        async with database._engine.begin() as connection:
            for statement in statements:
                done = await connection.execute(text(statement))
            return done.all() if done.returns_rows else []
    finally:
        await database.close()


async def test_upgrade_makes_what_the_models_say(url):
    assert await schema.current(url) is None
    assert "upgrade" in (await schema.differences(url))[0]
    await schema.upgrade(url)
    await schema.upgrade(url)
    assert await schema.current(url) == schema.newest()
    assert await schema.differences(url) == ()


async def test_downgrade_leaves_nothing_and_upgrade_makes_it_anew(url):
    await schema.upgrade(url)
    await schema.downgrade(url, "base")
    assert await schema.current(url) is None
    names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    if url.startswith("postgresql"):
        names = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    assert await by_hand(url, names) == [("schema_version",)]
    await schema.upgrade(url)
    assert await schema.differences(url) == ()


async def test_unknown_revision_is_named(url):
    await schema.upgrade(url)
    with pytest.raises(UnknownNameError, match="newest revision known here is"):
        await schema.upgrade(url, "nonesuch")
    await by_hand(url, "UPDATE schema_version SET version_num = 'later'")
    with pytest.raises(UnknownNameError, match="later"):
        await schema.upgrade(url)


async def test_differences_show_a_missing_index_and_a_wrong_pair(url):
    await schema.upgrade(url)
    await by_hand(
        url,
        "DROP INDEX ix_migrations_plan",
        "DELETE FROM legal_migration_steps WHERE before = 'MOVING' AND after = 'FAILED'",
        "INSERT INTO legal_migration_steps VALUES ('UNDONE', 'MOVING')",
    )
    index, refused, taken = await schema.differences(url)
    assert "ix_migrations_plan" in index
    assert refused == "MOVING to FAILED is legal, and the database refuses it"
    assert taken == "UNDONE to MOVING is illegal, and the database takes it"


async def test_code_and_database_hold_the_same_pairs(url):
    await schema.upgrade(url)
    stored = await by_hand(url, "SELECT before, after FROM legal_migration_steps")
    assert {tuple(pair) for pair in stored} == {(b.name, a.name) for b, a in pairs_of_migration_states()}
    assert len(stored) == 9


async def test_database_refuses_illegal_steps_by_itself(url, store):
    fence = (await leased(store)).fence
    await store.add_migrations([a_migration("1")], fence=fence)
    for number, previous, before, after in (
        (1, 0, "'PLANNED'", "'VERIFIED'"),  # no legal pair
        (1, 0, "'RESERVED'", "'MOVING'"),  # a legal pair, but it is not in that state
        (2, 1, "'RESERVED'", "'MOVING'"),  # leaves out a step
        (1, "NULL", "NULL", "'MOVING'"),  # begins in the middle
        (1, "NULL", "'PLANNED'", "'RESERVED'"),  # hangs on nothing
        (0, "NULL", "NULL", "'PLANNED'"),  # begins anew
    ):
        statement = STEP.format(number=number, previous=previous, before=before, after=after)
        with pytest.raises(DBAPIError):
            await by_hand(url, statement)
    await by_hand(url, STEP.format(number=1, previous=0, before="'PLANNED'", after="'RESERVED'"))


async def test_database_refuses_to_change_what_was_written(url, store):
    fence = (await leased(store)).fence
    await store.add_migrations([a_migration("1")], fence=fence)
    await store.transition("1", MigrationState.PLANNED, MigrationState.RESERVED, at_s=1.0, facts={}, fence=fence)
    await store.append("x", {}, at_s=1.0)
    for statement in (
        "UPDATE migrations SET state = 'VERIFIED'",
        "UPDATE migrations SET state = 'VERIFIED', step = 2",
        "UPDATE migrations SET state = 'PLANNED', step = 0",
        "UPDATE migration_steps SET after = 'UNDONE' WHERE number = 1",
        "DELETE FROM migration_steps",
        "UPDATE journal SET kind = 'y'",
    ):
        with pytest.raises(DBAPIError):
            await by_hand(url, statement)
    assert [row.state for row in await store.open_migrations()] == [MigrationState.RESERVED]


async def test_database_without_tables_names_the_remedy(url):
    async with SqlStore(url) as store:
        with pytest.raises(PortError, match="`upgrade`") as caught:
            await store.acquire("a", for_s=1.0, now_s=0.0)
    assert not isinstance(caught.value, PortTimeoutError)
