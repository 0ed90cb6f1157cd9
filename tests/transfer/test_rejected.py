"""What an import did not take comes back as it was, and can be imported once it is mended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nacre.transfer.archive import Fault
from nacre.transfer.import_archive import import_path
from nacre.transfer.rejected import rejected
from tests.transfer.archives import opened
from tests.transfer.foreign.fixture_files import everything


def test_the_rejected_rows_of_a_table_can_be_mended_and_imported(tmp_path: Path) -> None:
    table, mended = tmp_path / "x.csv", tmp_path / "mended.jsonl"
    table.write_text('Note,importance\ngood,0.5\n"two\nlines",much\nmore,1,2,3\n')
    columns = {"Note": "text"}
    with opened() as store:
        done = import_path(store, table, columns=columns)
        rows = list(rejected(table, "csv", done.faults))
        assert [(row["line"], row.get("Note"), row.get("raw")) for row in rows] == [
            (4, "two\nlines", None), (5, None, "more,1,2,3"),
        ]  # fmt: skip
        assert all(row["error"] for row in rows)
        mended.write_text(json.dumps(rows[0] | {"importance": "0.7"}))
        assert import_path(store, mended, source="jsonl", columns=columns).imported == 1
        assert {memory.text for memory in everything(store)} == {"good", "two\nlines"}


def test_lines_that_are_not_json_come_back_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "good"}\nnot json\n{"importance": 1}\n')
    rows = list(rejected(path, "jsonl", [Fault(2, "a"), Fault(3, "b"), Fault(3, "c"), Fault(9, "d")]))
    assert rows == [
        {"line": 2, "error": "a", "raw": "not json"},
        {"importance": 1, "line": 3, "error": "b c"},
        {"line": 9, "error": "d"},
    ]


@pytest.mark.parametrize("source", ["jsonl", "mem0-export"])
def test_items_of_an_array_come_back_as_they_were(tmp_path: Path, source: str) -> None:
    path = tmp_path / "x.json"
    path.write_text('[{"memory": "good"}, {"memory": 7, "id": "é"}, "plain", {"memory": "la')
    with opened() as store:
        done = import_path(store, path, source=source)
    assert (done.imported, done.errors) == (1, 3)
    second, third, rest = rejected(path, source, done.faults)
    assert (second["item"], second["memory"], second["id"], "line" in second) == (2, 7, "é", False)
    assert (third["item"], third["raw"]) == (3, '"plain"')
    assert rest["item"] == 4 and str(rest["error"]).startswith("the rest is not JSON")
