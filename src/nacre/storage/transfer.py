"""What the SQL backends share to copy versions: how long each name and content lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import TypeVar

from nacre.protocols import MemoryRow, VersionRow
from nacre.storage.tables import CONTENT, PLACES, STEM_FIELDS, Kept, Names, Target, listed_names, unpacked_stems

Value = TypeVar("Value")
texts_of = itemgetter(*(PLACES[name] for name in CONTENT))
latest_of = itemgetter(PLACES["created_at"], PLACES["updated_at"])


def runs(row: MemoryRow) -> list[list[VersionRow]]:
    """The versions, split where the content or what is derived from it changes."""
    split: list[list[VersionRow]] = []
    for version in row.versions:
        if split and same_version_content(split[-1][-1], version):
            split[-1].append(version)
        else:
            split.append([version])
    return split


def same_version_content(one: VersionRow, other: VersionRow) -> bool:
    return one.content == other.content and texts_of(one.record) == texts_of(other.record)


def stems_of(version: VersionRow) -> list[str]:
    """All of them, each as often as it occurs."""
    return f"{version.content.words or ''}\n{version.stems}".split()


def labels_of(version: VersionRow) -> Names:
    return listed_names(version.lists, unpacked_stems(version.stems, len(STEM_FIELDS)))


def links_in(version: VersionRow) -> dict[Target, Kept]:
    return {(link.to, link.rel): (link.weight, link.kind) for link in version.lists.get("links", ())}


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
