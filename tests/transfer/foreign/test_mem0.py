"""mem0: its history, its Qdrant and Chroma stores (written by its own release), and its API's JSON."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nacre.transfer.foreign import mem0
from nacre.transfer.import_archive import import_path
from nacre.transfer.sources import recognise
from tests.transfer.archives import opened
from tests.transfer.foreign.fixture_files import everything, taken, unpacked

TEXTS = {
    "Invoices are numbered by year and then by customer",
    "Marta drinks tea with lemon and no sugar",
    "The lighthouse tour begins at the southern gate",
}


def test_the_history_gives_the_last_text_of_what_was_not_deleted(tmp_path: Path) -> None:
    path = unpacked("mem0-history.db", tmp_path / "history.db")
    assert recognise(path).name == mem0.NAME
    memories, done = taken(path)
    assert {memory.text for memory in memories} == TEXTS
    assert all(memory.source == "mem0" and memory.role == "user" for memory in memories)
    changed = next(memory for memory in memories if "lighthouse" in memory.text)
    assert changed.updated_at > changed.created_at > 1_700_000_000
    assert any("vector store" in note for note in done.notes)


def test_a_text_that_is_none_costs_only_its_own_memory(tmp_path: Path) -> None:
    path = unpacked("mem0-history.db", tmp_path / "history.db")
    with closing(sqlite3.connect(path)) as database, database:
        [(id,)] = database.execute("SELECT memory_id FROM history WHERE new_memory LIKE '%lemon%'")
        database.execute("UPDATE history SET new_memory = x'00ff' WHERE memory_id = ?", (id,))
    memories, done = taken(path)
    assert len(memories) == len(TEXTS) - 1 and done.errors == 1
    assert id in done.faults[0].why and "no text" in done.faults[0].why


@pytest.mark.parametrize("kind", ["qdrant", "chroma"])
def test_both_vector_stores_give_users_agents_runs_and_metadata(tmp_path: Path, kind: str) -> None:
    if kind == "qdrant":
        path = tmp_path / "qdrant"
        unpacked("mem0-qdrant.sqlite", path / "collection" / "mem0" / "storage.sqlite")
    else:
        path = tmp_path / "chroma"
        unpacked("mem0-chroma.sqlite3", path / "chroma.sqlite3")
    assert recognise(path).name == {"qdrant": mem0.QDRANT, "chroma": "chroma"}[kind]
    memories, done = taken(path)
    by_text = {memory.text: memory for memory in memories}
    assert set(by_text) == TEXTS and done.errors == 0
    tea = by_text["Marta drinks tea with lemon and no sugar"]
    assert tea.contexts == ("marta",) and tea.metadata == {"category": "food"}
    tour = by_text["The lighthouse tour begins at the southern gate"]
    assert tour.session == "trip-7" and tour.updated_at > tour.created_at
    invoices = by_text["Invoices are numbered by year and then by customer"]
    assert invoices.agent == "clerk" and invoices.metadata == {"priority": 2}


def test_a_point_that_is_no_point_is_named_with_the_way_to_export(tmp_path: Path) -> None:
    path = unpacked("mem0-qdrant.sqlite", tmp_path / "storage.sqlite")
    with sqlite3.connect(path) as database:
        database.execute("INSERT INTO points VALUES ('x', ?)", (b"cos\nsystem\n(S'true'\ntR.",))
    database.close()
    memories, done = taken(path)
    assert len(memories) == 3 and done.errors == 1
    assert "get_all" in done.faults[0].why


def test_the_api_export_is_a_list_or_an_object_with_results(tmp_path: Path) -> None:
    entry = {
        "id": "8f0c", "memory": "The pier closes at dusk", "user_id": "oda", "hash": "h", "categories": ["places"],
        "created_at": "2025-02-03T10:00:00Z", "updated_at": "2025-02-04T10:00:00Z", "metadata": {"map": 3},
    }  # fmt: skip
    for content in ([entry], {"results": [entry]}):
        path = tmp_path / "memories.json"
        path.write_text(json.dumps(content))
        assert recognise(path).name == mem0.EXPORT
        [memory], _ = taken(path)
        assert (memory.id, memory.text, memory.tags) == ("8f0c", "The pier closes at dusk", ("places",))
        assert memory.metadata == {"map": 3} and memory.created_at == 1_738_576_800.0
    path.write_text(json.dumps([{**entry, "categories": {"of": 1}}]))
    [memory], done = taken(path)
    assert memory.tags == () and "One was imported without its categories, which cannot be read: 8f0c." in done.notes
    path.write_text(json.dumps([entry, {"id": 7}, "x"]))
    memories, done = taken(path)
    assert len(memories) == 1 and done.errors == 2


def test_memories_of_the_api_without_ids_get_them_from_their_texts(tmp_path: Path) -> None:
    path = tmp_path / "memories.json"
    path.write_text(json.dumps({"results": [{"memory": "Ada likes tea"}, {"memory": "Bob naps"}, {"score": 1}, "x"]}))
    assert recognise(path).name == mem0.EXPORT
    memories, done = taken(path)
    assert sorted(memory.text for memory in memories) == ["Ada likes tea", "Bob naps"]
    assert [fault.why for fault in done.faults] == ["it has no text.", "it is not a memory of mem0."]
    again, _ = taken(path)
    assert sorted(memory.id for memory in again) == sorted(memory.id for memory in memories)


@pytest.mark.parametrize("listed", [True, False])
def test_what_an_answer_says_was_deleted_is_left_out_and_counted(tmp_path: Path, listed: bool) -> None:
    events = ("ADD", "DELETE", "UPDATE", "NONE", "DELETE")
    entries = [{"id": f"m{at}", "memory": f"Text {at}", "event": event} for at, event in enumerate(events)]
    path = tmp_path / "answer.json"
    path.write_text(json.dumps({"results": entries} if listed else entries))
    with opened() as store:
        for _ in range(2):
            done = import_path(store, path)
            assert (done.imported + done.skipped, done.errors) == (2, 0)
            (note,) = done.notes
            assert note == "3 memories were left out, which mem0 deleted or did not change (event DELETE or NONE)."
        assert {memory.id for memory in everything(store)} == {"m0", "m2"}


def test_every_line_of_an_export_is_taken(tmp_path: Path) -> None:
    entries = [{"id": f"m{at}", "memory": f"Text {at}", "user_id": "oda"} for at in range(4)]
    path = tmp_path / "memories.jsonl"
    for values in (entries, [{"results": entries[:2]}, {"results": entries[2:]}], [entries[:2], entries[2:]]):
        path.write_text("".join(f"{json.dumps(value)}\n" for value in values))
        assert recognise(path).name == mem0.EXPORT
        memories, done = taken(path)
        assert ({memory.id for memory in memories}, done.errors) == ({"m0", "m1", "m2", "m3"}, 0)
    path.write_text(f"{json.dumps(entries[0])}\nand so on\n")
    memories, done = taken(path)
    assert [memory.id for memory in memories] == ["m0"] and "the rest is not JSON" in done.faults[0].why
