"""How terms relate to each other, and the edits that relate, describe and merge them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from nacre.engine.change_set import Term as Data
from nacre.engine.change_set import TermEdit
from nacre.engine.engine import Edit
from nacre.errors import InvalidInput, UnknownName
from nacre.lessons.lesson import AGENT_TAG
from nacre.lessons.vocabulary import (
    ALIAS_OF,
    CONTEXT,
    DESCRIPTION,
    DISTINCT,
    KINDS,
    PARENTS,
    SOURCE,
    SYNONYMS,
    TAG,
    TYPICAL,
    Vocabulary,
    builtin_sources,
    normalize,
)
from nacre.model import Filter, Memory
from nacre.model.filter import is_under
from nacre.model.memory import Json

Rename: TypeAlias = Callable[[str], str]
TermEdits: TypeAlias = dict[tuple[str, str], TermEdit]
SYNONYM, CHILD_OF = "synonym", "child_of"
RELATIONS = {SYNONYM: SYNONYMS, CHILD_OF: PARENTS}
RELATION_KEYS = (SYNONYMS, PARENTS, DISTINCT)  # keys of a term's data that list other terms


# Reading relations


def aliases(vocabulary: Vocabulary) -> dict[str, tuple[str, ...]]:
    """The aliases of each term, by the term they resolve to."""
    by_target: defaultdict[str, list[str]] = defaultdict(list)
    for name, term in sorted(vocabulary.terms.items()):
        if term.alias_of:
            by_target[vocabulary.resolve(name)].append(name)
    return {name: tuple(each) for name, each in by_target.items()}


def listed_terms(vocabulary: Vocabulary, name: str, key: str) -> tuple[str, ...]:
    return vocabulary.terms[name].names(key) if name in vocabulary.terms else ()


def parents(vocabulary: Vocabulary, name: str) -> tuple[str, ...]:
    """The direct parents: by its dotted path, and by its `child_of` relations."""
    dotted = name.rpartition(".")[0]
    return tuple(dict.fromkeys(each for each in (dotted, *listed_terms(vocabulary, name, PARENTS)) if each))


def all_parents(vocabulary: Vocabulary, name: str) -> Iterator[str]:
    """Parents, their parents and so on, nearest first."""
    queue, seen = [name], {name}
    while queue:
        for parent in parents(vocabulary, queue.pop(0)):
            if parent not in seen:
                seen.add(parent)
                queue.append(parent)
                yield parent


def are_related(vocabulary: Vocabulary, one: str, other: str) -> bool:
    """Whether any relation between the two is recorded, "distinct" included."""
    return any(
        vocabulary.terms[a].alias_of == b or any(b in vocabulary.terms[a].names(key) for key in RELATION_KEYS)
        for a, b in ((one, other), (other, one))
        if a in vocabulary.terms
    )


def is_decided(vocabulary: Vocabulary, one: str, other: str) -> bool:
    """Whether nobody need ask if the two mean the same: they are related, or one is under the other."""
    return are_related(vocabulary, one, other) or is_under(one, {other}) or is_under(other, {one})


# Checks


def term_name(kind: str, name: str) -> str:
    """The normalized name. Raises `InvalidInput` for an empty one, and for a tag that marks a lesson's author."""
    term = normalize(name)
    if not term:
        raise InvalidInput(f"A {kind} needs a name; give a word.")
    if kind == TAG and term.startswith(AGENT_TAG):
        raise InvalidInput(f"{term!r} marks the author of a lesson and cannot be changed; choose another tag.")
    return term


def known_term(vocabulary: Vocabulary, name: str) -> str:
    """The normalized name, aliases not resolved. Raises `InvalidInput` when it is neither described nor in use."""
    term = normalize(name)
    if not term or not vocabulary.known(term):
        near = vocabulary.near(term) if term else ()
        remedy = f"did you mean {near[0]!r}?" if near else f"`{vocabulary.kind}s` lists the known ones."
        raise InvalidInput(f"There is no {vocabulary.kind} {name!r}; {remedy}")
    return term


def check_kind(kind: str) -> str:
    if kind not in KINDS:
        raise UnknownName("kind of term", kind, KINDS)
    return kind


def check_different(kind: str, name: str, other: str) -> None:
    if name == other:
        raise InvalidInput(f"Both names are the {kind} {name!r}; give two that differ.")


def check_alias(vocabulary: Vocabulary, alias: str, target: str) -> None:
    """Raises `InvalidInput` for an alias that would lead back to itself."""
    if vocabulary.resolve(target) == alias:
        raise InvalidInput(f"{target!r} is already an alias of {alias!r}; swap the two, or unrelate them first.")


def check_parent(vocabulary: Vocabulary, child: str, parent: str) -> None:
    if child in all_parents(vocabulary, parent):
        raise InvalidInput(f"{parent!r} is already under {child!r}; unrelate them first.")


def check_merge(vocabulary: Vocabulary, old: str, into: str) -> None:
    check_different(vocabulary.kind, old, into)
    check_alias(vocabulary, old, into)
    if is_under(vocabulary.resolve(into), {old}):
        raise InvalidInput(f"{into!r} is under {old!r}; merge {into!r} into {old!r} instead.")


# Edits of one term's data, applied inside the transaction


def listed_in(data: Data, key: str) -> list[str]:
    names = (data or {}).get(key)
    return [str(each) for each in names] if isinstance(names, list) else []


def without_empty(data: Mapping[str, Json]) -> Data:
    """A term without any data left is removed."""
    return {key: value for key, value in data.items() if value not in (None, "", [])} or None


