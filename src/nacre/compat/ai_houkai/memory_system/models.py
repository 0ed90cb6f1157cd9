"""AI-Houkai's values: a memory that callers change in place, and what its store answers with."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeAlias

from nacre.model import ExpandSpec, HybridWeights
from nacre.model import Link as NativeLink
from nacre.model import Memory as NativeMemory
from nacre.model.memory import Json
from nacre.transfer import ahkai
from nacre.transfer.archive import ExportSummary

__all__ = ["ExpandSpec", "ExportSummary", "HybridWeights"]

MemoryType: TypeAlias = Literal["episodic", "semantic", "procedural", "feedback"]
ConflictFn: TypeAlias = "Callable[[Memory, Memory], bool]"


@dataclass
class Link:
    to: str
    rel: str = "related"


@dataclass
class Memory:
    id: str
    text: str
    type: str = "semantic"
    tags: list[str] = field(default_factory=list)
    importance: float = 0.5
    created_at: float = field(default_factory=time.time)
    last_accessed: float = field(default_factory=time.time)
    access_count: int = 0
    source: str | None = None
    links: list[Link] = field(default_factory=list)
    superseded_by: str = ""
    superseded_at: float = 0.0
    polarity: int = 0

    @classmethod
    def from_record(cls, id: str, text: str, meta: Mapping[str, object]) -> Memory:
        """Missing metadata get the defaults of a new memory; unreadable links are dropped."""
        return cls.from_dict(ahkai.fields({"id": id, "text": text, "meta": dict(meta)}))

    def to_metadata(self) -> dict[str, Json]:
        """Plain values only: tags joined by commas, links as JSON."""
        meta = ahkai.row(self.native(""))["meta"]
        return meta if isinstance(meta, dict) else {}

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Memory:
        known = {name: values[name] for name in NAMES if values.get(name) is not None}
        listed = (each for each in known.get("links", ()) if "to" in each)
        links = [Link(str(each["to"]), str(each.get("rel", "related"))) for each in listed]
        known |= {"tags": list(known.get("tags", ())), "links": links, "source": known.get("source") or None}
        return cls(**known)

    @classmethod
    def of(cls, memory: NativeMemory) -> Memory:
        values = {name: getattr(memory, name) for name in NAMES}
        return cls.from_dict({**values, "links": [{"to": link.to, "rel": link.rel} for link in memory.links]})

    def native(self, space: str) -> NativeMemory:
        values: dict[str, Any] = {name: getattr(self, name) for name in NAMES}
        values |= {"tags": tuple(self.tags), "links": tuple(NativeLink(link.to, link.rel) for link in self.links)}
        values |= {"source": self.source or "", "superseded_at": self.superseded_at or None}
        return NativeMemory(**values, space=space, updated_at=self.created_at)


NAMES = tuple(each.name for each in fields(Memory))


@dataclass
class Graph:
    nodes: dict[str, Memory]
    edges: list[tuple[str, str, str]]


class Neighbors(list[tuple[Memory, str]]):
    """Pairs of a memory and the relation that led to it; `dangling` are ids that lead nowhere."""

    def __init__(self, matches: Sequence[tuple[Memory, str]] = (), dangling: Sequence[str] = ()) -> None:
        super().__init__(matches)
        self.dangling = list(dangling)


@dataclass
class Conflict:
    a: Memory
    b: Memory
    similarity: float
    kind: str
    reason: str


class ConflictError(Exception):
    def __init__(self, conflicts: list[Conflict]) -> None:
        super().__init__(f"Nothing was stored: {len(conflicts)} conflict(s) were found; supersede them first.")
        self.conflicts = conflicts


@dataclass
class RememberResult:
    memory: Memory
    conflicts: list[Conflict] = field(default_factory=list)
    action: str = "stored"


@dataclass
class PackedMemory:
    memory: Memory
    score: float
    tokens: int


@dataclass
class PackResult:
    items: list[PackedMemory]
    text: str
    used_tokens: int
    budget: int
    truncated: bool

    def __len__(self) -> int:
        return len(self.items)

    def ids(self) -> list[str]:
        return [item.memory.id for item in self.items]


@dataclass
class ImportSummary:
    """`errors` are pairs of a line and what is wrong with it."""

    imported: int = 0
    skipped: int = 0
    overwritten: int = 0
    renamed: int = 0
    errors: list[tuple[str, str]] = field(default_factory=list)
    vectors_regenerated: bool = False


class ImportConflictError(Exception):
    def __init__(self, message: str, *, collisions: Sequence[str]) -> None:
        super().__init__(message)
        self.collisions = list(collisions)
