"""A store that the first schema made opens, and all that it told can still be undone and looked back at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import apsw
import pytest

from nacre import MemoryStore
from nacre.model import Edge, JournalFilter, Link, Memory
from nacre.storage.sqlite import SQLiteBackend
from nacre.storage.sqlite import connection as schema
from nacre.storage.sqlite.rows import COLUMNS, to_row
from tests.embedders import WordBag

WRITTEN, LINKED, RELINKED, EDITED = 1000.0, 2000.0, 3000.0, 4000.0
FIRST_LINKS = [{"to": "b", "rel": "related"}]
LAST_LINKS = [{"to": "b", "rel": "refines", "weight": 0.5}, {"to": "nobody", "rel": "related"}]
A = Memory(
    "a", "Anna lives in Rome", tags=("home",), created_at=WRITTEN, updated_at=EDITED, importance=0.9,
    links=(Link("b", "refines", 0.5), Link("nobody")),
)  # fmt: skip
B = Memory("b", "Rome lies in Italy", created_at=WRITTEN, updated_at=WRITTEN)
OLD = Memory(
    "old", "Anna lives in Bonn", created_at=WRITTEN, updated_at=WRITTEN, superseded_by="a", superseded_at=WRITTEN
)

Fields = Mapping[str, object]


def entry(number: int, id: str, act: str, at: float, before: Fields | None, after: Fields | None) -> tuple[object, ...]:
    told = [None if fields is None else json.dumps(fields) for fields in (before, after)]
    return ("default", id, act, "lib", at, f"{number:032}", "", *told)


# As the first release told it: of links the whole list, before and after.
ENTRIES = [
    entry(1, "a", "remember", WRITTEN, None, {"id": "a", "text": A.text, "tags": ["home"], "space": "default",
                                              "created_at": WRITTEN, "updated_at": WRITTEN}),
    entry(2, "b", "remember", WRITTEN, None, B.to_dict()),
    entry(3, "a", "edit", LINKED, {"links": [], "updated_at": WRITTEN}, {"links": FIRST_LINKS, "updated_at": LINKED}),
    entry(4, "a", "edit", RELINKED, {"links": FIRST_LINKS, "updated_at": LINKED},
          {"links": LAST_LINKS, "updated_at": RELINKED}),
    entry(5, "a", "edit", EDITED, {"importance": 0.5, "updated_at": RELINKED},
          {"importance": 0.9, "updated_at": EDITED}),
]  # fmt: skip


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.db"
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.execute(schema.FIRST)
    connection.pragma("application_id", schema.APPLICATION_ID)
    connection.pragma("user_version", 1)
    for row, memory in enumerate((A, B, OLD), 1):
        marks = ", ".join("?" for _ in COLUMNS)
        connection.execute(
            f"INSERT INTO memory({', '.join(COLUMNS)}, generation, row) VALUES ({marks}, 0, ?)", (*to_row(memory), row)
        )
        connection.execute("INSERT INTO word(rowid, text) VALUES (?, ?)", (row, memory.text.lower()))
        connection.executemany("INSERT INTO tag VALUES (?, ?)", [(row, tag) for tag in memory.tags])
        connection.executemany(
            "INSERT INTO link VALUES (?, ?, ?, ?)", [(row, link.to, link.rel, link.weight) for link in memory.links]
        )
    connection.executemany(
        "INSERT INTO journal(space, memory_id, act, actor, at, batch, why, before, after)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        ENTRIES,
    )
    connection.execute("INSERT INTO vocabulary VALUES ('type', 'omen', NULL)")
    connection.close()
    return path


def opened(path: Path) -> MemoryStore:
    return MemoryStore(path, embedder=WordBag())


@pytest.mark.accepts("L1.7", "L9.3")
def test_the_first_schema_is_brought_up_to_the_present_one_and_stays_so(old: Path) -> None:
    for _ in range(2):
        store = SQLiteBackend(old)
        assert store.health().schema == schema.CURRENT
        assert store.get("default", ["a", "b", "old"]) == [A, B, OLD]
        assert store.health(thorough=True).problems == ()
        store.close()


def test_what_the_first_schema_kept_answers_every_new_question(old: Path) -> None:
    store = SQLiteBackend(old)
    assert store.edges("default") == [Edge("a", "b", "refines", 0.5), Edge("a", "nobody", "related")]
    assert store.edges("default", into=["b"], rels=["refines"]) == [Edge("a", "b", "refines", 0.5)]
    assert store.replaced_by("default", "a") == [OLD]
    assert store.terms("type") == {"omen": {}}
    told = store.journal("default", JournalFilter(memory_id="a"))
    assert [(e.seq, e.kind, e.damaged) for e in told] == [(5, "memory", False), (4, "memory", False),
                                                          (3, "memory", False), (1, "memory", False)]  # fmt: skip
    assert store.written_by("default", RELINKED) == 4
    assert store.journal_begins("default") == (0, 0.0)
    store.close()


def test_its_links_are_walked_and_counted_and_tied_anew(old: Path) -> None:
    with opened(old) as store:
        assert [each.memory.id for each in store.neighbors("a")] == ["b"]
        assert store.neighbors("a").dangling == ("nobody",)
        assert [each.memory.id for each in store.neighbors("b", direction="in")] == ["a"]
        assert store.link("a", "b", "mentions").new
        walks = {edge[:3]: edge.walks for edge in store._store.edges("default")}
        assert walks == {("a", "b", "mentions"): 0, ("a", "b", "refines"): 3, ("a", "nobody", "related"): 0}
        store.undo()
        assert store.get("a") == A


def test_its_acts_are_undone_one_by_one(old: Path) -> None:
    with opened(old) as store:
        store.undo()
        assert links(store, "a") == A.links
        store.undo(f"{4:032}")
        assert links(store, "a") == (Link("b"),)
        store.undo()
        assert links(store, "a") == ()
        undone = store.undo(f"{1:032}")
        assert store.get("a") is None
        store.undo(undone[0])
        assert links(store, "a") == ()


def test_its_past_is_looked_at_as_it_was(old: Path) -> None:
    with opened(old) as store:
        assert store.get("a", as_of=WRITTEN - 1) is None
        for at, tied, importance in (
            (WRITTEN, (), 0.5), (LINKED, (Link("b"),), 0.5), (RELINKED, A.links, 0.5), (EDITED, A.links, 0.9)
        ):  # fmt: skip
            then = store.get("a", as_of=at)
            assert then is not None
            assert (then.links, then.importance) == (tied, importance)
        assert [each.memory.id for each in store.neighbors("a", as_of=LINKED)] == ["b"]
        assert store.diff(LINKED, EDITED).changed[0].fields["importance"] == (0.5, 0.9)
        assert [version.id for version in store.history("old").versions] == ["old", "a"]


def test_a_store_of_a_later_schema_is_refused_untouched(old: Path) -> None:
    connection = apsw.Connection(str(old))
    connection.pragma("user_version", schema.CURRENT + 1)
    connection.close()
    with pytest.raises(OSError, match="Upgrade"):
        SQLiteBackend(old)


def links(store: MemoryStore, id: str) -> tuple[Link, ...]:
    found = store.get(id)
    assert found is not None
    return found.links
