"""What Alembic runs for each command: on the connection that `adapters.storage.schema` hands over, as one transaction.

There is no other way in: a database is brought up to date by fogfold itself, without configuration files.
"""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from fogfold.adapters.storage.tables import METADATA


def _run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=METADATA,
        version_table="schema_version",
        render_as_batch=connection.dialect.name == "sqlite",
        transactional_ddl=True,
        compare_type=True,
    )
    with context.begin_transaction():
        context.run_migrations()


_run(context.config.attributes["connection"])
