"""The strategies by name: what each promises, and what all do alike."""

from __future__ import annotations

import math
from typing import Any

import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput, UnknownName
from nacre.model import Link
from nacre.model.recollection import RankFusion
from nacre.recall.strategies import STRATEGIES
from tests.embedders import Moody
from tests.recall.factories import NOW, found, found_nothing

EACH = pytest.mark.parametrize("strategy", STRATEGIES)


@pytest.fixture
def filled(store: MemoryStore) -> MemoryStore:
    store.remember("green tea is brewed at eighty degrees", id="brew", type="procedural", importance=0.8)
    store.remember("green tea from the hills of Uji", id="uji", type="procedural", importance=0.2)
    store.remember("Anna drinks green tea", id="anna", type="episodic", importance=0.9)
    store.remember("the database listens on a port", id="port", type="semantic", importance=0.8)
    return store


@EACH
def test_type_and_importance_narrow_together(filled: MemoryStore, strategy: str) -> None:
    assert found(filled, "green tea", strategy=strategy, type="procedural", min_importance=0.5) == ["brew"]


@EACH
@pytest.mark.parametrize("k", [0, -1])
def test_asking_for_no_hits_is_refused(filled: MemoryStore, strategy: str, k: int) -> None:
    with pytest.raises(InvalidInput, match=f"k is {k}; ask for at least 1"):
        filled.recall("green tea", k, strategy=strategy)


@EACH
def test_only_what_is_returned_counts_as_used(filled: MemoryStore, strategy: str) -> None:
    returned = found(filled, "green tea", k=2, strategy=strategy)
    used = {memory.id: memory for memory in filled.list_recent(9) if memory.access_count}
    assert set(used) == set(returned)
    assert {(memory.access_count, memory.last_accessed) for memory in used.values()} == {(1, NOW)}


@EACH
def test_an_empty_store_and_an_empty_choice_answer_with_nothing(store: MemoryStore, strategy: str) -> None:
    assert found_nothing(store, "tea", strategy=strategy)
    store.remember("tea", id="tea")
    assert found(store, "tea", strategy=strategy) == ["tea"]
    assert found_nothing(store, "tea", strategy=strategy, tag="none")
    assert found_nothing(store, "tea", strategy=strategy, group_by="session")


@EACH
def test_hits_fall_in_score_and_have_a_relevance_between_0_and_1(filled: MemoryStore, strategy: str) -> None:
    hits = filled.recall("green tea brewed", strategy=strategy)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(0 < hit.relevance <= 1 for hit in hits[:3])
    assert hits[0].memory.id == "brew"
    assert hits[0].relevance == max(hit.relevance for hit in hits)


@EACH
def test_the_least_relevance_silences_what_has_nothing_to_do_with_it(filled: MemoryStore, strategy: str) -> None:
    assert found(filled, "green tea brewed at degrees", strategy=strategy, min_relevance=0.1)[0] == "brew"
    assert "port" not in found(filled, "green tea brewed at degrees", strategy=strategy, min_relevance=0.1)
    assert found_nothing(filled, "quarterly revenue forecast", strategy=strategy, min_relevance=0.1)


@EACH
def test_without_the_model_words_alone_answer_and_the_notes_say_so(filled: MemoryStore, strategy: str) -> None:
    assert isinstance(filled.embedder, Moody)
    filled.embedder.well = False
    recalled = filled.recall("who drinks green tea", strategy=strategy, min_relevance=0.05)
    assert recalled[0].memory.id == "anna"
    assert bool(recalled.notes) == (strategy != "keyword")
    assert all("words alone" in note and "out today" in note for note in recalled.notes)


def test_without_the_model_conversations_are_ranked_by_words_and_packs_pass_the_note_on(filled: MemoryStore) -> None:
    filled.remember("we spoke of black tea", session="s", position=0)
    assert isinstance(filled.embedder, Moody)
    filled.embedder.well = False
    recalled = filled.recall("black tea", group_by="session")
    assert [session.session for session in recalled.sessions] == ["s"]
    assert recalled.notes
    assert filled.recall_pack("green tea").notes == recalled.notes


def test_semantic_scores_are_the_cosines(filled: MemoryStore) -> None:
    asked = filled.embedder.embed(["green tea"])[0]
    hits = filled.recall("green tea", strategy="semantic")
    cosines = {hit.memory.id: float(filled.embedder.embed([hit.memory.text])[0] @ asked) for hit in hits}
    assert cosines.keys() == {"brew", "uji", "anna", "port"}
    assert {hit.memory.id: hit.score for hit in hits} == pytest.approx(cosines, abs=2e-3)


def test_keyword_finds_nothing_without_a_common_word(filled: MemoryStore) -> None:
    assert found_nothing(filled, "astronomy", strategy="keyword")
    assert set(found(filled, "tea", strategy="keyword")) == {"brew", "uji", "anna"}


