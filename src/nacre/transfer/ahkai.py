"""AI-Houkai's archives: its names for what a memory of ours has, both ways."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite

from nacre.errors import InvalidInput
from nacre.model import Link, Memory
from nacre.model.instants import FIRST, LAST, iso
from nacre.model.memory import DEFAULTS, Json

SOURCE = ("collection", "embedding_model", "embedding_dim", "count")  # in the header; ours: space, embedder, …
# What its metadata have under our own names, as plain values.
SAME = ("type", "importance", "created_at", "last_accessed", "access_count", "polarity")
# What it has a place for; the rest of a memory is lost in its files.
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
    """True when the file has no place for something that the memory says."""
    more = any(getattr(memory, name) != default for name, default in DEFAULTS.items() if name not in CARRIED)
    return more or any("," in tag for tag in memory.tags) or any(not is_plain(link) for link in memory.links)


def is_plain(link: Link) -> bool:
    return link.weight == 1.0 and not link.data


def fields(given: Mapping[str, object]) -> dict[str, object]:
    """A row's fields under our names, unchecked; what it does not say is left out, and ties that cannot be read are
    none. Raises `InvalidInput`."""
    meta = given.get("meta", {})
    if not isinstance(meta, dict):
        raise InvalidInput("its meta must be a JSON object.")
    found: dict[str, object] = {name: given[name] for name in ("id", "text") if name in given}
    found |= {name: meta[name] for name in SAME if meta.get(name) is not None}
    found["tags"] = tags(meta.get("tags"))
    found["links"] = links(meta.get("links"))
    found["source"] = meta.get("source") or ""
    found["superseded_by"] = meta.get("superseded_by") or ""
    found["superseded_at"] = meta.get("superseded_at") or None
    if "created_at" in found:
        found["updated_at"] = found["created_at"]
    return found


def tags(given: object) -> object:
    return [tag for tag in given.split(",") if tag.strip()] if isinstance(given, str) else given or []


def links(given: object) -> list[Json]:
    if isinstance(given, str):
        try:
            given = json.loads(given or "[]")
        except (ValueError, RecursionError):
            return []
    return [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []


def header_time(given: object) -> str:
    """A time in a header, which AI-Houkai writes as seconds."""
    number = isinstance(given, int | float) and not isinstance(given, bool)
    return iso(float(given)) if number and isfinite(given) and FIRST <= given <= LAST else ""  # type: ignore[arg-type, operator]
