"""Lessons and the words they use as plain values, without what is not to leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from nacre.lessons.document import FORMAT, VERSION
from nacre.lessons.tables import PARTED, REFERENCE
from nacre.lessons.vocabulary import (
    ALIAS_OF,
    CONTEXT,
    FIELDS,
    KINDS,
    PARENTS,
    SYNONYMS,
    TAG,
    Vocabulary,
    normal,
)
from nacre.lessons.word_edits import TYING
from nacre.memory_store import MemoryStore
from nacre.model import Link, Memory
from nacre.model.filter import ancestors, is_under
from nacre.model.instants import iso
from nacre.model.levels import level_of
from nacre.model.memory import Json

if TYPE_CHECKING:
    from nacre.safety.secrets import Policy

# What a lesson tells under names of its own, and need not tell again in its `record`.
TOLD = ("id", "text", "title", "type", "space", "agent", "tags", "contexts", "anti_contexts", "source", "source_notes",
        "metadata", "confidence", "superseded_by", "links", "trashed_from")  # fmt: skip
KEPT = ("id", "superseded_by", "links", "confidence", "created_at", "updated_at", "last_validated_at")


@dataclass(slots=True)
class Redaction:
    """Takes secrets and personal data out of values, and counts them; with no `policy`, nothing."""

    policy: Policy | None
    found: Counter[str] = field(default_factory=Counter)

    def clean(self, value: Json) -> Json:
        if self.policy is None:
            return value
        from nacre.safety.secrets import scrub_json

        cleaned = scrub_json(value, policy=self.policy)
        self.found.update(cleaned.kinds)
        return cleaned.value

    def lesson(self, told: dict[str, Json]) -> dict[str, Json]:
        """Ids and times hold nothing that was written by anyone, and must stay as they are."""
        clean = cast("dict[str, Json]", self.clean({name: each for name, each in told.items() if name not in KEPT}))
        links = [{**link, "data": self.clean(link["data"])} if "data" in link else link for link in ties(told)]
        return {name: list(links) if name == "links" else clean.get(name, each) for name, each in told.items()}


def ties(told: Mapping[str, Json]) -> list[dict[str, Json]]:
    return cast("list[dict[str, Json]]", told["links"])


def document(
    store: MemoryStore, memories: Sequence[Memory], hidden: frozenset[str], redaction: Redaction, *, every_word: bool
) -> dict[str, Json]:
    """`hidden` are tags that nothing in it may name; `every_word` tells also those that no lesson uses."""
    there = {memory.id for memory in memories}
    lessons = [redaction.lesson(told(memory, there)) for memory in memories]
    words = {
        kind: {str(redaction.clean(name)): redaction.clean(dict(data)) for name, data in found.items()}
        for kind, found in vocabulary(store, memories, hidden, every_word=every_word).items()
    }
    counts: dict[str, Json] = {
        "lessons": len(lessons),
        "links": sum(len(ties(each)) for each in lessons),
        "words": sum(map(len, words.values())),
    }
    head: dict[str, Json] = {"format": FORMAT, "version": VERSION, "exported_at": iso(store.now()), "counts": counts}
    if redaction.found:
        head["redacted"] = dict(sorted(redaction.found.items()))
    return {**head, "vocabulary": cast("Json", words), "lessons": cast("Json", lessons)}


def told(memory: Memory, there: set[str]) -> dict[str, Json]:
    """`record` has the exact times, and all that a lesson is besides."""
    validated = memory.last_validated_at
    return {
        "id": memory.id,
        "title": memory.title,
        "content": memory.text,
        "confidence": level_of(memory.confidence).name,
        "certainty": memory.confidence,
        "source": memory.source,
        "source_notes": memory.source_notes,
        "tags": list(memory.tags),
        "contexts": list(memory.contexts),
        "anti_contexts": list(memory.anti_contexts),
        "created_at": iso(memory.created_at),
        "updated_at": iso(memory.updated_at),
        "last_validated_at": None if validated is None else iso(validated),
        "agent": memory.agent,
        "archived": memory.status == "archived",
        "superseded_by": memory.superseded_by,
        "links": [tie(link) for link in memory.links if link.to in there],
        "metadata": dict(memory.metadata),
        "record": {name: value for name, value in memory.to_dict().items() if name not in TOLD},
    }


def tie(link: Link) -> dict[str, Json]:
    whole: dict[str, Json] = {"to": link.to, "relation": link.rel, "weight": link.weight}
    return {**whole, "data": dict(link.data)} if link.data else whole


def vocabulary(
    store: MemoryStore, memories: Sequence[Memory], hidden: frozenset[str], *, every_word: bool
) -> dict[str, dict[str, Mapping[str, Json]]]:
    """The words on the lessons, with their aliases, synonyms and all above them; and the tables of values that their
    metadata name."""
    found: dict[str, dict[str, Mapping[str, Json]]] = {}
    for kind in KINDS:
        taught = store.vocabulary(kind)
        names = set(taught) if every_word else kin(Vocabulary(store, kind), used(kind, memories))
        secret = hidden if kind == TAG else frozenset()
        shown = {name for name in names if not is_under(name, set(secret))}
        found[kind] = {name: without(data, secret) for name, data in taught.items() if name in shown}
    tables = {normal(key) for memory in memories for key in memory.metadata}
    values = store.vocabulary(REFERENCE).items()
    found[REFERENCE] = {name: data for name, data in values if every_word or name.partition(PARTED)[0] in tables}
    return {kind: words for kind, words in found.items() if words}


def used(kind: str, memories: Iterable[Memory]) -> set[str]:
    fields = (FIELDS[kind], "anti_contexts") if kind == CONTEXT else (FIELDS[kind],)
    given = (getattr(memory, name) for memory in memories for name in fields)
    return {name for value in given for name in ((value,) if isinstance(value, str) else value) if name}


def kin(words: Vocabulary, names: set[str]) -> set[str]:
    """Never what lies only beside or under one of them: that says something of other lessons."""
    found: set[str] = set()
    waiting = list(names)
    meaning: dict[str, list[str]] = {}
    for word in words.words.values():
        for name in (word.alias_of, *word.names(SYNONYMS)):
            meaning.setdefault(name, []).append(word.name)
    while waiting:
        name = waiting.pop()
        if name in found or not name:
            continue
        found.add(name)
        waiting += [*ancestors(name), *meaning.get(name, ())]
        if own := words.words.get(name):
            waiting += [own.alias_of, *own.names(SYNONYMS), *own.names(PARENTS)]
    return found


def without(data: Mapping[str, Json], hidden: frozenset[str]) -> Mapping[str, Json]:
    if not hidden:
        return data
    clean = dict(data)
    for key in TYING:
        if isinstance(listed := clean.get(key), list):
            clean[key] = [name for name in listed if not is_under(str(name), set(hidden))]
    if is_under(str(clean.get(ALIAS_OF, "")), set(hidden)):
        del clean[ALIAS_OF]
    return clean
