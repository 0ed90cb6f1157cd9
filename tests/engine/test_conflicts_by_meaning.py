"""The pairs that the four reference systems get wrong, with the real model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nacre import MemoryStore
from nacre.models.shipped_embedder import ShippedEmbedder


@pytest.fixture(scope="module")
def model() -> ShippedEmbedder:
    return ShippedEmbedder()


@pytest.fixture
def store(model: ShippedEmbedder) -> Iterator[MemoryStore]:
    with MemoryStore(":memory:", embedder=model) as opened:
        yield opened


def found(store: MemoryStore, older: str, newer: str) -> list[tuple[str, str, tuple[str, str]]]:
    store.remember(older)
    return [(each.kind, each.reason, each.words) for each in store.remember_result(newer).conflicts]


def test_nine_and_ten_gold_medals_are_told_apart_by_their_numbers_and_are_no_duplicate(store: MemoryStore) -> None:
    """Their cosine is 0.945."""
    store.remember("Klaebo has won 9 gold medals", id="nine")
    result = store.remember_result("Klaebo has won 10 gold medals", on_conflict="supersede")
    (conflict,) = result.conflicts
    assert conflict.kind in ("contradiction", "update")
    assert conflict.words == ("10", "9")
    assert conflict.similarity > 0.9
    assert result.action == "superseded"
    assert [(each.before, each.after) for each in store.history("nine").transitions] == [("9", "10")]


def test_one_linter_in_the_place_of_another_is_seen_far_below_the_threshold(store: MemoryStore) -> None:
    """Their cosine is 0.704."""
    store.remember("Use ruff for linting")
    (conflict,) = store.remember_result("Use flake8 for linting").conflicts
    assert (conflict.kind, conflict.reason, conflict.words) == ("update", "conflict_model", ("flake8", "ruff"))
    assert conflict.similarity < 0.75


def test_a_negation_contradicts(store: MemoryStore) -> None:
    assert [each[:2] for each in found(store, "Deploy on Fridays", "Do not deploy on Fridays")] == [
        ("contradiction", "conflict_model")
    ]


def test_two_ways_to_say_the_same_are_a_duplicate(store: MemoryStore) -> None:
    assert found(store, "Anna leads the design team", "The design team is led by Anna") == [
        ("duplicate", "conflict_model", ("", ""))
    ]


def test_two_subjects_of_one_sentence_do_not_conflict(store: MemoryStore) -> None:
    assert found(store, "Anna is allergic to peanuts", "Ben is allergic to peanuts") == []
