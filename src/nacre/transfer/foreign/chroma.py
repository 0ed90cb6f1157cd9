"""The vectors of a Chroma collection: the latest wait in its queue, the others lie in its index."""

from __future__ import annotations

import io
import pickle
import sqlite3
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, cast

from nacre.errors import ArchiveRefused, EmbeddingError, InvalidInput, UnknownName
from nacre.model.memory import LIVE_STATUSES, TYPES, Json
from nacre.protocols import Embedder, Progress
from nacre.transfer import ahkai
from nacre.transfer.archive import pack_vectors
from nacre.transfer.foreign.source import (
    ForeignSource,
    Record,
    columns,
    from_json,
    header,
    open_database,
    printable,
    records,
    require,
    string_list,
)
from nacre.transfer.read_archive import BadRow, MemoryRow, Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nacre.protocols import Embedder

# hnswlib's header: version, six sizes, the top level, the entry point, three numbers of neighbours, and two settings.
HEADER = struct.Struct("<i6QiI3QdQ")
LABEL = 8  # bytes of a label, which follows the vector
FLOAT = 4
ENCODING = "FLOAT32"
# Another model's vectors of a text are as far from ours as any: their cosines are near 0, those of the same near 1.
ALIKE = 0.9


class Vectors:
    """Nothing in it can be trusted: what does not fit together is none."""

    def __init__(self, database: sqlite3.Connection, collection: str, index: Path, dimensions: int) -> None:
        self._database = database
        self._index = index
        self._dimensions = dimensions
        self._queued = queued(database, collection)

    def of(self, id: str) -> NDArray[np.float32] | None:
        """Of unit length; None where it is not there, and has to be computed."""
        import numpy as np

        raw = self._from_queue(id) or self._from_index(id)
        if raw is None or len(raw) != self._dimensions * FLOAT:
            return None
        vector = np.frombuffer(raw, "<f4").astype(np.float32)
        length = float(np.linalg.norm(vector))
        return vector / length if np.isfinite(length) and length > 0 else None

    def _from_queue(self, id: str) -> bytes | None:
        place = self._queued.get(id)
        if place is None:
            return None
        row = self._database.execute("SELECT vector, encoding FROM embeddings_queue WHERE seq_id = ?", (place,))
        vector, encoding = row.fetchone()
        return vector if isinstance(vector, bytes) and encoding == ENCODING else None

    def _from_index(self, id: str) -> bytes | None:
        if self._stored is None or id not in self._stored.labels:
            return None
        return self._stored.vector(self._stored.labels[id])

    @cached_property
    def _stored(self) -> Index | None:
        try:
            return read_index(self._index, self._dimensions)
        except (OSError, ValueError, struct.error, pickle.UnpicklingError, EOFError, AttributeError, IndexError):
            return None  # it was not written to the end, or by a version that nobody knew


def queued(database: sqlite3.Connection, collection: str) -> dict[str, int]:
    """Where in the queue the last vector of each record lies."""
    found = database.execute(
        "SELECT id, max(seq_id) FROM embeddings_queue WHERE topic LIKE ? AND vector IS NOT NULL GROUP BY id",
        (f"%{collection}",),
    )
    return {str(id): int(place) for id, place in found}


class Index(NamedTuple):
    """An index of hnswlib as it lies on disk: equal pieces, each with the vector and its label at fixed places."""

    labels: Mapping[str, int]
    places: Mapping[int, int]
    pieces: NDArray[np.uint8]
    begins: int
    ends: int

    def vector(self, label: int) -> bytes | None:
        place = self.places.get(label)
        return None if place is None else self.pieces[place, self.begins : self.ends].tobytes()


def read_index(folder: Path, dimensions: int) -> Index | None:
    import numpy as np

    _, _, _, count, size, label, begins, *_ = HEADER.unpack_from((folder / "header.bin").read_bytes())
    data = folder / "data_level0.bin"
    fits = begins + dimensions * FLOAT == label and label + LABEL == size
    if not fits or not count or data.stat().st_size < count * size:
        return None
    pieces = np.memmap(data, np.uint8, "r", shape=(count, size))
    labels = np.ascontiguousarray(pieces[:, label:size]).view("<u8").ravel().tolist()
    names = read_labels((folder / "index_metadata.pickle").read_bytes())
    return Index(names, {each: place for place, each in enumerate(labels)}, pieces, begins, label)


class SafeUnpickler(pickle.Unpickler):
    """Reads values alone. A pickle may name anything that Python can call; here every name stands for an empty object,
    and one that is none of Chroma's is refused."""

    def find_class(self, module: str, name: str) -> type:
        if module.startswith("chromadb.") and name == "PersistentData":
            return Attributes
        raise pickle.UnpicklingError(f"it names {module}.{name}")


class Attributes:
    id_to_label: object = None


def read_labels(raw: bytes) -> dict[str, int]:
    """Newer versions write a mapping, older ones an object. Raises `pickle.UnpicklingError` and other errors."""
    whole = SafeUnpickler(io.BytesIO(raw)).load()
    found = whole.get("id_to_label") if isinstance(whole, dict) else getattr(whole, "id_to_label", None)
    if not isinstance(found, dict):
        raise ValueError("it has no labels")
    return {str(id): int(label) for id, label in found.items()}


def agree(embedder: Embedder, texts: Sequence[str], vectors: Sequence[NDArray[np.float32]]) -> bool:
    """Whether they were made by the embedder: it is asked, since Chroma does not reliably say which model it was.

    Raises `EmbeddingError`.
    """
    import numpy as np

    if not texts or any(len(vector) != embedder.dimensions for vector in vectors):
        return False
    own = embedder.embed(list(texts))
    return float(np.mean(np.sum(own * np.stack(list(vectors)), axis=1))) >= ALIKE


