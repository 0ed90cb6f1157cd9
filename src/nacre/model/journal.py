"""What was done to the store and by whom, with the values before and after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from nacre.model.instants import iso
from nacre.model.memory import Json, Memory, short_id

MEMORY = "memory"
WITHHELD = "[REDACTED]"  # in the place of words that may be a secret
SPACE_NAME = "space_name"  # the kind of an entry that renames a space
MOVE = "move"  # the operation that moves memories to another space, and writes to the journals of both
MOVED = "other space"  # the kind of an entry that names the other one of the two spaces
HIDDEN_SPACE = ""  # instead of that name, for whom the space is not open
JOURNAL = "journal"  # the kind of an entry that says what the journal dropped
# The reason of operations that nobody asked for at the time.
UNATTENDED = "maintenance"
# A person at the command line. What they start is theirs: no tool puts its own name in this one's place.
PERSON = "cli"
# Tools journal under their own names, unless a person runs them.
TOOLS = ("import", "reflection", "consolidation", "decay", "confidence", "retention", "trash")
# Operations of upkeep: a memory that one of these changes is not used or kept by anybody thereby.
DECAY, FADE, RETAIN, REFLECT, CONSOLIDATE = "decay", "fade", "retain", "reflect", "consolidate"
UPKEEP_OPERATIONS = (DECAY, FADE, RETAIN, REFLECT, CONSOLIDATE)

# The kind, in each space, of the terms of undos that have begun and not ended. With blanks, so that no archive has it.
UNDO_UNDER_WAY = "undo under way"
# The kind, in each space, of the terms that say how far hooks have read transcripts.
READ_POSITION = "transcript"


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of one actor; it may change several memories, and all its entries share its `batch`."""

    name: str
    actor: str
    at: float
    batch: str
    why: str = ""

    @property
    def short_batch(self) -> str:
        """As a reader sees it and may name it."""
        return short_id(self.batch)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """`before` and `after` hold the changed fields alone, and of the links only those that came or went.

    A memory that did not exist has no `before`; one that is gone has no `after`. A purge keeps neither. `kind` is
    "memory", or the kind of a word of the store's vocabulary, whose name then stands in `memory_id`.
    """

    seq: int
    operation: Operation
    space: str
    memory_id: str
    before: Mapping[str, Json] | None
    after: Mapping[str, Json] | None
    kind: str = MEMORY
    damaged: bool = False


@dataclass(frozen=True, slots=True)
class JournalFilter:
    """Which entries are meant; None leaves a part free. `batch` may be its first characters."""

    memory_id: str | None = None
    batch: str | None = None
    operation: str | None = None
    actor: str | None = None
    since: float | None = None
    until: float | None = None
    after: int | None = None  # only entries written later than this one
    upto: int | None = None  # only entries written no later than this one
    memory_ids: tuple[str, ...] | None = None  # only entries about one of these


EVERYTHING = JournalFilter()


@dataclass(frozen=True, slots=True)
class OperationStatus:
    """An operation, how many entries it has and the first of them, and whether `undo` would take it back now.

    Where it would not, `reason` says why, and `blocked_by` are the later operations that depend on it, newest first.
    """

    operation: Operation
    entries: tuple[JournalEntry, ...]
    count: int
    undoable: bool
    reason: str = ""
    blocked_by: tuple[Operation, ...] = ()


@dataclass(frozen=True, slots=True)
class OperationNote:
    """An operation with the number of its entries, the ids of its first memories, and whether it was undone.

    `seq` is the number of its oldest entry: `before` in the next call continues the list there.
    """

    operation: Operation
    count: int
    memory_ids: tuple[str, ...]
    seq: int
    undone: bool = False


@dataclass(frozen=True, slots=True)
class TimelineBucket:
    """A day, week or month (UTC) that begins at `start`. `created` counts the memories that there are and were created
    in it, `changes` the journal entries written in it, `forgotten` what is in the trash and got there in it."""

    start: float
    day: str
    created: int
    changes: int
    forgotten: int


def renamed_to(entries: Iterable[JournalEntry]) -> str | None:
    """The name that a space has after the entries of an operation; None where none of them renames it."""
    return next((entry.space for entry in entries if entry.kind == SPACE_NAME), None)


def to_line(entry: JournalEntry) -> dict[str, Json]:
    """An entry as one line of JSON tells it, outside the store; its number means nothing there.

    Of whom it tells stands before what it tells, so that a line that was cut short betrays nobody unnamed.
    """
    operation = entry.operation
    line: dict[str, Json] = {
        "ts": operation.at,
        "at": iso(operation.at),
        "act": operation.name,
        "actor": operation.actor,
        "batch": operation.batch,
        "space": entry.space,
        "kind": entry.kind,
        "memory_id": entry.memory_id,
        "why": operation.why,
        "before": None if entry.before is None else dict(entry.before),
        "after": None if entry.after is None else dict(entry.after),
    }
    return {**line, "damaged": True} if entry.damaged else line


@dataclass(frozen=True, slots=True)
class Transition:
    """A value that changed. `old` and `new` are ids, the same one where a memory's own text was edited.

    `at` is when the older ceased to hold, as far as that is known, else when it was replaced.
    """

    old: str
    new: str
    before: str
    after: str
    at: float
    operation: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """All versions of one truth, oldest first, and what changed from each to the next."""

    versions: tuple[Memory, ...]
    transitions: tuple[Transition, ...] = ()

    def cleaned(self, clean: Callable[[Memory], Memory]) -> History:
        """With the versions as `clean` returns them. What replaced another memory quotes only the words that differ,
        and a secret that is quoted alone may not look like one: then it is left out."""
        versions = tuple(map(clean, self.versions))
        edits = {
            each: replace(each, before=clean(Memory("", each.before)).text, after=clean(Memory("", each.after)).text)
            for each in self.transitions
            if each.old == each.new
        }
        pairs = [(before.text, after.text) for before, after in zip(self.versions, versions, strict=True)]
        pairs += [
            pair for one, other in edits.items() for pair in ((one.before, other.before), (one.after, other.after))
        ]
        unchanged = all(before == after for before, after in pairs)
        lines = "\n".join(after for _, after in pairs)

        def quoted(text: str) -> str:
            return text if unchanged or text in lines else WITHHELD

        transitions = tuple(
            edits.get(each) or replace(each, before=quoted(each.before), after=quoted(each.after))
            for each in self.transitions
        )
        return replace(self, versions=versions, transitions=transitions)

    @property
    def head(self) -> Memory:
        return next((each for each in reversed(self.versions) if not each.superseded_by), self.versions[-1])


@dataclass(frozen=True, slots=True)
class Changed:
    """`fields` holds what each changed field was and became."""

    before: Memory
    after: Memory
    fields: Mapping[str, tuple[Json, Json]]


@dataclass(frozen=True, slots=True)
class Difference:
    """Between two moments of what the store knew. What was purged since is in neither."""

    added: tuple[Memory, ...] = ()
    removed: tuple[Memory, ...] = ()
    changed: tuple[Changed, ...] = ()
