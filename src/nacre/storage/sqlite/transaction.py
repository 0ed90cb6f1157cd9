"""Writes one operation: versions, contents, names, words, vectors, counts and journal, together or not at all."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import apsw

from nacre.model import JournalEntry, Memory
from nacre.model.journal import MEMORY
from nacre.model.memory import LISTS, Json, images
from nacre.protocols import Chunk, Derived, EmbedderIdentity, Vectors, Words
from nacre.storage.sqlite import rows
from nacre.storage.sqlite.rows import AMONG, CONTENT, SCALARS, SELECTED, SQLValue, State, Stems, as_json, from_row

Place = tuple[str, str]  # a space's name and an id
Kept = tuple[float, str]  # of a link: its weight and its kind
Names = dict[tuple[str, str], int]
Counts = Counter[tuple[SQLValue, ...]]

TOTAL = ""  # the field under which memories themselves are counted
SUPERSEDED = "*"  # after the status of a superseded memory

# The number of what is written before its journal entry, which gives it its own: above every entry's.
UNNUMBERED = 2**62
DRAFTS_HELD = 1_024  # records that wait for their journal entries; an operation on a million holds no more than these
STEM_FIELDS = ("tag_stems", "entity_stems")
HISTORIES = ("version", "label", "link")  # tables with `key`, `seq_from` and `seq_to`


def insertion(table: str, *columns: str) -> str:
    return f"INSERT INTO main.{table}({', '.join(columns)}) VALUES ({', '.join('?' for _ in columns)})"


VERSION = ("key", "space", "seq_from", "content", "version", *SCALARS, "lists", "uses", "stems", "length")
OPEN_LABEL = "FROM label WHERE space = ? AND field = ? AND name = ? AND key = ? AND seq_to IS NULL"
OPEN_LINK = "space = ? AND target = ? AND rel = ? AND key = ? AND seq_to IS NULL"
INSERT_MEMORY = insertion("memory", "key", "space", "id", "gone", "last_accessed", "access_count")
INSERT_CONTENT = insertion("content", "number", *CONTENT, "characters", "asks", "words", "pending")
INSERT_VERSION = insertion("version", "row", *VERSION)
INSERT_LABEL = insertion("label", "space", "field", "name", "key", "seq_from", "times")
INSERT_LINK = insertion("link", "space", "target", "rel", "key", "seq_from", "weight", "kind", "walks")
INSERT_ENTRY = insertion(
    "journal", "space", "seq", "memory_id", "kind", "act", "actor", "at", "batch", "why", "old", "new", "before",
    "after", "latest",
)  # fmt: skip
# A space, and what else a writer needs: the last number given in each table, and the embedder of the file.
LAST_NUMBERS = "(SELECT json_group_object(name, seq) FROM sqlite_sequence)"
READ_SPACE = (
    f"SELECT number, seq, last_at, steady, memories, stems, latest, worded, {LAST_NUMBERS},"
    f" {', '.join(rows.EMBEDDER_VALUES)} FROM space WHERE name = ?"
)
# Said to the planner, which would rather walk the whole journal in the order asked for.
BY_MEMORY = " INDEXED BY journal_memory"
# Takes the place of one that ends: only the weight or the kind is another.
REPLACE_LINK = (
    "INSERT INTO main.link(space, target, rel, key, seq_from, weight, kind, walks)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, coalesce("
    "(SELECT walks FROM main.link WHERE space = ?1 AND target = ?2 AND rel = ?3 AND key = ?4 AND seq_to = ?5), 0))"
)
INSERT_CHUNK = insertion("chunk", "id", "content", "space", "start", "stop", "digest", "embedded")
END_VERSION = "UPDATE main.version SET seq_to = ? WHERE row = ?"
END_LABEL = OPEN_LABEL.replace("FROM label", "UPDATE label SET seq_to = ?")
END_LINK = f"UPDATE link SET seq_to = ? WHERE {OPEN_LINK}"
REPLACE_VERSION = f"UPDATE main.version SET {', '.join(f'{name} = ?' for name in VERSION)} WHERE row = ?"
SET_STEMS = "UPDATE main.version SET stems = ?, length = ? WHERE row = ?"
SET_WORDS = "UPDATE content SET words = ? WHERE number = ?"
SET_PENDING = "UPDATE content SET pending = ? WHERE number = ?"
SET_USES = "UPDATE main.memory SET last_accessed = ?, access_count = ? WHERE key = ?"
REMOVE_MEMORY = "UPDATE main.memory SET gone = key WHERE key = ?"
DELETE_LABEL = f"DELETE {OPEN_LABEL}"
DELETE_CHUNK = "DELETE FROM chunk WHERE id = ?"
# What came and went before it had a number.
VOID = tuple(
    f"DELETE FROM main.{table} WHERE key = ? AND seq_from = {UNNUMBERED} AND seq_to = {UNNUMBERED}"
    for table in HISTORIES
)
VOID_MEMORY = "DELETE FROM main.memory WHERE key = ? AND key NOT IN (SELECT key FROM main.version)"
# In this order, so that what is ended or taken away never stands in the way of what comes.
STATEMENTS = (
    REMOVE_MEMORY, END_VERSION, END_LABEL, END_LINK, *VOID, VOID_MEMORY, DELETE_LABEL, DELETE_CHUNK, rows.DELETE_WORDS,
    INSERT_MEMORY, INSERT_CONTENT, INSERT_VERSION, REPLACE_VERSION, SET_STEMS, SET_WORDS, SET_PENDING, SET_USES,
    INSERT_LABEL, INSERT_LINK, REPLACE_LINK, rows.INSERT_WORDS, INSERT_CHUNK,
)  # fmt: skip


@dataclass(slots=True)
class Space:
    number: int
    seq: int
    last_at: float
    steady: int
    memories: int
    stems: int
    latest: float
    worded: int


@dataclass(frozen=True, slots=True)
class Stored:
    """The present version of a memory, as it is in the file."""

    key: int
    row: int
    content: int
    seq_from: int
    stems: Stems  # of tags and entities
    length: int
    memory: Memory


@dataclass(frozen=True, slots=True)
class Content:
    """What is derived from a content; no `words` where nothing is."""

    words: Stems | None
    pending: bool
    chunks: tuple[tuple[int, Chunk, bool], ...]  # its number, and whether it has a vector


@dataclass(frozen=True, slots=True)
class Draft:
    """What is to be written: None removes the memory; without `derived`, words and vectors stay."""

    memory: Memory | None
    derived: Derived | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """What was written of a memory, for its journal entry."""

    old: Stored | None
    new: Stored | None


class SQLiteTransaction:
    """Records wait as drafts until the journal gives them their numbers, so that many are written at once."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._spaces: dict[str, Space] = {}
        self._in_file: dict[str, Space] = {}  # the same, as they were read or written last
        self._last: dict[str, int] = {}  # the last number given, by table
        self._embedder: EmbedderIdentity | None = None  # as it was read with a space
        self._stored: dict[Place, Stored | None] = {}
        self._drafts: dict[Place, Draft] = {}
        self._written: dict[Place, Written] = {}  # what has no journal entry so far
        self._early = False  # whether something was written without its number
        self._batch: dict[str, list[Sequence[SQLValue]]] = defaultdict(list)
        self._counter: Counts = Counter()
        self._terms: Counts = Counter()
        self._vectors: dict[int, list[tuple[int, int, Vectors]]] = defaultdict(list)
        self._dropped: dict[int, list[int]] = defaultdict(list)  # chunks whose vectors go, by space
        self.scrubbed = False

    # What is there

    def get_many(self, space: str, ids: Sequence[str]) -> list[Memory]:
        self._load([(space, id) for id in ids if (space, id) not in self._drafts])
        memories = (self._current((space, id)) for id in dict.fromkeys(ids))
        return [memory for memory in memories if memory is not None]

    def _current(self, place: Place) -> Memory | None:
        if place in self._drafts:
            return self._drafts[place].memory
        stored = self._stored[place]
        return None if stored is None else stored.memory

    def _load(self, places: Iterable[Place]) -> None:
        unknown: dict[str, list[str]] = defaultdict(list)
        for space, id in places:
            if (space, id) not in self._stored:
                self._stored[space, id] = None
                unknown[space].append(id)
        for space, ids in unknown.items():
            known = self._space(space)
            if known is None:
                continue
            result: list[tuple[Any, ...]] = self._connection.execute(
                f"SELECT version.key, version.row, version.content, version.seq_from, version.stems, version.length,"
                f" {SELECTED} FROM memory CROSS JOIN version ON version.key = memory.key AND version.seq_to IS NULL"
                " CROSS JOIN content ON content.number = version.content"
                f" WHERE memory.space = ? AND memory.id {AMONG} AND memory.gone = 0",
                (known.number, json.dumps(ids)),
            ).fetchall()
            for key, row, content, seq_from, stems, length, *record in result:
                stored = Stored(key, row, content, seq_from, rows.unpacked_stems(stems, 2), length, from_row(record))
                self._stored[space, stored.memory.id] = stored

    def last_at(self, space: str) -> float:
        known = self._space(space)
        return 0.0 if known is None else known.last_at

    def term(self, kind: str, name: str) -> Mapping[str, Json] | None:
        return rows.vocabulary(self._connection, kind, name).get(name)

    def _space(self, name: str) -> Space | None:
        if name not in self._spaces:
            row: Any = self._connection.execute(READ_SPACE, (name,)).fetchone()
            if row is None:
                return None
            values, (last, *embedder) = row[:-4], row[-4:]
            self._last = self._last or json.loads(last)
            self._embedder = self._embedder or rows.embedder_identity(*embedder)
            self._spaces[name], self._in_file[name] = Space(*values), Space(*values)
        return self._spaces[name]

    def _made_space(self, name: str) -> Space:
        known = self._space(name)
        if known is None:
            self._connection.execute("INSERT INTO space(name) VALUES (?)", (name,))
            known = self._spaces[name] = Space(self._connection.last_insert_rowid(), 0, 0.0, 1, 0, 0, 0.0, 0)
        return known

    def _number(self, space: str) -> int:
        known = self._space(space)
        return 0 if known is None else known.number

    # What is written

    def put(self, memory: Memory, derived: Derived | None = None) -> None:
        place = (memory.space, memory.id)
        waiting = self._drafts.get(place)
        self._drafts[place] = Draft(memory, waiting.derived if derived is None and waiting is not None else derived)
        if len(self._drafts) >= DRAFTS_HELD:
            self._write({})

    def remove(self, space: str, id: str) -> bool:
        place = (space, id)
        self._load([place])
        if self._current(place) is None:
            return False
        if self._stored[place] is None:
            del self._drafts[place]
        else:
            self._drafts[place] = Draft(None)
        return True

    def append(self, entries: Sequence[JournalEntry]) -> list[JournalEntry]:
        numbered: list[tuple[Space, int, JournalEntry]] = []
        numbers: dict[Place, int] = {}
        for entry in entries:
            space = self._made_space(entry.space)
            space.seq += 1
            space.steady &= entry.operation.at >= space.last_at
            space.last_at = entry.operation.at
            numbered.append((space, space.seq, entry))
            if entry.kind == MEMORY:
                numbers.setdefault((entry.space, entry.memory_id), space.seq)
        self._write(numbers)
        self._give_numbers(numbers)
        if numbered:
            made = [
                [*entry_row(space.number, seq, entry, self._versions(entry)), space.latest]
                for space, seq, entry in numbered
            ]
            self._connection.executemany(INSERT_ENTRY, made)
        return [replace(entry, seq=seq) for _, seq, entry in numbered]

    def _versions(self, entry: JournalEntry) -> tuple[SQLValue, SQLValue] | None:
        """The versions from which the entry's images can be made; None where they would say something else."""
        written = self._written.pop((entry.space, entry.memory_id), None) if entry.kind == MEMORY else None
        if written is None:
            return None
        old, new = written.old, written.new
        made = images(None if old is None else old.memory, None if new is None else new.memory)
        if made != (entry.before, entry.after):
            return None
        return None if old is None else old.row, None if new is None else new.row

    def _give_numbers(self, numbers: Mapping[Place, int]) -> None:
        """To what was written before its journal entry."""
        if not self._early:
            return
        late: list[tuple[int, int]] = []
        for place, seq in numbers.items():
            written = self._written.get(place)
            if written is not None:
                late += [(seq, stored.key) for stored in (written.new or written.old,) if stored is not None]
                if written.new is not None:
                    self._written[place] = replace(written, new=replace(written.new, seq_from=seq))
                    self._stored[place] = self._written[place].new
        for table in HISTORIES:
            for column in ("seq_from", "seq_to"):
                sql = f"UPDATE main.{table} SET {column} = ? WHERE key = ? AND {column} = {UNNUMBERED}"
                self._connection.executemany(sql, late)

    def flush(self) -> None:
        """Writes all that waits, so that a query of this connection sees it."""
        self._write({})
        self._write_counts()

    def finish(self) -> None:
        """What has no journal entry changes the present state in place."""
        self._write({})
        if self._written:
            self._settle()
        self._write_counts()

    def _write(self, numbers: Mapping[Place, int]) -> None:
        drafts, self._drafts = self._drafts, {}
        if not drafts:
            return
        self._load(drafts)
        contents = self._contents(drafts)
        orphans: list[tuple[int, int]] = []
        for place, draft in drafts.items():
            seq = numbers.get(place, UNNUMBERED)
            self._early = self._early or seq == UNNUMBERED
            old, space = self._stored[place], self._made_space(place[0])
            new = self._drafted(space, draft, old, seq, contents, orphans)
            if place in self._written:
                self._written[place] = Written(self._written[place].old, new)  # changed twice before its entry
            elif new is None or old is None or new.row != old.row:
                self._written[place] = Written(old, new)
            self._stored[place] = new
        self._write_batch()
        self._erase(orphans)

    def _contents(self, drafts: Mapping[Place, Draft]) -> dict[int, Content]:
        """What is derived from the contents of the memories whose words or vectors may change."""
        wanted = []
        for place, draft in drafts.items():
            stored = self._stored[place]
            if stored is not None and (
                draft.memory is None or draft.derived is not None or not same_content(stored.memory, draft.memory)
            ):
                wanted.append(stored.content)
        if not wanted:
            return {}
        chunks: dict[int, list[tuple[int, Chunk, bool]]] = defaultdict(list)
        asked = (json.dumps(wanted),)
        sql = f"SELECT content, id, start, stop, digest, embedded FROM chunk WHERE content {AMONG} ORDER BY id"
        for content, id, start, stop, digest, embedded in rows.fetch(self._connection, sql, asked):
            chunks[content].append((id, Chunk(start, stop, digest), bool(embedded)))
        sql = f"SELECT number, words, pending FROM content WHERE number {AMONG}"
        return {
            number: Content(
                None if stems is None else rows.unpacked_stems(stems, 3), bool(pending), tuple(chunks[number])
            )
            for number, stems, pending in rows.fetch(self._connection, sql, asked)
        }

    def _drafted(
        self,
        space: Space,
        draft: Draft,
        old: Stored | None,
        seq: int,
        contents: Mapping[int, Content],
        orphans: list[tuple[int, int]],
    ) -> Stored | None:
        """Adds the rows of one memory to the batch; returns the version that it then has."""
        if draft.memory is None:
            if old is not None:
                self._remove(space, old, seq, contents, orphans)
            return None
        memory, derived = draft.memory, draft.derived
        had = None if old is None else contents.get(old.content)
        if old is not None and same_content(old.memory, memory):
            content = old.content
            if derived is not None and had is not None:
                self._derive_again(space, content, had, derived)
        else:
            if derived is None and old is not None and had is not None:
                derived = self._derived(old, had)
            content = self._insert_content(space, memory, derived)
            if old is not None:
                self._add(SET_PENDING, 0, old.content)
                if old.seq_from == UNNUMBERED:
                    orphans.append((space.number, old.content))
        stems, length = (old.stems, old.length) if old is not None else (("", ""), 0)
        if derived is not None:
            lines = content_lines(derived.words)
            before = rows.distinct_stems(*(had.words or ()), *stems) if had is not None else frozenset[str]()
            stems = rows.unpacked_stems(rows.packed_stems((derived.words.tags, derived.words.entities)), 2)
            length = rows.count_stems((*lines, *stems))
            after = rows.distinct_stems(*lines, *stems)
            self._terms.update((space.number, stem) for stem in after - before)
            self._terms.subtract((space.number, stem) for stem in before - after)
        return self._put_version(space, memory, old, seq, content, stems, length)

    def _put_version(
        self, space: Space, memory: Memory, old: Stored | None, seq: int, content: int, stems: Stems, length: int
    ) -> Stored:
        space.stems += length - (old.length if old is not None else 0)
        space.latest = max(space.latest, memory.created_at, memory.updated_at)
        uses = (memory.last_accessed, memory.access_count)
        if old is None:
            space.memories += 1
            self._counter.update(counted(space.number, memory))
            stored = Stored(
                self._next("memory"), self._next("version"), content, seq, stems, length, replace(memory, version=1)
            )
            self._add(INSERT_MEMORY, stored.key, space.number, memory.id, 0, *uses)
            self._add(INSERT_VERSION, stored.row, *version_row(space, stored))
            self._put_names(space, stored.key, {}, names_of(memory, stems), seq)
            self._put_links(space, stored.key, {}, links_of(memory), seq)
            return stored
        known = old.memory
        if uses != (known.last_accessed, known.access_count):
            self._add(SET_USES, *uses, old.key)
        same = memory == replace(known, last_accessed=uses[0], access_count=uses[1])
        if same and (stems, length) == (old.stems, old.length):
            return old if memory == known else replace(old, memory=replace(memory, version=known.version))
        self._put_names(space, old.key, names_of(known, old.stems), names_of(memory, stems), None if same else seq, old)
        if same:
            self._add(SET_STEMS, rows.packed_stems(stems), length, old.row)
            return replace(old, stems=stems, length=length, memory=replace(memory, version=known.version))
        self._put_links(space, old.key, links_of(known), links_of(memory), seq)
        self._counter.update(counted(space.number, memory))
        self._counter.subtract(counted(space.number, known))
        if old.seq_from == UNNUMBERED:
            self._void(old.key)
            memory = replace(memory, version=known.version)
            stored = replace(old, content=content, stems=stems, length=length, memory=memory)
            self._add(REPLACE_VERSION, *version_row(space, stored), stored.row)
            return stored
        memory = replace(memory, version=known.version + 1)
        stored = Stored(old.key, self._next("version"), content, seq, stems, length, memory)
        self._add(END_VERSION, seq, old.row)
        self._add(INSERT_VERSION, stored.row, *version_row(space, stored))
        return stored

    def _remove(
        self, space: Space, old: Stored, seq: int, contents: Mapping[int, Content], orphans: list[tuple[int, int]]
    ) -> None:
        space.memories -= 1
        space.stems -= old.length
        self._counter.subtract(counted(space.number, old.memory))
        had = contents[old.content].words or ()
        self._terms.subtract((space.number, stem) for stem in rows.distinct_stems(*had, *old.stems))
        self._put_names(space, old.key, names_of(old.memory, old.stems), {}, seq)
        self._put_links(space, old.key, links_of(old.memory), {}, seq)
        self._add(REMOVE_MEMORY, old.key)
        self._add(END_VERSION, seq, old.row)
        self._add(SET_PENDING, 0, old.content)
        if old.seq_from == UNNUMBERED:
            self._void(old.key)
            self._add(VOID_MEMORY, old.key)
            orphans.append((space.number, old.content))

    def _void(self, key: int) -> None:
        for sql in VOID:
            self._add(sql, key)

    def _put_names(
        self, space: Space, key: int, had: Names, has: Names, seq: int | None, old: Stored | None = None
    ) -> None:
        """Without a number the names were always there, since the version `old` began."""
        for (field, name), times in had.items():
            if has.get((field, name)) != times:
                ended: tuple[SQLValue, ...] = () if seq is None else (seq,)
                self._add(DELETE_LABEL if seq is None else END_LABEL, *ended, space.number, field, name, key)
        start = seq if seq is not None or old is None else old.seq_from
        for (field, name), times in has.items():
            if had.get((field, name)) != times:
                self._add(INSERT_LABEL, space.number, field, name, key, start, times)

    def _put_links(
        self, space: Space, key: int, had: Mapping[Place, Kept], has: Mapping[Place, Kept], seq: int
    ) -> None:
        for (target, rel), kept in had.items():
            if has.get((target, rel)) != kept:
                self._add(END_LINK, seq, space.number, target, rel, key)
        for (target, rel), kept in has.items():
            if (target, rel) not in had:
                self._add(INSERT_LINK, space.number, target, rel, key, seq, *kept, 0)
            elif had[target, rel] != kept:
                self._add(REPLACE_LINK, space.number, target, rel, key, seq, *kept)

    def _insert_content(self, space: Space, memory: Memory, derived: Derived | None) -> int:
        number = self._next("content")
        lines = None if derived is None else content_lines(derived.words)
        pending = derived is None or derived.vectors is None
        stems = None if lines is None else rows.packed_stems(lines)
        self._add(INSERT_CONTENT, number, *rows.content_values(memory), stems, int(pending))
        if derived is not None and lines is not None:
            space.worded += 1
            self._add(rows.INSERT_WORDS, *rows.word_row(space.number, number, lines))
            self._put_chunks(space, number, derived)
        return number

    def _put_chunks(self, space: Space, content: int, derived: Derived) -> None:
        for place, chunk in enumerate(derived.chunks):
            id = self._next("chunk")
            embedded = derived.vectors is not None
            self._add(INSERT_CHUNK, id, content, space.number, chunk.start, chunk.end, chunk.digest, int(embedded))
            if derived.vectors is not None:
                self._vectors[space.number].append((id, content, derived.vectors[place]))

    def _derive_again(self, space: Space, content: int, had: Content, derived: Derived) -> None:
        """Words and vectors of a text that stays; those that stay too are not written again."""
        lines = content_lines(derived.words)
        if lines != had.words:
            if had.words is None:
                space.worded += 1
            else:
                self._add(rows.DELETE_WORDS, *rows.word_row(space.number, content, had.words))
            self._add(rows.INSERT_WORDS, *rows.word_row(space.number, content, lines))
            self._add(SET_WORDS, rows.packed_stems(lines), content)
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
        from nacre.storage.sqlite.search import stored_vectors

        self._write_vectors()
        title, text, role = had.words
        tags, entities = old.stems
        rows = stored_vectors(self._connection, [id for id, _, is_in in had.chunks if is_in])
        stacked = None if had.pending or len(rows) != len(had.chunks) else as_matrix(rows)
        return Derived(Words(title, text, role, tags, entities), tuple(chunk for _, chunk, _ in had.chunks), stacked)

    def _add(self, sql: str, *values: SQLValue) -> None:
        self._batch[sql].append(values)

    def _next(self, table: str) -> int:
        if not self._last:
            self._last = json.loads(rows.only_row(self._connection, f"SELECT {LAST_NUMBERS}")[0])
        self._last[table] = self._last.get(table, 0) + 1
        return self._last[table]

    def _write_batch(self) -> None:
        for sql in STATEMENTS:
            if sql in self._batch:
                self._connection.executemany(sql, self._batch.pop(sql))
        self._write_vectors()

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
            search.write(self._connection, space, chunks, owners, np.stack(made))
        self._dropped.clear()
        self._vectors.clear()

    def _write_counts(self) -> None:
        write_counts(self._connection, self._counter, self._terms)
        self._counter.clear()
        self._terms.clear()
        self._connection.executemany(
            "UPDATE space SET seq = ?, last_at = ?, steady = ?, memories = ?, stems = ?, latest = ?, worded = ?"
            " WHERE number = ?",
            [
                (s.seq, s.last_at, s.steady, s.memories, s.stems, s.latest, s.worded, s.number)
                for name, s in self._spaces.items()
                if s != self._in_file.get(name)
            ],
        )
        self._in_file = {name: replace(space) for name, space in self._spaces.items()}

    def _settle(self) -> None:
        """Puts what has no journal entry in the place of the version before it."""
        orphans: list[tuple[int, int]] = []
        for place, written in self._written.items():
            space, (old, new) = self._made_space(place[0]), (written.old, written.new)
            if new is None:
                for stored in filter(None, (old,)):
                    orphans += self._delete(space, stored.key)
                continue
            start = space.seq if old is None else old.seq_from
            version = 0 if old is None else old.memory.version
            if old is not None:
                self._connection.execute("DELETE FROM main.version WHERE row = ?", (old.row,))
                if old.content != new.content:
                    orphans.append((space.number, old.content))
            for table in ("label", "link"):
                # What is older than the version stays in the past.
                sql = f"UPDATE {table} SET seq_to = ?1 WHERE key = ?2 AND seq_to = {UNNUMBERED} AND seq_from < ?1"
                self._connection.execute(sql, (start, new.key))
                sql = f"DELETE FROM {table} WHERE key = ? AND seq_to = {UNNUMBERED}"
                self._connection.execute(sql, (new.key,))
                sql = f"UPDATE {table} SET seq_from = ? WHERE key = ? AND seq_from = {UNNUMBERED}"
                self._connection.execute(sql, (start, new.key))
            sql = "UPDATE main.version SET seq_from = ?, version = ? WHERE row = ?"
            self._connection.execute(sql, (start, version, new.row))
        self._written.clear()
        self._stored.clear()
        self._erase(orphans)

    def _delete(self, space: Space, key: int) -> list[tuple[int, int]]:
        """Everything of a memory that is gone; returns its contents, which may still have to be erased."""
        sql = "SELECT DISTINCT content FROM main.version WHERE key = ?"
        contents = [int(content) for (content,) in self._connection.execute(sql, (key,)).fetchall()]  # type: ignore[arg-type]
        for table in (*HISTORIES, "memory"):
            self._connection.execute(f"DELETE FROM main.{table} WHERE key = ?", (key,))
        return [(space.number, content) for content in contents]

    def _erase(self, contents: Iterable[tuple[int, int]]) -> None:
        """Those (with their spaces) that no version has any more, with their words and vectors."""
        spaces = {content: space for space, content in contents}
        if not spaces:
            return
        result: list[tuple[Any, ...]] = self._connection.execute(
            f"SELECT number, words FROM content WHERE number {AMONG}"
            " AND NOT EXISTS (SELECT 1 FROM main.version WHERE version.content = content.number)",
            (json.dumps(list(spaces)),),
        ).fetchall()
        known = {space.number: space for space in self._spaces.values()}
        for number, stems in result:
            if stems is not None:
                known[spaces[number]].worded -= 1
                self._connection.execute(
                    rows.DELETE_WORDS, rows.word_row(spaces[number], number, rows.unpacked_stems(stems, 3))
                )
        gone = json.dumps([number for number, _ in result])
        chunks = self._connection.execute(
            f"SELECT id, content FROM chunk WHERE content {AMONG} AND embedded", (gone,)
        ).fetchall()
        for id, content in chunks:
            self._dropped[spaces[content]].append(id)  # type: ignore[index, arg-type]
        self._connection.execute(f"DELETE FROM chunk WHERE content {AMONG}", (gone,))
        self._connection.execute(f"DELETE FROM content WHERE number {AMONG}", (gone,))
        self._write_vectors()

    # The journal's past

    def scrub_journal(self, space: str, id: str) -> int:
        self.flush()
        self.scrubbed = True
        known = self._made_space(space)
        orphans: list[tuple[int, int]] = []
        result: list[tuple[Any, ...]] = self._connection.execute(
            "SELECT key, gone FROM memory WHERE space = ? AND id = ?", (known.number, id)
        ).fetchall()
        for key, gone in result:
            orphans += self._delete(known, key) if gone else self._delete_past(known, key)
        self._erase(orphans)
        self._written.pop((space, id), None)
        self._stored.pop((space, id), None)
        self._connection.execute(
            "UPDATE journal SET old = NULL, new = NULL, before = NULL, after = NULL, why = '' WHERE (space, seq) IN"
            f" (SELECT space, seq FROM journal{BY_MEMORY} WHERE space = ? AND memory_id = ? AND kind = ?)",
            (known.number, id, MEMORY),
        )
        return self._connection.changes()

    def _delete_past(self, space: Space, key: int) -> list[tuple[int, int]]:
        """The memory's earlier versions: it reads as it is now, from when it first existed."""
        first, *_ = rows.only_row(self._connection, "SELECT min(seq_from) FROM main.version WHERE key = ?", key)
        sql = "SELECT content FROM main.version WHERE key = ? AND seq_to IS NOT NULL"
        contents = [int(content) for (content,) in self._connection.execute(sql, (key,)).fetchall()]  # type: ignore[arg-type]
        for table in HISTORIES:
            self._connection.execute(f"DELETE FROM main.{table} WHERE key = ? AND seq_to IS NOT NULL", (key,))
            self._connection.execute(f"UPDATE main.{table} SET seq_from = ? WHERE key = ?", (first, key))
        return [(space.number, content) for content in contents]

    def forget_journal(self, space: str, upto: int) -> int:
        self.flush()
        known = self._space(space)
        last = (
            known
            and self._connection.execute(
                "SELECT seq, at FROM journal WHERE space = ? AND seq <= ? ORDER BY seq DESC LIMIT 1",
                (known.number, upto),
            ).fetchone()
        )
        if known is None or last is None:
            return 0
        number = known.number
        self._connection.execute("UPDATE space SET dropped = ?, dropped_at = ? WHERE number = ?", (*last, number))  # type: ignore[misc]
        past = "WHERE space = ? AND seq_to <= ?"
        sql = f"SELECT DISTINCT content FROM main.version {past}"
        contents = [int(content) for (content,) in self._connection.execute(sql, (number, upto)).fetchall()]  # type: ignore[arg-type]
        for table in HISTORIES:
            self._connection.execute(f"DELETE FROM main.{table} {past}", (number, upto))
        self._connection.execute(
            "DELETE FROM main.memory WHERE space = ? AND gone <> 0"
            " AND NOT EXISTS (SELECT 1 FROM main.version WHERE version.key = memory.key)",
            (number,),
        )
        self._erase((number, content) for content in contents)
        self._connection.execute("DELETE FROM journal WHERE space = ? AND seq <= ?", (number, upto))
        return self._connection.changes()

    # The rest of the store

    def compress(self, space: str, ids: Sequence[str]) -> int:
        self.flush()
        return rows.compress(self._connection, self._number(space), ids)

    def rename_space(self, old: str, new: str) -> None:
        self.flush()
        known, other = self._space(old), self._space(new)
        if other is not None:  # it is empty: what is left is what it once held
            self.scrubbed = True
            sql = "SELECT key FROM main.memory WHERE space = ?"
            keys = [int(key) for (key,) in self._connection.execute(sql, (other.number,)).fetchall()]  # type: ignore[arg-type]
            self._erase([orphan for key in keys for orphan in self._delete(other, key)])
            for table in ("journal", "counter", "term_count", "signs", "centre", "removed", "space"):
                column = "number" if table == "space" else "space"
                self._connection.execute(f"DELETE FROM main.{table} WHERE {column} = ?", (other.number,))
        if known is not None:
            self._connection.execute("UPDATE space SET name = ? WHERE number = ?", (new, known.number))
        rows.rename_terms(self._connection, old, new, self._number(old))
        self._spaces.clear()
        self._stored.clear()
        self._written = {
            (new if space == old else space, id): written for (space, id), written in self._written.items()
        }

    def forget_terms(self, space: str) -> None:
        self.scrubbed = True
        rows.forget_terms(self._connection, space)

    def put_term(self, kind: str, name: str, data: Mapping[str, Json] | None) -> None:
        if data is None:
            self._connection.execute("DELETE FROM vocabulary WHERE kind = ? AND name = ?", (kind, name))
        else:
            self._connection.execute(
                "INSERT OR REPLACE INTO vocabulary VALUES (?, ?, ?)", (kind, name, as_json(dict(data)))
            )

    def embedder(self) -> EmbedderIdentity:
        return self._embedder or rows.stored_embedder(self._connection)

    def bind_embedder(self, identity: EmbedderIdentity) -> None:
        self._embedder = None
        values = (identity.name, identity.dimensions, identity.probe)
        self._connection.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)", list(zip(rows.EMBEDDER_KEYS, values, strict=True))
        )

    def change_embedder(self, identity: EmbedderIdentity) -> None:
        from nacre.storage.sqlite import search

        self.flush()
        search.clear(self._connection)
        self._connection.execute("UPDATE chunk SET embedded = 0")
        self._connection.execute(
            "UPDATE content SET pending = 1 WHERE number IN (SELECT content FROM main.version WHERE seq_to IS NULL)"
        )
        self.bind_embedder(identity)

    def rebuild_indexes(self) -> None:
        """Also fills a word index that is damaged or disagrees with the contents, and counts everything again."""
        from nacre.storage.sqlite import repair

        self.flush()
        self._connection.execute("REINDEX")
        repair.complete_indexes(self._connection)
        self._spaces.clear()
        self._last.clear()


