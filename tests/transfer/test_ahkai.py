"""AI-Houkai's archives are read and written by the same functions."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from nacre import Link, MemoryStore
from nacre.errors import ArchiveRefused
from nacre.model.memory import Json
from nacre.transfer.export import Choice, export_archive
from nacre.transfer.import_archive import import_archive
from nacre.transfer.read_archive import info
from tests.transfer.archives import AHKAI, everything, full, opened, written

META: dict[str, Json] = {
    "type": "procedural",
    "tags": "ferry,port",
    "importance": 0.8,
    "created_at": 1_700_000_000.5,
    "last_accessed": 1_700_000_100.0,
    "access_count": 3,
    "source": "log",
    "links": '[{"to": "b", "rel": "refines"}]',
    "superseded_by": "",
    "superseded_at": 0.0,
    "polarity": 1,
}


@pytest.fixture
def store() -> MemoryStore:
    return opened()


def row(id: str = "a", meta: Json = None, **more: Json) -> dict[str, Json]:
    return {"id": id, "text": "Moor the ferry bow first", "meta": META if meta is None else meta, **more}


def test_its_fields_become_ours(store: MemoryStore, tmp_path: Path) -> None:
    done = import_archive(store, written(tmp_path / "x.ahkai", row(), header=AHKAI))
    assert (done.imported, done.errors) == (1, 0)
    (found,) = everything(store)
    assert (found.id, found.type, found.tags, found.importance) == ("a", "procedural", ("ferry", "port"), 0.8)
    assert (found.created_at, found.last_accessed, found.access_count) == (1_700_000_000.5, 1_700_000_100.0, 3)
    assert (found.source, found.links, found.polarity) == ("log", (Link("b", "refines"),), 1)
    assert (found.superseded_by, found.superseded_at) == ("", None)


def test_what_it_does_not_say_has_its_usual_value(store: MemoryStore, tmp_path: Path) -> None:
    rows = [row("a", {}), row("b", {"links": "broken", "source": None}), {"id": "c", "text": "No meta at all"}]
    assert import_archive(store, written(tmp_path / "x.ahkai", *rows, header=AHKAI)).imported == 3
    for found in everything(store):
        assert (found.type, found.tags, found.links, found.importance) == ("semantic", (), (), 0.5)
        assert abs(found.created_at - store.now()) < 60


def test_lines_that_are_wrong_are_counted_and_not_fatal(store: MemoryStore, tmp_path: Path) -> None:
    rows = [b"{broken\n", row("a", [1]), row("b", {"importance": 7}), row("c", {"tags": 5}), row("d"), b"[]\n"]
    done = import_archive(store, written(tmp_path / "x.ahkai", *rows, header=AHKAI))
    assert (done.imported, done.errors) == (1, 5)
    assert [fault.line for fault in done.faults] == [2, 3, 4, 5, 7]


def test_a_later_version_is_refused(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(ArchiveRefused, match="version 2"):
        import_archive(store, written(tmp_path / "x.ahkai", row(), header={**AHKAI, "version": 2}))


def test_another_model_is_an_error_unless_vectors_are_computed_anew(store: MemoryStore, tmp_path: Path) -> None:
    other: dict[str, object] = {
        **AHKAI,
        "source": {"collection": "old", "embedding_model": "some-other", "embedding_dim": 2, "count": 1},
    }
    path = written(tmp_path / "x.ahkai", row(vector=[0.6, 0.8]), header=other)
    with pytest.raises(ArchiveRefused, match="--regenerate-vectors"):
        import_archive(store, path)
    assert everything(store) == []
    assert import_archive(store, path, regenerate_vectors=True).vectors_regenerated == 1
    bare = written(tmp_path / "y.ahkai", row("bare"), header=other)
    assert import_archive(store, bare).imported == 1  # without vectors there is nothing to mix up


def test_its_vectors_are_taken_over(store: MemoryStore, tmp_path: Path) -> None:
    vector: list[Json] = [0.0] * 384
    vector[5] = 1.0
    done = import_archive(store, written(tmp_path / "x.ahkai", row(vector=vector), header=AHKAI))
    assert done.vectors_regenerated == 0 and store.vectors(["a"])["a"][0].argmax() == 5


@pytest.mark.parametrize("vector", [["x"], "text", [1e400], [10**400], [0.5] * 384, [[1.0] * 384]])
def test_a_vector_that_cannot_be_is_computed_again(store: MemoryStore, tmp_path: Path, vector: Json) -> None:
    line = json.dumps(row(vector=vector)).replace("Infinity", "1e400").encode() + b"\n"
    assert import_archive(store, written(tmp_path / "x.ahkai", line, header=AHKAI)).vectors_regenerated == 1


def test_written_by_name_and_read_by_content(store: MemoryStore, tmp_path: Path) -> None:
    full(store)
    path = tmp_path / "all.ahkai"
    done = export_archive(store, path)
    assert any(".nacre" in note for note in done.notes)
    header, *rows = (json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines())
    assert header["format"] == "ai-houkai/export" and header["source"]["embedding_dim"] == 384
    assert {"id", "text", "meta", "vector"} == set(rows[0]) and len(rows) == 4
    assert all(isinstance(value, str | int | float) for each in rows for value in each["meta"].values())
    renamed = path.rename(tmp_path / "unnamed")
    assert info(renamed).header.form == "ai-houkai/export" and info(renamed).intact


def test_what_both_know_goes_there_and_back(tmp_path: Path) -> None:
    one, two = opened(), opened()
    one.remember("Moor the ferry bow first", tags=["a", "b"], source="log", importance=0.7, polarity=-1)
    one.remember("Tie two springs", links=[Link(everything(one)[0].id, "refines")], on_conflict="ignore")
    one.supersede(*(memory.id for memory in everything(one)))
    export_archive(one, tmp_path / "x.ahkai")
    import_archive(two, tmp_path / "x.ahkai")
    names = ("id", "text", "tags", "source", "importance", "polarity", "created_at", "superseded_by", "superseded_at")
    assert [[getattr(m, n) for n in names] for m in everything(two)] == [
        [getattr(m, n) for n in names] for m in everything(one)
    ]


def test_a_truncated_one_brings_nothing(store: MemoryStore, tmp_path: Path) -> None:
    path = written(tmp_path / "x.ahkai", *(row(f"m{n}") for n in range(50)), header=AHKAI)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ArchiveRefused, match="cut short"):
        import_archive(store, path)
    assert everything(store) == []


def test_a_header_that_promises_more_than_there_is_is_told(store: MemoryStore, tmp_path: Path) -> None:
    source: dict[str, Json] = {"collection": "c", "embedding_model": "hashing-384", "embedding_dim": 384, "count": 9}
    done = import_archive(store, written(tmp_path / "x.ahkai", row(), header={**AHKAI, "source": source}))
    assert any("9 memories" in note for note in done.notes)


def test_without_vectors_it_has_none(store: MemoryStore, tmp_path: Path) -> None:
    store.remember("Moor the ferry bow first")
    export_archive(store, tmp_path / "x.ahkai", Choice(vectors=False))
    assert info(tmp_path / "x.ahkai").vectors == 0
