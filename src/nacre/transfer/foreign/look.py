"""What a path holds, as far as its kind can be recognised by it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from itertools import islice
from pathlib import Path

from nacre.errors import ArchiveRefused
from nacre.files import open_regular
from nacre.model.memory import Json
from nacre.transfer.foreign import source as foreign
from nacre.transfer.ingest.items import elements, lines

HEAD = 64_000  # bytes of a file
HEAD_LINES = 20
MOST_NAMES = 10_000  # files of a folder that are looked through


class Look:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_folder = path.is_dir()

    @cached_property
    def head(self) -> bytes:
        if self.is_folder:
            return b""
        with open_regular(self.path) as file:
            return file.read(HEAD)

    @cached_property
    def text(self) -> str:
        return self.head.decode("utf-8-sig", "replace").lstrip()

    @property
    def is_array(self) -> bool:
        """Whether it is JSON that begins with an array."""
        return self.text.startswith("[")

    @cached_property
    def tables(self) -> Mapping[str, frozenset[str]]:
        """The columns of each table, where it is a SQLite database."""
        return tables_of(self.path) if self.head.startswith(foreign.SQLITE) else {}

    def has_tables(self, wanted: Mapping[str, set[str]]) -> bool:
        return bool(self.tables) and all(
            columns <= self.tables.get(name, frozenset()) for name, columns in wanted.items()
        )

    def holds(self, *names: str) -> bool:
        """Whether it is a folder with one of these in it."""
        return self.is_folder and any((self.path / name).exists() for name in names)

    @cached_property
    def first_lines(self) -> list[Mapping[str, Json]]:
        """Of JSON lines, the first objects; none where it is one JSON value over several lines."""
        if not self.text.startswith("{"):
            return []
        return [line.entry for line in islice(lines(self.path), HEAD_LINES) if isinstance(line.entry, dict)]

    @cached_property
    def first_elements(self) -> list[Mapping[str, Json]]:
        """Of a JSON array, the first objects."""
        taken: list[Mapping[str, Json]] = []
        with suppress(ValueError):
            taken += (each for each, _ in islice(elements(self.path), HEAD_LINES) if isinstance(each, dict))
        return taken

    @cached_property
    def notes(self) -> list[Path]:
        """The Markdown files of a folder, some of them where there are many."""
        paths = (each for each in self.path.rglob("*.md") if not hidden(each.relative_to(self.path)))
        return list(islice(paths, MOST_NAMES)) if self.is_folder else []

    def has_key(self, *names: str) -> bool:
        """Whether the beginning of a JSON file has one of these keys."""
        return self.text[:1] in ("{", "[") and any(
            f"{json.dumps(name)}:" in self.text.replace(" ", "") for name in names
        )


def hidden(relative: Path) -> bool:
    return any(part.startswith(".") for part in relative.parts)


def tables_of(path: Path) -> dict[str, frozenset[str]]:
    tables: dict[str, frozenset[str]] = {}
    try:
        with foreign.open_database(path) as database:
            rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for name in (str(name) for (name,) in rows if '"' not in str(name)):
                with suppress(sqlite3.Error):  # a virtual table whose module is not here
                    tables[name] = foreign.columns(database, name)
    except ArchiveRefused:
        return {}
    return tables
