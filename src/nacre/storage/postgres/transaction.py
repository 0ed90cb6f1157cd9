"""Writes a change set: versions, contents, names, words, vectors, counts and journal, together or not at all.

Rows are collected while the changes come, and sent table by table in one round trip at the end, with the commit. Where
there are many changes, the server is sent the rows of some while those of the next are made.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from nacre.model import Filter, JournalEntry, Memory
from nacre.model.journal import MEMORY
from nacre.model.memory import Json, key_of
from nacre.protocols import ALL, AnyChange, Change, Chunk, Derived, EmbedderIdentity, Key, Scrubbed, Words
from nacre.storage.candidates import COLUMN_WEIGHTS
from nacre.storage.postgres import vector_index
from nacre.storage.postgres.arrays import BIG, BOOLEAN, BYTES, DOUBLE, REAL, TEXT, VECTOR, column
from nacre.storage.postgres.connection import Session, Statement
from nacre.storage.postgres.rows import BY_ID, NOWHERE, OPEN, SELECTED, askable, parsed
from nacre.storage.tables import (
    EMBEDDER_KEYS,
    QUESTION_MARKS,
    SCALARS,
    TERM,
    Counts,
    Indexed,
    Kept,
    Names,
    Stems,
    Target,
    add_counts,
    as_json,
    content_lines,
    distinct_stems,
    image_text,
    indexed,
    joined_lines,
    links_of,
    memory_of,
    names_of,
    pack_lists,
    packed_stems,
    packed_without_link_data,
    same_content,
    scalars_of,
    unpacked_stems,
)

SPACE = (
    "space_id", "name", "seq", "last_at", "memories", "stems", "latest", "memory_key", "content_number",
    "chunk_number",
)  # fmt: skip
VERSION_TYPES = {
    "key": BIG, "seq_from": BIG, "content": BIG, "version": BIG,
    **dict.fromkeys(SCALARS, DOUBLE),
    **dict.fromkeys(
        ("agent", "type", "source", "source_notes", "session", "status", "trashed_from", "superseded_by"), TEXT
    ),
    **dict.fromkeys(("polarity", "position"), BIG), "pinned": BOOLEAN, "lists": TEXT, "stems": TEXT, "length": BIG,
}  # fmt: skip
TABLES: Mapping[str, Mapping[str, str]] = {
    "memory": {"key": BIG, "id": TEXT, "last_accessed": DOUBLE, "access_count": BIG},
    "content": {"number": BIG, "text": TEXT, "title": TEXT, "role": TEXT, "asks": BOOLEAN, "words": TEXT,
                "pending": BOOLEAN},
    "version": VERSION_TYPES,
    "label": {"field": TEXT, "name": TEXT, "key": BIG, "seq_from": BIG, "times": BIG},
    "posting": {"term": TEXT, "content": BIG, "frequency": REAL},
    "chunk": {"number": BIG, "content": BIG, "start": BIG, "stop": BIG, "digest": BYTES, "embedding": VECTOR},
    "journal": {
        "seq": BIG, "memory_id": TEXT, "kind": TEXT, "act": TEXT, "actor": TEXT, "at": DOUBLE, "batch": TEXT,
        "why": TEXT, "before": TEXT, "after": TEXT, "latest": DOUBLE, "memories": BIG, "stems": BIG,
    },
}  # fmt: skip


def unnested(**columns: str) -> str:
    """A table `new` of the lists that are the values of a statement."""
    lists = ", ".join(f"%({name})s::{kind}[]" for name, kind in columns.items())
    return f"unnest({lists}) AS new({', '.join(columns)})"


# Of the tables whose rows come in another order than that of their key: neighbours in the index are written together.
SORTED = {"label": 'field COLLATE "C", name COLLATE "C", key', "posting": 'term COLLATE "C", content'}


def insertion(table: str, columns: Mapping[str, str]) -> str:
    sql = (
        f"INSERT INTO {table}(space_id, {', '.join(columns)}) SELECT %(space)s, {', '.join(columns)}"
        f" FROM {unnested(**columns)}"
    )
    return f"{sql} ORDER BY {SORTED[table]}" if table in SORTED else sql


# What is written, in this order. The conditions with ANY keep the planner to the index, whatever it knows of the table.
# what ends or is deleted comes first, so that unique keys are free. Each statement has
# the columns that its rows have, besides the space.
REMOVE_MEMORY = (
    "UPDATE memory SET gone = memory.key FROM {} WHERE memory.space_id = %(space)s AND memory.key = new.key"
    " AND memory.key = ANY(%(key)s)"
)
SET_USES = (
    "UPDATE memory SET last_accessed = new.last_accessed, access_count = new.access_count FROM {}"
    " WHERE memory.space_id = %(space)s AND memory.key = new.key AND memory.key = ANY(%(key)s)"
)
END_VERSION = (
    "UPDATE version SET seq_to = new.seq_to FROM {} WHERE version.space_id = %(space)s AND version.key = new.key"
    " AND version.key = ANY(%(key)s)"
    " AND version.seq_from = new.seq_from"
)
DELETE_VERSION = (
    "DELETE FROM version USING {} WHERE version.space_id = %(space)s AND version.key = new.key"
    " AND version.key = ANY(%(key)s)"
    " AND version.seq_from = new.seq_from"
)
OPEN_LABEL = (
    "label.space_id = %(space)s AND label.field = new.field AND label.name = new.name AND label.key = new.key"
    " AND label.key = ANY(%(key)s)"
    f" AND label.seq_to = {OPEN}"
)
OPEN_LINK = (
    "link.space_id = %(space)s AND link.target = new.target AND link.rel = new.rel AND link.key = new.key"
    " AND link.key = ANY(%(key)s)"
    f" AND link.seq_to = {OPEN}"
)
END_LABEL = f"UPDATE label SET seq_to = new.seq FROM {{}} WHERE {OPEN_LABEL} AND label.seq_from < new.seq"
DELETE_LABEL = f"DELETE FROM label USING {{}} WHERE {OPEN_LABEL} AND label.seq_from = new.seq"
# One that takes the place of another, because its weight or kind has changed, keeps its walks.
BEGIN_LINK = (
    "INSERT INTO link(space_id, target, rel, key, seq_from, weight, kind, walks) SELECT %(space)s,"
    " target, rel, key, seq,"
    " weight, kind, CASE WHEN known THEN coalesce((SELECT walks FROM link AS old WHERE old.space_id = %(space)s"
    " AND old.target = new.target AND old.rel = new.rel AND old.key = new.key ORDER BY seq_from DESC LIMIT 1), 0)"
    " ELSE 0 END FROM {} ON CONFLICT (space_id, target, rel, key, seq_from) DO UPDATE SET weight = excluded.weight,"
    f" kind = excluded.kind, seq_to = {OPEN}, walks = excluded.walks"
)
END_LINK = f"UPDATE link SET seq_to = new.seq FROM {{}} WHERE {OPEN_LINK} AND link.seq_from < new.seq"
DELETE_LINK = f"DELETE FROM link USING {{}} WHERE {OPEN_LINK} AND link.seq_from = new.seq"
DELETE_CHUNK = (
    "DELETE FROM chunk USING {} WHERE chunk.space_id = %(space)s AND chunk.number = new.number AND"
    " chunk.number = ANY(%(number)s)"
)
DELETE_POSTING = (
    "DELETE FROM posting USING {} WHERE posting.space_id = %(space)s AND posting.term = new.term"
    " AND posting.content = new.content AND posting.term = ANY(%(term)s) AND posting.content = ANY(%(content)s)"
)
SET_STEMS = (
    "UPDATE version SET stems = new.stems, length = new.length FROM {} WHERE version.space_id = %(space)s"
    " AND version.key = new.key AND version.key = ANY(%(key)s) AND version.seq_from = new.seq_from"
)
SET_WORDS = (
    "UPDATE content SET words = new.words FROM {} WHERE content.space_id = %(space)s AND content.number ="
    " new.number AND content.number = ANY(%(number)s)"
)
SET_PENDING = (
    "UPDATE content SET pending = new.pending FROM {} WHERE content.space_id = %(space)s AND content.number ="
    " new.number"
)
COUNT = (
    "INSERT INTO counter(space_id, field, status, name, n) SELECT %(space)s, field, status, name, n FROM {}"
    " ON CONFLICT (space_id, field, status, name) DO UPDATE SET n = counter.n + excluded.n"
)
FORGET_COUNT = (
    "DELETE FROM counter USING {} WHERE counter.space_id = %(space)s AND counter.field = new.field"
    " AND counter.status = new.status AND counter.name = new.name AND counter.n <= 0 AND counter.field = ANY(%(field)s)"
    " AND counter.status = ANY(%(status)s) AND counter.name = ANY(%(name)s)"
)
LABEL_COLUMNS = {"seq": BIG, "field": TEXT, "name": TEXT, "key": BIG}
LINK_COLUMNS = {"seq": BIG, "target": TEXT, "rel": TEXT, "key": BIG}
COUNTED = {"field": TEXT, "status": TEXT, "name": TEXT, "n": BIG}
STATEMENTS: Mapping[str, Mapping[str, str]] = {
    REMOVE_MEMORY: {"key": BIG},
    END_VERSION: {"seq_to": BIG, "key": BIG, "seq_from": BIG},
    DELETE_VERSION: {"key": BIG, "seq_from": BIG},
    END_LABEL: LABEL_COLUMNS,
    DELETE_LABEL: LABEL_COLUMNS,
    END_LINK: LINK_COLUMNS,
    DELETE_LINK: LINK_COLUMNS,
    DELETE_CHUNK: {"number": BIG},
    DELETE_POSTING: {"term": TEXT, "content": BIG},
    **{table: columns for table, columns in TABLES.items() if table != "journal"},
    SET_STEMS: {"stems": TEXT, "length": BIG, "key": BIG, "seq_from": BIG},
    SET_WORDS: {"words": TEXT, "number": BIG},
    SET_PENDING: {"pending": BOOLEAN, "number": BIG},
    SET_USES: {"last_accessed": DOUBLE, "access_count": BIG, "key": BIG},
    BEGIN_LINK: {**LINK_COLUMNS, "weight": DOUBLE, "kind": TEXT, "known": BOOLEAN},
    "journal": TABLES["journal"],
    COUNT: COUNTED,
    FORGET_COUNT: COUNTED,
}
SENT = {
    name: insertion(name, columns) if name in TABLES else name.format(unnested(**columns))
    for name, columns in STATEMENTS.items()
}
READ = (
    f"SELECT version.key, version.content, version.seq_from, version.stems, version.length, {SELECTED} FROM {BY_ID}"
    f" WHERE version.space_id = %(space)s AND memory.id = ANY(%(ids)s::text[]) AND memory.gone = 0"
    f" AND version.seq_to = {OPEN}"
)
SAVE_SPACE = (
    f"UPDATE spaces SET {', '.join(f'{name} = %({name})s' for name in SPACE[2:])} WHERE space_id = %(space_id)s"
)
OWN_KIND = "strpos(kind, '/') > 0 AND substr(kind, strpos(kind, '/') + 1) = %(old)s"
RENAMED_KIND = "substr(kind, 1, strpos(kind, '/')) || %(new)s"
ANALYSED_FROM, ANALYSED_AGAIN = 50, 4  # memories of a space; and how many times as many until the next time
SENT_AHEAD = 128  # memories whose rows are sent while those of the next are made: the server works meanwhile
TABLES_OF_SPACE = ("posting", "chunk", "content", "version", "label", "link", "memory", "counter", "journal")


@dataclass(slots=True)
class Space:
    """The columns `SPACE` of its row."""

    space_id: int
    name: str
    seq: int = 0
    last_at: float = 0.0
    memories: int = 0
    stems: int = 0
    latest: float = 0.0
    memory_key: int = 0
    content_number: int = 0
    chunk_number: int = 0


class Stored(NamedTuple):
    """The present version of a memory."""

    key: int
    content: int
    seq_from: int
    stems: Stems  # of tags and entities
    length: int
    memory: Memory


class Content(NamedTuple):
    """What is derived from a content; `words` is None when nothing was derived yet."""

    words: Stems | None
    pending: bool
    chunks: tuple[tuple[int, Chunk, bool], ...]  # its number, and whether it has a vector


class PostgresTransaction:
    """What `storage.commit` writes with. `spaces` are those that it may write to; their rows are locked."""

    def __init__(self, session: Session, spaces: Iterable[Space]) -> None:
        self._session = session
        self._spaces = {space.name: space for space in spaces}
        self._saved = {space.name: replace(space) for space in self._spaces.values()}
        self._embedder: EmbedderIdentity | None = None
        self._terms_read: dict[Key, Mapping[str, Json] | None] = {}
        self._stored: dict[Key, Stored | None] = {}
        self._contents: dict[tuple[int, int], Content] = {}  # by space and number
        self._waiting: set[Key] = set()  # memories whose rows wait
        self._sent: dict[Key, tuple[int, Indexed]] = {}  # new memories whose words were sent, with the content's number
        self._rows: dict[tuple[str, int], list[tuple[Any, ...]]] = defaultdict(list)  # by statement and space
        self._columns: dict[tuple[str, int], list[list[Any]]] = {}  # the same, where they are collected by column
        self._sizes: dict[tuple[str, int], tuple[int, int]] = {}  # of a space after an entry: its memories and stems
        self._counts: Counts = Counter()
        self._stem_counts: dict[int, Counter[str]] = defaultdict(Counter)  # those of stems, by space
        self._orphans: dict[int, set[int]] = defaultdict(set)  # contents that may have no version any more, by space
        self._numbered = {space.name: space.memory_key for space in self._spaces.values()}
        self.cancelled = False  # nothing is to be written after all

    # What is there

    def get_many(self, space: str, ids: Sequence[str]) -> list[Memory]:
        self._load(space, ids)
        stored = (self._stored[space, id] for id in dict.fromkeys(ids))
        return [each.memory for each in stored if each is not None]

    def _load(self, name: str, ids: Sequence[str]) -> None:
        unknown = [id for id in dict.fromkeys(ids) if (name, id) not in self._stored]
        if unknown:
            values = askable({"space": self._number(name), "ids": unknown})
            self.add_stored(name, unknown, self._session.fetch(READ, values))

    def add_stored(self, name: str, asked: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
        self._stored.update({(name, id): None for id in asked})
        for key, content, seq_from, stems, length, *record in rows:
            memory = memory_of(record, name)
            self._stored[name, memory.id] = Stored(key, content, seq_from, unpacked_stems(stems, 2), length, memory)

    def _number(self, name: str) -> int:
        known = self._spaces.get(name)
        return NOWHERE if known is None else known.space_id

    def last_at(self, space: str) -> float:
        return self._spaces[space].last_at if space in self._spaces else 0.0

    def last_seq(self, space: str) -> int:
        return self._spaces[space].seq if space in self._spaces else 0

    def term(self, kind: str, name: str) -> Mapping[str, Json] | None:
        if (kind, name) not in self._terms_read:
            sql = "SELECT data FROM vocabulary WHERE kind = %(kind)s AND name = %(name)s"
            data = self._session.fetch(sql, askable({"kind": kind, "name": name}))
            self._terms_read[kind, name] = parsed(data[0][0]) if data else None
        return self._terms_read[kind, name]

    def embedder(self) -> EmbedderIdentity:
        return self._embedder or stored_embedder(self._session.fetch(EMBEDDER))

    def _content(self, space: Space, number: int) -> Content:
        """What is derived from it; all that was loaded is read together, because one change seldom comes alone."""
        if (space.space_id, number) not in self._contents:
            stored = (
                each.content for (name, _), each in self._stored.items() if each is not None and name == space.name
            )
            asked = {"space": space.space_id, "numbers": [number, *stored]}
            chunks: dict[int, list[tuple[int, Chunk, bool]]] = defaultdict(list)
            of_chunks, of_contents = self._session.together(
                (
                    "SELECT content, number, start, stop, digest, embedding IS NOT NULL FROM chunk WHERE"
                    " space_id = %(space)s"
                    " AND content = ANY(%(numbers)s::bigint[]) ORDER BY number",
                    asked,
                ),
                (
                    "SELECT number, words, pending FROM content WHERE space_id = %(space)s"
                    " AND number = ANY(%(numbers)s::bigint[])",
                    asked,
                ),
            )
            for content, id, start, stop, digest, embedded in of_chunks:
                chunks[content].append((id, Chunk(start, stop, bytes(digest)), embedded))
            for content, stems, pending in of_contents:
                words = None if stems is None else unpacked_stems(stems, 3)
                self._contents[space.space_id, content] = Content(words, pending, tuple(chunks[content]))
        return self._contents[space.space_id, number]

    # A memory

    def send_words(self, changes: Sequence[AnyChange]) -> None:
        """Sends the words of new memories, where there are many: the server writes them, a third of its work, while
        the other rows are made."""
        new: dict[Key, Derived] = {}
        for change in changes:
            if isinstance(change, Change) and change.after is not None and change.derived is not None:
                key = key_of(change.after)
                if key in self._stored and self._stored[key] is None:
                    new.setdefault(key, change.derived)
        if len(new) < SENT_AHEAD:
            return
        for key, derived in new.items():
            space, words = self._spaces[key[0]], indexed(derived.words)
            space.content_number += 1
            self._sent[key] = space.content_number, words
            self._put_postings(space, space.content_number, words.content)
            self._stem_counts[space.space_id].update(words.distinct)
        self._collect_counts()
        self._session.send(*self._collected())

    def put(self, memory: Memory, derived: Derived | None, seq: int | None) -> None:
        old, space = self._old((memory.space, memory.id)), self._spaces[memory.space]
        new = self._put_new(space, memory, derived, seq) if old is None else self._put(space, memory, derived, old, seq)
        space.latest = max(space.latest, memory.created_at, memory.updated_at)
        self._stored[memory.space, memory.id] = new
        self._waiting.add((memory.space, memory.id))
        self._note_size(memory.space, seq)
        if len(self._waiting) >= SENT_AHEAD:
            self._session.send(*self._collected())

    def _put_new(self, space: Space, memory: Memory, derived: Derived | None, seq: int | None) -> Stored:
        sent = self._sent.pop(key_of(memory), None)
        if sent is None:
            space.content_number += 1
            content, words = space.content_number, None if derived is None else indexed(derived.words)
            if words is not None:
                self._put_postings(space, content, words.content)
                self._stem_counts[space.space_id].update(words.distinct)
        else:
            content, words = sent
        self._insert_content(space, content, memory, derived, None if words is None else words.content)
        stems, length = (("", ""), 0) if words is None else (words.names, words.length)
        space.stems += length
        space.memory_key += 1
        start = space.seq if seq is None else seq
        new = Stored(space.memory_key, content, start, stems, length, memory)
        self._insert(space, new)
        return new

    def _put(self, space: Space, memory: Memory, derived: Derived | None, old: Stored, seq: int | None) -> Stored:
        content, derived = self._edit_content(space, memory, derived, old)
        stems, length = old.stems, old.length
        if derived is not None:
            had, words = self._content(space, old.content), indexed(derived.words)
            self._count_terms(space, distinct_stems(*(had.words or ()), *stems), words.distinct)
            stems, length = words.names, words.length
        space.stems += length - old.length
        new = Stored(old.key, content, old.seq_from if seq is None else seq, stems, length, memory)
        self._edit(space, old, new, seq)
        return new

    def _old(self, key: Key) -> Stored | None:
        space, id = key
        if key in self._waiting:  # changed twice
            self.flush()
        if key not in self._stored:
            self._load(space, [id])
        return self._stored[key]

    def _note_size(self, space: str, seq: int | None) -> None:
        if seq is not None:
            self._sizes[space, seq] = (self._spaces[space].memories, self._spaces[space].stems)

    def _insert(self, space: Space, new: Stored) -> None:
        memory = new.memory
        space.memories += 1
        self._add_counts(space, memory, 1)
        self._add("memory", space, new.key, memory.id, memory.last_accessed, memory.access_count)
        self._add("version", space, *version_row(new))
        self._put_names(space, new.key, {}, names_of(memory, new.stems), new.seq_from)
        self._put_links(space, new.key, {}, links_of(memory), new.seq_from)

    def _edit(self, space: Space, old: Stored, new: Stored, seq: int | None) -> None:
        """Begins a version with the entry, or changes the present one in place."""
        memory, known, start, in_place = new.memory, old.memory, new.seq_from, seq is None
        uses = (memory.last_accessed, memory.access_count)
        if uses != (known.last_accessed, known.access_count):
            self._add(SET_USES, space, *uses, old.key)
        self._add_counts(space, memory, 1)
        self._add_counts(space, known, -1)
        names = names_of(known, old.stems), names_of(memory, new.stems)
        self._put_names(space, old.key, *names, start, in_place=in_place)
        self._put_links(space, old.key, links_of(known), links_of(memory), start, in_place=in_place)
        if seq is not None:
            self._add(END_VERSION, space, seq, old.key, old.seq_from)
            self._add("version", space, *version_row(new))
        elif memory != replace(known, last_accessed=uses[0], access_count=uses[1]):
            self._add(DELETE_VERSION, space, old.key, old.seq_from)
            self._add("version", space, *version_row(new))
            if old.content != new.content:
                self._orphans[space.space_id].add(old.content)
        elif (new.stems, new.length) != (old.stems, old.length):
            self._add(SET_STEMS, space, packed_stems(new.stems), new.length, old.key, old.seq_from)

    def remove(self, space: str, id: str, seq: int | None) -> None:
        """Without `seq` it deletes the memory with all its versions."""
        old = self._old((space, id))
        if old is None:
            return
        known = self._spaces[space]
        known.memories -= 1
        known.stems -= old.length
        self._add_counts(known, old.memory, -1)
        words = self._content(known, old.content).words or ()
        self._count_terms(known, distinct_stems(*words, *old.stems), frozenset())
        self._stored[space, id] = None
        if seq is None:
            self._delete(known, old.key)
            return
        self._put_names(known, old.key, names_of(old.memory, old.stems), {}, seq)
        self._put_links(known, old.key, links_of(old.memory), {}, seq)
        self._add(REMOVE_MEMORY, known, old.key)
        self._add(END_VERSION, known, seq, old.key, old.seq_from)
        self._add(SET_PENDING, known, False, old.content)
        self._waiting.add((space, id))
        self._note_size(space, seq)

    def _add_counts(self, space: Space, memory: Memory, sign: int) -> None:
        add_counts(self._counts, space.space_id, memory, sign)

    def _count_terms(self, space: Space, before: frozenset[str], after: frozenset[str]) -> None:
        counts = self._stem_counts[space.space_id]
        counts.update(after - before)
        counts.subtract(before - after)

    def _put_names(self, space: Space, key: int, had: Names, has: Names, seq: int, *, in_place: bool = False) -> None:
        """Names are valid from `seq` on. With `in_place`, rows that began with this version are deleted instead of
        ended."""
        for (field, name), times in had.items():
            if has.get((field, name)) != times:
                for statement in (END_LABEL, DELETE_LABEL) if in_place else (END_LABEL,):
                    self._add(statement, space, seq, field, name, key)
        for (field, name), times in has.items():
            if had.get((field, name)) != times:
                self._add("label", space, field, name, key, seq, times)

    def _put_links(
        self,
        space: Space,
        key: int,
        had: Mapping[Target, Kept],
        has: Mapping[Target, Kept],
        seq: int,
        *,
        in_place: bool = False,
    ) -> None:
        for (target, rel), kept in had.items():
            if has.get((target, rel)) != kept:
                self._add(END_LINK, space, seq, target, rel, key)
            if in_place and (target, rel) not in has:
                self._add(DELETE_LINK, space, seq, target, rel, key)
        for (target, rel), kept in has.items():
            if had.get((target, rel)) != kept:
                self._add(BEGIN_LINK, space, seq, target, rel, key, *kept, (target, rel) in had)

    # Its content

    def _insert_content(
        self, space: Space, number: int, memory: Memory, derived: Derived | None, lines: Stems | None
    ) -> None:
        """`lines` are the stems of its title, text and role, where they are known; the caller puts their postings."""
        asks, pending = memory.text.endswith(QUESTION_MARKS), derived is None or derived.vectors is None
        words = None if lines is None else joined_lines(lines)
        self._add("content", space, number, memory.text, memory.title, memory.role, asks, words, pending)
        self._put_chunks(space, number, derived)

    def _edit_content(
        self, space: Space, memory: Memory, derived: Derived | None, old: Stored
    ) -> tuple[int, Derived | None]:
        """Returns the content's number, and the derived data if it may have changed."""
        if same_content(old.memory, memory):
            if derived is not None:
                self._derive_again(space, old.content, self._content(space, old.content), derived)
            return old.content, derived
        if derived is None:
            derived = self._derived(space, old)
        self._add(SET_PENDING, space, False, old.content)
        space.content_number += 1
        lines = None if derived is None else content_lines(derived.words)
        self._put_postings(space, space.content_number, lines or ())
        self._insert_content(space, space.content_number, memory, derived, lines)
        return space.content_number, derived

    def _put_postings(self, space: Space, content: int, lines: Stems) -> None:
        if own := frequencies(lines):
            terms, contents, weights = self._columns.setdefault(("posting", space.space_id), [[], [], []])
            terms += own
            contents += repeat(content, len(own))
            weights += own.values()

    def _put_chunks(self, space: Space, content: int, derived: Derived | None) -> None:
        if derived is None:
            return
        vectors = [None] * len(derived.chunks) if derived.vectors is None else derived.vectors
        for chunk, vector in zip(derived.chunks, vectors, strict=True):
            space.chunk_number += 1
            self._add("chunk", space, space.chunk_number, content, chunk.start, chunk.end, chunk.digest, vector)

    def _derive_again(self, space: Space, content: int, had: Content, derived: Derived) -> None:
        """Words and vectors of a text that stays; those that stay too are not written again."""
        lines = content_lines(derived.words)
        if lines != had.words:
            self._add(SET_WORDS, space, packed_stems(lines), content)
            for term in frequencies(had.words or ()):
                self._add(DELETE_POSTING, space, term, content)
            self._put_postings(space, content, lines)
        embedded = derived.vectors is not None
        if [(chunk, embedded) for chunk in derived.chunks] != [(chunk, is_in) for _, chunk, is_in in had.chunks]:
            for number, _, _ in had.chunks:
                self._add(DELETE_CHUNK, space, number)
            self._put_chunks(space, content, derived)
        if had.pending == embedded:
            self._add(SET_PENDING, space, not embedded, content)

    def _derived(self, space: Space, old: Stored) -> Derived | None:
        """What was derived from a text that changes while its words and vectors stay."""
        had = self._content(space, old.content)
        if had.words is None:
            return None
        sql = (
            "SELECT embedding FROM chunk WHERE space_id = %(space)s AND content = %(content)s AND embedding IS NOT NULL"
            " ORDER BY number"
        )
        rows = self._session.fetch(sql, {"space": space.space_id, "content": old.content}, binary=True)
        stacked = (
            None if had.pending or len(rows) != len(had.chunks) else np.array([row for (row,) in rows], np.float32)
        )
        return Derived(Words(*had.words, *old.stems), tuple(chunk for _, chunk, _ in had.chunks), stacked)

    # The journal

    def next_seq(self, space: str) -> int:
        known = self._spaces[space]
        known.seq += 1
        self._note_size(space, known.seq)
        return known.seq

    def append(self, entries: Sequence[JournalEntry]) -> None:
        for entry in entries:
            space, done = self._spaces[entry.space], entry.operation
            space.last_at = done.at
            self._add(
                "journal", space, entry.seq, entry.memory_id, entry.kind, done.name, done.actor, done.at, done.batch,
                done.why, *(image_text(image, entry.kind, entry.space) for image in (entry.before, entry.after)),
                space.latest, *self._sizes[entry.space, entry.seq],
            )  # fmt: skip

    def scrub(self, change: Scrubbed) -> None:
        space, id = change.space, change.id
        self.flush()
        known = self._spaces[space]
        values = {"space": known.space_id, "id": id, "kind": MEMORY}
        self._session.execute(
            "UPDATE journal SET before = NULL, after = NULL, why = '' WHERE space_id = %(space)s AND memory_id = %(id)s"
            " AND kind = %(kind)s",
            values,
        )
        sql = "SELECT key, gone FROM memory WHERE space_id = %(space)s AND id = %(id)s"
        for key, gone in self._session.fetch(sql, values):
            (self._delete if gone else self._delete_past)(known, key)
        self._stored.pop((space, id), None)
        self._erase_orphans()
        self._delete_link_data(change)

    def _delete_link_data(self, change: Scrubbed) -> None:
        """Of the links to a memory, in every version of those that had one, and in what the journal says of them."""
        space, target = change.space, change.id
        values: dict[str, Any] = {"space": self._spaces[space].space_id, "target": target, "kind": MEMORY}
        sql = (
            "SELECT key, id FROM memory WHERE space_id = %(space)s AND key IN (SELECT key FROM link"
            " WHERE space_id = %(space)s AND target = %(target)s)"
        )
        linked = self._session.fetch(sql, values)
        sources = [(key, id) for key, id in linked if self._admits(change.linked_from, space, key)]
        if not sources:
            return
        values |= {"keys": [key for key, _ in sources], "ids": [id for _, id in sources]}
        own = "space_id = %(space)s"
        sql = f"SELECT key, seq_from, lists FROM version WHERE {own} AND key = ANY(%(keys)s)"
        versions = self._session.fetch(sql, values)
        sql = f"SELECT seq, before, after FROM journal WHERE {own} AND memory_id = ANY(%(ids)s) AND kind = %(kind)s"
        entries = self._session.fetch(sql, values)
        for key, seq_from, lists in versions:
            row = {**values, "key": key, "seq_from": seq_from, "lists": packed_without_link_data(lists, target)}
            sql = f"UPDATE version SET lists = %(lists)s WHERE {own} AND key = %(key)s AND seq_from = %(seq_from)s"
            self._session.execute(sql, row)
        for seq, *images in entries:
            before, after = (packed_without_link_data(image, target) for image in images)
            row = {**values, "seq": seq, "before": before, "after": after}
            sql = f"UPDATE journal SET before = %(before)s, after = %(after)s WHERE {own} AND seq = %(seq)s"
            self._session.execute(sql, row)
        sql = f"UPDATE link SET kind = '' WHERE {own} AND target = %(target)s AND key = ANY(%(keys)s)"
        self._session.execute(sql, values)
        for _, id in sources:
            self._stored.pop((space, id), None)  # to be read anew

    def _admits(self, where: Filter, space: str, key: int) -> bool:
        """Whether the filter admits the last version of a memory."""
        if where == ALL:
            return True
        sql = (
            f"SELECT {SELECTED} FROM {BY_ID} WHERE version.space_id = %(space)s AND version.key = %(key)s"
            " ORDER BY version.seq_from DESC LIMIT 1"
        )
        rows = self._session.fetch(sql, {"space": self._spaces[space].space_id, "key": key})
        return any(where.admits(memory_of(row, space)) for row in rows)

    def _delete(self, space: Space, key: int) -> None:
        """Everything of a memory that is gone."""
        self.flush()
        values = {"space": space.space_id, "key": key}
        sql = "SELECT DISTINCT content FROM version WHERE space_id = %(space)s AND key = %(key)s"
        self._orphans[space.space_id] |= {content for (content,) in self._session.fetch(sql, values)}
        for table in ("version", "label", "link", "memory"):
            self._session.execute(f"DELETE FROM {table} WHERE space_id = %(space)s AND key = %(key)s", values)

    def _delete_past(self, space: Space, key: int) -> None:
        """The memory's earlier versions: it reads as it is now, from when it first existed."""
        own = "space_id = %(space)s AND key = %(key)s"
        values: dict[str, Any] = {"space": space.space_id, "key": key, "open": OPEN}
        rows = self._session.fetch(f"SELECT seq_from, seq_to, content FROM version WHERE {own}", values)
        values["first"] = min(seq_from for seq_from, _, _ in rows)
        self._orphans[space.space_id] |= {content for _, seq_to, content in rows if seq_to != OPEN}
        for table in ("version", "label", "link"):
            self._session.execute(f"DELETE FROM {table} WHERE {own} AND seq_to <> %(open)s", values)
            self._session.execute(f"UPDATE {table} SET seq_from = %(first)s WHERE {own}", values)

    def drop_journal(self, space: str, upto: int) -> int:
        self.flush()
        values = {"space": self._number(space), "upto": min(upto, OPEN)}
        last = self._session.fetch(
            "SELECT seq, at, memories, stems FROM journal WHERE space_id = %(space)s AND seq <= %(upto)s"
            " ORDER BY seq DESC LIMIT 1",
            values,
        )
        if not last:
            return 0
        self._note_dropped(self._number(space), *last[0])
        past = "WHERE space_id = %(space)s AND seq_to <= %(upto)s"
        sql = f"SELECT DISTINCT content FROM version {past}"
        self._orphans[self._number(space)] |= {content for (content,) in self._session.fetch(sql, values)}
        for table in ("version", "label", "link"):
            self._session.execute(f"DELETE FROM {table} {past}", values)
        self._session.execute(
            "DELETE FROM memory WHERE space_id = %(space)s AND gone <> 0 AND NOT EXISTS (SELECT 1 FROM version"
            " WHERE version.space_id = %(space)s AND version.key = memory.key)",
            values,
        )
        self._erase_orphans()
        return self._session.execute("DELETE FROM journal WHERE space_id = %(space)s AND seq <= %(upto)s", values)

    def _note_dropped(self, space: int, seq: int, at: float, memories: int, stems: int) -> None:
        self._session.execute(
            "UPDATE spaces SET dropped = %(seq)s, dropped_at = %(at)s, dropped_memories = %(memories)s,"
            " dropped_stems = %(stems)s WHERE space_id = %(space)s",
            {"space": space, "seq": seq, "at": at, "memories": memories, "stems": stems},
        )

    # The rest of the store

    def purge_space(self, space: str) -> list[str]:
        self.flush()
        known = self._spaces[space]
        values = {"space": known.space_id}
        sql = "SELECT id FROM memory WHERE space_id = %(space)s AND gone = 0 ORDER BY key"
        ids = [str(id) for (id,) in self._session.fetch(sql, values)]
        sql = "SELECT seq, at FROM journal WHERE space_id = %(space)s ORDER BY seq DESC LIMIT 1"
        for seq, at in self._session.fetch(sql, values):
            self._note_dropped(known.space_id, seq, at, 0, 0)
        self._empty(known)
        own = f"({OWN_KIND}) OR (kind = 'space' AND name = %(old)s)"
        self._session.execute(f"DELETE FROM vocabulary WHERE {own}", {"old": space})
        known.memories = known.stems = 0
        self._terms_read.clear()
        return ids

    def _empty(self, space: Space) -> None:
        for table in TABLES_OF_SPACE:
            self._session.execute(f"DELETE FROM {table} WHERE space_id = %(space)s", {"space": space.space_id})
        self._stored = {key: stored for key, stored in self._stored.items() if key[0] != space.name}
        self._contents.clear()

    def compress(self, space: str, ids: Sequence[str]) -> int:  # noqa: ARG002
        """The server compresses long texts itself."""
        return 0

    def rename_space(self, old: str, new: str) -> None:
        self.flush()
        known, other = self._spaces.pop(old), self._spaces.pop(new)
        self._empty(other)  # what is left of it is what it once held
        names = {"old": old, "new": new, "space": known.space_id, "other": other.space_id}
        self._session.execute("DELETE FROM spaces WHERE space_id = %(other)s", names)
        self._session.execute("UPDATE spaces SET name = %(new)s WHERE space_id = %(space)s", names)
        self._session.execute(
            f"DELETE FROM vocabulary WHERE {OWN_KIND.replace('old', 'new')} OR (kind = 'space' AND name = %(new)s)",
            names,
        )
        self._session.execute(f"UPDATE vocabulary SET kind = {RENAMED_KIND} WHERE {OWN_KIND}", names)
        self._session.execute("UPDATE vocabulary SET name = %(new)s WHERE kind = 'space' AND name = %(old)s", names)
        own = "space_id = %(space)s"
        self._session.execute(f"UPDATE journal SET kind = {RENAMED_KIND} WHERE {own} AND {OWN_KIND}", names)
        self._session.execute(
            f"UPDATE journal SET memory_id = %(new)s WHERE {own} AND memory_id = %(old)s AND kind = 'space'", names
        )
        self._spaces[new] = replace(known, name=new)
        self._stored.clear()
        self._terms_read.clear()

    def put_term(self, kind: str, name: str, data: Mapping[str, Json] | None) -> None:
        values = {"kind": kind, "name": name, "data": None if data is None else as_json(dict(data))}
        self._session.execute(
            "DELETE FROM vocabulary WHERE kind = %(kind)s AND name = %(name)s"
            if data is None
            else "INSERT INTO vocabulary VALUES (%(kind)s, %(name)s, %(data)s)"
            " ON CONFLICT (kind, name) DO UPDATE SET data = excluded.data",
            values,
        )
        self._terms_read.pop((kind, name), None)

    def bind_embedder(self, identity: EmbedderIdentity, *, anew: bool) -> None:
        if anew:
            self.flush()
            self._contents.clear()
            vector_index.forget(self._session.connection)
            self._session.execute("UPDATE chunk SET embedding = NULL WHERE embedding IS NOT NULL")
            self._session.execute(
                "UPDATE content SET pending = true WHERE EXISTS (SELECT 1 FROM version WHERE version.space_id"
                " = content.space_id AND version.content = content.number AND version.seq_to = %(open)s)",
                {"open": OPEN},
            )
        self._embedder = identity
        measured = None if identity.measured is None else as_json(dict(identity.measured))
        values = (identity.name, str(identity.dimensions), identity.probe.hex(), measured)
        for key, value in zip(EMBEDDER_KEYS, values, strict=True):
            self._session.execute(
                "INSERT INTO meta VALUES (%(key)s, %(value)s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                {"key": key, "value": value},
            )

    def rebuild_indexes(self) -> None:
        """Words, and counts, from what is stored."""
        from nacre.storage.postgres.health import rebuild

        self.flush()
        rebuild(self._session)

    # Rows

    def _add(self, statement: str, space: Space, *values: Any) -> None:
        self._rows[statement, space.space_id].append(values)

    def grown(self) -> list[str]:
        """The spaces that have become so much larger that plans for them may no longer fit."""
        return [
            name
            for name, n in self._numbered.items()
            if name in self._spaces and step(n) < step(self._spaces[name].memory_key)
        ]

    def flush(self, *last: str) -> None:
        """Sends the collected rows, and then these statements, in one round trip."""
        self._collect_counts()
        statements = self._collected()
        for name, space_row in self._spaces.items():
            if space_row != self._saved.get(name):
                statements.append((SAVE_SPACE, {column: getattr(space_row, column) for column in SPACE}))
        self._saved = {name: replace(space) for name, space in self._spaces.items()}
        orphans = any(self._orphans.values())
        if not orphans:
            statements += [(sql, None) for sql in last]
        self._session.together(*statements)
        if orphans:
            self._erase_orphans()
            self._session.together(*((sql, None) for sql in last))

    def _collected(self) -> list[Statement]:
        """What writes the collected rows, which are no longer collected then."""
        statements: list[Statement] = []
        for name in STATEMENTS:
            spaces = {space for known, space in (*self._rows, *self._columns) if known == name}
            statements += [(SENT[name], {**self._values(name, space), "space": space}) for space in spaces]
        self._waiting.clear()
        self._contents.clear()  # what was derived anew is in the tables by now
        return statements

    def _values(self, name: str, space: int) -> dict[str, Any]:
        """The columns of the rows that were collected for a statement."""
        lists: Iterable[Sequence[Any]]
        if (name, space) in self._columns:
            lists = self._columns.pop((name, space))
        else:
            lists = zip(*self._rows.pop((name, space)), strict=True)
        pairs = zip(STATEMENTS[name].items(), lists, strict=True)
        return {field: column(kind, each) for (field, kind), each in pairs}

    def _collect_counts(self) -> None:
        counts: dict[int, Counter[tuple[str, str, str]]] = defaultdict(Counter)
        for (space, field, status, name), n in self._counts.items():
            counts[int(space)][str(field), str(status), counted_name(name)] += n  # type: ignore[arg-type]
        for space, of_space in counts.items():
            self._note_counts(space, [(*key, n) for key, n in sorted(of_space.items()) if n])
        for space, stems in self._stem_counts.items():
            self._note_counts(space, [(TERM, "", stem, n) for stem, n in sorted(stems.items()) if n])
        self._counts.clear()
        self._stem_counts.clear()

    def _note_counts(self, space: int, changed: Sequence[tuple[Any, ...]]) -> None:
        if changed:
            self._rows[COUNT, space] += changed
        if fallen := [row for row in changed if row[-1] < 0]:
            self._rows[FORGET_COUNT, space] += fallen

    def _erase_orphans(self) -> None:
        """Contents that no version has any more, with their words and vectors."""
        for space, contents in self._orphans.items():
            if not contents:
                continue
            values = {"space": space, "asked": sorted(contents)}
            gone = self._session.fetch(
                "SELECT number, words FROM content WHERE space_id = %(space)s AND number = ANY(%(asked)s::bigint[])"
                " AND NOT EXISTS (SELECT 1 FROM version WHERE version.space_id = %(space)s"
                " AND version.content = content.number)",
                values,
            )
            if gone:
                erase(self._session, space, gone)
        self._orphans.clear()


