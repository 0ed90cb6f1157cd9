"""Reads memories of AI-Houkai, Mnemosyne, mem0 and MemPalace from a Chroma folder; vectors are computed again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeAlias, cast

from nacre.errors import ArchiveRefused, InvalidInput, UnknownName
from nacre.model.memory import LIVE_STATUSES, TYPES, Json
from nacre.protocols import Progress
from nacre.transfer import ahkai
from nacre.transfer.foreign import mem0
from nacre.transfer.foreign import source as foreign
from nacre.transfer.foreign.look import Look
from nacre.transfer.foreign.source import ForeignSource, Lacks, Record, printable, times
from nacre.transfer.ingest.items import parse_time
from nacre.transfer.read_archive import BadRow, MemoryRow, Row

Meta = Mapping[str, Json]
LONGEST_TITLE = 1_000  # characters; a longer summary goes into the metadata
HOUKAI = frozenset((*ahkai.SAME, "tags", "source", "links", "superseded_by", "superseded_at"))
MNEMOSYNE = frozenset(
    "summary memory_type status importance_score created_at last_accessed access_count tags metadata_json"
    " emotional_context source_memory_ids related_memory_ids".split()
)
LINK_KEYS = {"source_memory_ids": "derived_from", "related_memory_ids": "related"}


def houkai(id: str, text: str | None, meta: Meta, lacks: Lacks) -> dict[str, object]:
    known = {key: value for key, value in meta.items() if key in HOUKAI}
    rest = {key: value for key, value in meta.items() if key not in HOUKAI}
    if known.get("type") not in (None, *TYPES):
        rest["type"] = known.pop("type")
    if isinstance(known.get("tags"), list):
        known["tags"] = ",".join(str(each) for each in cast("list[Json]", known["tags"]))
    if "access_count" in known:
        known["access_count"] = integral(known["access_count"])
    links = foreign.from_json(known.pop("links", None), list)
    fields = ahkai.fields({"id": id, "meta": known} | ({} if text is None else {"text": text}))
    fields["links"] = valid_links(id, links, lacks)
    return fields | ({"metadata": rest} if rest else {})


def integral(value: Json) -> Json:
    """A count that was stored as a float."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def valid_links(id: str, links: Json, lacks: Lacks) -> list[Json]:
    listed = links if isinstance(links, list) else []
    good: list[Json] = [each for each in listed if isinstance(each, dict) and each.get("to") and each["to"] != id]
    if links is None or len(good) < len(listed):
        lacks(id, "links")
    return good


OF_MNEMOSYNE = "mnemosyne"  # the key in the metadata


def mnemosyne(id: str, text: str | None, meta: Meta, lacks: Lacks) -> dict[str, object]:
    rest = {key: value for key, value in meta.items() if key not in MNEMOSYNE}
    fields: dict[str, object] = {"id": id, "metadata": rest | notes(id, text or "", meta, lacks), "type": "episodic"}
    if text is not None:
        fields["text"] = text
    for theirs, ours, known in (("memory_type", "type", TYPES), ("status", "status", LIVE_STATUSES)):
        value = str(meta.get(theirs, "")).lower()
        if value in known:
            fields[ours] = value
    if meta.get("importance_score") is not None:
        fields["importance"] = meta["importance_score"]
    if meta.get("access_count") is not None:
        fields["access_count"] = integral(meta["access_count"])
    fields |= local_times(id, meta, lacks) | emotion(id, meta, lacks)
    tags = foreign.string_list(meta.get("tags"))
    if tags is None:
        lacks(id, "tags")
    return fields | {"tags": tags or [], "links": linked_ids(id, meta, lacks)} | summary(text or "", meta)


def notes(id: str, text: str, meta: Meta, lacks: Lacks) -> dict[str, Json]:
    """Its own metadata, and what has no field here, where `nacre.compat.mnemosyne` looks for it."""
    own = foreign.from_json(meta.get("metadata_json"), dict)
    if own is None:
        lacks(id, "metadata")
    more, felt = meta.get("summary"), foreign.from_json(meta.get("emotional_context"), dict)
    kept: dict[str, Json] = {}
    if isinstance(more, str) and more.strip() and not summary(text, meta):
        kept["summary"] = more
    if isinstance(felt, dict) and isinstance(felt.get("quadrant"), str):
        kept["quadrant"] = felt["quadrant"]
    metadata = dict(own) if isinstance(own, dict) else {}
    if OF_MNEMOSYNE in metadata:
        kept["given"] = metadata.pop(OF_MNEMOSYNE)
    return {**metadata, **({OF_MNEMOSYNE: kept} if kept else {})}


