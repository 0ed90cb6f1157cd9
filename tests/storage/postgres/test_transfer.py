"""The rows of a database: a store goes there and back without a difference, by its address."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import StorageError
from nacre.factory import open_backend
from nacre.protocols import MIGRATION
from nacre.settings import Settings
from nacre.storage.postgres import PostgresBackend
from nacre.storage.postgres.connection import Session
from nacre.storage.postgres.transfer import VERSIONS, PostgresRows
from nacre.transfer.migrate import migrate_store
from tests import postgres_server


@pytest.fixture
def source(tmp_path: Path) -> Path:
    with MemoryStore(tmp_path / "source.db", embedder="hashing", on_conflict="ignore") as store:
        first, *_ = (store.remember(f"The lamp {number} is green", tags=["lamp"]) for number in range(4))
        store.edit(first.id, text="The lamp 0 is blue")
        store.in_space("other").remember("A line elsewhere")
    return tmp_path / "source.db"


@pytest.mark.slow
def test_a_store_goes_to_a_server_and_back(source: Path, tmp_path: Path) -> None:
    address = postgres_server.empty_database()
    there = migrate_store(source, address, Settings())
    with MemoryStore(address, embedder="hashing") as store:
        store.undo()  # an operation from before: the text is green again
        assert "The lamp 0 is green" in {each.text for each in store.list_recent()}
    back = migrate_store(address, tmp_path / "back.db", Settings())
    assert [(space.memories, space.entries) for space in there.spaces] == [(4, 5), (1, 1)]
    assert [(space.memories, space.entries) for space in back.spaces] == [(4, 6), (1, 1)]
    assert back.spaces[1] == there.spaces[1]


def test_a_lost_server_leaves_an_unfinished_migration_that_continues(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, write = postgres_server.empty_database(), PostgresRows.write_rows
    batches: list[object] = []

    def lost(self: PostgresRows, batch: object) -> None:
        batches.append(batch)
        if len(batches) == 3:
            with self._store._connections.use() as connection:
                connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        write(self, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(PostgresRows, "write_rows", lost)
    with pytest.raises(StorageError):
        migrate_store(source, address, Settings())
    with closing(open_backend(address)) as store:
        assert store.term(*MIGRATION) == {"source": str(source.resolve())}
    monkeypatch.undo()
    assert sum(space.memories for space in migrate_store(source, address, Settings()).spaces) == 5


def test_the_memories_of_a_part_are_found_by_their_keys(source: Path) -> None:
    """And not among all of the space, which older servers prefer for a list of keys in their order."""
    address = postgres_server.empty_database()
    migrate_store(source, address, Settings())
    sql = VERSIONS % {"space": "$1", "first": "$2", "last": "$3"}

    def plan(session: Session) -> list[str]:
        session.execute(f"PREPARE versions(bigint, bigint, bigint) AS {sql}")
        return [line for (line,) in session.fetch("EXPLAIN EXECUTE versions(1, 2, 3)")]

    with closing(open_backend(address)) as store:
        assert isinstance(store, PostgresBackend)
        found = [line for line in store._read_all(plan) if "Index Cond" in line and "space_id = $1" in line]
    assert "(key >= $2) AND (key <= $3)" in found[0]
