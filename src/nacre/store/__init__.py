"""The native face: what a Python program calls."""

from nacre.store.store import MemoryStore

__all__ = ["MemoryStore"]  # the asynchronous face is asked for by its own name: asyncio costs a command 50 ms
