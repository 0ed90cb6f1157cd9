"""Opposites and synonyms do not contradict each other."""

from __future__ import annotations

import pytest

from nacre.conflicts.opposites import OPPOSITES, opposed
from nacre.text.grammar import base


@pytest.mark.parametrize(
    ("one", "other"),
    [("enabled", "disabled"), ("permitted", "banned"), ("always", "never"), ("older", "younger"), ("hid", "shown")],
)
def test_every_form_of_a_word_meets_its_opposite(one: str, other: str) -> None:
    assert opposed(base(one), base(other))
    assert opposed(base(other), base(one))


@pytest.mark.parametrize(
    "forms", [("buy", "purchased", "bought"), ("db", "databases"), ("older", "old"), ("k8s", "Kubernetes")]
)
def test_words_of_one_meaning_have_one_base(forms: tuple[str, ...]) -> None:
    assert len({base(form) for form in forms}) == 1


def test_water_is_not_the_more_of_wat() -> None:
    assert base("water") == "water"
    assert base("newer") == base("new")


def test_no_word_is_its_own_opposite_by_way_of_its_synonyms() -> None:
    for pair in OPPOSITES.replace("\n", ";").strip(";").split(";"):
        left, right = ({base(word) for word in side.split()} for side in pair.split("|"))
        assert not left & right, pair
