"""Finds memories in the file by their words."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from nacre.model import Filter
from nacre.ports import Match
from nacre.storage.sqlite.where import conditions

# A title is a summary by its author; a tag and an entity are chosen words. The text is the measure.
COLUMN_WEIGHTS = "2.0, 1.0, 1.0, 1.5, 1.0"


def by_words(connection: apsw.Connection, space: str, terms: Sequence[str], where: Filter, limit: int) -> list[Match]:
    if not terms or limit <= 0:
        return []
    clause, values = conditions(space, where)
    # CROSS JOIN is SQLite's word for "in this order": the planner would walk the whole space instead of the matches.
    # bm25() is lower for better matches; a Match's score is higher for better.
    sql = (
        f"SELECT memory.id, -bm25(word, {COLUMN_WEIGHTS}) AS score"
        " FROM word CROSS JOIN memory ON memory.row = word.rowid"
        f" WHERE word MATCH ? AND {clause} ORDER BY score DESC, memory.row DESC LIMIT ?"
    )
    asked = " OR ".join(quoted(term) for term in terms)
    return [Match(id, score) for id, score in connection.execute(sql, (asked, *values, limit))]


def quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'
