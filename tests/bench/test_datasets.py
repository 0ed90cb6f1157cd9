"""From the official files to turns and questions, under neutral names."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nacre.bench import datasets as longmemeval
from nacre.bench.datasets import Corpus, sample
from nacre.bench.run import CachingEmbedder, RunProgress, load, store_of
from nacre.errors import InvalidInput, UnknownName
from tests.datasets import BEAM, LOCOMO, LONGMEMEVAL, Json, written
from tests.embedders import WordBag


def gold(corpus: Corpus) -> dict[str, set[str]]:
    return {question.text: set(question.gold) for question in corpus.questions}


def at(*parts: int) -> float:
    return datetime(*parts, tzinfo=UTC).timestamp()  # type: ignore[misc, arg-type]


def test_a_locomo_conversation_gives_its_spoken_turns_with_speaker_place_and_date(tmp_path: Path) -> None:
    suite = load("locomo", written(tmp_path, LOCOMO))
    first, second = suite.corpora
    assert [(turn.key, turn.role, turn.session, turn.position) for turn in first.turns] == [
        ("t1-1", "Oda", "s1", 0),
        ("t1-2", "Wim", "s1", 1),
        ("t2-1", "Oda", "s2", 0),
        ("t2-2", "Wim", "s2", 1),
    ]
    assert first.turns[0].at == at(2024, 3, 3, 9, 5)
    assert first.ended_at == at(2024, 3, 10, 12, 30)
    assert (second.turns[0].at, second.ended_at) == (None, 0.0)


def test_locomo_evidence_is_normalised_and_adversarial_or_lost_questions_are_left_out(tmp_path: Path) -> None:
    suite = load("locomo", written(tmp_path, LOCOMO, zipped=True))
    assert gold(suite.corpora[0]) == {
        "What leaks?": {"t1-1"},
        "What did the epoxy patch?": {"t1-2", "t2-1"},
        "When did Oda paddle?": {"t2-1"},
    }
    assert [question.category for question in suite.corpora[0].questions] == ["single-hop", "multi-hop", "temporal"]


def test_locomo_by_session_is_answered_by_the_sessions_of_the_turns(tmp_path: Path) -> None:
    suite = load("locomo", written(tmp_path, LOCOMO), unit="session")
    assert suite.unit == "session"
    assert gold(suite.corpora[0])["What did the epoxy patch?"] == {"s1", "s2"}


def test_longmemeval_pooled_holds_each_session_once_and_marks_what_nothing_answers(tmp_path: Path) -> None:
    (corpus,) = load("longmemeval", written(tmp_path, LONGMEMEVAL)).corpora
    assert [turn.key for turn in corpus.turns] == ["s0-0", "s0-1", "s1-0", "s1-2", "s2-0", "s2-1"]
    assert list(gold(corpus).values()) == [{"s0"}, {"s1", "s2"}, set()]
    assert [question.category for question in corpus.questions] == [
        "single-session-user",
        "multi-session",
        "abstention",
    ]
    assert corpus.questions[0].asked_at == at(2024, 5, 2, 10)


def test_longmemeval_by_turn_is_answered_by_the_turns_marked_for_the_question(tmp_path: Path) -> None:
    (corpus,) = load("longmemeval", written(tmp_path, LONGMEMEVAL), unit="turn").corpora
    assert list(gold(corpus).values()) == [{"s0-0"}, {"s1-2", "s2-0"}, set()]


def test_an_unanswered_question_that_is_not_marked_as_such_is_left_out(tmp_path: Path) -> None:
    lost = {**LONGMEMEVAL[0], "answer_session_ids": ["answer_elsewhere"]}
    (corpus,) = load("longmemeval", written(tmp_path, [lost, *LONGMEMEVAL[1:]])).corpora
    assert len(corpus.questions) == 2


def test_a_haystack_is_the_gold_and_seeded_distractors_for_each_answerable_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(longmemeval, "HAYSTACK", 2)
    file = written(tmp_path, LONGMEMEVAL)
    one, two = load("longmemeval", file, "haystack").corpora
    sessions = {turn.session for turn in one.turns}
    assert len(sessions) == 2 and "s0" in sessions
    assert {turn.session for turn in two.turns} == {"s1", "s2"}
    assert load("longmemeval", file, "haystack").corpora == (one, two)


def test_a_small_file_gives_smaller_haystacks(tmp_path: Path) -> None:
    one, _ = load("longmemeval", written(tmp_path, LONGMEMEVAL), "haystack").corpora
    assert {turn.session for turn in one.turns} == {"s0", "s1", "s2"}


def test_a_beam_chat_loses_the_generators_numbering_and_flattens_its_sources(tmp_path: Path) -> None:
    (corpus,) = load("beam", written(tmp_path, BEAM)).corpora
    assert [(turn.key, turn.text, turn.session, turn.position) for turn in corpus.turns] == [
        ("m0", "Sketch a lighthouse.", "s0", 0),
        ("m1", "A tower on a rock.", "s0", 1),
        ("m2", "Paint it in ochre.", "s0", 2),
        ("m3", "Now paint it in teal.", "s1", 0),
    ]
    assert [turn.at for turn in corpus.turns] == [*[at(2024, 5, 3)] * 3, None]
    assert gold(corpus) == {
        "Which paint?": {"m2", "m3"},
        "What was sketched?": {"m0"},
        "Who keeps the lighthouse?": set(),
    }


def test_a_beam_release_that_writes_questions_as_python_and_batches_as_lists_is_read_too(tmp_path: Path) -> None:
    whole = BEAM[0]
    flat = [[message for exchange in batch["turns"] for message in exchange] for batch in whole["chat"]]
    other = {**whole, "chat": flat, "probing_questions": repr(whole["probing_questions"])}
    assert load("beam", written(tmp_path, [other])).corpora == load("beam", written(tmp_path, BEAM)).corpora


def test_a_sample_is_the_same_each_time_and_drops_what_is_no_longer_asked(tmp_path: Path) -> None:
    suite = load("locomo", written(tmp_path, LOCOMO))
    assert sample(suite, 99) == suite
    one = sample(suite, 1)
    assert one == sample(suite, 1)
    assert [len(corpus.questions) for corpus in one.corpora] == [1]


def test_no_id_of_the_dataset_reaches_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LongMemEval's gold sessions are named `answer_…`: indexing that would give the answer away."""
    (corpus,) = load("longmemeval", written(tmp_path, LONGMEMEVAL)).corpora
    folder = tmp_path / "stores"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    embedder = CachingEmbedder(WordBag())
    with store_of(corpus, embedder, RunProgress(embedder)) as store:
        assert store.count() == len(corpus.turns)
        raw = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    assert b"I tune my harp" in raw
    assert b"answer" not in raw.lower()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("suite", "content"),
    [
        ("locomo", LONGMEMEVAL),
        ("locomo", BEAM),
        ("longmemeval", LOCOMO),
        ("beam", LOCOMO),
        ("beam", [{"chat": [{"turns": 3}], "probing_questions": {}}]),
        ("beam", [{"chat": [], "probing_questions": "not [ python"}]),
        ("longmemeval", [{**LONGMEMEVAL[0], "haystack_dates": []}]),
        ("locomo", {"some": "object"}),
        ("locomo", 3),
        ("locomo", []),
    ],
)
def test_a_foreign_file_is_reported_in_one_sentence(tmp_path: Path, suite: str, content: Json) -> None:
    file = written(tmp_path, content)
    with pytest.raises(InvalidInput, match=f"data.json is not a {suite} dataset .*; use the official file.$"):
        load(suite, file)


@pytest.mark.parametrize(
    "raw", [b"not json", b"\xff\xfe", b"\x1f\x8b broken", b"\x1f\x8b\x08\0\0\0\0\0\0\3zzzz", b"[" * 99_999]
)
def test_a_file_that_is_no_json_is_reported_in_one_sentence(tmp_path: Path, raw: bytes) -> None:
    file = tmp_path / "data.json"
    file.write_bytes(raw)
    with pytest.raises(InvalidInput, match="give the official JSON file"):
        load("locomo", file)


def test_a_file_that_is_not_there_is_reported_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"absent\.json cannot be read \(No such file or directory\)"):
        load("locomo", tmp_path / "absent.json")


def test_unknown_names_are_reported_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="suite 'lokomo'; did you mean 'locomo'"):
        load("lokomo", tmp_path)
    with pytest.raises(UnknownName, match="mode 'heap'"):
        load("longmemeval", tmp_path, "heap")
    with pytest.raises(UnknownName, match="unit 'turns'; did you mean 'turn'"):
        load("locomo", tmp_path, unit="turns")  # type: ignore[arg-type]


def test_haystacks_are_longmemevals_alone(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="haystack is for longmemeval"):
        load("beam", tmp_path, "haystack")
