"""From a question to its memories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput, UnknownName
from nacre.model import Filter, Query
from nacre.model.recollection import STRONG
from nacre.recall.gather import understand
from nacre.recall.recall import reranked_text
from nacre.storage.candidates import MOST_TERMS, Posting
from nacre.storage.sqlite.search import SQLiteIndex
from tests.embedders import Moody, WordBag


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as opened:
        opened.remember("The database listens on port 5432", id="port")
        opened.remember("Error E-4021 means the disk is full", id="error")
        opened.remember("Anna prefers green tea in the morning", id="tea")
        yield opened


def found(store: MemoryStore, query: str, **options: Any) -> list[str]:
    return [hit.memory.id for hit in store.recall(query, **options)]


def test_an_exact_identifier_is_found_first(store: MemoryStore) -> None:
    assert found(store, "what was E-4021 about?")[0] == "error"
    assert found(store, "5432", strategy="keyword") == ["port"]


PART_NUMBERS = ("TN-3430", "TN3430", "TN 3430")
LONG_NUMBERS = ("265 731 940", "265731940", "265-731-940")


@pytest.mark.parametrize("place", ["file", pytest.param("memory", marks=pytest.mark.slow)])
@pytest.mark.parametrize("forms", [PART_NUMBERS, LONG_NUMBERS])
def test_an_identifier_is_found_with_and_without_hyphens_and_blanks(
    tmp_path: Path, place: str, forms: Sequence[str]
) -> None:
    for written in forms:
        path = ":memory:" if place == "memory" else tmp_path / f"{written}.db"
        embedder = Moody()
        embedder.well = False  # words alone decide
        with MemoryStore(path, embedder=embedder) as opened:
            opened.remember_many([f"The cartridge {number} of the printer TK 340 is empty" for number in range(5)])
            opened.remember(f"Somebody wrote {written} on the box", id="box")
            for asked in forms:
                recalled = opened.recall(asked)
                assert [hit.memory.id for hit in recalled] == ["box"], (written, asked)
                assert recalled[0].relevance >= STRONG
                assert found(opened, f"who wrote {asked} on it?")[0] == "box"


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Kick-off", "Wann ist der Kickoff?"),
        ("Kickoff", "Wann ist der Kick-off?"),
        ("Kick-off", "when is the kick off?"),
        ("kick off", "Kick-off"),
        ("E-Mail", "email"),
    ],
)
def test_a_word_is_found_with_a_hyphen_without_and_apart(tmp_path: Path, written: str, asked: str) -> None:
    embedder = Moody()
    embedder.well = False  # words alone decide
    with MemoryStore(tmp_path / "s.db", embedder=embedder) as opened:
        opened.remember_many([f"The cartridge {number} of the printer TK 340 is empty" for number in range(5)])
        opened.remember(f"{written}: Montag um zehn, Blumenhaus", id="note")
        assert found(opened, asked)[0] == "note"


def test_the_other_spelling_of_a_word_counts_as_the_word() -> None:
    """Neither as one more word that is missing, nor as one more that is there."""
    with MemoryStore(":memory:", embedder=WordBag()) as opened:
        opened.remember("The standard is ISO-27001", id="standard")
        by_form = {form: opened.recall(f"standard {form}", rerank=False)[0] for form in ("ISO27001", "ISO-27001")}
        coverage = {form: [why.score for why in hit.why if why.signal == "coverage"] for form, hit in by_form.items()}
        assert coverage["ISO27001"] == pytest.approx(coverage["ISO-27001"])


def test_a_long_text_is_read_where_it_has_the_other_spelling(store: MemoryStore) -> None:
    filling = "Nothing of importance was said about the weather. " * 40
    memory = store.remember(f"{filling}The toner is TN-3430. {filling}")
    assert "TN-3430" in reranked_text(memory, understand(Query("TN3430", asked_at=store.now())))


def test_every_hit_says_why(store: MemoryStore) -> None:
    hit = store.recall("green tea", k=1)[0]
    assert {reason.signal for reason in hit.why} >= {"words", "meaning"}
    assert str(hit.why[0]).startswith(hit.why[0].signal)


def test_scores_fall_and_k_cuts(store: MemoryStore) -> None:
    hits = store.recall("the disk database tea", k=3)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len(store.recall("the disk database tea", k=2)) == 2


@pytest.mark.parametrize("query", ["", "   ", "\x00"])
def test_an_empty_question_is_refused(store: MemoryStore, query: str) -> None:
    with pytest.raises(InvalidInput, match="question is empty"):
        store.recall(query)
    with pytest.raises(InvalidInput, match="question is empty"):
        store.recall(query, group_by="session")
    with pytest.raises(InvalidInput, match="question is empty"):
        store.recall(query, strategy="graph")
    assert not store.recall(query, strategy="hybrid"), "as the system whose formula it is answers"


def test_a_question_that_is_too_long_or_no_text_is_refused(store: MemoryStore) -> None:
    with pytest.raises(InvalidInput, match="20,001 characters"):
        store.recall("x" * 20_001)
    with pytest.raises(InvalidInput, match="must be text"):
        store.recall(None)  # type: ignore[arg-type]
    assert found(store, ("tea " * 5000)[:20_000], k=1) == ["tea"]


@pytest.mark.slow
def test_a_question_of_a_whole_page_searches_a_bounded_number_of_terms(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = [f"term{number}" for number in range(2_000)]
    store.remember(" ".join(page), id="page")
    store.remember(" ".join(f'"green {word}"' for word in page[:150]), id="quotes")
    searched: list[int] = []
    postings = SQLiteIndex.postings

    def counted(
        index: SQLiteIndex, terms: Sequence[str], visible: Filter, among: Filter | None = None
    ) -> dict[str, Posting]:
        searched.append(len(terms))
        return postings(index, terms, visible, among)

    monkeypatch.setattr(SQLiteIndex, "postings", counted)
    assert found(store, " ".join(page)[:20_000], k=1) == ["page"]
    assert found(store, " ".join(f'"green {word}"' for word in page[:150]), k=1, strategy="keyword") == ["quotes"]
    assert searched == [MOST_TERMS, MOST_TERMS]


def test_an_unknown_strategy_is_refused_with_the_nearest(store: MemoryStore) -> None:
    with pytest.raises(UnknownName, match="'keyword'"):
        store.recall("tea", strategy="keywords")


def test_a_hit_counts_as_a_use_unless_told_otherwise(store: MemoryStore) -> None:
    store.recall("green tea", k=1, touch=False)
    store.recall("green tea", k=1)
    tea = store.get("tea")
    assert tea is not None
    assert tea.access_count == 1


def test_equal_scores_are_broken_by_importance_then_by_age() -> None:
    with MemoryStore(":memory:", embedder=WordBag()) as store:
        for id, importance, at in (("old", 0.5, 1), ("new", 0.5, 2), ("weighty", 0.9, 0)):
            store.remember(f"the very same words {id}", id=id, importance=importance, created_at=at)
        assert found(store, "same words", strategy="keyword") == ["weighty", "new", "old"]


def test_a_nul_in_a_question_is_ignored_and_half_of_a_pair_is_refused(store: MemoryStore) -> None:
    assert found(store, "green tea\x00")[0] == "tea"
    with pytest.raises(InvalidInput, match="surrogate pair"):
        store.recall("green\ud83d tea")


@pytest.mark.parametrize("query", ["?", "...", "--"])
def test_a_question_without_a_word_finds_nothing_and_says_so(store: MemoryStore, query: str) -> None:
    recalled = store.recall(query)
    assert list(recalled) == [] and recalled.notes == ("The question has no word; say what to look for.",)


def test_a_noted_question_comes_after_a_statement_and_is_never_strong(store: MemoryStore) -> None:
    store.remember("Who is my manager now?", id="asked", created_at=1.0)
    store.remember("Ottilie is my manager now", id="said", created_at=1.0)
    hits = store.recall("Who is my manager now?", min_relevance=0.0)
    assert [hit.memory.id for hit in hits][:2] == ["said", "asked"]
    assert replace(hits[1], relevance=0.9).strength == "fair"
