"""What a new memory is compared with, and how alike the two are."""

from __future__ import annotations

from pathlib import Path

from nacre import MemoryStore
from nacre.settings import Settings
from tests.embedders import WordBag


def test_copies_are_alike_by_1_although_stored_vectors_are_rounded(tmp_path: Path) -> None:
    texts = ("Use ruff for linting", "Anna moved to Rome", "The port is 80", "A door opens at noon")
    rules = Settings(conflict_judge="rules")
    with MemoryStore(tmp_path / "s.db", embedder=WordBag(), settings=rules, on_conflict="ignore") as store:
        for text in texts:
            for name in ("one", "other"):
                store.remember(text, id=f"{text} {name}")
        alike = [conflict.similarity for conflict in store.find_conflicts() if conflict.kind == "duplicate"]
    assert len(alike) >= len(texts) and max(alike) <= 1.0
