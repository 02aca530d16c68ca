"""Every store keeps the same promises: the one in memory, and the one in SQLite and in PostgreSQL."""

import pytest

from fogfold.adapters.storage.journal import Journal
from fogfold.adapters.storage.sql_store import SqlStore
from fogfold.control.ports import Store
from fogfold.testing.memory_store import MemoryStore
from fogfold.testing.store_contract import CASES

pytestmark = pytest.mark.asyncio

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)


@each_case
async def test_memory_keeps(case):
    store = MemoryStore()
    await case(store, store)


@each_case
async def test_database_keeps(case, store, url):
    async with SqlStore(url) as second:
        await case(store, second)


async def test_stores_are_what_the_ports_ask_for(store):
    for one in (MemoryStore(), store):
        assert isinstance(one, Store)
        assert isinstance(one, Journal)
