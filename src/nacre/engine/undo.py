"""Takes operations back: turns their journal entries into the changes that reverse them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from heapq import merge
from itertools import islice
from shlex import quote
from typing import Any, NamedTuple, TypeAlias

from nacre.engine.engine import FOR_REVIEW, FORMER_NAMES, PURGE, RELATION, SPACE, UNDO, Engine, import_under_way
from nacre.engine.operation_parts import PART, PartSize, long_operation, refuse_stopped, undone_batches, undone_by
from nacre.engine.space_names import renamed, why_name_is_taken, why_others_would_enter
from nacre.errors import InvalidInput, NacreError, OperationNotFound, StoreFull, UndoBlocked, UndoRefused
from nacre.model import TYPES, Edge, Filter, JournalEntry, JournalFilter, Memory, Operation
from nacre.model.graph import RELATIONS
from nacre.model.journal import (
    HIDDEN_SPACE,
    MEMORY,
    MOVED,
    READ_POSITION,
    SPACE_NAME,
    TOOLS,
    UNATTENDED,
    UNDO_UNDER_WAY,
    OperationStatus,
)
from nacre.model.memory import (
    MAY_REPLACE,
    Json,
    by_target,
    difference,
    has_values,
    journaled,
    json_list,
    positioned,
    reverted,
    short_id,
)
from nacre.protocols import AnyChange, Backend, Change, Expected, Reader, TermChange, TermSet
from nacre.protocols import own_batches as batches_of_connection

log = logging.getLogger("nacre")

FINAL = (PURGE, "redact", "compact")  # operations that cannot be undone
MAKE_SPACES = ("create_space", "copy_space")  # operations in another space than that in which they are asked for
TYPE = "type"  # the kind of term that names a type of memories
UNFINISHED = "it could not be finished"  # the reason for taking an undo back
NAMED = 100  # dependent operations that are looked up at once
FIRST_ENTRIES = 100  # entries of an operation that its status has
LOOKED_AT = 4  # entries of an operation whose memories show whether it was undone: an undo writes to all of them
BATCH_LENGTH = 32  # characters of a complete batch
ACTOR_NAMES = {"cli": "the command line", "lib": "the library", "mcp": "the agents' tools"}  # for people
TOOL_ENTRIES = 32  # of each tool, to find its last operation
LOOK_BACK = (32, 1024, None)  # entries read to find the last operations; the first few are nearly always enough
Term: TypeAlias = Callable[[str, str], Mapping[str, Json] | None]  # the data of a term, by its kind and name


def undo(
    engine: Engine, space: str, batches: Sequence[str], *, cascade: bool = False, why: str = ""
) -> list[JournalEntry]:
    """Reverses operations, the newest first, as one new operation.

    Raises `UndoBlocked` when later operations depend on them; with `cascade` those are reversed as well.
    """
    finished = finish_interrupted(engine, space)
    batches = [batch for batch in batches if batch not in {each for undo in finished for each in undo.batches}]
    if finished and not batches:
        return [entry for undo in finished for entry in undo.written]
    refuse_undone(engine.store, space, batches)
    while True:
        refuse_hidden_space(engine.store, space, batches)
        if other := other_space(engine.store, space, batches):
            return undo_move(engine, (space, other), batches, why)
        try:
            return undo_exactly(engine, space, batches, why)
        except UndoBlocked as blocked:
            dependants = [each.batch for each in blocked.later if isinstance(each, Operation)]
            if not cascade or not set(dependants) - set(batches):
                raise
            batches = list(dict.fromkeys((*batches, *dependants)))


def named_in_both(space: str, other: str) -> list[AnyChange]:
    """What the journals of two spaces record of an operation that writes to both: the other one. A term of each space
    says it, too, which stays when its journal is compacted."""
    pairs = ((space, other), (other, space))
    entries = (TermChange(own, MOVED, there, None, {}, written=False) for own, there in pairs)
    return [*entries, *(TermSet(f"{MOVED}/{own}", there, {}) for own, there in pairs)]


def moved_with(reader: Reader, space: str) -> list[str]:
    """The spaces to or from which memories were moved, as they are called now, and those with which these did so."""
    spaces = [space]
    for each in spaces:  # grows
        names = reader.terms(f"{MOVED}/{each}")
        known = reader.terms(SPACE) if names else {}
        renamed = (now for now, data in known.items() if not names.keys().isdisjoint(json_list(data.get(FORMER_NAMES))))
        spaces += [other for other in dict.fromkeys((*names, *renamed)) if other not in spaces]
    return spaces[1:]


def other_space(store: Reader, space: str, batches: Sequence[str]) -> str:
    """The other space that one of these operations wrote to, as it is called now; empty where there is none, or where
    it is hidden."""
    moved = next(iter(entries_of_moves(store, space, batches)), None)
    if moved is None or moved.memory_id == HIDDEN_SPACE:
        return ""
    name, batch = moved.memory_id, JournalFilter(batch=moved.operation.batch)
    renamed = (each for each, data in store.terms(SPACE).items() if name in json_list(data.get(FORMER_NAMES)))
    return next((each for each in (name, *renamed) if store.journal(each, batch, limit=1)), name)


def entries_of_moves(store: Reader, space: str, batches: Sequence[str]) -> Iterator[JournalEntry]:
    """Those that name the other space."""
    for batch in batches:
        entries = store.journal(space, JournalFilter(batch=batch), limit=LOOKED_AT)
        yield from (entry for entry in entries if entry.kind == MOVED)


def refuse_hidden_space(store: Reader, space: str, batches: Sequence[str]) -> None:
    """Raises `UndoRefused` for a move to or from a space that is not open to whoever undoes it."""
    if any(entry.memory_id == HIDDEN_SPACE for entry in entries_of_moves(store, space, batches)):
        raise UndoRefused(
            "This operation moved memories between this space and one that is not open to you; let somebody undo it "
            "who may use both."
        )


def undo_move(engine: Engine, spaces: tuple[str, str], batches: Sequence[str], why: str) -> list[JournalEntry]:
    """Of memories that were moved between these spaces, or moved back by an undo: in one transaction of both."""

    def plan(reader: Reader) -> list[AnyChange]:
        return reversed_move(engine, reader, spaces, batches)

    named = ",".join(batches)
    return list(engine.write(engine.operation(UNDO, f"{named}: {why}" if why else named), plan).entries)


def reversed_move(engine: Engine, reader: Reader, spaces: tuple[str, str], batches: Sequence[str]) -> list[AnyChange]:
    if len(batches) > 1:
        moves = [batch for batch in batches if other_space(reader, spaces[0], [batch])]
        named = ", ".join(map(short_id, moves))
        raise UndoRefused(f"A move to another space ({named}) can only be undone alone; name that operation alone.")
    changes: list[AnyChange] = []
    for space in spaces:
        entries = list(pages_of(reader, space, batches[0], None))
        if not any(entry.kind == MEMORY for entry in entries):
            raise UndoRefused(
                f"The journal of the space {space!r} no longer has its part of this operation; "
                "move the memories back by their ids."
            )
        try:
            changes += Reversal(entries, batches, reader).changes(engine)
        except UndoBlocked as blocked:  # what comes first may be in the other space, and is never undone with it
            remedy = f"undo the later operations in the space {space!r} first"
            raise UndoBlocked(blocked.subject, blocked.later, blocked.state, remedy) from blocked
    return [*changes, *named_in_both(*spaces)]


def check(engine: Engine, space: str, batches: Sequence[str]) -> None:
    """Raises what an undo of these operations would raise now; nothing is written."""
    first = next(parts(engine.store, space, batches), None)
    if first is None:
        raise OperationNotFound(", ".join(batches))
    refuse_undone(engine.store, space, batches)
    refuse_hidden_space(engine.store, space, batches)
    if other := other_space(engine.store, space, batches):
        reversed_move(engine, engine.store.observed(Expected()), (space, other), batches)
    elif first.more:
        check_all(engine.store, space, batches)
    else:
        Reversal(first.entries, batches, engine.store.observed(Expected())).changes(engine)


def refuse_undone(store: Backend, space: str, batches: Sequence[str]) -> None:
    """Raises `UndoRefused` for what was undone already. The present cannot tell: the same may have been done once more
    since, by an import of the same file."""
    for batch in batches:
        entries = store.journal(space, JournalFilter(batch=batch), limit=LOOKED_AT)
        later = {
            entry.seq: entry
            for written in entries
            for entry in store.journal(space, JournalFilter(memory_id=written.memory_id, after=written.seq))
        }
        undone = undone_by(later[seq].operation for seq in sorted(later, reverse=True))
        if batch in undone:
            by = undone[batch].short_batch
            raise UndoRefused(f"This operation was undone already (by {by}); `nacre undo {by}` does it again.")


def status(engine: Engine, space: str, batch: str) -> OperationStatus:
    """Raises `OperationNotFound`."""
    entries = engine.store.journal(space, JournalFilter(batch=batch), limit=FIRST_ENTRIES)
    if not entries:
        raise OperationNotFound(batch)
    count = len(entries)
    if count == FIRST_ENTRIES:
        count = sum(1 for _ in pages_of(engine.store, space, batch, None))
    reason, later = "", tuple[Operation, ...]()
    try:
        check(engine, space, [batch])
    except UndoBlocked as blocked:
        reason, later = str(blocked), tuple(each for each in blocked.later if isinstance(each, Operation))
    except UndoRefused as refused:
        reason = str(refused)
    return OperationStatus(entries[0].operation, tuple(entries[::-1]), count, not reason, reason, later)


def undo_exactly(engine: Engine, space: str, batches: Sequence[str], why: str) -> list[JournalEntry]:
    """In parts, in memory that does not grow with the number of entries; few entries are one transaction.

    Of the entries after the first part, only the names are returned.
    """
    first = next(parts(engine.store, space, batches), None)
    if first is None:
        raise OperationNotFound(", ".join(batches))
    named = ",".join(batches)
    with long_operation() if first.more else nullcontext():
        if first.more:
            check_all(engine.store, space, batches)
        return LongUndo(space, engine.operation(UNDO, f"{named}: {why}" if why else named)).write(engine)


@dataclass(slots=True)
class LongUndo:
    """An undo that is written in parts. From the first part to the last a term tells how far it has come, so that any
    process can finish one that was killed."""

    space: str
    operation: Operation
    takes_back: str = ""  # the batch of another such undo, which could not be finished
    upto: int | None = None  # the newest entry that is left; None before the first part
    written: list[JournalEntry] = field(default_factory=list)

    @classmethod
    def interrupted(cls, store: Reader, space: str) -> list[LongUndo]:
        """Those that did not end. One of them may be under way in another process."""
        return [cls.read(space, batch, data) for batch, data in store.terms(f"{UNDO_UNDER_WAY}/{space}").items()]

    @classmethod
    def read(cls, space: str, batch: str, data: Mapping[str, Any]) -> LongUndo:
        return cls(space, Operation(UNDO, data["actor"], 0.0, batch, data["why"]), data["takes_back"], data["upto"])

    @property
    def batches(self) -> list[str]:
        return undone_batches(self.operation)

    @property
    def term(self) -> tuple[str, str]:
        return f"{UNDO_UNDER_WAY}/{self.space}", self.operation.batch

    @property
    def state(self) -> dict[str, Json] | None:
        """What `read` reads."""
        if self.upto is None:
            return None
        done = self.operation
        return {"actor": done.actor, "why": done.why, "takes_back": self.takes_back, "upto": self.upto}

    def write(self, engine: Engine) -> list[JournalEntry]:
        """Where it cannot be finished, what it has written is taken back; on a full disk it waits to be finished."""
        try:
            while self._write(engine):
                continue
        except StoreFull as full:
            if self.upto is None:
                raise
            kept = "the undo has begun and is not complete. Free some space, and `nacre undo` completes it."
            raise StoreFull(full.path, kept) from full
        except BaseException:
            if self.upto is not None and not self.takes_back:
                batch = self.operation.batch
                with suppress(OperationNotFound):  # an agent cannot see what it wrote; its next undo finishes this one
                    LongUndo(self.space, engine.operation(UNDO, f"{batch}: {UNFINISHED}"), batch).write(engine)
            raise
        return self.written

    def _write(self, engine: Engine) -> bool:
        """Whether something is left, because another process wrote the next part. Raises `OperationNotFound` where no
        entry is left to undo."""
        sizes, met = PartSize(PART), False
        for part in parts(engine.store, self.space, self.batches, self.upto, sizes):
            met = True
            upto = part.entries[-1].seq - 1 if part.more else None
            try:
                done = undo_part(engine, self, part.entries, replace(self, upto=upto).state, sizes)
            except UndoRefused as refused:
                if self.upto is None and isinstance(refused, Overtaken):
                    return True
                if self.upto is None or engine.store.term(*self.term) == self.state:
                    raise
                return self._goes_on(engine.store)
            self.written += map(without_fields, done) if self.written else done
            self.upto = upto
        if self.upto is None:
            if not met:  # somebody compacted the journal meanwhile
                raise OperationNotFound(", ".join(self.batches))
            return False
        if engine.store.term(*self.term) != self.state:
            return self._goes_on(engine.store)
        engine.store.commit([TermSet(*self.term, None)])  # the rest is gone from the journal
        return False

    def _goes_on(self, store: Backend) -> bool:
        """From where another process has brought it; False when that one has ended it. Raises `UndoRefused` when it has
        taken it back, and `OperationStopped` when the space was renamed or deleted."""
        batch, state = self.operation.batch, store.term(*self.term)
        if state is not None:
            self.upto = self.read(self.space, batch, state).upto
            return True
        self.upto = None
        last = self.written[-1].memory_id if self.written else None
        later = [undo.operation for undo in self.interrupted(store, self.space)]
        later += [entry.operation for entry in store.journal(self.space, JournalFilter(memory_id=last))] if last else []
        if any(batch in undone_batches(each) for each in later):
            raise UndoRefused("Somebody took this undo back before it was complete; nothing was undone. Try it again.")
        if self.written:
            refuse_stopped(store, self.space, self.operation, self.written[-1:])
        return False


def batches_under_way(store: Reader, space: str) -> list[str]:
    """Those of an import or undo that has not ended, and what the undo takes back."""
    kind, name = import_under_way(space)
    imported = (store.term(kind, name) or {}).get("batch")
    undos = LongUndo.interrupted(store, space)
    batches = [*(undo.operation.batch for undo in undos), *(each for undo in undos for each in undo.batches)]
    return batches if imported is None else [str(imported), *batches]


class Overtaken(UndoRefused):
    """Another process wrote the next part of an undo, or of the operation that is undone, or has compacted it away."""


def finish_interrupted(engine: Engine, space: str) -> list[LongUndo]:
    """Finishes the undos that were killed, and returns them; what cannot be finished is taken back.

    Raises `StoreFull`.
    """
    finished = []
    for undo in LongUndo.interrupted(engine.store, space):
        named = undo.operation.short_batch
        try:
            undo.write(engine)
        except StoreFull:
            raise
        except NacreError as error:
            log.warning("The undo %s was interrupted before, and could not be finished: %s", named, error)
        else:
            log.warning("The undo %s was interrupted before; it is finished now.", named)
            finished.append(undo)
    return finished


def undo_part(
    engine: Engine, undo: LongUndo, entries: Sequence[JournalEntry], state: Mapping[str, Json] | None, sizes: PartSize
) -> list[JournalEntry]:
    """`state` is that of the undo after this part. Raises `Overtaken`."""
    planned = 0.0
    # Of many, nearly all are what their entries say, as `check_all` saw. Where one is not, the commit finds it.
    assumed = undo.state != state and not engine.versions

    def plan(reader: Reader) -> list[AnyChange]:
        nonlocal planned, assumed
        if undo.upto is not None and reader.term(*undo.term) != undo.state:
            raise Overtaken
        if undo.upto is None:  # later parts see that the operation is being undone, and a compaction leaves it
            last = (reader.journal(undo.space, JournalFilter(batch=batch), limit=1) for batch in undo.batches)
            if max((entry.seq for newest in last for entry in newest), default=None) != entries[0].seq:
                raise Overtaken
        changes = Reversal(entries, undo.batches, reader, assumed=assumed).changes(engine)
        assumed = False
        if undo.state != state:
            changes.append(TermSet(*undo.term, state))
        if undo.upto is None and undo.takes_back:
            changes.append(TermSet(undo.term[0], undo.takes_back, None))
        changes += forget_import(reader, undo.space, undo.batches)
        planned = time.monotonic()
        return changes

    written = list(engine.write(undo.operation, plan).entries)
    sizes.took(time.monotonic() - planned)
    return written


class Part(NamedTuple):
    entries: list[JournalEntry]
    more: bool  # whether others follow


def parts(
    store: Backend, space: str, batches: Sequence[str], upto: int | None = None, sizes: PartSize | None = None
) -> Iterator[Part]:
    """The entries of these operations, newest first, a few hundred at a time. Raises `UndoRefused` for final ones."""
    sizes = sizes or PartSize(PART)
    entries = merge(*(pages_of(store, space, batch, upto) for batch in batches), key=lambda entry: -entry.seq)
    part = list(islice(entries, sizes.size))
    while part:
        final = next((entry.operation for entry in part if entry.operation.name in FINAL), None)
        if final is not None:
            raise UndoRefused(f"A {final.name} cannot be undone; what it took is gone for good. A backup may have it.")
        if any(entry.operation.name == UNDO and entry.operation.why.endswith(f": {UNFINISHED}") for entry in part):
            raise UndoRefused("That took back an undo that was not complete; undo the first operation itself instead.")
        following = list(islice(entries, sizes.size))
        yield Part(part, bool(following))
        part = following


def pages_of(store: Reader, space: str, batch: str, upto: int | None) -> Iterator[JournalEntry]:
    where = JournalFilter(batch=batch, upto=upto)
    while page := store.journal(space, where, limit=PART):
        yield from (entry for entry in page if entry.operation.batch == batch)
        where = replace(where, upto=page[-1].seq - 1)


def check_all(store: Backend, space: str, batches: Sequence[str]) -> None:
    """Raises what would stop the undo of many entries, before its first part is written: the last entry of each memory
    decides whether a later operation changed it."""
    checked: set[int] = set()
    going: set[int] = set()  # of those, what the undo removes
    of_terms: list[JournalEntry] = []
    types: dict[str, str] = {}  # that memories would get back, by their ids
    for entries, _ in parts(store, space, batches):
        of_memories = [entry for entry in entries if entry.kind == MEMORY]
        of_terms += (entry for entry in entries if entry.kind != MEMORY)
        for entry in of_memories:
            if entry.before is None:
                types.pop(entry.memory_id, None)
            elif "type" in entry.before and entry.before["type"] not in TYPES:
                types[entry.memory_id] = str(entry.before["type"])
        last = {entry.memory_id: entry for entry in reversed(of_memories) if hash(entry.memory_id) not in checked}
        if last:
            checked.update(map(hash, last))
            newest = list(last.values())[::-1]
            reversal = Reversal(newest, batches, store, going)
            going.update(hash(id) for id, (_, after) in reversal.memories().items() if after is None)
            reversal.refuse_dangling_links()
    reversal = Reversal(of_terms, batches, store, checked)
    changes = [change for change in reversal.terms(store.term) if not reversal.is_needed(change)]
    refuse_unregistered_types(types, changes, store.term)


def refuse_unregistered_types(types: Mapping[str, str], changes: Iterable[TermChange], term: Term) -> None:
    """A memory that comes back may be of a type that was unregistered meanwhile."""
    registered = {change.name for change in changes if change.kind == TYPE and change.after is not None}
    for id, type in types.items():
        if type not in TYPES and type not in registered and term(TYPE, type) is None:
            raise UndoRefused(f"{id} is of the type {type!r}, which is not registered; register it first.")


def without_fields(entry: JournalEntry) -> JournalEntry:
    return replace(entry, before=None if entry.before is None else {}, after=None if entry.after is None else {})


def forget_import(reader: Reader, space: str, batches: Sequence[str]) -> list[TermSet]:
    """An interrupted import that was undone cannot be resumed."""
    term = import_under_way(space)
    return [TermSet(*term, None)] if (reader.term(*term) or {}).get("batch") in batches else []


def in_effect(entries: Iterable[JournalEntry]) -> list[Operation]:
    """The operations, of entries newest first, that were not undone; undos themselves are left out."""
    by_batch: dict[str, Operation] = {}
    for entry in entries:  # the parts of a long operation have times of their own
        by_batch.setdefault(entry.operation.batch, entry.operation)
    undone = undone_by(by_batch.values())
    return [each for each in by_batch.values() if each.batch not in undone and each.name != UNDO]


class LastRefused(UndoRefused):
    """One of the last operations is known, and is none that can be undone without being named. `at` is its time: a
    reader of two spaces must not take an older operation of the other one for the last."""

    def __init__(self, at: float, message: str) -> None:
        super().__init__(message)
        self.at = at


def last_batches(engine: Engine, space: str, count: int, *, any_actor: bool = False) -> list[str]:
    """The newest operations that can be undone: the engine's own, and only those of the connection where that is known,
    or those of anybody; those of an undo that was interrupted before all others. Raises `UndoRefused`."""
    if count < 1:
        raise InvalidInput(f"{count} operations cannot be undone; give 1 or more.")
    for undo in LongUndo.interrupted(engine.store, space):
        if any_actor or undo.operation.actor == engine.actor:
            return undo.batches  # whoever asks again means the same ones
    refuse_elsewhere(engine, space, any_actor=any_actor)
    for limit in LOOK_BACK:
        entries = engine.store.journal(space, JournalFilter(actor=None if any_actor else engine.actor), limit=limit)
        if any_actor:
            batches = reversible(in_effect(entries), readable(entries), count)
        else:
            known = batches_of_connection.get()
            own = [each for each in entries if known is None or each.operation.batch in known]
            batches = own_batches(engine, space, own, count, complete=limit is None or len(entries) < limit)
        if len(batches) == count or limit is None or len(entries) < limit:
            break
    if not batches:
        raise nothing_left(engine, space, any_actor=any_actor)
    if len(batches) < count:
        available = "1 operation" if len(batches) == 1 else f"{len(batches)} operations"
        raise UndoRefused(f"Only {available} can be undone; `nacre journal` lists them.")
    return batches


def nothing_left(engine: Engine, space: str, *, any_actor: bool) -> UndoRefused:
    if not engine.store.journal(space, JournalFilter(), limit=1):
        return UndoRefused("Nothing has been done in this space yet, so there is nothing to undo.")
    if any_actor:
        return UndoRefused("There is nothing to undo in this space.")
    if batches_of_connection.get() is not None:
        return UndoRefused(
            "Nothing that was done in this session is left to undo; `nacre journal` lists what was done."
        )
    return UndoRefused(
        f"Nothing done by {ACTOR_NAMES.get(engine.actor, repr(engine.actor))} is left to undo in this space; name the "
        "operation that you mean (`nacre journal` lists them), or undo the last one of anybody with `--any`."
    )


def refuse_elsewhere(engine: Engine, space: str, *, any_actor: bool) -> None:
    """Raises `UndoRefused` where the engine's last operation has made or filled another space: to take back an older
    one of this space is not what is meant."""
    own = JournalFilter(actor=None if any_actor else engine.actor)
    since = max((entry.operation.at for entry in engine.store.journal(space, own, limit=1)), default=0.0)
    for other in sorted({*engine.store.spaces(), *engine.store.terms(SPACE)} - {space}):
        for entry in engine.store.journal(other, limit=1):
            last = entry.operation
            if last.name in MAKE_SPACES and last.actor == engine.actor and last.at > since:
                raise LastRefused(
                    last.at,
                    f"The last operation ({last.name} {last.short_batch}) was in the space {other!r}; "
                    f"`nacre --space {quote(other)} undo` takes it back. Or name the operation of this space that you "
                    "mean: `nacre journal` lists them.",
                )


def own_batches(
    engine: Engine, space: str, entries: Sequence[JournalEntry], count: int, *, complete: bool
) -> list[str]:
    """Of these entries of the engine's actor, and of what it wrote under the name of a tool.

    Refuses when a tool wrote last for somebody unknown: it is neither certainly ours nor certainly another's.
    """
    journal = engine.store.journal
    under_other_names = [
        entry
        for batch in engine.renamed_batches
        for entry in journal(space, JournalFilter(batch=batch), limit=TOOL_ENTRIES)
    ]
    oldest = min((entry.seq for entry in entries), default=0)
    own = [*entries, *(entry for entry in under_other_names if complete or entry.seq > oldest)]
    if not own:
        return []
    since = JournalFilter(after=min(entry.seq for entry in own))
    undos = journal(space, replace(since, operation=UNDO))
    tools = [entry for tool in TOOLS for entry in journal(space, replace(since, actor=tool), limit=TOOL_ENTRIES)]
    known = sorted({entry.seq: entry for entry in (*own, *undos, *tools)}.values(), key=lambda entry: -entry.seq)
    ours = {entry.operation.batch for entry in own}
    operations = [
        operation
        for operation in in_effect(known)
        if operation.batch in ours or (operation.actor in TOOLS and operation.why != UNATTENDED)
    ]
    batches = reversible(operations, readable(known), count)
    tool = next((each for each in operations if each.batch in batches and each.batch not in ours), None)
    if tool is not None:
        raise LastRefused(
            tool.at,
            f"The last operation ({tool.name}) was written by the tool {tool.actor!r}, perhaps for somebody else. "
            f"Undo it by its name, {tool.short_batch}, or name the operation that you mean: `nacre journal` lists "
            "them.",
        )
    return batches


def readable(entries: Iterable[JournalEntry]) -> set[str]:
    """The batches of which something is left that can be reversed: not only that two spaces are named in it."""
    left = (entry for entry in entries if entry.damaged or (entry.before, entry.after) != (None, None))
    return {entry.operation.batch for entry in left if entry.kind != MOVED}


def reversible(operations: Iterable[Operation], readable: Collection[str], count: int) -> list[str]:
    """The first batches that can be undone; refuses when one among them cannot.

    What maintenance removed is passed over, with everything that was ever done to it: it may have come between a
    person's operation and their undo.
    """
    candidates = [
        operation
        for operation in operations
        if (operation.why != UNATTENDED if operation.name in FINAL else operation.batch in readable)
    ]
    at = next((at for at, operation in enumerate(candidates[:count]) if operation.name in FINAL), None)
    if at is not None:
        final = candidates[at]
        older = next((each for each in candidates[at + 1 :] if each.name not in FINAL), None)
        remedy = (
            f"`nacre undo {older.short_batch}` undoes the {older.name} before it, `nacre journal` lists all others."
            if older
            else "name the operation that you mean: `nacre journal` lists them."
        )
        which = f"One of the last {count} operations" if at else "The last operation"
        raise LastRefused(final.at, f"{which} ({final.name} {final.short_batch}) cannot be undone; {remedy}")
    return [operation.batch for operation in candidates[:count]]


def resolve_batch(store: Backend, space: str, prefix: str) -> str:
    """The only batch that begins so. Raises `OperationNotFound` or `InvalidInput`."""
    if len(prefix) >= BATCH_LENGTH:
        return prefix
    entries = store.journal(space, JournalFilter(batch=prefix)) if prefix else []
    batches = dict.fromkeys(entry.operation.batch for entry in entries)
    if not batches:
        raise OperationNotFound(prefix)
    if len(batches) > 1:
        raise InvalidInput(f"{len(batches)} operations begin with {prefix!r}; give more characters.")
    return next(iter(batches))


@dataclass(slots=True)
class Reversal:
    """Goes back entry by entry from the current state, and refuses at the first that something later depends on."""

    entries: Sequence[JournalEntry]  # newest first
    batches: Sequence[str]  # of all operations that are undone; these entries may be a part of theirs
    store: Reader
    besides: Collection[int] = ()  # hashes of the ids of memories whose types and links are not looked at
    current: dict[str, Memory | None] = field(default_factory=dict)
    after: dict[str, Memory | None] = field(default_factory=dict)
    assumed: bool = False  # whether what was created is taken to be as it was, which the commit compares

    @property
    def space(self) -> str:
        return self.entries[0].space

    def changes(self, engine: Engine) -> list[AnyChange]:
        pairs = {id: pair for id, pair in self.memories().items() if pair != (None, None)}
        terms = self.terms(self.store.term)
        self.refuse_dangling_links()
        terms = [change for change in terms if not self.is_needed(change)]
        refuse_unregistered_types(self._types(), terms, self.store.term)
        derived = engine.prepare((now, after) for now, after in pairs.values() if after is not None)
        memories = (
            Change(now, self._without_purged_targets(now, after), derived.get(id)) for id, (now, after) in pairs.items()
        )
        return [*memories, *terms, *self.space_name()]

    def refuse_dangling_links(self) -> None:
        """Raises `UndoBlocked` when other operations linked memories to one that would go, since it was created. One
        that goes, too, has only links of the operations that are undone: otherwise it would have been refused. A link
        to what a memory may replace, which nobody asked for, leads nowhere then."""
        created = {
            entry.memory_id: entry
            for entry in self.entries
            if entry.kind == MEMORY and entry.before is None and self.after[entry.memory_id] is None
        }
        edges = self.store.edges(self.space, into=list(created)) if created else []
        for edge in edges:
            goes_too = hash(edge.source) in self.besides or self.after.get(edge.source, self) is None
            if goes_too or edge.rel == MAY_REPLACE:
                continue
            if later := self._linked_since(self.space, edge, created[edge.target].seq):
                raise UndoBlocked(edge.target, later, f"was linked from {edge.source}")

    def _linked_since(self, space: str, edge: Edge, seq: int) -> list[Operation]:
        """The operations, besides those that are undone, that made this link."""
        entries = self.store.journal(space, JournalFilter(memory_id=edge.source, after=seq))
        key = (edge.target, edge.rel)
        made = {e.operation.batch for e in entries if key in link_keys(e.after) and key not in link_keys(e.before)}
        return [each for each in in_effect(entries) if each.batch in made and each.batch not in self.batches]

    def is_needed(self, change: TermChange) -> bool:
        """Whether other operations use a term that would go: one that was learned from a link then stays. For one that
        somebody registered this raises `UndoBlocked`."""
        if change.after is not None or change.kind not in (RELATION, TYPE) or change.name in RELATIONS:
            return False
        later = self._typed(change.name) if change.kind == TYPE else self._related(change.name)
        if not later or FOR_REVIEW in (change.before or {}):
            return bool(later)
        raise UndoBlocked(f"The {change.kind} {change.name!r}", later, "is in use")

    def _related(self, name: str) -> list[Operation]:
        """The first other operation that made a link of this relation, in any space."""
        edges = (
            (space, edge)
            for space in self.store.spaces()
            for edge in self.store.edges(space, rels=[name])
            if space != self.space or not (hash(edge.source) in self.besides or self._loses(edge))
        )
        return next(filter(None, (self._linked_since(space, edge, 0) for space, edge in edges)), [])

    def _loses(self, edge: Edge) -> bool:
        """Whether this undo takes the link away."""
        if edge.source not in self.after:
            return False
        after = self.after[edge.source]
        return after is None or all((link.to, link.rel) != (edge.target, edge.rel) for link in after.links)

    def _typed(self, name: str) -> list[Operation]:
        """The other operations that gave memories this type. Raises `UndoRefused` where they cannot be undone too."""
        typed = Filter.where(type=name)
        for other in self.store.spaces():
            if other != self.space and self.store.count(other, typed):
                raise UndoRefused(f"The type {name!r} is in use in the space {other!r}; edit or purge those memories.")
        operations: dict[Operation, None] = {}
        for (id,) in self.store.values(self.space, typed, ("id",)):
            if hash(id) in self.besides or (id in self.after and getattr(self.after[id], "type", "") != name):
                continue
            entries = self.store.journal(self.space, JournalFilter(memory_id=id))
            gave = {entry.operation.batch for entry in entries if (entry.after or {}).get("type") == name}
            of_type = [operation for operation in in_effect(entries) if operation.batch in gave][:1]
            if not of_type:
                raise UndoRefused(f"The type {name!r} is in use by {id}; edit or purge that memory first.")
            operations |= {each: None for each in of_type if each.batch not in self.batches}
            if len(operations) >= NAMED:
                break
        return list(operations)

    def _types(self) -> dict[str, str]:
        """Those that memories would get back, by their ids."""
        pairs = ((id, self.current[id], after) for id, after in self.after.items() if after is not None)
        return {id: after.type for id, now, after in pairs if now is None or now.type != after.type}

    def _without_purged_targets(self, now: Memory | None, after: Memory | None) -> Memory | None:
        """Links to a purged memory went with it, and must not come back for another one with its id."""
        if after is None:
            return None
        had = {link.to for link in now.links} if now is not None else set()
        back = {link.to for link in after.links} - had
        gone = {to for to in back if self.after.get(to) is None and self._was_purged(after.space, to)}
        return replace(after, links=tuple(link for link in after.links if link.to not in gone)) if gone else after

    def _was_purged(self, space: str, id: str) -> bool:
        """A purge also has entries, with their fields, of the memories that it took links from."""
        last = self.store.journal(space, JournalFilter(memory_id=id), limit=1)
        return any(e.operation.name == PURGE and e.before is None and e.after is None for e in last)

    def memories(self) -> dict[str, tuple[Memory | None, Memory | None]]:
        """Each memory as it is, and as it would be after the undo; None where it does not exist."""
        of_memories = [entry for entry in self.entries if entry.kind == MEMORY]
        ids = list(dict.fromkeys(entry.memory_id for entry in of_memories))
        assumed: dict[str, Memory] = {}
        if self.assumed and len(ids) == len(of_memories):
            created = (entry for entry in of_memories if entry.before is None and entry.after)
            assumed = {entry.memory_id: as_created(entry) for entry in created}
        read = [id for id in ids if id not in assumed]
        present = {memory.id: memory for memory in self.store.get_many(self.space, read)} if read else {}
        self.current = {id: assumed.get(id) or present.get(id) for id in ids}
        self.after = {id: None if id in assumed else memory for id, memory in self.current.items()}
        for entry in of_memories:
            if entry.memory_id not in assumed:
                self.after[entry.memory_id] = self._reversed(entry, self.after[entry.memory_id])
        return {id: (self.current[id], after) for id, after in self.after.items()}

    def _reversed(self, entry: JournalEntry, current: Memory | None) -> Memory | None:
        if entry.damaged:
            raise UndoRefused(
                f"The journal entry of {entry.memory_id} in this operation is damaged; nothing was undone. "
                "`nacre doctor` examines the store; a backup may have the entry."
            )
        if entry.before is None and entry.after is None:
            state = "purged" if current is None else "redacted"
            raise UndoRefused(f"{entry.memory_id} was {state}; what is {state} is gone for good.")
        if entry.after is None:
            if current is not None:
                raise UndoRefused(
                    f"{entry.memory_id} exists again: its removal was undone already, or its id is used anew. "
                    "`nacre journal` shows which."
                )
            return replace(Memory.from_dict(entry.before or {}), space=entry.space)  # it may have been renamed since
        if current is None or not is_result(current, entry):
            gone = ("is no longer there",) if current is None else ()
            raise UndoBlocked(entry.memory_id, self._later(entry), *gone)
        return None if entry.before is None else reverted(current, entry.before, entry.after)

    def _later(self, entry: JournalEntry) -> list[Operation]:
        return in_effect(self.store.journal(entry.space, JournalFilter(memory_id=entry.memory_id, after=entry.seq)))

    def terms(self, term: Term) -> list[TermChange]:
        changes: dict[tuple[str, str], TermChange] = {}
        for entry in self.entries:
            if entry.kind not in (MEMORY, SPACE_NAME, MOVED):
                key = (entry.kind, entry.memory_id)
                stored = changes[key].before if key in changes else term(*key)
                current = changes[key].after if key in changes else stored
                expected, after = entry.after, entry.before
                if entry.kind == SPACE:  # its former names are no operation's to take back
                    expected, after = (with_former_names(each, current) for each in (expected, after))
                # Earlier versions journaled read positions. They stay, or the next hook would store the turns again.
                if entry.kind == f"{READ_POSITION}/{entry.space}":
                    expected = after = current
                if current != expected:
                    raise UndoBlocked(f"The {entry.kind} {entry.memory_id!r}", self._later(entry))
                changes[key] = TermChange(entry.space, *key, stored, after)
        return list(changes.values())

    def space_name(self) -> list[AnyChange]:
        """The change that takes a space's new name back; no other operation can be undone together with it."""
        entry = next((entry for entry in self.entries if entry.kind == SPACE_NAME), None)
        if entry is None:
            return []
        old, new = str((entry.before or {}).get("name")), str((entry.after or {}).get("name"))
        if len(self.entries) > 1:
            raise UndoRefused("The renaming of a space can only be undone alone; name that operation alone.")
        if entry.space != new:
            raise UndoRefused(f"The space was renamed to {entry.space!r} since; undo that first.")
        if old in self.store.spaces():
            raise UndoRefused(f"There is a space {old!r} again; rename that one first.")
        if reason := why_name_is_taken(self.store, old) or why_others_would_enter(self.store, new, old):
            raise UndoRefused(reason)
        return renamed(self.store, new, old)


def with_former_names(data: Mapping[str, Json] | None, current: Mapping[str, Json] | None) -> Mapping[str, Json] | None:
    """The data of a space's term, with the names that the space has had by now."""
    former = {key: names for key, names in (current or {}).items() if key == FORMER_NAMES}
    if data is None and not former:
        return None
    return {key: value for key, value in (data or {}).items() if key != FORMER_NAMES} | former


def as_created(entry: JournalEntry) -> Memory:
    """With the space's present name."""
    return Memory.from_dict({**(entry.after or {}), "id": entry.memory_id, "space": entry.space})


def link_keys(fields: Mapping[str, Json] | None) -> set[tuple[str, str]]:
    """Targets and relations of the links in the journaled fields of a memory."""
    return set(by_target([link for _, link in positioned(json_list((fields or {}).get("links")))]))


def is_result(current: Memory, entry: JournalEntry) -> bool:
    """True when the memory still has the values that the entry wrote."""
    if entry.before is None:
        written = entry.after or {}
        if journaled(current.to_dict()) == journaled(written):  # as nearly always
            return True
        return not difference(current, Memory.from_dict(written))
    return has_values(current, entry.after or {})
