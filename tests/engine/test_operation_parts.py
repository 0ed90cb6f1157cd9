"""Operations in parts: when they go on, when they stop, and what they say on a full disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.engine.operation_parts import OperationParts
from nacre.errors import OperationStopped, StoreFull
from nacre.protocols import Change, Progress
from tests.engine.test_undo import ITEMS, content
from tests.stores_in_postgres import stored_in as stored_in


def once_after(count: int, event: Callable[[], object]) -> Progress:
    """The progress of `remember_many`, which does something when so many are stored."""

    def progress(done: int, total: int, what: str) -> None:  # noqa: ARG001
        if done == count:
            event()

    return progress


@pytest.mark.usefixtures("stored_in")
@pytest.mark.parametrize("event", ["undo", "rename", "delete", "purge"])
def test_an_operation_stops_when_it_is_undone_or_its_space_renamed_or_deleted_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    monkeypatch.setattr("nacre.memory_store.PART", 3)
    with MemoryStore(tmp_path / "s.db", space="here", embedder="hashing") as store:
        other = store.as_actor("somebody")
        events: dict[str, Callable[[], object]] = {
            "undo": lambda: other.undo(other.journal()[0]),
            "rename": lambda: other.rename_space("harbour"),
            "delete": other.delete_space,
            "purge": lambda: other.delete_space(purge=True),
        }
        done = {"undo": "undone", "rename": "renamed to 'harbour'", "delete": "'here' was deleted"}.get(
            event, "removed"
        )
        with pytest.raises(OperationStopped, match=f"{done} meanwhile"):
            store.remember_many(ITEMS, progress=once_after(6, events[event]))
        assert other.space == ("harbour" if event == "rename" else "here")
        assert len(content(other)) == (0 if event in ("undo", "purge") else 6)
        assert all((memory.status == "trashed") == (event == "delete") for memory in content(other))
        if event == "rename":
            assert content(store) == []
        elif event != "delete":
            store.remember_many(ITEMS)
            assert len(content(store)) == 10


def test_an_operation_goes_on_when_its_undo_was_undone_or_its_last_memory_edited_or_its_journal_dropped(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.memory_store.PART", 3)
    other = store.as_actor("somebody")

    def events(done: int, total: int, what: str) -> None:  # noqa: ARG001
        if done == 3:
            other.undo(other.undo(other.journal()[0])[0])
        elif done == 6:
            other.edit("m5", importance=0.9)
        elif done == 9:
            assert other.compact(older_than_days=0) > 0 and other.journal("m8") == []

    store.remember_many(ITEMS, progress=events)
    assert len(content(store)) == 10


@pytest.mark.parametrize(
    ("event", "told"),
    [
        ("undo", "what it had written was removed meanwhile. Nothing of it is left; repeat it"),
        ("delete", "what it had written was moved to the trash meanwhile. Look there, and repeat it"),
        ("purge all", "what it had written was removed meanwhile."),
        ("purge the last", ""),
        ("forget the last", ""),
    ],
)
def test_after_a_compaction_what_stands_of_an_operation_decides_whether_it_goes_on(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, event: str, told: str
) -> None:
    monkeypatch.setattr("nacre.memory_store.PART", 3)
    other = store.as_actor("somebody")
    events: dict[str, Callable[[], object]] = {
        "undo": lambda: other.undo(other.journal()[0]),
        "delete": other.delete_space,
        "purge all": lambda: other.purge(*(f"m{number}" for number in range(6))),
        "purge the last": lambda: other.purge("m5"),
        "forget the last": lambda: other.forget("m5"),
    }

    def compacted() -> None:
        if event.startswith("purge"):
            assert other.compact(older_than_days=0)
        events[event]()
        if not event.startswith("purge"):
            assert other.compact(older_than_days=0)

    other.remember("It stands beside", id="beside", on_conflict="ignore")
    if told:
        with pytest.raises(OperationStopped, match=told):
            store.remember_many(ITEMS, progress=once_after(6, compacted))
    else:
        store.remember_many(ITEMS, progress=once_after(6, compacted))
        assert {f"m{number}" for number in (0, 9)} <= {memory.id for memory in content(store)}


@pytest.mark.parametrize("can_go_on", [False, True])
def test_on_a_full_disk_only_what_can_go_on_is_told_to_be_repeated(store: MemoryStore, can_go_on: bool) -> None:
    engine = store._engine
    operation = OperationParts(store.space, engine.operation("remember", ""), can_go_on=can_go_on)
    operation.write(engine, lambda _: [Change(None, store.draft("text of a", id="a"))])

    def full(*_: object) -> list[Change]:
        raise StoreFull("s.db")

    with pytest.raises(StoreFull, match="wrote before is kept") as raised:
        operation.write(engine, full)
    assert f"`nacre undo {operation.operation.batch[:8]}` takes that back" in str(raised.value)
    assert ("repeat" in str(raised.value)) == can_go_on
    first = OperationParts(store.space, engine.operation("remember", ""))
    with pytest.raises(StoreFull, match=r"nothing was changed\. Free some space and repeat"):
        first.write(engine, full)
