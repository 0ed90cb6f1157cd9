"""The envelope that every door sends on."""

from __future__ import annotations

import json
from dataclasses import dataclass

from nacre.lessons import Answer
from nacre.lessons.lesson import Lesson
from nacre.model import Memory


@dataclass(frozen=True)
class Counted:
    name: str
    near: tuple[str, ...]


def test_an_envelope_has_success_data_warnings_and_suggestions() -> None:
    told = Answer(3, ("mind the gap",), {"jra": ("jira",)}).to_dict()
    assert told == {"success": True, "data": 3, "warnings": ["mind the gap"], "suggestions": {"jra": ["jira"]}}


def test_lists_mappings_and_values_inside_are_told_in_plain_json() -> None:
    data = {"found": (Counted("a", ("b", "c")),), 7: None}
    told = Answer(data).to_dict()
    assert told["data"] == {"found": [{"name": "a", "near": ["b", "c"]}], "7": None}
    assert json.loads(json.dumps(told)) == told


def test_whoever_can_tell_itself_does() -> None:
    lesson = Lesson.of(Memory("1", "text", created_at=0.0))
    assert Answer((lesson,)).to_dict()["data"] == [lesson.to_dict()]


def test_nothing_found_is_told_as_nothing() -> None:
    assert Answer(None).to_dict()["data"] is None
