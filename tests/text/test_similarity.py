"""Likeness of facts by words, tags and concepts."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from nacre.text.similarity import (
    compute_similarity,
    compute_tag_similarity,
    compute_word_similarity,
    number_conflict,
)


@dataclass(frozen=True)
class Node:
    content: str
    concept: str = ""
    tags: tuple[str, ...] = ()


def test_words_are_compared_without_common_and_short_ones() -> None:
    assert compute_word_similarity("the herring is in a barrel", "Herring, barrel!") == 1.0
    assert compute_word_similarity("salted herring", "fresh herring") == pytest.approx(1 / 3)
    assert compute_word_similarity("an ox", "an ox") == 0.0  # nothing is left to compare


@pytest.mark.parametrize(("a", "b"), [("", ""), ("", "herring"), ("herring", ""), ("of the", "of the")])
def test_what_says_nothing_is_like_nothing(a: str, b: str) -> None:
    assert compute_word_similarity(a, b) == 0.0


def test_a_script_without_spaces_has_words_too() -> None:
    assert compute_word_similarity("東京の天気", "東京の天気") == 1.0
    assert 0 < compute_word_similarity("東京の天気", "東京の地図") < 1


def test_tags_are_compared_whatever_their_case() -> None:
    assert compute_tag_similarity(["Sea", "fish"], ("FISH", "sea")) == 1.0
    assert compute_tag_similarity(["sea"], ["sea", "fish"]) == 0.5
    assert compute_tag_similarity([], []) == 0.0


def test_the_whole_is_half_words_a_fifth_tags_and_the_rest_concept() -> None:
    here = {"content": "herring swims", "concept": "fishery", "tags": ["sea"]}
    assert compute_similarity(here, here) == pytest.approx(1.0)
    assert compute_similarity(here, {"content": "herring swims"}) == 0.5
    assert compute_similarity(here, {"tags": ["Sea"]}) == 0.2
    assert compute_similarity(here, {"concept": "Fishery"}) == 0.3


def test_objects_are_compared_as_mappings_are() -> None:
    node = Node("herring swims", "fishery", ("sea",))
    assert compute_similarity(node, {"content": "herring swims", "concept": "fishery", "tags": ["sea"]}) == 1.0
    assert compute_similarity(node, object()) == 0.0


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
