"""The word index: stems by content, each with the number of its space before it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import apsw

from nacre.storage.sqlite.rows import SQLValue, only_row

Stems: TypeAlias = tuple[str, ...]  # a line of stems for each field

INSERT = "INSERT INTO word(rowid, title, text, role) VALUES (?, ?, ?, ?)"
DELETE = "INSERT INTO word(word, rowid, title, text, role) VALUES ('delete', ?, ?, ?, ?)"


def packed(lines: Iterable[str]) -> str:
    return "\n".join(" ".join(line.split()) for line in lines)


def unpacked(stored: object, fields: int) -> Stems:
    lines = str(stored).split("\n") if stored else []
    return (*lines, *("" for _ in range(fields - len(lines))))


def total(lines: Iterable[str]) -> int:
    return sum(len(line.split()) for line in lines)


def distinct(*lines: str) -> frozenset[str]:
    return frozenset(stem for line in lines for stem in line.split())


def row(space: int, content: int, lines: Iterable[str]) -> tuple[SQLValue, ...]:
    """The row of the index for `INSERT`, and for `DELETE`, which needs every word that was inserted."""
    return content, *(tokens(space, line) for line in lines)


def tokens(space: int, stems: str) -> str:
    return " ".join(f"{space}_{stem}" for stem in stems.split())


def phrase(space: int, term: str) -> str:
    """A term as a query of the index; whatever is in it is a word, never an operator."""
    return '"' + tokens(space, term).replace('"', '""') + '"'


def agree(connection: apsw.Connection) -> bool:
    """Whether the index is sound and holds exactly the contents that have words."""
    try:
        connection.execute("INSERT INTO word(word) VALUES ('integrity-check')")
        missing = "SELECT count(*) FROM content WHERE words IS NOT NULL AND number NOT IN (SELECT id FROM word_docsize)"
        surplus = (
            "SELECT count(*) FROM word_docsize WHERE id NOT IN (SELECT number FROM content WHERE words IS NOT NULL)"
        )
        return not only_row(connection, missing)[0] and not only_row(connection, surplus)[0]
    except apsw.CorruptError:
        return False


def rebuild(connection: apsw.Connection) -> None:
    """Fills the index again from the stems that lie with the contents."""
    connection.execute("INSERT INTO word(word) VALUES ('delete-all')")
    rows = connection.execute(
        "SELECT number, words, (SELECT space FROM version WHERE version.content = number LIMIT 1) FROM content"
        " WHERE words IS NOT NULL"
    ).fetchall()
    connection.executemany(
        INSERT,
        [row(int(space), int(number), unpacked(stems, 3)) for number, stems, space in rows if space is not None],  # type: ignore[arg-type]
    )
