"""The store's own words: memory types, relations and what else a face learns to name."""

from __future__ import annotations

import json
from collections.abc import Mapping

import apsw

from nacre.model.memory import Json


def words_of(connection: apsw.Connection, kind: str, name: str | None = None) -> dict[str, Mapping[str, Json]]:
    narrowed, values = ("", (kind,)) if name is None else (" AND name = ?", (kind, name))
    rows = connection.execute(
        f"SELECT name, data FROM vocabulary WHERE kind = ?{narrowed} ORDER BY name", values
    ).fetchall()
    return {str(found): json.loads(str(data)) if data else {} for found, data in rows}
