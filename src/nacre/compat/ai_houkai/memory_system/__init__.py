"""The store, its values and the engines that keep it, under the names that AI-Houkai exports."""

from .decay import DecayEngine
from .journal import Journal, JournalEntry
from .records import (
    Conflict,
    ConflictError,
    ConflictFn,
    ExpandSpec,
    ExportSummary,
    Graph,
    HybridWeights,
    ImportConflictError,
    ImportSummary,
    Link,
    Memory,
    MemoryType,
    PackedMemory,
    PackResult,
    RememberResult,
)
from .reflection import ReflectionEngine
from .store import MemoryStore

__all__ = [
    "Conflict",
    "ConflictError",
    "ConflictFn",
    "DecayEngine",
    "ExpandSpec",
    "ExportSummary",
    "Graph",
    "HybridWeights",
    "ImportConflictError",
    "ImportSummary",
    "Journal",
    "JournalEntry",
    "Link",
    "Memory",
    "MemoryStore",
    "MemoryType",
    "PackResult",
    "PackedMemory",
    "ReflectionEngine",
    "RememberResult",
]
