"""Writes a change set: versions, contents, names, words, vectors, counts and journal, together or not at all."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw

from nacre.model import Filter, JournalEntry, Memory
from nacre.model.journal import MEMORY
from nacre.model.memory import Json
from nacre.protocols import ALL, Chunk, Derived, EmbedderIdentity, Key, Scrubbed, Vectors
from nacre.storage import tables
from nacre.storage.buffered_transaction import (
    DELETE_CHUNK,
    DELETE_LABEL,
    DELETE_LINK,
    END_LABEL,
    END_LINK,
    END_VERSION,
    INSERT_LABEL,
    INSERT_LINK,
    INSERT_VERSION,
    REMOVE_MEMORY,
    SET_PENDING,
    SET_STEMS,
    SET_USES,
    SET_WORDS,
    BufferedTransaction,
    Content,
    Space,
    Stored,
    contents_of_rows,
)
from nacre.storage.sqlite import damage, rows
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
    Target,
    add_counts,
    as_json,
    links_of,
    listed_names,
    names_of,
)

if TYPE_CHECKING:
    from nacre.storage.sqlite.search import NewVectors


TABLE_BY_TABLE = 16  # from so many new memories on


def without_role(content: Sequence[Any]) -> tuple[Any, ...]:
    """Of the columns `CONTENT_VALUES`: in the view `new_memory` the version's role is that of its content."""
    return (*content[:ROLE_AT], *content[ROLE_AT + 1 :])


def insertion(table: str, *columns: str) -> str:
    return f"INSERT INTO main.{table}({', '.join(columns)}) VALUES ({', '.join('?' for _ in columns)})"


VERSION = (
    "key", "seq_from", "anchor", "content", "version", *SCALARS, "lists", "uses", "stems", "length", "role", "asks",
)  # fmt: skip
# The fields of a memory that the partial indexes of `version` hold, besides its content.
INDEXED = (
    "created_at", "importance", "confidence", "type", "status", "session", "position", "occurred_at", "expires_at",
    "trust", "last_validated_at", "superseded_by",
)  # fmt: skip
OPEN_LABEL = "space = ?1 AND field = ?3 AND name = ?4 AND key = ?5 AND seq_to IS NULL"
OPEN_LINK = "space = ?1 AND target = ?3 AND rel = ?4 AND key = ?5 AND seq_to IS NULL"
CONTENT_VALUES = (*CONTENT, "characters", "words", "pending")
ROLE_AT = CONTENT_VALUES.index("role")  # which a version has, too
INSERT_ENTRY = insertion(
    "journal", "place", "memory_id", "kind", "act", "actor", "at", "batch", "why", "key", "old", "new", "before",
    "after", "latest", "memories", "stems",
)  # fmt: skip
NEW_MEMORY = "new_memory"  # a view: see schema.sql
REPLACE_VERSION = "replace version"
# By name, in the order in which they run: deletes and ends before inserts, so that unique keys are free. ?1 is the
# number of the space.
STATEMENTS: Mapping[str, str] = {
    REMOVE_MEMORY: "UPDATE main.memory SET gone = key WHERE key = ?2",
    END_VERSION: "UPDATE main.version SET seq_to = ?2 WHERE key = ?3 AND seq_from = ?4",
    END_LABEL: f"UPDATE label SET seq_to = ?2 WHERE {OPEN_LABEL} AND seq_from < ?2",
    END_LINK: f"UPDATE link SET seq_to = ?2 WHERE {OPEN_LINK} AND seq_from < ?2",
    DELETE_LABEL: f"DELETE FROM label WHERE {OPEN_LABEL} AND seq_from = ?2",
    DELETE_LINK: f"DELETE FROM link WHERE {OPEN_LINK} AND seq_from = ?2",
    DELETE_CHUNK: "DELETE FROM chunk WHERE id = ?2",
    NEW_MEMORY: insertion(
        NEW_MEMORY, "space", *IDENTITY, *without_role(CONTENT_VALUES), *VERSION, "labels", "chunks", "links"
    ),
    "memory": insertion("memory", "space", "key", "gone", *IDENTITY),
    "content": insertion("content", "space", "number", *CONTENT_VALUES),
    INSERT_VERSION: insertion("version", "space", "row", *VERSION),
    REPLACE_VERSION: "UPDATE main.version SET space = ?, row = iif(content = ?, row, ?),"
    f" {', '.join(f'{name} = ?' for name in VERSION)} WHERE key = ? AND seq_from = ?",
    SET_STEMS: "UPDATE main.version SET stems = ?2, length = ?3 WHERE key = ?4 AND seq_from = ?5",
    SET_WORDS: "UPDATE content SET words = ?2 WHERE number = ?3",
    SET_PENDING: "UPDATE content SET pending = ?2 WHERE number = ?3",
    SET_USES: "UPDATE main.memory SET last_accessed = ?2, access_count = ?3 WHERE key = ?4",
    INSERT_LABEL: insertion("label", "space", "field", "name", "key", "seq_from", "times"),
    # One that takes the place of another, because its weight or kind has changed, keeps its walks.
    INSERT_LINK: "INSERT OR REPLACE INTO main.link(space, target, rel, key, seq_from, weight, kind, walks)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, CASE ?8 WHEN 0 THEN 0 ELSE coalesce((SELECT walks FROM main.link"
    " WHERE space = ?1 AND target = ?2 AND rel = ?3 AND key = ?4 ORDER BY seq_from DESC LIMIT 1), 0) END)",
    "chunk": insertion("chunk", "space", "id", "content", "start", "stop", "digest", "embedded"),
    "journal": INSERT_ENTRY,
}
# A space with what else a writer needs, and those of its memories that are asked for: one row for each, or one without.
# Given so far, by table; of versions those that are not the first of their content.
LAST_NUMBERS = "json_object({}, 'version', max({}, coalesce((SELECT max(row) FROM main.version), 0)))".format(
    ", ".join(f"'{each[0]}', max({damage.LAST}, {damage.HIGHEST})".format(*each) for each in damage.NUMBERED.items()),
    rows.LATER_VERSIONS,
)
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


