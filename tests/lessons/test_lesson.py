"""A lesson as the book speaks of it, and how its title is written."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.errors import InvalidInput
from nacre.lessons import Answer
from nacre.lessons.lesson import Lesson, agent_tag, normalize_title
from nacre.model import Memory


@pytest.mark.accepts("L8.14")
@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("  never\n force-push  ", "Never force-push"),
        ("Close files.", "Close files"),
        ("Why is it slow?", "Why is it slow?"),
        ("git keeps what you commit", "git keeps what you commit"),
        ("iOS needs a certificate", "iOS needs a certificate"),
        ("x86_64 only", "x86_64 only"),
        ("éviter les boucles", "Éviter les boucles"),
        ("cache", "Cache"),
        ("pytest", "pytest"),
    ],
)
def test_a_title_is_one_line_that_begins_with_a_capital_and_ends_without_a_stop(written: str, stored: str) -> None:
    assert normalize_title(written) == stored


@pytest.mark.parametrize("empty", ["", "  \n", "...", " .;: "])
def test_a_title_without_words_is_refused(empty: str) -> None:
    with pytest.raises(InvalidInput, match="needs a title"):
        normalize_title(empty)


def test_a_title_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidInput, match="A title is text, not int"):
        normalize_title(3)  # type: ignore[arg-type]


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=40))
def test_a_normal_title_stays_as_it_is(title: str) -> None:
    try:
        once = normalize_title(title)
    except InvalidInput:
        return
    assert normalize_title(once) == once


def test_a_lesson_has_its_level_and_the_number_behind_it() -> None:
    lesson = Lesson.of(Memory("1", "text", type="lesson", confidence=0.61, status="archived", superseded_by="2"))
    rendered = lesson.to_dict()
    assert (rendered["confidence"], rendered["certainty"], rendered["archived"], rendered["superseded_by"]) == (
        "high",
        0.61,
        True,
        "2",
    )


def test_a_lesson_as_json_has_iso_times_and_plain_values() -> None:
    rendered = Lesson.of(Memory("1", "text", created_at=0.0, last_validated_at=86_400.0)).to_dict()
    assert (rendered["created_at"], rendered["last_validated_at"]) == ("1970-01-01T00:00:00Z", "1970-01-02T00:00:00Z")
    assert json.loads(json.dumps(rendered)) == rendered


def test_the_tag_of_an_agent_is_written_small() -> None:
    assert agent_tag(" Claude ") == "agent:claude"


@dataclass(frozen=True)
class Counted:
    name: str
    near: tuple[str, ...]


def test_an_envelope_has_success_data_warnings_and_suggestions() -> None:
    rendered = Answer(3, ("mind the gap",), {"jra": ("jira",)}).to_dict()
    assert rendered == {"success": True, "data": 3, "warnings": ["mind the gap"], "suggestions": {"jra": ["jira"]}}


def test_lists_mappings_and_values_inside_become_plain_json() -> None:
    data = {"found": (Counted("a", ("b", "c")),), 7: None}
    rendered = Answer(data).to_dict()
    assert rendered["data"] == {"found": [{"name": "a", "near": ["b", "c"]}], "7": None}
    assert json.loads(json.dumps(rendered)) == rendered


def test_an_object_with_its_own_dict_form_keeps_it() -> None:
    lesson = Lesson.of(Memory("1", "text", created_at=0.0))
    assert Answer((lesson,)).to_dict()["data"] == [lesson.to_dict()]


def test_no_data_stays_none() -> None:
    assert Answer(None).to_dict()["data"] is None
