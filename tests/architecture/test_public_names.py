"""What the package offers, and what it costs to import it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import nacre

PUBLIC = [
    "AsyncMemoryStore", "Conflict", "ConflictError", "Consolidator", "DecayEngine", "Difference", "Edge",
    "ExpandSpec", "Filter", "Graph", "History", "Hit", "HybridWeights", "JournalEntry", "Link",
    "MaintenanceScheduler", "Memory", "MemoryStore", "NacreError", "Neighborhood", "Pack", "PackedMemory",
    "RankFusion", "Reason", "Recollection", "ReflectionEngine", "RememberResult", "ReviewItem", "Transition",
    "__version__",
]  # fmt: skip


def test_the_public_names_are_exactly_these() -> None:
    assert nacre.__all__ == PUBLIC
    assert dir(nacre) == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_each_public_name_can_be_imported(name: str) -> None:
    assert getattr(nacre, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        nacre.Nothing  # noqa: B018


def imported_by(statement: str) -> set[str]:
    asked = f"import sys; {statement}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.split())


def test_importing_nacre_imports_nothing_heavy() -> None:
    heavy = {"numpy", "apsw", "onnxruntime", "rich", "click", "Stemmer", "platformdirs", "anthropic", "langgraph"}
    assert heavy & imported_by("import nacre") == set()
    assert "numpy" in imported_by("import numpy")


def test_the_values_and_the_seams_need_no_driver() -> None:
    assert {"numpy", "apsw"} & imported_by("import nacre.model, nacre.protocols, nacre.errors, nacre.settings") == set()
