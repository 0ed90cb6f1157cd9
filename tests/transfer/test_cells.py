"""Cells of a table: every field to text and back."""

from __future__ import annotations

import csv
import io
import json

import pytest

from nacre.errors import InvalidInput
from nacre.model import Link, Memory
from nacre.model.memory import NAMES
from nacre.transfer.cells import convert, json_line, moment, table_line

FULL = Memory(
    id="m", text="Two lines,\nwith \"quotes\" and\ra return", tags=("a,b", "c"), links=(Link("n", "part_of", 0.5),),
    metadata={"page": 3, "deep": [None, {"x": True}]}, pinned=True, polarity=-1, position=4, valence=-0.25,
    created_at=1_750_000_000.5, updated_at=1_750_000_001.0, last_accessed=1_750_000_002.0, importance=0.9,
)  # fmt: skip


def test_a_line_of_csv_has_every_field_and_reads_back() -> None:
    [row] = csv.reader(io.StringIO(table_line(FULL), newline=""))
    cells = dict(zip(NAMES, row, strict=True))
    fields = {name: convert(name, value) for name, value in cells.items() if value}
    assert fields["links"] == [{"to": "n", "rel": "part_of", "weight": 0.5}]
    fields.pop("links")
    assert Memory.from_dict(fields) == Memory.from_dict({**FULL.to_dict(), "links": []})  # type: ignore[arg-type]
    assert cells["created_at"] == "2025-06-15T15:06:40.500000Z" and cells["valid_from"] == ""


def test_a_line_of_json_says_the_times_even_where_they_are_zero() -> None:
    line = json.loads(json_line(Memory(id="m", text="x")))
    assert line == {"id": "m", "text": "x", "created_at": 0.0, "updated_at": 0.0, "last_accessed": 0.0}


@pytest.mark.parametrize("written", ["2025-06-15", "20250615", 20_250_615, "15.6.2025"])
def test_what_is_true_until_a_date_is_true_on_it(written: object) -> None:
    assert moment("valid_from", written) == 1_749_945_600.0
    assert moment("valid_until", written) == moment("expires_at", written) == 1_750_032_000.0
    assert moment("valid_until", "2025-06-15T00:00:00Z") == 1_749_945_600.0


def test_lists_are_json_or_words_between_commas_or_semicolons() -> None:
    assert convert("tags", '["a,b", "c"]') == ["a,b", "c"]
    assert convert("tags", " a; b ,c,, ") == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("2025-06-15T15:06:40Z", 1_750_000_000.0),
        ("2025-06-15 15:06:40", 1_750_000_000.0),
        ("2025-06-15", 1_749_945_600.0),
        ("20250615", 1_749_945_600.0),
        (20_250_615, 1_749_945_600.0),
        (20_250_615.0, 20_250_615.0),  # so this program writes seconds
        (20_251_399, 20_251_399.0),
        ("2025", 1_735_689_600.0),
        (1_750_000_000, 1_750_000_000.0),
        ("1750000000", 1_750_000_000.0),
        (1_750_000_000_000, 1_750_000_000.0),
        (253_402_300_799.0, 253_402_300_799.0),
        ("", None),
        (None, None),
    ],
)
def test_times_are_read_as_people_and_programs_write_them(value: object, wanted: float | None) -> None:
    assert moment("created_at", value) == wanted


@pytest.mark.parametrize(
    ("name", "value"),
    [("importance", "much"), ("position", "1.5"), ("pinned", "maybe"), ("links", "{"), ("created_at", "soon"),
     ("created_at", [1]), ("created_at", True), ("created_at", "20261399"), ("created_at", "20260331101010"),
     ("created_at", "202603"), ("created_at", 20_260_231), ("created_at", "2026.0"), ("tags", "[1")],
)  # fmt: skip
def test_what_is_not_of_its_kind_is_an_error_that_names_the_field(name: str, value: object) -> None:
    with pytest.raises(InvalidInput):
        convert(name, value)


def test_a_whole_number_may_have_the_zero_that_spreadsheets_add() -> None:
    assert convert("position", "3.0") == convert("position", " 3 ") == 3
    assert isinstance(convert("position", "3.0"), int)
    with pytest.raises(InvalidInput, match=r"position is '1\.5', which is not a whole number"):
        convert("position", "1.5")
    with pytest.raises(InvalidInput, match="importance is 'much', which is not a number"):
        convert("importance", "much")