def set_keys(changes: Mapping[str, Json]) -> TermEdit:
    """None removes a key."""
    return lambda data: without_empty({**(data or {}), **changes})


def add_listed(key: str, other: str) -> TermEdit:
    return lambda data: without_empty({**(data or {}), key: [*dict.fromkeys((*listed_in(data, key), other))]})


def remove_listed(other: str) -> TermEdit:
    """Removes every relation to the other term, "distinct" included."""

    def edit(data: Data) -> Data:
        after: dict[str, Json] = {**(data or {})}
        after |= {key: [name for name in listed_in(data, key) if name != other] for key in RELATION_KEYS}
        if after.get(ALIAS_OF) == other:
            del after[ALIAS_OF]
        return without_empty(after)

    return edit


def make_alias(target: str) -> TermEdit:
    """An alias has no other data."""
    return lambda _: {ALIAS_OF: target}


def rename_listed(own: str, rename: Rename) -> TermEdit:
    """Renames the terms that this one refers to; a reference to itself is dropped."""

    def edit(data: Data) -> Data:
        after: dict[str, Json] = {**(data or {})}
        after |= {key: renamed(listed_in(data, key), own, rename) for key in RELATION_KEYS}
        target = rename(str(after.pop(ALIAS_OF, "")))
        return without_empty(after if target == own else {**after, ALIAS_OF: target})

    return edit


def absorb(old: Mapping[str, Json], own: str, rename: Rename) -> TermEdit:
    """Takes over the relations of a merged term, and its description where this one has none."""

    def edit(data: Data) -> Data:
        current = dict(rename_listed(own, rename)(data) or {})
        relations: dict[str, Json] = {
            key: renamed((*listed_in(current, key), *listed_in(old, key)), own, rename) for key in RELATION_KEYS
        }
        described = {key: value for key, value in old.items() if data is None or key in (DESCRIPTION, TYPICAL)}
        return without_empty({**described, **current, **relations})

    return edit


def renamed(names: Iterable[str], own: str, rename: Rename) -> list[Json]:
    return [each for each in dict.fromkeys(map(rename, names)) if each != own]


def with_builtin(kind: str, name: str, edit: TermEdit) -> TermEdit:
    """Starts from the built-in data: a built-in source is not stored until somebody changes it."""
    if kind != SOURCE or name not in builtin_sources():
        return edit
    return lambda data: edit(builtin_sources()[name] if data is None else data)


# Merging


def merge_names(vocabulary: Vocabulary, old: str, into: str, names: Iterable[str]) -> dict[str, str]:
    """The new name of `old` and of everything under it: `old.x` becomes `into.x`."""

    def new_name(name: str) -> str:
        if name != old:  # an alias keeps its own target
            name = vocabulary.resolve(name)
        while is_under(name, {old}):  # `api.jira.jira`, merged upward, passes through `api.jira`
            name = into + name.removeprefix(old)
        target = vocabulary.resolve(name)
        return name if is_under(target, {old}) else target

    changes = {name: new_name(name) for name in (old, *sorted(names)) if is_under(name, {old})}
    return {name: new for name, new in changes.items() if new != name}


def merge_edits(vocabulary: Vocabulary, new_names: Mapping[str, str]) -> TermEdits:
    """Each old name becomes an alias of its new one, which absorbs its data; terms that refer to the old one follow."""

    def rename(name: str) -> str:
        return new_names.get(name, name)

    edits: TermEdits = {
        (vocabulary.kind, name): rename_listed(name, rename)
        for name, term in vocabulary.terms.items()
        if new_names.keys() & {term.alias_of, *(other for key in RELATION_KEYS for other in term.names(key))}
    }
    for old, new in new_names.items():
        term = vocabulary.terms.get(old)
        if term is not None and not term.alias_of:
            edits[vocabulary.kind, new] = absorb(term.data, new, rename)
    return edits | {(vocabulary.kind, old): make_alias(new) for old, new in new_names.items()}


def filters_with(kind: str, name: str) -> list[Filter]:
    """Filters that together match every lesson with this term, or one under it."""
    fields = {TAG: ("tags",), CONTEXT: ("contexts", "anti_contexts"), SOURCE: ("source",)}[kind]
    return [Filter.where(**{f"{field}__under": [name]}) for field in fields]


def terms_of(kind: str, memory: Memory) -> tuple[str, ...]:
    if kind == TAG:
        return memory.tags
    return (*memory.contexts, *memory.anti_contexts) if kind == CONTEXT else (memory.source,)


def rename_in_lesson(kind: str, new_names: Mapping[str, str]) -> Edit:
    def rename_all(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(new_names.get(name, name) for name in names))

    def edit(memory: Memory) -> Memory:
        if kind == TAG:
            return replace(memory, tags=rename_all(memory.tags))
        if kind == CONTEXT:
            return replace(memory, contexts=rename_all(memory.contexts), anti_contexts=rename_all(memory.anti_contexts))
        return replace(memory, source=new_names.get(memory.source, memory.source))

    return edit


def warn_both_ways(changed: Iterable[Memory], context: str) -> tuple[str, ...]:
    """A warning for lessons that now both apply in the context and exclude it."""
    both = [memory for memory in changed if context in memory.contexts and context in memory.anti_contexts]
    ids = ", ".join(memory.id for memory in both[:3])
    if not both:
        return ()
    return (f"Lessons that now both apply in {context!r} and exclude it: {len(both)} ({ids}); decide for each.",)
