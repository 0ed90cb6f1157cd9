"""A hit says what spoke for it, and the sum is its score."""

from __future__ import annotations

import numpy as np
import pytest

from nacre import MemoryStore
from nacre.model import Query
from nacre.recall.gather import likely_roles, understand
from nacre.recall.signals import FACTORS, LEAST_BEST_COSINE, closeness_alone, relative_to_best
from nacre.recall.strategies import LEAST_SHOWN
from tests.recall.factories import converse
from tests.samples import memory


@pytest.fixture
def filled(store: MemoryStore) -> MemoryStore:
    store.remember("The database listens on port 5432", id="port", importance=0.9)
    store.remember("Anna prefers green tea in the morning", id="tea", confidence=0.5)
    converse(store, "s", [("Anna", "Is the database down?"), ("Ben", "Yes, and the port is closed too, since noon.")])
    return store


def test_the_shares_add_up_to_the_score_before_worth_is_weighed_in(filled: MemoryStore) -> None:
    hits = filled.recall("which port does the database use, Ben", k=9)
    assert {"port", "s0", "s1"} <= {hit.memory.id for hit in hits}
    for hit in hits:
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
    assert share("green tea in March 2026") == pytest.approx(share("green tea") / 2)


LATER = 9e9  # when nothing is recent any more


def test_a_note_that_is_best_in_words_and_meaning_scores_as_much_as_such_a_turn(store: MemoryStore) -> None:
    store.remember("The database listens on port 5432", id="note", importance=0.5)
    asked = "The database listens on port 5432"
    shares = sum(
        reason.score for reason in store.recall(asked, k=1, asked_at=LATER)[0].why if reason.signal not in FACTORS
    )
    assert shares == pytest.approx(1, abs=4 * LEAST_SHOWN)


def reasons_of(store: MemoryStore, question: str, id: str) -> dict[str, float]:
    hit = next(hit for hit in store.recall(question, k=20) if hit.memory.id == id)
    return {reason.signal: reason.score for reason in hit.why}


def test_length_is_counted_in_stems_and_bounded(store: MemoryStore) -> None:
    long, longer = (" ".join(f"zebra{i}" for i in range(count)) for count in (500, 900))
    converse(store, "s", [("user", "服务器在柏林的机房里"), ("user", "ok zebra"), ("user", long), ("user", longer)])
    brief = {id: -reasons_of(store, "zebra1 zebra 柏林 ok", id).get("brief", 0.0) for id in ("s0", "s1")}
    assert 0 < brief["s0"] < 0.5 * brief["s1"]  # ten signs are a sentence
    lost = [reasons_of(store, "zebra1 zebra2 zebra3", id)["long"] for id in ("s2", "s3")]
    assert lost[0] == pytest.approx(lost[1], rel=1e-3)


def test_who_spoke_counts_only_for_turns(store: MemoryStore) -> None:
    converse(store, "s", [("Anna", "The red bicycle was sold in spring.")])
    note = store.draft("The red bicycle was bought in autumn.", id="note", role="Anna", session="s")
    store.write("import", new=[note])  # without a position it is no turn
    store.remember("The red bicycle was painted in winter.", id="other", role="Ben")
    asked = "What did Anna say about the red bicycle?"
    assert {"speaker", "conversation"} <= reasons_of(store, asked, "s0").keys()
    assert not {"speaker", "conversation", "words nearby"} & reasons_of(store, asked, "note").keys()


@pytest.mark.parametrize(
    ("question", "by_user"),
    [
        ("What did I buy?", True), ("What I'd like", True), ("where did we go", True), ("tell us", True),
        ("Which id has the order?", False), ("Who was ill?", False), ("Sales in the US", False), ("the bus", False),
    ],
)  # fmt: skip
def test_the_asker_is_named_by_whole_words(question: str, by_user: bool) -> None:
    assert (likely_roles(question) == frozenset(("user",))) is by_user


def test_a_note_of_a_session_is_judged_as_a_note() -> None:
    question = understand(Query("anything"))
    assert not closeness_alone(memory("m", "text", session="planning"), question, None).turn
    assert closeness_alone(memory("m", "text", session="planning", position=0), question, None).turn


def test_meaning_counts_little_where_no_text_is_near_the_question() -> None:
    chance = relative_to_best(np.array([0.005, 0.0], np.float32), LEAST_BEST_COSINE)
    assert chance.tolist() == pytest.approx([0.05, 0.0])
    near = relative_to_best(np.array([0.5, 0.25], np.float32), LEAST_BEST_COSINE)
    assert near.tolist() == pytest.approx([1.0, 0.5])
