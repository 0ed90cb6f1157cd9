"""Tags that seem to mean the same: proposals to merge them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from nacre import MemoryStore
from nacre.lessons import LessonBook
from nacre.lessons.tag_review import MergeProposal, similar_names
from nacre.model.memory import LESSON
from tests.embedders import Moody
from tests.lessons.factories import learn
from tests.lessons.name_pairs import DIFFERENT, SAME


def proposed(one: str, other: str) -> bool:
    return one.lower() == other.lower() or any(True for _ in similar_names({one.lower(): 1, other.lower(): 1}))


def merges(proposals: Sequence[MergeProposal]) -> set[tuple[str, str]]:
    return {(each.merge, each.keep) for each in proposals}


def test_nearly_all_pairs_that_are_one_are_proposed_and_nearly_none_that_are_two() -> None:
    right = [pair for pair in SAME if proposed(*pair)]
    wrong = [pair for pair in DIFFERENT if proposed(*pair)]
    assert len(right) / len(SAME) >= 0.98
    assert len(right) / (len(right) + len(wrong)) >= 0.98


@pytest.mark.parametrize(
    ("one", "other"),
    [("js", "ts"), ("python2", "python3"), ("v1", "v2"), ("http", "https"), ("test", "rest"), ("python-2", "python-3")],
)
def test_what_is_two_for_everybody_is_never_proposed(book: LessonBook, one: str, other: str) -> None:
    learn(book, "One", one, other)
    assert book.review_tags().data == ()


def test_other_spellings_of_one_tag_are_proposed_with_the_more_used_to_keep_and_why(book: LessonBook) -> None:
    for title in "ab":
        learn(book, title, "front-end")
    learn(book, "c", "frontend", "front_end")
    results = book.review_tags().data
    assert merges(results) == {("frontend", "front-end"), ("front_end", "front-end")}
    assert results[0].reason == "the same letters, with other separators; 'front-end' is on more lessons (2 to 1)"
    assert results[0].counts == {"front-end": 2, "frontend": 1}


def test_of_two_that_are_used_alike_the_simpler_name_stays(book: LessonBook) -> None:
    learn(book, "One", "unit-tests", "unittest")
    (results,) = book.review_tags().data
    assert (results.keep, results.merge) == ("unittest", "unit-tests")
    assert results.reason == "singular and plural; 'unittest' is the simpler name"


def test_two_words_that_both_stand_on_many_lessons_are_no_slip_of_the_pen() -> None:
    assert [*similar_names({"scraping": 1, "scrapping": 1})]
    assert not [*similar_names({"scraping": 9, "scrapping": 9})]
    assert [*similar_names({"kubernetes": 90, "kubernates": 9})]


@pytest.mark.parametrize("relation", ["synonym", "child_of", "apart"])
def test_what_is_related_already_or_marked_distinct_is_left_out(book: LessonBook, relation: str) -> None:
    learn(book, "One", "kubernetes", "kubernates")
    assert len(book.review_tags().data) == 1
    if relation == "apart":
        assert book.keep_apart("tag", "kubernates", "kubernetes").data
        assert not book.keep_apart("tag", "kubernetes", "kubernates").data
    else:
        book.relate_tags("kubernates", "kubernetes", relation)
    assert book.review_tags().data == ()


def test_an_alias_that_lessons_still_have_is_proposed_to_be_merged(book: LessonBook) -> None:
    for title in "ab":
        learn(book, title, "py3k")
    book.alias_tag("py3k", "modern-python")
    (results,) = book.review_tags().data
    assert (results.keep, results.merge) == ("modern-python", "py3k")
    book.merge_tags(results.merge, results.keep)
    assert book.review_tags().data == ()


def test_who_wrote_a_lesson_is_never_proposed(book: LessonBook) -> None:
    for agent in ("claude", "claudes"):
        learn(LessonBook(store=book.store, agent=agent), agent)
    assert book.review_tags().data == ()


def test_carrying_out_all_proposals_leaves_none(book: LessonBook) -> None:
    learn(book, "One", "kubernetes", "k8s", "kubernates", "Kubernetes ", "databases", "database", "db", "data-base")
    while results := book.review_tags().data:
        for each in results:
            book.merge_tags(each.merge, each.keep)
    assert {tag.count for tag in book.tags().data} == {1}
    assert len(book.tags().data) == 2


def by_meaning(texts: Sequence[str]) -> list[list[float]]:
    """A model that knows four words."""
    known = {
        "car": [1.0, 0.1, 0.0],
        "automobile": [1.0, 0.0, 0.0],
        "mysql": [0.0, 1.0, 0.0],
        "postgres": [0.0, 1.0, 0.1],
    }
    return [known.get(text, [0.01 * len(text), 0.0, 1.0]) for text in texts]


@pytest.mark.accepts("L8.4")
def test_words_of_one_meaning_are_proposed_but_not_rivals() -> None:
    with MemoryStore(":memory:", embedder=by_meaning) as store:
        learn(LessonBook(store=store), "One", "car", "automobile", "mysql", "postgres")
        (results,) = LessonBook(store=store).review_tags().data
    assert (results.keep, results.merge) == ("car", "automobile")
    assert results.reason.startswith("of one meaning (0.99")


def test_names_that_only_share_a_word_are_not_of_one_meaning() -> None:
    def shared(texts: Sequence[str]) -> list[list[float]]:
        known = {"client": [1.0, 0.0], "framework": [0.0, 1.0]}
        return [known.get(text, [1.0, 1.0] if "webhook" in text else [1.0, -1.0]) for text in texts]

    with MemoryStore(":memory:", embedder=shared) as store:
        learn(LessonBook(store=store), "One", "webhook-client", "webhook-framework")
        assert LessonBook(store=store).review_tags().data == ()


def test_without_the_model_tags_are_compared_by_their_spelling_and_it_is_said() -> None:
    moody = Moody()
    with MemoryStore(":memory:", embedder=moody) as store:
        book = LessonBook(store=store)
        learn(book, "One", "kubernetes", "kubernates", "garden")
        learn(book, "Two", "kubernetes")
        moody.well = False
        answer = book.review_tags()
    assert merges(answer.data) == {("kubernates", "kubernetes")}
    assert answer.warnings == ("Compared by spelling alone: The model is out today; try again tomorrow.",)


@pytest.mark.slow
def test_five_thousand_tags_are_looked_through_at_once(book: LessonBook) -> None:
    book.store.register_type(LESSON)
    names = [f"ticket-{n}" for n in range(2_500)] + [f"{letters(n)}word{letters(n + 7)}" for n in range(2_500)]
    stored = [names[at : at + 100] for at in range(0, len(names), 100)]
    book.store.remember_many({"text": "It is so.", "type": LESSON, "tags": tags} for tags in [*stored, ["ticket77"]])
    results = merges(book.review_tags().data)
    assert ("ticket-77", "ticket77") in results
    assert not [each for each in results if each[0].startswith("ticket") and each[0] != "ticket-77"]


def letters(number: int) -> str:
    return "".join(chr(97 + number // 26**place % 26) for place in range(3))
