"""The functions of ai-lessons, on the configured database; each accepts another configuration."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from nacre.errors import InvalidInput, LinkRefused, MemoryNotFound, SupersedeCycle, UnknownName
from nacre.lessons import Answer
from nacre.lessons import Lesson as BookLesson
from nacre.lessons.vocabulary import TAG, Vocabulary, nearest, normalize, relation_name
from nacre.model.levels import Level as ConfidenceLevel
from nacre.model.memory import without_none
from nacre.transfer.foreign.ai_lessons import level

from .config import Config
from .db import book_of, init_db, ulid
from .embeddings import embed_text as embed_text
from .search import SearchResult as SearchResult
from .search import fields_of
from .search import graph_walk as graph_walk
from .search import hybrid_search as hybrid_search
from .search import keyword_search as keyword_search
from .search import vector_search as vector_search

STRATEGIES = {"hybrid": hybrid_search, "semantic": vector_search, "keyword": keyword_search, "graph": graph_walk}
Names = list[str] | None
BETWEEN_LEVELS = {"inferred": "low-medium", "documented": "medium-high"}  # the published values of two sources


@dataclass
class Lesson:
    id: str
    title: str
    content: str
    confidence: str | None = None
    source: str | None = None
    source_notes: str | None = None
    tags: list[str] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    anti_contexts: list[str] = field(default_factory=list)
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass
class SourceType:
    name: str
    description: str | None = None
    typical_confidence: str | None = None


@dataclass
class Tag:
    name: str
    count: int = 0


def from_book(lesson: BookLesson) -> Lesson:
    created, updated = (datetime.fromtimestamp(at, UTC) for at in (lesson.created_at, lesson.updated_at))
    return Lesson(**fields_of(lesson), created_at=created, updated_at=updated)


def ensure_initialized(config: Config | None = None) -> None:
    """Opening upgrades a store, and imports the database of an older ai-lessons."""
    init_db(config)


_run_migrations = ensure_initialized


def _generate_id() -> str:
    return ulid(time.time())


def add_lesson(
    title: str, content: str, tags: Names = None, contexts: Names = None, anti_contexts: Names = None,
    confidence: str | None = None, source: str | None = None, source_notes: str | None = None,
    config: Config | None = None,
) -> str:  # fmt: skip
    fields = without_none(
        tags=tags, contexts=contexts, anti_contexts=anti_contexts, confidence=confidence, source=source,
        source_notes=source_notes,
    )  # fmt: skip
    return book_of(config).learn(title, content, **fields).data.id


def get_lesson(lesson_id: str, config: Config | None = None) -> Lesson | None:
    lesson = book_of(config).get(lesson_id).data
    return None if lesson is None else from_book(lesson)


def update_lesson(
    lesson_id: str, title: str | None = None, content: str | None = None, tags: Names = None, contexts: Names = None,
    anti_contexts: Names = None, confidence: str | None = None, source: str | None = None,
    source_notes: str | None = None, config: Config | None = None,
) -> bool:  # fmt: skip
    """False when there is no such lesson."""
    changes = without_none(
        title=title, content=content, tags=tags, contexts=contexts, anti_contexts=anti_contexts,
        confidence=confidence, source=source, source_notes=source_notes,
    )  # fmt: skip
    try:
        book_of(config).update(lesson_id, **changes)
    except MemoryNotFound:
        return False
    return True


def delete_lesson(lesson_id: str, config: Config | None = None) -> bool:
    return book_of(config).delete(lesson_id).data


def recall(
    query: str, tags: Names = None, contexts: Names = None, confidence_min: str | None = None,
    source: str | None = None, limit: int | None = None, strategy: str = "hybrid", config: Config | None = None,
) -> list[SearchResult]:  # fmt: skip
    UnknownName.check("search strategy", strategy, STRATEGIES)
    return STRATEGIES[strategy](query, limit, tags, contexts, confidence_min, source, config)


def get_related(lesson_id: str, depth: int = 1, relations: Names = None, config: Config | None = None) -> list[Lesson]:
    try:
        related = book_of(config).related(lesson_id, depth=depth, relations=relations, include_superseded=True)
    except MemoryNotFound:
        return []
    return [from_book(each.lesson) for each in related.data]


def link_lessons(from_id: str, to_id: str, relation: str, config: Config | None = None) -> bool:
    """False when the link exists already, or one of the lessons does not. Changes no confidence."""
    book = book_of(config)
    if not (book.get(from_id).data and book.get(to_id).data):
        return False
    try:
        return book.store.link(from_id, to_id, relation_name(relation)).new
    except (LinkRefused, SupersedeCycle):
        return False


def unlink_lessons(from_id: str, to_id: str, relation: str | None = None, config: Config | None = None) -> int:
    try:
        return book_of(config).unlink(from_id, to_id, relation).data
    except MemoryNotFound:
        return 0


def list_tags(with_counts: bool = False, config: Config | None = None) -> list[Tag]:
    used = [each for each in book_of(config).tags().data if each.count]
    if with_counts:
        return [Tag(each.name, each.count) for each in used]
    return [Tag(name) for name in sorted(each.name for each in used)]


def merge_tags(from_tag: str, to_tag: str, config: Config | None = None) -> int:
    """The number of changed lessons; 0 for an unknown tag."""
    try:
        return book_of(config).merge_tags(from_tag, to_tag).data
    except InvalidInput:
        return 0


def list_sources(config: Config | None = None) -> list[SourceType]:
    sources = sorted(book_of(config).sources().data, key=lambda each: each.name)
    return [
        SourceType(each.name, each.description or None, BETWEEN_LEVELS.get(each.name, each.typical_confidence))
        for each in sources
    ]


def add_source(
    name: str, description: str | None = None, typical_confidence: str | None = None, config: Config | None = None
) -> bool:
    """False when a source of that name exists."""
    if _validate_reference("source_types", name, config):
        return False
    book_of(config).add_source(name, description or "", level(typical_confidence))
    return True


def list_confidence_levels(config: Config | None = None) -> list[ConfidenceLevel]:
    return list(book_of(config).levels().data)


def add_reference(
    table: str, name: str, ordinal: int | None = None, description: str = "", config: Config | None = None
) -> None:
    """Adds a value to a table such as priority_levels; the first value creates the table."""
    book_of(config).add_reference(table, name, ordinal, description)


def _resolve_tag_aliases(tags: list[str], config: Config | None = None) -> list[str]:
    return list(Vocabulary(book_of(config).store, TAG).resolve_all(tags))


def _names_in(table: str, config: Config | None) -> list[str]:
    book = book_of(config)
    known: dict[str, Callable[[], Answer[Any]]] = {
        "tags": book.tags, "lesson_tags": book.tags, "contexts": book.contexts, "lesson_contexts": book.contexts,
        "source_types": book.sources, "confidence_levels": book.levels,
    }  # fmt: skip
    return [each.name for each in (known[table]() if table in known else book.references(table)).data]


def _validate_reference(table: str, value: str, config: Config | None = None) -> bool:
    return normalize(value) in _names_in(table, config)


def _suggest_similar(table: str, value: str, config: Config | None = None) -> list[str]:
    return list(nearest(normalize(value), _names_in(table, config)))


def reembed_lesson(lesson_id: str, config: Config | None = None) -> None:
    book_of(config).reembed(lesson_id)


def reembed_all(config: Config | None = None) -> None:
    book_of(config).reembed()
