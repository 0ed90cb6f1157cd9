"""What a session was given already, so that it gets nothing twice; kept in the store, and no act of anybody's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from nacre.model import Memory
from nacre.model.instants import DAY
from nacre.model.memory import Json
from nacre.ports import Store

if TYPE_CHECKING:
    from nacre.store import MemoryStore

KIND = "injected"
ACTOR = "hook"
KEPT_DAYS = 14.0  # a session that nobody has gone on with for so long begins anew
MOST = 1_000  # memories of a session; a longer one may see its first ones again
DIGEST_BYTES = 6


@dataclass(frozen=True, slots=True)
class Injected:
    store: MemoryStore
    session: str

    def unchanged(self) -> tuple[str, ...]:
        """The ids of what was given and still says the same."""
        given = self._given()
        found = self.store.get_many(list(given))
        return tuple(memory.id for memory in found if given[memory.id] == digest(memory))

    def add(self, memories: Iterable[Memory]) -> None:
        new = {memory.id: digest(memory) for memory in memories}
        if not new or not self.session or not self.store.may_teach:
            return
        with self._backend().transaction() as transaction:
            whole: dict[str, Json] = {**ids_of(transaction.word(self._kind(), self.session)), **new}
            kept = dict(list(whole.items())[-MOST:])
            transaction.put_word(self._kind(), self.session, {"at": self.store.now(), "ids": kept})

    def forget(self) -> None:
        """The client has lost what it was given, by a summary or a fresh start; old sessions go on the way."""
        known = self._backend().words(self._kind())
        before = self.store.now() - KEPT_DAYS * DAY
        gone = [name for name, told in known.items() if name == self.session or at(told) < before]
        if gone and self.store.may_teach:
            with self._backend().transaction() as transaction:
                for name in gone:
                    transaction.put_word(self._kind(), name, None)

    def _given(self) -> Mapping[str, str]:
        return ids_of(self._backend().words(self._kind()).get(self.session)) if self.session else {}

    def _kind(self) -> str:
        return f"{KIND}/{self.store.space}"

    def _backend(self) -> Store:
        return self.store.acting_as(ACTOR).store


def ids_of(told: Mapping[str, Json] | None) -> dict[str, str]:
    ids = told.get("ids") if told else None
    return {id: str(mark) for id, mark in ids.items()} if isinstance(ids, dict) else {}


def at(told: Mapping[str, Json]) -> float:
    value = told.get("at")
    return float(value) if isinstance(value, int | float) else 0.0


def digest(memory: Memory) -> str:
    parts: Sequence[str] = (memory.title, memory.text)
    return blake2b("\0".join(parts).encode(), digest_size=DIGEST_BYTES).hexdigest()
