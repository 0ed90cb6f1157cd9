"""Whom and what memories speak of: one entity under all its names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entity:
    """`name` is what it goes by, `aliases` its other names and spellings, `count` how many live memories name it."""

    name: str
    aliases: tuple[str, ...] = ()
    count: int = 0


@dataclass(frozen=True, slots=True)
class EntityPair:
    """Two entities that may be one; `a` is the fuller name, `reason` why somebody should look."""

    a: str
    b: str
    reason: str
