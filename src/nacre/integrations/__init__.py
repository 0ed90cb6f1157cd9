"""Adapters that let agent frameworks keep their memory in a `MemoryStore`, one module for each framework."""
