"""Stores of that system's own making, with an embedder that needs no model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.compat.amplihack_memory import CognitiveMemory, ExperienceStore, HierarchicalMemory

AGENT = "gardener"


@pytest.fixture
def cognitive(tmp_path: Path) -> Iterator[CognitiveMemory]:
    with CognitiveMemory(AGENT, db_path=tmp_path / "mind", embedder="hashing") as made:
        yield made


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[HierarchicalMemory]:
    with HierarchicalMemory(AGENT, db_path=tmp_path / "graph", embedder="hashing") as made:
        yield made


@pytest.fixture
def experiences(tmp_path: Path) -> Iterator[ExperienceStore]:
    with ExperienceStore(AGENT, storage_path=tmp_path / "experiences", embedder="hashing") as made:
        yield made
