"""Writes a change set: versions, contents, names, words, vectors, counts and journal, together or not at all."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import apsw

from nacre.model import Filter, JournalEntry, Memory
from nacre.model.journal import MEMORY
from nacre.model.memory import Json
from nacre.protocols import ALL, Chunk, Derived, EmbedderIdentity, Key, Scrubbed, Vectors, Words
from nacre.storage import tables
from nacre.storage.sqlite import rows
from nacre.storage.sqlite.rows import AMONG, SELECTED, from_row
from nacre.storage.tables import (
    CONTENT,
    IDENTITY,
    SCALARS,
    TERM,
    Counts,
    Kept,
    Names,
    SQLValue,
    Stems,
    Target,
    add_counts,
    as_json,
    content_lines,
    links_of,
    listed_names,
    names_of,
    same_content,
)

if TYPE_CHECKING:
    from nacre.storage.sqlite.search import NewVectors


TABLE_BY_TABLE = 16  # from so many new memories on


def insertion(table: str, *columns: str) -> str:
    return f"INSERT INTO main.{table}({', '.join(columns)}) VALUES ({', '.join('?' for _ in columns)})"


VERSION = ("key", "space", "seq_from", "anchor", "content", "version", *SCALARS, "lists", "uses", "stems", "length")
# The fields of a memory that the partial indexes of `version` hold, besides its content.
INDEXED = (
    "created_at", "importance", "confidence", "type", "status", "session", "position", "occurred_at", "expires_at",
    "trust", "last_validated_at", "superseded_by",
)  # fmt: skip
OPEN_LABEL = "space = ?2 AND field = ?3 AND name = ?4 AND key = ?5 AND seq_to IS NULL"
OPEN_LINK = "space = ?2 AND target = ?3 AND rel = ?4 AND key = ?5 AND seq_to IS NULL"
CONTENT_VALUES = (*CONTENT, "characters", "asks", "words", "pending")
INSERT_MEMORY = insertion(
    "new_memory", *IDENTITY, *CONTENT_VALUES, *VERSION, "labels", "chunks", "links"
)  # see schema.sql
INSERT_IDENTITY = insertion("memory", "key", "space", "gone", *IDENTITY)
INSERT_CONTENT = insertion("content", "number", "space", *CONTENT_VALUES)
INSERT_VERSION = insertion("version", *VERSION)
INSERT_LABEL = insertion("label", "space", "field", "name", "key", "seq_from", "times")
INSERT_ENTRY = insertion(
    "journal", "place", "memory_id", "kind", "act", "actor", "at", "batch", "why", "key", "old", "new", "before",
    "after", "latest", "memories", "stems",
)  # fmt: skip
# One that takes the place of another, because its weight or kind has changed, keeps its walks.
INSERT_LINK = (
    "INSERT OR REPLACE INTO main.link(space, target, rel, key, seq_from, weight, kind, walks)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, CASE ?8 WHEN 0 THEN 0 ELSE coalesce((SELECT walks FROM main.link"
    " WHERE space = ?1 AND target = ?2 AND rel = ?3 AND key = ?4 ORDER BY seq_from DESC LIMIT 1), 0) END)"
)
INSERT_CHUNK = insertion("chunk", "id", "content", "space", "start", "stop", "digest", "embedded")
END_VERSION = "UPDATE main.version SET seq_to = ? WHERE key = ? AND seq_from = ?"
END_LABEL = f"UPDATE label SET seq_to = ?1 WHERE {OPEN_LABEL} AND seq_from < ?1"
END_LINK = f"UPDATE link SET seq_to = ?1 WHERE {OPEN_LINK} AND seq_from < ?1"
DELETE_LABEL = f"DELETE FROM label WHERE {OPEN_LABEL} AND seq_from = ?1"
DELETE_LINK = f"DELETE FROM link WHERE {OPEN_LINK} AND seq_from = ?1"
REPLACE_VERSION = (
    f"UPDATE main.version SET {', '.join(f'{name} = ?' for name in VERSION)} WHERE key = ? AND seq_from = ?"
)
SET_STEMS = "UPDATE main.version SET stems = ?, length = ? WHERE key = ? AND seq_from = ?"
SET_WORDS = "UPDATE content SET words = ? WHERE number = ?"
SET_PENDING = "UPDATE content SET pending = ? WHERE number = ?"
SET_USES = "UPDATE main.memory SET last_accessed = ?, access_count = ? WHERE key = ?"
REMOVE_MEMORY = "UPDATE main.memory SET gone = key WHERE key = ?"
DELETE_CHUNK = "DELETE FROM chunk WHERE id = ?"
# Deletes and ends run before inserts, so that unique keys are free.
STATEMENTS = (
    REMOVE_MEMORY, END_VERSION, END_LABEL, END_LINK, DELETE_LABEL, DELETE_LINK, DELETE_CHUNK,
    INSERT_MEMORY, INSERT_IDENTITY, INSERT_CONTENT, INSERT_VERSION, REPLACE_VERSION, SET_STEMS, SET_WORDS,
    SET_PENDING, SET_USES, INSERT_LABEL, INSERT_LINK, INSERT_CHUNK,
)  # fmt: skip
# A space with what else a writer needs, and those of its memories that are asked for: one row for each, or one without.
LAST_NUMBERS = "(SELECT json_group_object(name, seq) FROM sqlite_sequence)"  # given so far, by table
SPACE = ("number", "seq", "last_at", "memories", "stems", "latest")
LAST_VECTOR = "(SELECT chunk FROM vector WHERE space = space.number ORDER BY chunk DESC LIMIT 1)"
READ = (
    f"SELECT {', '.join(f'space.{name}' for name in SPACE)}, {LAST_VECTOR}, {LAST_NUMBERS},"
    f" {', '.join(rows.EMBEDDER_VALUES)}, version.key, version.content, version.seq_from, version.anchor,"
    f" version.stems, version.length, {SELECTED} FROM present AS space"
    f" LEFT JOIN memory ON memory.space = space.number AND memory.id {AMONG} AND memory.gone = 0"
    " LEFT JOIN version ON version.key = memory.key AND version.seq_to IS NULL"
    " LEFT JOIN content ON content.number = version.content WHERE space.name = ?"
)
# How many journal entries of a space lie between two checks whether its signs can be packed; a prime, so that a regular
# pattern of operations cannot miss every check.
LOOKED_EVERY = 61
# The journal entries of memories, with the values of `of_memories`.
BY_VERSION = (
    f"SELECT (space << {rows.PLACE_BITS}) + {{}} FROM main.version"
    f" WHERE key IN (SELECT key FROM main.memory WHERE space = ? AND id {AMONG})"
)
OF_MEMORIES = (
    f"+memory_id {AMONG} AND place IN ({BY_VERSION.format('seq_from')}"
    f" UNION ALL {BY_VERSION.format('seq_to')} UNION ALL"
    f" SELECT place FROM journal INDEXED BY journal_memory WHERE space = ? AND memory_id {AMONG} AND key IS NULL)"
)


def of_memories(space: int, *ids: str) -> tuple[SQLValue, ...]:
    among = json.dumps(ids)
    return (among, *(space, among) * 3)


@dataclass(slots=True)
class Space:
    number: int
    seq: int = 0
    last_at: float = 0.0
    memories: int = 0
    stems: int = 0
    latest: float = 0.0


class Stored(NamedTuple):
    """The present version of a memory."""

    key: int
    content: int
    seq_from: int
    anchor: int
    stems: Stems  # of tags and entities
    length: int
    memory: Memory


class NewMemory(NamedTuple):
    """What its rows are made of."""

    space: int
    stored: Stored
    content: tuple[SQLValue, ...]
    names: Names
    chunks: list[tuple[int, Chunk, int]]
    links: dict[Target, Kept]


class Content(NamedTuple):
    """What is derived from a content; `words` is None when nothing was derived yet."""

    words: Stems | None
    pending: bool
    chunks: tuple[tuple[int, Chunk, bool], ...]  # its number, and whether it has a vector


class SQLiteTransaction:
    """What `storage.commit` writes with. Rows wait until all changes are known, and are written table by table."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._spaces: dict[str, Space] = {}
        self._in_file: dict[str, Space] = {}  # the same, as they were read
        self._last: dict[str, int] = {}  # the last number given, by table
        self._embedder: EmbedderIdentity | None = None  # as it was read with a space
        self._stored: dict[Key, Stored | None] = {}
        self._contents: dict[int, Content] = {}
        self._waiting: set[Key] = set()  # memories whose rows wait
        self._rows: dict[str, list[Sequence[SQLValue]]] = defaultdict(list)
        self._new: list[NewMemory] = []  # whose rows are made when they are written
        # By space and number of an entry: the memory, and whether it ended and began a version.
        self._versions: dict[tuple[str, int], tuple[int, bool, bool]] = {}
        self._sizes: dict[tuple[str, int], tuple[int, int]] = {}  # of a space after an entry: its memories and stems
        self._counts: Counts = Counter()
        self._last_vectors: dict[int, int] = {}  # the last chunk with a vector, by space
        self.new_vectors: dict[int, NewVectors] = {}  # by space, for who searches next
        self._terms: dict[int, Counter[str]] = defaultdict(Counter)  # how many more memories have a stem, by space
        self._vectors: dict[int, list[tuple[int, int, Vectors]]] = defaultdict(list)
        self.to_pack: dict[int, int] = {}  # spaces whose signs may be packed after the commit: their dimensions
        self._with_memory: set[int] = set()  # chunks whose vectors are written with a new memory
        self._dropped: dict[int, list[int]] = defaultdict(list)  # chunks whose vectors go, by space
        self._orphans: list[int] = []  # contents that may have no version any more
        self.scrubbed = False

    # What is there

    def get_many(self, space: str, ids: Sequence[str]) -> list[Memory]:
        self._load(space, ids)
        stored = (self._stored[space, id] for id in dict.fromkeys(ids))
        return [each.memory for each in stored if each is not None]

    def _load(self, name: str, ids: Sequence[str]) -> None:
        unknown = [id for id in dict.fromkeys(ids) if (name, id) not in self._stored]
        if name in self._spaces and not unknown:
            return
        self._stored.update({(name, id): None for id in unknown})
        for row in rows.fetch(self._connection, READ, (json.dumps(unknown), name)):
            space, (last_vector, last, *rest) = row[: len(SPACE)], row[len(SPACE) :]
            embedder, stored = rest[: len(rows.EMBEDDER_VALUES)], rest[len(rows.EMBEDDER_VALUES) :]
            if name not in self._spaces:
                self._spaces[name], self._in_file[name] = Space(*space), Space(*space)
                self._last = self._last or json.loads(last)
                self._last_vectors.setdefault(space[0], last_vector or 0)
                self._embedder = self._embedder or rows.embedder_identity(*embedder)
            key, content, seq_from, anchor, stems, length, *record = stored
            if key is not None:
                memory = from_row(record)
                self._stored[name, memory.id] = Stored(
                    key, content, seq_from, anchor, tables.unpacked_stems(stems, 2), length, memory
                )

    def _space(self, name: str) -> Space | None:
        if name not in self._spaces:
            self._load(name, ())
        return self._spaces.get(name)

    def _get_or_create_space(self, name: str) -> Space:
        known = self._space(name)
        if known is None:
            self._connection.execute("INSERT INTO space(name) VALUES (?)", (name,))
            known = self._spaces[name] = Space(self._connection.last_insert_rowid())
        return known

    def last_at(self, space: str) -> float:
        known = self._space(space)
        return 0.0 if known is None else known.last_at

    def last_seq(self, space: str) -> int:
        known = self._space(space)
        return 0 if known is None else known.seq

    def term(self, kind: str, name: str) -> Mapping[str, Json] | None:
        return rows.vocabulary(self._connection, kind, name).get(name)

    def embedder(self) -> EmbedderIdentity:
        return self._embedder or rows.stored_embedder(self._connection)

    def _content(self, number: int) -> Content:
        """What is derived from it; all that was loaded is read together, because one change seldom comes alone."""
        if number not in self._contents:
            present = (each.content for each in self._stored.values() if each is not None)
            asked = (json.dumps([each for each in {number, *present} if each not in self._contents]),)
            chunks: dict[int, list[tuple[int, Chunk, bool]]] = defaultdict(list)
            sql = f"SELECT content, id, start, stop, digest, embedded FROM chunk WHERE content {AMONG} ORDER BY id"
            for content, id, start, stop, digest, embedded in rows.fetch(self._connection, sql, asked):
                chunks[content].append((id, Chunk(start, stop, digest), bool(embedded)))
            sql = f"SELECT number, words, pending FROM content WHERE number {AMONG}"
            for content, stems, pending in rows.fetch(self._connection, sql, asked):
                words = None if stems is None else tables.unpacked_stems(stems, 3)
                self._contents[content] = Content(words, bool(pending), tuple(chunks[content]))
        return self._contents[number]

    # A memory

    def put(self, memory: Memory, derived: Derived | None, seq: int | None) -> None:
        space_and_id = (memory.space, memory.id)
        old, space = self._old(space_and_id), self._get_or_create_space(memory.space)
        space.latest = max(space.latest, memory.created_at, memory.updated_at)
        if old is None:
            self._stored[space_and_id] = self._insert(space, memory, derived, seq)
        else:
            self._stored[space_and_id] = self._edit(space, memory, derived, old, seq)
        self._waiting.add(space_and_id)
        self._note_size(memory.space, seq)

    def _old(self, space_and_id: Key) -> Stored | None:
        space, id = space_and_id
        if space_and_id in self._waiting:  # changed twice
            self.flush()
        if space_and_id not in self._stored:
            self._load(space, [id])
        return self._stored[space_and_id]

    def _note_size(self, space: str, seq: int | None) -> None:
        if seq is not None:
            self._sizes[space, seq] = (self._spaces[space].memories, self._spaces[space].stems)

    def _insert(self, space: Space, memory: Memory, derived: Derived | None, seq: int | None) -> Stored:
        content, start = self._next("content"), space.seq if seq is None else seq
        words = None if derived is None else tables.indexed(derived.words)
        stems, length = (("", ""), 0) if words is None else (words.names, words.length)
        new = Stored(self._next("memory"), content, start, start, stems, length, memory)
        space.memories += 1
        if words is not None:
            space.stems += length
            self._terms[space.number].update(words.distinct)
        add_counts(self._counts, space.number, memory)
        values = content_row(memory, words, pending=derived is None or derived.vectors is None)
        chunks = self._number_chunks(space, content, derived)
        self._new.append(NewMemory(space.number, new, values, names_of(memory, stems), chunks, links_of(memory)))
        if seq is not None:
            self._versions[memory.space, seq] = (new.key, False, True)
        return new

    def _edit(self, space: Space, memory: Memory, derived: Derived | None, old: Stored, seq: int | None) -> Stored:
        content, derived = self._edit_content(space, memory, derived, old)
        stems, length = old.stems, old.length
        if derived is not None:
            had, words = self._content(old.content), tables.indexed(derived.words)
            self._count_terms(space, tables.distinct_stems(*(had.words or ()), *stems), words.distinct)
            stems, length = words.names, words.length
            space.stems += length - old.length
        start = old.seq_from if seq is None else seq
        moved = old.content != content or any(getattr(old.memory, name) != getattr(memory, name) for name in INDEXED)
        new = Stored(old.key, content, start, start if moved else old.anchor, stems, length, memory)
        self._write_version(space, old, new, seq)
        return new

    def _write_version(self, space: Space, old: Stored, new: Stored, seq: int | None) -> None:
        """Begins a version with the entry, or changes the present one in place."""
        memory, known, start = new.memory, old.memory, new.seq_from
        uses = (memory.last_accessed, memory.access_count)
        if uses != (known.last_accessed, known.access_count):
            self._add(SET_USES, *uses, old.key)
        add_counts(self._counts, space.number, memory)
        add_counts(self._counts, space.number, known, -1)
        names = names_of(known, old.stems), names_of(memory, new.stems)
        self._put_names(space, old.key, *names, start, in_place=seq is None)
        self._put_links(space, old.key, links_of(known), links_of(memory), start, in_place=seq is None)
        if seq is not None:
            self._versions[memory.space, seq] = (old.key, True, True)
            self._add(END_VERSION, seq, old.key, old.seq_from)
            self._add(INSERT_VERSION, *version_row(space.number, new))
        elif memory != replace(known, last_accessed=uses[0], access_count=uses[1]):
            self._add(REPLACE_VERSION, *version_row(space.number, new), old.key, old.seq_from)
            if old.content != new.content:
                self._orphans.append(old.content)
        elif (new.stems, new.length) != (old.stems, old.length):
            self._add(SET_STEMS, tables.packed_stems(new.stems), new.length, old.key, old.seq_from)

    def remove(self, space: str, id: str, seq: int | None) -> None:
        """Without `seq` it deletes the memory with all its versions."""
        old, known = self._old((space, id)), self._get_or_create_space(space)
        if old is None:
            return
        known.memories -= 1
        known.stems -= old.length
        add_counts(self._counts, known.number, old.memory, -1)
        words = self._content(old.content).words or ()
        self._count_terms(known, tables.distinct_stems(*words, *old.stems), frozenset())
        self._stored[space, id] = None
        if seq is None:
            sql = f"UPDATE journal SET key = NULL WHERE {OF_MEMORIES}"
            self._connection.execute(sql, of_memories(known.number, id))
            self._delete(known, old.key)
            return
        self._put_names(known, old.key, names_of(old.memory, old.stems), {}, seq)
        self._put_links(known, old.key, links_of(old.memory), {}, seq)
        self._add(REMOVE_MEMORY, old.key)
        self._add(END_VERSION, seq, old.key, old.seq_from)
        self._add(SET_PENDING, 0, old.content)
        self._versions[space, seq] = (old.key, True, False)
        self._waiting.add((space, id))
        self._note_size(space, seq)

    def _count_terms(self, space: Space, before: frozenset[str], after: frozenset[str]) -> None:
        counts = self._terms[space.number]
        counts.update(after - before)
        for stem in before - after:
            counts[stem] -= 1

    def _put_names(self, space: Space, key: int, had: Names, has: Names, seq: int, *, in_place: bool = False) -> None:
        """Names are valid from `seq` on. With `in_place`, rows that began with this version are deleted instead of
        ended."""
        for (field, name), times in had.items():
            if has.get((field, name)) != times:
                for sql in (END_LABEL, DELETE_LABEL) if in_place else (END_LABEL,):
                    self._add(sql, seq, space.number, field, name, key)
        for (field, name), times in has.items():
            if had.get((field, name)) != times:
                self._add(INSERT_LABEL, space.number, field, name, key, seq, times)

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
                self._add(END_LINK, seq, space.number, target, rel, key)
            if in_place and (target, rel) not in has:
                self._add(DELETE_LINK, seq, space.number, target, rel, key)
        for (target, rel), kept in has.items():
            if had.get((target, rel)) != kept:
                self._add(INSERT_LINK, space.number, target, rel, key, seq, *kept, int((target, rel) in had))

    # Its content

    def _edit_content(
        self, space: Space, memory: Memory, derived: Derived | None, old: Stored
    ) -> tuple[int, Derived | None]:
        """Returns the content's number, and the derived data if it may have changed."""
        if same_content(old.memory, memory):
            if derived is not None:
                self._derive_again(space, old.content, self._content(old.content), derived)
            return old.content, derived
        if derived is None:
            derived = self._derived(old, self._content(old.content))
        self._add(SET_PENDING, 0, old.content)
        number = self._next("content")
        self._add(INSERT_CONTENT, number, space.number, *content_values(memory, derived))
        self._put_chunks(space, number, derived)
        return number, derived

    def _put_chunks(self, space: Space, content: int, derived: Derived | None) -> None:
        self._add_chunks(space.number, content, self._number_chunks(space, content, derived))

    def _add_chunks(self, space: int, content: int, chunks: Sequence[tuple[int, Chunk, int]]) -> None:
        for id, each, embedded in chunks:
            self._add(INSERT_CHUNK, id, content, space, each.start, each.end, each.digest, embedded)

    def _number_chunks(self, space: Space, content: int, derived: Derived | None) -> list[tuple[int, Chunk, int]]:
        """The rows of its chunks: a number, the chunk, and whether it has a vector, which waits to be written."""
        if derived is None:
            return []
        numbered = [(self._next("chunk"), chunk, int(derived.vectors is not None)) for chunk in derived.chunks]
        if numbered and derived.vectors is not None:
            pairs = zip(numbered, derived.vectors, strict=True)
            self._vectors[space.number] += [(id, content, vector) for (id, *_), vector in pairs]
        return numbered

    def _derive_again(self, space: Space, content: int, had: Content, derived: Derived) -> None:
        """Words and vectors of a text that stays; those that stay too are not written again."""
        lines = content_lines(derived.words)
        if lines != had.words:
            self._add(SET_WORDS, tables.packed_stems(lines), content)
        embedded = derived.vectors is not None
        if [(chunk, embedded) for chunk in derived.chunks] != [(chunk, is_in) for _, chunk, is_in in had.chunks]:
            for id, _, _ in had.chunks:
                self._add(DELETE_CHUNK, id)
            self._dropped[space.number] += [id for id, _, is_in in had.chunks if is_in]
            self._put_chunks(space, content, derived)
        if had.pending == embedded:
            self._add(SET_PENDING, int(not embedded), content)

    def _derived(self, old: Stored, had: Content) -> Derived | None:
        """What was derived from a text that changes while its words and vectors stay."""
        if had.words is None:
            return None
        import numpy as np

        from nacre.storage.sqlite.search import stored_vectors

        stored = stored_vectors(self._connection, [id for id, _, is_in in had.chunks if is_in])
        stacked = None if had.pending or len(stored) != len(had.chunks) else np.stack(stored)
        return Derived(Words(*had.words, *old.stems), tuple(chunk for _, chunk, _ in had.chunks), stacked)

    # The journal

    def next_seq(self, space: str) -> int:
        known = self._get_or_create_space(space)
        known.seq += 1
        self._note_size(space, known.seq)
        return known.seq

    def append(self, entries: Sequence[JournalEntry]) -> None:
        for entry in entries:
            space, place = self._get_or_create_space(entry.space), (entry.space, entry.seq)
            space.last_at = entry.operation.at
            versions = self._versions.get(place) if entry.kind == MEMORY else None
            size = self._sizes[place]
            self._add(INSERT_ENTRY, *entry_row(space.number, entry, versions), space.latest, *size)
            written = self._in_file.get(entry.space)
            if written is None or written.seq < entry.seq:  # then the view `present` takes this from the entry
                self._in_file[entry.space] = Space(space.number, entry.seq, space.last_at, *size, space.latest)

    def scrub(self, change: Scrubbed) -> None:
        space, id = change.space, change.id
        self.flush()
        self.scrubbed = True
        known = self._get_or_create_space(space)
        self._connection.execute(
            f"UPDATE journal SET key = NULL, before = NULL, after = NULL, why = '' WHERE {OF_MEMORIES} AND kind = ?",
            (*of_memories(known.number, id), MEMORY),
        )
        sql = "SELECT key, gone FROM memory WHERE space = ? AND id = ?"
        for key, gone in rows.fetch(self._connection, sql, (known.number, id)):
            (self._delete if gone else self._delete_past)(known, key)
        self._stored.pop((space, id), None)
        self._delete_link_data(known.number, change)

    def _delete_link_data(self, space: int, change: Scrubbed) -> None:
        """Of the links to a memory, in every version of those that had one, and in what the journal says of them."""
        target = change.id
        sql = "SELECT key, id FROM main.memory WHERE key IN (SELECT key FROM main.link WHERE space = ? AND target = ?)"
        linked = rows.fetch(self._connection, sql, (space, target))
        sources = [(key, id) for key, id in linked if self._admits(change.linked_from, key)]
        if not sources:
            return
        keys, ids = (json.dumps(each) for each in zip(*sources, strict=True))
        sql = f"SELECT row, lists FROM main.version WHERE key {AMONG}"
        versions = rows.fetch(self._connection, sql, (keys,))
        sql = (
            "SELECT place, before, after FROM journal INDEXED BY journal_memory"
            f" WHERE space = ? AND memory_id {AMONG} AND key IS NULL AND kind = ?"
        )
        entries = rows.fetch(self._connection, sql, (space, ids, MEMORY))
        self._connection.executemany(
            "UPDATE main.version SET lists = ? WHERE row = ?",
            [(tables.packed_without_link_data(lists, target), row) for row, lists in versions],
        )
        self._connection.executemany(
            "UPDATE journal SET before = ?, after = ? WHERE place = ?",
            [
                (*(tables.packed_without_link_data(image, target) for image in images), place)
                for place, *images in entries
            ],
        )
        sql = f"UPDATE main.link SET kind = '' WHERE space = ? AND target = ? AND key {AMONG}"
        self._connection.execute(sql, (space, target, keys))
        for _, id in sources:
            self._stored.pop((change.space, id), None)  # to be read anew

    def _admits(self, where: Filter, key: int) -> bool:
        """Whether the filter admits the last version of a memory."""
        if where == ALL:
            return True
        sql = f"SELECT {SELECTED} FROM {rows.RECORDS} WHERE version.key = ? ORDER BY version.seq_from DESC LIMIT 1"
        return any(where.admits(from_row(row)) for row in rows.fetch(self._connection, sql, (key,)))

    def _delete(self, space: Space, key: int) -> None:
        """Everything of a memory that is gone."""
        self._delete_names(space, key)
        sql = "SELECT DISTINCT content FROM main.version WHERE key = ?"
        self._orphans += [content for (content,) in rows.fetch(self._connection, sql, (key,))]
        for table in ("version", "link", "memory"):
            self._connection.execute(f"DELETE FROM main.{table} WHERE key = ?", (key,))

    def _delete_past(self, space: Space, key: int) -> None:
        """The memory's earlier versions: it reads as it is now, from when it first existed."""
        self._delete_names(space, key)
        first, *_ = rows.only_row(self._connection, "SELECT min(seq_from) FROM main.version WHERE key = ?", key)
        sql = "SELECT content FROM main.version WHERE key = ? AND seq_to IS NOT NULL"
        self._orphans += [content for (content,) in rows.fetch(self._connection, sql, (key,))]
        for table in ("version", "link"):
            self._connection.execute(f"DELETE FROM main.{table} WHERE key = ? AND seq_to IS NOT NULL", (key,))
        self._connection.execute("UPDATE main.version SET seq_from = ?1, anchor = ?1 WHERE key = ?2", (first, key))
        self._connection.execute("UPDATE main.link SET seq_from = ? WHERE key = ?", (first, key))
        for (field, name), times in self._names(key).items():
            self._add(INSERT_LABEL, space.number, field, name, key, first, times)

    def _delete_names(self, space: Space, key: int) -> None:
        """Of all versions of a memory."""
        self._connection.executemany(
            "DELETE FROM label WHERE space = ? AND field = ? AND name = ? AND key = ?",
            [(space.number, field, name, key) for field, name in self._names(key)],
        )

    def _names(self, key: int) -> Names:
        names: Names = {}
        sql = "SELECT lists, stems FROM main.version WHERE key = ?"
        for lists, stems in rows.fetch(self._connection, sql, (key,)):
            with suppress(ValueError, AttributeError, TypeError):  # a damaged version tells none
                names |= listed_names(json.loads(lists), tables.unpacked_stems(stems, 2))
        return names

    def drop_journal(self, space: str, upto: int) -> int:
        self.flush()
        known = self._space(space)
        number = 0 if known is None else known.number
        dropped = rows.span(number, 0, upto)
        sql = "SELECT max(place) FROM journal WHERE place BETWEEN ? AND ?"
        last, *_ = rows.only_row(self._connection, sql, *dropped)
        if last is None:
            return 0
        self._in_file.pop(space, None)  # its row has to say what the last entry said
        self._connection.execute(
            "UPDATE space SET (dropped, dropped_at, dropped_memories, dropped_stems) ="
            " (SELECT seq, at, memories, stems FROM journal WHERE place = ?) WHERE number = ?",
            (last, number),
        )
        past = "WHERE space = ? AND seq_to <= ?"
        sql = f"SELECT DISTINCT content FROM main.version {past}"
        self._orphans += [content for (content,) in rows.fetch(self._connection, sql, (number, upto))]
        for table in ("version", "label", "link"):
            self._connection.execute(f"DELETE FROM main.{table} {past}", (number, upto))
        renew_anchors(self._connection)
        self._connection.execute(
            "DELETE FROM main.memory WHERE space = ? AND gone <> 0"
            " AND NOT EXISTS (SELECT 1 FROM main.version WHERE version.key = memory.key)",
            (number,),
        )
        self._connection.execute("DELETE FROM journal WHERE place BETWEEN ? AND ?", dropped)
        return self._connection.changes()

    # The rest of the store

    def purge_space(self, space: str) -> list[str]:
        self.flush()
        self.scrubbed = True
        known = self._get_or_create_space(space)
        sql = "SELECT id FROM main.memory WHERE space = ? AND gone = 0 ORDER BY key"
        ids = [str(id) for (id,) in rows.fetch(self._connection, sql, (known.number,))]
        self._connection.execute(
            "UPDATE space SET (dropped, dropped_at, dropped_memories, dropped_stems) = (SELECT seq, at, 0, 0"
            " FROM journal WHERE place BETWEEN ?1 AND ?2 ORDER BY place DESC LIMIT 1)"
            " WHERE number = ?3 AND EXISTS (SELECT 1 FROM journal WHERE place BETWEEN ?1 AND ?2)",
            (*rows.span(known.number), known.number),
        )
        self._empty(known)
        self._in_file.pop(space, None)
        rows.forget_terms(self._connection, space)
        known.memories = known.stems = 0
        self._stored = {key: stored for key, stored in self._stored.items() if key[0] != space}
        return ids

    def _empty(self, space: Space) -> None:
        sql = "SELECT DISTINCT content FROM main.version WHERE space = ?"
        self._orphans += [content for (content,) in rows.fetch(self._connection, sql, (space.number,))]
        for table in ("version", "label", "link", "memory", "counter"):
            self._connection.execute(f"DELETE FROM main.{table} WHERE space = ?", (space.number,))
        self._connection.execute("DELETE FROM journal WHERE place BETWEEN ? AND ?", rows.span(space.number))
        self._erase_orphans()

    def _forget_space(self, space: Space) -> None:
        self.scrubbed = True
        self._empty(space)
        for table in ("signs", "centre", "removed"):
            self._connection.execute(f"DELETE FROM main.{table} WHERE space = ?", (space.number,))
        self._connection.execute("DELETE FROM space WHERE number = ?", (space.number,))

    def compress(self, space: str, ids: Sequence[str]) -> int:
        self.flush()
        known = self._space(space)
        return 0 if known is None else rows.compress(self._connection, known.number, ids)

    def rename_space(self, old: str, new: str) -> None:
        self.flush()
        known, other = self._space(old), self._space(new)
        if other is not None:  # it is empty: what is left is what it once held
            self._forget_space(other)
        number = 0 if known is None else known.number
        self._connection.execute("UPDATE space SET name = ? WHERE number = ?", (new, number))
        rows.rename_terms(self._connection, old, new, number)
        self._spaces.clear()
        self._stored.clear()

    def put_term(self, kind: str, name: str, data: Mapping[str, Json] | None) -> None:
        if data is None:
            self._connection.execute("DELETE FROM vocabulary WHERE kind = ? AND name = ?", (kind, name))
        else:
            self._connection.execute(
                "INSERT OR REPLACE INTO vocabulary VALUES (?, ?, ?)", (kind, name, as_json(dict(data)))
            )

    def bind_embedder(self, identity: EmbedderIdentity, *, anew: bool) -> None:
        if anew:
            from nacre.storage.sqlite import search

            self.flush()
            search.clear(self._connection)
            self._contents.clear()
            self._connection.execute("UPDATE chunk SET embedded = 0")
            self._connection.execute(
                "UPDATE content SET pending = 1 WHERE number IN (SELECT content FROM main.version WHERE seq_to IS NULL)"
            )
        self._embedder = identity
        values = (identity.name, identity.dimensions, identity.probe, maybe_json(identity.measured))
        self._connection.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)", list(zip(tables.EMBEDDER_KEYS, values, strict=True))
        )

    def rebuild_indexes(self) -> None:
        """Also fills a word index that is damaged or disagrees with the contents, and counts everything again."""
        from nacre.storage.sqlite import repair

        self.flush()
        self._connection.execute("REINDEX")
        renew_anchors(self._connection)
        repair.complete_indexes(self._connection)
        self._spaces.clear()
        self._stored.clear()

    # Rows

    def _add(self, sql: str, *values: SQLValue) -> None:
        self._rows[sql].append(values)

    def _next(self, table: str) -> int:
        if not self._last:
            self._last = json.loads(rows.only_row(self._connection, f"SELECT {LAST_NUMBERS}")[0])
        self._last[table] = self._last.get(table, 0) + 1
        return self._last[table]

    def _add_new(self) -> None:
        """A few by one statement each; many table by table, which takes less time a row."""
        if len(self._new) < TABLE_BY_TABLE:
            vectors = {id: vector for of_space in self._vectors.values() for id, _, vector in of_space}
            for space, new, content, names, chunks, links in self._new:
                halves = {id: vectors[id].astype("<f2").tobytes().hex() for id, *_ in chunks if id in vectors}
                self._with_memory |= halves.keys()
                packed = [
                    (id, each.start, each.end, each.digest.hex(), embedded, halves.get(id))
                    for id, each, embedded in chunks
                ]
                labels = [(*name, times) for name, times in names.items()]
                linked = [(*target, *kept) for target, kept in links.items()]
                values = (*identity_of(new.memory), *content, *version_row(space, new))
                self._add(INSERT_MEMORY, *values, *map(as_json, (labels, packed, linked)))
        elif self._new:
            identities, contents, versions, of_names = (
                self._rows[sql] for sql in (INSERT_IDENTITY, INSERT_CONTENT, INSERT_VERSION, INSERT_LABEL)
            )
            for space, new, content, names, chunks, links in self._new:
                key, start = new.key, new.seq_from
                identities.append((key, space, 0, *identity_of(new.memory)))
                contents.append((new.content, space, *content))
                versions.append(version_row(space, new))
                of_names += [(space, *name, key, start, times) for name, times in names.items()]
                self._add_chunks(space, new.content, chunks)
                if links:
                    self._rows[INSERT_LINK] += [
                        (space, *target, key, start, *kept, 0) for target, kept in links.items()
                    ]
        self._new.clear()

    def flush(self) -> None:
        """Writes the collected rows; needed before a statement that works on whole tables."""
        self._add_new()
        for sql in (*STATEMENTS, INSERT_ENTRY):
            if sql in self._rows:
                self._connection.executemany(sql, self._rows.pop(sql))
        self._waiting.clear()
        self._contents.clear()  # what was derived anew is in the file by now
        self._write_vectors()
        self._erase_orphans()
        write_counts(self._connection, self._counts, self._terms)
        self._counts.clear()
        self._terms.clear()
        self._connection.executemany(
            f"UPDATE space SET {', '.join(f'{name} = ?' for name in SPACE[1:])} WHERE number = ?",
            [
                (s.seq, s.last_at, s.memories, s.stems, s.latest, s.number)
                for name, s in self._spaces.items()
                if s != self._in_file.get(name)
            ],
        )
        self._in_file = {name: replace(space) for name, space in self._spaces.items()}

    def _write_vectors(self) -> None:
        """Together: one statement for a batch of a thousand."""
        if not self._dropped and not self._vectors:
            return
        import numpy as np

        from nacre.storage.sqlite import search

        for space, dropped in self._dropped.items():
            search.remove(self._connection, space, dropped)
        for space, new in self._vectors.items():
            chunks, owners, made = zip(*new, strict=True)
            halves = search.write(self._connection, space, chunks, owners, np.stack(made), self._with_memory)
            self.new_vectors[space] = search.NewVectors(self._last_vectors.get(space, 0), chunks, owners, halves)
            self._last_vectors[space] = chunks[-1]
            if self._looks_for_signs(space):
                self.to_pack[space] = halves.shape[1]
        self._dropped.clear()
        self._vectors.clear()
        self._with_memory.clear()

    def _looks_for_signs(self, space: int) -> bool:
        """Whether to check now that there are enough vectors to pack their signs; nearly always there are not."""
        numbers = [seq for name, seq in self._sizes if name in self._spaces and self._spaces[name].number == space]
        return not numbers or any(seq % LOOKED_EVERY == 0 for seq in numbers)

    def _erase_orphans(self) -> None:
        """Contents that no version has any more, with their words and vectors."""
        if not self._orphans:
            return
        gone = (
            f"SELECT number FROM content WHERE number {AMONG} AND NOT EXISTS (SELECT 1 FROM main.version AS lead"
            " WHERE lead.content = content.number AND lead.anchor = lead.seq_from)"
        )
        asked = (json.dumps(self._orphans),)
        self._orphans.clear()
        sql = f"SELECT id, space FROM chunk WHERE embedded AND content IN ({gone})"
        for id, space in rows.fetch(self._connection, sql, asked):
            self._dropped[space].append(id)
        self._connection.execute(f"DELETE FROM chunk WHERE content IN ({gone})", asked)
        self._connection.execute(f"DELETE FROM content WHERE number IN ({gone})", asked)
        self._write_vectors()


