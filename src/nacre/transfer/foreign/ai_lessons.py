"""Reads the database of ai-lessons: its lessons with their terms, links and successors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nacre.model.levels import LEVELS
from nacre.model.memory import LESSON, Json
from nacre.transfer.foreign import source as foreign
from nacre.transfer.foreign.look import Look
from nacre.transfer.foreign.source import DatabaseSource, Record, printable, times
from nacre.transfer.read_archive import MemoryRow, Row, TermRow
from nacre.transfer.vocabulary import ALIAS_OF

NAME = "ai-lessons"
FILE = "knowledge.db"
TABLES = {
    "lessons": {"id", "title", "content"},
    "lesson_tags": {"lesson_id", "tag"},
    "lesson_contexts": {"lesson_id", "context", "applies"},
    "edges": {"from_id", "to_id", "relation"},
}
SEEDED = frozenset(("inferred", "tested", "documented", "observed", "hearsay"))  # every lesson book has them already
UNSAID = "medium"  # the confidence of a lesson that names none
SUPERSEDES = "supersedes"
RELATIONS = {"related_to": "related", "is_related_to": "related"}
TAG_KEYS = {"synonym": "synonyms", "synonym_of": "synonyms", "child_of": "parents", "parent": "parents"}
ALIASES = frozenset(("alias", "alias_of"))
# Tables of later versions that have no counterpart here.
OTHERS = {"resources": "documents and scripts", "rules": "rules"}
SPACES = re.compile(r"\s+")


def matches(look: Look) -> bool:
    return look.holds(FILE) or look.has_tables(TABLES)


@contextmanager
def opened(path: Path) -> Iterator[AiLessons]:
    """Raises `ArchiveRefused`."""
    file = path / FILE if path.is_dir() else path
    with foreign.open_database(file) as database:
        foreign.require(database, file, TABLES, "ai-lessons")
        source = AiLessons(file, foreign.header(NAME), database=database)
        for table, what in OTHERS.items():
            present = foreign.columns(database, table)
            count = database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] if present else 0
            if count:
                source.remarks.append(f"{count:,} {what} are not lessons and were left out.")
        yield source


Links = dict[str, list[Json]]  # of all lessons, by their start
Successors = dict[str, tuple[str, object]]  # of superseded lessons, with the time


class AiLessons(DatabaseSource):
    def read(self) -> Iterator[Row]:
        yield from (TermRow(0, *term) for term in self._words())
        links, successors = self._edges()
        for lesson in foreign.records(self.database, "SELECT * FROM lessons NOT INDEXED ORDER BY rowid"):
            yield MemoryRow(0, self._fields(lesson, links, successors), name=printable(lesson["id"]))

    def _fields(self, lesson: Record, links: Links, successors: Successors) -> dict[str, object]:
        id = str(lesson["id"])
        contexts = "SELECT context FROM lesson_contexts WHERE lesson_id = ?"
        fields: dict[str, object] = {
            "id": id, "title": lesson["title"], "text": lesson["content"], "type": LESSON, "status": "long_term",
            "confidence": self._confidence(id, lesson.get("confidence")),
            "source": normal(lesson.get("source") or ""), "source_notes": lesson.get("source_notes") or "",
            "tags": self._listed("SELECT tag FROM lesson_tags WHERE lesson_id = ?", id),
            "contexts": self._listed(f"{contexts} AND applies", id),
            "anti_contexts": self._listed(f"{contexts} AND NOT applies", id),
            "links": links.get(id, []),
        }  # fmt: skip
        fields |= times(lesson.get("created_at"), lesson.get("updated_at"))
        if id in successors:
            successor, since = successors[id]
            fields |= {"superseded_by": successor, "superseded_at": since or fields.get("updated_at")}
        return fields

    def _confidence(self, id: str, value: object) -> float:
        name = normal(value or UNSAID)
        if name not in LEVELS:
            self.lacks(id, "confidence")
        return LEVELS.get(name, LEVELS[UNSAID]).value

    def _listed(self, query: str, id: str) -> list[str]:
        return [normal(each) for (each,) in self.database.execute(f"{query} ORDER BY rowid", (id,))]

    def _edges(self) -> tuple[Links, Successors]:
        """When several lessons supersede one, the latest is its successor; the others are related to it."""
        links, successors = Links(), Successors()
        since = "created_at" if "created_at" in foreign.columns(self.database, "edges") else "NULL"
        query = f"SELECT from_id, to_id, relation, {since} AS since FROM edges ORDER BY since DESC, rowid DESC"
        for edge in foreign.records(self.database, query):
            start, end = str(edge["from_id"]), str(edge["to_id"])
            if start == end:
                self.lacks(start, "links")
                continue
            rel = normal(edge["relation"]).replace("-", "_")
            rel = RELATIONS.get(rel, rel)
            if rel == SUPERSEDES and successors.setdefault(end, (start, edge["since"]))[0] != start:
                rel = "related"
            links.setdefault(start, []).append({"to": end, "rel": rel})
        return links, successors

    def _words(self) -> Iterator[tuple[str, str, dict[str, Json]]]:
        if foreign.columns(self.database, "source_types") >= {"name", "description", "typical_confidence"}:
            for each in foreign.records(self.database, "SELECT * FROM source_types ORDER BY rowid"):
                name = normal(each["name"])
                if name and name not in SEEDED:
                    yield "source", name, {"description": str(each["description"] or ""),
                                           "typical_confidence": level(each["typical_confidence"])}  # fmt: skip
        if foreign.columns(self.database, "tag_relations") >= {"from_tag", "to_tag", "relation"}:
            yield from (("tag", name, data) for name, data in self._tags().items())

    def _tags(self) -> dict[str, dict[str, Json]]:
        tags: dict[str, dict[str, Json]] = {}
        query = "SELECT from_tag, to_tag, relation FROM tag_relations ORDER BY rowid"
        for each in foreign.records(self.database, query):
            tag, other = normal(each["from_tag"]), normal(each["to_tag"])
            relation = normal(each["relation"]).replace("-", "_")
            if not tag or not other or tag == other or tags.get(other, {}).get(ALIAS_OF) == tag:
                continue
            if relation in ALIASES:
                tags[tag] = {ALIAS_OF: other}
            elif relation in TAG_KEYS:
                listed = tags.setdefault(tag, {}).setdefault(TAG_KEYS[relation], [])
                if isinstance(listed, list) and other not in listed:
                    listed.append(other)
            else:
                self.lacks(tag, f"relation {printable(relation)!r} to other tags")
        return tags


def normal(name: object) -> str:
    """Lower case with hyphens, as every term of a lesson book is written."""
    return SPACES.sub("-", str(name).strip().lower()).strip("-")


def level(value: object) -> str:
    """The upper end of a range such as low-medium, as in our own list of sources."""
    name = normal(value or UNSAID)
    if name in LEVELS:
        return name
    ends = [each for each in LEVELS if name.endswith(f"-{each}")]
    return max(ends, key=len, default=UNSAID)
