"""Plans an import: checks each row as `remember` does, and decides what becomes of ids that already exist."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from time import time
from typing import Any, NamedTuple, cast
from uuid import UUID

from nacre.engine.engine import PendingChanges
from nacre.engine.supersede import is_redacted
from nacre.errors import ArchiveRefused, ImportConflict, InvalidInput, UnknownName
from nacre.memory_store import MemoryStore
from nacre.model import STATUSES, Link, Memory
from nacre.model.memory import LISTS, NAMES, SUPERSEDES, SUSPICION, TRASHED, TRUST_GIVEN, Json, by_target
from nacre.model.validate import CHECKS, instant, label, optional, validate_fields
from nacre.protocols import AnyChange, Change, Data, Derived, Progress, Reader, TermChange
from nacre.remember.derive import same_derived_input
from nacre.remember.guard import GUARDED, Guard, is_suspicious, mark_suspicious, rewritten, trusted_as, unmarked
from nacre.safety.injection import BulkReading
from nacre.safety.secrets import PLACEHOLDER
from nacre.transfer.archive import LARGEST_VOCABULARY, MOST_NAMED, MOST_TERMS, MOST_TYPES, Fault
from nacre.transfer.read_archive import LONGEST_NAME, Archive, MemoryRow, SkimmedRow, Source, TermRow
from nacre.transfer.vocabulary import TYPE, Term, checked_term

MOST_UNKNOWN = 10  # unknown field names that are reported
MOST_DIFFERING = 5  # rows that are named because the store has other fields
KNOWN = frozenset(NAMES)
LISTED = frozenset((*LISTS, "links"))
FIRST = 1  # the version that a new memory gets: given now, it need not be copied when it is written


def status_name(name: str, value: object) -> str:
    text = label(name, value)
    if text and text not in STATUSES:
        raise InvalidInput(f"{name} is {text[:40]!r}, which is not a status.")
    return text


# Fields of a record that `remember` does not accept.
RECORD_FIELDS: Mapping[str, Callable[[str, object], object]] = {
    "updated_at": instant,
    "superseded_at": optional(instant),
    "superseded_by": label,
    "trashed_from": status_name,
}


@dataclass(slots=True)
class RowChecker:
    """Has the ids of rows that it cleaned or distrusts; `unknown` are fields that this version does not know."""

    space: str
    guard: Guard
    types: tuple[str, ...]
    scrubbed: set[str] = field(default_factory=set)
    doubted: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    bulk: BulkReading = field(default_factory=BulkReading)

    def memory(self, row: Mapping[str, object]) -> Memory:
        """Raises `InvalidInput`."""
        if "id" not in row or "text" not in row:
            raise InvalidInput("it has no id, or no text.")
        if len(self.unknown) < MOST_UNKNOWN and not row.keys() <= KNOWN:
            self.unknown.update(name[:40] for name in islice((each for each in row if each not in NAMES), MOST_UNKNOWN))
        fields, kinds = self.guard.fields(checked_fields(row, self.types))
        further = {name: check(name, row[name]) for name, check in RECORD_FIELDS.items() if name in row}
        suspicion = self.guard.suspicion(fields, self.bulk)
        memory = Memory.from_fields({**fields, **further, "space": self.space, "version": FIRST})
        if memory.superseded_by == memory.id or any(link.to == memory.id for link in memory.links):
            raise InvalidInput("it is linked to itself.")
        if kinds:
            self.scrubbed.add(memory.id)
        if not suspicion.reasons:
            return memory
        self.doubted.add(memory.id)
        # The trust that a file claims for its own text can only lower ours.
        doubted = mark_suspicious(memory, suspicion, trust_given=False)
        return replace(doubted, trust=min(memory.trust, doubted.trust))


def checked_fields(row: Mapping[str, object], types: Iterable[str]) -> dict[str, object]:
    """Those that `remember` takes, in the record's own form. Raises `InvalidInput`."""
    typed = {name: typed_list(name, row[name]) if name in LISTED else row[name] for name in CHECKS if name in row}
    return validate_fields(typed, types, limit_lists=False)


def typed_list(name: str, value: object) -> object:
    if not isinstance(value, list):
        raise InvalidInput(f"{name} must be a list, not {type(value).__name__}.")
    return [link(each) for each in value] if name == "links" else value


