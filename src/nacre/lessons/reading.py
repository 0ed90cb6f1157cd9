"""Turns the plain values of a file into lessons and words that can be kept, and refuses what cannot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nacre.errors import InvalidInput, LinkRefused, UnknownName
from nacre.lessons.document import refused
from nacre.lessons.exporting import TOLD
from nacre.lessons.lesson import normal_title
from nacre.lessons.relating import RELATED, USUAL
from nacre.lessons.shelf import Wording
from nacre.lessons.tables import ORDINAL, REFERENCE
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
    UNSAID,
    Vocabulary,
    Word,
    normal,
)
from nacre.memory_store import MemoryStore
from nacre.model import Link, Memory
from nacre.model.instants import iso
from nacre.model.levels import level_named, level_of
from nacre.model.memory import DEFAULTS, LESSON, Json
from nacre.remember.validate import CHECKS, boolean, instant, label, link_tuple, storable_text

OWN = ("id", "title", "content", "confidence", "certainty", "source", "source_notes", "tags", "contexts",
       "anti_contexts", "created_at", "updated_at", "last_validated_at", "agent", "archived", "superseded_by", "links",
       "metadata", "record")  # fmt: skip
TIMES = ("created_at", "updated_at", "last_validated_at")
# In a `record`: what a caller may say of a memory, less what a lesson says itself; the rest is told after the draft.
RECORDED = tuple(name for name in CHECKS if name not in (*TOLD, *TIMES))
TIE = ("to", "relation", "weight", "data")
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reading:
    """`scrubbed` tells how many lessons lost something that looked like a secret."""

    lessons: dict[str, Memory]
    words: dict[tuple[str, str], dict[str, Json]]
    scrubbed: int


def read_lessons(store: MemoryStore, whole: Values) -> Reading:
    """Raises `InvalidInput` for the first thing that is wrong."""
    given = list(objects(whole.get("lessons"), "the list of lessons"))
    told = whole.get("counts")
    if isinstance(told, dict) and told.get("lessons", len(given)) != len(given):
        raise refused(f"they should be {told['lessons']!r:.40} and are {len(given)}; export them again")
    spoken = {kind: Vocabulary(store, kind) for kind in KINDS}
    lessons: dict[str, Memory] = {}
    scrubbed = 0
    for number, each in enumerate(given, 1):
        where = f"lesson {number}" + (f" ({each['id']!r:.60})" if each.get("id") else "")
        try:
            memory = lesson(store, spoken, each)
        except (InvalidInput, LinkRefused) as error:
            raise refused(f"{where} is not as it should be ({str(error).rstrip('.')})") from error
        if memory.id in lessons:
            raise refused(f"{where} has an id that another one has; take one of them out")
        lessons[memory.id] = memory
        scrubbed += memory.text != each["content"].strip()
    words = dict(words_in(store, whole.get("vocabulary", {})))
    return Reading(lessons, words, scrubbed)


def objects(given: object, what: str) -> Iterator[Values]:
    if not isinstance(given, list):
        raise refused(f"{what} is missing or no list; export them again")
    for each in given:
        if not isinstance(each, dict):
            raise refused(f"{what} holds something that is no object; export them again")
        yield each


def lesson(store: MemoryStore, spoken: Mapping[str, Vocabulary], given: Values) -> Memory:
    """In the words of this store: what is an alias here is resolved, whatever it was where the lesson comes from."""
    for name in given:
        if name not in OWN:
            raise UnknownName("field of a lesson", str(name), OWN)
    record = object_in(given, "record")
    title = storable_text("title", given.get("title"))
    source = spoken[SOURCE].resolve(label("source", given.get("source")))
    known: dict[str, Any] = {name: record.get(name, DEFAULTS[name]) for name in RECORDED if record or name in record}
    fields = {
        **known,
        "title": normal_title(title) if title.strip() else "",
        "agent": given.get("agent") or "",
        "source": source,
        "source_notes": given.get("source_notes") or "",
        "tags": spoken[TAG].resolved(listed(given, "tags")),
        "contexts": spoken[CONTEXT].resolved(listed(given, "contexts")),
        "anti_contexts": spoken[CONTEXT].resolved(listed(given, "anti_contexts")),
        "metadata": object_in(given, "metadata"),
        "confidence": certainty(store, given, spoken[SOURCE].words.get(source)),
        "status": status(given, record),
        **({"id": given["id"]} if given.get("id") is not None else {}),
        **{name: at for name in TIMES if name in CHECKS and (at := time_in(given, record, name)) is not None},
    }
    drafted = store.draft(storable_text("content", given.get("content")), **fields)
    return standing(store, drafted, given, record)


def standing(store: MemoryStore, drafted: Memory, given: Values, record: Values) -> Memory:
    """What nobody may say of a new memory, but a file of lessons tells."""
    updated = time_in(given, record, "updated_at")
    heir = label("superseded_by", given.get("superseded_by"))
    if heir == drafted.id:
        raise InvalidInput("it supersedes itself")
    since = record.get("superseded_at", drafted.updated_at) if heir else None
    return replace(
        drafted,
        type=LESSON,
        updated_at=drafted.updated_at if updated is None else updated,
        superseded_by=heir,
        superseded_at=None if since is None else instant("superseded_at", since),
        links=links(store, drafted.id, given),
    )


def time_in(given: Values, record: Values, name: str) -> float | None:
    """The exact one, unless somebody has written another time over it."""
    if given.get(name) is None:
        return None
    at = instant(name, given[name])
    exact = record.get(name)
    if exact is None:
        return at
    return kept if iso(kept := instant(name, exact)) == iso(at) else at


def certainty(store: MemoryStore, given: Values, source: Word | None) -> float:
    """The exact one, unless somebody has written another level over it."""
    level, exact = given.get("confidence"), given.get("certainty")
    wording, typical = Wording(store), source.data.get(TYPICAL) if source is not None else None
    if exact is None:
        return wording.confidence(level, str(typical or UNSAID))
    sure = float(CHECKS["confidence"]("certainty", exact))  # type: ignore[arg-type]
    if level is None or (isinstance(level, str) and level_of(sure) == level_named(level)):
        return sure
    return wording.confidence(level)


def status(given: Values, record: Values) -> object:
    stood = record.get("status", DEFAULTS["status"])
    if stood == "trashed":
        raise InvalidInput("it is in the trash")
    if "archived" not in given:
        return stood
    archived = boolean("archived", given["archived"])
    if archived:
        return "archived"
    return DEFAULTS["status"] if stood == "archived" else stood


def links(store: MemoryStore, id: str, given: Values) -> tuple[Link, ...]:
    found = []
    for each in objects(given.get("links") or [], "its list of links"):
        for name in each:
            if name not in TIE:
                raise UnknownName("field of a link", str(name), TIE)
        rel = label("relation", each.get("relation", RELATED))
        data = clean(store, object_in(each, "data"))
        found.append(Link(label("to", each.get("to")), USUAL.get(rel, rel), each.get("weight", 1.0), data))
    if any(link.to == id for link in found):
        raise LinkRefused("it is tied to itself")
    return link_tuple("links", found)


def words_in(store: MemoryStore, given: object) -> Iterator[tuple[tuple[str, str], dict[str, Json]]]:
    if not isinstance(given, dict) or not all(isinstance(words, dict) for words in given.values()):
        raise refused("the vocabulary is not one; export them again")
    for kind, words in given.items():
        if kind not in (*KINDS, REFERENCE):
            raise UnknownName("kind of words", str(kind), (*KINDS, REFERENCE))
        for name, data in words.items():
            where = f"the {kind!s:.40} {name!r:.60}"
            try:
                word = normal(label("word", name)) if kind in KINDS else label("word", name)
                if not word or not isinstance(data, dict):
                    raise InvalidInput("it has no name, or its data are no object")
                yield (kind, word), checked_word(clean(store, data))
            except InvalidInput as error:
                raise refused(f"{where} is not as it should be ({str(error).rstrip('.')})") from error


def checked_word(data: dict[str, Json]) -> dict[str, Json]:
    for key in (ALIAS_OF, DESCRIPTION, TYPICAL):
        storable_text(key, data.get(key) or "")
    for key in (SYNONYMS, PARENTS, DISTINCT):
        listed(data, key)
    if type(data.get(ORDINAL, 0)) is not int:
        raise InvalidInput("its ordinal is no whole number")
    if data.get(TYPICAL):
        level_named(str(data[TYPICAL]))
    return data


def clean(store: MemoryStore, data: dict[str, Json]) -> dict[str, Json]:
    """Checked and without secrets, as the store's settings want it."""
    return dict(store.draft("data of a tie or a word", metadata=data).metadata) if data else {}


def object_in(given: Values, name: str) -> dict[str, Json]:
    value = given.get(name)
    if value is not None and not isinstance(value, dict):
        raise InvalidInput(f"its {name} is no object")
    return dict(value or {})


def listed(given: Values, name: str) -> list[str]:
    value = given.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidInput(f"{name} must be a list of words")
    return value
