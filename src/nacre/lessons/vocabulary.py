"""The words of a book: what each tag, context and source stands for, and which were meant by one that nobody knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from nacre.errors import InvalidInput, WrongType
from nacre.memory_store import MemoryStore
from nacre.model import Filter
from nacre.model.filter import ancestors
from nacre.model.memory import LESSON, Json
from nacre.protocols import Tallied

TAG, CONTEXT, SOURCE = "tag", "context", "source"
KINDS = (TAG, CONTEXT, SOURCE)
FIELDS: Mapping[str, Tallied] = {TAG: "tags", CONTEXT: "contexts", SOURCE: "source"}
# In a word's data.
ALIAS_OF, SYNONYMS, PARENTS, REVIEW, DEPRECATED = "alias_of", "synonyms", "parents", "review", "deprecated"
DESCRIPTION, TYPICAL, DISTINCT = "description", "typical_confidence", "distinct_from"
SPACES = re.compile(r"\s+")
LONGEST_CHAIN = 8  # aliases of aliases; a ring of them must end
NEAR = 72.0  # of 100: "jra" and "jira" have 86, "js" and "css" 40
NEAREST = 3
# Every book knows them from the first; the middle one of what they usually bear is what a lesson gets that says none.
SOURCES: Mapping[str, tuple[str, str]] = {
    "inferred": ("concluded, not tried", "low"),
    "tested": ("tried, and seen to hold", "high"),
    "documented": ("read where it should be right", "high"),
    "observed": ("seen happening, not provoked", "medium"),
    "hearsay": ("told by somebody", "low"),
}
UNSAID = "medium"


def normal(name: str) -> str:
    """Small letters, no blanks: what two people write in two ways is one word."""
    if not isinstance(name, str):
        raise InvalidInput(f"A tag, context or source is a word, not {type(name).__name__}.")
    return SPACES.sub("-", name.strip().lower()).strip("-")


def normals(names: Iterable[str] | str | None) -> tuple[str, ...]:
    if names is not None and not isinstance(names, Iterable):
        raise WrongType("A list of tags, contexts or sources", "a list of words", names)
    given = [names] if isinstance(names, str) else list(names or ())
    return tuple(dict.fromkeys(found for name in given if (found := normal(name))))


@dataclass(frozen=True, slots=True)
class Word:
    name: str
    data: Mapping[str, Json]

    @property
    def alias_of(self) -> str:
        return str(self.data.get(ALIAS_OF, ""))

    def names(self, key: str) -> tuple[str, ...]:
        found = self.data.get(key)
        return tuple(map(str, found)) if isinstance(found, list) else ()


class Vocabulary:
    """As it stands when it is made; what is taught later is seen by the next one."""

    def __init__(self, store: MemoryStore, kind: str) -> None:
        self.store = store
        self.kind = kind
        taught = store.vocabulary(kind)
        known = seeded() if kind == SOURCE else {}
        self.words = {name: Word(name, data) for name, data in {**known, **taught}.items()}

    def resolve(self, name: str) -> str:
        """What it stands for, in the end."""
        found = normal(name)
        for _ in range(LONGEST_CHAIN):
            word = self.words.get(found)
            if word is None or not word.alias_of:
                break
            found = word.alias_of
        return found

    def resolved(self, names: Iterable[str] | str | None) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.resolve(name) for name in normals(names)))

    def family(self, name: str) -> tuple[str, ...]:
        """All that is meant by a name when it is asked for: itself, its aliases and synonyms, and what is under it."""
        found = dict.fromkeys((self.resolve(name),))
        waiting = list(found)
        while waiting:
            for other in self._next_of_kin(waiting.pop()):
                if other not in found:
                    found[other] = None
                    waiting.append(other)
        return tuple(found)

    def _next_of_kin(self, name: str) -> Iterator[str]:
        if name in self.words:
            yield from self.words[name].names(SYNONYMS)
        yield from self._named_by.get(name, ())

    @cached_property
    def _named_by(self) -> dict[str, list[str]]:
        """The words that name another as what they stand for, mean or lie under; a question asks for many."""
        found: dict[str, list[str]] = {}
        for word in self.words.values():
            for name in dict.fromkeys((word.alias_of, *word.names(SYNONYMS), *word.names(PARENTS))):
                if name:
                    found.setdefault(name, []).append(word.name)
        return found

    def inherited(self, name: str, key: str) -> Json:
        """What is told of it under this key, or else of the nearest above it: `tested.unit` is what `tested` is."""
        told = (self.words[each].data.get(key) for each in (name, *reversed(ancestors(name))) if each in self.words)
        return next((value for value in told if value not in (None, "")), None)

    def in_use(self, name: str) -> bool:
        where = Filter.where(**{f"{FIELDS[self.kind]}__under": [name]})
        return bool(self.store.list_recent(1, where=where & LESSONS, include_archived=True, include_superseded=True))

    def counts(self) -> dict[str, int]:
        """Every word that a lesson has, and on how many it stands."""
        return self.store.tally(FIELDS[self.kind], where=LESSONS, include_archived=True, include_superseded=True)

    def known(self, name: str) -> bool:
        return name in self.words or self.in_use(name)

    def near(self, name: str) -> tuple[str, ...]:
        """Those that may have been meant by a word that is not known, likeliest first."""
        from rapidfuzz import fuzz, process

        names = sorted({*self.words, *self.counts()} - {name})
        found = process.extract(name, names, scorer=fuzz.ratio, limit=NEAREST, score_cutoff=NEAR)
        return tuple(dict.fromkeys(self.resolve(other) for other, _, _ in found))


LESSONS = Filter.where(type=LESSON)


def seeded() -> dict[str, dict[str, Json]]:
    return {name: {DESCRIPTION: told, TYPICAL: typical} for name, (told, typical) in SOURCES.items()}


def unknown(vocabulary: Vocabulary, names: Iterable[str]) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """A sentence for each word that nobody knows, and what comes near it."""
    warnings, suggestions = [], {}
    for name in names:
        if vocabulary.known(name):
            continue
        near = vocabulary.near(name)
        hint = f", did you mean {near[0]!r}?" if near else "; it is new here."
        warnings.append(f"{vocabulary.kind} {name!r} not recognized{hint}")
        if near:
            suggestions[name] = near
    return warnings, suggestions
