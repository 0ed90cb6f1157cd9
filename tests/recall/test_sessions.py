"""Turns have neighbours, and conversations can be asked for whole."""

from __future__ import annotations

from typing import Any

import pytest

from nacre import MemoryStore
from tests.embedders import Moody
from tests.recall.factories import NOW, converse, found

SMALL_TALK = [
    ("Anna", "The weather has been lovely in the mountains since we arrived here last week"),
    ("Ben", "We drove all night and the road was empty until the border, it felt endless"),
    ("Anna", "My brother sold the old car because the repair would have cost too much money"),
    ("Ben", "Work is busy again, three meetings a day and nothing gets decided in any of them"),
]


@pytest.fixture
def talk(store: MemoryStore) -> MemoryStore:
    converse(
        store,
        "s",
        [
            *SMALL_TALK,
            ("Ben", "By the way, which name did you pick for the new puppy that you adopted?"),
            ("Anna", "Biscuit, the children chose it together after a long debate"),
            *SMALL_TALK,
        ],
    )
    converse(store, "t", SMALL_TALK)
    return store


def test_a_reply_is_found_by_what_it_replied_to(talk: MemoryStore) -> None:
    assert "s5" in found(talk, "adopted puppy name", k=3)
    alone = talk.recall("adopted puppy name", k=9, strategy="keyword")
    assert [hit.memory.id for hit in alone] == ["s4"]


def test_a_turn_gives_to_its_neighbours_and_its_conversation(talk: MemoryStore) -> None:
    hits = {hit.memory.id: hit for hit in talk.recall("name of the adopted puppy", k=14)}
    assert hits["s6"].score > hits["s9"].score, "nearer to the turn that tells"
    assert hits["s8"].score > hits["t2"].score, "the same words in another conversation"
    assert {"words nearby", "coverage nearby", "conversation"} <= {reason.signal for reason in hits["s5"].why}


def asked_and_answered(store: MemoryStore, *then: tuple[str, str]) -> None:
    converse(
        store, "s", [("user", "Which paint did we pick for the kitchen walls?"), *then, ("user", "I wrote it down.")]
    )
    store.remember("The kitchen has a window to the yard", id="note")


def test_the_answer_stands_above_the_question_that_it_replied_to(store: MemoryStore) -> None:
    asked_and_answered(store, ("assistant", "Farrow and Ball, Skimming Stone."))
    hits = {hit.memory.id: hit for hit in store.recall("paint of the kitchen walls", min_relevance=0.0)}
    assert list(hits)[:2] == ["s1", "s0"]
    assert hits["s1"].relevance >= hits["s0"].relevance and hits["s1"].strength == hits["s0"].strength != "strong"
    assert hits["s1"].why[-1].signal == "answer"


def test_a_question_after_a_question_is_no_answer(store: MemoryStore) -> None:
    asked_and_answered(store, ("assistant", "For all of them?"))
    assert found(store, "paint of the kitchen walls", min_relevance=0.0)[0] == "s0"


def test_who_wants_the_turns_around_a_hit_gets_the_question_with_its_answer_beside_it(store: MemoryStore) -> None:
    asked_and_answered(store, ("assistant", "Farrow and Ball, Skimming Stone."))
    hit = store.recall("paint of the kitchen walls", k=1, with_context=1)[0]
    assert hit.memory.id == "s0" and [turn.id for turn in hit.context] == ["s1"]


def test_a_turn_without_a_position_has_no_neighbours(store: MemoryStore) -> None:
    store.remember("the puppy was adopted in May", session="s", position=1, role="assistant", id="told")
    loose = store.draft("when it was here the matter ended", session="s", role="user", id="loose")
    store.write("import", new=[loose])  # as an archive or an older store may have it
    store.remember("when it was there the matter ended", session="s", position=0, role="user", id="before")
    signals = {
        hit.memory.id: {reason.signal for reason in hit.why} for hit in store.recall("when was the puppy adopted")
    }
    assert {"reply", "words nearby"} <= signals["before"]
    assert not {"reply", "words nearby"} & signals["loose"]


