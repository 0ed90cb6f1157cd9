"""Connections that are refused, lost, or inherited by a forked child; and what is never done twice."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from nacre import MemoryStore
from nacre.errors import ConfigError, DatabaseRefused, MissingExtra, StorageError
from nacre.factory import open_backend, store_name
from nacre.model import Operation
from nacre.protocols import ALL, Change, Committed, JournalDropped, Search
from nacre.settings import Settings
from tests import postgres_server
from tests.command_line import CommandLine
from tests.samples import SPACE, derived, ids, listed, memory, put, unit

if TYPE_CHECKING:
    from nacre.storage.postgres import PostgresBackend

OPERATION = Operation("write", "tester", 0.0, "b1")
SENT_AHEAD = 64  # memories: the driver may be missing, and with it the module that names it
WORD = "".join(("open", "sesame"))  # of an address


def terminate_all() -> None:
    """Ends every connection of the tests' role, as a restart of the server would."""
    import psycopg

    with psycopg.connect(postgres_server.address_of("postgres", "postgres"), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = %s AND datname = %s",
            (postgres_server.ROLE, postgres_server.database("").partition("?")[0].rpartition("/")[2]),
        )


@pytest.mark.parametrize(
    ("address", "reason", "remedy"),
    [
        ("postgresql://{user}@/nowhere?host={host}", 'database "nowhere" does not exist', "createdb"),
        ("postgresql://nobody@/postgres?host={host}", 'role "nobody" does not exist', "Check"),
        (f"postgresql://u:{WORD}@127.0.0.1:1/x?connect_timeout=2", "refused", "Check that the server runs"),
        ("postgresql://u@h/d?surprise=1", "surprise", "Write it as"),
    ],
)
def test_a_database_that_cannot_be_used_is_refused_in_one_sentence_with_the_remedy(
    address: str, reason: str, remedy: str
) -> None:
    postgres_server.database("")  # makes the role
    host = postgres_server.server().rpartition("host=")[2]
    with pytest.raises(DatabaseRefused) as refused:
        open_backend(address.format(user=postgres_server.ROLE, host=host))
    said = str(refused.value)
    assert reason in said and remedy in said and WORD not in said and "\n" not in said


