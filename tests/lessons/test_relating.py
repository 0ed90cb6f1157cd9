"""Ties between lessons, and what they mean for trust."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

from nacre.errors import InvalidInput, LinkRefused, MemoryNotFound, SupersedeCycle
from nacre.lessons import LessonBook
from tests.lessons.booking import new_book


def chain(length: int) -> tuple[LessonBook, list[str]]:
    """Lessons tied one to the next."""
    book = new_book()
    ids = [book.learn(f"L{number}", f"text {number}").data.id for number in range(length)]
    for here, there in pairwise(ids):
        book.link(here, there)
    return book, ids


def test_a_tie_is_new_once() -> None:
    book, (first, second) = chain(2)
    assert book.link(first, second).data is False
    assert book.link(second, first).data is True


def test_a_tie_is_seen_from_both_ends() -> None:
    book, (first, second) = chain(2)
    (along,) = book.related(first).data
    (against,) = book.related(second).data
    assert (along.lesson.id, along.direction, along.relation, along.depth) == (second, "out", "related", 1)
    assert (against.lesson.id, against.direction) == (first, "in")


def test_one_direction_may_be_asked_for() -> None:
    book, (first, second, third) = chain(3)
    assert [each.lesson.id for each in book.related(second, direction="out").data] == [third]
    assert [each.lesson.id for each in book.related(second, direction="in").data] == [first]


@pytest.mark.accepts("L9.3")
def test_what_is_related_lies_within_the_depth_and_nearest_first() -> None:
    book, ids = chain(6)
    for depth, start in product(range(7), range(6)):
        found = [(each.lesson.id, each.depth) for each in book.related(ids[start], depth=depth).data]
        away = {id: abs(at - start) for at, id in enumerate(ids)}
        assert sorted(found) == sorted((id, steps) for id, steps in away.items() if 0 < steps <= depth)
        assert [steps for _, steps in found] == sorted(steps for _, steps in found)


@pytest.mark.parametrize("depth", [-1, 1.5, "2"])
def test_a_depth_that_is_no_whole_number_is_refused(depth: object) -> None:
    book, (first, _) = chain(2)
    with pytest.raises(InvalidInput):
        book.related(first, depth=depth)  # type: ignore[arg-type]


def test_a_ring_of_ties_ends() -> None:
    book, ids = chain(3)
    book.link(ids[2], ids[0])
    assert {each.lesson.id for each in book.related(ids[0], depth=50).data} == set(ids[1:])


def test_relations_narrow_the_way_however_they_are_written() -> None:
    book, (first, second) = chain(2)
    third = book.learn("Third", "text").data.id
    book.link(first, third, "Example-Of")
    assert [each.relation for each in book.related(first, relations="example_of").data] == ["example_of"]
    assert [each.lesson.id for each in book.related(first, relations=["related_to"]).data] == [second]
    assert len(book.related(first, relations=["related", "example of"]).data) == 2


@pytest.mark.accepts("L8.17")
def test_any_relation_is_accepted_and_a_slip_is_told() -> None:
    book, (first, second) = chain(2)
    assert book.link(first, second, "reminds_me_of").data is True
    answer = book.link(first, second, "contradict")
    assert "did you mean 'contradicts'" in answer.warnings[0]


@pytest.mark.accepts("L8.17")
def test_a_lesson_without_ties_is_a_lesson() -> None:
    book = new_book()
    assert book.related(book.learn("One", "text").data.id).data == ()


def test_what_is_no_lesson_is_not_told_and_cannot_be_tied() -> None:
    book, (first, _) = chain(2)
    memory = book.store.remember("no lesson")
    book.store.link(first, memory.id)
    assert memory.id not in {each.lesson.id for each in book.related(first).data}
    for pair in ((first, memory.id), (memory.id, first), (first, "nowhere"), ("nowhere", first)):
        with pytest.raises(MemoryNotFound):
            book.link(*pair)
    with pytest.raises(MemoryNotFound):
        book.related("nowhere")


def test_a_lesson_cannot_be_tied_to_itself() -> None:
    book, (first, _) = chain(2)
    for relation in ("related", "contradicts", "supersedes"):
        with pytest.raises((LinkRefused, SupersedeCycle)):
            book.link(first, first, relation)


def test_unlinking_takes_one_relation_or_all_and_counts_them() -> None:
    book, (first, second) = chain(2)
    book.link(first, second, "example_of")
    book.link(first, second, "causes")
    assert book.unlink(first, second, "Example-Of").data == 1
    assert book.unlink(first, second).data == 2
    assert book.unlink(first, second).data == 0
    assert book.related(first).data == ()


def test_unlinking_what_is_not_there_is_an_error() -> None:
    with pytest.raises(MemoryNotFound):
        new_book().unlink("nowhere", "elsewhere")


def test_a_contradiction_costs_the_other_a_level_of_confidence_once() -> None:
    book = new_book()
    first = book.learn("One", "text", confidence="high").data.id
    second = book.learn("Two", "text", confidence="high").data.id
    answer = book.link(first, second, "contradicts")
    assert answer.data is True
    assert "medium" in answer.warnings[0]
    assert book.link(first, second, "contradicts").data is False
    assert book.get(second).data.confidence == "medium"  # type: ignore[union-attr]
    assert book.get(first).data.confidence == "high"  # type: ignore[union-attr]
    assert [each.relation for each in book.related(second).data] == ["contradicts"]


def test_the_lowest_confidence_stays_when_it_is_contradicted() -> None:
    book = new_book()
    first = book.learn("One", "text").data.id
    second = book.learn("Two", "text", confidence=0.05).data.id
    assert book.link(first, second, "contradicts").data is True
    assert book.get(second).data.certainty == 0.05  # type: ignore[union-attr]


def test_a_contradiction_and_what_it_costs_are_undone_together() -> None:
    book = new_book()
    first, second = (book.learn(name, "text", confidence="high").data.id for name in ("One", "Two"))
    book.link(first, second, "contradicts")
    book.store.undo()
    assert book.get(second).data.confidence == "high"  # type: ignore[union-attr]
    assert book.related(second).data == ()


def test_a_lesson_that_supersedes_takes_the_others_place() -> None:
    book, (first, second) = chain(2)
    assert book.link(second, first, "supersedes").data is True
    assert book.get(first).data.superseded_by == second  # type: ignore[union-attr]
    with pytest.raises(SupersedeCycle):
        book.link(first, second, "supersedes")
    assert book.unlink(second, first, "supersedes").data == 1
    assert book.get(first).data.superseded_by == ""  # type: ignore[union-attr]


def test_what_was_superseded_is_related_when_it_is_asked_for() -> None:
    book, (first, second) = chain(2)
    book.link(second, first, "supersedes")
    assert book.related(second).data == ()
    (former,) = book.related(second, relations="supersedes").data
    assert (former.lesson.id, former.direction) == (first, "out")
    assert {each.lesson.id for each in book.related(second, include_superseded=True).data} == {first}
    book.delete(first)
    assert book.related(second, include_superseded=True).data == ()


def test_how_a_lesson_is_tied_is_told_in_the_envelope() -> None:
    book, (first, _) = chain(2)
    told = book.related(first).data[0].to_dict()
    assert (told["relation"], told["direction"], told["depth"], told["title"]) == ("related", "out", 1, "L1")
