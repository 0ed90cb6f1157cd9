"""Stores the pieces of a file: each one once, however often it is read; an edited note updates its memories."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

from nacre.engine.engine import Edit
from nacre.engine.review import trashed
from nacre.engine.write_request import TermEdit
from nacre.errors import AccessDenied, InvalidInput, SecretRefused
from nacre.factory import make_guard
from nacre.model import Memory
from nacre.protocols import Progress
from nacre.transfer.ingest.formats import Format
from nacre.transfer.ingest.items import Broken, Item, Piece, Skipped, identity
from nacre.transfer.ingest.markdown import NAME as NOTES
from nacre.transfer.ingest.markdown import home_relative

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore
    from nacre.model.validate import Fields

BATCH = 256  # memories in one operation: one block of vectors, and short enough for other writers
NAMED_FAULTS = 20  # listed by name; the rest are counted
REMOVED = "left_its_note"  # the key in a memory's metadata
NAME_DIGITS = 4  # too few to guess a secret by them
TRIES = 5  # when another process stores the same pieces at the same time


@dataclass(slots=True)
class Tally:
    """`gone` counts pieces that were removed from a note; `skipped` counts by reason; `redacted` counts pieces
    that lost a secret, by its kind."""

    new: int = 0
    unchanged: int = 0
    changed: int = 0
    gone: int = 0
    broken: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    redacted: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def note(self, piece: Skipped | Broken) -> None:
        if isinstance(piece, Skipped):
            self.skipped[piece.reason] += 1
            return
        self.broken += 1
        if len(self.faults) < NAMED_FAULTS:
            self.faults.append(f"{piece.where}: {piece.reason}")


@dataclass(frozen=True, slots=True)
class Failed:
    """A piece of the file that may not be stored; what was stored of it earlier stays as it is."""

    title: str
    text: str
    position: int


@dataclass(slots=True)
class Ingest:
    """Reads one file into one space. `positions` counts the turns of each session. `source` is the name by which an
    edited note is known again, by default its path."""

    store: MemoryStore
    format: Format
    path: Path
    dry_run: bool = False
    source: str = ""
    tally: Tally = field(default_factory=Tally)
    positions: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    failed: list[Failed] = field(default_factory=list)

    def run(self, *, tools: bool = False, progress: Progress | None = None) -> Tally:
        """Raises `AccessDenied` for a restricted agent, which may not choose ids."""
        check_unrestricted(self.store)
        size = self.path.stat().st_size
        for batch in batches(self.format.read(self.path, tools=tools), None if self.format.edited else BATCH):
            drafts = self.drafts(batch)
            if self.format.edited:
                self.store_edited(drafts)
            else:
                self.store_new(drafts)
            if progress is not None and batch:
                progress(min(batch[-1].at, size), max(size, 1), f"ingesting {self.path.name}, bytes")
        return self.tally

    def drafts(self, pieces: Iterable[Piece]) -> list[Memory]:
        drafts: dict[str, Memory] = {}
        named = self.name_of_session()
        for piece in pieces:
            if not isinstance(piece, Item):
                self.tally.note(piece)
                continue
            if self.format.edited or piece.session == self.path.stem:
                piece = replace(piece, session=named)
            position = self.positions[piece.session]
            self.positions[piece.session] += 1
            try:
                draft = draft_item(self.store, piece, position, self.format.name)
            except SecretRefused:
                self.failed.append(Failed(piece.title, piece.text, position))
                self.tally.skipped["refused for a secret"] += 1
            except InvalidInput as error:
                self.failed.append(Failed(piece.title, piece.text, position))
                self.tally.note(Broken(f"turn {position} of {piece.session}", str(error)))
            else:
                if draft.id in drafts:
                    self.tally.skipped["repeated"] += 1
                elif (draft.text, draft.title) != (piece.text, piece.title):
                    _, kinds = make_guard(self.store.settings).fields({"title": piece.title, "text": piece.text})
                    self.tally.redacted.update(kinds)
                drafts.setdefault(draft.id, draft)
        return list(drafts.values())

    def store_new(self, drafts: Sequence[Memory]) -> None:
        if self.dry_run:
            kept = len(not_stored(self.store, drafts))
        else:
            kept = store_new(self.store, "ingest", drafts, why=self.why())
        self.tally.new += kept
        self.tally.unchanged += len(drafts) - kept

    def store_edited(self, drafts: Sequence[Memory]) -> None:
        """Edits memories whose text changed under the same heading, and trashes those whose text was removed."""
        if not drafts and self.tally.broken:
            return  # an unreadable file is not an empty one
        source = self.name_of_session()
        known = list(self.store.iterate(
            # A memory written by hand may name the file as its source too.
            source=source, session=source,
            include_trashed=True, include_superseded=True, include_archived=True, include_expired=True,
        ))  # fmt: skip
        plan = compare(drafts, known, self.failed)
        changed = len(plan.edited) + len(plan.back)
        self.tally.new, self.tally.changed, self.tally.gone = len(plan.new), changed, len(plan.gone)
        self.tally.unchanged = len(drafts) - len(plan.new) - changed
        if not self.dry_run and (plan.new or changed or plan.gone):
            self.store.write("ingest", new=plan.new, edits=plan.edits(), why=self.why())

    def name_of_session(self) -> str:
        """That of a note, or of a conversation without one: the file's name. A secret in it is redacted, and a few
        digits tell it from other files whose names lost one."""
        name = (self.source or home_relative(self.path)) if self.format.edited else self.path.name
        clean = make_guard(self.store.settings).words(name)  # with its ending: without one it looks more like a token
        if clean != name:
            return f"{clean} {identity(name)[:NAME_DIGITS]}"
        return name if self.format.edited else self.path.stem

    def why(self) -> str:
        return f"{self.format.name}: {self.path.name}"


@dataclass(frozen=True, slots=True)
class NoteChanges:
    """`back` are pieces that were removed from the note earlier and are in it again."""

    new: list[Memory]
    edited: Mapping[str, Memory]
    gone: list[Memory]
    back: list[Memory]

    def edits(self) -> dict[str, Edit]:
        edits: dict[str, Edit] = {id: rewrite(draft) for id, draft in self.edited.items()}
        edits |= {memory.id: mark_removed for memory in self.gone}
        return edits | {memory.id: mark_returned for memory in self.back}


def compare(drafts: Sequence[Memory], known: Sequence[Memory], failed: Sequence[Failed] = ()) -> NoteChanges:
    """Matches by heading and text first; the rest under one heading is paired in order."""
    unmatched: defaultdict[tuple[str, str], list[Memory]] = defaultdict(list)
    for memory in sorted(known, key=lambda memory: memory.status == "trashed"):
        unmatched[memory.title, memory.text].append(memory)
    matched: list[tuple[Memory | Failed, Memory | None]] = []
    pieces: list[Memory | Failed] = [*drafts, *failed]
    for piece in sorted(pieces, key=place):
        same = unmatched[piece.title, piece.text]
        matched.append((piece, same.pop(0) if same else None))
    leftover: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in sorted((each for several in unmatched.values() for each in several), key=place):
        if memory.status != "trashed" and not memory.superseded_by:
            leftover[memory.title].append(memory)
    taken = {memory.id for memory in known}
    new: list[Memory] = []
    edited: dict[str, Memory] = {}
    for piece in (piece for piece, match in matched if match is None):
        former = leftover[piece.title].pop(0) if leftover[piece.title] else None
        if isinstance(piece, Failed):
            continue
        if former is not None:
            edited[former.id] = piece
        else:
            new.append(with_free_id(piece, taken))
    gone = [memory for several in leftover.values() for memory in several]
    back = [
        match for piece, match in matched
        if match is not None and REMOVED in match.metadata and not isinstance(piece, Failed)
    ]  # fmt: skip
    return NoteChanges(new, edited, gone, back)


def with_free_id(draft: Memory, taken: set[str]) -> Memory:
    """The first id may belong to a memory whose text has changed since."""
    id, again = draft.id, 1
    while id in taken:
        id, again = identity(draft.id, str(again)), again + 1
    taken.add(id)
    return replace(draft, id=id)


def mark_removed(memory: Memory) -> Memory:
    """The mark distinguishes text removed from a note from a memory that somebody forgot on purpose."""
    return trashed(replace(memory, metadata={**memory.metadata, REMOVED: True}))


def mark_returned(memory: Memory) -> Memory:
    rest = {key: value for key, value in memory.metadata.items() if key != REMOVED}
    if memory.status != "trashed":
        return replace(memory, metadata=rest)
    return replace(memory, metadata=rest, status=memory.trashed_from or "short_term", trashed_from="")


def place(piece: Memory | Failed) -> int:
    return piece.position or 0


def rewrite(draft: Memory) -> Edit:
    def edit(memory: Memory) -> Memory:
        return replace(
            memory, text=draft.text, position=draft.position, occurred_at=draft.occurred_at, tags=draft.tags,
            trust=draft.trust, metadata=draft.metadata,
        )  # fmt: skip

    return edit


def draft_item(store: MemoryStore, item: Item, position: int, format: str) -> Memory:
    """The id is a hash of the content, so that it is stored only once; of the text without secrets, because a hash of a
    short secret would reveal it."""
    fields: dict[str, object] = {"session": item.session, "position": position, "role": item.role, "title": item.title,
                                 "occurred_at": item.occurred_at, "tags": item.tags}  # fmt: skip
    fields["source"] = item.session if format == NOTES else format
    if item.role:
        fields["type"] = "episodic"
    fields |= item.fields
    draft = store.draft(item.text, **cast("Fields", fields))
    return replace(draft, id=identity(format, item.session, item.key, draft.text))


def store_new(
    store: MemoryStore, operation: str, drafts: Sequence[Memory], *,
    terms: Mapping[tuple[str, str], TermEdit] | None = None, why: str = "",
) -> int:  # fmt: skip
    """Stores the drafts that do not exist yet, not even in the trash, in one operation; returns how many."""
    for _ in range(TRIES):
        new = not_stored(store, drafts)
        if not new and not terms:
            return 0
        try:
            store.write(operation, new=new, terms=terms, why=why)
            return len(new)
        except InvalidInput:
            if len(not_stored(store, new)) == len(new):
                raise  # no other process stored them: the error has another cause
    return 0


def not_stored(store: MemoryStore, drafts: Sequence[Memory]) -> list[Memory]:
    there = {memory.id for memory in store.get_many([draft.id for draft in drafts])}
    return [draft for draft in drafts if draft.id not in there]


def check_unrestricted(store: MemoryStore) -> None:
    if not store.may_teach:
        raise AccessDenied("Ingesting chooses ids, which a restricted agent may not; leave `scope` unset.")


def batches(pieces: Iterable[Piece], size: int | None) -> Iterator[list[Piece]]:
    """One batch when there is no size, even an empty one."""
    unread = iter(pieces)
    if size is None:
        yield list(unread)
    while batch := list(islice(unread, size)):
        yield batch
