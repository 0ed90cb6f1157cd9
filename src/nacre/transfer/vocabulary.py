"""The words that go with memories: registered types, relations, and what a space was taught."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from nacre.engine.changes import TermChange
from nacre.errors import InvalidInput
from nacre.memory_store import MemoryStore
from nacre.model import TYPES, Memory
from nacre.model.memory import Json
from nacre.remember.guard import Guard
from nacre.remember.validate import json_object, required_label
from nacre.transfer.read_archive import TermRow

TYPE, RELATION = "type", "relation"
STORE_WIDE = (TYPE, RELATION)
# Taught to one space. What else a space was taught has the name of a key in the metadata of its memories.
OF_A_SPACE = ("tag", "context", "source", "entity")
KIND = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")
MOST_KEYS = 1_000  # of metadata that are looked up as kinds of words
ALIAS_OF = "alias_of"
Terms = dict[str, Mapping[str, Json]]


@dataclass(slots=True)
class ExportedVocabulary:
    """The words of a store, and those among them that exported memories use."""

    store: MemoryStore
    known: dict[str, Terms] = field(init=False)
    used: dict[str, set[str]] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        backend = self.store.acting_as("export").store
        self.known = {kind: dict(backend.terms(kind)) for kind in STORE_WIDE}
        self.known |= {kind: dict(self.store.vocabulary(kind)) for kind in OF_A_SPACE}

    def note(self, memory: Memory) -> None:
        told = {
            TYPE: [memory.type],
            RELATION: [link.rel for link in memory.links],
            "tag": memory.tags,
            "context": (*memory.contexts, *memory.anti_contexts),
            "source": [memory.source],
            "entity": memory.entities,
        }
        for kind, names in told.items():
            known = self.known[kind]
            self.used.setdefault(kind, set()).update(name for name in names if name in known)
        if len(self.keys) < MOST_KEYS:
            self.keys.update(key for key in memory.metadata if KIND.match(key) and key not in self.known)

    def told(self, *, everything: bool) -> Iterator[tuple[str, str, Mapping[str, Json]]]:
        """All of them, or those that the memories use with those that these are explained by."""
        for kind, words in self.known.items():
            names = set(words) if everything else related_terms(words, self.used.get(kind, set()))
            yield from ((kind, name, data) for name, data in words.items() if name in names)
        for kind in sorted(self.keys):
            yield from ((kind, name, data) for name, data in self.store.vocabulary(kind).items())


def related_terms(words: Terms, names: set[str]) -> set[str]:
    """With what their data name, and the aliases that stand for one of them."""
    aliases: dict[str, list[str]] = {}
    for name, data in words.items():
        aliases.setdefault(str(data.get(ALIAS_OF, "")), []).append(name)
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in words and name not in found:
            found.add(name)
            waiting += [*strings(words[name].values()), *aliases.get(name, ())]
    return found


def strings(values: Iterable[Json]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (each for each in value if isinstance(each, str))


@dataclass(frozen=True, slots=True)
class Term:
    """`kind` is the store's own name for it, with the space where it has one."""

    kind: str
    name: str
    data: Mapping[str, Json]

    def change(self, space: str, stood: Mapping[str, Json] | None, *, overwrite: bool) -> TermChange | None:
        """Words that stand stay as they are, unless everything is overwritten."""
        if stood is not None and (not overwrite or dict(stood) == dict(self.data)):
            return None
        return TermChange(space, self.kind, self.name, stood, self.data)


def checked_term(row: TermRow, space: str, guard: Guard) -> Term:
    """Raises `InvalidInput` for what this store could not have been taught by anybody."""
    kind, name, data = row.kind, required_label("a word's name", row.name), json_object("a word's data", row.data)
    if not isinstance(kind, str) or not KIND.match(kind):
        raise InvalidInput("its kind is none that an archive brings.")
    if kind == TYPE and (name != name.lower() or name in TYPES):
        raise InvalidInput("a type is written in small letters, and is none that every store knows.")
    clean, _ = guard.fields({"title": name, "metadata": data})
    if clean["title"] != name:
        raise InvalidInput("its name looks like a secret.")
    return Term(kind if kind in STORE_WIDE else f"{kind}/{space}", name, cast("dict[str, Json]", clean["metadata"]))
