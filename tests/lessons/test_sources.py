from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.errors import InvalidInput, UnknownName
from nacre.lessons import LessonBook
from tests.lessons.booking import titles
from tests.lessons.shelved import everything, shelved, taught


@pytest.fixture(params=[":memory:", "file"])
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LessonBook]:
    with shelved(request.param, tmp_path) as found:
        yield found


def test_every_book_knows_five_sources_from_the_first(book: LessonBook) -> None:
    found = {source.name: source.typical_confidence for source in book.sources().data}
    assert found == {
        "inferred": "low", "tested": "high", "documented": "high", "observed": "medium", "hearsay": "low",
    }  # fmt: skip
    assert all(source.description and not source.review for source in book.sources().data)


def test_a_source_that_nobody_knows_is_created_and_waits_for_review(book: LessonBook) -> None:
    answer = book.learn("One", "It is so.", source="rumour")
    assert answer.warnings == ("source 'rumour' not recognized; it is new here. It was created, and waits for review.",)
    (found,) = book.sources(review=True).data
    assert (found.name, found.count, found.review) == ("rumour", 1, True)


def test_a_source_that_came_another_way_waits_for_review_too(book: LessonBook) -> None:
    taught(book, "One")
    book.store.remember("It is so.", type="lesson", source="rumour")
    assert [source.name for source in book.sources(review=True).data] == ["rumour"]
    assert book.learn("Two", "It is so.", source="rumour").warnings[0].startswith("source 'rumour' is used by lessons")


def test_a_source_that_is_confirmed_waits_no_longer(book: LessonBook) -> None:
    taught(book, "One", source="rumour")
    assert book.confirm_source("rumour").data.review is False
    assert book.sources(review=True).data == ()
    assert book.learn("Two", "It is so.", source="rumour").warnings == ()


def test_confirming_what_nobody_named_is_refused_with_what_may_have_been_meant(book: LessonBook) -> None:
    with pytest.raises(InvalidInput, match="There is no source 'testd'; did you mean 'tested'"):
        book.confirm_source("testd")


def test_a_source_that_is_added_gives_its_lessons_what_it_usually_bears(book: LessonBook) -> None:
    added = book.add_source("Benchmark", "measured here", "very-high").data
    assert (added.name, added.description, added.typical_confidence) == ("benchmark", "measured here", "very-high")
    answer = book.learn("One", "It is so.", source="benchmark")
    assert (answer.data.confidence, answer.warnings) == ("very-high", ())


def test_a_level_that_is_none_is_refused(book: LessonBook) -> None:
    with pytest.raises(UnknownName, match="did you mean 'medium'"):
        book.add_source("benchmark", "", "medum")


@pytest.mark.accepts("L8.10")
def test_what_is_under_a_source_inherits_what_it_bears(book: LessonBook) -> None:
    answer = book.learn("One", "It is so.", source="tested.unit")
    assert (answer.data.confidence, answer.warnings) == ("high", ())
    assert {(s.name, s.typical_confidence, s.review) for s in book.sources().data if s.count} == {
        ("tested.unit", "high", False)
    }
    assert titles(book.list(source="tested")) == {"One"}


def test_the_nearest_above_is_inherited_from(book: LessonBook) -> None:
    book.add_source("tested.manual", "by hand", "low")
    assert book.learn("One", "It is so.", source="tested.manual.late").data.confidence == "low"


@pytest.mark.accepts("L8.10")
def test_a_deprecated_source_keeps_its_lessons_and_warns_of_new_ones(book: LessonBook) -> None:
    taught(book, "One", source="hearsay")
    before = everything(book.store)
    assert book.deprecate_source("hearsay").data.deprecated
    assert book.deprecate_source("hearsay").data.description
    assert everything(book.store)[0] == before[0]
    for name in ("hearsay", "hearsay.pub"):
        assert book.learn("Two", "So.", source=name).warnings == (f"source {name!r} is deprecated; choose another",)
    assert not book.deprecate_source("hearsay", deprecated=False).data.deprecated
    assert book.learn("Two", "So.", source="hearsay").warnings == ()


def test_what_a_known_source_bears_can_be_changed_and_undone(book: LessonBook) -> None:
    taught(book, "First")
    book.add_source("inferred", "concluded with care", "high")
    assert book.learn("One", "It is so.", source="inferred").data.confidence == "high"
    book.store.undo(last=2)
    assert book.learn("One", "It is so.", source="inferred").data.confidence == "low"