def renew_anchors(connection: apsw.Connection) -> None:
    """Puts versions into the indexes whose anchor was removed."""
    connection.execute(
        "UPDATE main.version SET anchor = seq_from WHERE anchor <> seq_from AND NOT EXISTS (SELECT 1 FROM main.version"
        " AS lead WHERE lead.key = version.key AND lead.seq_from = version.anchor AND lead.anchor = lead.seq_from)"
    )


def identity_of(memory: Memory) -> tuple[SQLValue, ...]:
    """The columns `IDENTITY`."""
    return memory.id, memory.last_accessed, memory.access_count


def content_values(memory: Memory, derived: Derived | None) -> tuple[SQLValue, ...]:
    """The columns `CONTENT_VALUES`."""
    words = None if derived is None else tables.indexed(derived.words)
    return content_row(memory, words, pending=derived is None or derived.vectors is None)


def content_row(memory: Memory, words: tables.Indexed | None, *, pending: bool) -> tuple[SQLValue, ...]:
    lines = None if words is None else tables.joined_lines(words.content)
    return (*rows.content_values(*tables.contents_of(memory)), lines, int(pending))


def version_row(space: int, stored: Stored) -> list[SQLValue]:
    memory = stored.memory
    return [
        stored.key, space, stored.seq_from, stored.anchor, stored.content, memory.version,
        *rows.version_values(memory), tables.joined_lines(stored.stems), stored.length,
    ]  # fmt: skip


