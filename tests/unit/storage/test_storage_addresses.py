"""Addresses of databases, and what is asked for before any is opened."""

import pytest

from fogfold.adapters.storage.database import Database, database_url
from fogfold.errors import ModelError


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("sqlite:///a/b.db", "sqlite+aiosqlite:///a/b.db"),
        ("sqlite:////a/b.db", "sqlite+aiosqlite:////a/b.db"),
        ("postgres://u@h/n", "postgresql+asyncpg://u@h/n"),
        ("postgresql://u@h:5433/n", "postgresql+asyncpg://u@h:5433/n"),
    ],
)
def test_driver_is_ours_to_choose(given, expected):
    assert database_url(given).render_as_string(hide_password=False) == expected


@pytest.mark.parametrize("given", ["sqlite://", "sqlite:///:memory:"])
def test_database_in_memory_is_refused(given):
    with pytest.raises(ModelError, match="does not survive"):
        database_url(given)


def test_other_databases_are_refused_with_the_nearest_name():
    with pytest.raises(ModelError, match='did you mean "sqlite"'):
        database_url("sqlit:///a")
    with pytest.raises(ModelError, match="is no database URL"):
        database_url("journal.db")


def test_password_is_not_shown():
    assert "secret" not in Database("postgresql://u:secret@h/n").name


def test_time_out_of_nothing_is_refused():
    with pytest.raises(ModelError, match="more than 0 s"):
        Database("sqlite:///a.db", timeout_s=0.0)