def test_a_reply_counts_for_what_it_replies_to_only_in_a_chat_with_an_assistant(store: MemoryStore) -> None:
    converse(store, "a", [("user", "It chewed my shoes again"), ("assistant", "A puppy that was adopted often does")])
    converse(store, "b", [("Anna", "It chewed my shoes today"), ("Ben", "A puppy that was adopted late often does")])
    signals = {hit.memory.id: {reason.signal for reason in hit.why} for hit in store.recall("adopted puppy")}
    assert "reply" in signals["a0"]
    assert "reply" not in signals["b0"]


@pytest.mark.parametrize("strategy", ["auto", "hybrid", "rrf", "semantic", "keyword"])
def test_neighbours_are_returned_in_the_order_they_were_said_with_their_dates(talk: MemoryStore, strategy: str) -> None:
    hit = talk.recall("which name for the puppy that you adopted", k=1, with_context=2, strategy=strategy)[0]
    assert hit.memory.id == "s4"
    assert [turn.id for turn in hit.context] == ["s2", "s3", "s5", "s6"]
    assert [turn.occurred_at for turn in hit.context] == sorted(turn.happened_at for turn in hit.context)
    assert talk.recall("puppy", k=1)[0].context == ()


def test_neighbours_outside_of_the_filter_are_not_shown_and_a_note_has_none(talk: MemoryStore) -> None:
    talk.forget("s3")
    talk.supersede("s5", "s0")
    talk.remember("a note on the puppy, the puppy, the puppy", id="note")
    first, second = talk.recall("puppy", k=2, with_context=1)
    contexts = {hit.memory.id: [turn.id for turn in hit.context] for hit in (first, second)}
    assert contexts == {"note": [], "s4": []}


def test_neighbours_do_not_count_as_used(talk: MemoryStore) -> None:
    talk.recall("which name for the puppy", k=1, with_context=3)
    assert [memory.id for memory in talk.list_recent(99) if memory.access_count] == ["s4"]


def test_a_conversation_is_ranked_by_what_its_turns_say_together(store: MemoryStore) -> None:
    converse(
        store,
        "whole",
        [
            ("user", "The kitchen needs new tiles before the winter"),
            ("assistant", "Slate would last for decades in there"),
            ("user", "My budget for all of it is four thousand"),
        ],
    )
    for name, text in (("tiles", "The tiles of the bath are blue"), ("budget", "Our budget for travel is small")):
        converse(store, name, [("user", text), *SMALL_TALK])
    store.remember("kitchen tiles budget", id="loose")
    recalled = store.recall("what was my budget for the kitchen tiles", k=2, group_by="session")
    assert recalled.sessions[0].session == "whole"
    assert len(recalled.sessions) == 2
    assert [hit.memory.session for hit in recalled.sessions[0].hits] == ["whole"] * 3
    assert {hit.memory.id for hit in recalled.sessions[0].hits[:2]} == {"whole0", "whole2"}
    assert list(recalled) == [hit for session in recalled.sessions for hit in session.hits]
    scores = [session.score for session in recalled.sessions]
    assert scores == sorted(scores, reverse=True)
    assert sum(reason.score for reason in recalled.sessions[0].why) == pytest.approx(scores[0], abs=1e-5)
    assert "loose" not in [hit.memory.id for hit in recalled]


def test_by_session_only_the_deciding_turns_count_as_used_and_they_can_bring_their_neighbours(
    talk: MemoryStore,
) -> None:
    recalled = talk.recall("name of the adopted puppy", k=1, group_by="session", with_context=1)
    assert [session.session for session in recalled.sessions] == ["s"]
    assert recalled[0].memory.id == "s4"
    assert [turn.id for turn in recalled[0].context] == ["s3", "s5"]
    used = {memory.id for memory in talk.list_recent(99) if memory.access_count}
    assert used == {hit.memory.id for hit in recalled}
    assert len(used) == 3


