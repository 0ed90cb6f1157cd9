from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.errors import InvalidInput, MemoryNotFound
from nacre.lessons import LessonBook
from nacre.lifecycle.decay import ConfidenceDecay
from tests.lessons.factories import DAY, ManualClock, learn, open_book, titles


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=[pytest.param(":memory:", marks=pytest.mark.slow), "file"])
def book(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[LessonBook]:
    with open_book(request.param, tmp_path, clock) as results:
        yield results


def due(book: LessonBook, days: float = 365) -> list[str]:
    return [each.lesson.title for each in book.review(days).data]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "results"),
    [
        ("high", {"High"}), ("high-", {"High", "Very high"}), ("-low", {"Low", "Very low"}), ("very-low", {"Very low"}),
        ("-very-low", {"Very low"}), ("low-medium", {"Low", "Medium"}), ("0.2-0.6", {"Low", "Medium"}),
        ("0.6-", {"High", "Very high"}), ("very-low-low", {"Very low", "Low"}), (None, None),
    ],
)  # fmt: skip
def test_an_audit_finds_lessons_held_so_firmly(book: LessonBook, asked: str | None, results: set[str] | None) -> None:
    for level in ("very-low", "low", "medium", "high", "very-high"):
        learn(book, level.replace("-", " "), confidence=level)
    assert titles(book.audit(asked)) == (results or {"Very low", "Low", "Medium", "High", "Very high"})


def test_an_audit_finds_what_is_held_more_firmly_than_its_source_bears(book: LessonBook) -> None:
    learn(book, "Daring", confidence="high", source="inferred")
    learn(book, "Deep", confidence="high", source="inferred.guess")
    learn(book, "Sound", confidence="high", source="tested")
    assert titles(book.audit("high", "inferred")) == {"Daring", "Deep"}


def test_an_audit_can_select_lessons_that_were_never_validated(book: LessonBook) -> None:
    one = learn(book, "One")
    learn(book, "Two")
    book.validate(one)
    assert (titles(book.audit(validated=True)), titles(book.audit(validated=False))) == ({"One"}, {"Two"})


@pytest.mark.parametrize("text", ["hihg", "high-low", "-", "2-3"])
def test_a_confidence_that_cannot_be_read_is_refused(book: LessonBook, text: str) -> None:
    with pytest.raises(InvalidInput, match="not a range of confidence"):
        book.audit(text)


@pytest.mark.accepts("L8.1", "L8.15")
def test_the_evidence_stays_when_the_confidence_changes(book: LessonBook) -> None:
    id = learn(book, "One", confidence="high", source="inferred", source_notes="a hunch")
    lesson = book.update(id, confidence="low").data
    assert (lesson.confidence, lesson.source, lesson.source_notes) == ("low", "inferred", "a hunch")


@pytest.mark.accepts("L8.2", "L8.16")
def test_a_lesson_unchanged_for_a_year_is_due_for_review_with_a_question(book: LessonBook, clock: ManualClock) -> None:
    learn(book, "Old", confidence="high")
    clock.at += 400 * DAY
    learn(book, "New")
    (results,) = book.review().data
    assert results.lesson.title == "Old"
    assert results.why == "Held with high confidence, and 400 days old: is it still so?"
    assert due(book, 500) == []


def test_whoever_validates_a_lesson_or_says_it_anew_has_looked_at_it(book: LessonBook, clock: ManualClock) -> None:
    validated, rewritten, doubted, tagged = (learn(book, name) for name in ("a", "b", "c", "d"))
    clock.at += 400 * DAY
    book.validate(validated)
    book.update(rewritten, content="Of b, and better.")
    book.update(doubted, confidence="low")
    book.update(tagged, tags=["other"])
    assert due(book) == ["D"]


def test_merging_tags_and_fading_do_not_make_lessons_look_fresh(book: LessonBook, clock: ManualClock) -> None:
    learn(book, "Old", "js", confidence="high")
    clock.at += 400 * DAY
    book.merge_tags("js", "javascript")
    decay = ConfidenceDecay(book.store)
    assert decay.apply(decay.plan()) == 1
    assert due(book) == ["Old"]


def test_what_another_lesson_contradicts_is_due_until_it_is_validated(book: LessonBook, clock: ManualClock) -> None:
    old = learn(book, "Old", confidence="high")
    clock.at += DAY
    new = learn(book, "New")
    book.link(new, old, "contradicts")
    (results,) = book.review().data
    assert results.why == f"'New' ({new}) contradicts it: is it still so?"
    clock.at += DAY
    book.validate(old)
    assert due(book) == []


def test_a_lesson_is_due_when_it_was_validated_before_it_was_contradicted(book: LessonBook, clock: ManualClock) -> None:
    new, old = learn(book, "New"), learn(book, "Old")
    clock.at += DAY
    book.validate(old)
    clock.at += DAY
    book.link(new, old, "contradicts")
    assert due(book) == ["Old"]
    clock.at += DAY
    book.validate(old)
    assert due(book) == []
    book.link(new, learn(book, "Third"), "contradicts")
    assert due(book) == ["Third"]


