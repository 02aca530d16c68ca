"""What must survive: leases, migrations, kept records and the journal, in SQLite or PostgreSQL.

`sql_store` is the store, `schema` brings a database to the tables it needs, `export` writes the journal out. Nothing is
imported here, so that the rules and the journal's words can be had without a database library.
"""