class NewMemory(NamedTuple):
    """What its rows are made of."""

    space: int
    stored: Stored
    content: tuple[SQLValue, ...]
    names: Names
    chunks: list[tuple[int, Chunk, int]]
    links: dict[Target, Kept]


class SQLiteTransaction(BufferedTransaction[Space]):
    """What `storage.commit` writes with. Rows wait until all changes are known, and are written table by table."""

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__()
        self._connection = connection
        self._in_file: dict[str, Space] = {}  # the spaces, as they were read
        self._last: dict[str, int] = {}  # the last number given, by table
        self._contents: dict[int, Content] = {}
        self._new_contents: set[int] = set()  # of memories that had another one
        self._rows: dict[str, list[Sequence[SQLValue]]] = defaultdict(list)  # by statement
        self._new: list[NewMemory] = []  # whose rows are made when they are written
        # By space and number of an entry: the memory, and whether it ended and began a version.
        self._versions: dict[tuple[str, int], tuple[int, bool, bool]] = {}
        self._last_vectors: dict[int, int] = {}  # the last chunk with a vector, by space
        self.new_vectors: dict[int, NewVectors] = {}  # by space, for who searches next
        self._vectors: dict[int, list[tuple[int, int, Vectors]]] = defaultdict(list)
        self.to_pack: dict[int, int] = {}  # spaces whose signs may be packed after the commit: their dimensions
        self._with_memory: set[int] = set()  # chunks whose vectors are written with a new memory
        self._dropped: dict[int, list[int]] = defaultdict(list)  # chunks whose vectors go, by space
        self._orphans: list[int] = []  # contents that may have no version any more
        self.scrubbed = False

    # What is there

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

    def _space_to_write(self, name: str) -> Space:
        known = self._space(name)
        if known is None:
            self._connection.execute("INSERT INTO space(name) VALUES (?)", (name,))
            known = self._spaces[name] = Space(self._connection.last_insert_rowid())
        return known

    def term(self, kind: str, name: str) -> Mapping[str, Json] | None:
        return rows.vocabulary(self._connection, kind, name).get(name)

    def embedder(self) -> EmbedderIdentity:
        return self._embedder or rows.stored_embedder(self._connection)

    def _content(self, space: Space, number: int) -> Content:  # noqa: ARG002
        if number not in self._contents:
            present = (each.content for each in self._stored.values() if each is not None)
            asked = (json.dumps([each for each in {number, *present} if each not in self._contents]),)
            sql = f"SELECT content, id, start, stop, digest, embedded FROM chunk WHERE content {AMONG} ORDER BY id"
            chunks = rows.fetch(self._connection, sql, asked)
            sql = f"SELECT number, words, pending FROM content WHERE number {AMONG}"
            self._contents |= contents_of_rows(chunks, rows.fetch(self._connection, sql, asked))
        return self._contents[number]

    def _vectors_of(self, space: Space, content: int) -> list[Vectors]:
        from nacre.storage.sqlite.search import stored_vectors

        return stored_vectors(self._connection, [id for id, _, is_in in self._content(space, content).chunks if is_in])

    # A memory

    def _insert(self, space: Space, memory: Memory, derived: Derived | None, seq: int | None) -> Stored:
        content, start = self._next("content"), space.seq if seq is None else seq
        words = None if derived is None else tables.indexed(derived.words)
        stems, length = (("", ""), 0) if words is None else (words.names, words.length)
        new = Stored(self._next("memory"), content, start, start, stems, length, memory)
        space.memories += 1
        if words is not None:
            space.stems += length
            self._stems_got[space.number].update(words.distinct)
        add_counts(self._counts, space.number, memory)
        values = content_row(memory, words, pending=derived is None or derived.vectors is None)
        chunks = self._number_chunks(space, content, derived)
        self._new.append(NewMemory(space.number, new, values, names_of(memory, stems), chunks, links_of(memory)))
        return new

    def _note_change(self, key: Key, old: Stored | None, new: Stored | None, seq: int | None) -> None:
        super()._note_change(key, old, new, seq)
        if seq is not None and (either := new or old):
            self._versions[key[0], seq] = (either.key, old is not None, new is not None)

    def _anchor(self, old: Stored, memory: Memory, content: int, start: int) -> int:
        moved = old.content != content or any(getattr(old.memory, name) != getattr(memory, name) for name in INDEXED)
        return start if moved else old.anchor

    def _version_row(self, stored: Stored) -> list[SQLValue]:
        is_first = stored.content in self._new_contents
        return [stored.content if is_first else self._next("version"), *version_row(stored)]

    def _replace_version(self, space: Space, old: Stored, new: Stored) -> None:
        moved = (new.content, new.content)  # a version of another content is its first
        self._add(REPLACE_VERSION, space.number, *moved, *version_row(new), old.key, old.seq_from)
        if old.content != new.content:
            self._orphans.append(old.content)

    def _delete_removed(self, space: Space, id: str, key: int) -> None:
        sql = f"UPDATE journal SET key = NULL WHERE {OF_MEMORIES}"
        self._connection.execute(sql, of_memories(space.number, id))
        self._delete(space, key)

    # Its content

    def _insert_content(self, space: Space, memory: Memory, derived: Derived | None) -> int:
        number, words = self._next("content"), None if derived is None else tables.indexed(derived.words)
        self._new_contents.add(number)
        pending = derived is None or derived.vectors is None
        self._add("content", space.number, number, *content_row(memory, words, pending=pending))
        self._put_chunks(space, number, derived)
        return number

    def _put_chunks(self, space: Space, content: int, derived: Derived | None) -> None:
        self._add_chunks(space.number, content, self._number_chunks(space, content, derived))

    def _add_chunks(self, space: int, content: int, chunks: Sequence[tuple[int, Chunk, int]]) -> None:
        for id, each, embedded in chunks:
            self._add("chunk", space, id, content, each.start, each.end, each.digest, embedded)

    def _number_chunks(self, space: Space, content: int, derived: Derived | None) -> list[tuple[int, Chunk, int]]:
        """The rows of its chunks: a number, the chunk, and whether it has a vector, which waits to be written."""
        if derived is None:
            return []
        numbered = [(self._next("chunk"), chunk, int(derived.vectors is not None)) for chunk in derived.chunks]
        if numbered and derived.vectors is not None:
            pairs = zip(numbered, derived.vectors, strict=True)
            self._vectors[space.number] += [(id, content, vector) for (id, *_), vector in pairs]
        return numbered

    def _delete_chunks(self, space: Space, content: Content) -> None:
        super()._delete_chunks(space, content)
        self._dropped[space.number] += [id for id, _, is_in in content.chunks if is_in]

    # The journal

    def append(self, entries: Sequence[JournalEntry]) -> None:
        for entry in entries:
            space, place = self._space_to_write(entry.space), (entry.space, entry.seq)
            space.last_at = entry.operation.at
            versions = self._versions.get(place) if entry.kind == MEMORY else None
            size = self._sizes[place]
            self._rows["journal"].append([*entry_row(space.number, entry, versions), space.latest, *size])
            written = self._in_file.get(entry.space)
            if written is None or written.seq < entry.seq:  # then the view `present` takes this from the entry
                self._in_file[entry.space] = Space(space.number, entry.seq, space.last_at, *size, space.latest)

    def scrub(self, change: Scrubbed) -> None:
        space, id = change.space, change.id
        self.flush()
        self.scrubbed = True
        known = self._space_to_write(space)
        self._connection.execute(
            f"UPDATE journal SET key = NULL, before = NULL, after = NULL, why = '' WHERE {OF_MEMORIES} AND kind = ?",
            (*of_memories(known.number, id), MEMORY),
        )
        # A damaged version is hidden: only a purge can mean its memory, and has not removed what it could not read.
        stays = "gone = 0 AND EXISTS (SELECT 1 FROM version WHERE version.key = memory.key AND version.seq_to IS NULL)"
        sql = f"SELECT key, {stays} FROM memory WHERE space = ? AND id = ?"
        for key, is_present in rows.fetch(self._connection, sql, (known.number, id)):
            (self._delete_past if is_present else self._delete)(known, key)
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
        sql = "UPDATE main.version SET seq_from = ?1, anchor = ?1, row = content WHERE key = ?2"
        self._connection.execute(sql, (first, key))
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
        renew_leads(self._connection)
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
        known = self._space_to_write(space)
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
        """Also fills a word index that is damaged or disagrees with the contents, makes the names and links of versions
        again where some are lost, and counts everything again."""
        from nacre.storage.sqlite import repair

        self.flush()
        self._connection.execute("REINDEX")
        renew_leads(self._connection)
        repair.complete_indexes(self._connection)
        if not damage.hidden(self._connection):
            repair.renew_names(self._connection)
        self._spaces.clear()
        self._stored.clear()

    # Rows

    def _add(self, statement: str, space: int, *values: SQLValue) -> None:
        self._rows[statement].append((space, *values))

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
                values = (*identity_of(new.memory), *without_role(content), *version_row(new))
                self._add(NEW_MEMORY, space, *values, *map(as_json, (labels, packed, linked)))
        elif self._new:
            identities, contents, versions, of_names = (
                self._rows[table] for table in ("memory", "content", INSERT_VERSION, INSERT_LABEL)
            )
            for space, new, content, names, chunks, links in self._new:
                key, start = new.key, new.seq_from
                identities.append((space, key, 0, *identity_of(new.memory)))
                contents.append((space, new.content, *content))
                versions.append([space, new.content, *version_row(new)])
                of_names += [(space, *name, key, start, times) for name, times in names.items()]
                self._add_chunks(space, new.content, chunks)
                if links:
                    self._rows[INSERT_LINK] += [
                        (space, *target, key, start, *kept, 0) for target, kept in links.items()
                    ]
        self._new.clear()

    def flush(self) -> None:
        self._add_new()
        for name, sql in STATEMENTS.items():
            if name in self._rows:
                self._connection.executemany(sql, self._rows.pop(name))
        self._waiting.clear()
        self._contents.clear()  # what was derived anew is in the file by now
        self._write_vectors()
        self._erase_orphans()
        write_counts(self._connection, self._counts, self._take_stem_counts())
        self._counts.clear()
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
            f"SELECT number FROM content WHERE number {AMONG} AND NOT EXISTS (SELECT 1 FROM main.version"
            " WHERE version.row = content.number)"
        )
        asked = (json.dumps(self._orphans),)
        self._orphans.clear()
        sql = f"SELECT id, space FROM chunk WHERE embedded AND content IN ({gone})"
        for id, space in rows.fetch(self._connection, sql, asked):
            self._dropped[space].append(id)
        self._connection.execute(f"DELETE FROM chunk WHERE content IN ({gone})", asked)
        self._connection.execute(f"DELETE FROM content WHERE number IN ({gone})", asked)
        self._write_vectors()