@pytest.mark.accepts("L8.2")
def test_counter_evidence_costs_a_level_once_and_is_one_operation(book: LessonBook) -> None:
    old, new = learn(book, "Old", confidence="high"), learn(book, "New")
    assert book.link(new, old, "contradicts").data
    assert book.get(old).data.confidence == "medium"  # type: ignore[union-attr]
    assert not book.link(new, old, "contradicts").data
    assert book.get(old).data.confidence == "medium"  # type: ignore[union-attr]
    book.store.undo()
    assert book.get(old).data.confidence == "high"  # type: ignore[union-attr]
    assert book.related(new).data == ()


def test_the_lowest_confidence_cannot_fall(book: LessonBook) -> None:
    old, new = learn(book, "Old", confidence="very-low"), learn(book, "New")
    book.link(new, old, "contradicts")
    assert book.get(old).data.confidence == "very-low"  # type: ignore[union-attr]


def test_validating_says_when_and_how_sure(book: LessonBook, clock: ManualClock) -> None:
    id = learn(book, "One", confidence="low")
    clock.at += DAY
    lesson = book.validate(id, "very-high").data
    assert (lesson.confidence, lesson.last_validated_at) == ("very-high", clock.at)
    assert book.validate(id, 0.5).data.certainty == 0.5
    with pytest.raises(MemoryNotFound):
        book.validate("nobody")


@pytest.mark.accepts("L8.2")
def test_a_lesson_that_nobody_validates_fades(book: LessonBook, clock: ManualClock) -> None:
    id, decay = learn(book, "One", confidence=0.8), ConfidenceDecay(book.store)
    clock.at += 365 * DAY
    assert [(each.memory.id, each.confidence) for each in decay.plan()] == [(id, 0.4)]
    assert book.get(id).data.certainty == 0.8  # type: ignore[union-attr]
    decay.apply(decay.plan())
    assert book.get(id).data.certainty == 0.4  # type: ignore[union-attr]
    assert decay.plan() == ()


@pytest.mark.accepts("L8.2")
def test_a_validated_lesson_does_not_fade(book: LessonBook, clock: ManualClock) -> None:
    id, decay = learn(book, "One", confidence="high"), ConfidenceDecay(book.store)
    clock.at += 365 * DAY
    book.validate(id)
    assert decay.plan() == ()
    assert [each.confidence for each in decay.plan(clock.at + 365 * DAY)] == [0.35]


def test_fading_is_only_reported_unless_it_is_applied_and_only_lessons_fade(
    book: LessonBook, clock: ManualClock
) -> None:
    id = learn(book, "One", confidence=0.8)
    note = book.store.remember("The sky is blue.", confidence=0.9)
    clock.at += 365 * DAY
    (faded,) = book.fade().data
    assert (faded.lesson.confidence, faded.confidence, faded.certainty) == ("very-high", "medium", 0.4)
    assert book.get(id).data.certainty == 0.8  # type: ignore[union-attr]
    book.fade(dry_run=False)
    assert book.get(id).data.certainty == 0.4  # type: ignore[union-attr]
    assert book.store.get(note.id).confidence == 0.9  # type: ignore[union-attr]
    assert book.fade().data == ()


def test_archived_lessons_are_found_only_where_they_are_asked_for(book: LessonBook) -> None:
    one, two = learn(book, "Old bridge"), learn(book, "New bridge")
    assert book.archive(one, two).data == 2
    assert book.archive(one).data == 0
    assert book.recall("bridge").data == ()
    assert titles(book.recall("bridge", include_archived=True)) == {"Old bridge", "New bridge"}
    assert book.unarchive(one).data == 1
    assert titles(book.recall("bridge")) == {"Old bridge"}


def test_what_is_not_a_lesson_is_not_archived(book: LessonBook) -> None:
    note = book.store.remember("The sky is blue.")
    with pytest.raises(MemoryNotFound):
        book.archive(note.id)


def test_freshness_puts_the_newer_of_two_that_answer_alike_first(book: LessonBook, clock: ManualClock) -> None:
    old = book.learn("Mend the bridge", "Mend the wooden bridge.").data
    clock.at += 2 * 365 * DAY
    new = book.learn("Mend the bridge soon", "Mend the bridge before winter.").data
    results = {each.lesson.id: each for each in book.recall("mend bridge", freshness=True).data}
    plain = {each.lesson.id: each for each in book.recall("mend bridge").data}
    assert results[new.id].score == plain[new.id].score
    assert results[old.id].score == pytest.approx(plain[old.id].score * 0.625)
    assert "times 0.62" in " ".join(map(str, results[old.id].why))


@pytest.mark.accepts("L8.16")
def test_a_superseded_lesson_comes_after_what_replaced_it(book: LessonBook) -> None:
    old, new = learn(book, "Mend the bridge"), learn(book, "Mend the bridge in autumn, with oak")
    book.link(new, old, "supersedes")
    assert [each.lesson.id for each in book.recall("mend the bridge").data] == [new]
    results = book.recall("mend the bridge", include_superseded=True).data
    assert [each.lesson.id for each in results] == [new, old]
