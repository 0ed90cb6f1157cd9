"""A connection hides damaged records as long as they are damaged, and no sound ones."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from nacre import MemoryStore
from nacre.settings import Settings
from nacre.storage.sqlite.repair import repair


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Three memories; the present version of the walrus, whose row has the highest number, is damaged."""
    path = tmp_path / "store.db"
    with opened(path) as store:
        for id in ("giraffe", "zebra", "walrus"):
            store.remember(f"The {id} eats", id=id)
            store.tag(id, add=["seen"])
    damage_last_row(path)
    return path


def opened(path: Path) -> MemoryStore:
    return MemoryStore(path, settings=Settings(embedder="hashing", on_conflict="ignore"))


def damage_last_row(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE version SET lists = 'no lists' WHERE row = (SELECT max(row) FROM version)")
    connection.close()


def listed(store: MemoryStore) -> set[str]:
    return {memory.id for memory in store.list_recent()}


def test_a_process_that_hid_a_record_shows_it_once_another_has_repaired_it(file: Path) -> None:
    with opened(file) as store:
        assert listed(store) == {"giraffe", "zebra"} and store.get("walrus") is None
        assert repair(file, None, store.now()).recovered == ("walrus",)
        assert listed(store) == {"giraffe", "zebra", "walrus"}
        store.edit("walrus", text="The walrus swims")
        store.tag("walrus", add=["wet"])
        assert store.count(tags=["wet"]) == 1


def test_a_record_that_gets_the_row_number_of_a_hidden_one_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with opened(file) as store:
        for id in ("zebra", "walrus"):
            store.remember(f"The {id} eats", id=id)
        store.tag("walrus", add=["wet"])
        tagged_at = store.journal(limit=1)[0].operation.at
        store.edit("walrus", text="The walrus swims")
        damage_last_row(file)  # that of the tag, which is an earlier state by now
        assert [memory.id for memory in store.iterate(as_of=tagged_at)] == ["zebra"]
        store.compact(older_than_days=0)
        store.tag("zebra", add=["striped"])
        assert listed(store) == {"zebra", "walrus"} and store.get_many(["zebra"])[0].tags == ("striped",)


def test_a_record_that_is_damaged_again_after_a_repair_is_named_and_hidden_again(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(file) as store:
        assert listed(store) == {"giraffe", "zebra"}
        repair(file, None, store.now())
        assert listed(store) == {"giraffe", "zebra", "walrus"}
        connection = apsw.Connection(str(file))
        connection.execute("UPDATE version SET lists = 'no lists' WHERE key = 3 AND seq_to IS NULL")
        connection.close()
        assert listed(store) == {"giraffe", "zebra"} and "walrus" in caplog.text


def test_no_byte_of_a_hidden_record_is_left_when_it_is_purged(file: Path) -> None:
    with opened(file) as store:
        assert listed(store) == {"giraffe", "zebra"}
        store.purge("walrus")
    assert b"walrus eats" not in file.read_bytes()
    repair(file, None, 1_800_000_000.0)
    with opened(file) as store:
        assert listed(store) == {"giraffe", "zebra"} and store.health(thorough=True).problems == ()
