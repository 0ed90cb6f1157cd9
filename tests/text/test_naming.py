"""When two names may be one."""

from __future__ import annotations

import pytest

from nacre.text import names as naming
from nacre.text.names import (
    FIRST_NAME,
    HINTS,
    INITIALS,
    LEGAL_FORM,
    MIDDLE_NAMES,
    SPELLING,
    SURNAME,
    TITLE,
    same_name,
    similar_names,
)


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ("Sarah Chen", "sarah CHEN's", SPELLING),
        ("O’Brien", "O'Brien", SPELLING),
        ("Łukasz Żak", "Lukasz Zak", SPELLING),
        ("Strauß", "Strauss", SPELLING),
        ("Al-Hassan", "al hassan", SPELLING),
        ("Dr. Chen", "Chen", TITLE),
        ("Dr. Sarah Chen", "sarah chen", TITLE),
        ("Mr. Chen", "Mrs. Chen", ""),
        ("Dr. S. Chen", "Sarah Chen", INITIALS),
        ("Dr.", "Mr.", ""),
        ("S. Chen", "Sarah Chen", INITIALS),
        ("J. R. R. Tolkien", "John Ronald Reuel Tolkien", INITIALS),
        ("J.R. Tolkien", "J. R. R. Tolkien", INITIALS),
        ("John Tolkien", "John Ronald Reuel Tolkien", MIDDLE_NAMES),
        ("Chen", "Sarah Chen", SURNAME),
        ("Sarah", "Sarah Chen", FIRST_NAME),
        ("Acme Inc.", "ACME", LEGAL_FORM),
        ("Sarah Chen", "Tom Chen", ""),
        ("S. Chen", "Sarah Cho", ""),
        ("A. Chen", "Sarah Chen", ""),
        ("J. Q. Tolkien", "John Ronald Reuel Tolkien", ""),
        ("C++", "C", ""),
        ("C#", "C++", ""),
        ("東京", "京都", ""),
        ("!!", "??", ""),
        ("", "Chen", ""),
    ],
)
def test_two_names_may_be_one_for_a_reason(a: str, b: str, reason: str) -> None:
    assert same_name(a, b) == same_name(b, a) == reason


def test_a_part_of_a_name_is_only_a_hint() -> None:
    assert frozenset((SURNAME, FIRST_NAME)) == HINTS


def test_many_names_give_the_pairs_that_may_be_one_surest_first() -> None:
    found = similar_names(["Chen", "Sarah Chen", "S. Chen", "sarah chen", "Acme", "Acme Ltd", "Bo Ek"])
    assert [(pair.a, pair.b, pair.reason) for pair in found] == [
        ("Sarah Chen", "sarah chen", SPELLING),
        ("Acme", "Acme Ltd", LEGAL_FORM),
        ("Sarah Chen", "S. Chen", INITIALS),
        ("Sarah Chen", "Chen", SURNAME),
        ("S. Chen", "Chen", SURNAME),
    ]
    assert all(same_name(pair.a, pair.b) for pair in found)


def test_a_short_form_that_fits_many_tells_nothing() -> None:
    assert similar_names(["Chen", *(f"{name} Chen" for name in ("Ann", "Bo", "Cy"))]) != []
    assert similar_names(["Chen", *(f"{name} Chen" for name in ("Ann", "Bo", "Cy", "Di"))]) == []


@pytest.mark.slow
def test_twenty_thousand_names_are_paired_without_comparing_each_with_each(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    plain = naming.short_for

    def counting(short: tuple[str, ...], long: tuple[str, ...]) -> str:
        nonlocal compared
        compared += 1
        return plain(short, long)

    monkeypatch.setattr(naming, "short_for", counting)
    people = [f"Given{i} Family{i}" for i in range(6_000)]
    crowd = [f"John M{i} Smith" for i in range(6_000)]
    short = [f"G. Family{i}" for i in range(6_000)] + [f"FAMILY{i}" for i in range(2_000)]
    found = similar_names([*people, *crowd, *short, "J. Smith", "John Smith"])
    expected = {(f"Given{i} Family{i}", f"G. Family{i}") for i in range(6_000)}
    assert {(pair.a, pair.b) for pair in found if pair.reason == INITIALS} == expected
    assert sum(pair.reason == SURNAME for pair in found) == 4_000
    assert compared < 100_000
