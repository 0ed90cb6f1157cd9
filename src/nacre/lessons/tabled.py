"""A book as the tables of a SQL database, under the names that ai-lessons gave them: for whoever asks in SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

from nacre.lessons.book import LessonBook
from nacre.lessons.figures import all_of
from nacre.lessons.lesson import Lesson
from nacre.lessons.vocabulary import ALIAS_OF, LESSONS, PARENTS, SYNONYMS, TAG
from nacre.model.instants import iso

Row = tuple[object, ...]
TABLES = {
    "meta": "key TEXT PRIMARY KEY, value TEXT",
    "confidence_levels": "name TEXT PRIMARY KEY, ordinal INTEGER",
    "source_types": "name TEXT PRIMARY KEY, description TEXT, typical_confidence TEXT",
    "lessons": "id TEXT PRIMARY KEY, title TEXT, content TEXT, confidence TEXT, source TEXT, source_notes TEXT, "
    "created_at TIMESTAMP, updated_at TIMESTAMP",
    "lesson_tags": "lesson_id TEXT, tag TEXT",
    "lesson_contexts": "lesson_id TEXT, context TEXT, applies BOOLEAN",
    "edges": "from_id TEXT, to_id TEXT, relation TEXT",
    "tag_relations": "from_tag TEXT, to_tag TEXT, relation TEXT",
    "lesson_embeddings": "lesson_id TEXT PRIMARY KEY, embedding BLOB",
}
INDEXES = {
    "idx_lesson_tags_tag": "lesson_tags(tag)",
    "idx_lesson_tags_lesson": "lesson_tags(lesson_id)",
    "idx_lesson_contexts_context": "lesson_contexts(context)",
    "idx_edges_from": "edges(from_id)",
    "idx_edges_to": "edges(to_id)",
    "idx_lessons_created": "lessons(created_at)",
    "idx_lessons_updated": "lessons(updated_at)",
}


def tabled(book: LessonBook) -> sqlite3.Connection:
    """As it stands now, in memory and for reading only; the caller closes it."""
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    for name, columns in TABLES.items():
        connection.execute(f"CREATE TABLE {name}({columns})")
    for name, columns in INDEXES.items():
        connection.execute(f"CREATE INDEX {name} ON {columns}")
    for table, rows in tables(book):
        for row in rows:
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    connection.commit()
    connection.execute("PRAGMA query_only = ON")
    return connection


def tables(book: LessonBook) -> Iterator[tuple[str, Iterable[Row]]]:
    lessons = [Lesson.of(book.store.shown(memory)) for memory in book.store.iterate(**all_of(LESSONS))]
    yield "meta", [("schema_version", str(book.store.health().schema))]
    yield "confidence_levels", [(level.name, level.ordinal) for level in book.levels().data]
    yield (
        "source_types",
        [(each.name, each.description, each.typical_confidence) for each in book.sources().data],
    )
    yield "lessons", [
        (
            each.id, each.title, each.content, each.confidence, each.source or None, each.source_notes or None,
            iso(each.created_at), iso(each.updated_at),
        )
        for each in lessons
    ]  # fmt: skip
    yield "lesson_tags", [(each.id, tag) for each in lessons for tag in each.tags]
    yield (
        "lesson_contexts",
        [
            (each.id, context, applies)
            for each in lessons
            for applies, contexts in ((True, each.contexts), (False, each.anti_contexts))
            for context in contexts
        ],
    )
    ids = [each.id for each in lessons]
    yield "edges", [(edge.source, edge.target, edge.rel) for edge in book.store.edges(out_of=ids)]
    yield "tag_relations", tag_relations(book)
    yield "lesson_embeddings", [(id, rows[0].tobytes()) for id, rows in book.store.vectors(ids).items()]


def tag_relations(book: LessonBook) -> Iterator[Row]:
    for name, data in book.store.vocabulary(TAG).items():
        if data.get(ALIAS_OF):
            yield name, data[ALIAS_OF], "alias"
        for key, relation in ((SYNONYMS, "synonym"), (PARENTS, "child_of")):
            others = data.get(key)
            yield from ((name, other, relation) for other in (others if isinstance(others, list) else ()))