def same_content(one: Memory, other: Memory) -> bool:
    return (one.text, one.title, one.role) == (other.text, other.title, other.role)


def content_lines(stems: Words) -> Stems:
    return rows.unpacked_stems(rows.packed_stems((stems.title, stems.text, stems.role)), 3)


def version_row(space: Space, stored: Stored) -> list[SQLValue]:
    memory = stored.memory
    return [
        stored.key, space.number, stored.seq_from, stored.content, memory.version, *rows.version_values(memory),
        rows.packed_stems(stored.stems), stored.length,
    ]  # fmt: skip


def names_of(memory: Memory, stems: Stems) -> Names:
    """The rows of `label` that a memory has, with how often each name is in its list."""
    fields = [(field, getattr(memory, field)) for field in LISTS]
    fields += [(field, line.split()) for field, line in zip(STEM_FIELDS, stems, strict=True)]
    return {(field, name): times for field, names in fields for name, times in Counter(names).items()}


def links_of(memory: Memory) -> dict[Place, Kept]:
    return {(link.to, link.rel): (link.weight, link.kind) for link in memory.links}


def counted(space: int, memory: Memory) -> Iterator[tuple[SQLValue, ...]]:
    """The rows of `counter` in which the memory counts; one that expires counts in none."""
    if memory.expires_at is not None:
        return
    status = memory.status + (SUPERSEDED if memory.superseded_by else "")
    yield space, TOTAL, status, ""
    yield space, "type", status, memory.type
    yield space, "source", status, memory.source
    yield space, "week", status, memory.week
    for field in LISTS:
        for name in dict.fromkeys(getattr(memory, field)):
            yield space, field, status, name


