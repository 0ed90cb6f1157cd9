"""Old texts in less space: every way of reading finds them as they were written."""

from __future__ import annotations

from pathlib import Path
from random import Random
from string import printable

import apsw
import pytest

from nacre import MemoryStore
from nacre.lifecycle.retention import compress_old
from nacre.model import Filter
from nacre.protocols import Search
from tests.lifecycle.aged import DAY, NOW, Turned
from tests.lifecycle.placed import Angles, acts, opened, recalled, whole
from tests.samples import existing

LONG = "The ferry to Pellworm happened @0 to leave at noon, naïve 日本 🐚. " * 60 + "Did it?"


def kept(store: MemoryStore, id: str, text: str = LONG, days: float = 200, **fields: object) -> None:
    at = NOW - days * DAY
    given = {"id": id, "created_at": at, "last_accessed": at, "importance": 0.5, **fields}
    store.remember(text, **given)  # type: ignore[arg-type]


def packed(file: Path) -> set[str]:
    """The ids whose text is kept compressed."""
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    sql = (
        "SELECT id FROM memory JOIN version USING (key) JOIN content ON number = content"
        " WHERE seq_to IS NULL AND typeof(text) = 'blob'"
    )
    found = {str(id) for (id,) in connection.execute(sql)}
    connection.close()
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "f.db"


@pytest.fixture
def kept_store(file: Path, clock: Turned) -> MemoryStore:
    return opened(file, clock)


def places(store: MemoryStore) -> list[object]:
    return list(store.backend.gather(store.space, Search(vector=store.embedder.embed(["text"])[0])).places)


def reading(store: MemoryStore) -> dict[str, object]:
    """Whatever a text is seen through."""
    return {
        "records": whole(store),
        "places": places(store),
        "contains": store.count(where=Filter.where(text__contains="Pellworm")),
        "not there": store.count(where=Filter.where(text__contains="Sylt")),
        "eq": store.count(where=Filter.where(text=LONG)),
        "ne": store.count(where=Filter.where(text__ne=LONG)),
        "in": store.count(where=Filter.where(text__in=(LONG, "x"))),
        "order": store.count(where=Filter.where(text__ge="The ferry")),
        "set": store.count(where=Filter.where(text__unset=False)),
        "recalled": [(hit.memory.text, hit.score) for hit in store.recall("ferry to Pellworm @0", touch=False)],
        "packed": store.recall_pack("ferry to Pellworm @0", as_of=NOW).text,
        "journal": list(store.iterate_journal()),
        "past": [memory.text for memory in store.list_recent(as_of=NOW)],
    }


