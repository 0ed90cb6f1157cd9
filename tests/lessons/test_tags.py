from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.errors import InvalidInput, UnknownName
from nacre.lessons import LessonBook
from tests.lessons.booking import titles
from tests.lessons.shelved import BACKENDS, everything, shelved, taught


@pytest.fixture(params=[":memory:", "file"])
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LessonBook]:
    with shelved(request.param, tmp_path) as found:
        yield found


def test_tags_are_told_with_how_many_lessons_have_them_the_most_used_first(book: LessonBook) -> None:
    taught(book, "One", "api", "jira")
    taught(book, "Two", "api")
    book.store.archive(taught(book, "Three", "api"))
    assert [(tag.name, tag.count) for tag in book.tags().data] == [("api", 3), ("jira", 1)]


def test_without_counts_they_come_by_name(book: LessonBook) -> None:
    taught(book, "One", "zebra", "ant")
    taught(book, "Two", "zebra")
    assert [(tag.name, tag.count) for tag in book.tags(counts=False).data] == [("ant", 0), ("zebra", 0)]


def test_an_alias_is_resolved_when_it_is_written_and_when_it_is_asked_for(book: LessonBook) -> None:
    assert book.alias_tag("JS", "JavaScript").data
    id = taught(book, "One", "js")
    assert book.get(id).data.tags == ("javascript",)  # type: ignore[union-attr]
    assert titles(book.list(tags="js")) == {"One"}
    (tag,) = book.tags().data
    assert (tag.name, tag.aliases) == ("javascript", ("js",))


def test_an_alias_of_an_alias_stands_for_what_that_stands_for(book: LessonBook) -> None:
    book.alias_tag("projects", "proj")
    book.alias_tag("proj", "project")
    assert book.store.vocabulary("tag") == {"projects": {"alias_of": "project"}, "proj": {"alias_of": "project"}}


def test_an_alias_tells_which_lessons_still_have_it(book: LessonBook) -> None:
    taught(book, "One", "js")
    assert book.alias_tag("js", "javascript").warnings == (
        "1 lessons still have 'js'; merge it into 'javascript' to change them.",
    )


def test_a_ring_of_aliases_is_refused_in_one_sentence(book: LessonBook) -> None:
    book.alias_tag("a1", "b1")
    book.alias_tag("b1", "c1")
    with pytest.raises(InvalidInput, match=r"^'a1' is already an alias of 'c1'; swap the two, or unrelate"):
        book.alias_tag("c1", "a1")


def test_a_tag_is_no_alias_of_itself(book: LessonBook) -> None:
    with pytest.raises(InvalidInput, match="give two that differ"):
        book.alias_tag("API", " api ")


def test_the_mark_of_who_wrote_a_lesson_is_no_alias(book: LessonBook) -> None:
    with pytest.raises(InvalidInput, match="marks the author of a lesson"):
        book.alias_tag("agent:ada", "ada")


def test_synonyms_are_found_with_each_other_and_told_of_both(book: LessonBook) -> None:
    taught(book, "One", "k8s")
    taught(book, "Two", "kubernetes")
    assert book.relate_tags("k8s", "kubernetes", "synonym").data
    assert not book.relate_tags("kubernetes", "k8s", "synonym").data
    assert titles(book.list(tags="k8s")) == titles(book.list(tags="kubernetes")) == {"One", "Two"}
    assert [tag.synonyms for tag in book.tags().data] == [("kubernetes",), ("k8s",)]


@pytest.mark.accepts("L8.4")
def test_a_child_is_found_with_its_parent_and_not_the_other_way_round(book: LessonBook) -> None:
    taught(book, "One", "jira")
    taught(book, "Two", "trackers")
    book.relate_tags("jira", "trackers", "child_of")
    assert titles(book.list(tags="trackers")) == {"One", "Two"}
    assert titles(book.list(tags="jira")) == {"One"}


def test_what_is_under_a_tag_by_its_dots_is_found_with_it(book: LessonBook) -> None:
    taught(book, "One", "api.jira")
    taught(book, "Two", "apiary")
    assert titles(book.list(tags="api")) == {"One"}
    assert book.tags().data[0].parents == ("api",)


def test_a_circle_of_parents_is_refused_in_one_sentence(book: LessonBook) -> None:
    book.relate_tags("a1", "b1", "child_of")
    book.relate_tags("b1", "c1", "child_of")
    with pytest.raises(InvalidInput, match=r"^'a1' is already under 'c1'; unrelate them first"):
        book.relate_tags("c1", "a1", "child_of")


def test_a_parent_by_dots_is_no_child_of_its_child(book: LessonBook) -> None:
    with pytest.raises(InvalidInput, match=r"'api.jira' is already under 'api'"):
        book.relate_tags("api", "api.jira", "child_of")


def test_a_relation_that_is_none_is_refused(book: LessonBook) -> None:
    with pytest.raises(UnknownName, match="did you mean 'synonym'"):
        book.relate_tags("a1", "b1", "synonim")


@pytest.mark.parametrize("relation", ["synonym", "child_of", "alias", "apart"])
def test_unrelating_takes_back_whatever_was_said_of_two(book: LessonBook, relation: str) -> None:
    before = everything(book.store)
    if relation == "alias":
        book.alias_tag("a1", "b1")
    elif relation == "apart":
        book.keep_apart("tag", "a1", "b1")
    else:
        book.relate_tags("a1", "b1", relation)
    assert book.unrelate_tags("b1", "a1").data
    assert everything(book.store) == before
    assert not book.unrelate_tags("b1", "a1").data


def test_a_tag_that_was_made_known_is_written_without_a_warning(book: LessonBook) -> None:
    assert book.know_tags("Jira", "api").data == ("jira", "api")
    assert book.know_tags("jira").data == ()
    assert book.learn("One", "It is so.", tags=["jira"]).warnings == ()
    assert book.learn("Two", "It is so.", tags=["jra"]).warnings == ("tag 'jra' not recognized, did you mean 'jira'?",)


@BACKENDS
def test_what_is_done_to_tags_outlives_the_book_and_can_be_undone(where: str, tmp_path: Path) -> None:
    with shelved(where, tmp_path) as book:
        before = everything(book.store)
        book.relate_tags("a1", "b1", "synonym")
        if where == "file":
            with shelved(where, tmp_path) as again:
                assert [tag.synonyms for tag in again.tags().data] == [("b1",), ("a1",)]
        book.store.undo()
        assert everything(book.store) == before
