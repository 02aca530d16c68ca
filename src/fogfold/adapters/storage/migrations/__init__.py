"""The way from one form of the database to the next, as Alembic walks it; run by `adapters.storage.schema`."""
