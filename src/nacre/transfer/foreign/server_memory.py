"""Reads the file of the MCP reference memory server: entities, observations and relations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar
from uuid import UUID, uuid5

from nacre.errors import ArchiveRefused
from nacre.model.memory import Json
from nacre.protocols import Progress
from nacre.transfer.archive import Lines
from nacre.transfer.foreign.look import Look
from nacre.transfer.foreign.source import ForeignSource, header, printable
from nacre.transfer.read_archive import BadRow, MemoryRow, Row, parse_line

NAME = "server-memory"
NAMESPACE = UUID("7d0c3a52-6a0e-5c0b-9a57-0c6f3f1d2b84")  # the same text gets the same id at every import
SUPERSEDES, REPLACES = "supersedes", "replaces"  # "supersedes" has a special meaning here


def matches(look: Look) -> bool:
    return any(entity(dict(each)) or each.get("type") == "relation" for each in look.first_lines)


@contextmanager
def opened(path: Path) -> Iterator[ServerMemory]:
    """Raises `ArchiveRefused`."""
    if not path.is_file():
        raise ArchiveRefused(path, "there is no such file", "Check the path.")
    source = ServerMemory(path, header(NAME), at=path.stat().st_mtime)
    source.read_graph()
    yield source


@dataclass(slots=True, kw_only=True)
class ServerMemory(ForeignSource):
    """Each observation becomes a memory, so that a later import adds only new ones. A relation of two entities links
    their first memories. The file has no times; `at` is when it was last written."""

    relates: ClassVar[bool] = True

    at: float
    bad: list[BadRow] = field(default_factory=list)
    first: dict[str, str] = field(default_factory=dict)  # of each entity, the id of its first memory
    links: dict[str, dict[tuple[str, str], Json]] = field(default_factory=dict)

    def rows(self, progress: Progress | None = None) -> Iterator[Row]:
        yield from self.bad
        for number, line in Lines(self.path, progress):
            value = parse_line(line)
            if entity(value) and isinstance(value, dict):
                yield from self._observed(number, value)

    def read_graph(self) -> None:
        relations = []
        for number, line in Lines(self.path):
            value = parse_line(line) if line.strip() else None
            if entity(value) and isinstance(value, dict):
                said = enumerate(observations(value))
                usable = (place for place, text in said if isinstance(text, str) and text.strip())
                self.first.setdefault(str(value["name"]), id_of(value, next(usable, 0)))
            elif isinstance(value, dict) and value.get("type") == "relation":
                relations.append((number, value))
            elif value is not None:
                why = value if isinstance(value, str) else "it is neither an entity nor a relation."
                self.bad.append(BadRow(number, why))
        if not self.first and not relations:
            raise ArchiveRefused(self.path, "it holds no entities or relations", "Name the server's memory file.")
        for number, value in relations:
            self._link(number, value)

    def _link(self, number: int, relation: Mapping[str, object]) -> None:
        start, end, rel = (relation.get(name) for name in ("from", "to", "relationType"))
        ends = [self.first.get(each) if isinstance(each, str) else None for each in (start, end)]
        if ends[0] is None or ends[1] is None or not isinstance(rel, str) or not rel.strip():
            why = f"it links {printable(start)} to {printable(end)}, and one of them is missing."
            self.bad.append(BadRow(number, why))
        elif ends[0] == ends[1]:
            self.bad.append(BadRow(number, f"it links {printable(start)} to itself."))
        else:
            named = REPLACES if rel.strip() == SUPERSEDES else rel.strip()
            self.links.setdefault(ends[0], {})[ends[1], named] = {"to": ends[1], "rel": named}

    def _observed(self, number: int, entity: Mapping[str, object]) -> Iterator[Row]:
        name, kind = str(entity["name"]), entity.get("entityType")
        kind = kind.strip() if isinstance(kind, str) else ""
        for place, text in enumerate(observations(entity)):
            id = id_of(entity, place)
            fields = {
                "id": id, "text": about(name, text), "entities": [name],
                "tags": [kind.lower()] if kind else [], "links": list(self.links.get(id, {}).values()),
            }  # fmt: skip
            yield MemoryRow(number, fields, name=printable(name))


def entity(value: object) -> bool:
    if not isinstance(value, dict) or value.get("type") != "entity":
        return False
    name = value.get("name")
    return isinstance(name, str) and bool(name.strip()) and isinstance(value.get("observations", []), list)


def observations(entity: Mapping[str, object]) -> list[object]:
    """An entity without observations becomes one memory with its name."""
    listed = entity.get("observations")
    return listed if isinstance(listed, list) and listed else [bare(entity)]


def bare(entity: Mapping[str, object]) -> str:
    kind = entity.get("entityType")
    return f"{entity['name']} ({kind})" if isinstance(kind, str) and kind.strip() else str(entity["name"])


def about(name: str, text: object) -> object:
    """The observation with the name of its entity: without it, "lives in Leeds" does not say who does."""
    if not isinstance(text, str) or not text.strip() or name.casefold() in text.casefold():
        return text
    return f"{name}: {text}"


def id_of(entity: Mapping[str, object], place: int) -> str:
    words = f"{entity['name']}\0{observations(entity)[place]}"
    return str(uuid5(NAMESPACE, words.encode("utf-8", "replace").decode()))
