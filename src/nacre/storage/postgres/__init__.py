"""A store in a PostgreSQL database, which any number of machines share."""

from nacre.storage.postgres.store import PostgresBackend as PostgresBackend
