"""How something came to be what it is: versions, the changes between them, and what differs between two moments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nacre.model.memory import Json, Memory


@dataclass(frozen=True, slots=True)
class Transition:
    """A value that changed. `old` and `new` are ids, the same one where a memory's own text was edited.

    `at` is when the older ceased to hold, as far as that is known, else when it was replaced.
    """

    old: str
    new: str
    before: str
    after: str
    at: float
    act: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """All versions of one truth, oldest first, and what changed from each to the next."""

    versions: tuple[Memory, ...]
    transitions: tuple[Transition, ...] = ()

    @property
    def head(self) -> Memory:
        return next((each for each in reversed(self.versions) if not each.superseded_by), self.versions[-1])


@dataclass(frozen=True, slots=True)
class Changed:
    """`fields` holds what each changed field was and became."""

    before: Memory
    after: Memory
    fields: Mapping[str, tuple[Json, Json]]


@dataclass(frozen=True, slots=True)
class Difference:
    """Between two moments of what the store knew. What was purged since is in neither."""

    added: tuple[Memory, ...] = ()
    removed: tuple[Memory, ...] = ()
    changed: tuple[Changed, ...] = ()
    notes: tuple[str, ...] = ()