def renew_leads(connection: apsw.Connection) -> None:
    """Puts versions into the indexes whose anchor was removed, and makes another one the first of a content whose first
    was removed."""
    connection.execute(
        "UPDATE main.version SET row = content WHERE row IN (SELECT min(later.row) FROM main.version AS later"
        f" WHERE later.row > {rows.LATER_VERSIONS} AND NOT EXISTS (SELECT 1 FROM main.version AS first"
        " WHERE first.row = later.content) GROUP BY later.content)"
    )
    connection.execute(
        "UPDATE main.version SET anchor = seq_from WHERE anchor <> seq_from AND NOT EXISTS (SELECT 1 FROM main.version"
        " AS lead WHERE lead.key = version.key AND lead.seq_from = version.anchor AND lead.anchor = lead.seq_from)"
    )


def identity_of(memory: Memory) -> tuple[SQLValue, ...]:
    """The columns `IDENTITY`."""
    return memory.id, memory.last_accessed, memory.access_count


def content_row(memory: Memory, words: tables.Indexed | None, *, pending: bool) -> tuple[SQLValue, ...]:
    """The columns `CONTENT_VALUES`."""
    lines = None if words is None else tables.joined_lines(words.content)
    return (*rows.content_values(*tables.contents_of(memory)), lines, int(pending))


