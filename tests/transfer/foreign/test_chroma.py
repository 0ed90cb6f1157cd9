"""Chroma's folders: what AI-Houkai and Mnemosyne keep in them comes whole, and nothing of them changes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from nacre import Link, MemoryStore
from nacre.errors import ArchiveRefused, InvalidInput, UnknownName
from nacre.transfer.archive import ImportSummary
from nacre.transfer.foreign import chroma
from nacre.transfer.import_archive import import_path
from tests.transfer.archives import opened
from tests.transfer.chroma_folders import Record, fingerprint, folder, houkai

FERRY = "The ferry to the island leaves at nine"


def bring(store: MemoryStore, path: Path, *, dry_run: bool = False, collections: tuple[str, ...] = ()) -> ImportSummary:
    return import_path(store, path, source="chroma", dry_run=dry_run, collections=collections)


def test_a_record_of_ai_houkai_keeps_all_that_it_says(tmp_path: Path) -> None:
    links = json.dumps([{"to": "old", "rel": "supersedes"}, {"to": "third", "rel": "refines"}])
    path = folder(
        tmp_path / "c",
        ai_houkai=[
            houkai("new", FERRY, type="procedural", tags="ferry,isle", importance=0.8, source="chat", links=links,
                   polarity=1, access_count=7),
            houkai("old", "The ferry left at eight", superseded_by="new", superseded_at=1_750_000_050.0),
            houkai("third", "Ferries sail in summer", flag=True, page=4),
        ],
    )  # fmt: skip
    store = opened()
    done = bring(store, path)
    assert (done.imported, done.errors, done.notes) == (3, 0, ())
    new, old, third = (store.get(id) for id in ("new", "old", "third"))
    assert new is not None and old is not None and third is not None
    assert (new.type, new.tags, new.importance, new.source, new.polarity) == (
        "procedural", ("ferry", "isle"), 0.8, "chat", 1,
    )  # fmt: skip
    assert (new.created_at, new.last_accessed, new.access_count) == (1_750_000_000.0, 1_750_000_100.0, 7)
    assert new.links == (Link("old", "supersedes"), Link("third", "refines"))
    assert (old.superseded_by, old.superseded_at) == ("new", 1_750_000_050.0)
    assert third.metadata == {"flag": True, "page": 4}
    assert store.recall("ferry leaves").hits[0].memory.id == "new"


def test_a_record_of_mnemosyne_keeps_its_tier_feeling_and_lineage(tmp_path: Path) -> None:
    meta = {
        "summary": "about the ferry",
        "memory_type": "emotional",
        "status": "long_term",
        "importance_score": 0.7,
        "created_at": "2025-05-01T10:00:00",
        "last_accessed": "2025-05-02T10:00:00",
        "access_count": 5,
        "tags": '["ferry"]',
        "metadata_json": '{"room": "quay"}',
        "emotional_context": '{"valence": -0.5, "arousal": 0.25, "quadrant": "frustrated"}',
        "source_memory_ids": '["first", "second"]',
        "related_memory_ids": ["other"],
    }
    plain = {"summary": "The bus", "memory_type": "semantic", "status": "short_term", "tags": "[]",
             "emotional_context": "null", "metadata_json": "{}", "created_at": "2025-05-01T10:00:00"}  # fmt: skip
    path = folder(
        tmp_path / "m",
        short_term_memory=[Record("s", "The bus is late", plain), Record("l", "left behind by a crash", plain)],
        long_term_memory=[Record("l", FERRY, meta)],
    )
    store = opened()
    done = bring(store, path)
    assert (done.imported, done.errors) == (2, 1)
    assert done.faults[0].why == "l: its id appeared before in this file, with another content; give each its own."
    long, short = store.get("l"), store.get("s")
    assert long is not None and short is not None
    assert (long.text, long.title, long.type, long.status) == (FERRY, "about the ferry", "emotional", "long_term")
    assert (long.importance, long.access_count, long.tags) == (0.7, 5, ("ferry",))
    assert (long.valence, long.arousal, dict(long.metadata)) == (
        -0.5, 0.25, {"room": "quay", "mnemosyne": {"quadrant": "frustrated"}},
    )  # fmt: skip
    assert long.created_at == datetime(2025, 5, 1, 10).timestamp()
    assert long.last_accessed == datetime(2025, 5, 2, 10).timestamp()
    assert long.links == (Link("first", "derived_from"), Link("second", "derived_from"), Link("other", "related"))
    assert (short.title, short.status, short.valence) == ("", "short_term", None)
    assert short.metadata == {"mnemosyne": {"summary": "The bus"}}


def test_a_file_of_an_older_version_without_truth_values_and_lists_is_read(tmp_path: Path) -> None:
    path = folder(tmp_path / "c", ai_houkai=[houkai("a", FERRY)])
    with closing(sqlite3.connect(path / "chroma.sqlite3")) as database, database:
        database.execute("ALTER TABLE embedding_metadata DROP COLUMN bool_value")
        database.execute("DROP TABLE embedding_metadata_array")
    assert bring(opened(), path).imported == 1


def test_nothing_of_the_source_changes(tmp_path: Path) -> None:
    path = folder(tmp_path / "c", ai_houkai=[houkai("a", FERRY)])
    before = fingerprint(path)
    store = opened()
    bring(store, path, dry_run=True)
    bring(store, path)
    assert fingerprint(path) == before


def test_what_a_writer_left_unfinished_beside_the_file_is_read_and_left_there(tmp_path: Path) -> None:
    path = folder(tmp_path / "c", ai_houkai=[houkai("a", FERRY)])
    with closing(sqlite3.connect(path / "chroma.sqlite3", isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("UPDATE embedding_metadata SET string_value = 'The bus' WHERE key = 'chroma:document'")
        assert (path / "chroma.sqlite3-wal").stat().st_size
        before = fingerprint(path)
        store = opened()
        bring(store, path)
        assert fingerprint(path) == before
    result = store.get("a")
    assert result is not None and result.text == "The bus"


def test_nothing_appears_beside_a_file_while_it_is_read(tmp_path: Path) -> None:
    path = folder(tmp_path / "c", ai_houkai=[houkai("a", FERRY)])
    with closing(sqlite3.connect(path / "chroma.sqlite3")) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
    before = fingerprint(path)
    with chroma.opened(path) as source:
        assert len(list(source.rows())) == 1
        assert fingerprint(path) == before


def test_a_second_import_brings_nothing_twice_and_undo_takes_it_back(tmp_path: Path) -> None:
    path = folder(tmp_path / "c", ai_houkai=[houkai("a", FERRY), houkai("b", "The bus")])
    store = opened()
    would = bring(store, path, dry_run=True)
    assert (would.imported, store.count()) == (2, 0)
    first = bring(store, path)
    again = bring(store, path)
    assert (first.imported, again.imported, again.skipped, again.batch) == (2, 0, 2, "")
    store.undo(first.batch)
    assert store.count() == 0


def test_rows_that_cannot_be_kept_are_counted_and_named_and_the_rest_comes(tmp_path: Path) -> None:
    path = folder(
        tmp_path / "c",
        ai_houkai=[
            houkai("good", FERRY),
            houkai("wordless", None),
            houkai("heavy", "Too important", importance=7.0),
            houkai("garbled", b"\xff\xfe bytes"),
            houkai("torn", "Its ties are torn", links="[{"),
            houkai("knot", "It is tied to itself", links='[{"to": "knot", "rel": "related"}]'),
            houkai("odd", "Of a type that nobody knows", type="leaflet"),
        ],
    )
    store = opened()
    done = bring(store, path)
    assert (done.imported, done.errors) == (4, 3)
    assert [fault.why.partition(":")[0] for fault in done.faults] == ["wordless", "heavy", "garbled"]
    assert done.notes == ("2 were imported without their links, which cannot be read: torn, knot.",)
    odd = store.get("odd")
    assert odd is not None and (odd.type, odd.metadata) == ("semantic", {"type": "leaflet"})


def test_counts_and_feelings_that_went_through_floats_are_kept(tmp_path: Path) -> None:
    felt = {"memory_type": "semantic", "access_count": 4.0, "emotional_context": '{"valence": 1.5, "arousal": -3}'}
    store = opened()
    bring(store, folder(tmp_path / "m", short_term_memory=[Record("a", FERRY, felt)]))
    bring(store, folder(tmp_path / "c", ai_houkai=[houkai("b", "The bus is late", access_count=2.0)]))
    first, second = store.get("a"), store.get("b")
    assert first is not None and (first.access_count, first.valence, first.arousal) == (4, 1.0, -1.0)
    assert second is not None and second.access_count == 2


def test_a_key_of_the_programs_own_that_is_called_mnemosyne_is_kept(tmp_path: Path) -> None:
    meta = {"memory_type": "semantic", "metadata_json": '{"mnemosyne": "v1"}'}
    store = opened()
    bring(store, folder(tmp_path / "m", short_term_memory=[Record("heron", "The heron nests", meta)]))
    memory = store.get("heron")
    assert memory is not None and memory.metadata == {"mnemosyne": {"given": "v1"}}


def test_torn_notes_of_mnemosyne_cost_no_memory(tmp_path: Path) -> None:
    torn = {"memory_type": "semantic", "tags": "[", "metadata_json": "{", "emotional_context": "{",
            "created_at": "soon", "source_memory_ids": "7"}  # fmt: skip
    store = opened()
    done = bring(store, folder(tmp_path / "m", short_term_memory=[Record("a", FERRY, torn)]))
    assert (done.imported, done.errors) == (1, 0)
    result = " ".join(done.notes)
    assert all(what in result for what in ("tags", "metadata", "emotional context", "times", "links"))


def test_collections_of_several_agents_are_not_mixed(tmp_path: Path) -> None:
    path = folder(tmp_path / "c", alice=[houkai("a", FERRY)], bob=[houkai("b", "The bus")])
    with pytest.raises(InvalidInput, match=r"alice, bob.*--collection"):
        bring(opened(), path)
    store = opened()
    done = bring(store, path, collections=("bob",))
    assert (done.imported, done.notes) == (1, ("Other collections were left out: alice.",))
    with pytest.raises(UnknownName, match="carol"):
        bring(store, path, collections=("carol",))


def test_a_folder_that_is_none_of_chromas_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ArchiveRefused, match=r"no chroma\.sqlite3 in it"):
        bring(opened(), tmp_path / "empty")
    (tmp_path / "empty" / "chroma.sqlite3").write_bytes(b"no database at all" * 100)
    with pytest.raises(ArchiveRefused, match="not a SQLite database"):
        bring(opened(), tmp_path / "empty")
    (tmp_path / "empty" / "chroma.sqlite3").unlink()
    sqlite3.connect(tmp_path / "empty" / "chroma.sqlite3").close()
    with pytest.raises(ArchiveRefused, match="'collections' is missing"):
        bring(opened(), tmp_path / "empty")


def test_a_collection_without_its_table_of_records_is_told(tmp_path: Path) -> None:
    path = folder(tmp_path / "c", ai_houkai=[houkai("a", FERRY)])
    with closing(sqlite3.connect(path / "chroma.sqlite3")) as database, database:
        database.execute("DELETE FROM segments")
    done = bring(opened(), path)
    assert (done.imported, done.notes) == (
        0,
        ("The collection 'ai_houkai' is incomplete and has no records.",),
    )


@pytest.mark.slow
def test_of_a_damaged_file_what_can_be_read_comes(tmp_path: Path) -> None:
    many = [houkai(f"m{number}", f"buoy number {number} " + "rings in the fog " * 20) for number in range(400)]
    path = folder(tmp_path / "c", ai_houkai=many)
    file = path / "chroma.sqlite3"
    full = file.read_bytes()
    file.write_bytes(full[: len(full) * 2 // 3] + bytes(len(full) - len(full) * 2 // 3))
    done = bring(opened(), path)
    assert 0 < done.imported < len(many) and done.errors
    assert any("cannot be read" in fault.why for fault in done.faults)