def test_the_extension_and_its_rights_are_named_where_they_are_missing() -> None:
    import psycopg

    postgres_server.database("")  # makes the role
    with psycopg.connect(postgres_server.server(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE bare_{os.getpid()} OWNER {postgres_server.ROLE}")
    with pytest.raises(DatabaseRefused, match="run CREATE EXTENSION vector"):
        open_backend(postgres_server.address_of(f"bare_{os.getpid()}", postgres_server.ROLE))


def test_a_role_without_rights_on_the_tables_is_told_to_ask_for_them(address: str) -> None:
    import psycopg

    with psycopg.connect(postgres_server.server(), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE outsider_{os.getpid()} LOGIN")
    name = address.partition("?")[0].rpartition("/")[2]
    with pytest.raises(DatabaseRefused, match="grant this role the rights"):
        open_backend(postgres_server.address_of(name, f"outsider_{os.getpid()}"))


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    for name in [each for each in __import__("sys").modules if each.startswith("nacre.storage.postgres")]:
        monkeypatch.delitem(__import__("sys").modules, name)
    with pytest.raises(MissingExtra, match=r"\[postgres\]"):
        open_backend("postgresql://u@h/d")


def test_a_key_is_for_files_only_and_a_password_is_never_shown() -> None:
    with pytest.raises(ConfigError, match="Leave `key` empty"):
        open_backend("postgresql://u@h/d", Settings(key="env:SOMETHING"))
    assert store_name(f"postgresql://u:{WORD}@h/d") == "postgresql://u@h/d"


def test_the_command_line_works_on_a_database(nacre: CommandLine, address: str) -> None:
    nacre.ok("--store", address, "remember", "The ferry leaves at noon", "--id", "ferry")
    assert "ferry leaves" in nacre.ok("--store", address, "recall", "when does the ferry leave")
    assert "ok" in nacre.ok("--store", address, "doctor")
    assert nacre("--store", address, "backup", "list").exit_code == 2
    with MemoryStore(address, embedder="hashing") as store:
        assert store.in_space(next(iter(store.spaces()))).recall("ferry")


def test_a_lost_connection_is_replaced_by_a_new_one(store: PostgresBackend) -> None:
    put(store, memory("a"))
    terminate_all()
    assert ids(listed(store, SPACE)) == ["a"]
    terminate_all()
    put(store, memory("b"))
    assert sorted(ids(listed(store, SPACE))) == ["a", "b"]


class LosingClock:
    """Ends all connections when it is asked for the first time, which is before a commit."""

    asked = 0

    def __call__(self) -> float:
        self.asked += 1
        if self.asked == 1:
            terminate_all()
        return 5.0


def test_a_commit_whose_connection_is_lost_before_it_ends_is_done_once(store: PostgresBackend) -> None:
    clock = LosingClock()
    result = store.commit([Change(None, memory("a"), derived("word", unit(1)))], None, OPERATION, clock)
    assert isinstance(result, Committed) and clock.asked == 2
    assert [(entry.seq, entry.memory_id) for entry in store.journal(SPACE)] == [(1, "a")]


def many(count: int = 3 * SENT_AHEAD, **fields: str) -> list[Change]:
    """More new memories than the server is sent at once."""
    return [Change(None, memory(f"m{n}", **fields), derived(f"tea own{n}", unit(1, n))) for n in range(count)]


def test_a_commit_that_loses_its_connection_after_it_has_sent_rows_is_done_once(store: PostgresBackend) -> None:
    clock = LosingClock()
    changes = many()
    assert isinstance(store.commit(changes, None, OPERATION, clock), Committed) and clock.asked == 2
    assert [entry.seq for entry in store.journal(SPACE, limit=None)] == list(range(len(changes), 0, -1))
    assert store.count(SPACE, ALL) == len(changes) and store.health(thorough=True).problems == ()


def test_what_was_sent_is_taken_back_where_the_operation_fails(store: PostgresBackend) -> None:
    def clock() -> float:
        raise OSError

    with pytest.raises(OSError):
        store.commit(many(), None, OPERATION, clock)
    assert store.journal(SPACE) == [] and listed(store, SPACE) == []
    before = connections()
    assert isinstance(store.commit(many(), None, OPERATION), Committed) and connections() == before
    assert store.count(SPACE, ALL) == 3 * SENT_AHEAD
    dropped = store.commit([JournalDropped(SPACE, SENT_AHEAD)])  # a connection that still waited could not count them
    assert isinstance(dropped, Committed) and dropped.dropped == SENT_AHEAD


def test_rows_that_the_server_refuses_fail_the_operation_also_where_it_has_gone_on(store: PostgresBackend) -> None:
    refused = Change(None, memory("refused", text="half a \0 text"))
    with pytest.raises(StorageError, match="nothing was changed"):
        store.commit([refused, *many()], None, OPERATION)
    assert store.journal(SPACE) == [] and listed(store, SPACE) == []
    assert isinstance(store.commit(many(), None, OPERATION), Committed)


@pytest.mark.parametrize("stored", [True, False])
def test_a_commit_whose_outcome_is_not_known_is_looked_up_and_never_done_twice(
    store: PostgresBackend, monkeypatch: pytest.MonkeyPatch, stored: bool
) -> None:
    """The connection breaks after the server has committed, or before it could."""
    import psycopg

    from nacre.storage.postgres.transaction import PostgresTransaction

    flush, lost = PostgresTransaction.flush, list[int]()

    def flush_and_lose(transaction: PostgresTransaction, *last: str) -> None:
        if last and not lost:
            lost.append(1)
            if stored:
                flush(transaction, *last)
            else:
                terminate_all()
            raise psycopg.OperationalError("the connection is lost")
        flush(transaction, *last)

    monkeypatch.setattr(PostgresTransaction, "flush", flush_and_lose)
    result = store.commit([Change(None, memory("a"))], None, OPERATION, lambda: 5.0)
    assert isinstance(result, Committed) and lost
    assert [entry.seq for entry in store.journal(SPACE)] == [entry.seq for entry in result.entries] == [1]


def test_a_forked_child_has_connections_of_its_own(store: PostgresBackend) -> None:
    put(store, memory("a"))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            put(store, memory("b"))
            code = int(sorted(ids(listed(store, SPACE))) != ["a", "b"])
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    put(store, memory("c"))
    assert sorted(ids(listed(store, SPACE))) == ["a", "b", "c"]


def test_writers_of_two_spaces_do_not_wait_for_each_other(store: PostgresBackend) -> None:
    inside, done = threading.Event(), threading.Event()

    def clock() -> float:
        inside.set()
        assert done.wait(60)
        return 1.0

    def slowly() -> None:
        store.commit([Change(None, memory("a", space="one"))], None, OPERATION, clock)

    writer = threading.Thread(target=slowly)
    writer.start()
    assert inside.wait(60)
    put(store, memory("b", space="two"))
    assert store.get("two", "b") is not None and store.get("one", "a") is None
    done.set()
    writer.join()
    assert store.get("one", "a") is not None


def test_many_threads_share_the_connections(store: PostgresBackend) -> None:
    put(store, memory("a"))
    results: list[object] = []
    threads = [threading.Thread(target=lambda: results.append(store.get(SPACE, "a"))) for _ in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 60 and None not in results


def connections() -> set[int]:
    """The server's processes for the stores of this database."""
    import psycopg

    with psycopg.connect(postgres_server.address_of("postgres", "postgres"), autocommit=True) as connection:
        rows = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'nacre' AND datname = %s",
            (postgres_server.database("").partition("?")[0].rpartition("/")[2],),
        ).fetchall()
    return {pid for (pid,) in rows}


def test_whatever_is_read_or_written_one_connection_is_used_again_and_again(store: PostgresBackend) -> None:
    put(store, (memory("a", tags=("x",)), derived("tea", unit(1))))
    opened = connections()
    uses: list[Callable[[], object]] = [
        lambda: store.get(SPACE, "a"), lambda: listed(store, SPACE), lambda: store.count(SPACE, ALL), store.spaces,
        lambda: store.tally(SPACE, "tags", ALL), lambda: store.journal(SPACE), lambda: store.terms("type"),
        lambda: store.gather(SPACE, Search(("tea",), unit(1))), lambda: store.edges(SPACE), store.health,
        lambda: store.pending(3), lambda: store.vectors_for([b"x"]), lambda: store.changes_since(SPACE, 0),
        lambda: store.at(SPACE, 0).count(SPACE, ALL), lambda: put(store, memory("b")), store.embedder,
    ]  # fmt: skip
    for number, use in enumerate(uses):
        use()
        assert connections() == opened, number
    assert len(opened) == 1
