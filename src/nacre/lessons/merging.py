"""Two words become one, on every lesson that has the old one, in one act that can be undone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from nacre.engine.engine import Edit
from nacre.errors import InvalidInput
from nacre.lessons.answer import Answer
from nacre.lessons.teaching import Teaching, absorbing, apart, given, no_ring
from nacre.lessons.vocabulary import CONTEXT, LESSONS, SOURCE, TAG, Vocabulary
from nacre.model import Filter, Memory
from nacre.model.filter import is_under


class Merging(Teaching):
    """Each returns on how many lessons something changed; the archived, the superseded and those in the trash count.
    What lies under the old word comes along: `old.x` becomes `into.x`. Raises `InvalidInput` when it cannot be."""

    def merge_tags(self, old: str, into: str, *, why: str = "") -> Answer[int]:
        return self._merge(TAG, old, into, why)

    def merge_contexts(self, old: str, into: str, *, why: str = "") -> Answer[int]:
        return self._merge(CONTEXT, old, into, why)

    def merge_sources(self, old: str, into: str, *, why: str = "") -> Answer[int]:
        return self._merge(SOURCE, old, into, why)

    def _merge(self, kind: str, old: str, into: str, why: str) -> Answer[int]:
        words = self._words(kind)
        source, target = given(kind, old), given(kind, into)
        checked(words, source, target)
        having = {memory.id: memory for where in HAVING[kind](source) for memory in self._all(where)}
        if not having:
            self._standing(words, source)
        renames = Renames(words, source, words.resolve(target))
        moved = renames.of({name for memory in having.values() for name in named(kind, memory)} | {*words.words})
        edits: dict[str, Edit] = {id: renaming(kind, moved) for id in having}
        changed = self._teach("merge", absorbing(words, moved), edits, why)
        return Answer(len(changed), torn(kind, changed, words.resolve(target)))

    def _all(self, where: Filter) -> Iterable[Memory]:
        return self.store.iterate(
            where=LESSONS & where,
            include_archived=True,
            include_superseded=True,
            include_trashed=True,
            include_expired=True,
        )


class Renames:
    """`old` and all under it, as they are called once it is merged."""

    def __init__(self, words: Vocabulary, old: str, into: str) -> None:
        self._words = words
        self._old = old
        self._into = into

    def of(self, names: Iterable[str]) -> dict[str, str]:
        found = {name: self._new(name) for name in (self._old, *sorted(names)) if is_under(name, {self._old})}
        return {name: new for name, new in found.items() if new != name}

    def _new(self, name: str) -> str:
        if name != self._old:  # one that stands for something else already goes on to do so
            name = self._words.resolve(name)
        while is_under(name, {self._old}):  # `api.jira.jira`, merged upward, passes through `api.jira`
            name = self._into + name.removeprefix(self._old)
        stands_for = self._words.resolve(name)
        return name if is_under(stands_for, {self._old}) else stands_for


def checked(words: Vocabulary, old: str, into: str) -> None:
    apart(words.kind, old, into)
    no_ring(words, old, into)
    if is_under(words.resolve(into), {old}):
        raise InvalidInput(f"{into!r} lies under {old!r}; merge {into!r} into {old!r} instead.")


def under(*fields: str) -> Callable[[str], tuple[Filter, ...]]:
    return lambda name: tuple(Filter.where(**{f"{field}__under": [name]}) for field in fields)


HAVING = {TAG: under("tags"), CONTEXT: under("contexts", "anti_contexts"), SOURCE: under("source")}


def named(kind: str, memory: Memory) -> tuple[str, ...]:
    if kind == TAG:
        return memory.tags
    return (*memory.contexts, *memory.anti_contexts) if kind == CONTEXT else (memory.source,)


def renaming(kind: str, moved: dict[str, str]) -> Edit:
    def all_of(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(moved.get(name, name) for name in names))

    def edit(memory: Memory) -> Memory:
        if kind == TAG:
            return replace(memory, tags=all_of(memory.tags))
        if kind == CONTEXT:
            return replace(memory, contexts=all_of(memory.contexts), anti_contexts=all_of(memory.anti_contexts))
        return replace(memory, source=moved.get(memory.source, memory.source))

    return edit


def torn(kind: str, changed: Iterable[Memory], into: str) -> tuple[str, ...]:
    """A lesson may have had the one as a context and the other as the opposite."""
    if kind != CONTEXT:
        return ()
    both = [memory for memory in changed if into in memory.contexts and into in memory.anti_contexts]
    shown = ", ".join(memory.id for memory in both[:3])
    return (f"Of {len(both)} lessons {into!r} is now said both ways ({shown}); decide for each.",) if both else ()