def test_by_session_a_turn_beside_one_that_answers_is_no_candidate_itself() -> None:
    embedder = Moody()
    embedder.well = False  # by meaning every turn of so few would be one
    with MemoryStore(":memory:", embedder=embedder, clock=lambda: NOW) as store:
        converse(store, "s", [SMALL_TALK[0], ("Ben", "Which name has the adopted puppy?"), *SMALL_TALK])
        (session,) = store.recall("adopted puppy", group_by="session").sessions
        assert [hit.memory.id for hit in session.hits] == ["s1"]


@pytest.mark.parametrize("narrowed", [{"role": "Anna"}, {"tag": "kept"}, {"contexts": ["work"]}])
def test_filters_hold_when_conversations_are_ranked(store: MemoryStore, narrowed: dict[str, Any]) -> None:
    converse(store, "in", [("Anna", "the puppy is small"), ("Anna", "and brown")], tags=["kept"])
    converse(store, "out", [("Ben", "the puppy is small"), ("Ben", "and brown")], anti_contexts=["work"])
    recalled = store.recall("puppy", group_by="session", **narrowed)
    assert [session.session for session in recalled.sessions] == ["in"]


def test_the_speaker_that_is_named_is_preferred(store: MemoryStore) -> None:
    words = "the trip to the coast last summer was wonderful, we swam in the sea every single morning"
    converse(store, "s", [("Anna", words), ("Ben", words), ("Anna", words), ("Ben", words)])
    assert store.get("s1") is not None
    assert {"s1", "s3"} == set(found(store, "how was the trip to the coast for Ben", k=2))
    assert {"s0", "s2"} == set(found(store, "how was the trip to the coast for Anna", k=2))
    signals = {reason.signal for hit in store.recall("did Anna and Ben like the trip") for reason in hit.why}
    assert "speaker" not in signals


def test_what_the_assistant_said_and_what_the_user_said_are_told_apart(store: MemoryStore) -> None:
    words = "the Lisbon hotel near the river with a roof terrace and a small pool and a good breakfast"
    converse(store, "mine", [("user", words)])
    converse(store, "yours", [("assistant", words)])
    assert found(store, "which Lisbon hotel did you recommend", k=1) == ["yours0"]
    assert found(store, "which Lisbon hotel did I book", k=1) == ["mine0"]


def test_the_same_words_said_twice_are_two_turns(store: MemoryStore) -> None:
    converse(store, "s", [("user", "yes please, the green tea")] * 3)
    assert sorted(found(store, "green tea")) == ["s0", "s1", "s2"]


def test_questions_in_a_row_are_followed_to_the_one_reply(store: MemoryStore) -> None:
    converse(
        store,
        "s",
        [
            ("user", "Do you know which harbour?"),
            ("assistant", "Which harbour does the ferry leave from?"),
            ("user", "From Livorno, at eight."),
        ],
    )
    assert "s2" in found(store, "which harbour does the ferry to Corsica leave from", min_relevance=0.0)


def test_who_asks_again_in_the_same_words_gets_the_reply_first(store: MemoryStore) -> None:
    asked_and_answered(store, ("assistant", "Farrow and Ball, Skimming Stone."))
    assert found(store, "Which paint did we pick for the kitchen walls?")[0] == "s1"


def test_who_does_not_know_has_not_answered(store: MemoryStore) -> None:
    asked_and_answered(store, ("assistant", "No idea, ask Ben."))
    hits = {hit.memory.id: hit for hit in store.recall("paint of the kitchen walls", min_relevance=0.0)}
    assert "answer" not in {reason.signal for reason in hits["s1"].why}


def test_a_pack_keeps_statements_that_begin_like_a_request_and_leaves_out_questions(store: MemoryStore) -> None:
    told = "Push notifications go through Firebase."
    converse(store, "s", [("user", told), ("user", "What do push notifications go through?")])
    assert [item.memory.text for item in store.recall_pack("push notifications go through what").items] == [told]


def test_questions_take_no_place_in_a_pack(store: MemoryStore) -> None:
    converse(store, "s", [("user", f"Which database runs on staging {number}?") for number in range(8)])
    converse(store, "t", [("user", "We picked PostgreSQL for the staging database.")])
    packed = store.recall_pack("which database runs on staging?", max_items=5)
    assert [item.memory.id for item in packed.items] == ["t0"]
