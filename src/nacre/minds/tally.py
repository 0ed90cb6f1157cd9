"""Counts an agent's experiences and their size, without reading them all each time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast

from nacre.errors import AccessDenied, StorageError
from nacre.minds.experience import COMPRESSED, PREFIX, TYPE, ExperienceType, is_experience
from nacre.model import Filter, JournalEntry, JournalFilter, Memory
from nacre.model.difference import set_back
from nacre.model.journal import MEMORY
from nacre.model.memory import Json, size
from nacre.protocols import Backend

# The term of a space's vocabulary that stores a tally; archives leave out kinds with a blank in their name.
TERM_KIND, TERM_NAME = "experience tally", "kept"
MAX_ENTRIES = 10_000  # entries of the journal that are read at once; beyond, all is counted anew
SAVE_EVERY = 1_000  # entries of the journal that a process may have to read before its first answer; some 20 ms
# A file grows by the record, its words, the journal's copy and a vector of 384 halves; measured, see the tests.
COPIES, VECTOR = 3, 768
EXPERIENCES = Filter.where(metadata__experience_type__in=tuple(ExperienceType))


@dataclass(slots=True)
class Tally:
    """The experiences as of the journal entry `seq`; trashed, archived and superseded ones do not count."""

    seq: int = 0
    bytes: int = 0
    compressed: int = 0
    by_type: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.by_type.total()

    def count(self, memory: Memory | None, sign: int) -> None:
        hidden = memory is None or memory.status in ("trashed", "archived") or memory.superseded_by
        if memory is not None and not hidden and is_experience(memory):
            self.bytes += sign * footprint(memory)
            self.compressed += sign * bool(memory.metadata.get(COMPRESSED))
            self.by_type[str(memory.metadata[TYPE])] += sign

    def to_dict(self) -> dict[str, Json]:
        kinds = cast(Json, {name: count for name, count in self.by_type.items() if count})
        return {"seq": self.seq, "bytes": self.bytes, "compressed": self.compressed, "by_type": kinds}


def footprint(memory: Memory) -> int:
    """Bytes in the file, nearly."""
    return COPIES * size(memory) + VECTOR


@dataclass(slots=True)
class Ledger:
    """Follows the journal, so the tally is right whichever process wrote.

    Only newer journal entries are read. A tally is saved in the store now and then, from which a new process starts;
    where the journal no longer reaches back to it, or is too long or incomplete, everything is counted again.
    """

    store: Backend
    space: str
    known: Tally | None = None
    unsaved: int = 0  # entries read since a tally was saved

    def current(self) -> Tally:
        known = self.known or self._saved()
        brought = self._catch_up(known) if known is not None else None
        if brought is None:
            brought = self._count_all()
            self._save(brought, brought.total)
        self.known = brought
        return brought

    def _catch_up(self, known: Tally) -> Tally | None:
        """None when the journal cannot say what changed since."""
        while True:
            last = self._last_seq()
            if last == known.seq:
                return known
            if last < known.seq or self.store.journal_begins(self.space)[0] > known.seq:
                return None
            entries = self.store.journal(
                self.space, JournalFilter(after=known.seq, upto=last), newest_first=True, limit=MAX_ENTRIES + 1
            )
            if len(entries) > MAX_ENTRIES:
                return None
            relevant = [entry for entry in entries if entry.kind == MEMORY and entry.memory_id.startswith(PREFIX)]
            current = {
                memory.id: memory for memory in self.store.get_many(self.space, [entry.memory_id for entry in relevant])
            }
            if self._last_seq() == last:  # else another writer wrote between the two reads
                return self._apply(known, last, relevant, current, len(entries))

    def _apply(
        self, known: Tally, last: int, entries: Sequence[JournalEntry], current: dict[str, Memory], read: int
    ) -> Tally | None:
        earlier: dict[str, Memory | None] = {entry.memory_id: current.get(entry.memory_id) for entry in entries}
        for entry in entries:
            if entry.damaged or (entry.before is None and entry.after is None):
                return None  # a purge or a redaction: the journal does not say what it removed
            earlier[entry.memory_id] = state_before(entry, earlier[entry.memory_id])
        moved = Tally(last, known.bytes, known.compressed, Counter(known.by_type))
        for id, former in earlier.items():
            moved.count(former, -1)
            moved.count(current.get(id), 1)
        self._save(moved, read)
        return moved

    def _count_all(self) -> Tally:
        while True:
            last = self._last_seq()
            tally = Tally(last)
            for memory in self.store.iterate(self.space, EXPERIENCES):
                tally.count(memory, 1)
            if self._last_seq() == last:
                return tally

    def _last_seq(self) -> int:
        newest = self.store.journal(self.space, limit=1)
        return newest[0].seq if newest else 0

    def _saved(self) -> Tally | None:
        saved = self.store.terms(self._kind()).get(TERM_NAME)
        if saved is None:
            return None
        seq, room, compressed = (int(cast(int, saved[name])) for name in ("seq", "bytes", "compressed"))
        return Tally(seq, room, compressed, Counter(cast("dict[str, int]", saved["by_type"])))

    def _save(self, tally: Tally, read: int) -> None:
        """May fail without harm: the next process reads more of the journal."""
        self.unsaved += read
        if self.unsaved >= SAVE_EVERY:
            self.unsaved = 0
            with suppress(StorageError, AccessDenied), self.store.transaction() as transaction:
                transaction.put_term(self._kind(), TERM_NAME, tally.to_dict())

    def _kind(self) -> str:
        """Contains the space's name, so that the tally follows when the space is renamed."""
        return f"{TERM_KIND}/{self.space}"


def state_before(entry: JournalEntry, after: Memory | None) -> Memory | None:
    if entry.before is None:
        return None
    if entry.after is None:
        return Memory.from_dict({**entry.before, "id": entry.memory_id, "space": entry.space})
    return None if after is None else set_back(after, entry.before, entry.after)