def test_compressing_builds_no_records(kept_store: MemoryStore, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(kept_store, "old")
    kept(kept_store, "new", days=1)
    built: list[object] = []
    monkeypatch.setattr("nacre.storage.sqlite.store.from_row", built.append)
    assert compress_old(kept_store) == 1
    assert (packed(file), built) == ({"old"}, [])


@pytest.mark.slow
def test_nothing_that_reads_a_text_can_tell_the_difference(store: MemoryStore, clock: Turned) -> None:
    for id in ("a", "b"):
        kept(store, id)
    kept(store, "short", "The ferry to Pellworm @0")
    clock.at += 1
    before = reading(store)
    compress_old(store)
    assert reading(store) == before
    assert store.health(thorough=True).problems == ()


@pytest.mark.slow
def test_only_long_texts_that_were_not_used_for_long_are_packed_and_each_once(
    kept_store: MemoryStore, file: Path
) -> None:
    with kept_store as store:
        kept(store, "long")
        kept(store, "short", "The ferry to Pellworm")
        kept(store, "used", days=10)
        kept(store, "random", "".join(Random(4).choices(printable[:94], k=600)))
        for id, status in (("archived", "archived"), ("trashed", "trashed")):
            kept(store, id, status=status)
        kept(store, "over", expires_at=NOW - DAY)
        kept(store, "replaced")
        store.supersede("replaced", "short")
        before = acts(store)
        assert compress_old(store) == 5
        assert packed(file) == {"long", "archived", "trashed", "over", "replaced"}
        assert compress_old(store) == 0
        assert compress_old(store, 5) == 1
        assert acts(store) == before


def test_a_store_in_memory_has_nothing_to_gain(clock: Turned) -> None:
    with opened(":memory:", clock) as store:
        kept(store, "long")
        assert compress_old(store) == 0


@pytest.mark.slow
def test_of_two_stores_that_go_on_growing_the_packed_one_is_smaller(tmp_path: Path, clock: Turned) -> None:
    """What is won is used for what comes: the file itself shrinks only when it is written anew."""
    sizes = []
    for name in ("plain", "packed"):
        with opened(tmp_path / f"{name}.db", clock) as store:
            for number in range(30):
                kept(store, f"m{number}", f"{number} {LONG}")
            assert name == "plain" or compress_old(store) == 30
            for number in range(30, 45):
                kept(store, f"m{number}", f"{number} {LONG}")
        sizes.append((tmp_path / f"{name}.db").stat().st_size)
    assert sizes[0] - sizes[1] > 12 * len(LONG.encode())


def test_it_opens_again_as_it_was(kept_store: MemoryStore, file: Path, clock: Turned) -> None:
    with kept_store as store:
        kept(store, "long")
        assert compress_old(store) == 1
    with opened(file, clock) as again:
        assert existing(again, "long").text == LONG
        assert recalled(again) == ["long"]
        assert again.reindex() == 1
        assert recalled(again) == ["long"]


def test_an_edit_of_the_text_writes_it_out_again_and_the_journal_has_the_full_text(
    kept_store: MemoryStore, file: Path, clock: Turned
) -> None:
    with kept_store as store:
        kept(store, "tagged")
        kept(store, "said")
        assert compress_old(store) == 2
        clock.at += 60
        store.edit("tagged", tags=["new"])
        store.edit("said", text="other words")
        assert (existing(store, "tagged").text, existing(store, "tagged").tags) == (LONG, ("new",))
        assert packed(file) == {"tagged"}
        [entry] = store.journal("said", operation="edit")
        assert entry.before is not None and entry.before["text"] == LONG
        store.undo()
        assert existing(store, "said").text == LONG


@pytest.mark.slow
def test_forgetting_purging_redacting_and_undoing_see_the_text(kept_store: MemoryStore, clock: Turned) -> None:
    with kept_store as store:
        for id in ("forgotten", "purged", "redacted", "old"):
            kept(store, id)
        kept(store, "heir", "short")
        assert compress_old(store) == 4
        clock.at += 60
        store.forget("forgotten")
        store.supersede("old", "heir")
        store.restore("forgotten")
        assert existing(store, "forgotten").text == existing(store, "old").text == LONG
        store.purge("purged")
        store.redact("redacted")
        entries = list(store.iterate_journal())
        assert not any(LONG in repr(entry) for entry in entries if entry.memory_id in ("purged", "redacted"))
        assert store.health(thorough=True).problems == ()


def test_a_use_leaves_it_packed(kept_store: MemoryStore, file: Path) -> None:
    with kept_store as store:
        kept(store, "long")
        compress_old(store)
        recalled(store)
        assert existing(store, "long").access_count == 1
        assert packed(file) == {"long"}


@pytest.mark.slow
def test_many_are_packed_in_several_transactions(
    kept_store: MemoryStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.lifecycle.retention.BATCH", 3)
    with kept_store as store:
        for number in range(8):
            kept(store, f"m{number}")
        assert compress_old(store) == 8
        assert len(packed(file)) == 8


def test_only_this_space_is_packed(file: Path, clock: Turned) -> None:
    with opened(file, clock) as one, opened(file, clock, Angles(), "other") as other:
        kept(one, "mine")
        kept(other, "yours")
        assert compress_old(one) == 1
        assert packed(file) == {"mine"}
        assert existing(other, "yours").text == LONG
