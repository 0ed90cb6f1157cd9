"""Lets through of a row what `remember` would let through: what comes from a file is not trusted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import cast

from nacre.errors import InvalidInput
from nacre.model import STATUSES, Link, Memory
from nacre.model.memory import LISTS, NAMES, Json
from nacre.remember.check import CHECKS, checked, instant, label, moment
from nacre.remember.guard import Guard, marked

MOST_UNKNOWN = 10  # names of fields that are told as unknown


def standing(name: str, value: object) -> str:
    text = label(name, value)
    if text and text not in STATUSES:
        raise InvalidInput(f"{name} is {text[:40]!r}, which is no status.")
    return text


# What nobody may say to `remember`, and a record has all the same.
FURTHER: Mapping[str, Callable[[str, object], object]] = {
    "updated_at": instant,
    "superseded_at": moment,
    "superseded_by": label,
    "trashed_from": standing,
}


@dataclass(slots=True)
class Checking:
    """Counts what it took out or doubts; `unknown` are fields that this version does not know."""

    space: str
    guard: Guard
    types: tuple[str, ...]
    scrubbed: int = 0
    doubted: int = 0
    unknown: set[str] = field(default_factory=set)

    def memory(self, given: Mapping[str, object]) -> Memory:
        """Raises `InvalidInput`."""
        if "id" not in given or "text" not in given:
            raise InvalidInput("it has no id, or no text.")
        if len(self.unknown) < MOST_UNKNOWN:
            self.unknown.update(
                name[:40] for name in islice((each for each in given if each not in NAMES), MOST_UNKNOWN)
            )
        told = {name: typed(name, given[name]) for name in CHECKS if name in given}
        fields, kinds = self.guard.fields(checked(told, self.types))
        further = {name: check(name, given[name]) for name, check in FURTHER.items() if name in given}
        doubts = self.guard.doubts(fields)
        memory = Memory(**{**fields, **further, "space": self.space})  # type: ignore[arg-type]
        if memory.superseded_by == memory.id or any(link.to == memory.id for link in memory.links):
            raise InvalidInput("it is tied to itself.")
        self.scrubbed += bool(kinds)
        if not doubts.reasons:
            return memory
        self.doubted += 1
        # A file must not vouch for its own texts: the trust that it gives can only lower ours.
        doubted = marked(memory, doubts, trust_given=False)
        return replace(doubted, trust=min(memory.trust, doubted.trust))


def typed(name: str, value: object) -> object:
    if name in LISTS and not isinstance(value, list):
        raise InvalidInput(f"{name} must be a list, not {type(value).__name__}.")
    return [link(each) for each in listed(value)] if name == "links" else value


def listed(value: object) -> list[object]:
    if not isinstance(value, list):
        raise InvalidInput(f"links must be a list, not {type(value).__name__}.")
    return value


def link(given: object) -> Link:
    """Its parts are checked with the other fields."""
    if not isinstance(given, dict):
        raise InvalidInput(f"a link must be a JSON object, not {type(given).__name__}.")
    parts = cast("dict[str, Json]", given)
    return Link(parts.get("to"), parts.get("rel", "related"), parts.get("weight", 1.0), parts.get("data") or {})  # type: ignore[arg-type]
