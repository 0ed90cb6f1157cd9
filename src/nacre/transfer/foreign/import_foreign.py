"""The sources by name, and the import of one: as an archive's, in one act that `undo` takes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from nacre.errors import InvalidInput, UnknownName
from nacre.memory_store import MemoryStore
from nacre.protocols import Embedder, Progress
from nacre.transfer.archive import ImportSummary
from nacre.transfer.foreign import ai_lessons, amplihack, chroma, server_memory
from nacre.transfer.import_archive import check_allowed, import_rows
from nacre.transfer.read_archive import Source

OTHERS: Mapping[str, Callable[[Path], AbstractContextManager[Source]]] = {
    ai_lessons.NAME: ai_lessons.opened,
    amplihack.NAME: amplihack.opened,
    server_memory.NAME: server_memory.opened,
}
SOURCES = (chroma.NAME, *OTHERS)


def import_foreign(
    store: MemoryStore,
    source: str,
    path: Path | str,
    *,
    collections: Sequence[str] = (),
    on_conflict: str = "skip",
    regenerate_vectors: bool = False,
    dry_run: bool = False,
    why: str = "",
    progress: Progress | None = None,
) -> ImportSummary:
    """All that can be kept of another program's memory, under the ids that it has there, or that follow from its words;
    a second time nothing comes twice. Nothing of it is changed, and what cannot be kept is counted and named.

    `collections` are Chroma's. Raises `ArchiveRefused`, `ImportConflict`, and `UnknownName` for another source.
    """
    check_allowed(store, on_conflict)
    embedder = None if regenerate_vectors else store.embedder
    with opened(source, Path(path).expanduser(), collections, embedder) as found:
        return import_rows(
            store, found, on_conflict=on_conflict, regenerate_vectors=regenerate_vectors, dry_run=dry_run, why=why,
            progress=progress,
        )  # fmt: skip


def opened(
    source: str, path: Path, collections: Sequence[str], embedder: Embedder | None
) -> AbstractContextManager[Source]:
    if source not in SOURCES:
        raise UnknownName("source of memories", source, SOURCES)
    if source == chroma.NAME:
        return chroma.opened(path, embedder=embedder, collections=collections)
    if collections:
        raise InvalidInput(f"Only {chroma.NAME} has collections; leave them out.")
    return OTHERS[source](path)
