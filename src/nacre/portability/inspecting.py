"""Looks into an archive without importing it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from nacre.errors import ArchiveRefused
from nacre.portability.archive import ArchiveInfo
from nacre.portability.reading import Archive, MemoryRow, WordRow, word
from nacre.ports import Progress

MOST_TYPES = 200  # that are counted by name; a file of a million types would be no archive of anybody's
USUAL, OTHERS = "semantic", "(others)"


def info(path: Path | str, *, progress: Progress | None = None) -> ArchiveInfo:
    """Reads all of it, in bounded memory; of a file that is not whole, as far as it goes.

    Raises `ArchiveRefused` for one whose header cannot be read.
    """
    archive = Archive(path)
    types: Counter[str] = Counter()
    vectors = words = errors = 0
    problem = ""
    try:
        for row in archive.rows(progress):
            if isinstance(row, MemoryRow):
                name = word(row.fields.get("type", USUAL)) or OTHERS
                types[name if name in types or len(types) < MOST_TYPES else OTHERS] += 1
                vectors += row.vectors is not None
            elif isinstance(row, WordRow):
                words += 1
            else:
                errors += 1
    except ArchiveRefused as error:
        problem = error.reason
    return ArchiveInfo(
        path=archive.path,
        header=archive.header,
        count=types.total(),
        types=dict(types.most_common()),
        vectors=vectors,
        words=words,
        errors=errors,
        bytes=archive.path.stat().st_size,
        unpacked=archive.unpacked,
        problem=problem,
    )