def link(value: object) -> Link:
    """The parts are checked later, with the other fields."""
    if not isinstance(value, dict):
        raise InvalidInput(f"a link must be a JSON object, not {type(value).__name__}.")
    parts = cast("dict[str, Json]", value)
    return Link(parts.get("to"), parts.get("rel", "related"), parts.get("weight", 1.0), parts.get("data") or {})  # type: ignore[arg-type]


def json_objects(values: object, what: str, error: Callable[[str], InvalidInput]) -> Iterator[dict[str, Any]]:
    """The objects of a list; `error` makes the error of what is wrong with it."""
    if not isinstance(values, list):
        raise error(f"{what} is not a list")
    for each in values:
        if not isinstance(each, dict):
            raise error(f"{what} holds something that is not a JSON object")
        yield each


def written_over(current: Memory, imported: Memory) -> Memory:
    """The current memory with the imported fields; another order of its links, its use since, or what a written time
    has lost, is not a change."""
    same_links = by_target(current.links) == by_target(imported.links)
    after = replace(
        with_same_times(current, imported),
        space=current.space,
        links=current.links if same_links else imported.links,
        last_accessed=current.last_accessed,
        access_count=current.access_count,
        updated_at=current.updated_at,
    )
    return current if after == current else after


def with_given_fields(current: Memory, imported: Memory, row: MemoryRow) -> Memory:
    """The current memory with the fields that the row has. What it lacks or has empty stays, and so does what the store
    itself has added to its links and metadata; the current one where nothing else is left."""
    kept = (*KEPT, "trust") if is_suspicious(imported) else KEPT
    names = [name for name, value in row.fields.items() if name in KNOWN and name not in kept and value not in EMPTY]
    own = {key: value for key, value in imported.metadata.items() if key not in (SUSPICION, TRUST_GIVEN)}
    after = replace(
        current,
        **{name: getattr(imported, name) for name in names},
        links=(*current.links, *missing_links(current, imported)),
        metadata={**current.metadata, **own},
    )
    if rewritten(after, current):
        after = trusted_as(unmarked(after, current, trust_given="trust" in names), [imported])
    return current if replace(after, updated_at=current.updated_at) == current else after


def missing_links(current: Memory, imported: Memory) -> tuple[Link, ...]:
    known = {(link.to, link.rel) for link in current.links}
    return tuple(link for link in imported.links if (link.to, link.rel) not in known)


def has_lost_secret(current: Memory, row: MemoryRow) -> bool:
    """Whether the store has a secret that the row, as an export leaves it out, would replace by a placeholder."""
    if row.redacted:
        return True
    left_out = {name: marks for name in GUARDED if (marks := placeholders(row.fields.get(name)))}
    if not left_out:  # as of nearly all rows: what follows takes much longer
        return False
    stored = current.to_dict()
    lost = any(marks - placeholders(stored.get(name)) for name, marks in left_out.items())
    return lost and ANY_SECRET.before_read(current) != current


def placeholders(value: object) -> Counter[str]:
    return Counter(PLACEHOLDER.findall(str(value))) if value else Counter()


def with_stored_secrets(current: Memory, imported: Memory, row: MemoryRow) -> Memory:
    """With what the row has as the store has it: the guard cleans what an import changes, and not what was stored."""
    stored = current.to_dict()
    same = {name: getattr(current, name) for name in GUARDED if name in stored and row.fields.get(name) == stored[name]}
    return replace(imported, **same)


def with_same_times(current: Memory, imported: Memory) -> Memory:
    """With the current times where the import has them but for what is lost when a time is written."""
    pairs = ((name, getattr(current, name), getattr(imported, name)) for name in WRITTEN_TIMES)
    same = {name: at for name, at, other in pairs if None not in (at, other) and abs(at - other) <= MICROSECOND}
    return replace(imported, **same)


WRITTEN_TIMES = ("created_at", "updated_at", "occurred_at", "valid_from", "valid_until", "expires_at",
                 "last_validated_at", "superseded_at")  # fmt: skip
MICROSECOND = 1e-6  # seconds to which times are written in notes and tables
# Fields that no row of another program replaces: its use here, and what is merged.
KEPT = ("id", "space", "last_accessed", "access_count", "links", "metadata")
EMPTY: tuple[object, ...] = (None, "", [], {})
ANY_SECRET = Guard(personal="redact")  # whatever the settings allow now, it may have been left out of an export
POLICIES = ("skip", "overwrite", "rename", "error", "newer")
ID_PREFIX = re.compile("[a-z]{1,8}_")  # says what a memory is: `exp_` of an experience
LONGEST_CHAIN = 1_000  # successors that are followed to detect a cycle


