"""The edits that relate, describe and merge terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from nacre.engine.engine import Edit
from nacre.engine.write_request import Term as Data
from nacre.engine.write_request import TermEdit
from nacre.lessons.vocabulary import CONTEXT, RELATION_KEYS, SOURCE, TAG, Key, Vocabulary, builtin_sources
from nacre.model import Filter, Memory
from nacre.model.filter import is_under
from nacre.model.memory import Json

Rename: TypeAlias = Callable[[str], str]
TermEdits: TypeAlias = dict[tuple[str, str], TermEdit]
SYNONYM, CHILD_OF = "synonym", "child_of"
RELATIONS = {SYNONYM: Key.SYNONYMS, CHILD_OF: Key.PARENTS}


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
