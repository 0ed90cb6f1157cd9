"""A question that nothing answers gets nothing, by every way; one that is answered gets its answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from nacre import MemoryStore
from nacre.errors import EmbeddingError
from nacre.hooks.inject import for_prompt
from nacre.hooks.request import Request
from nacre.model import Hit, Memory, Query
from nacre.model.instants import iso, seconds
from nacre.model.recollection import STRONG
from nacre.models.calibration import SHIPPED, Closeness, Floor, Reading
from nacre.models.shipped_embedder import ENGLISH, ShippedEmbedder
from nacre.protocols import Vectors
from nacre.recall.gather import understand
from nacre.recall.recall import (
    Judged,
    above_floor,
    is_keyword_lookup,
    is_timely,
    judged_together,
    names_only_time,
    with_relevance,
)
from nacre.recall.strategies import Scored, Sources
from nacre.settings import Settings
from tests.recall.factories import converse

NOTES = {
    "press": "The letterpress is oiled every Friday by Ottilie, with the thin oil from the green can.",
    "paper": "Cotton paper comes from the Halvorsen mill, 300 g, two reams a month.",
    "type": "The Garamond cases stand left of the window, the wood type in the cellar.",
    "price": "A hundred wedding invitations in two colours cost 480 euros.",
    "key": "The key to the cellar hangs behind the boiler.",
    "fair": "Our stall at the book fair in Lund is number 17, set up on Thursday from noon.",
}
FOREIGN = ("Which vaccine does the puppy need?", "Who won the handball match on Sunday?")
ANSWERED = {"Who oils the letterpress?": "press", "What do wedding invitations cost?": "price"}

ASKED = understand(Query("Which arm did I break?", asked_at=1.8e9))


class Absent(ShippedEmbedder):
    """The English embedder, which can be taken away."""

    away = False

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.away:
            raise EmbeddingError("it is away")
        return super().embed(texts)


@pytest.fixture(scope="module")
def filled() -> Iterator[MemoryStore]:
    settings = Settings(store=":memory:", rerank_ms=60_000.0)
    with MemoryStore(settings=settings, embedder=Absent(ENGLISH)) as store:
        store.remember_many([{"id": id, "text": text} for id, text in NOTES.items()], on_conflict="ignore")
        yield store


@pytest.fixture(params=["vectors", "words"])
def store(filled: MemoryStore, request: pytest.FixtureRequest) -> Iterator[MemoryStore]:
    embedder = filled.embedder
    assert isinstance(embedder, Absent)
    embedder.away = request.param == "words"
    yield filled
    embedder.away = False


def is_without_vectors(store: MemoryStore) -> bool:
    return isinstance(store.embedder, Absent) and store.embedder.away


@pytest.mark.slow
@pytest.mark.parametrize("question", FOREIGN)
@pytest.mark.parametrize("rerank", [True, False])
def test_a_foreign_question_gets_nothing_and_names_the_nearest(store: MemoryStore, question: str, rerank: bool) -> None:
    recalled = store.recall(question, rerank=rerank)
    assert list(recalled) == []
    everything = [hit.relevance for hit in store.recall(question, rerank=rerank, min_relevance=0.0)]
    nearest = [] if recalled.nearest is None else [recalled.nearest.relevance]
    assert nearest == pytest.approx(sorted(everything)[-1:], abs=0.02)  # which others were read changes it a little
    assert recalled.nearest is None or recalled.nearest.strength == "weak"
    assert bool(everything) or is_without_vectors(store)  # no note has a word of the first question
    assert store.recall_pack(question).text == ""
    assert for_prompt(store, Request("prompt", {"prompt": question}, "")) is None


@pytest.mark.parametrize(("question", "answer"), ANSWERED.items())
@pytest.mark.parametrize("rerank", [True, False])
def test_a_question_that_is_answered_gets_its_answer_first(
    store: MemoryStore, question: str, answer: str, rerank: bool
) -> None:
    recalled = store.recall(question, rerank=rerank)
    assert recalled[0].memory.id == answer and recalled.nearest is None
    assert all(0 <= hit.score <= 1 and 0 <= hit.relevance <= 1 for hit in recalled)
    assert recalled[0].relevance == max(hit.relevance for hit in recalled)
    assert answer in store.recall_pack(question).ids()


def test_a_pack_is_not_padded(filled: MemoryStore) -> None:
    assert 1 <= len(filled.recall_pack("Who oils the letterpress?", token_budget=5_000)) < len(NOTES)


def test_what_a_caller_asks_for_holds_instead_of_the_floor(filled: MemoryStore) -> None:
    question = FOREIGN[0]
    assert filled.recall(question, min_relevance=0.0)
    assert len(filled.recall(question, len(NOTES), strategy="semantic")) == len(NOTES)
    surer = filled.recall("Who oils the letterpress?", min_relevance=0.4)
    assert surer and all(hit.relevance >= 0.4 for hit in surer)


def test_with_no_floor_even_what_does_not_resemble_the_question_comes() -> None:
    with MemoryStore(":memory:", embedder=ShippedEmbedder(ENGLISH)) as store:
        store.remember("The staging database is PostgreSQL 15")
        assert not store.recall("when is the next holiday?", k=3)
        assert len(store.recall("when is the next holiday?", k=3, min_relevance=0.0)) == 1


def test_weak_hits_beside_an_answer_do_not_count_as_used() -> None:
    with MemoryStore(":memory:", embedder=ShippedEmbedder(ENGLISH)) as store:
        store.remember_many([{"id": id, "text": text} for id, text in NOTES.items()])
        hits = store.recall("Who oils the letterpress?", k=6, min_relevance=0.0)
        assert {hit.memory.id for hit in hits if hit.strength == "weak"}
        used = {memory.id for memory in store.list_recent(9) if memory.access_count}
        assert used == {hit.memory.id for hit in hits if hit.strength != "weak"} != set()


def test_a_score_stays_below_one_whatever_raises_it() -> None:
    with MemoryStore(":memory:", embedder="hashing") as store:
        store.remember("the kettle is on", importance=1.0, contexts=("home",))
        (hit,) = store.recall("the kettle is on", contexts=("home",))
        assert hit.score == pytest.approx(1.0)
        assert sum(reason.score for reason in hit.why) == pytest.approx(hit.score, abs=0.03)


@pytest.mark.parametrize(("question", "kept"), [
    ("Where was Ottilie on 12 July 2026?", True),
    ("What did we do on 12 July 2026?", True),
    ("Where did Ottilie sleep on 12 July 2026?", False),
    ("Where was Ottilie?", False),
])  # fmt: skip
def test_a_question_for_a_time_and_a_speaker_has_no_floor(question: str, kept: bool) -> None:
    query = Query(question, asked_at=1.8e9)
    turn = Memory("m", "We rowed to the island.", role="Ottilie", session="s", position=0)
    judged, asked = Judged(Hit(turn, 0.5, relevance=0.01), Floor(0.02, 0.0)), understand(query)
    hits, nearest = above_floor([judged], asked, only_time=names_only_time(asked, [judged.hit]))
    assert bool(hits) == kept and (nearest is None) == kept


class Prefers:
    """A reranker that puts what has this word first."""

    identity = "prefers"

    def __init__(self, word: str) -> None:
        self.word = word

    def score(self, query: str, texts: Sequence[str]) -> list[float]:  # noqa: ARG002
        return [float(self.word in text) for text in texts]


def test_whether_a_question_names_only_a_time_does_not_depend_on_how_many_hits_are_wanted() -> None:
    """Its speaker may be known by a turn that is not among them."""
    with MemoryStore(":memory:", reranker=Prefers("linseed"), settings=Settings(embedder="english")) as store:
        converse(store, "s", [("Ottilie", "We rowed to the island.")])
        store.remember("The press was oiled with linseed.", created_at="2026-06-20")
        asked = "Where was Ottilie on 12 July 2026?"
        first, every = (store.recall(asked, k, asked_at="2026-07-13") for k in (1, 2))
    assert [hit.memory.id for hit in first] == [hit.memory.id for hit in every][:1] and len(every) == 2


def test_what_reading_takes_for_an_answer_has_to_be_near_in_meaning_too() -> None:
    query = Query("Which vaccine does the puppy need?", asked_at=1.8e9)
    note = Hit(Memory("m", "The press is oiled."), 0.5, relevance=0.5)
    for near in (True, False):
        hits, nearest = above_floor([Judged(note, Floor(0.1, 0.0), near)], understand(query), only_time=False)
        assert (hits, nearest) == (([note], None) if near else ([], note))


@pytest.mark.parametrize(("cosine", "near"), [(0.4, True), (0.02, False)])
@pytest.mark.parametrize("turn", [True, False])
def test_what_is_far_from_the_question_is_not_near_whatever_a_model_reads(
    cosine: float, near: bool, turn: bool
) -> None:
    sources = Sources("default", None, None, SHIPPED, True)  # type: ignore[arg-type]
    hit = Hit(Memory("m", "The press is oiled."), 0.5)
    assert with_relevance(hit, Closeness(cosine, 0.0, turn), Reading(3.0), ASKED, sources).near_enough is near
    assert with_relevance(
        hit, Closeness(None, 0.0, turn), Reading(3.0), ASKED, sources
    ).near_enough  # without vectors nobody can tell


@pytest.mark.parametrize(("of_note", "of_turn", "shown"), [
    (0.03, 0.2, ["turn"]),
    (0.2, 0.08, ["note"]),
    (0.2, 0.2, ["note", "turn"]),
    (0.03, 0.08, []),
])  # fmt: skip
def test_what_was_noted_and_what_was_said_have_each_to_answer_themselves(
    of_note: float, of_turn: float, shown: list[str]
) -> None:
    query = Query("Which vaccine does the puppy need?", asked_at=1.8e9)
    note = Judged(Hit(Memory("note", "The press is oiled."), 0.5, relevance=of_note), Floor(0.05, 0.005))
    said = Memory("turn", "It got the one for rabies.", role="user", session="s", position=0)
    turn = Judged(Hit(said, 0.4, relevance=of_turn), Floor(0.1, 0.0))
    hits, nearest = above_floor([note, turn], understand(query), only_time=False)
    assert [hit.memory.id for hit in hits] == shown
    assert (nearest is None) == bool(shown)


def test_turns_of_another_subject_do_not_end_the_silence(filled: MemoryStore) -> None:
    space = filled.in_space("talk")
    converse(
        space, "s", [("user", "I moved the wood type."), ("assistant", "Then the cellar is full."), ("user", "Yes")]
    )
    space.remember_many([{"id": id, "text": text} for id, text in NOTES.items()], on_conflict="ignore")
    assert all(list(space.recall(question)) == [] for question in FOREIGN)


@pytest.mark.parametrize(
    ("question", "cosine", "coverage", "alike"),
    [
        ("Which arm did I break?", 0.55, 0.0, True),
        ("Which arm did I break?", 0.45, 0.0, False),
        ("Which arm did I break?", 0.55, 0.2, False),
        ("Quel bras ai-je cassé ?", 0.35, 0.0, True),
        ("Quel bras ai-je cassé ?", 0.25, 0.0, False),
        ("Quel bras ai-je cassé ?", 0.35, 0.2, False),
    ],
)
def test_what_is_very_near_without_a_common_word_is_shown_however_it_reads(
    question: str, cosine: float, coverage: float, alike: bool
) -> None:
    """A model that reads says little across languages."""
    sources = Sources("default", None, None, SHIPPED, True)  # type: ignore[arg-type]
    asked = understand(Query(question, asked_at=1.8e9))
    far = with_relevance(Hit(Memory("far", "Die Presse"), 0.9), Closeness(0.2, 0.0), Reading(-12.0), asked, sources)
    near = Hit(Memory("near", "Il polso sinistro è rotto."), 0.5)
    judged = with_relevance(near, Closeness(cosine, coverage), Reading(-12.5), asked, sources)
    hits, nearest = above_floor([far, judged], asked, only_time=False)
    assert [hit.memory.id for hit in hits] == (["near"] if alike else [])
    assert (nearest is None) == alike


@pytest.mark.parametrize(
    ("coverage", "log_odds", "near"), [(1.0, -2.0, True), (0.3, 0.5, True), (0.3, -0.5, False), (0.0, 0.5, False)]
)
def test_a_long_note_is_near_by_all_words_or_by_some_that_read_like_an_answer(
    coverage: float, log_odds: float, near: bool
) -> None:
    sources = Sources("default", None, None, SHIPPED, True)  # type: ignore[arg-type]
    minutes = Hit(Memory("m", "Minutes of the meeting, with thirty points"), 0.5)
    assert with_relevance(minutes, Closeness(0.0, coverage), Reading(log_odds), ASKED, sources).near_enough is near


def test_a_hit_that_was_not_read_has_the_floor_and_the_scale_of_those_that_were() -> None:
    sources = Sources("default", None, None, SHIPPED, True)  # type: ignore[arg-type]
    near, readings = {id: Closeness(0.3, 0.2) for id in "ab"}, {"a": Reading(-8.0)}
    alone = {id: with_relevance(Hit(Memory(id, id), 0.5), near[id], readings.get(id), ASKED, sources) for id in "ab"}
    together = judged_together(alone, {id: Scored(id, 0.5, (), near[id]) for id in "ab"}, readings)
    assert together["a"].floor == together["b"].floor == alone["a"].floor != alone["b"].floor
    assert all(together[id].hit.relevance < alone[id].hit.relevance for id in "ab")
    assert judged_together(alone, {id: Scored(id, 0.5, (), near[id]) for id in "ab"}, {}) == {}


def test_a_memory_is_found_by_the_words_of_the_one_that_it_replaced(filled: MemoryStore) -> None:
    space = filled.in_space("dentist")
    old = space.remember("My dentist is Dr Alvarez in Elm Street.")
    space.remember("My dentist is Dr Brown.", id="dentist", replaces=old.id)
    assert space.recall("Alvarez Elm Street")[0].memory.id == "dentist"


def test_notes_of_a_session_have_the_floor_of_notes(filled: MemoryStore) -> None:
    space = filled.in_space("planning")
    for text in list(NOTES.values())[:3]:
        space.remember(text, session="planning")
    assert list(space.recall(FOREIGN[0])) == []


def test_a_word_that_nothing_has_or_means_finds_nothing(filled: MemoryStore) -> None:
    space = filled.in_space("garage")
    space.remember("Our car is a red Volvo from 2014.", id="car")
    space.remember("The wifi password is on the fridge.")
    for word in ("qqqq", "asdfghjkl"):
        recalled = space.recall(word)
        assert list(recalled) == []
        assert recalled.nearest is not None and recalled.nearest.strength == "weak"  # it would be shown otherwise
    assert space.recall("automobile")[0].memory.id == space.recall("Volvo")[0].memory.id == "car"


def test_a_note_of_the_time_that_is_asked_for_is_not_silenced_because_its_text_has_no_date() -> None:
    """Reading sees no dates: "in August" is in no text, and the model finds no answer."""
    settings = Settings(store=":memory:", rerank_ms=60_000.0)
    asked = "what caused the outage in August?"
    with MemoryStore(settings=settings, embedder=ShippedEmbedder(ENGLISH)) as store:
        texts = {
            "2026-08-04": "Outage of 40 minutes: the connection pool was exhausted, because no timeout was set.",
            "2026-08-03": "The shop went live for the first customer this morning.",
            "2026-05-06": "Cotton paper comes from the Halvorsen mill, two reams a month.",
        }
        for day, text in texts.items():
            store.remember(text, id=day, created_at=f"{day}T09:00:00Z", on_conflict="ignore")
        assert store.recall(asked, asked_at="2026-11-17")[0].memory.id == "2026-08-04"
        of_another_time = store.recall("what caused the outage in May?", asked_at="2026-11-17")
        assert all(hit.strength == "weak" for hit in of_another_time)
        assert not store.recall("which vaccine did the puppy get in August?", asked_at="2026-11-17")
        others = store.recall("how long was the outage of the shop in August?", asked_at="2026-11-17")
        assert "2026-05-06" not in {hit.memory.id for hit in others}


def test_what_is_only_of_the_next_such_date_is_judged_by_what_it_says() -> None:
    """Many notes name a day to come; that alone does not make them an answer."""
    question = understand(Query("what caused the outage on 24 November?", asked_at=seconds("2026-11-17")))
    assert [iso(window.start)[:10] for window in (*question.windows, *question.future_windows)] == [
        "2025-11-24",
        "2026-11-24",
    ]
    for year, timely in (("2025", True), ("2026", False)):
        planned = Memory("m", "The outage of the old pump", occurred_at=seconds(f"{year}-11-24T09:00:00Z"))
        assert is_timely(Judged(Hit(planned, 0.5), Floor(0.5, 0.5), read=True), question) is timely


def test_what_names_a_day_that_is_to_come_is_not_silenced_where_only_that_is_asked_for() -> None:
    question = understand(
        Query("Which call with the opera is planned for 24 November?", asked_at=seconds("2026-11-17"))
    )
    assert [iso(window.start)[:10] for window in (*question.windows, *question.future_windows)] == ["2026-11-24"]
    for text, timely in (("Call with Lars Ek on 24 November", True), ("Call with Lars Ek on 8 January", False)):
        note = Memory("m", text, created_at=seconds("2026-11-10"))
        assert is_timely(Judged(Hit(note, 0.5), Floor(0.5, 0.5), read=True), question) is timely


@pytest.mark.parametrize(
    ("question", "looked_up"),
    [
        ("INC-118", True),
        ("guest wifi", True),
        ("071-445-9012-7", True),
        ("071 445 9012 7", False),
        ("who is Keiko?", True),
        ("Who is Ines Okoye?", True),
        ("what is the wifi password", False),
        ("когда отпуск", True),
        ("wann ist ärztetag und wo", False),
        ("Keiko yesterday", False),
    ],
)
def test_words_and_names_are_looked_up_and_questions_are_not(question: str, looked_up: bool) -> None:
    assert is_keyword_lookup(understand(Query(question, asked_at=1_700_000_000.0))) is looked_up


@pytest.mark.parametrize(
    "question", ["Halvorsen", "halvorsen", "Ottilie", "cotton paper", "stall 17", "who is Ottilie?"]
)
def test_words_that_a_note_has_find_it_first(store: MemoryStore, question: str) -> None:
    """A model that reads «Halvorsen» sees no question, and the meaning of a name is noise."""
    expected = {"halvorsen": "paper", "cotton paper": "paper", "stall 17": "fair"}.get(question.lower(), "press")
    recalled = store.recall(question)
    assert recalled[0].memory.id == expected
    assert recalled[0].relevance >= STRONG
    assert [hit.score for hit in recalled] == sorted((hit.score for hit in recalled), reverse=True)


def test_a_note_with_all_words_is_lifted_above_those_that_are_only_near() -> None:
    with MemoryStore(":memory:", embedder=ShippedEmbedder(ENGLISH)) as store:
        store.remember(
            "The wifi for whoever is here as a guest was switched off by the electrician, because nobody used it.",
            id="all", importance=0.1, confidence=0.0, on_conflict="ignore",
        )  # fmt: skip
        store.remember(
            "Wireless network for visitors is called pear-guest", id="near", importance=0.9, on_conflict="ignore"
        )
        recalled = store.recall("guest wifi")
        assert [hit.memory.id for hit in recalled] == ["all", "near"]
        assert recalled[0].score == recalled[1].score
        assert "all words" in {reason.signal for reason in recalled[0].why}


@pytest.mark.parametrize(
    "question", ["Ottilie birthday", "who is Rosalind of the mill?", "paper money", "paper yesterday"]
)
def test_a_word_that_is_missing_makes_no_hit_sure(store: MemoryStore, question: str) -> None:
    hits = store.recall(question, min_relevance=0.0)
    assert hits and all(hit.relevance < STRONG for hit in hits)


def test_a_question_of_an_earlier_conversation_makes_its_answer_no_less_relevant() -> None:
    said = ["We oil the letterpress with the thin oil from the green can.", "The cellar key hangs behind the boiler."]
    asked = ["Which oil do we use for the letterpress?", "Where is the key of the cellar?"]
    with MemoryStore(settings=Settings(store=":memory:", rerank_ms=60_000.0)) as store:
        for place, text in enumerate(said):
            store.remember(text, session="one", position=place, role="user")
        before = [store.recall(each, 1, touch=False)[0] for each in asked]
        for place, text in enumerate(asked):
            store.remember(text, session="two", position=place, role="user")
        after = [store.recall(each, 1, touch=False)[0] for each in asked]
        assert [hit.memory.text for hit in before] == [hit.memory.text for hit in after] == said
        assert [hit.relevance for hit in after] == pytest.approx([hit.relevance for hit in before], abs=0.1)
