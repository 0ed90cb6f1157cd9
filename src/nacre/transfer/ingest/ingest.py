"""Stores the pieces of a file: each one once, however often it is read; an edited note updates its memories."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

from nacre.engine.engine import Edit
from nacre.engine.review import trashed
from nacre.engine.write_request import TermEdit
from nacre.errors import InvalidInput, SecretRefused
from nacre.factory import make_guard
from nacre.model import Filter, Memory
from nacre.model.memory import TRASHED, Json
from nacre.protocols import Progress
from nacre.transfer.ingest.formats import Format
from nacre.transfer.ingest.items import Broken, Item, Piece, Remark, Skipped, identity, session_of_file
from nacre.transfer.ingest.markdown import BETWEEN, DONE_TASK, OPEN_TASK, heading_in, home_relative
from nacre.transfer.ingest.markdown import NAME as NOTES
from nacre.transfer.permission import demand_import

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore
    from nacre.model.validate import Fields
    from nacre.recall_options import Scope

BATCH = 256  # memories in one operation: one block of vectors, and short enough for other writers
NAMED_FAULTS = 20  # listed by name; the rest are counted
# Keys in a memory's metadata.
REMOVED = "left_its_note"
READ = "read_from_note"  # what the note said when it was read last
ALIKE = 0.5  # of difflib: an edited text has more in common with the former one, other texts of one note have less
COMPARED = 300  # characters of each text
NEAREST = 20  # former pieces with which a changed one is compared, so that a rewritten note is quick
TRIES = 5  # when another process stores the same pieces at the same time
RENAMED = 0.5  # the least share of equal pieces, in both notes, of a new note that is a former one under another name


@dataclass(slots=True)
class Tally:
    """`gone` counts pieces that were removed from a note; `operations` what was written, each of which an undo takes
    back; `skipped` counts by reason; `redacted` counts pieces that lost a secret, by its kind."""

    new: int = 0
    unchanged: int = 0
    changed: int = 0
    gone: int = 0
    broken: int = 0
    operations: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    redacted: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def note(self, piece: Skipped | Broken | Remark) -> None:
        if isinstance(piece, Remark):
            self.remarks.append(f"{piece.where}: {piece.reason}")
            return
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
    edited note is known again, by default its path; `former` is the name of a note whose memories it takes over, since
    it was renamed."""

    store: MemoryStore
    format: Format
    path: Path
    dry_run: bool = False
    source: str = ""
    former: str = ""
    tally: Tally = field(default_factory=Tally)
    positions: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    failed: list[Failed] = field(default_factory=list)

    def run(self, *, tools: bool = False, progress: Progress | None = None) -> Tally:
        """Raises `AccessDenied` for a restricted agent, which may not choose ids."""
        demand_import(self.store)
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
                if self.format.edited:
                    draft = with_record(draft)
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
            self.tally.operations += bool(kept)
        self.tally.new += kept
        self.tally.unchanged += len(drafts) - kept

    def store_edited(self, drafts: Sequence[Memory]) -> None:
        """Edits memories whose piece of the note changed, and trashes those whose piece was removed."""
        if not drafts and self.tally.broken:
            return  # an unreadable file is not an empty one
        name = self.name_of_session()
        known = list(self.store.iterate(**of_note(self.former or name)))
        ids = {memory.id for memory in known}
        stored = [memory for memory in self.store.get_many([draft.id for draft in drafts]) if memory.id not in ids]
        # What went along with a note that was renamed is that one's, and a new note may say the same.
        elsewhere = {memory.id for memory in stored if memory.source == memory.session not in ("", name)}
        # What was redacted, or got another source by hand, is not known as the note's, and must not come again.
        left = {memory.id for memory in stored} - elsewhere
        naming = Naming.of(drafts, known) if self.former else Naming()
        plan = compare([naming.as_former(draft) for draft in drafts if draft.id not in left], known, self.failed)
        plan.give_free_ids(ids | elsewhere, self.store)
        edits = plan.edits(naming if self.former else None)
        self.tally.new, self.tally.gone = len(plan.new), len(plan.gone)
        self.tally.changed = len(edits) - len(plan.gone)
        self.tally.unchanged = len(drafts) - self.tally.new - self.tally.changed
        if not self.dry_run and (plan.new or edits):
            self.store.write("ingest", new=[naming.as_new(piece) for piece in plan.new], edits=edits, why=self.why())
            self.tally.operations += 1

    def name_of_session(self) -> str:
        """That of a note, or of a conversation without one."""
        name = (self.source or home_relative(self.path)) if self.format.edited else self.path.stem
        return session_of_file(name, self.path, make_guard(self.store.settings))

    def why(self) -> str:
        return f"{self.format.name}: {self.path.name}"

    def texts(self) -> Counter[str]:
        """What the note says; stores and counts nothing."""
        reader = replace(self, tally=Tally(), positions=defaultdict(int), failed=[])
        return Counter(draft.text for draft in reader.drafts(self.format.read(self.path)))


