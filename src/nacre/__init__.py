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
        Reason,
        Recollection,
        RememberResult,
        Transition,
    )
    from nacre.model.review import ReviewItem

__version__ = "0.1.0"

# Found when they are asked for: `import nacre` must cost nothing to a program that only might remember.
_HOMES = {
    "AsyncMemoryStore": "nacre.async_store",
    "Conflict": "nacre.model",
    "ConflictError": "nacre.errors",
    "Consolidator": "nacre.lifecycle.consolidation",
    "DecayEngine": "nacre.lifecycle.decay",
    "Difference": "nacre.model",
    "Edge": "nacre.model",
    "ExpandSpec": "nacre.model",
    "Filter": "nacre.model",
    "Graph": "nacre.model",
    "History": "nacre.model",
    "Hit": "nacre.model",
    "HybridWeights": "nacre.model",
    "JournalEntry": "nacre.model",
    "Link": "nacre.model",
    "MaintenanceScheduler": "nacre.lifecycle.scheduler",
    "Memory": "nacre.model",
    "MemoryStore": "nacre.memory_store",
    "NacreError": "nacre.errors",
    "Neighborhood": "nacre.model",
    "Pack": "nacre.model",
    "PackedMemory": "nacre.model",
    "Reason": "nacre.model",
    "Recollection": "nacre.model",
    "ReflectionEngine": "nacre.lifecycle.reflection",
    "RememberResult": "nacre.model",
    "ReviewItem": "nacre.model.review",
    "Transition": "nacre.model",
}

__all__ = [
    "AsyncMemoryStore",
    "Conflict",
    "ConflictError",
    "Consolidator",
    "DecayEngine",
    "Difference",
    "Edge",
    "ExpandSpec",
    "Filter",
    "Graph",
    "History",
    "Hit",
    "HybridWeights",
    "JournalEntry",
    "Link",
    "MaintenanceScheduler",
    "Memory",
    "MemoryStore",
    "NacreError",
    "Neighborhood",
    "Pack",
    "PackedMemory",
    "Reason",
    "Recollection",
    "ReflectionEngine",
    "RememberResult",
    "ReviewItem",
    "Transition",
    "__version__",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'nacre' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
