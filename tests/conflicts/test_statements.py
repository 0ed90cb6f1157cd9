"""What is read out of a text before it is compared."""

from __future__ import annotations

import pytest

from nacre.conflicts.frames import different_values
from nacre.conflicts.statements import cues, statement
from nacre.text.grammar import base


def denied(text: str) -> set[str]:
    return {word.text for word in statement(text).words if word.sign < 0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Do not squash commits", {"squash", "commits"}),
        ("Use tabs, not spaces", {"spaces"}),
        ("Simmer without a lid, stirring often", {"lid"}),
        ("Not only cats purr", set()),
        ("It arrives no later than Monday", set()),
        ("Smoking is forbidden here", {"Smoking"}),
        ("The gate is never unlocked", set()),
        ("I like it but she can't hear noise", {"hear", "noise"}),
        ("Plain words", set()),
    ],
)
def test_a_denial_reaches_its_clause_or_what_follows(text: str, expected: set[str]) -> None:
    assert denied(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("90 minutes", "an hour and a half"),
        ("3 hours 15", "195 minutes"),
        ("half an hour", "30 min"),
        ("two days", "48h"),
        ("sixty days", "two months"),
        ("2 GiB", "2048 MiB"),
        ("$1,200", "1200 dollars"),
        ("2.5 million", "2,500,000"),
        ("at half past nine", "at 9:30"),
        ("at 7 pm", "at 19:00"),
        ("by noon", "at 12:00"),
        ("212 °F", "100 degrees Celsius"),
        ("minus eighty degrees", "-80 °C"),
        ("twenty-five percent", "25%"),
        ("on March 5, 2024", "on 2024-03-05"),
        ("on the 5th of March", "on March 5"),
        ("on Fridays", "on Friday"),
        ("v3.12", "version 3.12.1"),
    ],
)
def test_one_value_written_in_two_ways_is_one(one: str, other: str) -> None:
    first, second = (statement(f"It lasts {text}").values for text in (one, other))
    assert first
    assert second
    assert any(mine.comparable(theirs) and mine.same(theirs) for mine in first for theirs in second)
    assert different_values(first, second) == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("90 minutes", "90 hours"),
        ("9 gold medals", "10 gold medals"),
        ("16 GB", "32 GB"),
        ("on Friday", "on Monday"),
        ("on 5 March", "on 12 March"),
        ("at 9:30", "at 10:00"),
        ("in 1998", "in 2007"),
        ("version 3.11", "version 3.12"),
        ("3-1", "2-2"),
    ],
)
def test_different_values_differ(one: str, other: str) -> None:
    assert different_values(*(statement(f"It lasts {text}").values for text in (one, other)))


@pytest.mark.parametrize(("one", "other"), [("5 kg", "5 hours"), ("on Friday", "in 2024"), ("$5", "€6"), ("80%", "80")])
def test_values_of_different_kinds_are_not_compared(one: str, other: str) -> None:
    assert different_values(*(statement(f"It has {text}").values for text in (one, other))) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PR #412 fixes it", {"#412"}),
        ("It is fixed in ticket 12", {"ticket 12"}),
        ("web-01 has 16 GB", {"web-01"}),
        ("Room 12 has a view", {"room 12"}),
        ("We have 12 rooms", set()),
        ("It listens on port 80", set()),
    ],
)
def test_a_number_that_names_is_a_label_and_no_value(text: str, expected: set[str]) -> None:
    assert statement(text).labels == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The staging server runs Debian", {"staging", "server"}),
        ("Customers on the free plan get a reply", {"customers", "free", "plan"}),
        ("Line length limit: 79", {"line", "length", "limit"}),
        ("Use ruff", set()),
    ],
)
def test_the_subject_stands_before_the_verb(text: str, expected: set[str]) -> None:
    assert statement(text).subject == {base(word) for word in expected}


@pytest.mark.parametrize(
    "text", ["", "…", "猫が好き", "a" * 10_000, "1 " * 3000, "not " * 2000, "half past ²", "#", "$ %"]
)
def test_nothing_that_is_written_cannot_be_read(text: str) -> None:
    assert statement(text).words is not None


@pytest.mark.parametrize(
    "text",
    [
        "We no longer use Jira",
        "We switched from Jenkins to Buildkite",
        "As of May the office is closed",
        "Fenna took over from Dario",
        "The fee went up",
        "It's Helix these days",
        "Call me Finn from now on",
        "The bins are emptied on Mondays instead",
    ],
)
def test_a_change_is_heard(text: str) -> None:
    assert cues(text).changed


@pytest.mark.parametrize(
    "text", ["Use tabs instead of spaces", "Turn the lights off", "The bus stops here", "I know her"]
)
def test_no_change_is_imagined(text: str) -> None:
    assert not cues(text).changed


def test_what_is_open_and_what_is_settled_are_told_apart() -> None:
    assert cues("The paper is still under review").open
    assert cues("The paper was accepted").settled
    assert not cues("Papers have authors").open


def test_a_passive_is_no_past() -> None:
    assert not cues("It is hosted in Oslo").past
    assert cues("It was hosted in Oslo").past