class PartLookup:
    """The state on which a part of an import is planned, with the changes of the rows before."""

    def __init__(self, below: Reader) -> None:
        self.begin(below)

    def begin(self, below: Reader) -> None:
        self._below, self._pending = below, PendingChanges(below)
        self._terms: dict[tuple[str, str], Data | None] = {}

    def get(self, space: str, id: str) -> Memory | None:
        return self._pending.get(space, id)

    def term(self, kind: str, name: str) -> Data | None:
        return self._terms[kind, name] if (kind, name) in self._terms else self._below.term(kind, name)

    def add(self, change: AnyChange) -> None:
        if isinstance(change, Change):
            self._pending.add([change])
        elif isinstance(change, TermChange):
            self._terms[change.kind, change.name] = change.after


@dataclass(slots=True)
class Counts:
    imported: int = 0
    skipped: int = 0
    overwritten: int = 0
    renamed: int = 0
    errors: int = 0
    terms: int = 0
    unembedded: int = 0
    outdated: int = 0  # notes that nobody edited and that differ from what the store has now
    different: int = 0  # skipped, and here with another text or title
    otherwise: int = 0  # skipped, and here with the same text and title, and without something that the file says
    new_links: int = 0  # of another program, added to memories that are here already
    in_trash: int = 0  # skipped, and in the trash of this store
    without_secret: int = 0  # skipped, because the store has a secret that the file has not
    dropped_links: int = 0
    scrubbed: int = 0  # written without what looked like a secret
    doubted: int = 0  # written with little trust
    faults: list[Fault] = field(default_factory=list)
    named: int = MOST_NAMED  # faults that are listed; the others are only counted
    differing: list[str] = field(default_factory=list)  # the first of `otherwise`, with the fields that differ

    def differ(self, name: str, fields: Collection[str]) -> None:
        self.otherwise += 1
        if len(self.differing) < MOST_DIFFERING:
            self.differing.append(f"{name} ({', '.join(fields)})")

    def fault(self, line: int, why: str) -> None:
        self.errors += 1
        if len(self.faults) < self.named:
            self.faults.append(Fault(line, why))


class CheckedRow(NamedTuple):
    memory: Memory
    row: MemoryRow
    derived: Derived | None


