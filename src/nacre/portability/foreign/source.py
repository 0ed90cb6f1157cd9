"""What every foreign source has in common: a header, and a list of records that came without a part."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from nacre.model.memory import Json
from nacre.portability.archive import Header

FORM = "foreign/"  # with the source's name, in a header
VERSION = 1
MOST_TOLD = 5  # records that a note names
LONGEST_SHOWN = 80  # characters of an id in a message


def header(name: str, *, embedder: str = "") -> Header:
    return Header(
        form=f"{FORM}{name}", version=VERSION, exported_at="", space="", embedder=embedder, dimensions=0, count=0
    )


@dataclass(slots=True)
class Foreign:
    """Opened for one import."""

    path: Path
    header: Header
    told: list[str] = field(default_factory=list)  # known from the opening on
    partial: dict[str, list[str]] = field(default_factory=dict)  # what could not be read, and of which records

    @property
    def notes(self) -> tuple[str, ...]:
        """Complete when the rows were read."""
        return (*self.told, *(note(what, ids) for what, ids in self.partial.items()))

    def lacks(self, id: str, what: str) -> None:
        self.partial.setdefault(what, []).append(shown(id))


def note(what: str, ids: list[str]) -> str:
    named = ", ".join(ids[:MOST_TOLD]) + (", …" if len(ids) > MOST_TOLD else "")
    return f"{len(ids):,} came without their {what}, which cannot be read: {named}."


def shown(id: object) -> str:
    """As a message bears it, whatever it holds."""
    return str(id)[:LONGEST_SHOWN].encode("utf-8", "replace").decode()


def unjson(given: object, kind: type[list[Json]] | type[dict[str, Json]]) -> Json:
    """The list or object that a text holds, empty for an empty text, or None where it holds none."""
    if given is None or given == "":
        return kind()
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return None
    if given is None:
        return kind()
    return given if isinstance(given, kind) else None


def texts(given: object) -> list[str] | None:
    """The words of a list, which may be written as JSON; None where it is no list of words."""
    found = unjson(given, list)
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        return None
    return [str(each) for each in found]
