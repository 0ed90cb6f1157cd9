"""Graphs of knowledge for the tests: on a file or in memory, with a clock that can be set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.memory_store import MemoryStore
from nacre.minds.knowledge import HierarchicalMemory
from nacre.model.memory import Json

AGENT = "harbour-master"


class Ticking:
    """A clock whose every reading is a second later."""

    def __init__(self) -> None:
        self.at = 1_750_000_000.0

    def __call__(self) -> float:
        self.at += 1
        return self.at


def opened(path: Path | str, agent: str = AGENT) -> HierarchicalMemory:
    return HierarchicalMemory(agent, store=MemoryStore(path, space=agent, embedder="hashing", clock=Ticking()))


def places(tmp_path: Path) -> dict[str, Path | str]:
    return {"memory": ":memory:", "file": tmp_path / "mind.db"}


@pytest.fixture(params=[pytest.param("memory", marks=pytest.mark.slow), "file"])
def mind(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HierarchicalMemory]:
    made = opened(places(tmp_path)[request.param])
    yield made
    made.store.close()


def turn(index: int, date: str = "") -> dict[str, Json]:
    return {"temporal_index": index, **({"source_date": date} if date else {})}


def fleet(mind: HierarchicalMemory, ships: int, index: int, date: str = "") -> str:
    return mind.store_knowledge(
        f"Marta Ruiz commands {ships} ships", "Marta Ruiz fleet", temporal_metadata=turn(index, date)
    )


def token() -> str:
    """Looks like the key of a service, and is none."""
    signs = "q7WmX2bTz9LkR4vHn8YcJ5dPs3GfA6eUo1Ni"
    return "gh" + "p_" + signs
