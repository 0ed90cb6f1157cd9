"""Uses are counted without waiting for a writer."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from nacre.model import Link, Operation
from nacre.protocols import Change
from tests.samples import SPACE, derived, memory, put, unit

if TYPE_CHECKING:
    from nacre.storage.postgres import PostgresBackend


def test_what_a_writer_holds_is_counted_later(store: PostgresBackend) -> None:
    put(store, memory("a"), memory("b", links=(Link("a"),)))
    before = store.get(SPACE, "a")
    touched = threading.Event()

    def touch() -> None:
        store.touch(SPACE, ["a"], 9.0)
        touched.set()

    def clock() -> float:
        """The writer has sent nothing yet; it takes its rows when it ends."""
        threading.Thread(target=touch).start()
        assert touched.wait(60)
        return 1.0

    store.commit([Change(before, memory("a", "edited"))], None, Operation("write", "tester", 0.0, "b1"), clock)
    store.touch(SPACE, ["b"], 9.0)
    assert [each.access_count for each in store.get_many(SPACE, ["a", "b"])] == [1, 1]
    store.walked(SPACE, store.edges(SPACE))
    assert [edge.walks for edge in store.edges(SPACE)] == [1]


def test_tables_that_have_grown_are_analysed_so_that_plans_fit(store: PostgresBackend, address: str) -> None:
    import psycopg

    put(store, *((memory(f"m{n}"), derived(f"tea own{n}", unit(1, n))) for n in range(60)))
    assert store.get(SPACE, "m1") is not None  # waits for what the thread has to do
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("SET nacre.spaces = '*'")
        filled = [
            partition
            for table in ("memory", "version", "content", "posting")
            for partition, count in connection.execute(f"SELECT tableoid, count(*) FROM nacre.{table} GROUP BY 1")
            if count >= 60
        ]
        sql = "SELECT count(*) FROM pg_stat_user_tables WHERE relid = ANY(%s::oid[]) AND last_analyze IS NOT NULL"
        analysed = connection.execute(sql, [filled]).fetchone()
    assert analysed == (len(filled),) == (4,)
