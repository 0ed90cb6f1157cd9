"""Moving a whole store: what the API did before can be undone and asked about afterwards, and a kill costs nothing."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from random import Random

import pytest

from nacre import MemoryStore
from nacre.errors import MigrationRefused
from nacre.factory import open_backend
from nacre.protocols import MIGRATION, UPKEEP, RowBatch
from nacre.server.users import Registry
from nacre.settings import Settings
from nacre.storage.sqlite.transfer import SQLiteRows
from nacre.transfer.migrate import Migrated, address, entry_digest, memory_digest, migrate_store

SETTINGS = Settings(embedder="hashing")
KILLS = 25
MEMORIES = 1_500


def opened(path: Path) -> MemoryStore:
    return MemoryStore(path, embedder="hashing", on_conflict="ignore")


def moved(source: Path, target: Path) -> Migrated:
    return migrate_store(source, target, SETTINGS)


def digests(path: Path) -> list[tuple[str, bytes]]:
    """Of every row of a store."""
    with closing(open_backend(path)) as store:
        rows = store.rows
        assert rows is not None
        found = [("terms", repr(list(rows.terms())).encode())]
        for space in rows.spaces():
            found += [(space.name, memory_digest(row)) for row in rows.memories(space.name)]
            found += [(space.name, entry_digest(row, images=True)) for row in rows.entries(space.name)]
        return found


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "source.db"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "target.db"


def test_operations_from_before_can_be_undone_and_their_times_asked_about(source: Path, target: Path) -> None:
    with opened(source) as store:
        first = store.remember("The kettle is red", tags=["kitchen"])
        second = store.remember("The kettle is blue", tags=["kitchen"])
        before = store.now()
        store.supersede(first.id, second.id)
        store.edit(second.id, text="The kettle is dark blue")
        edited = store.journal(limit=1)[0].operation.batch
        wanted = found(store, None), found(store, before)
    moved(source, target)
    with opened(target) as store:
        assert (found(store, None), found(store, before)) == wanted
        store.undo(edited)
        assert store.get(second.id).text == "The kettle is blue"  # type: ignore[union-attr]
        assert [each.text for each in store.history(second.id).versions] == ["The kettle is red", "The kettle is blue"]
        store.undo()
        assert store.get(first.id).superseded_by == ""  # type: ignore[union-attr]


def found(store: MemoryStore, at: float | None) -> list[tuple[str, str]]:
    return [(hit.memory.id, hit.memory.text) for hit in store.recall("Which colour is the kettle?", as_of=at)]


def test_an_address_names_a_store_without_its_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert address("store.db") == str((tmp_path / "store.db").resolve())
    secret = "s3" + "cret"
    assert address(f"postgresql://me:{secret}@db.example:5433/memory") == "postgresql://me@db.example:5433/memory"


def test_a_target_without_a_mark_is_complete(source: Path, target: Path) -> None:
    with opened(source) as store:
        store.remember("A line")
    moved(source, target)
    with closing(open_backend(target)) as backend:
        assert backend.term(*MIGRATION) is None and backend.terms(UPKEEP) == {}
    with pytest.raises(MigrationRefused, match="has memories already"):
        moved(source, target)
    assert digests(target) == digests(source)


def test_a_target_with_users_alone_is_named_as_such(source: Path, target: Path) -> None:
    with opened(source) as store:
        store.remember("A line")
    with closing(open_backend(target)) as backend:
        registry = Registry(backend, lambda: 0.0)
        registry.add_user("ada")
        registry.create_token("ada", "admin")
    with pytest.raises(MigrationRefused, match="has users and tokens already"):
        moved(source, target)


def test_a_space_that_took_the_name_of_a_copied_one_is_copied_anew(
    source: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(source) as store:
        store.in_space("b").remember_many(["The kettle is red", "Dogs bark at noon"])
        store.in_space("c").remember("The cat is here")
    write = SQLiteRows.write_rows

    def stopping(self: SQLiteRows, batch: RowBatch) -> None:
        if batch.space.name == "c":
            raise KeyboardInterrupt
        write(self, batch)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(SQLiteRows, "write_rows", stopping)
        moved(source, target)
    with opened(source) as store:
        store.in_space("b").rename_space("z")
        store.in_space("b").remember("A new note in b")
    moved(source, target)
    assert digests(target) == digests(source)
    with opened(target) as store:
        assert (store.spaces()["b"], store.health(thorough=True).problems) == (1, ())


@pytest.mark.slow
def test_a_move_that_is_killed_again_and_again_ends_with_an_equal_store(source: Path, target: Path) -> None:
    with opened(source) as store:
        store.remember_many([f"The shelf {number} holds {number % 13} jars" for number in range(MEMORIES)])
        some = [each.id for each in store.list_recent(40)]
        store.tag(*some, add=["kitchen"])
        store.forget(*some[:10])
        store.undo()
    random, killed = Random(2026), 0
    command = [sys.executable, "-m", "nacre", "migrate", str(source), str(target)]
    for _ in range(KILLS):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=0.4 + random.random() * 1.5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
            continue
        break
    with suppress(MigrationRefused):  # it may have been complete already
        moved(source, target)
    assert killed > 0
    assert digests(target) == digests(source)
    with closing(open_backend(target)) as backend:
        assert backend.health(thorough=True).problems == ()
    with opened(target) as store:
        assert store.count() == MEMORIES and store.count(tags=["kitchen"]) == len(some)
        store.undo()  # of the tags: the removal is undone already
        assert store.count(tags=["kitchen"]) == 0
