"""Parses the values of an import file into lessons and terms; refuses the file at the first error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nacre.errors import InvalidInput, LinkRefused, UnknownName
from nacre.lessons.document import import_error
from nacre.lessons.export import LESSON_FIELDS
from nacre.lessons.lesson import normalize_title
from nacre.lessons.validate_terms import REFERENCE, TermValidator
from nacre.lessons.vocabulary import (
    CONTEXT,
    DEFAULT_LEVEL,
    KINDS,
    RELATED,
    RELATION_SPELLINGS,
    SOURCE,
    TAG,
    Key,
    Term,
    normalize,
)
from nacre.memory_store import MemoryStore
from nacre.model import Link, Memory
from nacre.model.instants import iso
from nacre.model.levels import level_named, level_of
from nacre.model.memory import DEFAULTS, LESSON, Json
from nacre.remember.validate import CHECKS, boolean, instant, json_object, label, link_tuple, storable_text

FIELDS = ("id", "title", "content", "confidence", "certainty", "source", "source_notes", "tags", "contexts",
          "anti_contexts", "created_at", "updated_at", "last_validated_at", "agent", "archived", "superseded_by",
          "links", "metadata", "record")  # fmt: skip
TIMES = ("created_at", "updated_at", "last_validated_at")
# Fields of `record` that a draft accepts; the others are set on the finished draft.
RECORD_FIELDS = tuple(name for name in CHECKS if name not in (*LESSON_FIELDS, *TIMES))
LINK_FIELDS = ("to", "relation", "weight", "data")
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """`scrubbed` is the number of lessons from which the guard removed a secret."""

    lessons: dict[str, Memory]
    terms: dict[tuple[str, str], dict[str, Json]]
    scrubbed: int


def parse_document(store: MemoryStore, document: Values) -> ParsedDocument:
    """Raises `InvalidInput` for the first error."""
    values = list(objects(document.get("lessons"), "the list of lessons"))
    counts = document.get("counts")
    if isinstance(counts, dict) and counts.get("lessons", len(values)) != len(values):
        raise import_error(f"the file says {counts['lessons']!r:.40} lessons but has {len(values)}; export them again")
    validator = TermValidator(store)
    lessons: dict[str, Memory] = {}
    scrubbed = 0
    for number, each in enumerate(values, 1):
        where = f"lesson {number}" + (f" ({each['id']!r:.60})" if each.get("id") else "")
        try:
            memory = parse_lesson(validator, each)
        except (InvalidInput, LinkRefused) as error:
            raise import_error(f"{where} is invalid ({str(error).rstrip('.')})") from error
        if memory.id in lessons:
            raise import_error(f"{where} has the same id as another one; remove one of them")
        lessons[memory.id] = memory
        scrubbed += memory.text != each["content"].strip()
    return ParsedDocument(lessons, dict(parse_terms(document.get("vocabulary", {}))), scrubbed)


def objects(values: object, what: str) -> Iterator[Values]:
    if not isinstance(values, list):
        raise import_error(f"{what} is missing or not a list; export them again")
    for each in values:
        if not isinstance(each, dict):
            raise import_error(f"{what} has an item that is not an object; export them again")
        yield each


def parse_lesson(validator: TermValidator, values: Values) -> Memory:
    """Aliases of this store are resolved, whatever they were where the lesson comes from."""
    for name in values:
        if name not in FIELDS:
            raise UnknownName("field of a lesson", str(name), FIELDS)
    record = object_in(values, "record")
    title = storable_text("title", values.get("title"))
    tags, contexts, sources = (validator.vocabulary(kind) for kind in (TAG, CONTEXT, SOURCE))
    source = sources.resolve(label("source", values.get("source")))
    fields: dict[str, Any] = {
        **({name: record.get(name, DEFAULTS[name]) for name in RECORD_FIELDS} if record else {}),
        "title": normalize_title(title) if title.strip() else "",
        "agent": values.get("agent") or "",
        "source": source,
        "source_notes": values.get("source_notes") or "",
        "tags": tags.resolve_all(names_in(values, "tags")),
        "contexts": contexts.resolve_all(names_in(values, "contexts")),
        "anti_contexts": contexts.resolve_all(names_in(values, "anti_contexts")),
        "metadata": object_in(values, "metadata"),
        "confidence": parse_certainty(validator, values, sources.terms.get(source)),
        "status": parse_status(values, record),
        **({"id": values["id"]} if values.get("id") is not None else {}),
        **{name: at for name in TIMES if name in CHECKS and (at := parse_time(values, record, name)) is not None},
    }
    draft = validator.store.draft(storable_text("content", values.get("content")), **fields)
    return complete(draft, values, record)


def complete(draft: Memory, values: Values, record: Values) -> Memory:
    """Sets the fields that a new memory cannot have, but an imported lesson can."""
    updated = parse_time(values, record, "updated_at")
    successor = label("superseded_by", values.get("superseded_by"))
    if successor == draft.id:
        raise InvalidInput("it supersedes itself")
    since = record.get("superseded_at", draft.updated_at) if successor else None
    return replace(
        draft,
        type=LESSON,
        updated_at=draft.updated_at if updated is None else updated,
        superseded_by=successor,
        superseded_at=None if since is None else instant("superseded_at", since),
        links=parse_links(draft.id, values),
    )


def parse_time(values: Values, record: Values, name: str) -> float | None:
    """The exact time of the record, unless the lesson's own time was edited."""
    if values.get(name) is None:
        return None
    at = instant(name, values[name])
    if record.get(name) is None:
        return at
    exact = instant(name, record[name])
    return exact if iso(exact) == iso(at) else at


