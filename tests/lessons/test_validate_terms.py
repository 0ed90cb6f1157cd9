"""Confidence levels, relations and reference tables."""

from __future__ import annotations

import pytest

from nacre.errors import InvalidInput
from nacre.lessons import LessonBook
from tests.lessons.factories import learn


def test_there_are_five_levels_of_confidence_in_order(book: LessonBook) -> None:
    results = [(level.ordinal, level.name) for level in book.levels().data]
    assert results == [(1, "very-low"), (2, "low"), (3, "medium"), (4, "high"), (5, "very-high")]


@pytest.mark.accepts("L8.18", "L9.2")
def test_relations_are_listed_with_what_they_mean_and_new_ones_need_no_permission(book: LessonBook) -> None:
    assert book.relations().data["contradicts"]
    one, two = learn(book, "One"), learn(book, "Two")
    assert book.link(one, two, "example_of").data
    assert "example_of" in book.relations().data


@pytest.mark.accepts("L9.1")
def test_a_table_of_values_is_made_with_its_first_and_keeps_its_order(book: LessonBook) -> None:
    book.add_reference("priority", "High", 3, "before all else")
    book.add_reference("priority", "low", 1)
    book.add_reference("priority", "urgent")
    book.add_reference("mood", "calm")
    results = [(each.name, each.ordinal, each.description) for each in book.references("priority").data]
    assert results == [("low", 1, ""), ("high", 3, "before all else"), ("urgent", 4, "")]


def test_a_value_that_is_described_anew_keeps_its_place(book: LessonBook) -> None:
    book.add_reference("priority", "high", 3)
    book.add_reference("priority", "high", description="first")
    assert [(each.ordinal, each.description) for each in book.references("priority").data] == [(3, "first")]


def test_an_unknown_table_is_empty(book: LessonBook) -> None:
    assert book.references("priority").data == ()


@pytest.mark.parametrize("kind", ["tag", "source", "confidence", "", "a:b"])
def test_a_table_does_not_take_the_name_of_what_there_is(book: LessonBook, kind: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be a table of values; choose a name such as 'priority'"):
        book.add_reference(kind, "high")


@pytest.mark.accepts("L9.1")
def test_a_lesson_names_a_value_and_is_reported_when_the_table_has_no_such(book: LessonBook) -> None:
    book.add_reference("priority", "high")
    right = book.learn("One", "It is so.", metadata={"priority": "High", "ticket": "A-1"})
    wrong = book.update(right.data.id, metadata={"priority": "hgih"})
    assert right.warnings == ()
    assert wrong.warnings == ("priority 'hgih' not recognized, did you mean 'high'?",)
    assert wrong.suggestions == {"hgih": ("high",)}


def test_the_value_is_stored_as_its_table_has_it(book: LessonBook) -> None:
    book.add_reference("priority", "high")
    id = learn(book, "One", metadata={"priority": " HIGH", "ticket": "A-1"})
    memory = book.store.get(id)
    assert memory is not None
    assert memory.metadata == {"priority": "high", "ticket": "A-1"}


def test_a_value_can_be_undone(book: LessonBook) -> None:
    book.add_reference("priority", "high")
    book.store.undo()
    assert book.references("priority").data == ()
