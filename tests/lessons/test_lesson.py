"""A lesson as the book speaks of it, and how its title is written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.errors import InvalidInput
from nacre.lessons.lesson import Lesson, agent_tag, normalize_title
from nacre.model import Memory


@pytest.mark.accepts("L8.14")
@pytest.mark.parametrize(
    ("written", "kept"),
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
def test_a_title_is_one_line_that_begins_with_a_capital_and_ends_without_a_stop(written: str, kept: str) -> None:
    assert normalize_title(written) == kept


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


def test_a_lesson_tells_its_level_and_what_stands_behind_it() -> None:
    lesson = Lesson.of(Memory("1", "text", type="lesson", confidence=0.61, status="archived", superseded_by="2"))
    told = lesson.to_dict()
    assert (told["confidence"], told["certainty"], told["archived"], told["superseded_by"]) == ("high", 0.61, True, "2")


def test_a_lesson_tells_its_times_in_iso_and_is_plain_json() -> None:
    told = Lesson.of(Memory("1", "text", created_at=0.0, last_validated_at=86_400.0)).to_dict()
    assert (told["created_at"], told["last_validated_at"]) == ("1970-01-01T00:00:00Z", "1970-01-02T00:00:00Z")
    assert json.loads(json.dumps(told)) == told


def test_the_tag_of_an_agent_is_written_small() -> None:
    assert agent_tag(" Claude ") == "agent:claude"