def local_times(id: str, meta: Meta, lacks: Lacks) -> dict[str, object]:
    """Mnemosyne writes local times without a zone."""
    known: dict[str, object] = {}
    for name in ("created_at", "last_accessed"):
        value = meta.get(name)
        if value in (None, ""):
            continue
        try:
            known[name] = datetime.fromisoformat(value).timestamp() if isinstance(value, str) else value
        except (ValueError, OverflowError, OSError):
            lacks(id, "times")
    return {**times(known.get("created_at")), **known}


def emotion(id: str, meta: Meta, lacks: Lacks) -> dict[str, object]:
    felt = foreign.from_json(meta.get("emotional_context"), dict)
    if not isinstance(felt, dict):
        lacks(id, "emotional context")
        return {}
    values = {name: felt.get(name) for name in ("valence", "arousal")}
    return {name: min(1.0, max(-1.0, float(value))) for name, value in values.items() if isinstance(value, int | float)}


def linked_ids(id: str, meta: Meta, lacks: Lacks) -> list[Json]:
    links: list[Json] = []
    for name, rel in LINK_KEYS.items():
        ids = foreign.string_list(meta.get(name))
        if ids is None:
            lacks(id, "links")
        links += [{"to": other, "rel": rel} for other in ids or () if other.strip() and other != id]
    return links


def summary(text: str, meta: Meta) -> dict[str, object]:
    """Empty when the summary only repeats the beginning of the text."""
    value = meta.get("summary")
    title = value.strip() if isinstance(value, str) else ""
    return {"title": title} if title and len(title) <= LONGEST_TITLE and not text.startswith(title) else {}


PALACE = frozenset("wing room source_file added_by filed_at chunk_index last_modified".split())


def palace(id: str, text: str | None, meta: Meta, _lacks: Lacks) -> dict[str, object]:
    """A drawer of MemPalace: its wing is a context, its room a tag; chunks of one file are in their order."""
    rest = {key: value for key, value in meta.items() if key not in PALACE}
    file = str(meta.get("source_file") or "")
    fields: dict[str, object] = {
        "id": id, "source": "mempalace", "source_notes": file, "agent": str(meta.get("added_by") or ""),
        "contexts": [str(meta["wing"])], "tags": [str(meta["room"])] if meta.get("room") else [], "session": file,
        "metadata": rest,
    }  # fmt: skip
    if file and isinstance(chunk := integral(meta.get("chunk_index")), int) and chunk >= 0:
        fields["position"] = chunk
    if text is not None:
        fields["text"] = text
    return fields | times(parse_time(meta.get("filed_at")), parse_time(meta.get("last_modified")))


def of_mem0(id: str, _text: str | None, meta: Meta, lacks: Lacks) -> dict[str, object]:
    return mem0.fields_of(id, meta, lacks)


def converter(text: str | None, meta: Meta) -> Callable[[str, str | None, Meta, Lacks], dict[str, object]]:
    """Which program wrote a record shows in its metadata."""
    if "memory_type" in meta:
        return mnemosyne
    if "wing" in meta:
        return palace
    if text is None and "data" in meta:
        return of_mem0
    return houkai


def matches(look: Look) -> bool:
    return look.holds(FILE) or look.has_tables(TABLES)


NAME = "chroma"
FILE = "chroma.sqlite3"
DOCUMENT = "chroma:document"  # the metadata key of the text
TABLES = {
    "collections": {"id", "name", "dimension"},
    "segments": {"id", "scope", "collection"},
    "embeddings": {"id", "segment_id", "embedding_id"},
    "embedding_metadata": {"id", "key", "string_value", "int_value", "float_value"},
}
VALUES = ("string_value", "int_value", "float_value")
# The two collections of Mnemosyne are one memory; a record that a crash left in both counts as long-term.
TOGETHER = ("long_term_memory", "short_term_memory")
# Collections beside the memories: indexes and names, which are derived from them.
NO_MEMORIES = frozenset(("mempalace_closets", "mempalace_compressed", "mem0migrations"))
NO_MEMORIES_END = "_entities"
Lists: TypeAlias = dict[int, dict[str, Json]]


