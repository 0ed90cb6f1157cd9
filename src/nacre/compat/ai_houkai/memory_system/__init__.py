"""The store, its values and its maintenance engines, under the names that AI-Houkai exports."""

from nacre.compat.ai_houkai.memory_system.store import (
    Conflict,
    ConflictError,
    ConflictFn,
    Graph,
    ImportConflictError,
    ImportSummary,
    Link,
    Memory,
    MemoryStore,
    MemoryType,
    PackedMemory,
    PackResult,
    RememberResult,
)
from nacre.model import ExpandSpec, HybridWeights
from nacre.transfer.archive import ExportSummary

from .decay import DecayEngine
from .journal import Journal, JournalEntry
from .reflection import ReflectionEngine

__all__ = [
    "Conflict", "ConflictError", "ConflictFn", "DecayEngine", "ExpandSpec", "ExportSummary", "Graph", "HybridWeights",
    "ImportConflictError", "ImportSummary", "Journal", "JournalEntry", "Link", "Memory", "MemoryStore", "MemoryType",
    "PackResult", "PackedMemory", "ReflectionEngine", "RememberResult",
]  # fmt: skip
