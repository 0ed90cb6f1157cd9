"""The vocabulary of a lesson book: its tags, contexts and sources, the edits that relate and merge them, and how the
terms of a request are checked against it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

from nacre.engine.engine import Edit, retry_while_changed
from nacre.engine.write_request import Term as Data
from nacre.engine.write_request import TermEdit
from nacre.errors import AccessDenied, InvalidInput, NacreError, UnknownName, WrongType
from nacre.lessons.lesson import AGENT_TAG
from nacre.memory_store import MemoryStore
from nacre.model import Filter, Memory
from nacre.model.filter import ancestors, is_under
from nacre.model.levels import level_named
from nacre.model.memory import LESSON, Json
from nacre.protocols import Tallied
from nacre.recall_options import Scope

T = TypeVar("T")

TAG, CONTEXT, SOURCE = "tag", "context", "source"
KINDS = (TAG, CONTEXT, SOURCE)
FIELDS: Mapping[str, Tallied] = {TAG: "tags", CONTEXT: "contexts", SOURCE: "source"}
LESSON_FIELDS = {TAG: ("tags",), CONTEXT: ("contexts", "anti_contexts"), SOURCE: ("source",)}
LESSONS = Filter.where(type=LESSON)
RELATED = "related"
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
SYNONYM, CHILD_OF = "synonym", "child_of"
RELATIONS = {SYNONYM: Key.SYNONYMS, CHILD_OF: Key.PARENTS}


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
        return tuple(listed_in(self.data, key))


class VocabularyChanged(NacreError):
    """Others have changed a term since the vocabulary was read; `change_vocabulary` begins anew."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"Others have just changed a {kind}; nothing was written. Repeat it.")


def change_vocabulary(store: MemoryStore, kind: str, change: Callable[[Vocabulary], T]) -> T:
    """What `change` returns, for the vocabulary as it is when its changes are written."""
    return retry_while_changed(lambda: change(Vocabulary(store, kind)), VocabularyChanged)


