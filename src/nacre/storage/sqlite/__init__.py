"""One SQLite file that any number of processes share."""

from nacre.storage.sqlite.connection import Key
from nacre.storage.sqlite.store import SQLiteBackend

__all__ = ["Key", "SQLiteBackend"]
