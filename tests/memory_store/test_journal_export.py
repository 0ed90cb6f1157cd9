"""The journal leaves the store as lines of JSON."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from nacre import AsyncMemoryStore, MemoryStore
from nacre.engine import history
from nacre.errors import StorageError
from nacre.model import JournalExport
from nacre.model.journal import from_line
from nacre.model.memory import Json
from tests.embedders import WordBag


@pytest.fixture
def clock() -> Iterator[float]:
    return iter(float(at) for at in range(1_000_000, 2_000_000))


@pytest.fixture(params=["sqlite", pytest.param("in_memory", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Iterator[float]) -> Iterator[MemoryStore]:
    place = tmp_path / "s.db" if request.param == "sqlite" else ":memory:"
    with MemoryStore(place, embedder=WordBag(), clock=lambda: next(clock), actor="tester") as opened:
        opened.remember("first ü\u2028 line", id="a")
        opened.edit("a", text="other words", why="because")
        opened.remember_many([{"text": f"text {number}", "id": f"m{number}"} for number in range(5)])
        opened.purge("m0")
        yield opened


def lines(text: str) -> list[dict[str, Json]]:
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")] if text else []


def test_every_entry_is_a_line_oldest_first(store: MemoryStore) -> None:
    out = io.StringIO()
    assert store.export_journal(out) == JournalExport(8)
    told = [from_line(line) for line in lines(out.getvalue())]
    assert [(e.operation.name, e.memory_id) for e in told[:3]] == [("remember", "a"), ("edit", "a"), ("remember", "m0")]
    assert (told[1].operation.why, told[1].operation.actor) == ("because", "tester")
    assert told[1].before is not None
    assert told[1].before["text"] == "first ü\u2028 line"
    assert told == [replace(entry, seq=0) for entry in store.journal(limit=None, newest_first=False)]


def test_it_is_read_page_by_page(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, paged = io.StringIO(), io.StringIO()
    store.export_journal(whole)
    for size in (1, 3, 8):
        monkeypatch.setattr(history, "PAGE", size)
        paged.seek(0)
        paged.truncate()
        assert store.export_journal(paged).count == 8
        assert paged.getvalue() == whole.getvalue()


def test_what_is_written_meanwhile_is_left_out(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "PAGE", 2)

    class Busy(io.StringIO):
        def write(self, text: str) -> int:
            store.edit("a", title=f"title {len(self.getvalue())}")
            return super().write(text)

    assert store.export_journal(Busy()).count == 8


def test_it_can_be_narrowed(store: MemoryStore) -> None:
    def told(**narrowed: str | float) -> list[tuple[object, object]]:
        out = io.StringIO()
        count = store.export_journal(out, **narrowed).count  # type: ignore[arg-type]
        found = lines(out.getvalue())
        assert count == len(found)
        return [(line["act"], line["memory_id"]) for line in found]

    assert told(id="a") == [("remember", "a"), ("edit", "a")]
    assert told(operation="purge") == [("purge", "m0")]
    assert told(actor="nobody") == []
    edited = store.journal(operation="edit")[0].operation.at
    assert told(since=edited, until=edited) == [("edit", "a")]
    assert len(told(until=edited)) == 2


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_a_path_gets_the_whole_file_packed_where_its_name_says_so(
    store: MemoryStore, tmp_path: Path, name: str
) -> None:
    out = io.StringIO()
    store.export_journal(out)
    folder = tmp_path / "exports"
    folder.mkdir()
    for place in (folder / name, str(folder / name)):
        assert store.export_journal(place) == JournalExport(8)
    written = (folder / name).read_bytes()
    assert (gzip.decompress(written) if name.endswith("gz") else written) == out.getvalue().encode()
    assert [file.name for file in folder.iterdir()] == [name]


def test_a_fault_leaves_what_stood_there_and_nothing_half_done(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "out.jsonl").write_text("stood here")

    def broken(*_: object, **__: object) -> None:
        raise StorageError("The store broke.")

    with monkeypatch.context() as patched:
        patched.setattr(store._store, "journal", broken)
        with pytest.raises(StorageError, match=r"^The store broke\.$"):
            store.export_journal(folder / "out.jsonl")
    assert [file.name for file in folder.iterdir()] == ["out.jsonl"]
    assert (folder / "out.jsonl").read_text() == "stood here"
    for place in (folder / "none" / "out.jsonl", folder / "out.jsonl" / "deeper.gz", folder):
        with pytest.raises(StorageError, match="choose another place"):
            store.export_journal(place)
    assert [file.name for file in folder.iterdir()] == ["out.jsonl"]


def test_a_damaged_entry_is_marked_and_counted(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as store:
        store.remember("a", id="a")
        store.remember("b", id="b")
        with apsw.Connection(str(tmp_path / "s.db")) as file:
            file.execute("UPDATE journal SET new = 99 WHERE memory_id = 'a'")
        out = io.StringIO()
        assert store.export_journal(out) == JournalExport(2, damaged=1)
        one, other = lines(out.getvalue())
        assert (one["memory_id"], one["damaged"], one["after"]) == ("a", True, None)
        assert "damaged" not in other
        assert from_line(one).damaged


def test_an_empty_journal_makes_an_empty_file(tmp_path: Path) -> None:
    with MemoryStore(":memory:", embedder=WordBag()) as store:
        assert store.export_journal(tmp_path / "out.jsonl") == JournalExport(0)
    assert (tmp_path / "out.jsonl").read_bytes() == b""
    assert AsyncMemoryStore.export_journal.__doc__ == MemoryStore.export_journal.__doc__
