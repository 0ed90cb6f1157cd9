"""Lists, journals and narrow filters are answered by an index, so that they cost the same in a large store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from nacre.model import Filter, JournalFilter
from nacre.protocols import ALL, Reader, Search
from nacre.storage.sqlite import SQLiteBackend
from tests.samples import SPACE, derived, memory, unit, written

LIVE = Filter.live(1e9)
INDEXES = {
    "newest": "version_created", "oldest": "version_created", "importance": "version_importance",
    "confidence": "version_confidence", "updated": "version_updated", "accessed": "memory_accessed",
}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteBackend]:
    opened = SQLiteBackend(tmp_path / "s.db")
    for i in range(5):
        written(opened, (memory(f"m{i}", tags=("rare",) if i == 2 else ()), derived("tea", unit(1, i))))
    yield opened
    opened.close()


def plans(store: SQLiteBackend, ask: Callable[[], object]) -> str:
    """How SQLite finds the rows for all that is asked meanwhile."""
    statements: list[str] = []
    with store._connected() as connection:
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: statements.append(event["sql"]))
        try:
            ask()
        finally:
            connection.trace_v2(0)
        asked = [sql for sql in statements if sql.startswith(("SELECT", "UPDATE", "WITH"))]
        return "\n".join(
            str(row[3])
            for sql in asked
            for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", [None] * sql.count("?")).fetchall()
            if row[3] != "SCAN CONSTANT ROW"
        )


@pytest.mark.parametrize("order", INDEXES)
@pytest.mark.parametrize("seq", [None, 3])
def test_every_order_of_a_page_is_that_of_an_index(store: SQLiteBackend, order: str, seq: int | None) -> None:
    reader: Reader = store if seq is None else store.at(SPACE, seq)
    plan = plans(store, lambda: reader.page(SPACE, LIVE, order=order, limit=2))  # type: ignore[arg-type]
    assert INDEXES[order] in plan and "TEMP B-TREE" not in plan and "SCAN" not in plan


@pytest.mark.parametrize(
    ("where", "index"),
    [
        (Filter.where(tags="rare"), "label"),
        (Filter.where(entities__under="a"), "label"),
        (Filter.where(links__to="m1"), "link"),
        (Filter.where(session="s"), "version_session"),
        (Filter.where(trust__lt=0.5), "version_trust"),
        (Filter.where(confidence__lt=0.5), "version_confidence"),
        (Filter.where(last_validated_at__lt=5.0), "version_validated"),
        (Filter.where(status="trashed"), "version_status"),
        (Filter.where(type__in=("security", "procedural")), "version_type"),
    ],
)
def test_a_narrow_condition_finds_its_memories_through_an_index(
    store: SQLiteBackend, where: Filter, index: str
) -> None:
    plan = plans(store, lambda: store.page(SPACE, LIVE & where, limit=2))
    assert index in plan and "version_key" in plan and "version_created" not in plan


def test_the_journal_of_a_memory_and_its_predecessors_are_found_through_an_index(store: SQLiteBackend) -> None:
    asked = plans(store, lambda: store.journal(SPACE, JournalFilter(memory_id="m1"), limit=5))
    assert "journal_memory (space=? AND memory_id=?)" in asked and "TEMP B-TREE" not in asked
    asked = plans(store, lambda: store.journal(SPACE, JournalFilter(batch="b" * 32, upto=90), limit=5))
    assert "journal_batch (<expr>=? AND rowid>? AND rowid<?)" in asked and "TEMP B-TREE" not in asked
    assert "version_superseded (space=? AND superseded_by=?)" in plans(store, lambda: store.replaced_by(SPACE, "m1"))


def test_the_first_links_of_a_kind_are_read_alone(store: SQLiteBackend) -> None:
    plan = plans(store, lambda: store.edges(SPACE, rels=["conflicts"], kind="contradiction", limit=5))
    assert "link_rel (space=? AND rel=? AND kind=?)" in plan and "TEMP B-TREE" not in plan


@pytest.mark.parametrize("of_type", [{"type": "episodic"}, {"type__in": ("episodic",)}])
def test_conditions_that_admit_a_part_each_are_answered_by_their_indexes_together(
    store: SQLiteBackend, of_type: dict[str, object]
) -> None:
    written(store, *((memory(f"n{i}", importance=0.9 if i < 2 else 0.1), derived("tea", unit(1, i))) for i in range(9)))
    written(store, *((memory(f"o{i}", type="episodic"), derived("tea", unit(1, i))) for i in range(2)))
    wanted = LIVE & Filter.where(importance__ge=0.8, **of_type)

    with store._searching(SPACE) as index:
        plan = plans(store, lambda: index.allowed(wanted))
    assert "COVERING INDEX version_importance" in plan and "COVERING INDEX version_type" in plan
    assert "INTERSECT" in plan and "version_updated" not in plan


def test_what_is_reached_beside_the_candidates_is_looked_up_and_not_walked_to(store: SQLiteBackend) -> None:
    keys = np.array([1, 2], np.int64)
    with store._searching(SPACE) as index:
        index.nearest(unit(1, 0), 2)  # all of so few vectors are in memory, and none is read from the file
        plan = plans(store, lambda: index.reached(keys, LIVE, LIVE, ("conflicts",)))
        plan += plans(store, lambda: index.around([("s", 1)], 2, LIVE, keys))
    assert "SCAN chunk" not in plan and "SCAN vector" not in plan


def test_counts_of_what_is_live_read_no_memory(store: SQLiteBackend) -> None:
    assert "SEARCH lead USING COVERING INDEX version_expires" in plans(store, lambda: store.count(SPACE, LIVE))
    assert "version_created" not in plans(store, lambda: store.tally(SPACE, "tags", ALL))


def test_the_rarity_of_a_common_word_counts_all_that_have_it_though_few_are_read(
    store: SQLiteBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nacre.storage import candidates
    from nacre.storage.sqlite import search

    exact = store.gather(SPACE, Search(("tea",))).rarity
    monkeypatch.setattr(candidates, "WEIGHED", 1)
    for module in (candidates, search):
        monkeypatch.setattr(module, "POSTINGS_READ", 2)
    read = store.gather(SPACE, Search(("tea",)))
    assert [place.id for place in read.places] == ["m3", "m4"], "the newest"
    assert read.rarity.tolist() == exact.tolist()


def test_a_statement_is_not_prepared_anew_for_other_values(store: SQLiteBackend) -> None:
    """Values that might decide whether a partial index can be used would have that done at every search."""
    prepared: dict[str, int] = {}

    def note(event: dict[str, Any]) -> None:
        prepared[event["sql"]] = event["stmt_status"]["SQLITE_STMTSTATUS_REPREPARE"]

    for word, i in (("tea", 1), ("cup", 2), ("tea", 3)):
        with store._connected() as connection:
            connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, note)
            try:
                search = Search(
                    (word,), unit(1, i), Filter.live(1e9 + i), 5, reach=2, replaced=ALL, linked_by=("conflicts",)
                )
                store.gather(SPACE, search)
            finally:
                connection.trace_v2(0)
    assert len(prepared) > 2
    assert not any(again for sql, again in prepared.items() if sql.startswith(("SELECT", "WITH")))
