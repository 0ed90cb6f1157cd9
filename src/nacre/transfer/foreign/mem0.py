"""Reads mem0: its history database, its local Qdrant store, and what its API exports. Its Chroma store is Chroma's."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nacre.errors import ArchiveRefused, InvalidInput
from nacre.model.memory import Json
from nacre.protocols import Progress
from nacre.remember.guard import Guard
from nacre.transfer.foreign import inert_pickle
from nacre.transfer.foreign import source as foreign
from nacre.transfer.foreign.look import Look
from nacre.transfer.foreign.source import DatabaseSource, ForeignSource, Lacks, printable, strings, times
from nacre.transfer.ingest.items import elements, identity, parse_time
from nacre.transfer.read_archive import BadRow, MemoryRow, Row

NAME, QDRANT, EXPORT = "mem0", "mem0-qdrant", "mem0-export"
HISTORY = {"history": {"memory_id", "old_memory", "new_memory", "event"}}
POINTS = {"points": {"id", "point"}}
COLLECTIONS = "collection"  # the folder of a local Qdrant store
STORAGE = "storage.sqlite"
NO_MEMORIES = ("_entities", "migrations")  # ends of the names of collections where mem0 keeps other things
# Keys of a payload that have a field of their own here, or that are derived from the text.
OWN = frozenset(
    "data memory hash text_lemmatized created_at updated_at user_id agent_id run_id actor_id role id categories"
    " expiration_date metadata score".split()
)
EVENT = re.compile(r'"event"\s*:\s*"(?:ADD|UPDATE|DELETE|NONE)"')  # of what `add` answers
LEFT_OUT = ("DELETE", "NONE")  # events of memories that are gone, or that the answer did not change
HOW_TO_EXPORT = "Write its memories with `json.dump(memory.get_all(), file)` in mem0, and import that file."


def is_history(look: Look) -> bool:
    return look.has_tables(HISTORY)


def is_qdrant(look: Look) -> bool:
    return look.has_tables(POINTS) or (look.is_folder and any(look.path.glob(f"{COLLECTIONS}/*/{STORAGE}")))


def is_export(look: Look) -> bool:
    listed = look.text.startswith("{") and look.has_key("results")  # as `get_all` and `search` answer
    own = look.has_key("user_id", "hash", "agent_id", "run_id", "categories") or bool(EVENT.search(look.text))
    return look.has_key("memory") and (listed or own)


def fields_of(id: str, payload: Mapping[str, object], lacks: Lacks) -> dict[str, object]:
    """A payload under our names. The user is a context: whom it is about."""
    text = payload.get("data") or payload.get("memory")
    if not isinstance(text, str):
        raise InvalidInput("it has no text.")
    made, updated = (parse_time(as_json(payload.get(name))) for name in ("created_at", "updated_at"))
    own = payload.get("metadata")
    rest: dict[str, object] = {key: value for key, value in payload.items() if key not in OWN and value is not None}
    fields: dict[str, object] = {
        "id": id, "text": text, "source": NAME, "agent": str(payload.get("agent_id") or ""),
        "session": str(payload.get("run_id") or ""), "role": str(payload.get("role") or ""),
        "contexts": [str(payload["user_id"])] if payload.get("user_id") else [],
        "tags": strings(payload.get("categories"), id, "categories", lacks),
        "metadata": {**rest, **(own if isinstance(own, dict) else {})},
    }  # fmt: skip
    fields |= times(made, updated)
    if (expires := parse_time(as_json(payload.get("expiration_date")))) is not None:
        fields["expires_at"] = expires
    return fields


def as_json(value: object) -> Json:
    return value if isinstance(value, str | int | float) else None


@contextmanager
def opened_history(path: Path) -> Iterator[History]:
    """Raises `ArchiveRefused`."""
    with foreign.open_database(path) as database:
        foreign.require(database, path, HISTORY, "mem0")
        remark = "The history has no users, agents or metadata; import the vector store of mem0 to have them."
        yield History(path, foreign.header(NAME), [remark], database=database)


class History(DatabaseSource):
    """The last text of each memory that was not deleted."""

    def read(self) -> Iterator[Row]:
        known = foreign.columns(self.database, "history")
        names = ("created_at", "updated_at", "role")
        chosen = ", ".join(name if name in known else f"NULL AS {name}" for name in names)
        query = (
            f"SELECT memory_id AS id, new_memory AS data, event, {chosen} FROM history"
            " WHERE rowid IN (SELECT max(rowid) FROM history GROUP BY memory_id) ORDER BY rowid"
        )
        for record in foreign.records(self.database, query):
            if record["event"] == "DELETE" or not record["data"]:
                continue
            name = printable(record["id"])
            try:
                yield MemoryRow(0, fields_of(str(record["id"]), record, self.lacks), name=name)
            except InvalidInput as error:
                yield BadRow(0, f"{name}: {error}")


@contextmanager
def opened_qdrant(path: Path) -> Iterator[Qdrant]:
    """`path` is the folder of the store, or the file of a collection. Raises `ArchiveRefused`."""
    collections = sorted(path.glob(f"{COLLECTIONS}/*/{STORAGE}")) if path.is_dir() else [path]
    chosen = [file for file in collections if not file.parent.name.endswith(NO_MEMORIES)]
    if not chosen:
        raise ArchiveRefused(path, "there is no collection of memories in it", "Name the folder of a Qdrant store.")
    source = Qdrant(path, foreign.header(QDRANT), files=chosen)
    left = [file.parent.name for file in collections if file not in chosen]
    if left:
        source.remarks.append(f"Collections without memories were left out: {', '.join(left)}.")
    yield source


@dataclass(slots=True, kw_only=True)
class Qdrant(ForeignSource):
    """Points are pickles, of which only the plain data is read (`inert_pickle`)."""

    files: list[Path]

    def rows(self, progress: Progress | None = None) -> Iterator[Row]:  # noqa: ARG002 - one reading is quick
        self.partial.clear()
        number = 0
        for file in self.files:
            with foreign.open_database(file) as database:
                foreign.require(database, file, POINTS, "Qdrant")
                try:
                    for (point,) in database.execute("SELECT point FROM points ORDER BY rowid"):
                        number += 1
                        yield self.row(number, point)
                except sqlite3.Error as error:
                    number += 1
                    yield BadRow(number, f"the rest of {file.parent.name!r} cannot be read ({error})")

    def row(self, number: int, point: object) -> Row:
        try:
            id, payload = point_of(point)
            return MemoryRow(number, fields_of(id, payload, self.lacks), name=printable(id))
        except InvalidInput as error:
            return BadRow(number, f"{error} {HOW_TO_EXPORT}")


def point_of(data: object) -> tuple[str, Mapping[str, object]]:
    """The id and the payload of a point. Raises `InvalidInput`."""
    thing = inert_pickle.read(bytes(data)) if isinstance(data, bytes) else None
    state = thing.state if isinstance(thing, inert_pickle.Thing) else None
    values = state.get("__dict__", state) if isinstance(state, dict) else None
    payload = values.get("payload") if isinstance(values, dict) else None
    if not isinstance(values, dict) or not isinstance(payload, dict):
        raise InvalidInput("it is not a point of Qdrant.")
    return str(values.get("id")), payload


@contextmanager
def opened_export(path: Path, guard: Guard) -> Iterator[Exported]:
    yield Exported(path, foreign.header(EXPORT), guard=guard)


@dataclass(slots=True, kw_only=True)
class Exported(ForeignSource):
    """A JSON list of memories, or an object with it under `results` or `memories`. One without an id gets one from its
    text and whom it is about, so that a second import adds nothing."""

    guard: Guard
    left_out: int = 0

    def further_notes(self) -> Iterator[str]:
        were = "1 memory was" if self.left_out == 1 else f"{self.left_out:,} memories were"
        if self.left_out:
            yield f"{were} left out, which mem0 deleted or did not change (event DELETE or NONE)."

    def rows(self, progress: Progress | None = None) -> Iterator[Row]:  # noqa: ARG002 - one reading is quick
        self.partial.clear()
        self.left_out = number = 0
        try:
            for number, entry in enumerate(entries(self.path), 1):
                if isinstance(entry, dict) and entry.get("event") in LEFT_OUT:
                    self.left_out += 1
                else:
                    yield self.row(number, entry)
        except ValueError as error:
            yield BadRow(number + 1, f"the rest is not JSON ({error})")

    def row(self, number: int, entry: object) -> Row:
        if not isinstance(entry, dict):
            return BadRow(number, "it is not a memory of mem0.")
        id = str(entry.get("id") or "")
        name = printable(id)
        try:
            fields = fields_of(id, entry, self.lacks)
            return MemoryRow(number, {**fields, "id": id or self.made_id(fields)}, name=name)
        except InvalidInput as error:
            return BadRow(number, f"{name}: {error}" if name else str(error))

    def made_id(self, fields: Mapping[str, object]) -> str:
        """Of the text without secrets: a hash of a short secret would reveal it."""
        clean, _ = self.guard.fields({"text": str(fields["text"]).strip()})
        return identity(NAME, *(str(fields[name]) for name in ("contexts", "agent", "session")), str(clean["text"]))


def entries(path: Path) -> Iterator[Json]:
    """Raises `ValueError` where the rest is not JSON."""
    for element, _ in elements(path):
        yield from listed(element)


def listed(element: Json) -> list[Json]:
    if isinstance(element, dict):
        for name in ("results", "memories"):
            inner = element.get(name)
            if isinstance(inner, list):
                return inner
    return [element]
