"""One row of the journal that cannot be read harms nothing but what it says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from nacre import MemoryStore
from nacre.errors import UndoRefused
from tests.embedders import WordBag
from tests.engine.conftest import Ticking

BROKEN_IMAGES = ['\'{"text": "cut of\'', "'[1, 2]'", "'null'", "''", "x'00ff'", "cast(x'7b22fffe' AS TEXT)", "7"]


@pytest.fixture
def store(tmp_path: Path, clock: Ticking) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path / "s.db", embedder=WordBag(), clock=clock) as opened:
        opened.remember_many([{"text": f"text of {id}", "id": id} for id in ("hurt", "well")])
        opened.edit("hurt", text="other words")
        opened.edit("well", text="other words too")
        yield opened


def damage(folder: Path, changes: str) -> None:
    connection = apsw.Connection(str(folder / "s.db"))
    connection.execute(f"UPDATE journal SET {changes} WHERE memory_id = 'hurt' AND act = 'edit'")
    connection.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    ["key = 999", "key = -1", *(f"key = NULL, after = {value}" for value in BROKEN_IMAGES)],
)
def test_a_damaged_row_is_marked_and_everything_else_works(store: MemoryStore, tmp_path: Path, changes: str) -> None:
    began = store.journal("hurt")[-1].operation.at
    damage(tmp_path, changes)
    entries = store.journal()
    assert [(entry.memory_id, entry.damaged) for entry in entries] == [
        ("well", False), ("hurt", True), ("well", False), ("hurt", False),
    ]  # fmt: skip
    assert (entries[1].before, entries[1].after) == (None, None)
    before = [store.get("hurt"), store.get("well")]
    with pytest.raises(UndoRefused, match="damaged"):
        store.undo(entries[1])
    with pytest.raises(UndoRefused, match="damaged"):
        store.undo(last=2)
    assert [store.get("hurt"), store.get("well")] == before
    assert store.journal() == entries
    # Earlier states do not need the journal.
    assert [memory.text for memory in store.list_recent(as_of=began)] == ["text of well", "text of hurt"]
    assert len(store.recall("text of", as_of=began)) == 2


def test_what_is_beside_a_damaged_row_can_be_undone_shown_and_redacted(store: MemoryStore, tmp_path: Path) -> None:
    began = store.journal("hurt")[-1].operation.at
    damage(tmp_path, "key = -1")
    assert [each.id for each in store.history("hurt").versions] == ["hurt"]
    assert sorted(changed.after.id for changed in store.diff(began).changed) == ["hurt", "well"]
    store.undo()
    assert [memory.text for memory in store.list_recent()] == ["text of well", "other words"]
    store.edit("hurt", title="a title")
    store.undo()
    store.redact("hurt")
    assert [entry.damaged for entry in store.journal("hurt")] == [False] * len(store.journal("hurt"))
    assert store.health(thorough=True).problems == ()
