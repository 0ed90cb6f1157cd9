"""One row of the journal that cannot be read harms nothing but what it told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from nacre import MemoryStore
from nacre.errors import HistoryLost, UndoRefused
from tests.embedders import WordBag
from tests.engine.conftest import Ticking

BROKEN = ['\'{"text": "cut of\'', "'[1, 2]'", "'null'", "''", "x'00ff'", "cast(x'7b22fffe' AS TEXT)", "7"]


@pytest.fixture
def store(tmp_path: Path, clock: Ticking) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path / "s.db", embedder=WordBag(), clock=clock) as opened:
        opened.remember_many([{"text": f"text of {id}", "id": id} for id in ("hurt", "well")])
        opened.edit("hurt", text="other words")
        opened.edit("well", text="other words too")
        yield opened


def damage(folder: Path, column: str, value: str) -> None:
    connection = apsw.Connection(str(folder / "s.db"))
    connection.execute(f"UPDATE journal SET {column} = {value} WHERE memory_id = 'hurt' AND act = 'edit'")
    connection.close()


@pytest.mark.parametrize("column", ["before", "after"])
@pytest.mark.parametrize("value", BROKEN)
def test_a_damaged_row_is_marked_and_everything_else_works(
    store: MemoryStore, tmp_path: Path, column: str, value: str
) -> None:
    began = store.journal("hurt")[-1].operation.at
    damage(tmp_path, column, value)
    told = store.journal()
    assert [(entry.memory_id, entry.damaged) for entry in told] == [
        ("well", False), ("hurt", True), ("well", False), ("hurt", False),
    ]  # fmt: skip
    assert (told[1].before, told[1].after) == (None, None)
    before = [store.get("hurt"), store.get("well")]
    with pytest.raises(UndoRefused, match="damaged"):
        store.undo(told[1])
    with pytest.raises(UndoRefused, match="damaged"):
        store.undo(last=2)
    assert [store.get("hurt"), store.get("well")] == before
    assert store.journal() == told
    with pytest.raises(HistoryLost, match="damaged"):
        store.get("hurt", as_of=began)
    assert [memory.id for memory in store.list_recent(as_of=began)] == ["well"]
    assert [hit.memory.text for hit in store.recall("text of", as_of=began)] == ["text of well"]
    assert (store.get("well", as_of=began) or before[0]) != before[1]


def test_what_stands_beside_a_damaged_row_can_be_undone_told_and_redacted(store: MemoryStore, tmp_path: Path) -> None:
    began = store.journal("hurt")[-1].operation.at
    damage(tmp_path, "before", "'{'")
    assert [each.id for each in store.history("hurt").versions] == ["hurt"]
    difference = store.diff(began)
    assert [changed.after.id for changed in difference.changed] == ["well"]
    assert "damaged" in difference.notes[0]
    store.undo()
    assert [memory.text for memory in store.list_recent()] == ["text of well", "other words"]
    store.edit("hurt", title="a title")
    store.undo()
    store.redact("hurt")
    assert [entry.damaged for entry in store.journal("hurt")] == [False] * len(store.journal("hurt"))
    assert store.health(thorough=True).problems == ()


def test_after_the_damage_the_past_can_be_told(store: MemoryStore, tmp_path: Path) -> None:
    edited = store.journal("hurt")[0].operation.at
    damage(tmp_path, "after", "'{'")
    store.edit("hurt", text="newest words")
    found = store.get("hurt", as_of=edited)
    assert found is not None
    assert found.text == "other words"