def by_row(counted: tuple[tuple[SQLValue, ...], int]) -> tuple[object, ...]:
    """A name may be a number."""
    *names, last = counted[0]
    return *names, str(last)


def write_counts(connection: apsw.Connection, counts: Counts, terms: Mapping[int, Counter[str]]) -> None:
    """`terms` are those of stems, by space; in the order of the index."""
    changed = [pair for pair in sorted(counts.items(), key=by_row) if pair[1]]
    for space, stems in terms.items():
        changed += [((space, TERM, "", stem), n) for stem, n in sorted(stems.items()) if n]
    connection.executemany(
        "INSERT INTO counter(space, field, status, name, n) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET n = n + excluded.n",
        [(*key, n) for key, n in changed],
    )
    connection.executemany(
        "DELETE FROM counter WHERE space = ? AND field = ? AND status = ? AND name = ? AND n <= 0",
        [key for key, n in changed if n < 0],
    )


def entry_row(space: int, entry: JournalEntry, versions: tuple[int, bool, bool] | None) -> list[SQLValue]:
    """`versions` give the entry's images; without them the images themselves are stored."""
    done = entry.operation
    images = (None, None) if versions else (maybe_json(entry.before), maybe_json(entry.after))
    named = (entry.memory_id, entry.kind, done.name, done.actor, done.at, done.batch, done.why)
    return [rows.place(space, entry.seq), *named, *(versions or (None, None, None)), *images]


def maybe_json(fields: Mapping[str, Json] | None) -> str | None:
    return None if fields is None else as_json(dict(fields))
