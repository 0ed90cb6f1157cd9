"""Marks on memories: pinned, in the archive, tagged, worth more or less; several at once, in one act."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import cast

from nacre.errors import InvalidInput
from nacre.model import JournalEntry, Memory, Told
from nacre.remember.check import checked, labels, number, share
from nacre.store.space import Space

ARCHIVED = "archived"
PLACES = 6  # of an importance: three steps of 0.1 are 0.3, not 0.30000000000000004
UNTOLD = "long_term"  # where the journal no longer says: somebody wants it, so that it should last


class Marking(Space):
    """Each returns the memories that it changed; those that have the mark already, and the trashed, are left alone.

    Raises `MemoryNotFound`.
    """

    def pin(self, *ids: str, why: str = "") -> list[Memory]:
        """Keeps them from fading: neither decay nor a bound takes them."""
        return self._mark("pin", ids, lambda memory: replace(memory, pinned=True), why)

    def unpin(self, *ids: str, why: str = "") -> list[Memory]:
        return self._mark("unpin", ids, lambda memory: replace(memory, pinned=False), why)

    def archive(self, *ids: str, why: str = "") -> list[Memory]:
        """Puts them out of sight; they are found where `include_archived` asks for them."""
        return self._mark("archive", ids, lambda memory: replace(memory, status=ARCHIVED), why)

    def unarchive(self, *ids: str, why: str = "") -> list[Memory]:
        """Takes them out of the archive, back to the status that the journal says they had."""
        former = {id: self._status_before(id) for id in ids}

        def edit(memory: Memory) -> Memory:
            return replace(memory, status=former[memory.id]) if memory.status == ARCHIVED else memory

        return self._mark("unarchive", ids, edit, why)

    def tag(self, *ids: str, add: Iterable[str] = (), remove: Iterable[str] = (), why: str = "") -> list[Memory]:
        """Adds tags and takes others away. The words that are searched follow; no vector is computed again."""
        given, _ = self._guard.fields(checked({"tags": tuple(add)}, ()))
        more, less = cast("tuple[str, ...]", given["tags"]), labels("tags", tuple(remove))
        if not more and not less:
            raise InvalidInput("No tag was named; say which to add or to remove.")

        def edit(memory: Memory) -> Memory:
            return replace(memory, tags=tuple(tag for tag in dict.fromkeys((*memory.tags, *more)) if tag not in less))

        return self._mark("tag", ids, edit, why)

    def bump(self, *ids: str, by: float | None = None, to: float | None = None, why: str = "") -> list[Memory]:
        """Lets them matter more or less: `by` adds to the importance, which stays within 0 and 1, `to` sets it."""
        if (by is None) == (to is None):
            raise InvalidInput("Say either by how much the importance changes, or to what; not both.")
        fixed, step = None if to is None else share("importance", to), 0.0 if by is None else number("by", by, -1, 1)

        def edit(memory: Memory) -> Memory:
            bumped = min(1.0, max(0.0, round(memory.importance + step, PLACES))) if fixed is None else fixed
            return replace(memory, importance=bumped)

        return self._mark("bump", ids, edit, why)

    def _mark(self, act: str, ids: Sequence[str], edit: Callable[[Memory], Memory], why: str) -> list[Memory]:
        present = [memory for memory in self._engine.existing(self.space, ids) if memory.status != "trashed"]
        changing = [memory.id for memory in present if edit(memory) != memory]
        return self._engine.change(self.space, changing, act, edit, why=why) if changing else []

    def _status_before(self, id: str) -> str:
        told = map(status_before, self._store.journal(self.space, Told(memory_id=id)))
        return next((status for status in told if status), UNTOLD)


def status_before(entry: JournalEntry) -> str:
    """Empty unless this entry put it into the archive, from elsewhere than the trash."""
    before, after = entry.before or {}, entry.after or {}
    told = str(before.get("status", "")) if after.get("status") == ARCHIVED else ""
    return "" if told == "trashed" else told
