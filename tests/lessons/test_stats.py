from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import EmbeddingMismatch, MemoryNotFound
from nacre.lessons import LessonBook
from tests.embedders import WordBag
from tests.lessons.shelved import shelved, taught


@pytest.fixture(params=[":memory:", "file"])
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LessonBook]:
    with shelved(request.param, tmp_path) as found:
        yield found


def test_an_empty_book_has_figures_too(book: LessonBook) -> None:
    stats = book.stats().data
    assert (stats.total, stats.archived, stats.links, stats.tags, stats.contexts) == (0, 0, 0, 0, 0)
    assert stats.by_confidence == {"very-low": 0, "low": 0, "medium": 0, "high": 0, "very-high": 0}


def test_the_figures_count_lessons_and_nothing_else(book: LessonBook) -> None:
    book.store.remember("The sky is blue.", tags=["sky"], source="tested")
    one = taught(book, "One", "api", "jira", contexts=["team"], source="tested")
    two = taught(book, "Two", "api", anti_contexts=["solo"], confidence="low")
    book.link(one, two)
    book.archive(two)
    book.delete(taught(book, "Three", "gone"))
    stats = book.stats().data
    assert (stats.total, stats.archived, stats.tags, stats.contexts, stats.links) == (2, 1, 2, 2, 1)
    assert {name: count for name, count in stats.by_confidence.items() if count} == {"high": 1, "low": 1}
    assert stats.by_source == {"tested": 1}
    assert stats.embedder == "hashing-384"


def test_every_confidence_is_of_one_level(book: LessonBook) -> None:
    for tenth in range(11):
        taught(book, f"Lesson {tenth}", confidence=tenth / 10)
    assert book.stats().data.by_confidence == {"very-low": 2, "low": 2, "medium": 2, "high": 2, "very-high": 3}


@pytest.mark.accepts("L3.9")
def test_one_lesson_is_embedded_again_though_its_words_are_the_same() -> None:
    embedder = WordBag()
    with MemoryStore(":memory:", embedder=embedder) as store:
        book = LessonBook(store=store)
        one = taught(book, "One")
        taught(book, "Two")
        embedder.asked.clear()
        assert book.reembed(one).data == 1
        assert embedder.asked == ["One\n\nOf One."]
        with pytest.raises(MemoryNotFound):
            book.reembed("nobody")


@pytest.mark.accepts("L3.9", "L8.8")
def test_all_lessons_are_embedded_again_with_another_model_and_progress(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with MemoryStore(tmp_path / "lessons.db", embedder="hashing") as store:
        one = taught(LessonBook(store=store), "One")
    with MemoryStore(tmp_path / "lessons.db", embedder=WordBag()) as store:
        book = LessonBook(store=store)
        with pytest.raises(EmbeddingMismatch):
            book.reembed(one)
        assert book.reembed(progress=lambda done, total, _: told.append((done, total))).data == 1
        assert book.recall("one", strategy="semantic").data[0].lesson.id == one
    assert told == [(1, 1)]
