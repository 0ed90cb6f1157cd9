"""Which format an export gets, and what it never overwrites."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from nacre.errors import InvalidInput
from nacre.memory_store import MemoryStore
from nacre.model.memory import NAMES
from nacre.transfer.export_files import export_file, format_of
from nacre.transfer.import_archive import import_path
from tests.transfer.archives import opened


@pytest.fixture
def store() -> MemoryStore:
    store = opened()
    store.remember("The ferry leaves at nine", tags=["ferry"])
    return store


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [("x.nacre", None, "archive"), ("x.ahkai", None, "archive"), ("x.JSONL", None, "jsonl"),
     ("x.ndjson", None, "jsonl"), ("x.csv", None, "csv"), ("x.txt", "csv", "csv"), ("x", "markdown", "markdown")],
)  # fmt: skip
def test_the_name_says_the_format(tmp_path: Path, name: str, given: str | None, wanted: str) -> None:
    assert format_of(tmp_path / name, given) == wanted


@pytest.mark.parametrize(
    ("name", "given"),
    [("x.csv", "jsonl"), ("x.nacre", "csv"), ("x.md", None), ("x.txt", None), ("x", None), ("x.jsonl", "archive")],
)
def test_a_name_that_contradicts_or_says_nothing_is_an_error(tmp_path: Path, name: str, given: str | None) -> None:
    with pytest.raises(InvalidInput):
        format_of(tmp_path / name, given)


def test_a_folder_gets_notes(tmp_path: Path) -> None:
    assert format_of(tmp_path) == "markdown"
    with pytest.raises(InvalidInput, match="folder"):
        format_of(tmp_path, "csv")


@pytest.mark.parametrize("name", ["x.nacre", "x.jsonl", "x.csv", "notes"])
def test_what_exists_is_replaced_only_when_asked(store: MemoryStore, tmp_path: Path, name: str) -> None:
    path, format = tmp_path / name, "markdown" if name == "notes" else None
    assert export_file(store, path, format=format).count == 1
    with pytest.raises(InvalidInput, match="--force"):
        export_file(store, path, format=format)
    store.remember("The pier closes at dusk")
    assert export_file(store, path, format=format, overwrite=True).count == 2


def test_a_store_is_not_replaced_even_when_asked(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    with opened(path) as other:
        other.remember("Mine")
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="choose another name"):
        export_file(store, path, overwrite=True)
    assert path.read_bytes() == before


def test_tables_can_be_written_to_a_stream(store: MemoryStore) -> None:
    out = io.BytesIO()
    done = export_file(store, out, format="jsonl")
    assert json.loads(out.getvalue())["text"] == "The ferry leaves at nine" and done.bytes == len(out.getvalue())
    out = io.BytesIO()
    export_file(store, out, format="csv")
    names, row = csv.reader(io.StringIO(out.getvalue().decode(), newline=""))
    assert tuple(names) == NAMES and row[NAMES.index("tags")] == '["ferry"]'


@pytest.mark.parametrize("policy", ["newer", "overwrite"])
@pytest.mark.parametrize("name", ["x.nacre", "x.jsonl", "x.csv", "notes"])
def test_what_was_just_exported_is_no_news_when_it_is_imported_again(tmp_path: Path, name: str, policy: str) -> None:
    at = 1_794_944_480.9278262  # written to the microsecond, it is a later time
    store = MemoryStore(embedder="hashing", path=":memory:", clock=lambda: at)
    for text in ("The ferry leaves at nine", "It left at eight", "The pier closes at dusk"):
        store.remember(text, occurred_at=at - 9, expires_at=at + 9, on_conflict="ignore")
    store.supersede(*[memory.id for memory in store.list_recent()][:2])
    path = tmp_path / name
    export_file(store, path, format="markdown" if name == "notes" else None)
    before = [(memory, memory.version) for memory in store.iterate(include_superseded=True)]
    assert import_path(store, path, on_conflict=policy).overwritten == 0
    assert [(memory, memory.version) for memory in store.iterate(include_superseded=True)] == before
