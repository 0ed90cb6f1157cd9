"""ai-lessons' database: its lessons become lessons, with their words, ties and successors."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from nacre.model.levels import LEVELS
from nacre.model.memory import LESSON, Json
from nacre.protocols import Progress
from nacre.transfer.foreign.source import (
    ForeignSource,
    Record,
    columns,
    header,
    open_database,
    printable,
    records,
    require,
)
from nacre.transfer.read_archive import BadRow, MemoryRow, Row, TermRow
from nacre.transfer.vocabulary import ALIAS_OF, TYPE

NAME = "ai-lessons"
FILE = "knowledge.db"
TABLES = {
    "lessons": {"id", "title", "content"},
    "lesson_tags": {"lesson_id", "tag"},
    "lesson_contexts": {"lesson_id", "context", "applies"},
    "edges": {"from_id", "to_id", "relation"},
}
SEEDED = frozenset(("inferred", "tested", "documented", "observed", "hearsay"))  # every book of ours has them too
UNSAID = "medium"  # what a lesson is worth that says nothing of it
SUPERSEDES = "supersedes"
RELATIONS = {"related_to": "related", "is_related_to": "related"}
TAG_KEYS = {"synonym": "synonyms", "synonym_of": "synonyms", "child_of": "parents", "parent": "parents"}
ALIASES = frozenset(("alias", "alias_of"))
# What later versions keep beside the lessons, and has no like here.
OTHERS = {"resources": "documents and scripts", "rules": "rules"}
CONTEXTS = "SELECT context FROM lesson_contexts WHERE lesson_id = ?"
SPACES = re.compile(r"\s+")


@contextmanager
def opened(path: Path) -> Iterator[AiLessons]:
    """Raises `ArchiveRefused`."""
    file = path / FILE if path.is_dir() else path
    with open_database(file) as database:
        require(database, file, TABLES, "ai-lessons'")
        source = AiLessons(file, header(NAME), database=database)
        source.note_others()
        yield source


@dataclass(frozen=True, slots=True)
class Edges:
    """Of all lessons, by the id that they start from; `heirs` are of those that another lesson supersedes."""

    links: dict[str, list[Json]] = field(default_factory=dict)
    successors: dict[str, tuple[str, object]] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class AiLessons(ForeignSource):
    database: sqlite3.Connection

    def rows(self, progress: Progress | None = None) -> Iterator[Row]:  # noqa: ARG002 - one reading is quick
        self.partial.clear()
        number = 0
        try:
            for row in self._words():
                number += 1
                yield TermRow(number, *row)
            ties = self._ties()
            for lesson in records(self.database, "SELECT * FROM lessons NOT INDEXED ORDER BY rowid"):
                number += 1
                yield MemoryRow(number, self._fields(lesson, ties), name=printable(lesson["id"]))
        except sqlite3.Error as error:
            yield BadRow(number + 1, f"the rest cannot be read ({error})")

    def note_others(self) -> None:
        for table, what in OTHERS.items():
            if not columns(self.database, table):
                continue
            count = self.database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            if count:
                self.told.append(f"{count:,} {what} are no lessons, and were left out.")

    def _fields(self, lesson: Record, ties: Edges) -> dict[str, object]:
        id = str(lesson["id"])
        fields: dict[str, object] = {
            "id": id,
            "title": lesson["title"],
            "text": lesson["content"],
            "type": LESSON,
            "status": "long_term",
            "confidence": self._confidence(id, lesson.get("confidence")),
            "source": normal(lesson.get("source") or ""),
            "source_notes": lesson.get("source_notes") or "",
            "tags": self._listed("SELECT tag FROM lesson_tags WHERE lesson_id = ?", id),
            "contexts": self._listed("SELECT context FROM lesson_contexts WHERE lesson_id = ? AND applies", id),
            "anti_contexts": self._listed(
                "SELECT context FROM lesson_contexts WHERE lesson_id = ? AND NOT applies", id
            ),
            "links": ties.links.get(id, []),
        }
        made = lesson.get("created_at")
        if made:
            fields |= {"created_at": made, "last_accessed": made, "updated_at": lesson.get("updated_at") or made}
        if id in ties.successors:
            heir, since = ties.successors[id]
            fields |= {"superseded_by": heir, "superseded_at": since or fields.get("updated_at")}
        return fields

    def _confidence(self, id: str, given: object) -> float:
        name = normal(given or UNSAID)
        if name not in LEVELS:
            self.lacks(id, "confidence")
        return LEVELS.get(name, LEVELS[UNSAID]).value

    def _listed(self, query: str, id: str) -> list[str]:
        return [normal(each) for (each,) in self.database.execute(f"{query} ORDER BY rowid", (id,))]

    def _ties(self) -> Edges:
        """Of several that supersede one lesson the latest is its heir; the others are related to it."""
        ties = Edges()
        since = "created_at" if "created_at" in columns(self.database, "edges") else "NULL"
        query = f"SELECT from_id, to_id, relation, {since} AS since FROM edges ORDER BY since DESC, rowid DESC"
        for edge in records(self.database, query):
            start, end = str(edge["from_id"]), str(edge["to_id"])
            if start == end:
                self.lacks(start, "ties")
                continue
            rel = normal(edge["relation"]).replace("-", "_")
            rel = RELATIONS.get(rel, rel)
            if rel == SUPERSEDES and ties.successors.setdefault(end, (start, edge["since"]))[0] != start:
                rel = "related"
            ties.links.setdefault(start, []).append({"to": end, "rel": rel})
        return ties

    def _words(self) -> Iterator[tuple[str, str, dict[str, Json]]]:
        yield TYPE, LESSON, {}
        if columns(self.database, "source_types") >= {"name", "description", "typical_confidence"}:
            for each in records(self.database, "SELECT * FROM source_types ORDER BY rowid"):
                name = normal(each["name"])
                if name and name not in SEEDED:
                    yield "source", name, {"description": str(each["description"] or ""),
                                           "typical_confidence": level(each["typical_confidence"])}  # fmt: skip
        if columns(self.database, "tag_relations") >= {"from_tag", "to_tag", "relation"}:
            yield from (("tag", name, data) for name, data in self._tags().items())

    def _tags(self) -> dict[str, dict[str, Json]]:
        found: dict[str, dict[str, Json]] = {}
        for each in records(self.database, "SELECT from_tag, to_tag, relation FROM tag_relations ORDER BY rowid"):
            tag, other = normal(each["from_tag"]), normal(each["to_tag"])
            relation = normal(each["relation"]).replace("-", "_")
            if not tag or not other or tag == other or found.get(other, {}).get(ALIAS_OF) == tag:
                continue
            if relation in ALIASES:
                found[tag] = {ALIAS_OF: other}
            elif relation in TAG_KEYS:
                listed = found.setdefault(tag, {}).setdefault(TAG_KEYS[relation], [])
                if isinstance(listed, list) and other not in listed:
                    listed.append(other)
            else:
                self.lacks(tag, f"relation {printable(relation)!r} to other tags")
        return found


def normal(name: object) -> str:
    """Small letters, no blanks, as every word of a book is written."""
    return SPACES.sub("-", str(name).strip().lower()).strip("-")


def level(given: object) -> str:
    """Of a span such as low-medium the upper end, which is what ours says of the same sources."""
    name = normal(given or UNSAID)
    if name in LEVELS:
        return name
    ends = [each for each in LEVELS if name.endswith(f"-{each}")]
    return max(ends, key=len, default=UNSAID)
