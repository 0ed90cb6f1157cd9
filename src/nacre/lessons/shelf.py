"""What every part of a book stands on: the store, and how words that are given become words that are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from nacre.engine.engine import WordEdit
from nacre.errors import AccessDenied, InvalidInput, MemoryNotFound
from nacre.lessons.lesson import Lesson
from nacre.lessons.tables import checked_against
from nacre.lessons.vocabulary import (
    CONTEXT,
    DEPRECATED,
    REVIEW,
    SOURCE,
    TAG,
    TYPICAL,
    UNSAID,
    Vocabulary,
    normal,
    normals,
    unknown,
)
from nacre.memory_store import Face, MemoryStore
from nacre.model import Memory
from nacre.model.filter import ancestors
from nacre.model.levels import level_named
from nacre.model.memory import LESSON, Json


class Shelf(Face):
    """The lessons of one space. A store that is given is left open by `close`; `agent` signs what is learned."""

    def __init__(
        self, path: Path | str | None = None, *, store: MemoryStore | None = None, space: str | None = None,
        agent: str | None = None,
    ) -> None:  # fmt: skip
        own = MemoryStore(path, space=space, agent=agent) if store is None else store
        super().__init__(own, lent=store is not None)
        self.agent = normal(self.store.agent if agent is None else agent)

    def _open_to_lessons(self) -> None:
        if LESSON not in self.store.types():
            self.store.register_type(LESSON)

    def _memory(self, id: str) -> Memory:
        """Raises `MemoryNotFound`, also for what is no lesson."""
        memory = self.store.get(id)
        if memory is None or memory.type != LESSON or memory.status == "trashed":
            raise MemoryNotFound(id, self.store.space)
        return memory

    def _lesson(self, id: str) -> Lesson:
        return self._shown(self._memory(id))

    def _shown(self, memory: Memory) -> Lesson:
        """Without secrets that were kept before there was a guard."""
        return Lesson.of(self.store.shown(memory))

    def _words(self, kind: str) -> Vocabulary:
        return Vocabulary(self.store, kind)


class Wording:
    """Words as they were given, turned into those that are kept, with what is to be said about it."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.warnings: list[str] = []
        self.suggestions: dict[str, tuple[str, ...]] = {}
        self.new_sources: list[str] = []
        self._spoken: dict[str, Vocabulary] = {}

    def words(self, kind: str) -> Vocabulary:
        """Read once, however many words are looked up."""
        if kind not in self._spoken:
            self._spoken[kind] = Vocabulary(self.store, kind)
        return self._spoken[kind]

    def tags(self, given: Iterable[str] | str | None) -> tuple[str, ...]:
        return self._checked(TAG, given)

    def contexts(self, given: Iterable[str] | str | None) -> tuple[str, ...]:
        """Nobody is warned of a new context: they are as free as situations are."""
        return self.words(CONTEXT).resolved(given)

    def source(self, given: str | None) -> tuple[str, str]:
        """The source, and how far it is usually to be trusted; one that is new is to be created with the lesson."""
        if not given or not normal(given):
            return "", UNSAID
        words = self.words(SOURCE)
        name = words.resolve(given)
        if not any(each in words.words for each in (name, *ancestors(name))):
            warnings, suggestions = unknown(words, [name])
            said = warnings[0] if warnings else f"source {name!r} stands on lessons, and nobody has described it."
            self.warnings.append(f"{said} It was created, and waits for review.")
            self.suggestions |= suggestions
            self.new_sources.append(name)
        elif words.inherited(name, DEPRECATED):
            self.warnings.append(f"source {name!r} is deprecated; choose another")
        return name, str(words.inherited(name, TYPICAL) or UNSAID)

    def metadata(self, given: Mapping[str, Json]) -> Mapping[str, Json]:
        """Values that belong to a table of the book are written as it has them."""
        if not isinstance(given, Mapping):
            return given  # the store says what is wrong with it
        named = checked_against(self.store, given)
        self.warnings += named.warnings
        self.suggestions |= named.suggestions
        return named.metadata

    def confidence(self, given: str | float | None, typical: str = UNSAID) -> float:
        if isinstance(given, bool) or not isinstance(given, str | int | float | None):
            raise InvalidInput(f"A confidence is a level such as 'high', or a number from 0 to 1, not {given!r}.")
        return float(given) if isinstance(given, int | float) else level_named(given or typical).value

    def _checked(self, kind: str, given: Iterable[str] | str | None) -> tuple[str, ...]:
        if not (wanted := normals(given)):
            return ()
        words = self.words(kind)
        names = words.resolved(wanted)
        self._note(words, names)
        return names

    def _note(self, words: Vocabulary, names: Iterable[str]) -> None:
        warnings, suggestions = unknown(words, names)
        self.warnings += warnings
        self.suggestions |= suggestions

    def taught(self) -> Mapping[tuple[str, str], WordEdit]:
        """The new sources, to be written together with the lesson that has them."""
        if self.new_sources and not self.store.may_teach:
            raise AccessDenied(
                f"The source {self.new_sources[0]!r} is new, and this agent may not add words; use a known one."
            )
        return {(SOURCE, name): lambda stood: stood or {REVIEW: True} for name in self.new_sources}
