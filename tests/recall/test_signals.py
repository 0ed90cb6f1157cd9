"""A hit says what spoke for it, and the sum is its score."""

from __future__ import annotations

import pytest

from nacre import MemoryStore
from nacre.recall.signals import FACTORS
from nacre.recall.strategies import LEAST_SHOWN
from tests.recall.factories import converse


@pytest.fixture
def filled(store: MemoryStore) -> MemoryStore:
    store.remember("The database listens on port 5432", id="port", importance=0.9)
    store.remember("Anna prefers green tea in the morning", id="tea", confidence=0.5)
    converse(store, "s", [("Anna", "Is the database down?"), ("Ben", "Yes, and the port is closed too, since noon.")])
    return store


def test_the_shares_add_up_to_the_score_before_worth_is_weighed_in(filled: MemoryStore) -> None:
    for hit in filled.recall("which port does the database use, Ben", k=9):
        told = [reason.score for reason in hit.why if reason.signal not in FACTORS]
        weighed = {reason.signal: reason.score for reason in hit.why if reason.signal in FACTORS}
        before = sum(told)
        factors = [1 + given / before for given in weighed.values()] if before > 0 else []
        whole = before
        for factor in factors:
            whole *= factor
        assert hit.score == pytest.approx(whole, abs=8 * LEAST_SHOWN)


def test_the_matched_words_and_the_cosine_are_named(filled: MemoryStore) -> None:
    best = filled.recall("which port does the database use", k=1)[0]
    details = {reason.signal: reason.detail for reason in best.why}
    assert set(details["words"].split(", ")) == {"port", "databas"}
    assert details["meaning"].startswith("cosine 0.")
    assert str(best.why[0]).startswith(best.why[0].signal)


def test_the_strongest_reason_comes_first(filled: MemoryStore) -> None:
    best = filled.recall("green tea", k=1)[0]
    told = [abs(reason.score) for reason in best.why if reason.signal not in FACTORS]
    assert told == sorted(told, reverse=True)
    assert {"importance", "recency", "belief"} & {reason.signal for reason in best.why}


def test_rank_fusion_names_the_ranks(filled: MemoryStore) -> None:
    best = filled.recall("green tea", k=1, strategy="rrf")[0]
    assert {reason.signal: reason.detail for reason in best.why} == {"words": "rank 1", "meaning": "rank 1"}


def test_words_count_less_where_the_store_knows_few_of_them(filled: MemoryStore) -> None:
    def share(question: str) -> float:
        return sum(reason.score for reason in filled.recall(question, k=1)[0].why if reason.signal == "words")

    assert share("green tea xylophone zeppelin") == pytest.approx(share("green tea") / 2)


def test_a_note_that_is_best_in_words_and_meaning_scores_as_much_as_such_a_turn(store: MemoryStore) -> None:
    store.remember("The database listens on port 5432", id="note", importance=0.5)
    asked = "The database listens on port 5432"
    shares = sum(reason.score for reason in store.recall(asked, k=1)[0].why if reason.signal not in FACTORS)
    assert shares == pytest.approx(1, abs=4 * LEAST_SHOWN)
