"""What a filter hides enters by no channel, and a narrow filter costs nobody a place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nacre import MemoryStore
from nacre.model import ExpandSpec, Link, Query
from nacre.recall.gather import POOL, understand
from nacre.recall.strategies import STRATEGIES
from tests.embedders import WordBag
from tests.recall.factories import NOW, converse, found

EVERYTHING: dict[str, Any] = {"with_context": 3, "expand": ExpandSpec(("related",), depth=3, cap=50)}
HIDDEN: dict[str, dict[str, Any]] = {
    "trashed": {},
    "superseded": {},
    "expired": {"expires_at": NOW - 1},
    "of another status": {"status": "archived"},
    "of another type": {"type": "feedback"},
    "not for here": {"anti_contexts": ["work"]},
}
NARROWED: dict[str, Any] = {"status": "short_term", "type": "semantic", "contexts": ["work"]}


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("how", HIDDEN)
def test_the_hidden_enter_by_no_channel(store: MemoryStore, how: str, strategy: str) -> None:
    """By words and meaning `note` and `s1` are the best, by neighbours `s1` is near, by links both are."""
    converse(store, "s", [("user", "so it was"), ("user", "green tea"), ("user", "tea, indeed")])
    store.remember("green tea", id="note")
    store.remember("tea and more", id="live", links=[Link("note"), Link("s1")])
    for id in ("s1", "note"):
        if how == "superseded":
            store.supersede(id, "live")
        elif how == "trashed":
            store.forget(id)
        else:
            store.edit(id, **HIDDEN[how])
    recalled = store.recall("green tea", k=50, strategy=strategy, **EVERYTHING, **NARROWED)
    seen = {hit.memory.id for hit in recalled} | {turn.id for hit in recalled for turn in hit.context}
    assert {"live", "s2"} <= seen
    assert not {"note", "s1"} & seen
    by_session = store.recall("green tea", group_by="session", with_context=2, **NARROWED)
    assert "s1" not in {hit.memory.id for hit in by_session}
    assert not [turn for hit in by_session for turn in hit.context if turn.id == "s1"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_another_space_enters_by_no_channel(tmp_path: Path, strategy: str) -> None:
    path = tmp_path / "s.db"
    with (
        MemoryStore(path, embedder=WordBag(), space="mine") as mine,
        MemoryStore(path, embedder=WordBag(), space="yours") as yours,
    ):
        converse(yours, "s", [("user", "green tea"), ("user", "green tea too")])
        yours.remember("green tea", id="theirs")
        converse(mine, "s", [("user", "what about some tea"), ("user", "nothing of the kind")], tags=["own"])
        mine.remember("tea", id="own", tags=["own"], links=[Link("theirs")])
        recalled = mine.recall("green tea", k=50, strategy=strategy, **EVERYTHING)
        assert {hit.memory.space for hit in recalled} == {"mine"}
        assert {turn.space for hit in recalled for turn in hit.context} <= {"mine"}
        assert "theirs" not in [hit.memory.id for hit in recalled]


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("question", ["zebra", "what about the zebra in the green house"])
def test_a_crowd_of_hidden_ones_crowds_nobody_out(store: MemoryStore, strategy: str, question: str) -> None:
    """More hidden ones than any pool holds the word, and more shown ones than any pool are nearer in meaning."""
    near = "what about the one in the green house"
    store.remember_many({"text": f"zebra zebra zebra {n}", "tags": ["crowd"]} for n in range(2 * POOL))
    store.remember_many(f"{near} {n}" for n in range(2 * POOL))
    store.remember("a zebra " + " ".join(f"pad{n}" for n in range(50)), id="wanted")
    store.remember("zebra", id="old", tags=["crowd"])
    for memory in store.iterate(tag="crowd"):
        store.edit(memory.id, status="archived")
    k = 5 if question == "zebra" else 2 * POOL + 1
    assert "wanted" in found(store, question, k=k, strategy=strategy, status="short_term", touch=False)


@pytest.mark.slow
def test_a_crowd_in_another_space_crowds_nobody_out(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with (
        MemoryStore(path, embedder=WordBag(), space="mine") as mine,
        MemoryStore(path, embedder=WordBag(), space="yours") as yours,
    ):
        yours.remember_many(f"zebra zebra {n}" for n in range(2 * POOL))
        mine.remember_many(f"the fox of the wood, number {n}, sleeps" for n in range(2 * POOL))
        mine.remember("a zebra " + " ".join(f"pad{n}" for n in range(50)), id="wanted")
        other = "a donkey " + " ".join(f"rim{n}" for n in range(50))  # as long, and no other version of it
        mine.remember(other, id="other")
        assert found(mine, "the zebra", k=1) == ["wanted"]
        assert mine.recall("the zebra", k=1)[0].why


@pytest.mark.parametrize("text", ["昨天我做了什么？", "我昨天做了什么？", "昨天发生了什么事情？"])
def test_a_chinese_question_for_a_time_alone_has_no_words_whatever_their_order(text: str) -> None:
    question = understand(Query(text, asked_at=1.7e9))
    assert question.terms == ()
    assert len(question.windows) == 1


def test_what_a_chinese_question_asks_for_besides_a_time_is_kept() -> None:
    assert understand(Query("昨天我买了什么书？", asked_at=1.7e9)).terms