def write_counts(connection: apsw.Connection, counter: Counts, terms: Counts) -> None:
    for table, columns, counts in (
        ("counter", "space, field, status, name", counter),
        ("term_count", "space, term", terms),
    ):
        new = [(*key, n) for key, n in sorted(counts.items(), key=str) if n]
        if new:
            marks = ", ".join("?" for _ in new[0])
            connection.executemany(
                f"INSERT INTO {table}({columns}, n) VALUES ({marks}) ON CONFLICT DO UPDATE SET n = n + excluded.n", new
            )
        if any(n < 0 for n in counts.values()):
            gone = " AND ".join(f"{column} = ?" for column in columns.split(", "))
            connection.executemany(
                f"DELETE FROM {table} WHERE {gone} AND n <= 0", [key for key, n in counts.items() if n < 0]
            )


def entry_row(space: int, seq: int, entry: JournalEntry, versions: tuple[SQLValue, SQLValue] | None) -> list[SQLValue]:
    """`versions` are the rows that give the entry's images; without them the images themselves are stored."""
    done = entry.operation
    stored: tuple[SQLValue, ...] = (None, None) if versions else (maybe_json(entry.before), maybe_json(entry.after))
    numbers = versions or (None, None)
    named = (entry.memory_id, entry.kind, done.name, done.actor, done.at, done.batch, done.why)
    return [space, seq, *named, *numbers, *stored]


def maybe_json(fields: Mapping[str, Json] | None) -> str | None:
    return None if fields is None else as_json(dict(fields))


def as_matrix(made: Sequence[Vectors]) -> Vectors:
    import numpy as np

    return np.stack(made)


def replaced_by(connection: apsw.Connection, state: State, id: str) -> list[Memory]:
    result = connection.execute(
        f"SELECT {SELECTED} FROM {rows.RECORDS} WHERE version.space = ? AND version.superseded_by = ?"
        f" AND version.superseded_by <> '' AND {state.of('version')} ORDER BY +version.created_at, version.key",
        (state.space, id),
    ).fetchall()
    return [from_row(row) for row in result]
