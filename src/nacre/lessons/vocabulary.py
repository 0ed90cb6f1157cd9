"""The vocabulary of a lesson book: the known tags, contexts and sources, and what each name resolves to."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from nacre.errors import InvalidInput, WrongType
from nacre.lessons.lesson import AGENT_TAG
from nacre.memory_store import MemoryStore
from nacre.model import Filter
from nacre.model.filter import ancestors, is_under
from nacre.model.memory import LESSON, Json
from nacre.protocols import Tallied

TAG, CONTEXT, SOURCE = "tag", "context", "source"
KINDS = (TAG, CONTEXT, SOURCE)
FIELDS: Mapping[str, Tallied] = {TAG: "tags", CONTEXT: "contexts", SOURCE: "source"}
LESSONS = Filter.where(type=LESSON)
RELATED, CONTRADICTS, SUPERSEDES = "related", "contradicts", "supersedes"
RELATION_SPELLINGS = {"related_to": RELATED, "related-to": RELATED}  # other names of relations of the store
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


class Key:
    """The keys of a term's data."""

    ALIAS_OF, SYNONYMS, PARENTS, DISTINCT = "alias_of", "synonyms", "parents", "distinct_from"
    DESCRIPTION, TYPICAL, REVIEW, DEPRECATED = "description", "typical_confidence", "review", "deprecated"
    ORDINAL = "ordinal"


RELATION_KEYS = (Key.SYNONYMS, Key.PARENTS, Key.DISTINCT)  # those that list other terms


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
    return {name: {Key.DESCRIPTION: text, Key.TYPICAL: typical} for name, (text, typical) in SOURCES.items()}


@dataclass(frozen=True, slots=True)
class Term:
    name: str
    data: Mapping[str, Json]

    @property
    def alias_of(self) -> str:
        return str(self.data.get(Key.ALIAS_OF, ""))

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
            name = queue.pop()
            for other in (*self.listed(name, Key.SYNONYMS), *self._referring.get(name, ())):
                if other not in members:
                    members[other] = None
                    queue.append(other)
        return tuple(members)

    @cached_property
    def _referring(self) -> dict[str, list[str]]:
        """For each term, the terms that name it as alias target, synonym or parent."""
        referring: dict[str, list[str]] = {}
        for term in self.terms.values():
            for name in dict.fromkeys((term.alias_of, *term.names(Key.SYNONYMS), *term.names(Key.PARENTS))):
                if name:
                    referring.setdefault(name, []).append(term.name)
        return referring

    def listed(self, name: str, key: str) -> tuple[str, ...]:
        """The other terms that this one lists under the key."""
        return self.terms[name].names(key) if name in self.terms else ()

    def aliases(self) -> dict[str, tuple[str, ...]]:
        """The aliases of each term, by the term they resolve to."""
        by_target: defaultdict[str, list[str]] = defaultdict(list)
        for name, term in sorted(self.terms.items()):
            if term.alias_of:
                by_target[self.resolve(name)].append(name)
        return {name: tuple(each) for name, each in by_target.items()}

    def parents(self, name: str) -> tuple[str, ...]:
        """The direct parents: by its dotted path, and by its `child_of` relations."""
        return tuple(dict.fromkeys(filter(None, (name.rpartition(".")[0], *self.listed(name, Key.PARENTS)))))

    def all_parents(self, name: str) -> Iterator[str]:
        """Parents, their parents and so on, nearest first."""
        queue, seen = [name], {name}
        while queue:
            for parent in self.parents(queue.pop(0)):
                if parent not in seen:
                    seen.add(parent)
                    queue.append(parent)
                    yield parent

    def are_related(self, one: str, other: str) -> bool:
        """Whether any relation between the two is recorded, "distinct" included."""
        return any(
            self.terms[a].alias_of == b or any(b in self.terms[a].names(key) for key in RELATION_KEYS)
            for a, b in ((one, other), (other, one))
            if a in self.terms
        )

    def is_decided(self, one: str, other: str) -> bool:
        """Whether nobody need ask if the two mean the same: they are related, or one is under the other."""
        return self.are_related(one, other) or is_under(one, {other}) or is_under(other, {one})

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

    def term_name(self, name: str) -> str:
        """The normalized name. Raises `InvalidInput` for an empty one, and for a tag that marks a lesson's author."""
        term = normalize(name)
        if not term:
            raise InvalidInput(f"A {self.kind} needs a name; give a word.")
        if self.kind == TAG and term.startswith(AGENT_TAG):
            raise InvalidInput(f"{term!r} marks the author of a lesson and cannot be changed; choose another tag.")
        return term

    def known_name(self, name: str) -> str:
        """The normalized name, aliases not resolved. Raises `InvalidInput` when it is neither described nor in use."""
        term = normalize(name)
        if not term or not self.known(term):
            near = self.near(term) if term else ()
            remedy = f"did you mean {near[0]!r}?" if near else f"`{self.kind}s` lists the known ones."
            raise InvalidInput(f"There is no {self.kind} {name!r}; {remedy}")
        return term

    def check_different(self, name: str, other: str) -> None:
        if name == other:
            raise InvalidInput(f"Both names are the {self.kind} {name!r}; give two that differ.")

    def check_alias(self, alias: str, target: str) -> None:
        """Raises `InvalidInput` for an alias that would lead back to itself."""
        self.check_different(alias, target)
        if self.resolve(target) == alias:
            raise InvalidInput(f"{target!r} is already an alias of {alias!r}; swap the two, or unrelate them first.")

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
