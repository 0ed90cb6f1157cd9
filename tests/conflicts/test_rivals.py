"""Words of one kind, and who does what to whom."""

from __future__ import annotations

import pytest

from nacre.conflicts.frames import exchanged, frame, rival, rivals
from nacre.conflicts.statements import statement
from nacre.text.grammar import base


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
