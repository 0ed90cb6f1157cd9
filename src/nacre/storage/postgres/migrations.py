"""Makes the tables and brings them up to date, one numbered file after the other, by one process at a time."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors

from nacre.errors import DatabaseRefused

if TYPE_CHECKING:
    from nacre.storage.postgres.connection import Connection

LEAST_SERVER = 15
LEAST_VECTOR = (0, 8)
LOCK = 0x6E61637265  # "nacre": of the advisory lock under which tables are made
# Tables are joined in the order in which a statement names them, row by row through their indexes, and plans are made
# once for all values: what the planner knows of a table says little about one space of many, nothing about a new one.
# Starting further processes for a statement takes longer than any of them.
SETTINGS = "; ".join(f"SET {setting}" for setting in (
    "default_transaction_isolation = 'repeatable read'", "statement_timeout = '120s'", "lock_timeout = '30s'",
    "client_min_messages = warning", "jit = off", "join_collapse_limit = 1", "from_collapse_limit = 1",
    "enable_seqscan = off", "enable_hashjoin = off", "enable_mergejoin = off", "enable_material = off",
    "plan_cache_mode = force_generic_plan", "max_parallel_workers_per_gather = 0",
))  # fmt: skip
# Where the tables and pgvector are, and which migration was the last one, in one row.
KNOWN = (
    "SELECT (SELECT extversion FROM pg_extension WHERE extname = 'vector'),"
    " to_regclass('nacre.migrations') IS NOT NULL,"
    " (SELECT nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector')"
)


def check(connection: Connection, place: str) -> None:
    """Prepares a new connection: settings, the tables of this version. Raises `DatabaseRefused`."""
    version = connection.info.server_version // 10_000
    if version < LEAST_SERVER:
        raise DatabaseRefused(
            place, f"the server is PostgreSQL {version}", f"Upgrade it to PostgreSQL {LEAST_SERVER} or later."
        )
    connection.execute(SETTINGS)
    vector, made, schema = one(connection, KNOWN)
    if vector is None or not made or applied(connection) < newest():
        migrate(connection, place)
        vector, _, schema = one(connection, KNOWN)
    if applied(connection) > newest():
        raise DatabaseRefused(
            place, "its tables are of a newer version of nacre", "Upgrade nacre, or name another database with --store."
        )
    if tuple(map(int, vector.split(".")[:2])) < LEAST_VECTOR:
        raise DatabaseRefused(
            place,
            f"its extension pgvector is {vector}",
            "Upgrade pgvector to 0.8 or later (ALTER EXTENSION vector UPDATE).",
        )
    connection.execute(search_path(schema))


def search_path(schema: str) -> str:
    return 'SET search_path = nacre, pg_catalog, "{}"'.format(schema.replace('"', '""'))


def one(connection: Connection, sql: str) -> Any:
    return connection.execute(sql).fetchone()


def applied(connection: Connection) -> int:
    return int(one(connection, "SELECT coalesce(max(number), 0) FROM nacre.migrations")[0])


def newest() -> int:
    return max(number for number, _ in scripts())


def scripts() -> Iterator[tuple[int, str]]:
    for file in sorted(files(__package__).joinpath("migrations").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".sql"):
            yield int(file.name.removesuffix(".sql")), file.name


def migrate(connection: Connection, place: str) -> None:
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        make_extension(connection, place)
        connection.execute("CREATE SCHEMA IF NOT EXISTS nacre")
        connection.execute(search_path(one(connection, KNOWN)[2]))
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations(number bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())"
        )
        done = applied(connection)
        for number, name in scripts():
            if number > done:
                text = files(__package__).joinpath("migrations", name).read_text(encoding="utf-8")
                connection.execute(text)
                connection.execute("INSERT INTO migrations(number) VALUES (%s)", (number,))


def make_extension(connection: Connection, place: str) -> None:
    try:
        with connection.transaction():
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except errors.InsufficientPrivilege as error:
        raise DatabaseRefused(
            place,
            "this role may not create the extension pgvector",
            "Have an administrator run CREATE EXTENSION vector in it.",
        ) from error
    except (errors.FeatureNotSupported, errors.UndefinedFile) as error:
        raise DatabaseRefused(
            place, "the server does not have the extension pgvector", "Install pgvector 0.8 or later on the server."
        ) from error
    except psycopg.Error:
        raise
