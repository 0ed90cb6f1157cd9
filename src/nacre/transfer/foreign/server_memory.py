"""The file of the Model Context Protocol's own memory server: entities, what was observed of them, and relations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid5

from nacre.errors import ArchiveRefused
from nacre.model.memory import Json
from nacre.protocols import Progress
from nacre.transfer.archive import Lines
from nacre.transfer.foreign.source import ForeignSource, header, printable
from nacre.transfer.read_archive import BadRow, MemoryRow, Row, parse_line

NAME = "server-memory"
NAMESPACE = UUID("7d0c3a52-6a0e-5c0b-9a57-0c6f3f1d2b84")  # ids of the same words are the same, whenever they are read
SUPERSEDES, REPLACES = "supersedes", "replaces"  # the first means more here than a relation between two names


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
    """Each observation becomes a memory, so that a later reading brings those that are new. What ties two entities
    ties the first memories of both. The file tells no times; `at` is when it was last written."""

    at: float
    bad: list[BadRow] = field(default_factory=list)
    first: dict[str, str] = field(default_factory=dict)  # of each entity, the id of its first memory
    links: dict[str, dict[tuple[str, str], Json]] = field(default_factory=dict)

    def rows(self, progress: Progress | None = None) -> Iterator[Row]:
        yield from self.bad
        for number, line in Lines(self.path, progress):
            told = parse_line(line)
            if entity(told) and isinstance(told, dict):
                yield from self._observed(number, told)

    def read_graph(self) -> None:
        relations = []
        for number, line in Lines(self.path):
            told = parse_line(line) if line.strip() else None
            if entity(told) and isinstance(told, dict):
                self.first.setdefault(str(told["name"]), id_of(told, first_words(told)))
            elif isinstance(told, dict) and told.get("type") == "relation":
                relations.append((number, told))
            elif told is not None:
                self.bad.append(BadRow(number, told if isinstance(told, str) else "it is no entity and no relation."))
        if not self.first and not relations:
            raise ArchiveRefused(self.path, "it holds no entity and no relation", "Name the server's memory file.")
        for number, told in relations:
            self._tie(number, told)

    def _tie(self, number: int, told: Mapping[str, object]) -> None:
        start, end, rel = (told.get(name) for name in ("from", "to", "relationType"))
        ends = [self.first.get(each) if isinstance(each, str) else None for each in (start, end)]
        if ends[0] is None or ends[1] is None or not isinstance(rel, str) or not rel.strip():
            self.bad.append(
                BadRow(number, f"it links {printable(start)} to {printable(end)}, and one of them is missing.")
            )
        elif ends[0] == ends[1]:
            self.bad.append(BadRow(number, f"it links {printable(start)} to itself."))
        else:
            named = REPLACES if rel.strip() == SUPERSEDES else rel.strip()
            self.links.setdefault(ends[0], {})[ends[1], named] = {"to": ends[1], "rel": named}

    def _observed(self, number: int, told: Mapping[str, object]) -> Iterator[Row]:
        name, kind = str(told["name"]), told.get("entityType")
        kind = kind.strip() if isinstance(kind, str) else ""
        for place, text in enumerate(observations(told)):
            id = id_of(told, place)
            fields = {
                "id": id,
                "text": text,
                "title": name if text != bare(told) else "",
                "entities": [name],
                "tags": [kind.lower()] if kind else [],
                "links": list(self.links.get(id, {}).values()),
                **dict.fromkeys(("created_at", "updated_at", "last_accessed"), self.at),
            }
            yield MemoryRow(number, fields, name=printable(name))


def entity(told: object) -> bool:
    if not isinstance(told, dict) or told.get("type") != "entity":
        return False
    name = told.get("name")
    return isinstance(name, str) and bool(name.strip()) and isinstance(told.get("observations", []), list)


def observations(told: Mapping[str, object]) -> list[object]:
    """An entity of which nothing was observed is at least there."""
    found = told.get("observations")
    return found if isinstance(found, list) and found else [bare(told)]


def first_words(told: Mapping[str, object]) -> int:
    """The place of the first observation that can be kept."""
    kept = (place for place, each in enumerate(observations(told)) if isinstance(each, str) and each.strip())
    return next(kept, 0)


def bare(told: Mapping[str, object]) -> str:
    kind = told.get("entityType")
    return f"{told['name']} ({kind})" if isinstance(kind, str) and kind.strip() else str(told["name"])


def id_of(told: Mapping[str, object], place: int) -> str:
    words = f"{told['name']}\0{observations(told)[place]}"
    return str(uuid5(NAMESPACE, words.encode("utf-8", "replace").decode()))