Lacks = Callable[[str, str], None]
Meta = Mapping[str, Json]
LONGEST_TITLE = 1_000  # characters; a longer summary stays among the notes
HOUKAI = frozenset((*ahkai.SAME, "tags", "source", "links", "superseded_by", "superseded_at"))
MNEMOSYNE = frozenset(
    "summary memory_type status importance_score created_at last_accessed access_count tags metadata_json"
    " emotional_context source_memory_ids related_memory_ids".split()
)
LINK_KEYS = {"source_memory_ids": "derived_from", "related_memory_ids": "related"}


class Mapped(Protocol):
    def __call__(self, id: str, text: str | None, meta: Meta, lacks: Lacks) -> dict[str, object]: ...


def mapping_of(meta: Meta) -> Mapped:
    return mnemosyne if "memory_type" in meta else houkai


def houkai(id: str, text: str | None, meta: Meta, lacks: Lacks) -> dict[str, object]:
    known = {key: value for key, value in meta.items() if key in HOUKAI}
    rest = {key: value for key, value in meta.items() if key not in HOUKAI}
    if known.get("type") not in (None, *TYPES):
        rest["type"] = known.pop("type")
    if isinstance(known.get("tags"), list):
        known["tags"] = ",".join(str(each) for each in cast("list[Json]", known["tags"]))
    if "access_count" in known:
        known["access_count"] = integral(known["access_count"])
    ties = from_json(known.pop("links", None), list)
    fields = ahkai.fields({"id": id, "meta": known} | ({} if text is None else {"text": text}))
    fields["links"] = valid_links(id, ties, lacks)
    return fields | ({"metadata": rest} if rest else {})


def integral(given: Json) -> Json:
    """A count that went through floats."""
    return int(given) if isinstance(given, float) and given.is_integer() else given


def valid_links(id: str, given: Json, lacks: Lacks) -> list[Json]:
    listed = given if isinstance(given, list) else []
    good: list[Json] = [each for each in listed if isinstance(each, dict) and each.get("to") and each["to"] != id]
    if given is None or len(good) < len(listed):
        lacks(id, "ties")
    return good


def mnemosyne(id: str, text: str | None, meta: Meta, lacks: Lacks) -> dict[str, object]:
    rest = {key: value for key, value in meta.items() if key not in MNEMOSYNE}
    fields: dict[str, object] = {"id": id, "metadata": rest | notes(id, meta, lacks), "type": "episodic"}
    if text is not None:
        fields["text"] = text
    named = (("memory_type", "type", TYPES), ("status", "status", LIVE_STATUSES))
    for theirs, ours, known in named:
        value = str(meta.get(theirs, "")).lower()
        if value in known:
            fields[ours] = value
    if meta.get("importance_score") is not None:
        fields["importance"] = meta["importance_score"]
    if meta.get("access_count") is not None:
        fields["access_count"] = integral(meta["access_count"])
    fields |= times(id, meta, lacks) | emotion(id, meta, lacks)
    tags = string_list(meta.get("tags"))
    if tags is None:
        lacks(id, "tags")
    return fields | {"tags": tags or [], "links": linked_ids(id, meta, lacks)} | summary(text or "", meta)


def notes(id: str, meta: Meta, lacks: Lacks) -> dict[str, Json]:
    found = from_json(meta.get("metadata_json"), dict)
    if found is None:
        lacks(id, "metadata")
    more = meta.get("summary")
    long = {"summary": more} if isinstance(more, str) and len(more) > LONGEST_TITLE else {}
    return {**(found if isinstance(found, dict) else {}), **long}


def times(id: str, meta: Meta, lacks: Lacks) -> dict[str, object]:
    """It writes its own clock's time, without a zone."""
    found: dict[str, object] = {}
    for name in ("created_at", "last_accessed"):
        given = meta.get(name)
        if given in (None, ""):
            continue
        try:
            found[name] = datetime.fromisoformat(given).timestamp() if isinstance(given, str) else given
        except (ValueError, OverflowError, OSError):
            lacks(id, "times")
    if "created_at" in found:
        found = {"last_accessed": found["created_at"], **found, "updated_at": found["created_at"]}
    return found


def emotion(id: str, meta: Meta, lacks: Lacks) -> dict[str, object]:
    felt = from_json(meta.get("emotional_context"), dict)
    if not isinstance(felt, dict):
        lacks(id, "emotional context")
        return {}
    given = {name: felt.get(name) for name in ("valence", "arousal")}
    return {name: min(1.0, max(-1.0, float(value))) for name, value in given.items() if isinstance(value, int | float)}


def linked_ids(id: str, meta: Meta, lacks: Lacks) -> list[Json]:
    found: list[Json] = []
    for name, rel in LINK_KEYS.items():
        ids = string_list(meta.get(name))
        if ids is None:
            lacks(id, "ties")
        found += [{"to": other, "rel": rel} for other in ids or () if other.strip() and other != id]
    return found


def summary(text: str, meta: Meta) -> dict[str, object]:
    """One that only repeats how the text begins says nothing."""
    given = meta.get("summary")
    told = given.strip() if isinstance(given, str) else ""
    return {"title": told} if told and len(told) <= LONGEST_TITLE and not text.startswith(told) else {}


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
    with open_database(file) as database:
        require(database, file, TABLES, "Chroma's")
        source = Chroma(path, header(NAME, embedder="" if embedder is None else embedder.identity), database=database)
        source.choose(collections, embedder)
        yield source


@dataclass(slots=True, kw_only=True)
class Chroma(ForeignSource):
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
            return BadRow(number, f"{printable(id)}: {error}")
        return MemoryRow(number, fields, None if vector is None else pack_vectors(vector), printable(id))

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
