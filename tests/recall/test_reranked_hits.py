"""A second reader is heard, and never alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput, RerankingError
from nacre.model import Hit, Query
from nacre.model.instants import seconds
from nacre.models.calibration import SHIPPED, Closeness, Reading
from nacre.protocols import Answer
from nacre.recall.gather import Question, understand
from nacre.recall.recall import BLEND, RERANKED, read_answers, rerank
from tests.embedders import WordBag
from tests.samples import memory

ASKED: Question = understand(Query("question"))


class Reader:
    identity = "reader"

    def __init__(self, **liked: float) -> None:
        self.liked = liked
        self.read: list[str] = []

    def score(self, query: str, texts: Sequence[str]) -> list[float]:  # noqa: ARG002
        self.read.extend(texts)
        return [self.liked.get(text, 0.0) for text in texts]


class Absent(Reader):
    def score(self, query: str, texts: Sequence[str]) -> list[float]:  # noqa: ARG002
        raise RerankingError("reader", "it is out", "Try again later.")


def hits(*scores: float) -> list[Hit]:
    return [Hit(memory(f"m{i}", f"t{i}"), score) for i, score in enumerate(scores)]


def test_its_word_is_blended_with_the_first_ranking() -> None:
    found, notes = rerank(hits(0.8, 0.6, 0.4), ASKED, Reader(t2=1.0, t0=0.1))
    assert {hit.memory.id: hit.score for hit in found} == pytest.approx(
        {"m0": 0.4 + BLEND * 0.08, "m1": 0.3, "m2": 0.2 + BLEND * 0.8}
    )
    assert [hit.memory.id for hit in found] == ["m2", "m0", "m1"]
    assert notes == ()
    assert str(found[0].why[-1]) == "reranker 0.40 (reader)"


def test_only_the_best_are_read_and_the_rest_follow_them() -> None:
    reader = Reader()
    found, _ = rerank(hits(*(1 - i / 100 for i in range(RERANKED + 5))), ASKED, reader)
    assert len(reader.read) == RERANKED
    assert [hit.memory.id for hit in found] == [f"m{i}" for i in range(RERANKED + 5)]
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


def test_scores_below_zero_do_not_turn_its_word_round() -> None:
    found, _ = rerank(hits(-0.1, -0.5), ASKED, Reader(t1=1.0))
    assert [hit.memory.id for hit in found] == ["m1", "m0"]


def test_when_it_is_away_the_first_ranking_stands_and_the_notes_say_so() -> None:
    found, notes = rerank(hits(0.8, 0.6), ASKED, Absent())
    assert found == hits(0.8, 0.6)
    assert len(notes) == 1
    assert notes[0].startswith("Not reranked: ")
    assert "it is out" in notes[0]
    assert rerank(hits(0.8), ASKED, None) == (hits(0.8), ())
    assert rerank([], ASKED, Absent()) == ([], ())


@pytest.mark.accepts("H6.14")
def test_a_store_with_a_reader_asks_it() -> None:
    first, second = "green tea from Uji", "green tea of Anna, and more of it besides"
    with MemoryStore(":memory:", embedder=WordBag(), reranker=Reader(**{second: 1.0})) as store:
        store.remember_many([first, second])
        assert [hit.memory.text for hit in store.recall("green tea")] == [second, first]
    with MemoryStore(":memory:", embedder=WordBag(), reranker=Absent()) as store:
        store.remember_many([first, second])
        assert [hit.memory.text for hit in store.recall("green tea")] == [first, second]
        assert store.recall("green tea").notes


def test_the_second_reader_sees_the_title_too_and_can_be_left_out() -> None:
    class Noting:
        identity = "noting"

        def __init__(self) -> None:
            self.read: list[str] = []

        def score(self, query: str, texts: Sequence[str]) -> list[float]:  # noqa: ARG002
            self.read += texts
            return [0.5] * len(texts)

    reader = Noting()
    store = MemoryStore(":memory:", embedder="hashing", reranker=reader)
    store.remember("It drops custom fields.", title="The old endpoint")
    assert store.recall("the old endpoint", rerank=False) and reader.read == []
    store.recall("the old endpoint")
    assert reader.read == ["The old endpoint\n\nIt drops custom fields."]


class Judging:
    """Reads the first `count` texts."""

    identity = "judging"

    def __init__(self, count: int, **gains: float) -> None:
        self.count, self.gains = count, gains

    def answers(self, pairs: Sequence[tuple[str, str]]) -> list[Answer]:
        texts = [text for _, text in pairs[: self.count]]
        return [Answer(self.gains.get(text, 0.0), 2.0 if text in self.gains else -2.0) for text in texts]


def test_a_memory_that_answers_rises_and_its_relevance_with_it() -> None:
    (first, second, third), readings = read_answers(hits(0.8, 0.6, 0.4), ASKED, Judging(3, t2=0.9))
    assert [each.memory.id for each in (first, second, third)] == ["m2", "m0", "m1"]
    assert first.score == pytest.approx(1.0) and second.score == pytest.approx(0.8 / 1.12)
    assert str(first.why[-1]) == "reading 0.60" and str(second.why[-1]) == "reading -0.086"
    assert readings == {"m0": Reading(-2.0, 4.0), "m1": Reading(-2.0, 4.0), "m2": Reading(2.0)}
    close = Closeness(0.4, 0.5)
    assert SHIPPED.relevance(close, readings["m2"]) > 2 * SHIPPED.relevance(close, readings["m0"])


def test_reading_gives_less_to_a_turn_whose_speaker_and_time_it_does_not_see() -> None:
    turns = [
        replace(hit, memory=replace(hit.memory, session="s", position=at)) for at, hit in enumerate(hits(0.8, 0.6))
    ]
    model = Judging(2, t1=0.4)
    assert [hit.memory.id for hit in read_answers(hits(0.8, 0.6), ASKED, model)[0]] == ["m1", "m0"]
    assert [hit.memory.id for hit in read_answers(turns, ASKED, model)[0]] == ["m0", "m1"]
    assert str(read_answers(turns, ASKED, model)[0][1].why[-1]) == "reading 0.16"


def test_what_was_not_read_stays_behind_what_was() -> None:
    read, readings = read_answers(hits(0.8, 0.6, 0.4, 0.2), ASKED, Judging(2, t1=1.0))
    assert set(readings) == {"m0", "m1"}
    assert [hit.memory.id for hit in read] == ["m1", "m0", "m2", "m3"]
    assert [hit.score for hit in read] == sorted((hit.score for hit in read), reverse=True)
    for model in (Judging(0), None):
        assert read_answers(hits(0.8, 0.6), ASKED, model) == (hits(0.8, 0.6), {})


def test_copies_are_read_once_and_leave_room_for_others() -> None:
    asked: list[list[str]] = []

    class Counting(Judging):
        def answers(self, pairs: Sequence[tuple[str, str]]) -> list[Answer]:
            asked.append([text for _, text in pairs])
            return super().answers(pairs)

    given = hits(0.8, 0.7, 0.6, 0.5)
    copied = [replace(hit, memory=replace(hit.memory, text="t0")) for hit in given[:3]] + given[3:]
    read, _ = read_answers(copied, ASKED, Counting(2, t3=1.0))
    assert asked == [["t0", "t3"]]
    assert read[0].memory.text == "t3" and all(str(hit.why[-1]).startswith("reading") for hit in read)


def test_a_memory_that_does_not_name_the_time_asked_for_is_read_without_it() -> None:
    at = seconds("2026-11-18")
    question = understand(Query("Which incident was in August?", asked_at=at))
    fields: list[dict[str, Any]] = [
        {"text": "The map tiles vanished", "type": "episodic", "occurred_at": seconds("2026-08-18")},
        {"text": "The wedding is on 22 August"},
        {"text": "Booked the rooms for 22 August", "type": "episodic", "occurred_at": seconds("2026-03-02")},
    ]
    memories = [memory(f"m{number}", created_at=at, **each) for number, each in enumerate(fields)]
    given = [Hit(each, 1.0) for each in memories]
    read: list[tuple[str, str]] = []

    class Listening(Judging):
        def answers(self, pairs: Sequence[tuple[str, str]]) -> list[Answer]:
            read.extend(pairs)
            return []

    read_answers(given, question, Listening(3))
    assert [asked for asked, _ in read] == ["Which incident was ?", question.text, "Which incident was ?"]
    read.clear()
    alone = understand(Query("What happened in August?", asked_at=at))
    read_answers(given, alone, Listening(3))
    assert {asked for asked, _ in read} == {alone.text}


@pytest.mark.parametrize("given", [[0.5], None, [0.5, float("nan")], [0.5, -1.0], ["high", "low"]])
def test_scores_that_cannot_be_used_leave_the_order_and_are_noted(given: Any) -> None:
    class Wrong:
        identity = "wrong"

        def score(self, query: str, texts: Sequence[str]) -> list[float]:  # noqa: ARG002
            return given  # type: ignore[no-any-return]

    found, notes = rerank(hits(0.8, 0.6), ASKED, Wrong())
    assert found == hits(0.8, 0.6)
    assert notes == (
        "Not reranked: The reranker wrong gave no scores (what it returned cannot be used). "
        "Return a list with one number from 0 to 1 for each text.",
    )


def test_what_is_no_reranker_is_refused_at_once() -> None:
    with pytest.raises(InvalidInput, match="`identity` and `score"):
        MemoryStore(":memory:", embedder="hashing", reranker=lambda *_: [0.5])  # type: ignore[arg-type]