@dataclass(slots=True)
class ImportPlanner:
    """Plans the changes of one pass over the rows. `ids` holds hashes of the archive's ids where `survey` saw
    that they are needed: a million strings would take too much memory."""

    space: str
    policy: str
    checking: RowChecker
    derived: Callable[[Memory, MemoryRow], Derived]
    lookup: PartLookup
    ids: set[int]
    counts: Counts = field(default_factory=Counts)
    contents: Mapping[int, bytes] = field(default_factory=dict)  # of the rows by the hash of their id, for rename
    copies: bool = False  # whether rename also copies what is here as it is; once, as a second import adds nothing
    seen: set[int] = field(default_factory=set)
    left: set[int] = field(default_factory=set)  # of those, ids under which this store has another memory
    fresh: list[tuple[set[int], int]] = field(default_factory=list)  # what the present part added to these
    relations: frozenset[str] | None = None  # the known ones, when links are strict
    relates: bool = False  # whether links are what another program notes between records that it had before
    now: Callable[[], float] = time
    # The fields of a row with the times that it lacks.
    dated: Callable[[Mapping[str, object]], Mapping[str, object]] = dict

    def term_changes(self, terms: list[Term]) -> Iterator[AnyChange]:
        for term in terms:
            current = self.lookup.term(term.kind, term.name)
            change = term.change(self.space, current, overwrite=self.policy == "overwrite")
            if change is not None:
                self.counts.terms += 1
                yield change

    def check(self, row: MemoryRow, known: Collection[str] = ()) -> CheckedRow | None:
        """The slow part, before the transaction; None for a row that cannot be imported, which is counted. What will
        be skipped because its id is `known` is not indexed."""
        try:
            memory = self.checking.memory(self.dated(row.fields))
            left_alone = self.policy == "skip" and memory.id in known
            return CheckedRow(memory, row, None if left_alone else self.derived(memory, row))
        except InvalidInput as error:
            self._count_fault(row, error)
            return None

    def change(self, checked: CheckedRow) -> Change | None:
        try:
            if id_hash(checked.memory.id) in self.seen:
                self._count_repeated(checked.memory)
                return None
            if self.policy == "rename" and self._is_here(checked.memory.id):
                self._count_missing_fields(checked)
                self._skip(checked.memory)
                return None
            return self._resolve(checked)
        except InvalidInput as error:
            self._count_fault(checked.row, error)
            return None

    def _count_repeated(self, memory: Memory) -> None:
        """A row that says again what an earlier one of this file said is known already."""
        current = self.lookup.get(self.space, memory.id)
        same = current is not None and all(
            getattr(current, name) == getattr(memory, name) for name in ("text", "title", "type", "tags", "importance")
        )
        if not same:
            raise InvalidInput("its id appeared before in this file, with another content; give each its own.")
        self.counts.skipped += 1

    def imported_before(self, id: str, imported: Callable[[str], bool]) -> None:
        """Takes note of a row of an interrupted import; `imported` says what that has written."""
        other = self._other_name(id) if self.policy == "rename" else id
        renamed = other != id and imported(other)
        self._mark_seen(id, left=renamed or not imported(id))
        if renamed:
            self._mark_seen(other, left=False)
        self.fresh.clear()

    def _count_fault(self, row: MemoryRow, error: InvalidInput) -> None:
        self.counts.fault(row.line, f"{row.name}: {error}" if row.name else str(error))

    def _resolve(self, checked: CheckedRow) -> Change | None:
        memory, row = checked.memory, checked.row
        current = self.lookup.get(self.space, memory.id)
        scrubbed = memory.id in self.checking.scrubbed
        if current is not None and scrubbed and self.policy != "rename":
            memory = with_stored_secrets(current, memory, row)
            scrubbed = memory == checked.memory
            checked = checked if scrubbed else CheckedRow(memory, row, None)
        after = self._renamed(memory, current) if self.policy == "rename" else memory
        if current is None or after.id != memory.id:
            after = self._with_valid_links(after)
            change = Change(None, after, self._index_data(after, checked, None))
            self.counts.imported += current is None
            self.counts.renamed += current is not None
        elif not row.edited and self.policy in ("overwrite", "newer") and has_lost_secret(current, row):
            self.counts.without_secret += 1
            self._skip(memory)
            return None
        elif row.edited or (row.exported_version is not None and self.policy == "overwrite"):
            edited = self._edited(current, memory, row)
            if edited is None:
                self._skip(memory)
                return None
            change, after = Change(current, edited, self._index_data(edited, checked, current)), edited
            self.counts.overwritten += 1
        else:
            after = self._overwriting(current, after, row)
            after = after if self.policy == "skip" else self._with_valid_links(after)
            if not self._may_overwrite(current, after, row):
                outdated = self._is_outdated(current, checked)
                self.counts.outdated += outdated
                if not outdated and not is_redacted(current):
                    if new := self._related(current, memory, row):
                        return new
                    self._count_difference(current, memory, row)
                self.counts.in_trash += current.status == TRASHED and not is_redacted(current)
                self._skip(memory)
                return None
            if not row.complete and after.updated_at <= current.updated_at:
                after = replace(after, updated_at=self.now())
            change = Change(current, after, self._index_data(after, checked, current))
            self.counts.overwritten += 1
        self.counts.scrubbed += scrubbed
        self.counts.doubted += memory.id in self.checking.doubted
        self._mark_seen(memory.id, left=after.id != memory.id)
        self._mark_seen(after.id, left=False)
        return change

    def _count_difference(self, current: Memory, memory: Memory, row: MemoryRow) -> None:
        if is_different(current, memory):
            self.counts.different += 1
        elif fields := missing_fields(current, memory, row):
            self.counts.differ(row.name or memory.id[:LONGEST_NAME], fields)

    def _related(self, current: Memory, memory: Memory, row: MemoryRow) -> Change | None:
        """The known memory with relations that the other program has noted since."""
        if not self.relates or self.policy != "skip" or current.status == TRASHED:
            return None
        after = self._with_valid_links(replace(current, links=(*current.links, *missing_links(current, memory))))
        if after.links == current.links:
            return None
        self.counts.new_links += len(after.links) - len(current.links)
        self._count_difference(after, memory, row)
        self._skip(memory)
        return Change(current, replace(after, updated_at=self.now()))

    def _skip(self, memory: Memory) -> None:
        self._mark_seen(memory.id, left=True)
        self.counts.skipped += 1

    def _edited(self, current: Memory, memory: Memory, row: MemoryRow) -> Memory | None:
        """The memory with what the note says; None when it has that already. Raises `InvalidInput` for one that was
        changed here as well, unless the import overwrites."""
        after = written_over(current, memory)
        if after == current or is_redacted(current):
            return None
        if current.version != row.exported_version and self.policy != "overwrite":
            raise InvalidInput(
                f"it was changed in the store, too (version {current.version} now, {row.exported_version} when it was "
                "exported); move the note out of the folder, export again and repeat the edit in the new one, or "
                "import it with `--on-conflict overwrite`."
            )
        return self._with_valid_links(replace(after, updated_at=self.now()))

    def _is_outdated(self, current: Memory, checked: CheckedRow) -> bool:
        """Whether a note shows an earlier version, and something else than the store has now."""
        row = checked.row
        changed = row.exported_version not in (None, current.version) and not row.redacted and not is_redacted(current)
        return changed and written_over(current, checked.memory) != current

    def begin_part(self) -> Counts:
        """For `begin_again`."""
        self.fresh.clear()
        return self.counts

    def begin_again(self, counts: Counts) -> None:
        """Forgets what was noted of the present part: it is planned again where somebody else wrote meanwhile."""
        self.counts = replace(counts, faults=list(counts.faults), differing=list(counts.differing))
        for hashes, hash in self.fresh:
            hashes.remove(hash)
        self.fresh.clear()

    def _mark_seen(self, id: str, *, left: bool) -> None:
        for hashes in (self.seen, self.left) if left else (self.seen,):
            if id_hash(id) not in hashes:
                hashes.add(id_hash(id))
                self.fresh.append((hashes, id_hash(id)))

    def _matches_archive(self, id: str) -> bool:
        """True when this store has the memory as the archive does."""
        return id_hash(id) in self.seen and id_hash(id) not in self.left

    def _overwriting(self, current: Memory, after: Memory, row: MemoryRow) -> Memory:
        """Keeps what the archive cannot know: a later successor, and the use counts, which no undo could restore; of a
        row that is not complete, all that it does not name."""
        if self.policy == "error":
            raise ImportConflict([current.id], 1)
        after = with_same_times(current, after)
        if not row.complete:
            return with_given_fields(current, after, row)
        after = replace(after, last_accessed=current.last_accessed, access_count=current.access_count)
        successor = current.superseded_by
        if not successor or after.superseded_by or id_hash(successor) in self.ids:
            return after
        return replace(
            after, superseded_by=successor, superseded_at=current.superseded_at, valid_until=current.valid_until
        )

    def _with_valid_links(self, memory: Memory) -> Memory:
        """Drops links that claim to supersede a memory whose own record does not say so."""
        if memory.superseded_by and self._closes_a_cycle(memory):
            raise InvalidInput("it would supersede itself through a cycle.")
        if self.relations is not None:
            self._check_links(memory, self.relations)
        valid = tuple(link for link in memory.links if link.rel != SUPERSEDES or self._replaces(memory.id, link.to))
        self.counts.dropped_links += len(memory.links) - len(valid)
        return replace(memory, links=valid) if len(valid) < len(memory.links) else memory

    def _replaces(self, id: str, former: str) -> bool:
        current = None if self._matches_archive(former) else self.lookup.get(self.space, former)
        return current is None or current.superseded_by == id

    def _check_links(self, memory: Memory, known: frozenset[str]) -> None:
        for link in memory.links:
            UnknownName.check("relation", link.rel, known)
            there = id_hash(link.to) in self.ids or self._matches_archive(link.to)
            if not there and self.lookup.get(self.space, link.to) is None:
                raise InvalidInput(f"it is linked to {link.to[:40]!r}, which is neither in this store nor in the file.")

    def _may_overwrite(self, current: Memory, after: Memory, row: MemoryRow) -> bool:
        """A redacted memory stays redacted: an older copy must not restore the removed text. A row that is not complete
        says nothing about the trash, and would change a memory there unseen."""
        if self.policy == "skip" or current == after or is_redacted(current):
            return False
        if not row.complete and after.status == TRASHED:
            return False
        return self.policy == "overwrite" or after.updated_at > current.updated_at

    def _index_data(self, memory: Memory, checked: CheckedRow, current: Memory | None) -> Derived | None:
        """None when the index data of the current memory still fit."""
        derived = checked.derived
        if derived is None or not same_derived_input(checked.memory, memory):
            derived = self.derived(memory, checked.row)
        if derived.vectors is None and current is not None and same_derived_input(current, memory):
            return None
        self.counts.unembedded += derived.vectors is None
        return derived

    def _renamed(self, memory: Memory, current: Memory | None) -> Memory:
        """Gives new ids to the memory and its links where the archive's ids are taken in this store."""
        return replace(
            memory,
            id=memory.id if current is None else self._other_name(memory.id),
            superseded_by=self._name(memory.superseded_by),
            links=tuple(replace(link, to=self._name(link.to)) for link in memory.links),
        )

    def _name(self, id: str) -> str:
        """The id in this store for an id of the archive, whether its row was read or comes later."""
        if id_hash(id) not in self.ids or self._matches_archive(id):
            return id
        current = self.lookup.get(self.space, id)
        return self._other_name(id) if current is not None and self._is_renamed(current) else id

    def _is_here(self, id: str) -> bool:
        """Whether the store has the row, under its own id or under the one that an earlier import gave it."""
        current = self.lookup.get(self.space, id)
        if current is not None and self._is_renamed(current):
            current = self.lookup.get(self.space, self._other_name(id))
        if current is not None:
            self.counts.in_trash += current.status == TRASHED and not is_redacted(current)
        return current is not None

    def _is_renamed(self, current: Memory) -> bool:
        """Whether a row with the id of this memory gets another one."""
        return self.copies or not self._is_content(current)

    def _count_missing_fields(self, checked: CheckedRow) -> None:
        """Of a row whose text and title are here, under its own id or a new one."""
        memory = checked.memory
        current = self.lookup.get(self.space, memory.id)
        if current is not None and self._is_renamed(current):
            current = self.lookup.get(self.space, self._other_name(memory.id))
        if current is not None and not is_redacted(current):
            fields = missing_fields(current, self._renamed(memory, None), checked.row)
            if fields:
                self.counts.differ(checked.row.name or memory.id[:LONGEST_NAME], fields)

    def _is_content(self, current: Memory) -> bool:
        """Whether the store has what the archive has under this id. A removed text is not another one."""
        own = content_digest(self.checking.guard, current.text, current.title)
        return is_redacted(current) or own == self.contents.get(id_hash(current.id))

    def _other_name(self, id: str) -> str:
        """A new id, always the same for one id and content, so that a second import adds nothing."""
        digest = blake2b(id.encode(), key=self.contents.get(id_hash(id), b""), digest_size=16).digest()
        prefix = ID_PREFIX.match(id)
        return f"{prefix[0] if prefix else ''}{UUID(bytes=digest, version=4)}"

    def _closes_a_cycle(self, memory: Memory) -> bool:
        step = self.lookup.get(self.space, memory.superseded_by)
        for _ in range(LONGEST_CHAIN):
            if step is None or not step.superseded_by:
                return False
            if step.superseded_by == memory.id:
                return True
            step = self.lookup.get(self.space, step.superseded_by)
        return True  # no real chain of successors is so long


