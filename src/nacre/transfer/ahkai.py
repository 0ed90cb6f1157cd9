"""Converts between our memories and the rows of AI-Houkai archives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite

from nacre.errors import InvalidInput
from nacre.model import Memory
from nacre.model.instants import FIRST, LAST, iso
from nacre.model.memory import DEFAULTS, Json

SOURCE = ("collection", "embedding_model", "embedding_dim", "count")  # in the header; ours: space, embedder, …
# Metadata that have the same name and a plain value in both.
SAME = ("type", "importance", "created_at", "last_accessed", "access_count", "polarity")
# Fields that its files can hold; the rest of a memory is lost there.
CARRIED = (*SAME, "id", "text", "tags", "source", "links", "superseded_by", "superseded_at", "space", "updated_at")


def row(memory: Memory) -> dict[str, Json]:
    meta: dict[str, Json] = {name: getattr(memory, name) for name in SAME}
    meta |= {
        "tags": ",".join(memory.tags),
        "source": memory.source,
        "links": json.dumps([{"to": link.to, "rel": link.rel} for link in memory.links], ensure_ascii=False),
        "superseded_by": memory.superseded_by,
        "superseded_at": memory.superseded_at or 0.0,
    }
    return {"id": memory.id, "text": memory.text, "meta": meta}


def loses(memory: Memory) -> bool:
    """True when the file format cannot hold all of the memory."""
    more = any(getattr(memory, name) != default for name, default in DEFAULTS.items() if name not in CARRIED)
    weighted = any(link.weight != 1.0 or link.data for link in memory.links)
    return more or weighted or any("," in tag for tag in memory.tags)


def fields(row: Mapping[str, object]) -> dict[str, object]:
    """The row under our field names, unchecked. Missing fields are left out, and unreadable links become none. Raises
    `InvalidInput`."""
    meta = row.get("meta", {})
    if not isinstance(meta, dict):
        raise InvalidInput("its meta must be a JSON object.")
    fields: dict[str, object] = {name: row[name] for name in ("id", "text") if name in row}
    fields |= {name: meta[name] for name in SAME if meta.get(name) is not None}
    fields["tags"] = tags(meta.get("tags"))
    fields["links"] = links(meta.get("links"))
    fields["source"] = meta.get("source") or ""
    fields["superseded_by"] = meta.get("superseded_by") or ""
    fields["superseded_at"] = meta.get("superseded_at") or None
    if "created_at" in fields:
        fields["updated_at"] = fields["created_at"]
    return fields


def tags(value: object) -> object:
    return [tag for tag in value.split(",") if tag.strip()] if isinstance(value, str) else value or []


def links(value: object) -> list[Json]:
    if isinstance(value, str):
        try:
            value = json.loads(value or "[]")
        except (ValueError, RecursionError):
            return []
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def header_time(value: object) -> str:
    """A time in a header, which AI-Houkai writes as seconds."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return iso(float(value)) if number and isfinite(value) and FIRST <= value <= LAST else ""  # type: ignore[arg-type, operator]