def parse_certainty(validator: TermValidator, values: Values, source: Term | None) -> float:
    """The exact certainty, unless the level was edited."""
    level, exact = values.get("confidence"), values.get("certainty")
    if exact is None:
        typical = source.data.get(Key.TYPICAL) if source is not None else None
        return validator.confidence(level, str(typical or DEFAULT_LEVEL))
    certainty = float(CHECKS["confidence"]("certainty", exact))  # type: ignore[arg-type]
    if level is None or (isinstance(level, str) and level_of(certainty) == level_named(level)):
        return certainty
    return validator.confidence(level)


def parse_status(values: Values, record: Values) -> object:
    recorded = record.get("status", DEFAULTS["status"])
    if recorded == "trashed":
        raise InvalidInput("it is in the trash")
    if "archived" not in values:
        return recorded
    if boolean("archived", values["archived"]):
        return "archived"
    return DEFAULTS["status"] if recorded == "archived" else recorded


def parse_links(id: str, values: Values) -> tuple[Link, ...]:
    links = []
    for each in objects(values.get("links") or [], "its list of links"):
        for name in each:
            if name not in LINK_FIELDS:
                raise UnknownName("field of a link", str(name), LINK_FIELDS)
        rel = label("relation", each.get("relation", RELATED))
        target, data = label("to", each.get("to")), object_in(each, "data")
        links.append(Link(target, RELATION_SPELLINGS.get(rel, rel), each.get("weight", 1.0), data))
    if any(link.to == id for link in links):
        raise LinkRefused("it is linked to itself")
    return link_tuple("links", links)


def parse_terms(vocabulary: object) -> Iterator[tuple[tuple[str, str], dict[str, Json]]]:
    if not isinstance(vocabulary, dict) or not all(isinstance(terms, dict) for terms in vocabulary.values()):
        raise import_error("the vocabulary is not an object of objects; export them again")
    for kind, terms in vocabulary.items():
        if kind not in (*KINDS, REFERENCE):
            raise UnknownName("kind of term", str(kind), (*KINDS, REFERENCE))
        for name, data in terms.items():
            try:
                term = normalize(label("term", name)) if kind in KINDS else label("term", name)
                if not term or not isinstance(data, dict):
                    raise InvalidInput("it has no name, or its data is not an object")
                yield (kind, term), check_term(dict(json_object("its data", data)))
            except InvalidInput as error:
                where = f"the {kind!s:.40} {name!r:.60}"
                raise import_error(f"{where} is invalid ({str(error).rstrip('.')})") from error


def check_term(data: dict[str, Json]) -> dict[str, Json]:
    for key in (Key.ALIAS_OF, Key.DESCRIPTION, Key.TYPICAL):
        storable_text(key, data.get(key) or "")
    for key in (Key.SYNONYMS, Key.PARENTS, Key.DISTINCT):
        names_in(data, key)
    if type(data.get(Key.ORDINAL, 0)) is not int:
        raise InvalidInput("its ordinal is not a whole number")
    if data.get(Key.TYPICAL):
        level_named(str(data[Key.TYPICAL]))
    return data


def object_in(values: Values, name: str) -> dict[str, Json]:
    value = values.get(name)
    if value is not None and not isinstance(value, dict):
        raise InvalidInput(f"its {name} is not an object")
    return dict(value or {})


def names_in(values: Values, name: str) -> list[str]:
    value = values.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidInput(f"{name} must be a list of words")
    return value