def is_different(current: Memory, imported: Memory) -> bool:
    """Whether an id stands for something else here. A removed text is not another one."""
    same = (current.text, current.title) == (imported.text, imported.title)
    return not same and not is_redacted(current)


def missing_fields(current: Memory, imported: Memory, row: MemoryRow) -> list[str]:
    """Those in which a row says something that the store does not have. What was added here is no difference."""
    names = [name for name in DESCRIBING if row.fields.get(name) not in EMPTY]
    if not row.complete:
        names += [name for name in ("links",) if missing_links(current, imported)]
    return [name for name in names if name == "links" or not has_value(current, imported, name)]


def has_value(current: Memory, imported: Memory, name: str) -> bool:
    own, other = getattr(current, name), getattr(imported, name)
    if name == "metadata":
        return all(own.get(key) == value for key, value in other.items() if key not in (SUSPICION, TRUST_GIVEN))
    return set(other) <= set(own) if name in LISTS else bool(own == other)


# Fields that people and programs write. Times are left out: "yesterday" in a table is another day tomorrow.
DESCRIBING = ("type", *LISTS, "source", "source_notes", "metadata", "importance", "pinned")


def content_digest(guard: Guard, text: object, title: object) -> bytes:
    """Of the words without secrets: a hash of a short secret would reveal it. Empty for what cannot be kept."""
    try:
        clean, _ = guard.fields({"text": str(text).strip(), "title": str(title or "").strip()})
    except InvalidInput:
        return b""
    words = f"{clean['title']}\0{clean['text']}"
    return blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def id_hash(id: str) -> int:
    """64 bits, seeded per process, so that nobody can prepare two ids with the same hash."""
    return hash(id)


