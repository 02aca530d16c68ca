"""The first tables: the lease, migrations with their steps and the legal ones, kept records, and the journal.

Beside the tables stand three triggers. The journal and the steps are only added to, and a migration goes one step
forward at a time: with the chain of steps this means that no illegal transition can be written, not even by hand.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")

_LEGAL = (
    ("PLANNED", "RESERVED"),
    ("PLANNED", "UNDONE"),
    ("RESERVED", "MOVING"),
    ("RESERVED", "FAILED"),
    ("RESERVED", "UNDONE"),
    ("MOVING", "VERIFIED"),
    ("MOVING", "FAILED"),
    ("FAILED", "RESERVED"),
    ("FAILED", "UNDONE"),
)
"""The pairs as they were at this revision; a later change of the rules is a later revision."""

_REFUSALS = {
    "journal": ("journal_is_only_added_to", None, "an entry of the journal cannot be changed"),
    "migration_steps": ("steps_are_only_added_to", None, "a step of a migration cannot be changed"),
    "migrations": (
        "migrations_go_step_by_step",
        "NEW.step <> OLD.step + 1 OR NEW.key <> OLD.key",
        "a migration goes one step forward at a time",
    ),
}
"""For each table: name of the trigger, when an update is refused (None: always), and what is said."""


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "leases",
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("holder", sa.Text()),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("until_s", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_leases"),
    )
    legal = op.create_table(
        "legal_migration_steps",
        sa.Column("before", sa.String(16), nullable=False),
        sa.Column("after", sa.String(16), nullable=False),
        sa.PrimaryKeyConstraint("before", "after", name="pk_legal_migration_steps"),
    )
    _create_migrations()
    op.create_table(
        "kept_records",
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "name", name="pk_kept_records"),
    )
    op.create_table(
        "journal",
        sa.Column("number", _NUMBER, nullable=False),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("at_s", sa.Double(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_journal"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_journal_kind_number", "journal", ["kind", "number"])
    op.create_index("ix_journal_at_s", "journal", ["at_s"])
    op.execute("INSERT INTO leases (name, holder, fence, until_s) VALUES ('control', NULL, 0, 0)")
    op.bulk_insert(legal, [{"before": before, "after": after} for before, after in _LEGAL])
    _create_triggers()


def downgrade() -> None:
    """Remove them, with all that is in them."""
    for table in ("journal", "kept_records", "migrations", "migration_steps", "legal_migration_steps", "leases"):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION fogfold_refuse()")


def _create_migrations() -> None:
    op.create_table(
        "migration_steps",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("previous", sa.Integer()),
        sa.Column("before", sa.String(16)),
        sa.Column("after", sa.String(16), nullable=False),
        sa.Column("at_s", sa.Double(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("key", "number", name="pk_migration_steps"),
        sa.UniqueConstraint("key", "number", "after", name="uq_migration_steps_key_number_after"),
        sa.ForeignKeyConstraint(
            ["before", "after"],
            ["legal_migration_steps.before", "legal_migration_steps.after"],
            name="fk_migration_steps_before_after",
        ),
        sa.ForeignKeyConstraint(
            ["key", "previous", "before"],
            ["migration_steps.key", "migration_steps.number", "migration_steps.after"],
            name="fk_migration_steps_key_previous_before",
        ),
        sa.CheckConstraint(
            "(number = 0 AND previous IS NULL AND before IS NULL AND after = 'PLANNED') "
            "OR (number > 0 AND previous IS NOT NULL AND previous = number - 1 AND before IS NOT NULL)",
            name=op.f("ck_migration_steps_chain"),
        ),
    )
    op.create_table(
        "migrations",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("container", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("changed_s", sa.Double(), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_migrations"),
        sa.UniqueConstraint("key", name="uq_migrations_key"),
        sa.ForeignKeyConstraint(
            ["key", "step", "state"],
            ["migration_steps.key", "migration_steps.number", "migration_steps.after"],
            name="fk_migrations_key_step_state",
        ),
    )
    op.create_index("ix_migrations_state_changed_s", "migrations", ["state", "changed_s"])
    op.create_index("ix_migrations_plan", "migrations", ["plan"])


def _create_triggers() -> None:
    sqlite = op.get_bind().dialect.name == "sqlite"
    if not sqlite:
        op.execute(
            "CREATE FUNCTION fogfold_refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'check_violation'; END $$"
        )
    for table, (name, when, what) in _REFUSALS.items():
        condition = "" if when is None else f"WHEN ({when}) "
        act = f"BEGIN SELECT RAISE(ABORT, '{what}'); END" if sqlite else f"EXECUTE FUNCTION fogfold_refuse('{what}')"
        op.execute(f"CREATE TRIGGER {name} BEFORE UPDATE ON {table} FOR EACH ROW {condition}{act}")
