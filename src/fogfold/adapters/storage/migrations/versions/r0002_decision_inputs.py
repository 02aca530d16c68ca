"""What decisions were made from: a row for each, and what many of them share once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "decision_inputs",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("life", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("journal", sa.BigInteger()),
        sa.Column("at_s", sa.Double(), nullable=False),
        sa.Column("is_alone", sa.Boolean(), nullable=False),
        sa.Column("parts", sa.JSON(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_decision_inputs"),
        sa.UniqueConstraint("journal", name="uq_decision_inputs_journal"),
        sa.UniqueConstraint("life", "number", name="uq_decision_inputs_life_number"),
    )
    op.create_index("ix_decision_inputs_at_s", "decision_inputs", ["at_s"])
    op.create_table(
        "decision_parts",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("used_s", sa.Double(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_decision_parts"),
    )


def downgrade() -> None:
    """Remove them: decisions can no longer be made again."""
    op.drop_table("decision_parts")
    op.drop_table("decision_inputs")