def step(memories: int) -> int:
    """Of a size in a row of sizes that begins with `ANALYSED_FROM`, each so many times the one before."""
    return 0 if memories < ANALYSED_FROM else 1 + int(math.log(memories / ANALYSED_FROM, ANALYSED_AGAIN))


def erase(session: Session, space: int, contents: Sequence[tuple[int, str | None]]) -> None:
    numbers = [number for number, _ in contents]
    terms = [(term, number) for number, words in contents for term in frequencies(unpacked_stems(words, 3))]
    values = {"space": space, "gone": numbers, "term": column(TEXT, [t for t, _ in terms]),
              "content": column(BIG, [n for _, n in terms])}  # fmt: skip
    session.together(
        (SENT[DELETE_POSTING], values),
        ("DELETE FROM chunk WHERE space_id = %(space)s AND content = ANY(%(gone)s::bigint[])", values),
        ("DELETE FROM content WHERE space_id = %(space)s AND number = ANY(%(gone)s::bigint[])", values),
    )


def frequencies(lines: Stems) -> dict[str, float]:
    """Of the stems in title, text and role: how often each occurs, times the weight of its field."""
    result: dict[str, float] = {}
    for line, weight in zip(lines, COLUMN_WEIGHTS.values(), strict=False):
        for stem in line.split():
            result[stem] = result.get(stem, 0.0) + weight
    return result


