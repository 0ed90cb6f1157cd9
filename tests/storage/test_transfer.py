"""How long a name and a content last over the versions of a memory."""

from __future__ import annotations

from nacre.protocols import ContentRow, MemoryRow, VersionRow
from nacre.storage.tables import lists_of, record_of
from nacre.storage.transfer import labels_of, runs, spans, stems_of
from tests.samples import memory


def version(seq_from: int, seq_to: int | None, text: str, *tags: str, vector: bytes = b"12") -> VersionRow:
    record = record_of(memory(text=text, tags=tags))
    content = ContentRow(f"\n{text}\n", ((0, len(text), b"digest"),), (vector,))
    return VersionRow(record, lists_of(record[-1]), content, "cup\n", seq_from, seq_to, (0.0, 0), {})


def test_a_name_lasts_from_the_version_that_brings_it_to_the_one_without_it() -> None:
    row = MemoryRow(1, (version(1, 4, "tea", "a", "b"), version(4, 6, "tea", "b"), version(6, None, "tea", "a", "b")))
    tags = sorted(
        (name, began, ended) for (field, name), _, began, ended, _ in spans(row, labels_of) if field == "tags"
    )
    assert tags == [("a", 1, 4), ("a", 6, None), ("b", 1, None)]


def test_a_name_that_is_listed_more_often_begins_anew() -> None:
    row = MemoryRow(1, (version(1, 2, "tea", "a"), version(2, 3, "tea", "a", "a")))
    found = [(times, began, ended) for (field, _), times, began, ended, _ in spans(row, labels_of) if field == "tags"]
    assert found == [(1, 1, 2), (2, 2, 3)]


def test_contents_are_split_where_the_text_or_its_vectors_change() -> None:
    again = version(3, 4, "tea", vector=b"34")
    row = MemoryRow(1, (version(1, 2, "tea", "a"), version(2, 3, "tea"), again, version(4, None, "cup")))
    assert [[each.seq_from for each in run] for run in runs(row)] == [[1, 2], [3], [4]]


def test_all_stems_of_a_version_are_those_of_its_content_and_of_its_names() -> None:
    assert stems_of(version(1, None, "tea milk tea")) == ["tea", "milk", "tea", "cup"]
    bare = version(1, None, "tea")._replace(content=ContentRow(), stems="\n")
    assert stems_of(bare) == []
