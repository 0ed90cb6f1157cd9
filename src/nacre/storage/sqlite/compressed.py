"""Long texts that are seldom read, kept in a third of the space; every reader sees them as they were written."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

import apsw

from nacre.storage.sqlite.rows import plain_text_if_legible

LEAST = 512  # bytes; a shorter text has too little in common with itself
WORTH_IT = 0.8  # of its size: what shrinks less stays as it is
PLAIN_TEXT = "(CASE typeof(memory.text) WHEN 'blob' THEN plain_text(memory.text) ELSE memory.text END)"


def register(connection: apsw.Connection) -> None:
    connection.create_scalar_function("plain_text", unpacked, 1, deterministic=True)


def unpacked(*given: Any) -> Any:
    return plain_text_if_legible(*given)


def compress(connection: apsw.Connection, space: str, ids: Sequence[str]) -> int:
    """How many texts now take less space."""
    rows = connection.execute(
        "SELECT row, text FROM memory WHERE space = ? AND id IN (SELECT value FROM json_each(?))"
        " AND typeof(text) = 'text' AND length(text) >= ?",
        (space, json.dumps(list(ids)), LEAST),
    ).fetchall()
    packed = [(zlib.compress(str(text).encode(), 9), row, len(str(text).encode())) for row, text in rows]
    smaller = [(blob, row) for blob, row, size in packed if len(blob) < WORTH_IT * size]
    connection.executemany("UPDATE main.memory SET text = ? WHERE row = ?", smaller)
    return len(smaller)