def counted_name(name: Any) -> str:
    """Of a counter: those of metadata may be true, which counts as 1."""
    return name if isinstance(name, str) else str(int(name))


def version_row(stored: Stored) -> tuple[Any, ...]:
    memory = stored.memory
    return (
        stored.key, stored.seq_from, stored.content, memory.version, *scalars_of(memory), pack_lists(memory),
        joined_lines(stored.stems), stored.length,
    )  # fmt: skip


# The key '' says whether contents wait for their vectors.
EMBEDDER = (
    "SELECT key, value FROM meta UNION ALL"
    " SELECT '', CASE WHEN EXISTS (SELECT 1 FROM content WHERE pending) THEN 'yes' END"
)


def stored_embedder(rows: Iterable[tuple[Any, ...]]) -> EmbedderIdentity:
    """Of the rows of `EMBEDDER`."""
    values: dict[str, str | None] = dict(rows)
    name, dimensions, probe, measured = (values.get(key) for key in EMBEDDER_KEYS)
    return EmbedderIdentity(
        name or "", int(dimensions or 0), bytes.fromhex(probe or ""), parsed(measured), bool(values.get(""))
    )


assert tuple(VERSION_TYPES) == ("key", "seq_from", "content", "version", *SCALARS, "lists", "stems", "length")
