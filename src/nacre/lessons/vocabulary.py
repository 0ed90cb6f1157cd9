"""The vocabulary of a lesson book: the known tags, contexts and sources, and what each name resolves to."""

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
LESSONS = Filter.where(type=LESSON)
RELATED, CONTRADICTS, SUPERSEDES = "related", "contradicts", "supersedes"
RELATION_SPELLINGS = {"related_to": RELATED, "related-to": RELATED}  # other names of relations of the store
# Keys in a term's data.
ALIAS_OF, SYNONYMS, PARENTS, REVIEW, DEPRECATED = "alias_of", "synonyms", "parents", "review", "deprecated"
DESCRIPTION, TYPICAL, DISTINCT = "description", "typical_confidence", "distinct_from"
SPACES = re.compile(r"\s+")
MAX_ALIAS_CHAIN = 8  # ends a cycle of aliases
MIN_SIMILARITY = 72.0  # of 100: "jra" and "jira" have 86, "js" and "css" 40
MAX_SUGGESTIONS = 3
# Sources that every book knows: description and typical confidence.
SOURCES: Mapping[str, tuple[str, str]] = {
    "inferred": ("concluded, not tried", "low"),
    "tested": ("tried, and seen to hold", "high"),
    "documented": ("read in documentation or a specification", "high"),
    "observed": ("seen happening, not provoked", "medium"),
    "hearsay": ("reported by somebody else", "low"),
}
DEFAULT_LEVEL = "medium"  # confidence of a lesson when neither it nor its source states one


def normalize(name: str) -> str:
    """Lower case, with hyphens for spaces, so that two spellings give one term."""
    if not isinstance(name, str):
        raise InvalidInput(f"A tag, context or source must be text, not {type(name).__name__}.")
    return SPACES.sub("-", name.strip().lower()).strip("-")


def normalize_all(names: Iterable[str] | str | None) -> tuple[str, ...]:
    if names is not None and not isinstance(names, Iterable):
        raise WrongType("A list of tags, contexts or sources", "a list of words", names)
    listed = [names] if isinstance(names, str) else list(names or ())
    return tuple(dict.fromkeys(term for name in listed if (term := normalize(name))))


def relation_name(name: str) -> str:
    plain = normalize(name).replace("-", "_")
    return RELATION_SPELLINGS.get(plain, plain)


def nearest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """The known names that are spelled most like this one, best first."""
    from rapidfuzz import fuzz, process

    matches = process.extract(name, list(known), scorer=fuzz.ratio, limit=MAX_SUGGESTIONS, score_cutoff=MIN_SIMILARITY)
    return tuple(match for match, _, _ in matches)


def builtin_sources() -> dict[str, dict[str, Json]]:
    return {name: {DESCRIPTION: text, TYPICAL: typical} for name, (text, typical) in SOURCES.items()}


@dataclass(frozen=True, slots=True)
class Term:
    name: str
    data: Mapping[str, Json]

    @property
    def alias_of(self) -> str:
        return str(self.data.get(ALIAS_OF, ""))

    def names(self, key: str) -> tuple[str, ...]:
        """The other terms that it lists under this key."""
        listed = self.data.get(key)
        return tuple(map(str, listed)) if isinstance(listed, list) else ()


class Vocabulary:
    """A snapshot of the terms of one kind; terms that are added later need a new one."""

    def __init__(self, store: MemoryStore, kind: str) -> None:
        self.store = store
        self.kind = kind
        builtin = builtin_sources() if kind == SOURCE else {}
        self.terms = {name: Term(name, data) for name, data in {**builtin, **store.vocabulary(kind)}.items()}

    def resolve(self, name: str) -> str:
        """The name at the end of its aliases."""
        current = normalize(name)
        for _ in range(MAX_ALIAS_CHAIN):
            term = self.terms.get(current)
            if term is None or not term.alias_of:
                break
            current = term.alias_of
        return current

    def resolve_all(self, names: Iterable[str] | str | None) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.resolve(name) for name in normalize_all(names)))

    def family(self, name: str) -> tuple[str, ...]:
        """Every term that a search for this one includes: itself, its aliases and synonyms, and its children."""
        members = dict.fromkeys((self.resolve(name),))
        queue = list(members)
        while queue:
            for other in self._relatives(queue.pop()):
                if other not in members:
                    members[other] = None
                    queue.append(other)
        return tuple(members)

    def _relatives(self, name: str) -> Iterator[str]:
        if name in self.terms:
            yield from self.terms[name].names(SYNONYMS)
        yield from self._referring.get(name, ())

    @cached_property
    def _referring(self) -> dict[str, list[str]]:
        """For each term, the terms that name it as alias target, synonym or parent."""
        referring: dict[str, list[str]] = {}
        for term in self.terms.values():
            for name in dict.fromkeys((term.alias_of, *term.names(SYNONYMS), *term.names(PARENTS))):
                if name:
                    referring.setdefault(name, []).append(term.name)
        return referring

    def inherited(self, name: str, key: str) -> Json:
        """The term's own value under this key, else the nearest ancestor's: `tested.unit` inherits from `tested`."""
        lineage = (name, *reversed(ancestors(name)))
        values = (self.terms[each].data.get(key) for each in lineage if each in self.terms)
        return next((value for value in values if value not in (None, "")), None)

    def in_use(self, name: str) -> bool:
        where = Filter.where(**{f"{FIELDS[self.kind]}__under": [name]})
        return bool(self.store.list_recent(1, where=where & LESSONS, include_archived=True, include_superseded=True))

    def counts(self) -> dict[str, int]:
        """How many lessons have each term, for all terms in use."""
        return self.store.tally(FIELDS[self.kind], where=LESSONS, include_archived=True, include_superseded=True)

    def known(self, name: str) -> bool:
        return name in self.terms or self.in_use(name)

    def near(self, name: str) -> tuple[str, ...]:
        """Known terms with a similar spelling, best first."""
        similar = nearest(name, sorted({*self.terms, *self.counts()} - {name}))
        return tuple(dict.fromkeys(map(self.resolve, similar)))


def check_known(vocabulary: Vocabulary, names: Iterable[str]) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """A warning for each unknown term, and similar known terms by name."""
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