class Vocabulary:
    """A snapshot of the terms of one kind; terms that are added later need a new one."""

    def __init__(self, store: MemoryStore, kind: str) -> None:
        self.store = store
        self.kind = kind
        builtin = builtin_sources() if kind == SOURCE else {}
        self._stored = store.vocabulary(kind)
        self.terms = {name: Term(name, data) for name, data in {**builtin, **self._stored}.items()}

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

    # Changes of terms; each is one operation

    def edit(
        self, operation: str, terms: Mapping[str, TermEdit], edits: Mapping[str, Edit] | None = None, why: str = ""
    ) -> list[Memory]:
        """Returns the changed lessons. Raises `VocabularyChanged` where others have changed a term since it was read:
        which terms may be related depends on all relations."""
        unchanged = True

        def is_unchanged(present: MemoryStore) -> bool:
            nonlocal unchanged
            unchanged = present.vocabulary(self.kind) == self._stored
            return unchanged

        changed = self.store.write(operation, edits=edits, terms=self._words(terms), only_if=is_unchanged, why=why)
        if not unchanged:
            raise VocabularyChanged(self.kind)
        return changed

    def _words(self, terms: Mapping[str, TermEdit]) -> dict[tuple[str, str], TermEdit]:
        """As `MemoryStore.write` takes them. A built-in source is not stored until somebody changes it."""
        builtin = builtin_sources() if self.kind == SOURCE else {}

        def from_builtin(name: str, edit: TermEdit) -> TermEdit:
            return lambda data: edit(builtin.get(name) if data is None else data)

        return {(self.kind, name): from_builtin(name, edit) for name, edit in terms.items()}

    def set_keys(self, operation: str, changes: Mapping[str, Json], *names: str, why: str = "") -> None:
        """None removes a key."""
        self.store.write(operation, terms=self._words(dict.fromkeys(names, with_keys(changes))), why=why)

    def alias(self, alias: str, target: str, why: str) -> None:
        self.edit("alias", self._merge_edits({alias: target}), why=why)

    def keep_apart(self, name: str, other: str, why: str) -> bool:
        """Returns False when they are already kept apart."""
        one, two = self.term_name(name), self.term_name(other)
        self.check_different(one, two)
        if two in self.listed(one, Key.DISTINCT):
            return False
        self.edit("keep_apart", {one: add_listed(Key.DISTINCT, two), two: add_listed(Key.DISTINCT, one)}, why=why)
        return True

    def relate(self, name: str, other: str, relation: str, why: str) -> bool:
        UnknownName.check("relation between terms", relation, RELATIONS)
        key = RELATIONS[relation]
        one, two = (self.resolve(self.term_name(each)) for each in (name, other))
        self.check_different(one, two)
        if two in self.listed(one, key):
            return False
        edits = {one: add_listed(key, two)}
        if relation == SYNONYM:
            edits[two] = add_listed(key, one)
        elif one in self.all_parents(two):
            raise InvalidInput(f"{two!r} is already under {one!r}; unrelate them first.")
        self.edit("relate", edits, why=why)
        return True

    def unrelate(self, name: str, other: str, why: str) -> bool:
        one, two = self.term_name(name), self.term_name(other)
        if not self.are_related(one, two):
            return False
        self.edit("unrelate", {one: remove_listed(two), two: remove_listed(one)}, why=why)
        return True

    def merge(self, old: str, into: str, why: str) -> tuple[list[Memory], tuple[str, ...]]:
        """The changed lessons, and warnings. Terms under the old one follow: `old.x` becomes `into.x`."""
        source, target = self.term_name(old), self.term_name(into)
        self.check_alias(source, target)
        if is_under(self.resolve(target), {source}):
            raise InvalidInput(f"{target!r} is under {source!r}; merge {target!r} into {source!r} instead.")
        lessons = {
            memory.id: memory
            for field in LESSON_FIELDS[self.kind]
            for memory in self.store.iterate(
                **every_lesson(Filter.where(**{f"{field}__under": [source]})) | {"include_trashed": True}
            )
        }
        if not lessons:
            self.known_name(source)
        target = self.resolve(target)
        names = {name for memory in lessons.values() for name in self.terms_of(memory)} | {*self.terms}
        new_names = self._new_names(source, target, names)
        changed = self.edit(
            "merge", self._merge_edits(new_names), dict.fromkeys(lessons, self._rename_in_lesson(new_names)), why
        )
        return changed, warn_both_ways(changed, target) if self.kind == CONTEXT else ()

    def terms_of(self, memory: Memory) -> tuple[str, ...]:
        """The terms of this kind that a lesson has."""
        values = (getattr(memory, field) for field in LESSON_FIELDS[self.kind])
        return tuple(name for value in values for name in ([value] if isinstance(value, str) else value))

    def _new_names(self, old: str, into: str, names: Iterable[str]) -> dict[str, str]:
        """The new name of `old` and of everything under it."""

        def new_name(name: str) -> str:
            if name != old:  # an alias keeps its own target
                name = self.resolve(name)
            while is_under(name, {old}):  # `api.jira.jira`, merged upward, passes through `api.jira`
                name = into + name.removeprefix(old)
            target = self.resolve(name)
            return name if is_under(target, {old}) else target

        changes = {name: new_name(name) for name in (old, *sorted(names)) if is_under(name, {old})}
        return {name: new for name, new in changes.items() if new != name}

    def _merge_edits(self, new_names: Mapping[str, str]) -> dict[str, TermEdit]:
        """Each old name becomes an alias of its new one, which absorbs its data; terms that refer to the old one
        follow."""

        def rename(name: str) -> str:
            return new_names.get(name, name)

        edits = {
            name: rename_listed(name, rename)
            for name, term in self.terms.items()
            if new_names.keys() & {term.alias_of, *(other for key in RELATION_KEYS for other in term.names(key))}
        }
        for old, new in new_names.items():
            term = self.terms.get(old)
            if term is not None and not term.alias_of:
                edits[new] = absorb(term.data, new, rename)
        return edits | {old: make_alias(new) for old, new in new_names.items()}

    def _rename_in_lesson(self, new_names: Mapping[str, str]) -> Edit:
        def renamed_value(value: Any) -> Any:
            if isinstance(value, str):
                return new_names.get(value, value)
            return tuple(dict.fromkeys(new_names.get(name, name) for name in value))

        fields = LESSON_FIELDS[self.kind]
        return lambda memory: replace(memory, **{name: renamed_value(getattr(memory, name)) for name in fields})


def every_lesson(where: Filter | None = None) -> Scope:
    """Archived, superseded and expired lessons included."""
    matching = LESSONS if where is None else LESSONS & where
    return {"where": matching, "include_archived": True, "include_superseded": True, "include_expired": True}


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


Rename: TypeAlias = Callable[[str], str]


