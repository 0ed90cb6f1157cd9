"""Marks that turn the direction of writing never come out raw, and what is printed still reads back."""

from __future__ import annotations

import json

import pytest
import yaml

from nacre.cli.ui.output import json_line, print_data, print_yaml

MARKS = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\x7f\x9b"


@pytest.mark.parametrize("mark", MARKS, ids=[f"U+{ord(mark):04X}" for mark in MARKS])
def test_direction_marks_are_escaped_in_json_and_yaml(mark: str, capsys: pytest.CaptureFixture[str]) -> None:
    value = {"text": f"пиво {mark} user {mark}", f"key{mark}": ["é"]}
    print_data(value, "json")
    as_json = capsys.readouterr().out
    print_yaml(value)
    as_yaml = capsys.readouterr().out
    for text in (as_json, as_yaml, json_line(value)):
        assert mark not in text
        assert "пиво" in text
    assert json.loads(as_json) == value == json.loads(json_line(value))
    assert yaml.safe_load(as_yaml) == value
