"""The store, its values and its maintenance engines, under the names that AI-Houkai exports."""

from nacre.compat.ai_houkai.memory_system.models import (
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
from nacre.compat.ai_houkai.memory_system.store import MemoryStore

from .decay import DecayEngine
from .journal import Journal, JournalEntry
from .reflection import ReflectionEngine

__all__ = [
    "Conflict", "ConflictError", "ConflictFn", "DecayEngine", "ExpandSpec", "ExportSummary", "Graph", "HybridWeights",
    "ImportConflictError", "ImportSummary", "Journal", "JournalEntry", "Link", "Memory", "MemoryStore", "MemoryType",
    "PackResult", "PackedMemory", "ReflectionEngine", "RememberResult",
]  # fmt: skip
