"""What a file tells, piece by piece: something to remember, something left out, or something that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from nacre.errors import InvalidInput
from nacre.model.instants import seconds
from nacre.model.memory import Json

# Half of a surrogate pair, or NUL: some clients write them, and no memory can hold them.
UNWRITABLE = re.compile("[\x00\ud800-\udfff]")
MILLISECONDS = 1e11  # as seconds this is the year 5138: so large a number counts milliseconds


@dataclass(frozen=True, slots=True)
class Item:
    """`key` names it among those of its session: the message's own id, else its place. `at` is how many bytes of the
    file were read until here."""

    text: str
    session: str
    key: str
    role: str = ""
    title: str = ""
    occurred_at: float | None = None
    tags: tuple[str, ...] = ()
    at: int = 0


@dataclass(frozen=True, slots=True)
class Skipped:
    reason: str
    at: int = 0


@dataclass(frozen=True, slots=True)
class Broken:
    """`where` is a line's number, or the number of a conversation."""

    where: str
    reason: str
    at: int = 0


Piece: TypeAlias = Item | Skipped | Broken


def legible(text: str) -> str:
    return UNWRITABLE.sub("\ufffd", text).strip()


def words(entry: Mapping[str, Json], *names: str) -> str:
    """The first of these that holds a text or a number, as text."""
    for name in names:
        value = entry.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return legible(str(value))
    return ""


def moment(value: Json) -> float | None:
    """None for what is no time: a turn without one is still worth keeping."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
        return seconds(number / 1000 if abs(number) > MILLISECONDS else number)
    except InvalidInput:
        return None
    except ValueError:
        pass
    try:
        return seconds(str(value))
    except InvalidInput:
        return None


def member(entry: Json, name: str) -> Mapping[str, Json]:
    """An object inside another one; empty where there is none."""
    value = entry.get(name) if isinstance(entry, dict) else None
    return value if isinstance(value, dict) else {}
