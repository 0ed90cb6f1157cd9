"""One call of one client: the store that it may use, and how to reach the client while it waits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nacre.errors import InvalidInput
from nacre.model.memory import Memory

if TYPE_CHECKING:
    from nacre.lessons.book import LessonBook
    from nacre.memory_store import MemoryStore
    from nacre.model import Conflict
    from nacre.protocols import LanguageModel, Progress

SHORTEST = 6  # characters


@dataclass(frozen=True, slots=True)
class Visit:
    """`model` is the client's own, where it lends it."""

    store: MemoryStore
    progress: Progress
    model: LanguageModel | None = None

    def id(self, prefix: str) -> str:
        """An agent may name a memory by the first characters of its id, as it was shown; a guess is no name."""
        found = self.store.resolve_id(prefix)
        if found != prefix and len(prefix) < SHORTEST:
            raise InvalidInput(f"{prefix!r} is too short to name a memory; give the first 8 characters of its id.")
        return found

    def clean(self, conflict: Conflict) -> Conflict:
        """Without secrets that were kept before there was a guard; what a recall gives is clean already."""
        return replace(conflict, a=self.store.shown(conflict.a), b=self.store.shown(conflict.b))

    def clean_text(self, text: str) -> str:
        return self.store.shown(Memory(id="", text=text)).text

    def lessons(self) -> LessonBook:
        from nacre.lessons.book import LessonBook

        return LessonBook(store=self.store)