@contextmanager
def opened(path: Path, collections: Sequence[str] = ()) -> Iterator[Chroma]:
    """Reads all collections, or the named ones.

    Raises `ArchiveRefused`, and `InvalidInput` when there are several independent collections and none is named.
    """
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        raise ArchiveRefused(path, f"there is no {FILE} in it, so it is not a Chroma folder", "Name the right one.")
    with foreign.open_database(file) as database:
        foreign.require(database, file, TABLES, "Chroma")
        source = Chroma(path, foreign.header(NAME), database=database)
        source.choose(collections)
        yield source


class SeveralCollections(InvalidInput):
    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self.fact = f"holds {len(names)} collections of Chroma ({', '.join(names)}), which are independent"
        super().__init__(f"{path} {self.fact}; choose with --collection, and set the target with --space.")


@dataclass(slots=True, kw_only=True)
class Chroma(ForeignSource):
    database: sqlite3.Connection
    chosen: Mapping[str, str] = field(default_factory=dict)  # collections, each with the segment of its records

    def rows(self, progress: Progress | None = None) -> Iterator[Row]:  # noqa: ARG002 - one reading is quick
        self.partial.clear()
        number = 0
        for collection, segment in self.chosen.items():
            try:
                lists = self._lists(segment)
                for key, id in self._keys(segment):
                    number += 1
                    yield self._row(number, key, id, lists)
            except sqlite3.Error as error:
                number += 1
                yield BadRow(number, f"the rest of the collection {collection!r} cannot be read ({error})")

    def _row(self, number: int, key: int, id: str, lists: Lists) -> Row:
        try:
            meta = self._meta(key) | lists.get(key, {})
            text = meta.pop(DOCUMENT, None)
            written = text if isinstance(text, str) else None
            fields = converter(written, meta)(id, written, meta, self.lacks)
        except (InvalidInput, sqlite3.Error) as error:
            return BadRow(number, f"{printable(id)}: {error}")
        return MemoryRow(number, fields, name=printable(id))

    def _keys(self, segment: str) -> Iterator[tuple[int, str]]:
        """In table order; the parts of each record are read one by one, so that a damaged page loses only its own."""
        query = "SELECT id, embedding_id FROM embeddings NOT INDEXED WHERE segment_id = ? ORDER BY id"
        yield from self.database.execute(query, (segment,))

    def _meta(self, key: int) -> dict[str, Json]:
        rows = foreign.records(self.database, "SELECT * FROM embedding_metadata WHERE id = ?", key)
        return {str(each["key"]): value(each) for each in rows}

    def _lists(self, segment: str) -> Lists:
        """Newer versions store lists in a separate table; few records have any."""
        lists: Lists = {}
        if not foreign.columns(self.database, "embedding_metadata_array"):
            return lists
        query = ("SELECT a.* FROM embedding_metadata_array a JOIN embeddings e ON e.id = a.id "
                 "WHERE e.segment_id = ? ORDER BY a.rowid")  # fmt: skip
        for each in foreign.records(self.database, query, segment):
            listed = lists.setdefault(cast(int, each["id"]), {}).setdefault(str(each["key"]), [])
            cast("list[Json]", listed).append(value(each))
        return lists

    def choose(self, names: Sequence[str]) -> None:
        records = foreign.records(self.database, "SELECT * FROM collections ORDER BY name")
        there = {str(each["name"]): each for each in records}
        for name in names:
            UnknownName.check("collection", name, there)
        memories = [name for name in there if name not in NO_MEMORIES and not name.endswith(NO_MEMORIES_END)]
        wanted = list(names) or [name for name in TOGETHER if name in there] or memories or list(there)
        left = [name for name in there if name not in wanted]
        if not names and len(wanted) > 1 and not set(wanted) <= set(TOGETHER):
            raise SeveralCollections(self.path, wanted)
        if left:
            self.remarks.append(f"Other collections were left out: {', '.join(left)}.")
        segments = {name: self._segment(str(there[name]["id"])) for name in wanted}
        self.chosen = {name: segment for name, segment in segments.items() if segment is not None}
        for name in segments.keys() - self.chosen.keys():
            self.remarks.append(f"The collection {name!r} is incomplete and has no records.")

    def _segment(self, collection: str) -> str | None:
        query = "SELECT id FROM segments WHERE collection = ? AND scope = 'METADATA'"
        return next((str(each["id"]) for each in foreign.records(self.database, query, collection)), None)


def value(record: Record) -> Json:
    content = next((record[name] for name in VALUES if record[name] is not None), None)
    if content is None and record.get("bool_value") is not None:
        return bool(record["bool_value"])
    return content if isinstance(content, str | int | float) else None
