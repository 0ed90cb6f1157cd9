"""Stores whose texts say themselves where they point: «standup @10» lies ten degrees from «@0»."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import cos, radians, sin
from pathlib import Path

import numpy as np

from nacre import MemoryStore
from nacre.errors import EmbeddingError
from nacre.protocols import Vectors
from tests.lifecycle.aged import Turned
from tests.property.acting import told

AS_LETTERS = str.maketrans("0123456789", "abcdefghij")  # for an angle that is no number: «@ba» is «@10»
AS_DIGITS = str.maketrans("abcdefghij", "0123456789")
ANGLE = re.compile(r"@([\da-j]+)\b")


class Angles:
    """Answers only while `well`."""

    identity = "angles"
    dimensions = 2
    token_limit = 10_000
    ready = True
    well = True

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not self.well:
            raise EmbeddingError("The model is out today; try again tomorrow.")
        found = [ANGLE.search(text) for text in texts]
        degrees = [radians(float(each[1].translate(AS_DIGITS))) if each else 0.0 for each in found]
        return np.array([(cos(angle), sin(angle)) for angle in degrees], np.float32).reshape(-1, 2)


def opened(place: Path | str, clock: Turned, embedder: Angles | None = None, space: str = "default") -> MemoryStore:
    return MemoryStore(
        place, space=space, embedder=embedder or Angles(), clock=clock, actor="tester", on_conflict="ignore"
    )


def whole(store: MemoryStore) -> dict[str, str]:
    """Every record, wherever it is, as far as acts can change it."""
    found = store.iterate(include_archived=True, include_trashed=True, include_superseded=True, include_expired=True)
    return {memory.id: told(memory) for memory in found}


def acts(store: MemoryStore) -> list[str]:
    """The names of the acts, oldest first, each once."""
    return list({e.operation.batch: e.operation.name for e in store.journal(limit=None, newest_first=False)}.values())


def recalled(store: MemoryStore, angle: int = 0, **asking: object) -> list[str]:
    found = store.recall(f"happened @{angle}", k=10, **asking)  # type: ignore[arg-type]
    return [hit.memory.id for hit in found]
