"""How many statements an operation needs: each is a step of its own to a file, and a way to a server and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from nacre import Link, MemoryStore
from nacre.settings import Settings
from nacre.storage.sqlite import search
from tests.recall.factories import found

Counted = Callable[[Callable[[], object]], list[str]]
SUBJECTS = ("crane", "quay", "gull", "anchor", "harbour", "winter")


@pytest.fixture
def counted() -> Iterator[Counted]:
    """The statements meanwhile, the repeats of an `executemany` as one."""
    statements: list[str] = []

    def note(_cursor: object, sql: str, _bindings: object) -> bool:
        if not statements or statements[-1] != sql:
            statements.append(sql)
        return True

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = note

    def during(call: Callable[[], object]) -> list[str]:
        statements.clear()
        call()
        return list(statements)

    apsw.connection_hooks.append(watch)
    yield during
    apsw.connection_hooks.remove(watch)


@pytest.fixture
def store(counted: Counted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryStore]:  # noqa: ARG001
    """With sign bits, as a large space has them, and used before: what a process reads once is read."""
    monkeypatch.setattr(search, "SMALL", 64)
    with MemoryStore(tmp_path / "s.db", settings=Settings(embedder="hashing")) as opened:
        opened.remember_many([told(number) for number in range(200)])
        opened.recall("where does the crane stand")
        opened.remember(told(900))
        yield opened


def told(number: int) -> str:
    one, other = SUBJECTS[number % 6], SUBJECTS[number * 7 % 5]
    return f"The {one} of pier {number} is near the {other} of row {number % 13}"


def test_a_recall_needs_few_statements(store: MemoryStore, counted: Counted) -> None:
    for _ in range(2):
        statements = counted(lambda: found(store, "which anchor is near the gull of row 7"))
        assert len(statements) <= 8, statements
        store.remember(told(902))


def test_a_remember_needs_few_statements(store: MemoryStore, counted: Counted) -> None:
    store.recall("where does the crane stand")
    statements = counted(lambda: store.remember("Marta sings in the choir of Lisbon on Tuesdays"))
    assert len(statements) <= 12, statements
    with_conflict = counted(lambda: store.remember(told(901)))
    assert len(with_conflict) <= 12, with_conflict


def test_a_recall_that_reaches_linked_memories_needs_no_more_statements(store: MemoryStore, counted: Counted) -> None:
    noted = store.remember(told(903), links=[Link(store.list_recent(1)[0].id, "conflicts", data={"kind": "update"})])
    store.supersede(store.list_recent(1, offset=7)[0].id, noted.id)
    statements = counted(lambda: found(store, told(903)))
    assert len(statements) <= 8, statements


def test_a_turn_needs_one_read_for_its_position(store: MemoryStore, counted: Counted) -> None:
    store.remember(told(904), session="yard", role="user")
    given = counted(lambda: store.remember(told(905), session="yard", role="user", position=7))
    counting = counted(lambda: store.remember(told(906), session="yard", role="user"))
    assert len(counting) <= len(given) + 2, counting  # the number of the space, and the last position in the session
    assert sum("position DESC" in statement for statement in counting) == 1, counting


def test_many_memories_at_once_need_few_statements(store: MemoryStore, counted: Counted) -> None:
    statements = counted(lambda: store.remember_many([told(1_000 + number) for number in range(256)]))
    assert len(statements) <= 16, statements
