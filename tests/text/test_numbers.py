"""Numbers that contradict each other."""

from __future__ import annotations

import pytest

from nacre.text.similarity import number_conflict, spelled_out


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("Norway won 9 gold medals", "Norway won 10 gold medals", "9 vs 10"),
        ("the port is 80 or 81", "the port is 80 or 8080", "81 vs 8080"),
        ("it costs 1,200 dollars", "it costs 1200 dollars", ""),
        ("it weighs 2.5 kilos", "it weighs 3 kilos", "2.5 vs 3"),
        ("Norway won 9 medals", "Norway won medals", ""),
        ("Norway won 9 medals", "Norway won 9 medals of 12", ""),
        ("cats 9", "dogs 10", ""),
        ("it is 9", "it is 10", ""),
    ],
)
def test_numbers_conflict_where_each_text_has_its_own_on_a_shared_concept(a: str, b: str, expected: str) -> None:
    assert number_conflict(a, b) == expected


def test_concepts_that_are_given_decide_instead_of_the_words() -> None:
    assert number_conflict("won 9", "got 10", "gold medals", "medals") == "9 vs 10"
    assert number_conflict("medals: 9", "medals: 10", "Norway", "Sweden") == ""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("two", 2.0),
        ("twenty five", 25.0),
        ("two hundred fifty", 250.0),
        ("three thousand one hundred", 3100.0),
        ("two million", 2e6),
        ("two apples", None),
        ("", None),
    ],
)
def test_numbers_in_words(words: str, expected: float | None) -> None:
    assert spelled_out(words.split()) == expected