@pytest.mark.parametrize("fusion", [RankFusion(), RankFusion(5, 0.7, 0.3), RankFusion(0, 1, 0), RankFusion(60, 0, 1)])
def test_rank_fusion_sums_weight_over_k_plus_rank(filled: MemoryStore, fusion: RankFusion) -> None:
    question = "Anna brewed green tea"
    expected: dict[str, float] = {}
    for strategy, weight in (("keyword", fusion.words), ("semantic", fusion.meaning)):
        for rank, id in enumerate(found(filled, question, strategy=strategy), start=1):
            expected[id] = expected.get(id, 0.0) + weight / (fusion.k + rank)
    hits = filled.recall(question, strategy="rrf", fusion=fusion)
    assert {hit.memory.id: hit.score for hit in hits} == pytest.approx(expected)


def test_rank_fusion_has_the_published_defaults_and_refuses_to_divide_by_nothing() -> None:
    assert RankFusion() == RankFusion(k=60, meaning=0.5, words=0.5)
    with pytest.raises(ValueError, match="0 or more"):
        RankFusion(k=-1)


@EACH
def test_a_mood_draws_its_like(filled: MemoryStore, strategy: str) -> None:
    moods = {"brew": (-1.0, -1.0), "uji": (1.0, 1.0), "anna": None, "port": (0.0, 1.0)}
    for id, mood in moods.items():
        if mood is not None:
            filled.edit(id, valence=mood[0], arousal=mood[1])
    plain = {hit.memory.id: hit.score for hit in filled.recall("green tea", strategy=strategy, touch=False)}
    hits = filled.recall("green tea", strategy=strategy, emotion=(1.0, 1.0), emotion_weight=0.4, touch=False)
    likeness = {"brew": 0.0, "uji": 1.0, "anna": 0.5, "port": 1 - 1 / math.sqrt(8)}
    best = max(plain.values())
    expected = {id: 0.6 * score / best + 0.4 * likeness[id] for id, score in plain.items()}
    assert {hit.memory.id: hit.score for hit in hits} == pytest.approx(expected, abs=1e-3)
    assert "mood" in {reason.signal for reason in hits[0].why}
    whole = filled.recall("green tea", strategy=strategy, emotion=(1.0, 1.0), emotion_weight=1)
    assert whole[0].memory.id == "uji"


@pytest.mark.slow
def test_the_graph_walks_links_both_ways_from_the_best_answers(store: MemoryStore) -> None:
    store.remember("a blue vessel", id="cup")
    store.remember("green tea", id="tea", links=[Link("cup")])
    store.remember("an oak board", id="shelf", links=[Link("cup"), Link("tea", weight=0.1)])
    for n in range(8):
        store.remember(f"number {n} of the things nobody asked for", id=f"noise{n}")
    hits = {hit.memory.id: hit for hit in store.recall("green tea", k=20, strategy="graph")}
    assert {"tea", "cup", "shelf"} <= set(hits)
    assert hits["tea"].score > hits["cup"].score > hits["shelf"].score > 0
    assert hits["cup"].why[0].signal == "link"
    assert "related, 1 away" in str(hits["cup"].why[0])


def test_an_unknown_name_is_refused_with_the_nearest(store: MemoryStore) -> None:
    for wrong, near in (
        ({"strategy": "hybird"}, "'hybrid'"), ({"group_by": "sessions"}, "'session'"),
        ({"stratgy": "auto"}, "'strategy'"), ({"recency_basis": "create"}, "'created'"),
    ):  # fmt: skip
        given: dict[str, Any] = wrong
        with pytest.raises(UnknownName, match=near):
            store.recall("tea", **given)


@pytest.mark.parametrize(
    "wrong",
    [{"min_relevance": 1.1}, {"emotion_weight": float("nan")}, {"emotion": (2.0, 0.0)},
     {"emotion": (0.1,)}],
)  # fmt: skip
def test_a_share_that_is_none_is_refused(store: MemoryStore, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        store.recall("tea", **wrong)


@EACH
def test_the_same_question_has_the_same_answer(filled: MemoryStore, strategy: str) -> None:
    first = [(hit.memory.id, hit.score) for hit in filled.recall("green tea", strategy=strategy, touch=False)]
    assert len(first) >= 3
    for _ in range(3):
        again = [(hit.memory.id, hit.score) for hit in filled.recall("green tea", strategy=strategy, touch=False)]
        assert again == first


def test_what_was_only_asked_before_is_no_answer_when_it_is_asked_again() -> None:
    asked, answer = "Which port does the heron database listen on?", "The heron database listens on port 5433."
    with MemoryStore(":memory:", embedder="hashing") as store:
        store.remember(asked, session="s", position=0, role="user")
        store.remember(answer, session="s", position=1, role="user")
        store.remember(asked)  # a note may keep a question
        hits = store.recall(asked.rstrip("?").lower())
        assert {(hit.memory.text, hit.memory.role) for hit in hits} == {(asked, ""), (answer, "user")}
        # Who repeats a statement looks for it, also in doubt.
        assert answer in [hit.memory.text for hit in store.recall(answer)]
        assert answer in [hit.memory.text for hit in store.recall(answer.replace(".", "?"))]