# Edits of one term's data, applied inside the transaction


def listed_in(data: Data, key: str) -> list[str]:
    names = (data or {}).get(key)
    return [str(each) for each in names] if isinstance(names, list) else []


def without_empty(data: Mapping[str, Json]) -> Data:
    """A term without any data left is removed."""
    return {key: value for key, value in data.items() if value not in (None, "", [])} or None


def with_keys(changes: Mapping[str, Json]) -> TermEdit:
    """None removes a key."""
    return lambda data: without_empty({**(data or {}), **changes})


def add_listed(key: str, other: str) -> TermEdit:
    return lambda data: without_empty({**(data or {}), key: [*dict.fromkeys((*listed_in(data, key), other))]})


def remove_listed(other: str) -> TermEdit:
    """Removes every relation to the other term, "distinct" included."""

    def edit(data: Data) -> Data:
        after: dict[str, Json] = {**(data or {})}
        after |= {key: [name for name in listed_in(data, key) if name != other] for key in RELATION_KEYS}
        if after.get(Key.ALIAS_OF) == other:
            del after[Key.ALIAS_OF]
        return without_empty(after)

    return edit


def make_alias(target: str) -> TermEdit:
    """An alias has no other data."""
    return lambda _: {Key.ALIAS_OF: target}


def rename_listed(own: str, rename: Rename) -> TermEdit:
    """Renames the terms that this one refers to; a reference to itself is dropped."""

    def edit(data: Data) -> Data:
        after: dict[str, Json] = {**(data or {})}
        after |= {key: renamed(listed_in(data, key), own, rename) for key in RELATION_KEYS}
        target = rename(str(after.pop(Key.ALIAS_OF, "")))
        return without_empty(after if target == own else {**after, Key.ALIAS_OF: target})

    return edit


def absorb(old: Mapping[str, Json], own: str, rename: Rename) -> TermEdit:
    """Takes over the relations of a merged term, and its description where this one has none."""

    def edit(data: Data) -> Data:
        current = dict(rename_listed(own, rename)(data) or {})
        relations: dict[str, Json] = {
            key: renamed((*listed_in(current, key), *listed_in(old, key)), own, rename) for key in RELATION_KEYS
        }
        described = {key: value for key, value in old.items() if data is None or key in (Key.DESCRIPTION, Key.TYPICAL)}
        return without_empty({**described, **current, **relations})

    return edit


def renamed(names: Iterable[str], own: str, rename: Rename) -> list[Json]:
    return [each for each in dict.fromkeys(map(rename, names)) if each != own]


def warn_both_ways(changed: Iterable[Memory], context: str) -> tuple[str, ...]:
    """A warning for lessons that now both apply in the context and exclude it."""
    both = [memory for memory in changed if context in memory.contexts and context in memory.anti_contexts]
    ids = ", ".join(memory.id for memory in both[:3])
    if not both:
        return ()
    return (f"Lessons that now both apply in {context!r} and exclude it: {len(both)} ({ids}); decide for each.",)


# Checking the terms and values of a request

REFERENCE = "reference"  # the kind of term that holds table values, named by table and value: "priority:high"
TABLE_SEPARATOR = ":"
RESERVED_TABLES = (*KINDS, "confidence", "relation", "type")  # these have a method or a field of their own


