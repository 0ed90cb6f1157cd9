"""Finds memories in the file by their words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import apsw

from nacre.model import Filter
from nacre.ports import Match, Posting
from nacre.storage.sqlite.rows import only_row
from nacre.storage.sqlite.where import conditions

# A title is a summary by its author; a tag and an entity are chosen words. The text is the measure.
COLUMN_WEIGHTS = "2.0, 1.0, 1.0, 1.5, 1.0"
# Reading a posting costs a quarter of a microsecond, and a whole one with its exact weight. The rarest stems come first
# and are weighed; one on more memories than this tells little, however often it stands in each; and past the last
# number reading on costs more than it tells. Measured on 5,500 turns: the same hits as without any of these limits.
WEIGHED = 300
USUAL_WEIGHT = 1.0
POSTINGS_READ = 2_000
LEAST_RARITY = 1e-6  # what bm25() takes for a stem on more than half of the memories


def agree(connection: apsw.Connection) -> bool:
    """Whether the index is sound and holds exactly the memories there are."""
    try:
        connection.execute("INSERT INTO word(word) VALUES ('integrity-check')")
        only = "SELECT count(*) FROM main.memory WHERE row NOT IN (SELECT id FROM word_docsize)"
        surplus = "SELECT count(*) FROM word_docsize WHERE id NOT IN (SELECT row FROM main.memory)"
        return not only_row(connection, only)[0] and not only_row(connection, surplus)[0]
    except apsw.CorruptError:
        return False


def empty(connection: apsw.Connection) -> None:
    connection.execute("INSERT INTO word(word) VALUES ('delete-all')")


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


def postings(connection: apsw.Connection, terms: Sequence[str]) -> dict[str, Posting]:
    counts = occurrences(connection, terms)
    total = int(only_row(connection, "SELECT count(*) FROM memory")[0])
    found: dict[str, Posting] = {}
    read = 0
    for term in sorted(counts, key=counts.__getitem__):
        read += counts[term]
        if found and read > POSTINGS_READ:
            break
        posting = weighed(connection, term, total) if counts[term] <= WEIGHED else unweighed(connection, term)
        if len(posting.keys):
            found[term] = posting
    return found


def weighed(connection: apsw.Connection, term: str, total: int) -> Posting:
    import numpy as np

    sql = f"SELECT rowid, -bm25(word, {COLUMN_WEIGHTS}) FROM word WHERE word MATCH ?"
    rows = connection.execute(sql, (quoted(term),)).fetchall()
    weights = np.array([score for _, score in rows], np.float64) / counted_rarity(total, len(rows))
    return Posting(np.array([key for key, _ in rows], np.int64), weights.astype(np.float32))


def unweighed(connection: apsw.Connection, term: str) -> Posting:
    import numpy as np

    rows = connection.execute("SELECT rowid FROM word WHERE word MATCH ?", (quoted(term),)).fetchall()
    keys = np.fromiter((key for (key,) in rows), np.int64, len(rows))
    return Posting(keys, np.full(len(keys), USUAL_WEIGHT, np.float32))


def occurrences(connection: apsw.Connection, terms: Sequence[str]) -> dict[str, int]:
    """On how many memories each stands, at most: a phrase is at least as rare as its rarest word."""
    # A word that is not in the list counts as rare: the index folds some signs that Python leaves as they are.
    return {term: min((number(connection, word) or 1 for word in term.split()), default=1) for term in terms}


def number(connection: apsw.Connection, word: str) -> int:
    return int(only_row(connection, "SELECT coalesce(sum(doc), 0) FROM term WHERE term = ?", word)[0])


def counted_rarity(total: int, holding: int) -> float:
    """The rarity that bm25() multiplies in, so that it can be divided out again."""
    return max(math.log((total - holding + 0.5) / (holding + 0.5)) if holding < total + 0.5 else 0.0, LEAST_RARITY)
