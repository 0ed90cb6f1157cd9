"""AI-Houkai's package on this engine: code that imported `ai_houkai` runs unchanged."""

from .memory_system import DecayEngine, Memory, MemoryStore, MemoryType, ReflectionEngine

__all__ = ["DecayEngine", "Memory", "MemoryStore", "MemoryType", "ReflectionEngine"]
