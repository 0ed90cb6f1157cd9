"""The one place where two texts differ."""

from __future__ import annotations

import pytest

from nacre.conflicts.frames import (
    Frame,
    distinguished,
    exchanged,
    frame,
    renamed,
    rival,
    rivals,
    slot,
    strangers,
    swapped,
)
from nacre.conflicts.statements import statement
from nacre.text.grammar import base


def laid(a: str, b: str) -> Frame:
    return frame(statement(a), statement(b))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("Use ruff for linting", "Use flake8 for linting", ("ruff", "flake8")),
        ("Alice lives in San Marino", "Alice lives in Berlin", ("San Marino", "Berlin")),
        ("The API is hosted on AWS", "The API is hosted on Hetzner Cloud", ("AWS", "Hetzner Cloud")),
        ("Alice speaks French", "Alice speaks German", None),
        ("Alice lives in Oslo", "Bob lives in Oslo", None),
        ("Alice works in Oslo", "Alice lives in Oslo", None),
        ("Use ruff for linting", "Use ruff for linting", None),
        ("Use ruff", "Use a formatter that agrees with the editor", None),
    ],
)
def test_a_slot_is_found_where_all_else_agrees(a: str, b: str, expected: tuple[str, str] | None) -> None:
    assert slot(laid(a, b)) == expected


def test_a_name_in_other_words_is_found_too() -> None:
    assert renamed(laid("The club's treasurer is Jan", "Kira is the treasurer of the club")) == ("Jan", "Kira")


def test_a_comparison_turned_round_is_seen() -> None:
    assert swapped(laid("Sound is faster in air than in water", "Sound is faster in water than in air")) == (
        "air",
        "water",
    )
    assert swapped(laid("Sound is faster in air than in water", "Sound is faster in air")) is None


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The kitchen sink drips", "The bathroom sink was replaced"),
        ("The staging database runs Postgres", "The production database runs MySQL"),
        ("Alice Berg owns the parser", "Bob Stein owns the parser"),
        ("The 2019 report was late", "The 2020 report was on time"),
    ],
)
def test_two_things_are_told_apart(a: str, b: str) -> None:
    assert distinguished(laid(a, b)) or strangers(laid(a, b))


@pytest.mark.parametrize(("one", "other"), [("webpack", "vite"), ("green", "cream"), ("alto", "soprano")])
def test_words_of_one_kind_exclude_each_other(one: str, other: str) -> None:
    assert rival(base(one), base(other))
    assert not rival(base(one), base(one))


def test_words_of_two_kinds_do_not() -> None:
    assert not rival(base("green"), base("vite"))


def test_what_one_text_denies_rivals_nothing() -> None:
    given = frame(statement("The wall is green."), statement("The wall is not grey."))
    assert rivals(given) == []


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Ann reports to Bo.", "Bo reports to Ann.", ("Ann", "Bo")),
        ("In March Ann lent Bo a tent.", "Bo lent Ann a tent in March.", ("Ann", "Bo")),
        ("Ann met Bo.", "Bo met Ann.", None),
        ("Ann was invited by Bo.", "Bo invited Ann.", None),
    ],
)
def test_whoever_does_it_in_one_text_has_it_done_in_the_other(
    one: str, other: str, expected: tuple[str, str] | None
) -> None:
    assert exchanged(frame(statement(one), statement(other))) == expected