def of_note(name: str) -> Scope:
    """All memories of a note, also hidden ones. One that was written by hand may name the file as its source too."""
    return {
        "source": name, "session": name, "include_trashed": True, "include_superseded": True,
        "include_archived": True, "include_expired": True,
    }  # fmt: skip


def notes_gone(store: MemoryStore, folder: Path, present: Collection[str]) -> Counter[str]:
    """The notes that were ingested from the folder and are no longer there, each with the number of its memories.
    `present` are the names of those that are."""
    below = home_relative(folder).rstrip("/") + "/"
    range_of_names = Filter.where(session__ge=below, session__lt=f"{below[:-1]}{chr(ord('/') + 1)}")
    notes = Counter(memory.session for memory in store.iterate(where=range_of_names) if memory.source == memory.session)
    return Counter({
        name: count
        for name, count in notes.items()
        if name.startswith(below) and name not in present and not Path(name).expanduser().exists()
    })  # fmt: skip


def renamed_notes(store: MemoryStore, gone: Collection[str], notes: Iterable[Ingest]) -> dict[str, str]:
    """The former names of notes that are new, by their names: at least half of what each says is what one of the notes
    that are `gone` said, and the other way round."""
    if not gone:
        return {}
    memories = {name: store.iterate(where=Filter.where(source=name, session=name)) for name in gone}
    said = {name: Counter(memory.text for memory in each) for name, each in memories.items()}
    shares: list[tuple[float, str, str]] = []
    for note in notes:
        new = note.name_of_session()
        if store.count(**of_note(new)):
            continue
        texts = note.texts()
        for former, before in said.items():
            share = (texts & before).total() / max(texts.total(), before.total(), 1)
            shares.append((share, new, former))
    result: dict[str, str] = {}
    for share, new, former in sorted(shares, key=lambda each: (-each[0], *each[1:])):
        if share >= RENAMED and new not in result and former not in result.values():
            result[new] = former
    return result


@dataclass(frozen=True, slots=True)
class Naming:
    """The names of a note that was renamed, with which the titles of its pieces begin. Its pieces are compared with
    what was read under the former one."""

    new: str = ""
    former: str = ""

    @classmethod
    def of(cls, drafts: Sequence[Memory], known: Sequence[Memory]) -> Naming:
        titles = (str(record_of(memory).get("title", memory.title)) for memory in known)
        new, former = (next(iter(each), "").partition(BETWEEN)[0] for each in ((d.title for d in drafts), titles))
        return cls(new, former)

    def as_former(self, draft: Memory) -> Memory:
        return retitled(draft, self.new, self.former)

    def as_new(self, draft: Memory) -> Memory:
        return retitled(draft, self.former, self.new)

    def move(self, draft: Memory, memory: Memory) -> Memory:
        """The memory as of a piece of the renamed note; `draft` is the piece under the former name."""
        after = follow(draft, memory)
        own = self.as_new(draft)
        title = own.title if after.title == record_of(after).get("title") else after.title
        metadata = {**after.metadata, READ: dict(record_of(own))}
        return replace(after, title=title, session=own.session, source=own.source, metadata=metadata)


def retitled(draft: Memory, old: str, new: str) -> Memory:
    name, between, headings = draft.title.partition(BETWEEN)
    return draft if name != old or old == new else with_record(replace(draft, title=f"{new}{between}{headings}"))


@dataclass(frozen=True, slots=True)
class NoteChanges:
    """`matched` has the pieces of memories that stay; a memory that was removed from the note may be in it again."""

    new: list[Memory]
    matched: list[tuple[Memory, Memory]]
    gone: list[Memory]

    def give_free_ids(self, taken: set[str], store: MemoryStore) -> None:
        self.new[:] = [with_free_id(piece, taken, store) for piece in self.new]

    def edits(self, renamed: Naming | None = None) -> dict[str, Edit]:
        change = follow if renamed is None else renamed.move
        edits: dict[str, Edit] = {
            memory.id: partial(change, piece) for piece, memory in self.matched if change(piece, memory) != memory
        }
        return edits | {memory.id: mark_removed for memory in self.gone}


