"""The store's own words: memory types, relations and what else a face learns to name."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

import apsw

from nacre.model.memory import Json

log = logging.getLogger("nacre.damage")


def words_of(connection: apsw.Connection, kind: str, name: str | None = None) -> dict[str, Mapping[str, Json]]:
    narrowed, values = ("", (kind,)) if name is None else (" AND name = ?", (kind, name))
    # As bytes: a text that is no UTF-8 would make the driver give up on all the rows.
    rows: list[tuple[Any, ...]] = connection.execute(
        f"SELECT CAST(name AS BLOB), CAST(data AS BLOB) FROM vocabulary WHERE kind = ?{narrowed} ORDER BY name", values
    ).fetchall()
    found: dict[str, Mapping[str, Json]] = {}
    for raw, data in rows:
        try:
            read = json.loads(data) if data else {}
            if not isinstance(read, dict):
                raise ValueError("a term has fields by name")
            found[raw.decode()] = read
        except (ValueError, AttributeError):
            log.warning("The term %r of the kind %s is damaged and left out. Run `nacre doctor --fix`.", raw, kind)
    return found
