"""The tables are made once, whoever comes first, and those of a newer version are refused."""

from __future__ import annotations

import os
import threading

import pytest

from nacre.errors import DatabaseRefused
from tests import postgres_server


def test_several_that_open_a_new_database_at_once_make_its_tables_once() -> None:
    import psycopg

    from nacre.storage.postgres import PostgresBackend

    name = f"new_{os.getpid()}"
    postgres_server.database("")
    with psycopg.connect(postgres_server.server(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER {postgres_server.ROLE}")
    with psycopg.connect(postgres_server.address_of(name, "postgres"), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    address, opened = postgres_server.address_of(name, postgres_server.ROLE), list[PostgresBackend]()
    threads = [threading.Thread(target=lambda: opened.append(PostgresBackend(address))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 4
    for each in opened:
        each.close()
    with psycopg.connect(address, autocommit=True) as connection:
        assert connection.execute("SELECT count(*), max(number) FROM nacre.migrations").fetchone() == (1, 1)
        connection.execute("INSERT INTO nacre.migrations(number) VALUES (999)")
    with pytest.raises(DatabaseRefused, match="newer version of nacre"):
        PostgresBackend(address)
