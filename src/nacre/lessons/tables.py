"""Values that lessons name in their metadata, from tables that the book was taught."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nacre.lessons.vocabulary import DESCRIPTION, NEAR, NEAREST, normal
from nacre.memory_store import MemoryStore
from nacre.model.memory import Json

REFERENCE = "reference"  # the kind of word that holds them, each named by its table and itself: "priority:high"
PARTED = ":"
ORDINAL = "ordinal"


@dataclass(frozen=True, slots=True)
class Reference:
    """A value that a lesson may name in its metadata under the table's name."""

    name: str
    ordinal: int | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class Named:
    """Metadata as it is kept, and what is to be said about the values that no table has."""

    metadata: Mapping[str, Json]
    warnings: tuple[str, ...] = ()
    suggestions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def references(store: MemoryStore, table: str) -> tuple[Reference, ...]:
    found = []
    for full, data in store.vocabulary(REFERENCE).items():
        kind, _, name = full.partition(PARTED)
        ordinal = data.get(ORDINAL)
        if kind == table:
            place = ordinal if isinstance(ordinal, int) else None
            found.append(Reference(name, place, str(data.get(DESCRIPTION) or "")))
    return tuple(sorted(found, key=lambda each: (each.ordinal is None, each.ordinal, each.name)))


def checked_against(store: MemoryStore, metadata: Mapping[str, Json]) -> Named:
    """A value is written as its table has it; one that the table has not is kept, and told."""
    kept, warnings = dict(metadata), []
    suggestions: dict[str, tuple[str, ...]] = {}
    for key, value in metadata.items():
        known = [each.name for each in references(store, key)] if isinstance(value, str) else []
        if not known:
            continue
        kept[key] = name = normal(str(value))
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean {near[0]!r}?" if near else "use one of: " + ", ".join(known) + "."
            warnings.append(f"{key} {name!r} not recognized, {hint}")
            suggestions |= {name: near} if near else {}
    return Named(kept, tuple(warnings), suggestions)


def nearest(name: str, known: list[str]) -> tuple[str, ...]:
    from rapidfuzz import fuzz, process

    return tuple(
        found for found, _, _ in process.extract(name, known, scorer=fuzz.ratio, limit=NEAREST, score_cutoff=NEAR)
    )
