"""A copy by the tools of the server, as the guide for operators says: made and restored by the owner, nothing lost."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.storage.postgres import PostgresBackend
from tests import postgres_server

EVERY_SPACE = {"PGOPTIONS": "-c nacre.spaces=*"}


def tool(name: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [str(postgres_server.programs() / name), *words]
    return subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)


@pytest.fixture
def filled(address: str) -> str:
    if postgres_server.GIVEN:
        pytest.skip("The tools of the server that was named are not known.")
    with MemoryStore(address, embedder="hashing", on_conflict="ignore") as store:
        store.remember("The lamp is green", tags=["lamp"])
        store.in_space("other").remember("A line elsewhere")
    return address


def test_the_owner_copies_and_restores_every_space(filled: str, tmp_path: Path) -> None:
    import psycopg

    dump = str(tmp_path / "nacre.dump")
    made = tool("pg_dump", "--enable-row-security", "--format=custom", f"--file={dump}", filled, **EVERY_SPACE)
    assert (made.returncode, made.stderr) == (0, "")
    name = f"nacre_{os.getpid()}_restored"
    with psycopg.connect(postgres_server.server(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name}")
        connection.execute(f"CREATE DATABASE {name} OWNER {postgres_server.ROLE}")
    with psycopg.connect(postgres_server.address_of(name, "postgres"), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    there = postgres_server.address_of(name, postgres_server.ROLE)
    restored = tool("pg_restore", "--no-comments", f"--dbname={there}", dump)
    assert (restored.returncode, restored.stderr) == (0, "")
    with MemoryStore(there, embedder="hashing") as store:
        assert [memory.text for memory in store.list_recent()] == ["The lamp is green"]
        assert [hit.memory.text for hit in store.in_space("other").recall("line elsewhere")] == ["A line elsewhere"]
        store.undo()
    with psycopg.connect(postgres_server.server(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_no_copy_is_made_of_nothing(filled: str, tmp_path: Path) -> None:
    """Row-level security hides every row of a session that chose no space."""
    made = tool("pg_dump", "--enable-row-security", f"--file={tmp_path / 'nacre.dump'}", filled)
    assert made.returncode != 0 and "nacre.spaces=*" in made.stderr


def test_a_new_connection_that_chose_nothing_is_told(filled: str) -> None:
    import psycopg

    with psycopg.connect(filled) as connection, pytest.raises(psycopg.errors.RaiseException, match="no space"):
        connection.execute("SELECT count(*) FROM nacre.memory")
    PostgresBackend(filled).close()
