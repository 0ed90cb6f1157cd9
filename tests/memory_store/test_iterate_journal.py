"""The journal is walked from its beginning, and leaves the store as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from nacre import MemoryStore
from nacre.engine import history
from nacre.model.journal import to_line
from tests.embedders import WordBag
from tests.prepared_stores import empty_store


@pytest.fixture
def clock() -> Iterator[float]:
    return iter(float(at) for at in range(1_000_000, 2_000_000))


@pytest.fixture(params=["sqlite", pytest.param("in_memory", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Iterator[float]) -> Iterator[MemoryStore]:
    place = empty_store(tmp_path / "s.db") if request.param == "sqlite" else ":memory:"
    with MemoryStore(place, embedder=WordBag(), clock=lambda: next(clock), actor="tester") as opened:
        opened.remember("first ü\u2028 line", id="a")
        opened.edit("a", text="other words", why="because")
        opened.remember_many([{"text": f"text {number}", "id": f"m{number}"} for number in range(5)])
        opened.purge("m0")
        yield opened


def test_every_entry_comes_oldest_first(store: MemoryStore) -> None:
    entries = list(store.iterate_journal())
    named = [(entry.operation.name, entry.memory_id) for entry in entries[:3]]
    assert named == [("remember", "a"), ("edit", "a"), ("remember", "m0")]
    assert (entries[1].operation.why, entries[1].operation.actor) == ("because", "tester")
    assert entries == store.journal(limit=None, newest_first=False)


def test_an_entry_is_a_line_of_json_that_tells_all_of_it(store: MemoryStore) -> None:
    for entry in store.iterate_journal():
        line, done = json.loads(json.dumps(to_line(entry))), entry.operation
        assert (line["act"], line["actor"], line["ts"], line["batch"], line["why"]) == (
            done.name, done.actor, done.at, done.batch, done.why,
        )  # fmt: skip
        assert (line["space"], line["kind"], line["memory_id"]) == (entry.space, entry.kind, entry.memory_id)
        assert (line["before"], line["after"]) == (entry.before, entry.after)


def test_it_is_read_page_by_page(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(store.iterate_journal())
    for size in (1, 3, 8):
        monkeypatch.setattr(history, "PAGE", size)
        assert list(store.iterate_journal()) == whole


def test_what_is_written_meanwhile_is_left_out(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "PAGE", 2)
    count = 0
    for entry in store.iterate_journal():
        store.edit("a", title=f"title {entry.seq}")
        count += 1
    assert count == 8


def test_it_can_be_narrowed(store: MemoryStore) -> None:
    def named(**narrowed: str | float) -> list[tuple[str, str]]:
        return [(entry.operation.name, entry.memory_id) for entry in store.iterate_journal(**narrowed)]  # type: ignore[arg-type]

    assert named(id="a") == [("remember", "a"), ("edit", "a")]
    assert named(operation="purge") == [("purge", "m0")]
    assert named(actor="nobody") == []
    edited = store.journal(operation="edit")[0].operation.at
    assert named(since=edited, until=edited) == [("edit", "a")]
    assert len(named(until=edited)) == 2


def test_a_damaged_entry_is_marked(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as store:
        store.remember("a", id="a")
        store.remember("b", id="b")
        with apsw.Connection(str(tmp_path / "s.db")) as file:
            file.execute("UPDATE journal SET key = 99 WHERE memory_id = 'a'")
        one, other = store.iterate_journal()
        assert (one.memory_id, one.damaged, one.after) == ("a", True, None)
        assert to_line(one)["damaged"]
        assert not other.damaged and "damaged" not in to_line(other)
