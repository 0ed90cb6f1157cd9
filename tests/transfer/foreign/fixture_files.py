"""The files in `fixtures`, which `scripts/fixtures` wrote with the other programs' own releases."""

from __future__ import annotations

import gzip
from pathlib import Path

from nacre.memory_store import MemoryStore
from nacre.model import Memory
from nacre.transfer.archive import ImportSummary
from nacre.transfer.import_archive import import_path
from tests.transfer.archives import opened

FIXTURES = Path(__file__).parent / "fixtures"


def unpacked(name: str, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.decompress((FIXTURES / f"{name}.gz").read_bytes()))
    return target


def taken(path: Path) -> tuple[list[Memory], ImportSummary]:
    """What an import brings into a new store, oldest first; a second import must bring nothing, and an undo takes all
    of it back."""
    with opened() as store:
        done = import_path(store, path)
        memories = everything(store)
        again = import_path(store, path)
        assert (again.imported, again.batch) == (0, ""), again
        if done.batch:
            store.undo(done.batch)
        assert everything(store) == []
    return memories, done


def everything(store: MemoryStore) -> list[Memory]:
    scope = {"include_archived": True, "include_expired": True, "include_superseded": True}
    return sorted(store.iterate(**scope), key=lambda memory: (memory.created_at, memory.text))  # type: ignore[arg-type]
