"""What a record of a Chroma collection means: AI-Houkai's, Mnemosyne's, or somebody's text with notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol, cast

from nacre.model.memory import LIVE_STATUSES, TYPES, Json
from nacre.portability import ahkai
from nacre.portability.foreign.source import texts, unjson

Lacks = Callable[[str, str], None]
Meta = Mapping[str, Json]
LONGEST_TITLE = 1_000  # characters; a longer summary stays among the notes
HOUKAI = frozenset((*ahkai.SAME, "tags", "source", "links", "superseded_by", "superseded_at"))
MNEMOSYNE = frozenset(
    "summary memory_type status importance_score created_at last_accessed access_count tags metadata_json"
    " emotional_context source_memory_ids related_memory_ids".split()
)
TIES = {"source_memory_ids": "derived_from", "related_memory_ids": "related"}


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
        known["access_count"] = whole(known["access_count"])
    ties = unjson(known.pop("links", None), list)
    fields = ahkai.fields({"id": id, "meta": known} | ({} if text is None else {"text": text}))
    fields["links"] = good_ties(id, ties, lacks)
    return fields | ({"metadata": rest} if rest else {})


def whole(given: Json) -> Json:
    """A count that went through floats."""
    return int(given) if isinstance(given, float) and given.is_integer() else given


def good_ties(id: str, given: Json, lacks: Lacks) -> list[Json]:
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
        fields["access_count"] = whole(meta["access_count"])
    fields |= times(id, meta, lacks) | feeling(id, meta, lacks)
    tags = texts(meta.get("tags"))
    if tags is None:
        lacks(id, "tags")
    return fields | {"tags": tags or [], "links": lineage(id, meta, lacks)} | summary(text or "", meta)


def notes(id: str, meta: Meta, lacks: Lacks) -> dict[str, Json]:
    found = unjson(meta.get("metadata_json"), dict)
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


def feeling(id: str, meta: Meta, lacks: Lacks) -> dict[str, object]:
    felt = unjson(meta.get("emotional_context"), dict)
    if not isinstance(felt, dict):
        lacks(id, "emotional context")
        return {}
    given = {name: felt.get(name) for name in ("valence", "arousal")}
    return {name: min(1.0, max(-1.0, float(value))) for name, value in given.items() if isinstance(value, int | float)}


def lineage(id: str, meta: Meta, lacks: Lacks) -> list[Json]:
    found: list[Json] = []
    for name, rel in TIES.items():
        ids = texts(meta.get(name))
        if ids is None:
            lacks(id, "ties")
        found += [{"to": other, "rel": rel} for other in ids or () if other.strip() and other != id]
    return found


def summary(text: str, meta: Meta) -> dict[str, object]:
    """One that only repeats how the text begins says nothing."""
    given = meta.get("summary")
    told = given.strip() if isinstance(given, str) else ""
    return {"title": told} if told and len(told) <= LONGEST_TITLE and not text.startswith(told) else {}
