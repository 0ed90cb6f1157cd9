"""Chroma's folders, read from the files themselves: nobody needs Chroma, and nothing is written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeAlias, cast

from nacre.errors import ArchiveRefused, EmbeddingError, InvalidInput, UnknownName
from nacre.model.memory import Json
from nacre.portability.foreign.chroma_records import mapping_of
from nacre.portability.foreign.chroma_vectors import Vectors, agree
from nacre.portability.foreign.source import Foreign, header, shown
from nacre.portability.foreign.sqlite_file import Record, columns, reading, records, require
from nacre.portability.packed_vectors import packed
from nacre.portability.reading import BadRow, MemoryRow, Row
from nacre.ports import Embedder, Progress

NAME = "chroma"
FILE = "chroma.sqlite3"
DOCUMENT = "chroma:document"  # the key under which the text lies among its metadata
TABLES = {
    "collections": {"id", "name", "dimension"},
    "segments": {"id", "scope", "collection"},
    "embeddings": {"id", "segment_id", "embedding_id"},
    "embedding_metadata": {"id", "key", "string_value", "int_value", "float_value"},
}
VALUES = ("string_value", "int_value", "float_value")
# Mnemosyne's two are one memory; what was promoted and, after a crash, is in both counts as promoted.
TOGETHER = ("long_term_memory", "short_term_memory")
TRIED = 8  # texts that the embedder embeds to see whether the vectors are its own
LONGEST_TRIED = 500  # characters of such a text: longer ones models cut in their own ways
LOOKED_AT = 200  # records among which those are looked for
Lists: TypeAlias = dict[int, dict[str, Json]]


@dataclass(frozen=True, slots=True)
class Collection:
    id: str
    name: str
    records: str  # the segment that has them
    vectors: Vectors | None


@contextmanager
def opened(path: Path, *, embedder: Embedder | None = None, collections: Sequence[str] = ()) -> Iterator[Chroma]:
    """Of all collections, or of those that are named; with the vectors that `embedder` would have made as well.

    Raises `ArchiveRefused`, and `InvalidInput` where several are there that are somebody's each.
    """
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        raise ArchiveRefused(path, f"there is no {FILE} in it, so it is no folder of Chroma's", "Name the right one.")
    with reading(file) as database:
        require(database, file, TABLES, "Chroma's")
        source = Chroma(path, header(NAME, embedder="" if embedder is None else embedder.identity), database=database)
        source.choose(collections, embedder)
        yield source


@dataclass(slots=True, kw_only=True)
class Chroma(Foreign):
    database: sqlite3.Connection
    chosen: Sequence[Collection] = ()

    def rows(self, progress: Progress | None = None) -> Iterator[Row]:  # noqa: ARG002 - one reading is quick
        self.partial.clear()
        number = 0
        for collection in self.chosen:
            try:
                lists = self._lists(collection)
                for key, id in self._keys(collection):
                    number += 1
                    yield self._row(number, collection, key, id, lists)
            except sqlite3.Error as error:
                number += 1
                yield BadRow(number, f"the rest of the collection {collection.name!r} cannot be read ({error})")

    def _row(self, number: int, collection: Collection, key: int, id: str, lists: Lists) -> Row:
        try:
            meta = self._meta(key) | lists.get(key, {})
            text = meta.pop(DOCUMENT, None)
            fields = mapping_of(meta)(id, text if isinstance(text, str) else None, meta, self.lacks)
            # A title stands before a text when it is embedded, and Chroma's vector is of the text alone.
            vector = None if collection.vectors is None or fields.get("title") else collection.vectors.of(id)
        except (InvalidInput, sqlite3.Error) as error:
            return BadRow(number, f"{shown(id)}: {error}")
        return MemoryRow(number, fields, None if vector is None else packed(vector), shown(id))

    def _keys(self, collection: Collection) -> Iterator[tuple[int, str]]:
        """In the order of the table, with what belongs to each read by itself: a damaged page costs only its own."""
        query = "SELECT id, embedding_id FROM embeddings NOT INDEXED WHERE segment_id = ? ORDER BY id"
        yield from self.database.execute(query, (collection.records,))

    def _meta(self, key: int) -> dict[str, Json]:
        found = records(self.database, "SELECT * FROM embedding_metadata WHERE id = ?", key)
        return {str(each["key"]): value(each) for each in found}

    def _lists(self, collection: Collection) -> Lists:
        """Newer versions keep lists in a table of their own; few records have any."""
        found: Lists = {}
        if not columns(self.database, "embedding_metadata_array"):
            return found
        for each in records(
            self.database,
            "SELECT a.* FROM embedding_metadata_array a JOIN embeddings e ON e.id = a.id "
            "WHERE e.segment_id = ? ORDER BY a.rowid",
            collection.records,
        ):
            listed = found.setdefault(cast(int, each["id"]), {}).setdefault(str(each["key"]), [])
            cast("list[Json]", listed).append(value(each))
        return found

    def choose(self, names: Sequence[str], embedder: Embedder | None) -> None:
        there = {str(each["name"]): each for each in records(self.database, "SELECT * FROM collections ORDER BY name")}
        for name in names:
            if name not in there:
                raise UnknownName("collection", name, there)
        wanted = list(names) or [name for name in TOGETHER if name in there] or list(there)
        left = [name for name in there if name not in wanted]
        if not names and len(wanted) > 1 and not set(wanted) <= set(TOGETHER):
            raise InvalidInput(
                f"{self.path} holds {len(wanted)} collections ({', '.join(wanted)}), which know nothing of each other; "
                "name one or more with --collection, and where they go with --space."
            )
        if left:
            self.told.append(f"Other collections were left out: {', '.join(left)}.")
        self.chosen = [each for name in wanted if (each := self._collection(there[name], embedder)) is not None]

    def _collection(self, told: Record, embedder: Embedder | None) -> Collection | None:
        id, name = str(told["id"]), str(told["name"])
        segments = {
            str(each["scope"]): str(each["id"])
            for each in records(self.database, "SELECT id, scope FROM segments WHERE collection = ?", id)
        }
        if "METADATA" not in segments:
            self.told.append(f"The collection {name!r} was never written to the end, and is empty.")
            return None
        collection = Collection(id, name, segments["METADATA"], None)
        dimensions = told["dimension"]
        if embedder is None or not isinstance(dimensions, int) or not columns(self.database, "embeddings_queue"):
            return collection
        folder = self.path if self.path.is_dir() else self.path.parent
        vectors = Vectors(self.database, id, folder / segments.get("VECTOR", ""), dimensions)
        return Collection(id, name, collection.records, vectors if self._fits(collection, vectors, embedder) else None)

    def _fits(self, collection: Collection, vectors: Vectors, embedder: Embedder) -> bool:
        """Says so where they do not."""
        tried = (
            (text, vector)
            for key, id in islice(self._keys(collection), LOOKED_AT)
            if isinstance(text := self._meta(key).get(DOCUMENT), str)
            and 0 < len(text) <= LONGEST_TRIED
            and (vector := vectors.of(id)) is not None
        )
        try:
            found = list(islice(tried, TRIED))
            fits = agree(embedder, [text for text, _ in found], [vector for _, vector in found])
        except (sqlite3.Error, EmbeddingError):  # nobody can tell now, and they can be computed
            return False
        if found and not fits:
            self.told.append(f"The vectors of {collection.name!r} are not those of {embedder.identity}.")
        return fits


def value(told: Record) -> Json:
    given = next((told[name] for name in VALUES if told[name] is not None), None)
    if given is None and told.get("bool_value") is not None:
        return bool(told["bool_value"])
    return given if isinstance(given, str | int | float) else None
