"""The memory server's graph: each observation is a memory, and relations tie what they are about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nacre import Memory, MemoryStore
from nacre.errors import ArchiveRefused, UnknownName
from nacre.recall.pack import pack
from nacre.transfer.import_archive import import_path
from tests.transfer.archives import opened
from tests.transfer.chroma_folders import fingerprint


def entity(name: str, kind: str, *observations: object) -> dict[str, object]:
    return {"type": "entity", "name": name, "entityType": kind, "observations": list(observations)}


def relation(start: str, rel: str, end: str) -> dict[str, object]:
    return {"type": "relation", "from": start, "to": end, "relationType": rel}


def written(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows) + "\n", "utf-8")
    return path


GRAPH = (
    entity("Marta", "Person", "Drinks tea with lemon", "Works at night"),
    entity("Old Mill", "place"),
    relation("Marta", "lives_in", "Old Mill"),
)


def by_text(store: MemoryStore) -> dict[str, Memory]:
    return {memory.text: memory for memory in store.iterate()}


def test_observations_entities_and_relations_come(tmp_path: Path) -> None:
    file = written(tmp_path / "memory.jsonl", *GRAPH)
    store = opened()
    done = import_path(store, file, source="server-memory")
    assert (done.imported, done.errors) == (3, 0)
    result = by_text(store)
    tea, mill = result["Marta: Drinks tea with lemon"], result["Old Mill (place)"]
    assert (tea.title, tea.entities, tea.tags) == ("", ("Marta",), ("person",))
    assert tea.created_at == file.stat().st_mtime
    assert (mill.title, mill.entities) == ("", ("Old Mill",))
    assert [(link.to, link.rel) for link in tea.links] == [(mill.id, "lives_in")]
    assert result["Marta: Works at night"].links == ()
    assert store.recall("what does Marta drink").hits[0].memory.id == tea.id


def test_what_a_model_reads_names_whom_a_fact_is_about_once(tmp_path: Path) -> None:
    file = written(tmp_path / "memory.jsonl", entity("Ada", "person", "Lives in Leeds", "Ada keeps two cats"))
    store = opened()
    import_path(store, file, source="server-memory")
    assert "Ada: Lives in Leeds" in pack(store.recall("where does Ada live?"), 200, fence=False).text
    assert "Ada keeps two cats" in by_text(store)


def test_a_later_reading_brings_what_is_new_alone(tmp_path: Path) -> None:
    file = written(tmp_path / "memory.jsonl", *GRAPH)
    store = opened()
    import_path(store, file, source="server-memory")
    grown = entity("Marta", "Person", "Drinks tea with lemon", "Works at night", "Has a bicycle")
    written(file, grown, *GRAPH[1:])
    before = fingerprint(file)
    again = import_path(store, file, source="server-memory")
    assert (again.imported, again.skipped) == (1, 3)
    assert fingerprint(file) == before
    store.undo(again.batch)
    assert store.count() == 3


def test_lines_that_cannot_be_kept_are_counted_and_the_rest_comes(tmp_path: Path) -> None:
    file = written(
        tmp_path / "memory.jsonl",
        *GRAPH,
        "{torn",
        {"type": "colour"},
        "",
        relation("Marta", "knows", "Nobody"),
        relation("Marta", "knows", "Marta"),
        entity("Marta", "Person", "Works at night"),
        entity("Piet", "Person", 7, "Keeps bees"),
        relation("Piet", "supersedes", "Marta"),
    )
    store = opened()
    done = import_path(store, file, source="server-memory")
    assert done.imported == 4
    assert [fault.line for fault in done.faults] == [4, 5, 7, 8, 10]
    bees, tea = by_text(store)["Piet: Keeps bees"], by_text(store)["Marta: Drinks tea with lemon"]
    assert bees.entities == ("Piet",)
    assert [(link.to, link.rel) for link in bees.links] == [(tea.id, "replaces")], "no memory takes another's place"


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArchiveRefused, match="no entities or relations"):
        import_path(opened(), written(tmp_path / "a.jsonl", {"type": "message"}), source="server-memory")
    with pytest.raises(ArchiveRefused, match="no such file"):
        import_path(opened(), tmp_path / "nowhere.jsonl", source="server-memory")


def test_a_source_that_nobody_knows_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="server-memory"):
        import_path(opened(), tmp_path, source="diary")
