"""Long-term memory for AI agents: one file, no service, no API key, no model hub."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.async_store import AsyncMemoryStore
    from nacre.errors import ConflictError, NacreError
    from nacre.lifecycle.consolidation import Consolidator
    from nacre.lifecycle.decay import DecayEngine
    from nacre.lifecycle.reflection import ReflectionEngine
    from nacre.lifecycle.scheduler import MaintenanceScheduler
    from nacre.memory_store import MemoryStore
    from nacre.model import (
        Conflict,
        Difference,
        Edge,
        ExpandSpec,
        Filter,
        Graph,
        History,
        Hit,
        HybridWeights,
        JournalEntry,
        Link,
        Memory,
        Neighborhood,
        Pack,
        PackedMemory,
        RankFusion,
        Reason,
        Recollection,
        RememberResult,
        Transition,
    )
    from nacre.model.review import ReviewItem

__version__ = "0.2.0"

# Imported on first use, so that `import nacre` costs a program nothing until it remembers something.
_MODEL = "nacre.model"
_HOMES = {  # of the names that are not in nacre.model
    "AsyncMemoryStore": "nacre.async_store", "ConflictError": "nacre.errors",
    "Consolidator": "nacre.lifecycle.consolidation", "DecayEngine": "nacre.lifecycle.decay",
    "MaintenanceScheduler": "nacre.lifecycle.scheduler", "MemoryStore": "nacre.memory_store",
    "NacreError": "nacre.errors", "ReflectionEngine": "nacre.lifecycle.reflection", "ReviewItem": "nacre.model.review",
}  # fmt: skip
__all__ = [
    "AsyncMemoryStore", "Conflict", "ConflictError", "Consolidator", "DecayEngine", "Difference", "Edge", "ExpandSpec",
    "Filter", "Graph", "History", "Hit", "HybridWeights", "JournalEntry", "Link", "MaintenanceScheduler", "Memory",
    "MemoryStore", "NacreError", "Neighborhood", "Pack", "PackedMemory", "RankFusion", "Reason", "Recollection",
    "ReflectionEngine", "RememberResult", "ReviewItem", "Transition", "__version__",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'nacre' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, _MODEL)), name)


def __dir__() -> list[str]:
    return __all__
