"""Commits a change set: compares what its plan read with what is there, and writes all of it or nothing."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

from nacre.model import JournalEntry, JournalFilter, Memory, Operation
from nacre.model.journal import JOURNAL, MEMORY, SPACE_NAME
from nacre.model.memory import images, key_of, same_words, without_link_data
from nacre.protocols import (
    AnyChange,
    Change,
    Clock,
    Committed,
    Compressed,
    Data,
    Derived,
    EmbedderBound,
    EmbedderIdentity,
    Expected,
    IndexesRebuilt,
    JournalDropped,
    Key,
    Outdated,
    Page,
    ReadCall,
    Reader,
    RowTransfer,
    Scrubbed,
    SpacePurged,
    SpaceRenamed,
    TermChange,
    TermSet,
)

# The questions whose answers can be compared. Those of a search are ranks, which every other write may change.
COMPARABLE = (
    "ids_like", "page", "iterate", "values", "count", "tally", "spaces", "edges", "replaced_by", "terms", "journal",
    "written_since", "last_positions", "operations_since", "border", "journal_begins",
)  # fmt: skip


def with_words(reader: Reader, space: str, ids: Sequence[str], texts: Collection[str]) -> list[Memory]:
    """Those of these memories that have one of the texts, as `same_words` gives them."""
    return [memory for memory in reader.get_many(space, ids) if same_words(memory.text) in texts] if ids else []


def operations_since(reader: Reader, space: str, id: str, seq: int) -> list[Operation]:
    """The same for every backend: see `Reader`."""
    return [entry.operation for entry in reader.journal(space, JournalFilter(memory_id=id, after=seq - 1))]


class Transaction(Protocol):
    """What a change set is written with.

    `seq` is the journal entry with which the written state begins, while the one before stays readable. Without it the
    present changes in place.
    """

    def get_many(self, space: str, ids: Sequence[str]) -> list[Memory]: ...  # with what was written so far
    def put(self, memory: Memory, derived: Derived | None, seq: int | None) -> None: ...
    def remove(self, space: str, id: str, seq: int | None) -> None: ...
    def compress(self, space: str, ids: Sequence[str]) -> int: ...
    def embedder(self) -> EmbedderIdentity: ...
    def bind_embedder(self, identity: EmbedderIdentity, *, anew: bool) -> None: ...
    def rebuild_indexes(self) -> None: ...
    def next_seq(self, space: str) -> int: ...  # the number of the next entry, each time another one
    def append(self, entries: Sequence[JournalEntry]) -> None: ...  # once, last, with their numbers
    def last_at(self, space: str) -> float: ...  # the time of the last entry that there ever was; 0.0 without one
    def last_seq(self, space: str) -> int: ...  # its number
    def scrub(self, change: Scrubbed) -> None: ...
    def drop_journal(self, space: str, upto: int) -> int: ...
    def purge_space(self, space: str) -> list[str]: ...  # the ids that were there
    def rename_space(self, old: str, new: str) -> None: ...
    def term(self, kind: str, name: str) -> Data | None: ...
    def put_term(self, kind: str, name: str, data: Data | None) -> None: ...


class TransactionalBackend(ABC):
    """A reader that writes by transactions of its own, which run one after the other, all or nothing."""

    @property
    def rows(self) -> RowTransfer | None:
        return None

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Transaction]: ...

    def observed(self, expected: Expected) -> Reader:
        return cast("Reader", Observed(cast("Reader", self), expected))

    def commit(
        self,
        changes: Sequence[AnyChange],
        expected: Expected | None = None,
        operation: Operation | None = None,
        clock: Clock = time.time,
    ) -> Committed | Outdated:
        """As `Backend.commit`."""
        with self.transaction() as transaction:
            return self.written(transaction, changes, Expected() if expected is None else expected, operation, clock)

    def written(
        self,
        transaction: Transaction,
        changes: Sequence[AnyChange],
        expected: Expected,
        operation: Operation | None,
        clock: Clock,
    ) -> Committed | Outdated:
        """Writes the change set by this transaction, where everything is as expected."""
        present, actual = compare(cast("Reader", self), transaction, changes, expected)
        if actual != Expected():
            return Outdated(actual)
        return self._write(ChangeSetWriter(transaction, present, operation), changes, clock)

    def _write(self, writer: ChangeSetWriter, changes: Sequence[AnyChange], clock: Clock) -> Committed:
        return writer.write(changes, clock)


class Observed:
    """Reads for a plan: records every answer, and gives the same one again."""

    def __init__(self, below: Reader, expected: Expected) -> None:
        self._below = below
        self._expected = expected
        self._known = expected.known or Expected()

    def get(self, space: str, id: str) -> Memory | None:
        seen = self._expected.memories
        return seen[space, id] if (space, id) in seen else next(iter(self.get_many(space, [id])), None)

    def get_many(self, space: str, ids: Sequence[str]) -> list[Memory]:
        seen, keys = self._expected.memories, [(space, id) for id in dict.fromkeys(ids)]
        seen.update({key: self._known.memories[key] for key in keys if key in self._known.memories and key not in seen})
        unknown = [key[1] for key in keys if key not in seen]
        if unknown:
            present = {memory.id: memory for memory in self._below.get_many(space, unknown)}
            seen.update({(space, id): present.get(id) for id in unknown})
        return [memory for key in keys if (memory := seen[key]) is not None]

    def term(self, kind: str, name: str) -> Data | None:
        key, seen, known = (kind, name), self._expected.terms, self._known.terms
        if key not in seen:
            seen[key] = known[key] if key in known else self._below.term(kind, name)
        return seen[key]

    def __getattr__(self, method: str) -> Callable[..., Any]:
        if method not in COMPARABLE:
            raise AttributeError(f"A plan cannot rely on {method!r}: its answers cannot be compared.")
        return lambda *args, **options: self._answer(ReadCall(method, f"{method} {args!r} {options!r}", args, options))

    def _answer(self, call: ReadCall) -> Any:
        seen, known = self._expected.answers, self._known.answers
        if call.key not in seen:
            # Nearly always nothing was written meanwhile, and the commit asks in any case.
            assumed: list[Any] | None = [] if call.method == "written_since" else None
            kept = known.get(call.key)
            seen[call.key] = (call, ask(self._below, call) if assumed is None else assumed) if kept is None else kept
        answer = seen[call.key][1]
        return iter(answer) if call.method in ("iterate", "values") else answer


def ask(reader: Reader, call: ReadCall) -> Any:
    answer = getattr(reader, call.method)(*call.args, **call.options)
    return list(answer) if isinstance(answer, Iterator) else answer


def compare(
    store: Reader, transaction: Transaction, changes: Iterable[AnyChange], expected: Expected
) -> tuple[dict[Key, Memory], Expected]:
    """Returns the current memories, and what differs from what the plan expected."""
    before = before_changes(changes)
    read = (pair for pair in expected.memories.items() if pair[1] is None or before.get(pair[0]) is not pair[1])
    relied_on = [*before.items(), *read]
    present: dict[Key, Memory] = {}
    for space in dict.fromkeys(space for (space, _), _ in relied_on):
        ids = dict.fromkeys(id for (of, id), _ in relied_on if of == space)
        present.update({(space, memory.id): memory for memory in transaction.get_many(space, list(ids))})
    actual = Expected({key: present.get(key) for key, memory in relied_on if not same(present.get(key), memory)})
    for key, data in expected.terms.items():
        now = transaction.term(*key)
        if now != data:
            actual.terms[key] = now
    for call, answer in expected.answers.values():
        if is_nothing_since(transaction, call):
            present_answer = [] if call.method == "written_since" else answer
        else:
            present_answer = ask(store, call)
        if comparable_part(call.method, present_answer) != comparable_part(call.method, answer):
            actual.answers[call.key] = (call, present_answer)
    if expected.embedder is not None and (bound := transaction.embedder()) != expected.embedder:
        actual.embedder = bound
    return present, actual


def is_nothing_since(transaction: Transaction, call: ReadCall) -> bool:
    """Whether the answer cannot have changed: the journal has no entry after the one that the call names."""
    return call.method in ("written_since", "last_positions") and transaction.last_seq(call.args[0]) == call.args[1]


def before_changes(changes: Iterable[AnyChange]) -> dict[Key, Memory | None]:
    """The expected state of each changed memory: `before` of its first change. It wins over what was read, because a
    restricted agent may not see the memory."""
    before: dict[Key, Memory | None] = {}
    for change in changes:
        if isinstance(change, Change):
            before.setdefault(changed_key(change), change.before)
    return before


def changed_key(change: Change) -> Key:
    return key_of(change.after or change.before)  # type: ignore[arg-type]  # it has one of them


def same(one: Memory | None, other: Memory | None) -> bool:
    """Uses are counted at any time, and change nothing that a plan relies on.

    The records are compared and not their versions: an id that was removed and written anew begins at 1 again.
    """
    if one is None or other is None:
        return one is other
    return one == other or with_uses_of(one, other) == other


def with_uses_of(memory: Memory, other: Memory) -> Memory:
    return replace(memory, last_accessed=other.last_accessed, access_count=other.access_count)


def comparable_part(method: str, answer: Any) -> Any:
    """What is compared of an answer: memories without their uses, and spaces without how many memories they have."""
    if isinstance(answer, Memory):
        return replace(answer, last_accessed=0.0, access_count=0)
    if isinstance(answer, Page):
        return comparable_part(method, answer.memories)
    if method == "spaces":
        return set(answer)
    return [comparable_part(method, each) for each in answer] if isinstance(answer, list) else answer


@dataclass(slots=True)
class ChangeSetWriter:
    """Writes one change set, whose expectations hold. `present` are the memories as they are by now."""

    transaction: Transaction
    present: dict[Key, Memory]
    operation: Operation | None
    recorded: list[tuple[int, tuple[str, str, Data | None, Data | None, str]]] = field(default_factory=list)
    changed: list[Key] = field(default_factory=list)
    scrubbed: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))  # ids, by space
    dropped: int = 0

    def write(self, changes: Iterable[AnyChange], clock: Clock) -> Committed:
        for change in changes:
            if isinstance(change, Change):
                self._change(change)
            elif isinstance(change, TermChange):
                if change.written:
                    self.transaction.put_term(change.kind, change.name, change.after)
                self._record(change.space, change.name, change.before, change.after, change.kind)
            elif isinstance(change, TermSet):
                self.transaction.put_term(change.kind, change.name, change.data)
            else:
                self._write_administrative(change)
        return Committed(self._append(clock), self._versions(), self.dropped)

    def _change(self, change: Change) -> None:
        key, after = changed_key(change), change.after
        before = self.present.get(key)
        if before and after and change.before and with_uses_of(after, change.before) == after:
            after = with_uses_of(after, before)
        seq = self._record(*key, *images(before, after)) if change.journaled else None
        self.changed.append(key)
        if after is None:
            self.transaction.remove(*key, seq)
            self.present.pop(key, None)
            return
        version, changed = 0 if before is None else before.version, not same(before, after)
        version += changed and self.operation is not None
        after = after if after.version == version else replace(after, version=version)
        self.transaction.put(after, change.derived, seq if changed else None)
        self.present[key] = after

    def _write_administrative(self, change: AnyChange) -> None:
        transaction = self.transaction
        match change:
            case Scrubbed():
                transaction.scrub(change)
                self.scrubbed[change.space].add(change.id)
                self._record(change.space, change.id, None, None)
            case SpacePurged():
                for id in transaction.purge_space(change.space):
                    self._record(change.space, id, None, None)
            case SpaceRenamed():
                transaction.rename_space(change.old, change.new)
                self._record(change.new, change.new, {"name": change.old}, {"name": change.new}, SPACE_NAME)
            case JournalDropped():
                self.dropped = transaction.drop_journal(change.space, change.upto)
                if self.dropped:
                    self._record(change.space, "", None, {"dropped": self.dropped}, JOURNAL)
            case Compressed():
                self.dropped += transaction.compress(change.space, change.ids)
            case EmbedderBound():
                transaction.bind_embedder(change.identity, anew=change.anew)
            case IndexesRebuilt():
                transaction.rebuild_indexes()

    def _record(self, space: str, id: str, before: Data | None, after: Data | None, kind: str = MEMORY) -> int | None:
        """The number of the entry; None where there is no operation, and nothing is recorded."""
        if self.operation is None:
            return None
        seq = self.transaction.next_seq(space)
        self.recorded.append((seq, (space, id, before, after, kind)))
        return seq

    def _append(self, clock: Clock) -> tuple[JournalEntry, ...]:
        """The time never runs backwards within a space: what was asked for as of a moment must stay the same answer."""
        if not self.recorded or self.operation is None:
            return ()
        at = max(clock(), *(self.transaction.last_at(space) for space in {rest[0] for _, rest in self.recorded}))
        operation = replace(self.operation, at=at)
        entries = tuple(self._without_scrubbed(JournalEntry(seq, operation, *rest)) for seq, rest in self.recorded)
        self.transaction.append(entries)
        return entries

    def _without_scrubbed(self, entry: JournalEntry) -> JournalEntry:
        """The operation may itself remove a link to what it scrubs."""
        gone = self.scrubbed.get(entry.space)
        return entry_without_link_data(entry, gone) if gone else entry

    def _versions(self) -> Mapping[Key, int]:
        spaces = dict.fromkeys(space for space, _ in self.changed)
        return {
            (space, memory.id): memory.version
            for space in spaces
            for memory in self.transaction.get_many(space, [id for of, id in self.changed if of == space])
        }


def entry_without_link_data(entry: JournalEntry, targets: Container[str]) -> JournalEntry:
    """Without the data of the links to these memories in its images."""
    if entry.kind != MEMORY:
        return entry
    before, after = (None if each is None else without_link_data(each, targets) for each in (entry.before, entry.after))
    return replace(entry, before=before, after=after)