class TermValidator:
    """Turns the values of one request into those that are stored, and collects warnings and suggestions."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.warnings: list[str] = []
        self.suggestions: dict[str, tuple[str, ...]] = {}
        self.new_sources: list[str] = []
        self._vocabularies: dict[str, Vocabulary] = {}

    def vocabulary(self, kind: str) -> Vocabulary:
        """Read once, whatever the number of terms."""
        if kind not in self._vocabularies:
            self._vocabularies[kind] = Vocabulary(self.store, kind)
        return self._vocabularies[kind]

    def tags(self, names: Iterable[str] | str | None) -> tuple[str, ...]:
        if not (wanted := normalize_all(names)):
            return ()
        vocabulary = self.vocabulary(TAG)
        resolved = vocabulary.resolve_all(wanted)
        self._warn_unknown(vocabulary, resolved)
        return resolved

    def contexts(self, names: Iterable[str] | str | None) -> tuple[str, ...]:
        """A new context gives no warning: situations are free text."""
        return self.vocabulary(CONTEXT).resolve_all(names)

    def source(self, name: str | None) -> tuple[str, str]:
        """The source and its typical confidence. A new source is stored together with the lesson."""
        if not name or not normalize(name):
            return "", DEFAULT_LEVEL
        vocabulary = self.vocabulary(SOURCE)
        source = vocabulary.resolve(name)
        if not any(each in vocabulary.terms for each in (source, *ancestors(source))):
            if not self._warn_unknown(vocabulary, [source]):
                self.warnings.append(f"source {source!r} is used by lessons but has no description.")
            self.warnings[-1] += " It was created, and waits for review."
            self.new_sources.append(source)
        elif vocabulary.inherited(source, Key.DEPRECATED):
            self.warnings.append(f"source {source!r} is deprecated; choose another")
        return source, str(vocabulary.inherited(source, Key.TYPICAL) or DEFAULT_LEVEL)

    def metadata(self, metadata: Mapping[str, Json]) -> Mapping[str, Json]:
        """Spells values as their reference table does. A value that its table lacks is stored with a warning."""
        if not isinstance(metadata, Mapping):
            return metadata  # the store refuses it with its own message
        checked = dict(metadata)
        for key, value in metadata.items():
            known = [each.name for each in references(self.store, key)] if isinstance(value, str) else []
            if not known:
                continue
            checked[key] = name = normalize(str(value))
            if name not in known:
                near = nearest(name, known)
                hint = f"did you mean {near[0]!r}?" if near else "use one of: " + ", ".join(known) + "."
                self.warnings.append(f"{key} {name!r} not recognized, {hint}")
                self.suggestions |= {name: near} if near else {}
        return checked

    def confidence(self, value: str | float | None, typical: str = DEFAULT_LEVEL) -> float:
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            raise InvalidInput(f"A confidence is a level such as 'high', or a number from 0 to 1, not {value!r}.")
        return float(value) if isinstance(value, int | float) else level_named(value or typical).value

    def new_terms(self) -> Mapping[tuple[str, str], TermEdit]:
        """Edits that add the new sources, to be committed with the lesson that names them."""
        if self.new_sources and not self.store.can_edit_vocabulary:
            new = self.new_sources[0]
            raise AccessDenied(f"The source {new!r} is new, and this agent may not add terms; use a known one.")
        return {(SOURCE, name): lambda data: data or {Key.REVIEW: True} for name in self.new_sources}

    def _warn_unknown(self, vocabulary: Vocabulary, names: Iterable[str]) -> bool:
        warnings, suggestions = check_known(vocabulary, names)
        self.warnings += warnings
        self.suggestions |= suggestions
        return bool(warnings)


@dataclass(frozen=True, slots=True)
class Reference:
    """A value that a lesson may name in its metadata, under the name of its table."""

    name: str
    ordinal: int | None = None
    description: str = ""


def references(store: MemoryStore, table: str) -> tuple[Reference, ...]:
    """The values of a table in their order; empty when the table does not exist."""
    values = []
    for full_name, data in store.vocabulary(REFERENCE).items():
        kind, _, name = full_name.partition(TABLE_SEPARATOR)
        if kind == table:
            ordinal = data.get(Key.ORDINAL)
            place = ordinal if isinstance(ordinal, int) else None
            values.append(Reference(name, place, str(data.get(Key.DESCRIPTION) or "")))
    return tuple(sorted(values, key=lambda each: (each.ordinal is None, each.ordinal, each.name)))


def table_name(name: str) -> str:
    table = normalize(name)
    if not table or TABLE_SEPARATOR in table or table in RESERVED_TABLES:
        raise InvalidInput(f"{name!r} cannot be a table of values; choose a name such as 'priority'.")
    return table


def add_reference(store: MemoryStore, kind: str, name: str, ordinal: int | None, description: str) -> Reference:
    """Without an ordinal a new value comes last."""
    table, added, about = table_name(kind), normalize(name), description.strip()
    if not added:
        raise InvalidInput(f"A {table} needs a name; give a word.")
    current = references(store, table)
    last = max((each.ordinal or 0 for each in current), default=0)
    previous = next((each.ordinal for each in current if each.name == added), None)
    place = ordinal if ordinal is not None else previous if previous is not None else last + 1
    edit = with_keys({Key.ORDINAL: place, Key.DESCRIPTION: about})
    store.write("reference", terms={(REFERENCE, f"{table}{TABLE_SEPARATOR}{added}"): edit})
    return Reference(added, place, about)
