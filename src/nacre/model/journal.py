"""What was done to the store, by whom, and how it stood before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nacre.model.memory import Json


@dataclass(frozen=True, slots=True)
class Act:
    """One deed of one actor; it may change several memories, and all its entries share its `batch`."""

    name: str
    actor: str
    at: float
    batch: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """`before` and `after` hold the changed fields alone.

    A memory that did not exist has no `before`; one that is gone has no `after`. A purge keeps neither.
    """

    seq: int
    act: Act
    space: str
    memory_id: str
    before: Mapping[str, Json] | None
    after: Mapping[str, Json] | None