def version_row(stored: Stored) -> list[SQLValue]:
    """The columns `VERSION`."""
    memory = stored.memory
    return [
        stored.key, stored.seq_from, stored.anchor, stored.content, memory.version,
        *rows.version_values(memory), tables.joined_lines(stored.stems), stored.length,
        *rows.place_values(memory.role, memory.text),
    ]  # fmt: skip


def by_row(counted: tuple[tuple[SQLValue, ...], int]) -> tuple[object, ...]:
    """A name may be a number."""
    *names, last = counted[0]
    return *names, str(last)


ADD_COUNT = (
    "INSERT INTO counter(space, field, status, name, n) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT DO UPDATE SET n = n + excluded.n"
)
# Two statements, since one that returns what is left takes a fifth more time. A count of 0 has no row.
OF_COUNT = "space = ?1 AND field = ?2 AND status = ?3 AND name = ?4"
REMOVE_COUNT = f"DELETE FROM counter WHERE {OF_COUNT} AND n + ?5 <= 0"
SUBTRACT_COUNT = f"UPDATE counter SET n = n + ?5 WHERE {OF_COUNT}"


def write_counts(connection: apsw.Connection, counts: Counts, terms: Mapping[int, Counter[str]]) -> None:
    """`terms` are those of stems, by space; in the order of the index."""
    changed: list[tuple[Any, ...]] = [(*key, n) for key, n in sorted(counts.items(), key=by_row) if n]
    for space, stems in terms.items():
        changed += [(space, TERM, "", stem, n) for stem, n in sorted(stems.items()) if n]
    fewer = [row for row in changed if row[-1] < 0]
    connection.executemany(REMOVE_COUNT, fewer)
    connection.executemany(SUBTRACT_COUNT, fewer)
    connection.executemany(ADD_COUNT, [row for row in changed if row[-1] > 0] if fewer else changed)


def entry_row(space: int, entry: JournalEntry, versions: tuple[int, bool, bool] | None) -> list[SQLValue]:
    """`versions` give the entry's images; without them the images themselves are stored."""
    done = entry.operation
    images = (None, None) if versions else (maybe_json(entry.before), maybe_json(entry.after))
    named = (entry.memory_id, entry.kind, done.name, done.actor, done.at, done.batch, done.why)
    return [rows.place(space, entry.seq), *named, *(versions or (None, None, None)), *images]


def maybe_json(fields: Mapping[str, Json] | None) -> str | None:
    return None if fields is None else as_json(dict(fields))
