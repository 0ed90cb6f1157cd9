"""Writes a change set: versions, contents, names, words, vectors, counts and journal, together or not at all.

Rows are collected while the changes come, and sent table by table in one round trip at the end, with the commit. Where
there are many changes, the server is sent the rows of some while those of the next are made.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import repeat
from typing import Any

from nacre.model import Filter, JournalEntry, Memory
from nacre.model.journal import MEMORY
from nacre.model.memory import Json, key_of
from nacre.protocols import ALL, AnyChange, Change, Derived, EmbedderIdentity, Key, Scrubbed, Vectors
from nacre.storage import buffered_transaction
from nacre.storage.buffered_transaction import (
    DELETE_CHUNK,
    DELETE_LABEL,
    DELETE_LINK,
    END_LABEL,
    END_LINK,
    END_VERSION,
    INSERT_LINK,
    INSERT_VERSION,
    REMOVE_MEMORY,
    SET_PENDING,
    SET_STEMS,
    SET_USES,
    SET_WORDS,
    BufferedTransaction,
    Content,
    Stored,
    contents_of_rows,
)
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
    Indexed,
    Stems,
    add_counts,
    as_json,
    content_lines,
    image_text,
    indexed,
    joined_lines,
    links_of,
    memory_of,
    names_of,
    pack_lists,
    packed_without_link_data,
    scalars_of,
    unpacked_stems,
)

SPACE = (
    "space_id", "seq", "last_at", "memories", "stems", "latest", "memory_key", "content_number", "chunk_number",
    "name",
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


DELETE_VERSION, DELETE_POSTING = "delete version", "delete posting"
COUNT, FORGET_COUNT = "count", "forget count"
OPEN_LABEL = (
    "label.space_id = %(space)s AND label.field = new.field AND label.name = new.name AND label.key = new.key"
    f" AND label.key = ANY(%(key)s) AND label.seq_to = {OPEN}"
)
OPEN_LINK = (
    "link.space_id = %(space)s AND link.target = new.target AND link.rel = new.rel AND link.key = new.key"
    f" AND link.key = ANY(%(key)s) AND link.seq_to = {OPEN}"
)
OF_VERSION = (
    "version.space_id = %(space)s AND version.key = new.key AND version.key = ANY(%(key)s)"
    " AND version.seq_from = new.seq_from"
)
# Those that do not only insert. The conditions with ANY keep the planner to the index, whatever it knows of the table.
SQL: Mapping[str, str] = {
    REMOVE_MEMORY: "UPDATE memory SET gone = memory.key FROM {} WHERE memory.space_id = %(space)s"
    " AND memory.key = new.key AND memory.key = ANY(%(key)s)",
    SET_USES: "UPDATE memory SET last_accessed = new.last_accessed, access_count = new.access_count FROM {}"
    " WHERE memory.space_id = %(space)s AND memory.key = new.key AND memory.key = ANY(%(key)s)",
    END_VERSION: f"UPDATE version SET seq_to = new.seq_to FROM {{}} WHERE {OF_VERSION}",
    DELETE_VERSION: f"DELETE FROM version USING {{}} WHERE {OF_VERSION}",
    SET_STEMS: f"UPDATE version SET stems = new.stems, length = new.length FROM {{}} WHERE {OF_VERSION}",
    END_LABEL: f"UPDATE label SET seq_to = new.seq FROM {{}} WHERE {OPEN_LABEL} AND label.seq_from < new.seq",
    DELETE_LABEL: f"DELETE FROM label USING {{}} WHERE {OPEN_LABEL} AND label.seq_from = new.seq",
    # One that takes the place of another, because its weight or kind has changed, keeps its walks.
    INSERT_LINK: "INSERT INTO link(space_id, target, rel, key, seq_from, weight, kind, walks) SELECT %(space)s,"
    " target, rel, key, seq,"
    " weight, kind, CASE WHEN known THEN coalesce((SELECT walks FROM link AS old WHERE old.space_id = %(space)s"
    " AND old.target = new.target AND old.rel = new.rel AND old.key = new.key ORDER BY seq_from DESC LIMIT 1), 0)"
    " ELSE 0 END FROM {} ON CONFLICT (space_id, target, rel, key, seq_from) DO UPDATE SET weight = excluded.weight,"
    f" kind = excluded.kind, seq_to = {OPEN}, walks = excluded.walks",
    END_LINK: f"UPDATE link SET seq_to = new.seq FROM {{}} WHERE {OPEN_LINK} AND link.seq_from < new.seq",
    DELETE_LINK: f"DELETE FROM link USING {{}} WHERE {OPEN_LINK} AND link.seq_from = new.seq",
    DELETE_CHUNK: "DELETE FROM chunk USING {} WHERE chunk.space_id = %(space)s AND chunk.number = new.number"
    " AND chunk.number = ANY(%(number)s)",
    DELETE_POSTING: "DELETE FROM posting USING {} WHERE posting.space_id = %(space)s AND posting.term = new.term"
    " AND posting.content = new.content AND posting.term = ANY(%(term)s) AND posting.content = ANY(%(content)s)",
    SET_WORDS: "UPDATE content SET words = new.words FROM {} WHERE content.space_id = %(space)s"
    " AND content.number = new.number AND content.number = ANY(%(number)s)",
    SET_PENDING: "UPDATE content SET pending = new.pending FROM {} WHERE content.space_id = %(space)s"
    " AND content.number = new.number",
    COUNT: "INSERT INTO counter(space_id, field, status, name, n) SELECT %(space)s, field, status, name, n FROM {}"
    " ON CONFLICT (space_id, field, status, name) DO UPDATE SET n = counter.n + excluded.n",
    FORGET_COUNT: "DELETE FROM counter USING {} WHERE counter.space_id = %(space)s AND counter.field = new.field"
    " AND counter.status = new.status AND counter.name = new.name AND counter.n <= 0"
    " AND counter.field = ANY(%(field)s) AND counter.status = ANY(%(status)s) AND counter.name = ANY(%(name)s)",
}
LABEL_COLUMNS = {"seq": BIG, "field": TEXT, "name": TEXT, "key": BIG}
LINK_COLUMNS = {"seq": BIG, "target": TEXT, "rel": TEXT, "key": BIG}
COUNTED = {"field": TEXT, "status": TEXT, "name": TEXT, "n": BIG}
# The columns that the rows of each have, besides the space, in the order in which they are written: what ends or is
# deleted comes first, so that unique keys are free.
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
    INSERT_LINK: {
        "target": TEXT, "rel": TEXT, "key": BIG, "seq": BIG, "weight": DOUBLE, "kind": TEXT, "known": BOOLEAN,
    },
    "journal": TABLES["journal"],
    COUNT: COUNTED,
    FORGET_COUNT: COUNTED,
}  # fmt: skip
SENT = {
    name: insertion(name, columns) if name in TABLES else SQL[name].format(unnested(**columns))
    for name, columns in STATEMENTS.items()
}
READ = (
    f"SELECT version.key, version.content, version.seq_from, version.stems, version.length, {SELECTED} FROM {BY_ID}"
    f" WHERE version.space_id = %(space)s AND memory.id = ANY(%(ids)s::text[]) AND memory.gone = 0"
    f" AND version.seq_to = {OPEN}"
)
SAVE_SPACE = (
    f"UPDATE spaces SET {', '.join(f'{name} = %({name})s' for name in SPACE[1:-1])} WHERE space_id = %(number)s"
)
OWN_KIND = "strpos(kind, '/') > 0 AND substr(kind, strpos(kind, '/') + 1) = %(old)s"
RENAMED_KIND = "substr(kind, 1, strpos(kind, '/')) || %(new)s"
ANALYSED_FROM, ANALYSED_AGAIN = 50, 4  # memories of a space; and how many times as many until the next time
SENT_AHEAD = 128  # memories whose rows are sent while those of the next are made: the server works meanwhile
TABLES_OF_SPACE = ("posting", "chunk", "content", "version", "label", "link", "memory", "counter", "journal")


@dataclass(slots=True)
class Space(buffered_transaction.Space):
    """The columns `SPACE` of its row."""

    memory_key: int = 0
    content_number: int = 0
    chunk_number: int = 0
    name: str = ""


class PostgresTransaction(BufferedTransaction[Space]):
    """What `storage.commit` writes with. `spaces` are those that it may write to; their rows are locked."""

    def __init__(self, session: Session, spaces: Iterable[Space]) -> None:
        super().__init__()
        self._session = session
        self._spaces = {space.name: space for space in spaces}
        self._saved = {space.name: replace(space) for space in self._spaces.values()}
        self._terms_read: dict[Key, Mapping[str, Json] | None] = {}
        self._contents: dict[tuple[int, int], Content] = {}  # by space and number
        self._sent: dict[Key, tuple[int, Indexed]] = {}  # new memories whose words were sent, with the content's number
        self._rows: dict[tuple[str, int], list[tuple[Any, ...]]] = defaultdict(list)  # by statement and space
        self._columns: dict[tuple[str, int], list[list[Any]]] = {}  # the same, where they are collected by column
        self._orphans: dict[int, set[int]] = defaultdict(set)  # contents that may have no version any more, by space
        self._numbered = {space.name: space.memory_key for space in self._spaces.values()}
        self.cancelled = False  # nothing is to be written after all

    # What is there

    def _load(self, name: str, ids: Sequence[str]) -> None:
        unknown = [id for id in dict.fromkeys(ids) if (name, id) not in self._stored]
        if unknown:
            values = askable({"space": self._number(name), "ids": unknown})
            self.add_stored(name, unknown, self._session.fetch(READ, values))

    def add_stored(self, name: str, asked: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
        self._stored.update({(name, id): None for id in asked})
        for key, content, seq_from, stems, length, *record in rows:
            memory = memory_of(record, name)
            self._stored[name, memory.id] = Stored(
                key, content, seq_from, seq_from, unpacked_stems(stems, 2), length, memory
            )

    def _number(self, name: str) -> int:
        known = self._spaces.get(name)
        return NOWHERE if known is None else known.number

    def term(self, kind: str, name: str) -> Mapping[str, Json] | None:
        if (kind, name) not in self._terms_read:
            sql = "SELECT data FROM vocabulary WHERE kind = %(kind)s AND name = %(name)s"
            data = self._session.fetch(sql, askable({"kind": kind, "name": name}))
            self._terms_read[kind, name] = parsed(data[0][0]) if data else None
        return self._terms_read[kind, name]

    def embedder(self) -> EmbedderIdentity:
        return self._embedder or stored_embedder(self._session.fetch(EMBEDDER))

    def _content(self, space: Space, number: int) -> Content:
        if (space.number, number) not in self._contents:
            stored = (
                each.content for (name, _), each in self._stored.items() if each is not None and name == space.name
            )
            asked = {"space": space.number, "numbers": [number, *stored]}
            read = self._session.together(
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
            self._contents |= {(space.number, each): content for each, content in contents_of_rows(*read).items()}
        return self._contents[space.number, number]

    def _vectors_of(self, space: Space, content: int) -> list[Vectors]:
        sql = (
            "SELECT embedding FROM chunk WHERE space_id = %(space)s AND content = %(content)s AND embedding IS NOT NULL"
            " ORDER BY number"
        )
        rows = self._session.fetch(sql, {"space": space.number, "content": content}, binary=True)
        return [vector for (vector,) in rows]

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
            self._stems_got[space.number].update(words.distinct)
        self._collect_counts()
        self._session.send(*self._collected())

    def put(self, memory: Memory, derived: Derived | None, seq: int | None) -> None:
        super().put(memory, derived, seq)
        if len(self._waiting) >= SENT_AHEAD:
            self._session.send(*self._collected())

    def _insert(self, space: Space, memory: Memory, derived: Derived | None, seq: int | None) -> Stored:
        sent = self._sent.pop(key_of(memory), None)
        if sent is None:
            space.content_number += 1
            content, words = space.content_number, None if derived is None else indexed(derived.words)
            if words is not None:
                self._put_postings(space, content, words.content)
                self._stems_got[space.number].update(words.distinct)
        else:
            content, words = sent
        self._add_content(space, content, memory, derived, None if words is None else words.content)
        stems, length = (("", ""), 0) if words is None else (words.names, words.length)
        space.stems += length
        space.memory_key += 1
        start = space.seq if seq is None else seq
        new = Stored(space.memory_key, content, start, start, stems, length, memory)
        space.memories += 1
        add_counts(self._counts, space.number, memory)
        self._add("memory", space.number, new.key, memory.id, memory.last_accessed, memory.access_count)
        self._add(INSERT_VERSION, space.number, *self._version_row(new))
        self._put_names(space, new.key, {}, names_of(memory, stems), start)
        self._put_links(space, new.key, {}, links_of(memory), start)
        return new

    def _version_row(self, stored: Stored) -> tuple[Any, ...]:
        memory = stored.memory
        return (
            stored.key, stored.seq_from, stored.content, memory.version, *scalars_of(memory), pack_lists(memory),
            joined_lines(stored.stems), stored.length,
        )  # fmt: skip

    def _replace_version(self, space: Space, old: Stored, new: Stored) -> None:
        self._add(DELETE_VERSION, space.number, old.key, old.seq_from)
        self._add(INSERT_VERSION, space.number, *self._version_row(new))
        if old.content != new.content:
            self._orphans[space.number].add(old.content)

    def _delete_removed(self, space: Space, id: str, key: int) -> None:  # noqa: ARG002
        self._delete(space, key)

    # Its content

    def _add_content(
        self, space: Space, number: int, memory: Memory, derived: Derived | None, lines: Stems | None
    ) -> None:
        """`lines` are the stems of its title, text and role, where they are known; the caller puts their postings."""
        asks, pending = memory.text.endswith(QUESTION_MARKS), derived is None or derived.vectors is None
        words = None if lines is None else joined_lines(lines)
        self._add("content", space.number, number, memory.text, memory.title, memory.role, asks, words, pending)
        self._put_chunks(space, number, derived)

    def _insert_content(self, space: Space, memory: Memory, derived: Derived | None) -> int:
        space.content_number += 1
        lines = None if derived is None else content_lines(derived.words)
        self._put_postings(space, space.content_number, lines or ())
        self._add_content(space, space.content_number, memory, derived, lines)
        return space.content_number

    def _put_postings(self, space: Space, content: int, lines: Stems) -> None:
        if own := frequencies(lines):
            terms, contents, weights = self._columns.setdefault(("posting", space.number), [[], [], []])
            terms += own
            contents += repeat(content, len(own))
            weights += own.values()

    def _put_chunks(self, space: Space, content: int, derived: Derived | None) -> None:
        if derived is None:
            return
        vectors = [None] * len(derived.chunks) if derived.vectors is None else derived.vectors
        for chunk, vector in zip(derived.chunks, vectors, strict=True):
            space.chunk_number += 1
            self._add("chunk", space.number, space.chunk_number, content, chunk.start, chunk.end, chunk.digest, vector)

    def _replace_words(self, space: Space, content: int, had: Stems, has: Stems) -> None:
        super()._replace_words(space, content, had, has)
        for term in frequencies(had):
            self._add(DELETE_POSTING, space.number, term, content)
        self._put_postings(space, content, has)

    # The journal

    def append(self, entries: Sequence[JournalEntry]) -> None:
        for entry in entries:
            space, done = self._spaces[entry.space], entry.operation
            space.last_at = done.at
            self._add(
                "journal", space.number, entry.seq, entry.memory_id, entry.kind, done.name, done.actor, done.at,
                done.batch, done.why,
                *(image_text(image, entry.kind, entry.space) for image in (entry.before, entry.after)),
                space.latest, *self._sizes[entry.space, entry.seq],
            )  # fmt: skip

    def scrub(self, change: Scrubbed) -> None:
        space, id = change.space, change.id
        self.flush()
        known = self._spaces[space]
        values = {"space": known.number, "id": id, "kind": MEMORY}
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
        values: dict[str, Any] = {"space": self._spaces[space].number, "target": target, "kind": MEMORY}
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
        rows = self._session.fetch(sql, {"space": self._spaces[space].number, "key": key})
        return any(where.admits(memory_of(row, space)) for row in rows)

    def _delete(self, space: Space, key: int) -> None:
        """Everything of a memory that is gone."""
        self.flush()
        values = {"space": space.number, "key": key}
        sql = "SELECT DISTINCT content FROM version WHERE space_id = %(space)s AND key = %(key)s"
        self._orphans[space.number] |= {content for (content,) in self._session.fetch(sql, values)}
        for table in ("version", "label", "link", "memory"):
            self._session.execute(f"DELETE FROM {table} WHERE space_id = %(space)s AND key = %(key)s", values)

    def _delete_past(self, space: Space, key: int) -> None:
        """The memory's earlier versions: it reads as it is now, from when it first existed."""
        own = "space_id = %(space)s AND key = %(key)s"
        values: dict[str, Any] = {"space": space.number, "key": key, "open": OPEN}
        rows = self._session.fetch(f"SELECT seq_from, seq_to, content FROM version WHERE {own}", values)
        values["first"] = min(seq_from for seq_from, _, _ in rows)
        self._orphans[space.number] |= {content for _, seq_to, content in rows if seq_to != OPEN}
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
        values = {"space": known.number}
        sql = "SELECT id FROM memory WHERE space_id = %(space)s AND gone = 0 ORDER BY key"
        ids = [str(id) for (id,) in self._session.fetch(sql, values)]
        sql = "SELECT seq, at FROM journal WHERE space_id = %(space)s ORDER BY seq DESC LIMIT 1"
        for seq, at in self._session.fetch(sql, values):
            self._note_dropped(known.number, seq, at, 0, 0)
        self._empty(known)
        own = f"({OWN_KIND}) OR (kind = 'space' AND name = %(old)s)"
        self._session.execute(f"DELETE FROM vocabulary WHERE {own}", {"old": space})
        known.memories = known.stems = 0
        self._terms_read.clear()
        return ids

    def _empty(self, space: Space) -> None:
        for table in TABLES_OF_SPACE:
            self._session.execute(f"DELETE FROM {table} WHERE space_id = %(space)s", {"space": space.number})
        self._stored = {key: stored for key, stored in self._stored.items() if key[0] != space.name}
        self._contents.clear()

    def compress(self, space: str, ids: Sequence[str]) -> int:  # noqa: ARG002
        """The server compresses long texts itself."""
        return 0

    def rename_space(self, old: str, new: str) -> None:
        self.flush()
        known, other = self._spaces.pop(old), self._spaces.pop(new)
        self._empty(other)  # what is left of it is what it once held
        names = {"old": old, "new": new, "space": known.number, "other": other.number}
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

    def _add(self, statement: str, space: int, *values: Any) -> None:
        self._rows[statement, space].append(values)

    def grown(self) -> list[str]:
        """The spaces that have become so much larger that plans for them may no longer fit."""
        return [
            name
            for name, n in self._numbered.items()
            if name in self._spaces and step(n) < step(self._spaces[name].memory_key)
        ]

    def flush(self, *last: str) -> None:
        """Also sends these statements, in the same round trip."""
        self._collect_counts()
        statements = self._collected()
        for name, space_row in self._spaces.items():
            if space_row != self._saved.get(name):
                statements.append((SAVE_SPACE, asdict(space_row)))
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
        for space, stems in self._take_stem_counts().items():
            self._note_counts(space, [(TERM, "", stem, n) for stem, n in sorted(stems.items()) if n])
        self._counts.clear()

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