def compare(drafts: Sequence[Memory], known: Sequence[Memory], failed: Sequence[Failed] = ()) -> NoteChanges:
    """Matches pieces that are as they were read last; of the rest under one heading, those that are alike."""
    unmatched: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in sorted(known, key=lambda memory: memory.status == TRASHED):
        unmatched[piece_read(memory)].append(memory)
    matched: list[tuple[Memory, Memory]] = []
    pieces: list[Memory | Failed] = [*drafts, *failed]
    rest: list[Memory | Failed] = []
    for piece in sorted(pieces, key=place):
        same = unmatched[piece_of(piece)]
        if not same:
            rest.append(piece)
            continue
        memory = same.pop(0)
        if isinstance(piece, Memory):
            matched.append((piece, memory))
    leftover = {memory.id: memory for several in unmatched.values() for memory in several}
    for piece in [each for each in rest if isinstance(each, Memory) and is_first_reading(leftover.get(each.id))]:
        rest.remove(piece)
        matched.append((piece, leftover.pop(piece.id)))
    former = [memory for memory in leftover.values() if memory.status != TRASHED and not memory.superseded_by]
    for piece, memory in paired(rest, former):
        rest.remove(piece)
        former.remove(memory)
        if isinstance(piece, Memory):
            matched.append((piece, memory))
    return NoteChanges([piece for piece in rest if isinstance(piece, Memory)], matched, former)


def paired(pieces: Sequence[Memory | Failed], former: Sequence[Memory]) -> list[tuple[Memory | Failed, Memory]]:
    """The pairs under one heading that are most alike. A piece that may not be stored is paired in any case, so that
    its memory stays."""
    pairs: list[tuple[float, int, int]] = []
    for number, piece in enumerate(pieces):
        heading = heading_in(piece.title)
        under = [at for at, memory in enumerate(former) if heading_in(memory.title) == heading]
        under.sort(key=lambda at: abs(place(former[at]) - place(piece)))
        pairs += ((likeness(piece.text, former[at].text), number, at) for at in under[:NEAREST])
    result: dict[int, int] = {}
    taken: set[int] = set()
    for alike, number, at in sorted(pairs, key=lambda pair: (-pair[0], abs(pair[1] - pair[2]))):
        if number in result or at in taken or (alike < ALIKE and isinstance(pieces[number], Memory)):
            continue
        result[number] = at
        taken.add(at)
    return [(pieces[number], former[at]) for number, at in result.items()]


def likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one[:COMPARED], other[:COMPARED], autojunk=False).ratio()


def with_record(draft: Memory) -> Memory:
    """With what the note says, so that the next reading can tell an edit of the note from one in the store."""
    record: dict[str, Json] = {"piece": piece_of(draft), "title": draft.title, "tags": [*draft.tags]}
    if draft.occurred_at is not None:
        record["date"] = draft.occurred_at
    return replace(draft, metadata={**draft.metadata, READ: record})


def record_of(memory: Memory) -> Mapping[str, Json]:
    """Of a memory without one, which an import or an earlier version stored, what it was made from."""
    record = memory.metadata.get(READ)
    if isinstance(record, Mapping):
        return record
    task = [tag for tag in memory.tags if tag in (OPEN_TASK, DONE_TASK)]
    return {"piece": piece_of(memory), "tags": [*task], "date": memory.occurred_at}


def piece_of(piece: Memory | Failed) -> str:
    """By its last heading only: a note keeps its memories when it gets another name."""
    return identity(heading_in(piece.title), piece.text)


def piece_read(memory: Memory) -> str:
    return str(record_of(memory).get("piece"))


def is_first_reading(memory: Memory | None) -> bool:
    """Whether its id, which was made of the piece, is all that says what was read."""
    return memory is not None and READ not in memory.metadata