PAGE = 500  # ids that are looked up at once


class Survey(NamedTuple):
    """The result of the first pass, which verified the file."""

    archive: Source
    ids: set[int]
    rows: int
    vectors: int
    terms: list[Term]
    bad_terms: Counts
    contents: dict[int, bytes]  # of the rows by the hash of their id, for new ids
    digest: str  # of the lines, or the ids, times and lengths: it recognizes a file whose import was interrupted


def survey(store: MemoryStore, archive: Source, guard: Guard, policy: str, progress: Progress | None = None) -> Survey:
    """Raises `ImportConflict` where the policy says so."""
    ids: set[int] = set()
    contents: dict[int, bytes] = {}
    terms, collisions = TermCollector(store.space, guard, archive.path), Collisions(store)
    needs_ids = store.settings.strict_links or policy in ("rename", "overwrite", "newer")
    rows = vectors = 0
    digest = blake2b(digest_size=16)
    skims = not needs_ids and policy != "error"
    for row in archive.skimmed(progress) if skims and isinstance(archive, Archive) else archive.rows(progress):
        if isinstance(row, SkimmedRow):
            rows += 1
            digest.update(row.written)
            vectors += row.has_vectors
        elif isinstance(row, MemoryRow):
            rows += 1
            parts = (row.fields.get("id"), row.fields.get("updated_at"), len(str(row.fields.get("text"))))
            digest.update(repr(parts).encode("utf-8", "surrogatepass"))
            vectors += row.vectors is not None
            id = row.fields.get("id")
            if isinstance(id, str) and needs_ids:
                ids.add(id_hash(id.strip()))
            if isinstance(id, str) and policy == "rename":
                contents[id_hash(id.strip())] = content_digest(guard, row.fields.get("text"), row.fields.get("title"))
            if isinstance(id, str) and policy == "error":
                collisions.look(id.strip())
        elif isinstance(row, TermRow):
            terms.take(row)
    collisions.refuse()
    return Survey(archive, ids, rows, vectors, terms.taken, terms.bad, contents, digest.hexdigest())


