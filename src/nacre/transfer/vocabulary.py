"""The vocabulary in an archive: registered types, relations, and the terms that a space was taught."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from nacre.errors import InvalidInput
from nacre.memory_store import MemoryStore
from nacre.model import TYPES, Memory
from nacre.model.memory import LESSON, Json
from nacre.model.validate import json_object, required_label
from nacre.protocols import TermChange
from nacre.remember.guard import Guard
from nacre.transfer.read_archive import TermRow

TYPE, RELATION = "type", "relation"
STORE_WIDE = (TYPE, RELATION)
# Taught to one space. Its other kinds of terms are named like keys in the metadata of its memories.
OF_A_SPACE = ("tag", "context", "source", "entity")
KIND = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")
MOST_KEYS = 1_000  # metadata keys that are looked up as kinds of terms
ALIAS_OF = "alias_of"
Terms = dict[str, Mapping[str, Json]]


@dataclass(slots=True)
class ExportedVocabulary:
    """The vocabulary of a store, and the terms that exported memories use."""

    store: MemoryStore
    known: dict[str, Terms] = field(init=False)
    used: dict[str, set[str]] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        backend = self.store.backend
        self.known = {kind: dict(backend.terms(kind)) for kind in STORE_WIDE}
        self.known |= {kind: dict(self.store.vocabulary(kind)) for kind in OF_A_SPACE}

    def note(self, memory: Memory) -> None:
        used = {
            TYPE: [memory.type], RELATION: [link.rel for link in memory.links], "tag": memory.tags,
            "context": (*memory.contexts, *memory.anti_contexts), "source": [memory.source], "entity": memory.entities,
        }  # fmt: skip
        for kind, names in used.items():
            known = self.known[kind]
            self.used.setdefault(kind, set()).update(name for name in names if name in known)
        if len(self.keys) < MOST_KEYS:
            self.keys.update(key for key in memory.metadata if KIND.match(key) and key not in self.known)

    def rows(self, *, everything: bool) -> Iterator[tuple[str, str, Mapping[str, Json]]]:
        """All terms, or those that the memories use together with the terms that explain them."""
        for kind, terms in self.known.items():
            names = set(terms) if everything else related_terms(terms, self.used.get(kind, set()))
            yield from ((kind, name, data) for name, data in terms.items() if name in names)
        for kind in sorted(self.keys):
            yield from ((kind, name, data) for name, data in self.store.vocabulary(kind).items())


def related_terms(terms: Terms, names: set[str]) -> set[str]:
    """These terms, the terms that their data name, and their aliases."""
    aliases: dict[str, list[str]] = {}
    for name, data in terms.items():
        aliases.setdefault(str(data.get(ALIAS_OF, "")), []).append(name)
    related: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in terms and name not in related:
            related.add(name)
            waiting += [*strings(terms[name].values()), *aliases.get(name, ())]
    return related


def strings(values: Iterable[Json]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (each for each in value if isinstance(each, str))


@dataclass(frozen=True, slots=True)
class Term:
    """`kind` is the name in the backend, with the space where the kind belongs to one."""

    kind: str
    name: str
    data: Mapping[str, Json]

    def change(self, space: str, current: Mapping[str, Json] | None, *, overwrite: bool) -> TermChange | None:
        """Existing terms stay as they are, unless `overwrite`."""
        if current is not None and (not overwrite or dict(current) == dict(self.data)):
            return None
        return TermChange(space, self.kind, self.name, current, self.data)


def checked_term(row: TermRow, space: str, guard: Guard) -> Term:
    """Raises `InvalidInput` for a term that could not have been taught to this store."""
    kind, name, data = row.kind, required_label("a term's name", row.name), json_object("a term's data", row.data)
    if not isinstance(kind, str) or not KIND.match(kind):
        raise InvalidInput("its kind is not allowed in an archive.")
    # Archives of earlier versions have the type of lessons as a term, which had to be registered.
    if kind == TYPE and (name != name.lower() or (name in TYPES and name != LESSON)):
        raise InvalidInput("a type is written in lower case, and must not be a built-in one.")
    clean, _ = guard.fields({"title": name, "metadata": data})
    if clean["title"] != name:
        raise InvalidInput("its name looks like a secret.")
    return Term(kind if kind in STORE_WIDE else f"{kind}/{space}", name, cast("dict[str, Json]", clean["metadata"]))
