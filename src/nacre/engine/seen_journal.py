"""The journal as far as an agent sees it: what was done to memories that are its own to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from nacre.engine.change import set_back
from nacre.model import JournalEntry, Memory, Told
from nacre.model.journal import MEMORY
from nacre.ports import Store
from nacre.safety.access import Access, ScopeLevel

PAGE = 500


class SeenJournal:
    def __init__(self, below: Store, access: Access) -> None:
        self._below = below
        self._access = access

    def read(self, told: Told, *, newest_first: bool, limit: int | None) -> list[JournalEntry]:
        space = self._access.space
        if self._access.sees_all:
            return self._below.journal(space, told, newest_first=newest_first, limit=limit)
        if told.batch is not None and not self._whole(told):
            return []  # part of an act cannot be told, or taken back, without the rest
        found: list[JournalEntry] = []
        while limit is None or len(found) < limit:
            page = self._below.journal(space, told, newest_first=newest_first, limit=PAGE)
            found += self._seen(page)
            if len(page) < PAGE:
                break
            told = replace(told, upto=page[-1].seq - 1) if newest_first else replace(told, after=page[-1].seq)
        return found[:limit]

    def _whole(self, told: Told) -> bool:
        entries = self._below.journal(self._access.space, Told(batch=told.batch))
        return len(self._seen(entries)) == len(entries)

    def _seen(self, entries: Sequence[JournalEntry]) -> list[JournalEntry]:
        """Of a memory that came into sight later, only what was done since."""
        ids = list(dict.fromkeys(entry.memory_id for entry in entries if entry.kind == MEMORY))
        there = [m for m in self._below.get(self._access.space, ids) if self._access.readable.admits(m)]
        since = {memory.id: self._seen_since(memory) for memory in there}
        return [entry for entry in entries if self._shows(entry, since)]

    def _shows(self, entry: JournalEntry, since: dict[str, int]) -> bool:
        if entry.kind != MEMORY:
            across = self._access.capabilities.scope.includes(ScopeLevel.CROSS_SESSION_READ)
            return across and entry.act.actor == self._access.agent
        return entry.memory_id in since and entry.seq > since[entry.memory_id]

    def _seen_since(self, memory: Memory) -> int:
        """The number of the last entry before which it was not this agent's to see; 0 when it always was."""
        stood = memory
        for entry in newest_first(self._below.journal(self._access.space, Told(memory_id=memory.id))):
            if entry.damaged or entry.after is None:
                return entry.seq
            if entry.before is None:
                return 0
            stood = set_back(stood, entry.before, entry.after)
            if not self._access.readable.admits(stood):
                return entry.seq
        return 0


def newest_first(entries: Iterable[JournalEntry]) -> list[JournalEntry]:
    return sorted((entry for entry in entries if entry.kind == MEMORY), key=lambda entry: -entry.seq)
