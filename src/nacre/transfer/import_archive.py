"""Imports an archive, or the memory of another program, as one operation that `undo` reverts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from nacre.engine import Engine
from nacre.engine.engine import AnyChange, catch_up_all
from nacre.errors import AccessDenied, ArchiveRefused, EmbeddingError, InvalidInput, StorageError, UnknownName
from nacre.factory import make_guard
from nacre.memory_store import MemoryStore
from nacre.model import Memory
from nacre.model.memory import Json
from nacre.protocols import Backend, Derived, Embedder, Progress
from nacre.remember.derive import chunk_memory, indexed_words
from nacre.remember.guard import Guard
from nacre.transfer.archive import AHKAI, MOST_NAMED, NACRE, ImportSummary, unpack_vectors
from nacre.transfer.foreign import ai_lessons, amplihack, chroma, server_memory
from nacre.transfer.import_plan import POLICIES, ImportPlanner, Lookup, RowChecker, Survey, survey
from nacre.transfer.read_archive import Archive, BadRow, MemoryRow, Source
from nacre.transfer.vocabulary import RELATION, TYPE

ACTOR = "import"
PROGRESS_EVERY = 500  # rows


def import_archive(
    store: MemoryStore,
    path: Path | str,
    *,
    on_conflict: str = "skip",
    regenerate_vectors: bool = False,
    dry_run: bool = False,
    why: str = "",
    progress: Progress | None = None,
) -> ImportSummary:
    """Imports all valid rows in one operation, or nothing; the memory used hardly grows with their number.

    `on_conflict` says what to do with ids that already exist: skip, overwrite, rename (links follow), error, or newer,
    which overwrites what was changed earlier. Every row passes the checks of `remember`; one that fails is counted and
    named. Vectors of the same model are reused, others are computed after the operation, or later.

    Raises `ArchiveRefused` for a file that is damaged, not an archive or beyond the limits, and `ImportConflict`.
    """
    check_allowed(store, on_conflict)
    return import_rows(
        store, Archive(path), on_conflict=on_conflict, regenerate_vectors=regenerate_vectors, dry_run=dry_run, why=why,
        progress=progress,
    )  # fmt: skip


def check_allowed(store: MemoryStore, policy: str) -> None:
    """Raises `AccessDenied`, and `UnknownName` for another policy."""
    if not store.may_teach:
        raise AccessDenied(
            f"The agent {store.agent!r} may not import an archive, because an import chooses ids and teaches terms. "
            "Import it without restricting the agent."
        )
    if policy not in POLICIES:
        raise UnknownName("policy for ids that already exist", policy, POLICIES)


def import_rows(
    store: MemoryStore,
    source: Source,
    *,
    on_conflict: str,
    regenerate_vectors: bool,
    dry_run: bool,
    why: str,
    progress: Progress | None,
) -> ImportSummary:
    """Imports an opened source, after `check_allowed`."""
    engine = store.acting_as(ACTOR)
    engine.check_embedder()
    guard = make_guard(store.settings)
    verified = survey(store, source, guard, on_conflict, progress)
    importing = Import(store, engine, guard, verified, on_conflict, regenerate_vectors)
    importing.prepare()
    return importing.preview(progress) if dry_run else importing.run(why, progress)


class StoreLookup:
    """Looks up the current state for a dry run, without a transaction that would block others."""

    def __init__(self, store: Backend) -> None:
        self._store = store
        self._words: dict[str, Mapping[str, Mapping[str, Json]]] = {}

    def get(self, space: str, id: str) -> Memory | None:
        return next(iter(self._store.get_many(space, [id])), None)

    def term(self, kind: str, name: str) -> Mapping[str, Json] | None:
        if kind not in self._words:
            self._words[kind] = self._store.terms(kind)
        return self._words[kind].get(name)


@dataclass(slots=True)
class Import:
    store: MemoryStore
    engine: Engine
    guard: Guard
    survey: Survey
    policy: str
    regenerate: bool
    usable: bool = False  # whether the archive's vectors can be reused

    def prepare(self) -> None:
        """Does what is slow or may fail before the transaction begins."""
        header, embedder = self.survey.archive.header, self.engine.embedder
        same = header.embedder == embedder.identity
        if header.form == AHKAI and not same and self.survey.vectors and not self.regenerate:
            raise ArchiveRefused(
                self.survey.archive.path,
                f"its vectors were made with {header.embedder!r}, and this store uses {embedder.identity!r}",
                "Compute them again with regenerate_vectors, or `--regenerate-vectors`.",
            )
        if same and self.survey.vectors and not self.regenerate:
            embedder.count_tokens([""])  # loads a model that is there, so that texts are cut as they were
            self.usable = embedder.ready

    def preview(self, progress: Progress | None) -> ImportSummary:
        incoming = self._planner(StoreLookup(self.engine.store))
        for _ in self._changes(incoming, progress):
            pass
        return self._summary(incoming, incoming.counts.unembedded, ())

    def run(self, why: str, progress: Progress | None) -> ImportSummary:
        met: list[ImportPlanner] = []

        def flow(current: Lookup) -> Iterator[AnyChange]:
            met.append(self._planner(current))
            return self._changes(met[0], progress)

        batch = self.engine.commit_stream(self.store.space, ACTOR, flow, why=why)
        embedded, notes = self._embed(met[0].counts.unembedded, progress)
        return replace(self._summary(met[0], embedded, notes), batch=batch)

    def _planner(self, lookup: Lookup) -> ImportPlanner:
        taught = (word.name for word in self.survey.words if word.kind == TYPE)
        checking = RowChecker(self.store.space, self.guard, (*self.store.types(), *taught))
        incoming = ImportPlanner(self.store.space, self.policy, checking, self._derived, lookup, self.survey.ids)
        if self.store.settings.strict_links:
            brought = {word.name for word in self.survey.words if word.kind == RELATION}
            incoming.relations = frozenset(self.store.relations()) | brought
        return incoming

    def _changes(self, incoming: ImportPlanner, progress: Progress | None) -> Iterator[AnyChange]:
        yield from incoming.term_changes(self.survey.words)
        done = 0
        for row in self.survey.archive.rows():
            if isinstance(row, BadRow):
                incoming.counts.fault(row.line, row.why)
            if not isinstance(row, MemoryRow):
                continue
            change = incoming.change(self._dated(row))
            if change is not None:
                yield change
            done += 1
            if progress is not None and (done % PROGRESS_EVERY == 0 or done == self.survey.rows):
                progress(min(done, self.survey.rows), self.survey.rows, "importing memories")

    def _dated(self, row: MemoryRow) -> MemoryRow:
        """Rows of other programs may have no times; ours leave out only zero."""
        if self.survey.archive.header.form == NACRE or "created_at" in row.fields:
            return row
        now = self.store.now()
        return replace(row, fields={"last_accessed": now, **row.fields, "created_at": now, "updated_at": now})

    def _derived(self, memory: Memory, row: MemoryRow) -> Derived:
        words = indexed_words(memory)
        unchanged = all(getattr(memory, name) == row.fields.get(name, "") for name in ("text", "title", "role"))
        vectors = unpack_vectors(row.vectors, self.engine.embedder.dimensions) if self.usable and unchanged else None
        if vectors is None:
            return Derived(words)
        try:
            chunks, _ = chunk_memory(memory, self.engine.embedder)
        except EmbeddingError:
            return Derived(words)
        return Derived(words, chunks, vectors) if len(chunks) == len(vectors) else Derived(words)

    def _embed(self, waiting: int, progress: Progress | None) -> tuple[int, tuple[str, ...]]:
        """After the operation, which blocks other writers; later calls embed what cannot be embedded now."""
        if not waiting:
            return 0, ()
        try:
            catch_up_all(self.engine, progress=progress)
        except (EmbeddingError, StorageError) as error:
            return 0, (f"{waiting:,} memories are found by keywords only until their vectors are computed. {error}",)
        return waiting, ()

    def _summary(self, incoming: ImportPlanner, embedded: int, notes: tuple[str, ...]) -> ImportSummary:
        counts, bad = incoming.counts, self.survey.bad_words
        faults = sorted([*counts.faults, *bad.faults], key=lambda fault: fault.line)
        return ImportSummary(
            imported=counts.imported,
            skipped=counts.skipped,
            overwritten=counts.overwritten,
            renamed=counts.renamed,
            errors=counts.errors + bad.errors,
            vectors_regenerated=embedded,
            words=counts.words,
            notes=(*self._notes(incoming), *notes),
            faults=tuple(faults[:MOST_NAMED]),
        )

    def _notes(self, incoming: ImportPlanner) -> Iterator[str]:
        checking, header = incoming.checking, self.survey.archive.header
        yield from self.survey.archive.notes
        if checking.scrubbed:
            yield f"{checking.scrubbed:,} memories were imported without what looked like a secret."
        if checking.doubted:
            yield f"{checking.doubted:,} memories look like instructions to a model and got a low trust."
        if checking.unknown:
            yield f"Unknown fields were left out: {', '.join(sorted(checking.unknown))}."
        if incoming.counts.in_trash:
            yield f"{incoming.counts.in_trash:,} of the skipped memories are in the trash of this store."
        if incoming.counts.dropped_links:
            yield f"{incoming.counts.dropped_links:,} links that would supersede unchanged memories were left out."
        if self.survey.vectors and header.embedder != self.engine.embedder.identity:
            yield f"Its vectors were made with {header.embedder!r} and are not used."
        if header.form == AHKAI and header.count and header.count != self.survey.rows:
            yield f"Its header announces {header.count:,} memories, but it has {self.survey.rows:,}."


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
    """Imports the memory of another program under its own ids, or ids computed from its text, so that a second import
    adds nothing twice. The source is not changed; what cannot be imported is counted and named.

    `collections` are those of Chroma. Raises `ArchiveRefused`, `ImportConflict`, and `UnknownName` for another source.
    """
    check_allowed(store, on_conflict)
    embedder = None if regenerate_vectors else store.embedder
    with opened(source, Path(path).expanduser(), collections, embedder) as opened_source:
        return import_rows(
            store, opened_source, on_conflict=on_conflict, regenerate_vectors=regenerate_vectors, dry_run=dry_run,
            why=why, progress=progress,
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