@dataclass(slots=True)
class TermCollector:
    """The archive's vocabulary, bounded because it is held in memory."""

    space: str
    guard: Guard
    path: Path
    taken: list[Term] = field(default_factory=list)
    bad: Counts = field(default_factory=Counts)
    size: int = 0
    types: int = 0

    def take(self, row: TermRow) -> None:
        try:
            term = checked_term(row, self.space, self.guard)
        except InvalidInput as error:
            self.bad.fault(row.line, str(error))
            return
        self.taken.append(term)
        self.types += term.kind == TYPE
        self.size += len(term.name) + len(str(term.data))
        for count, most, what in (
            (len(self.taken), MOST_TERMS, "terms"),
            (self.types, MOST_TYPES, "types"),
            (self.size, LARGEST_VOCABULARY, "characters in its terms"),
        ):
            if count > most:
                raise ArchiveRefused(self.path, f"it has more than {most:,} {what}", "Do not trust it.")


@dataclass(slots=True)
class Collisions:
    store: MemoryStore
    count: int = 0
    named: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)

    def look(self, id: str) -> None:
        self.waiting.append(id)
        if len(self.waiting) >= PAGE:
            self._ask()

    def refuse(self) -> None:
        self._ask()
        if self.count:
            raise ImportConflict(self.named, self.count)

    def _ask(self) -> None:
        present = self.store.get_many(self.waiting)
        self.count += len(present)
        self.named += [memory.id for memory in present[: MOST_NAMED - len(self.named)]]
        self.waiting.clear()
