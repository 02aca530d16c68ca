"""The tables of the store, as SQLAlchemy knows them; `migrations/` makes them, and a test holds both together.

A migration's life is a chain of steps. Each step points at the one before it and at the list of legal pairs, so the
database itself refuses an illegal step, whoever writes it. Times are seconds since the epoch, states are names.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = [
    "INPUTS",
    "JOURNAL",
    "KEPT",
    "LEASES",
    "LEGAL_STEPS",
    "METADATA",
    "MIGRATIONS",
    "PARTS",
    "STEPS",
    "THE_LEASE",
]

THE_LEASE = "control"
"""Name of the one lease: the right to act on the cluster."""

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_NUMBER = BigInteger().with_variant(Integer, "sqlite")
"""SQLite numbers rows by itself only where the column is an INTEGER."""

_STATE = String(16)

LEASES = Table(
    "leases",
    METADATA,
    Column("name", String(32), primary_key=True),
    Column("holder", Text),
    Column("fence", BigInteger, nullable=False),
    Column("until_s", Double, nullable=False),
)

LEGAL_STEPS = Table(
    "legal_migration_steps",
    METADATA,
    Column("before", _STATE, primary_key=True),
    Column("after", _STATE, primary_key=True),
)
"""Which state may follow which: `control.migration_states.pairs_of_migration_states`, in the database."""

STEPS = Table(
    "migration_steps",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("previous", Integer),
    Column("before", _STATE),
    Column("after", _STATE, nullable=False),
    Column("at_s", Double, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("facts", JSON, nullable=False),
    UniqueConstraint("key", "number", "after"),
    ForeignKeyConstraint(["before", "after"], ["legal_migration_steps.before", "legal_migration_steps.after"]),
    ForeignKeyConstraint(
        ["key", "previous", "before"], ["migration_steps.key", "migration_steps.number", "migration_steps.after"]
    ),
    CheckConstraint(
        "(number = 0 AND previous IS NULL AND before IS NULL AND after = 'PLANNED') "
        "OR (number > 0 AND previous IS NOT NULL AND previous = number - 1 AND before IS NOT NULL)",
        name="chain",
    ),
)

MIGRATIONS = Table(
    "migrations",
    METADATA,
    Column("id", _NUMBER, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("plan", Text, nullable=False),
    Column("container", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("state", _STATE, nullable=False),
    Column("step", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("changed_s", Double, nullable=False),
    Column("facts", JSON, nullable=False),
    ForeignKeyConstraint(
        ["key", "step", "state"], ["migration_steps.key", "migration_steps.number", "migration_steps.after"]
    ),
    Index(None, "state", "changed_s"),
    Index(None, "plan"),
)

KEPT = Table(
    "kept_records",
    METADATA,
    Column("kind", String(64), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("value", JSON, nullable=False),
    Column("fence", BigInteger, nullable=False),
)

JOURNAL = Table(
    "journal",
    METADATA,
    Column("number", _NUMBER, primary_key=True),
    Column("kind", String(64), nullable=False),
    Column("at_s", Double, nullable=False),
    Column("value", JSON, nullable=False),
    Index(None, "kind", "number"),
    Index(None, "at_s"),
    sqlite_autoincrement=True,
)

INPUTS = Table(
    "decision_inputs",
    METADATA,
    Column("id", _NUMBER, primary_key=True),
    Column("life", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("journal", BigInteger, unique=True),
    Column("at_s", Double, nullable=False),
    Column("is_alone", Boolean, nullable=False),
    Column("parts", JSON, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("value", LargeBinary, nullable=False),
    UniqueConstraint("life", "number"),
    Index(None, "at_s"),
)
"""What decisions were made from; `journal` numbers the entry, without a key to it: both are pruned by themselves."""

PARTS = Table(
    "decision_parts",
    METADATA,
    Column("digest", String(64), primary_key=True),
    Column("used_s", Double, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("value", LargeBinary, nullable=False),
)
"""What decisions share, each once; `used_s` is the latest time of a decision that needs it."""