def follow(draft: Memory, memory: Memory) -> Memory:
    """The memory with what has changed in its note; what was changed in the store stays."""
    if memory.status == TRASHED and REMOVED not in memory.metadata:
        return memory
    before, now = record_of(memory), record_of(draft)
    after = mark_returned(memory)
    if before.get("piece") != now.get("piece") and not (is_first_reading(memory) and memory.id == draft.id):
        after = replace(after, text=draft.text, position=draft.position)
    if memory.title == before.get("title", heading_in(draft.title)):  # earlier versions had the heading alone
        after = replace(after, title=draft.title)
    if before.get("date") != now.get("date"):
        after = replace(after, occurred_at=draft.occurred_at)
    after = replace(after, tags=merged_tags(memory.tags, before.get("tags"), draft.tags))
    if after == memory and is_first_reading(memory):
        return memory
    return replace(after, metadata={**after.metadata, READ: dict(now)})


def merged_tags(stored: Sequence[str], before: Json, now: Sequence[str]) -> tuple[str, ...]:
    """Without tags that left the note, and with those that came to it."""
    former = before if isinstance(before, list) else []
    kept = [tag for tag in stored if tag in now or tag not in former]
    return (*kept, *(tag for tag in now if tag not in kept and tag not in former))


def with_free_id(draft: Memory, taken: set[str], store: MemoryStore) -> Memory:
    """The first id may belong to a memory whose text has changed since, or that is another note's now; so may others
    that were made of it."""
    id, again = draft.id, 1
    while id in taken:
        id, again = identity(draft.id, str(again)), again + 1
        if store.get(id) is not None:
            taken.add(id)
    taken.add(id)
    return replace(draft, id=id)


def mark_removed(memory: Memory) -> Memory:
    """The mark distinguishes text removed from a note from a memory that somebody forgot on purpose."""
    return trashed(replace(memory, metadata={**memory.metadata, REMOVED: True}))


def mark_returned(memory: Memory) -> Memory:
    if REMOVED not in memory.metadata:
        return memory
    rest = {key: value for key, value in memory.metadata.items() if key != REMOVED}
    if memory.status != TRASHED:
        return replace(memory, metadata=rest)
    return replace(memory, metadata=rest, status=memory.trashed_from or "short_term", trashed_from="")


def place(piece: Memory | Failed) -> int:
    return piece.position or 0


def draft_item(store: MemoryStore, item: Item, position: int, format: str) -> Memory:
    """The id is a hash, so that nothing is stored twice: of the message's own id where that is unique, else of the
    content, without secrets, because a hash of a short secret would reveal it."""
    fields: dict[str, object] = {"session": item.session, "position": position, "role": item.role, "title": item.title,
                                 "occurred_at": item.occurred_at, "tags": item.tags}  # fmt: skip
    fields["source"] = item.session if format == NOTES else format
    if item.role:
        fields["type"] = "episodic"
    fields |= item.fields
    draft = store.draft(item.text, **cast("Fields", fields))
    of_content = identity(format, item.session, item.key, draft.text)
    # A turn that an earlier version has stored keeps the id that it got then.
    is_own = item.unique and not store.get_many([of_content]) and not was_ever_stored(store, of_content)
    return replace(draft, id=identity(format, item.key) if is_own else of_content)


def store_new(
    store: MemoryStore, operation: str, drafts: Sequence[Memory], *,
    unjournaled: Mapping[tuple[str, str], TermEdit] | None = None, why: str = "",
) -> int:  # fmt: skip
    """Stores the drafts that do not exist yet, not even in the trash, in one operation; returns how many."""
    for _ in range(TRIES):
        new = not_stored(store, drafts)
        if not new and not unjournaled:
            return 0
        try:
            store.write(operation, new=new, unjournaled=unjournaled, why=why)
            return len(new)
        except InvalidInput:
            if len(not_stored(store, new)) == len(new):
                raise  # no other process stored them: the error has another cause
    return 0


def not_stored(store: MemoryStore, drafts: Sequence[Memory]) -> list[Memory]:
    there = {memory.id for memory in store.get_many([draft.id for draft in drafts])}
    return [draft for draft in drafts if draft.id not in there]


def was_ever_stored(store: MemoryStore, id: str) -> bool:
    """Whether the journal has an entry about it: it is stored, or was purged, or an undo removed it."""
    return bool(store.journal(id, limit=1))


def batches(pieces: Iterable[Piece], size: int | None) -> Iterator[list[Piece]]:
    """One batch when there is no size, even an empty one."""
    unread = iter(pieces)
    if size is None:
        yield list(unread)
    while batch := list(islice(unread, size)):
        yield batch
