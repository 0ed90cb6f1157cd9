"""A connection sees and writes only the spaces that its transaction has chosen."""

from __future__ import annotations

import pytest

from tests import postgres_server
from tests.samples import derived, memory, put, unit


def test_nothing_of_another_space_can_be_read_or_written(address: str) -> None:
    import psycopg
    from psycopg import errors

    from nacre.storage.postgres import PostgresBackend

    store = PostgresBackend(address)
    for space in ("one", "two"):
        put(store, (memory("a", space=space, tags=("x",)), derived("tea", unit(1), tags="x")))
    store.close()
    tables = [
        each for each in postgres_server.CLEARED if each not in ("meta", "vocabulary", "spaces", "link", "journal")
    ]
    with psycopg.connect(address, autocommit=True) as connection:

        def counts(chosen: str, names: str) -> list[int]:
            with connection.transaction():
                connection.execute("SELECT set_config('nacre.spaces', %s, true)", (chosen,))
                connection.execute("SELECT set_config('nacre.names', %s, true)", (names,))
                rows = [connection.execute(f"SELECT count(*) FROM nacre.{table}").fetchone() for table in tables]
                rows.append(connection.execute("SELECT count(*) FROM nacre.spaces").fetchone())
            return [row[0] for row in rows if row]

        every = counts("*", "{}")
        assert all(count > 0 for count in every)
        with connection.transaction():
            connection.execute("SELECT set_config('nacre.names', '{one}', true)")
            row = connection.execute("SELECT space_id FROM nacre.spaces").fetchone()
        assert row is not None
        assert counts("", "") == counts("{}", "{}") == [0] * len(every)
        assert [2 * count for count in counts(f"{{{row[0]}}}", "{one}")] == every
        with pytest.raises(errors.InsufficientPrivilege), connection.transaction():
            connection.execute("SELECT set_config('nacre.spaces', '{-1}', true)")
            connection.execute(
                "INSERT INTO nacre.counter(space_id, field, status, name, n) VALUES (%s, '', '', 'x', 1)", (row[0],)
            )
