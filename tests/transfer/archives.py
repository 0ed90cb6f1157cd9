"""Archives made by hand, whole or broken in one place, and stores that speak of many things."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from nacre import Link, Memory, MemoryStore
from nacre.model.memory import Json
from tests.prepared_stores import store_at

HEADER: dict[str, Json] = {
    "format": "nacre/archive",
    "version": 1,
    "exported_at": "2026-03-31T09:00:00Z",
    "source": {"space": "default", "embedder": "hashing-384", "dimensions": 384, "count": 1},
    "options": {},
}
AHKAI: dict[str, Json] = {
    "format": "ai-houkai/export",
    "version": 1,
    "exported_at": 1_750_000_000.0,
    "source": {"collection": "old", "embedding_model": "hashing-384", "embedding_dim": 384, "count": 1},
    "options": {},
}


def opened(path: Path | str = ":memory:") -> MemoryStore:
    return MemoryStore(path if path == ":memory:" else store_at(Path(path)), embedder="hashing")


def memory(id: str = "m", text: str = "The ferry leaves at nine", **fields: Json) -> dict[str, Json]:
    return {"memory": {"id": id, "text": text, "created_at": 1_750_000_000.0, **fields}}


def line(row: object) -> bytes:
    return json.dumps(row).encode() + b"\n"


def closed(lines: Sequence[bytes]) -> list[bytes]:
    digest = hashlib.sha256(b"".join(lines)).hexdigest()
    return [*lines, line({"end": {"count": len(lines) - 1, "sha256": digest}})]


def written(path: Path, *rows: object, header: Mapping[str, object] = HEADER) -> Path:
    """A whole archive of these rows; bytes are lines as they are."""
    lines = [line(header), *(row if isinstance(row, bytes) else line(row) for row in rows)]
    path.write_bytes(gzip.compress(b"".join(closed(lines) if header["format"] == HEADER["format"] else lines)))
    return path


def full(store: MemoryStore) -> list[Memory]:
    """Some of everything that a memory can be."""
    store.register_type("recipe")
    store.register_relation("feeds", "gives it to eat")
    first = store.remember("The harbour crane lifts forty tons", tags=["crane", "port"], on_conflict="ignore")
    second = store.remember(
        "The harbour crane lifts sixty tons since spring",
        title="Crane",
        type="recipe",
        contexts=["port.north"],
        anti_contexts=["winter"],
        entities=["Harbour"],
        source="tested",
        source_notes="seen at the quay",
        metadata={"page": 3, "inner": {"list": [1, 2.5, None, True]}},
        importance=0.9,
        confidence=0.7,
        polarity=1,
        valence=-0.25,
        arousal=0.5,
        session="s1",
        position=4,
        role="Ann",
        occurred_at="2026-03-31",
        expires_at="2036-03-31",
        links=[Link(first.id, "feeds", 0.4, {"since": "May"})],
        on_conflict="ignore",
    )
    store.supersede(first.id, second.id)
    put_away = store.remember("The old slipway is closed", on_conflict="ignore")
    store.archive(put_away.id)
    store.pin(store.remember("Tide tables hang in the office", on_conflict="ignore").id)
    store.forget(store.remember("A gull sat on the bollard", on_conflict="ignore").id)
    return everything(store)


def everything(store: MemoryStore, *, trash: bool = False) -> list[Memory]:
    return list(
        store.iterate(include_superseded=True, include_archived=True, include_expired=True, include_trashed=trash)
    )
