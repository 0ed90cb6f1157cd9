"""What the SQL backends share to copy versions: how long each name and content lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import numpy as np

from nacre.protocols import MemoryRow, VersionRow
from nacre.storage.tables import content_lines, names_of, same_content

Value = TypeVar("Value")


def runs(row: MemoryRow) -> list[list[VersionRow]]:
    """The versions, split where the content or what is derived from it changes."""
    split: list[list[VersionRow]] = []
    for version in row.versions:
        if split and same_derived(split[-1][-1], version):
            split[-1].append(version)
        else:
            split.append([version])
    return split


def same_derived(one: VersionRow, other: VersionRow) -> bool:
    if not same_content(one.memory, other.memory):
        return False
    mine, others = one.derived, other.derived
    if content_lines(mine.words) != content_lines(others.words) or mine.chunks != others.chunks:
        return False
    if mine.vectors is None or others.vectors is None:
        return mine.vectors is others.vectors
    return mine.vectors is others.vectors or np.array_equal(mine.vectors, others.vectors)


def labels_of(version: VersionRow) -> dict[tuple[str, str], int]:
    words = version.derived.words
    return names_of(version.memory, (words.tags, words.entities))


def spans(
    row: MemoryRow, values_of: Callable[[VersionRow], Mapping[tuple[str, str], Value]]
) -> Iterator[tuple[tuple[str, str], Value, int, int | None, VersionRow]]:
    """Each name with a value that it has in versions in a row, the entries that began and ended it, and the first of
    these versions."""
    if len(row.versions) == 1:  # nearly always
        (only,) = row.versions
        for name, value in values_of(only).items():
            yield name, value, only.seq_from, only.seq_to, only
        return
    lasting: dict[tuple[str, str], tuple[Value, VersionRow]] = {}
    for version in row.versions:
        values = values_of(version)
        for name in [name for name, (value, _) in lasting.items() if values.get(name) != value]:
            value, first = lasting.pop(name)
            yield name, value, first.seq_from, version.seq_from, first
        for name, value in values.items():
            lasting.setdefault(name, (value, version))
    for name, (value, first) in lasting.items():
        yield name, value, first.seq_from, row.versions[-1].seq_to, first
