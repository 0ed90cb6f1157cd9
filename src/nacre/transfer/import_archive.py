"""Imports an archive, or the memory of another program, as one operation that `undo` reverts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypedDict, Unpack, cast

from nacre.engine import Engine
from nacre.engine.engine import import_under_way
from nacre.engine.indexing import catch_up_all
from nacre.engine.operation_parts import PART, OperationParts, PartSize, long_operation
from nacre.engine.undo import undo
from nacre.errors import (
    ArchiveRefused,
    EmbeddingError,
    NacreError,
    OperationStopped,
    StorageError,
    StoreFull,
    UnknownName,
)
from nacre.factory import make_guard
from nacre.memory_store import MemoryStore
from nacre.model import JournalEntry, JournalFilter, Memory, Operation
from nacre.model.journal import MEMORY
from nacre.model.memory import Json
from nacre.protocols import AnyChange, Derived, Progress, Reader, TermSet, Vectors
from nacre.remember.derive import chunk_memory, indexed_words
from nacre.remember.guard import Guard
from nacre.settings import Settings
from nacre.transfer import note_folder
from nacre.transfer.archive import AHKAI, MOST_NAMED, NACRE, ImportSummary, unpack_vectors
from nacre.transfer.import_plan import (
    POLICIES,
    CheckedRow,
    Counts,
    ImportPlanner,
    PartLookup,
    RowChecker,
    Survey,
    survey,
)
from nacre.transfer.permission import demand_import
from nacre.transfer.read_archive import Archive, BadRow, MemoryRow, Source
from nacre.transfer.sources import Reading, kind_of, naming_the_kind, open_source
from nacre.transfer.vocabulary import RELATION, TYPE

ACTOR = "import"
OUTDATED = "from the store, which was changed after"  # of a fact that an interface may add its own remedy to
DIFFERENT = "here with another text or title"  # the same
OTHERWISE = "what the file says of other fields"  # the same
# What the summary counts, besides the faults that it names.
COUNTED = tuple(each.name for each in fields(Counts) if each.name not in ("faults", "named", "differing"))


class ImportOptions(TypedDict, total=False):
    """The defaults are those of `import_rows`."""

    on_conflict: str
    regenerate_vectors: bool
    dry_run: bool
    why: str
    progress: Progress | None
    named_faults: int


def import_archive(store: MemoryStore, path: Path | str, **options: Unpack[ImportOptions]) -> ImportSummary:
    """Imports all valid rows as one operation, or nothing; the memory used hardly grows with their number, and others
    can write meanwhile. An import that was killed continues when it is run again, and can be undone.

    `on_conflict` says what to do with ids that already exist: skip, overwrite, rename (links follow), error, or newer,
    which overwrites what was changed earlier. Every row passes the checks of `remember`; one that fails is counted and
    named. Vectors of the same model are reused, others are computed after the operation, or later.

    Raises `ArchiveRefused` for a file that is damaged, not an archive or beyond the limits, and `ImportConflict`.
    """
    check_allowed(store, options)
    return import_rows(store, Archive(path), **options)


def check_allowed(store: MemoryStore, options: ImportOptions) -> None:
    """Raises `AccessDenied`, and `UnknownName` for another policy."""
    demand_import(store)
    UnknownName.check("policy for ids that already exist", options.get("on_conflict", "skip"), POLICIES)


def import_rows(
    store: MemoryStore, source: Source, *, on_conflict: str = "skip", regenerate_vectors: bool = False,
    dry_run: bool = False, why: str = "", progress: Progress | None = None, named_faults: int = MOST_NAMED,
) -> ImportSummary:  # fmt: skip
    """Imports an opened source, after `check_allowed`. Of what cannot be imported, `named_faults` are listed."""
    engine = store.acting_as(ACTOR)
    if dry_run:
        engine.embedder.check()
    else:
        engine.embedder.renew()
    guard = make_guard(store.settings)
    verified = survey(store, source, guard, on_conflict, progress)
    importing = Import(store, engine, guard, verified, on_conflict, regenerate_vectors, named_faults)
    importing.prepare()
    with long_operation():
        return importing.preview(progress) if dry_run else importing.run(why, progress)


@dataclass(frozen=True, slots=True)
class ImportCheckpoint:
    """How far an import has come. It is stored with each part, so that an interrupted import can be resumed."""

    batch: str
    why: str
    policy: str
    digest: str
    rows: int
    counts: Mapping[str, int]

    @classmethod
    def read(cls, importing: Import) -> ImportCheckpoint | None:
        """Of an interrupted import of the same rows in the same way."""
        kind, name = import_under_way(importing.store.space)
        data = importing.engine.store.term(kind, name)
        if data is None or (data["policy"], data["digest"]) != (importing.policy, importing.survey.digest):
            return None
        if not importing.engine.store.journal(importing.store.space, JournalFilter(batch=str(data["batch"])), limit=1):
            return None  # what it had written is gone: the space was purged, or has another name now
        return cls(**{each.name: data[each.name] for each in fields(cls)})  # type: ignore[arg-type]

    def last(self, importing: Import) -> list[JournalEntry]:
        """Those of the memories that it had written last."""
        batch = JournalFilter(batch=self.batch)
        entries = importing.engine.store.journal(importing.store.space, batch, limit=PART)
        return [entry for entry in reversed(entries) if entry.kind == MEMORY]

    def restore(self, planner: ImportPlanner) -> None:
        for name, count in self.counts.items():
            setattr(planner.counts, name, count)


@dataclass(slots=True)
class Import:
    store: MemoryStore
    engine: Engine
    guard: Guard
    survey: Survey
    policy: str
    regenerate: bool
    named_faults: int = MOST_NAMED
    vectors_usable: bool = False  # whether the archive's vectors can be reused

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
            self.vectors_usable = embedder.ready

    def preview(self, progress: Progress | None) -> ImportSummary:
        lookup = PartLookup(self.engine.store)
        planner = self._planner(lookup)
        for number, (_, rows, _) in enumerate(self._parts(planner, None, progress, PartSize(PART))):
            planner.begin_part()
            self._plan(planner, lookup, rows, first=number == 0)
        return self._summary(planner, planner.counts.unembedded, ())

    def run(self, why: str, progress: Progress | None) -> ImportSummary:
        """Writes in parts, so that others can write in between. All parts are one operation: an error undoes those that
        were written, and after a crash the same import continues where it ended."""
        lookup = PartLookup(self.engine.store)
        planner, before = self._planner(lookup), ImportCheckpoint.read(self)
        operation = self.engine.operation(ACTOR, why)
        if before is not None:
            operation = replace(operation, batch=before.batch, why=before.why)
            before.restore(planner)
        first = before is None
        written_before = () if before is None else before.last(self)
        parts = OperationParts(self.store.space, operation, written_before, can_go_on=True)
        written = not first
        sizes, planned = PartSize(PART), 0.0
        try:
            for done, rows, last in self._parts(planner, before, progress, sizes):
                counts = planner.begin_part()
                state = None if last else partial(self._state, operation, planner, done)

                def plan(
                    reader: Reader, first: bool = first, last: bool = last, rows: Sequence[CheckedRow] = rows,
                    counts: Counts = counts, state: Callable[[], dict[str, Json]] | None = state,
                ) -> list[AnyChange]:  # fmt: skip
                    nonlocal planned
                    planner.begin_again(counts)
                    reader.get_many(self.store.space, [row.memory.id for row in rows])
                    lookup.begin(reader)
                    changes = self._plan(planner, lookup, rows, first=first)
                    if not (first and last):
                        changes.append(TermSet(*import_under_way(self.store.space), None if state is None else state()))
                    planned = time.monotonic()
                    return changes

                written = bool(parts.write(self.engine, plan).entries) or written
                sizes.took(time.monotonic() - planned)
                first = False
        except (OperationStopped, StoreFull):
            raise  # on a full disk an undo finds no room either
        except BaseException as error:
            if written:
                self._give_up(operation, planner, error)
            raise
        try:
            embedded, notes = self._embed(planner.counts.unembedded, progress)
        except KeyboardInterrupt as error:
            error.add_note("All memories are in; run the import again to compute the vectors that are missing.")
            raise
        return replace(self._summary(planner, embedded, notes), batch=operation.batch if written else "")

    def _state(self, operation: Operation, planner: ImportPlanner, done: int) -> dict[str, Json]:
        """What `ImportCheckpoint` reads."""
        counts = {name: getattr(planner.counts, name) for name in COUNTED}
        import_of = (operation.batch, operation.why, self.policy, self.survey.digest)
        return asdict(ImportCheckpoint(*import_of, done, counts))

    def _give_up(self, operation: Operation, planner: ImportPlanner, error: BaseException) -> None:
        if isinstance(error, Exception):
            with suppress(NacreError):
                undo(self.engine, self.store.space, [operation.batch], why="the import failed")
                return
        error.add_note(
            f"{self._kept(planner)} imported so far and kept; run it again to continue, "
            f"or `nacre undo {operation.short_batch}` to take it back."
        )

    def _kept(self, planner: ImportPlanner) -> str:
        """What was written, with its verb: of a part that was stopped, nothing was."""
        state = self.engine.store.term(*import_under_way(self.store.space))
        counts = state["counts"] if state is not None else None
        kept = planner.counts if not isinstance(counts, dict) else replace(planner.counts, **counts)  # type: ignore[arg-type]
        count = kept.imported + kept.renamed + kept.overwritten
        return f"{count:,} {'memory was' if count == 1 else 'memories were'}"

    def _planner(self, lookup: PartLookup) -> ImportPlanner:
        taught = (term.name for term in self.survey.terms if term.kind == TYPE)
        checking = RowChecker(self.store.space, self.guard, (*self.store.types(), *taught))
        planner = ImportPlanner(self.store.space, self.policy, checking, self._derived, lookup, self.survey.ids)
        planner.contents = self.survey.contents
        planner.copies = self.survey.archive.header.form in (NACRE, AHKAI)
        planner.relates = getattr(self.survey.archive, "relates", False)
        planner.now, planner.dated, planner.counts.named = self.store.now, self._dated, self.named_faults
        if self.store.settings.strict_links:
            brought = {term.name for term in self.survey.terms if term.kind == RELATION}
            planner.relations = frozenset(self.store.relations()) | brought
        return planner

    def _plan(
        self, planner: ImportPlanner, lookup: PartLookup, rows: Sequence[CheckedRow], *, first: bool
    ) -> list[AnyChange]:
        """The changes of a part; each sees those before it. The first part brings the vocabulary, too."""
        changes: list[AnyChange] = []
        terms = planner.term_changes(self.survey.terms) if first else ()
        for change in chain(terms, map(planner.change, rows)):
            if change is not None:
                lookup.add(change)
                changes.append(change)
        return changes

    def _parts(
        self, planner: ImportPlanner, before: ImportCheckpoint | None, progress: Progress | None, sizes: PartSize
    ) -> Iterator[tuple[int, list[CheckedRow], bool]]:
        """The checked rows in parts, each with the number of rows that were read by then, and whether it is the last;
        at least one part."""
        done, part = 0, list[MemoryRow]()
        skipped = 0 if before is None else before.rows
        for row in self.survey.archive.rows():
            if len(part) >= sizes.size:  # something follows: a fault that does belongs to the next part
                yield done, self._checked(planner, part, done, progress), False
                part = []
            if isinstance(row, BadRow) and done >= skipped:
                planner.counts.fault(row.line, row.why)
            if not isinstance(row, MemoryRow):
                continue
            done += 1
            if before is not None and done <= skipped:
                planner.imported_before(str(row.fields.get("id")).strip(), partial(self._was_imported, before.batch))
                continue
            part.append(row)
        yield done, self._checked(planner, part, done, progress), True

    def _was_imported(self, batch: str, id: str) -> bool:
        return bool(self.engine.store.journal(self.store.space, JournalFilter(memory_id=id, batch=batch), limit=1))

    def _checked(
        self, planner: ImportPlanner, rows: Sequence[MemoryRow], done: int, progress: Progress | None
    ) -> list[CheckedRow]:
        ids = [str(row.fields.get("id")).strip() for row in rows]
        known = {memory.id for memory in self.store.get_many(ids)} if planner.policy == "skip" else set()
        unpacked: Sequence[Vectors | None] = [None for _ in rows]
        if self.vectors_usable:
            unpacked = unpack_vectors([row.vectors for row in rows], self.engine.embedder.dimensions)
        with_vectors = (row._replace(vectors=vectors) for row, vectors in zip(rows, unpacked, strict=True))
        checked = list(filter(None, (planner.check(row, known) for row in with_vectors)))
        if progress is not None and rows:
            progress(min(done, self.survey.rows), self.survey.rows, "importing memories")
        return checked

    def _dated(self, fields: Mapping[str, object]) -> Mapping[str, object]:
        """Rows of other programs may have no times; ours leave out only zero. Some sources know at least when their
        file was written. What is moved in counts as used then, where its file does not say when it was last used: else
        it would fade at once."""
        if self.survey.archive.header.form == NACRE:
            return fields
        now = self.store.now()
        at = getattr(self.survey.archive, "at", now)
        made = {} if "created_at" in fields else {"created_at": at, "updated_at": at}
        return {"last_accessed": now, **fields, **made}

    def _derived(self, memory: Memory, row: MemoryRow) -> Derived:
        words = indexed_words(memory)
        unchanged = all(getattr(memory, name) == row.fields.get(name, "") for name in ("text", "title", "role"))
        vectors = cast("Vectors | None", row.vectors) if unchanged else None
        if vectors is None:
            return Derived(words)
        try:
            chunks, _ = chunk_memory(memory, self.engine.embedder)
        except EmbeddingError:
            return Derived(words)
        return Derived(words, chunks, vectors) if len(chunks) == len(vectors) else Derived(words)

    def _embed(self, waiting: int, progress: Progress | None) -> tuple[int, tuple[str, ...]]:
        """After the operation, and what an earlier import left; later calls embed what cannot be embedded now."""
        try:
            caught_up = catch_up_all(self.engine, progress=progress) if self.engine.store.pending(1) else 0
        except (EmbeddingError, StorageError) as error:
            if not waiting:
                return 0, ()
            return 0, (f"{waiting:,} memories are found by keywords only until their vectors are computed. {error}",)
        return waiting or caught_up, ()

    def _summary(self, planner: ImportPlanner, embedded: int, notes: tuple[str, ...]) -> ImportSummary:
        counts, bad = planner.counts, self.survey.bad_terms
        faults = sorted([*counts.faults, *bad.faults], key=lambda fault: fault.line)
        known = counts.skipped + getattr(self.survey.archive, "repeated", 0)  # also those that a table says twice
        return ImportSummary(
            imported=counts.imported, skipped=known, different=counts.different + counts.otherwise,
            overwritten=counts.overwritten, renamed=counts.renamed, errors=counts.errors + bad.errors,
            vectors_regenerated=embedded, terms=counts.terms, notes=(*self._notes(planner), *notes),
            faults=tuple(faults[: self.named_faults]),
        )  # fmt: skip

    def _notes(self, planner: ImportPlanner) -> Iterator[str]:
        counts, checking, header = planner.counts, planner.checking, self.survey.archive.header
        yield from self.survey.archive.notes
        if counts.scrubbed:
            were = "memory was" if counts.scrubbed == 1 else "memories were"
            yield f"{counts.scrubbed:,} {were} imported without what looked like a secret."
        if counts.doubted:
            looks = "memory looks" if counts.doubted == 1 else "memories look"
            yield f"{counts.doubted:,} {looks} like instructions to a model and got a low trust."
        if checking.unknown:
            yield f"Unknown fields were left out: {', '.join(sorted(checking.unknown))}."
        yield from notes_on_kept(counts)
        if counts.dropped_links:
            yield f"{counts.dropped_links:,} links that would supersede unchanged memories were left out."
        if self.survey.vectors and header.embedder != self.engine.embedder.identity:
            yield f"Its vectors were made with {header.embedder!r} and are not used."
        if header.form == AHKAI and header.count and header.count != self.survey.rows:
            yield f"Its header announces {header.count:,} memories, but it has {self.survey.rows:,}."


def notes_on_kept(counts: Counts) -> Iterator[str]:
    """About what the store has otherwise than the file, and was left as it is."""
    if counts.outdated:
        one = counts.outdated == 1
        which = "1 note differs" if one else f"{counts.outdated:,} notes differ"
        were = "it was" if one else "they were"
        yield f"{which} {OUTDATED} {were} written, perhaps by an undo; the store keeps what it has."
    if counts.different:
        have = "1 has an id that is" if counts.different == 1 else f"{counts.different:,} have ids that are"
        yield f"{have} {DIFFERENT}; the store keeps what it has."
    if counts.otherwise:
        are = "1 is here without" if counts.otherwise == 1 else f"{counts.otherwise:,} are here without"
        more = ", …" if counts.otherwise > len(counts.differing) else ""
        yield f"{are} {OTHERWISE}, and the store keeps what it has: {', '.join(counts.differing)}{more}."
    if counts.new_links:
        were = "1 new link was" if counts.new_links == 1 else f"{counts.new_links:,} new links were"
        yield f"{were} added to memories that are here already."
    if counts.without_secret:
        one = counts.without_secret == 1
        which = "1 memory is" if one else f"{counts.without_secret:,} memories are"
        secrets = "its secret" if one else "their secrets"
        yield f"{which} in the file without {secrets}, and the store keeps what it has."
    if counts.in_trash:
        are = "is" if counts.in_trash == 1 else "are"
        yield f"{counts.in_trash:,} of the skipped memories {are} in the trash of this store."


def check_path(
    path: Path | str, settings: Settings, *, source: str | None = None, collections: Sequence[str] = (),
    columns: Mapping[str, str] | None = None, tools: bool = False, progress: Progress | None = None,
) -> None:  # fmt: skip
    """Reads through what `import_path` would import, without a store. Raises what that raises for the file."""
    file = Path(path).expanduser()
    reading = Reading(make_guard(settings), collections, columns or {}, tools)
    kind = kind_of(file, source)
    with nothing_imported(), naming_the_kind(file, kind), open_source(file, kind, reading) as opened:
        for _ in opened.rows(progress):
            pass


def import_path(
    store: MemoryStore, path: Path | str, *, source: str | None = None, collections: Sequence[str] = (),
    columns: Mapping[str, str] | None = None, tools: bool = False, **options: Unpack[ImportOptions],
) -> ImportSummary:  # fmt: skip
    """Imports whatever a path holds: an archive, a table, exported notes, conversations, or the memory of another
    program, under its own ids, or ids computed from its text, so that a second import adds nothing twice. The source is
    not changed, except that exported notes get the new version of what was edited in them, so that they can be edited
    again. What cannot be imported is counted and named.

    `source` is one of the kinds of `transfer.sources`; without it the kind is recognised. `collections` are those of
    Chroma, `columns` map columns of a table to fields, and `tools` takes tool calls from conversations. Raises
    `ArchiveRefused`, `ImportConflict`, and `UnknownName` for another source.
    """
    check_allowed(store, options)
    file = Path(path).expanduser()
    reading = Reading(make_guard(store.settings), collections, columns or {}, tools)
    kind = kind_of(file, source)
    with nothing_imported(), naming_the_kind(file, kind), open_source(file, kind, reading) as opened:
        done = import_rows(store, opened, **options)
    if kind.name == note_folder.NAME and done.overwritten and not options.get("dry_run"):
        note_folder.renew_edited(store, file)
    return done


@contextmanager
def nothing_imported() -> Iterator[None]:
    """Says so where somebody stops an import before its first part is written."""
    try:
        yield
    except KeyboardInterrupt as error:
        if not getattr(error, "__notes__", ()):
            error.add_note("Nothing was imported yet; run it again to begin anew.")
        raise
