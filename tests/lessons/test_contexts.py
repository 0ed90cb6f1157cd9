from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.errors import InvalidInput
from nacre.lessons import LessonBook
from tests.lessons.booking import titles
from tests.lessons.shelved import shelved, taught


@pytest.fixture(params=[":memory:", "file"])
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LessonBook]:
    with shelved(request.param, tmp_path) as found:
        yield found


def test_contexts_are_told_with_how_many_lessons_apply_there_and_how_many_do_not(book: LessonBook) -> None:
    taught(book, "One", contexts=["team", "solo"])
    taught(book, "Two", contexts=["team"], anti_contexts=["ci"])
    found = [(each.name, each.count, each.anti_count) for each in book.contexts().data]
    assert found == [("team", 2, 0), ("ci", 0, 1), ("solo", 1, 0)]
    assert [each.name for each in book.contexts(counts=False).data] == ["ci", "solo", "team"]


@pytest.mark.accepts("L8.5")
def test_contexts_are_free_and_apart_from_tags(book: LessonBook) -> None:
    answer = book.learn("One", "It is so.", contexts=["Friday Evenings"])
    assert answer.warnings == ()
    assert answer.data.contexts == ("friday-evenings",)
    assert book.tags().data == ()


@pytest.mark.accepts("L8.6")
def test_whoever_is_in_a_part_is_in_the_whole_by_dots(book: LessonBook) -> None:
    taught(book, "Whole", contexts=["team"])
    taught(book, "Part", contexts=["team.shared-branch"])
    taught(book, "Other", contexts=["teamwork"])
    assert titles(book.list(contexts="team.shared-branch")) == {"Whole", "Part"}
    assert titles(book.list(contexts="team")) == {"Whole", "Part"}
    assert {each.name: each.parents for each in book.contexts().data}["team.shared-branch"] == ("team",)


@pytest.mark.accepts("L8.6")
def test_whoever_is_in_a_part_is_in_the_whole_by_what_was_said(book: LessonBook) -> None:
    taught(book, "Whole", contexts=["team"])
    taught(book, "Part", contexts=["shared-branch"])
    taught(book, "Sibling", contexts=["team.meeting"])
    assert titles(book.list(contexts="shared-branch")) == {"Part"}
    assert book.relate_contexts("shared-branch", "team").data
    assert titles(book.list(contexts="shared-branch")) == {"Whole", "Part"}
    assert titles(book.list(contexts="team")) == {"Whole", "Part", "Sibling"}


def test_what_does_not_apply_in_the_whole_does_not_apply_in_the_part(book: LessonBook) -> None:
    taught(book, "No", contexts=["shared-branch"], anti_contexts=["company"])
    taught(book, "Yes", contexts=["shared-branch"])
    book.relate_contexts("shared-branch", "team")
    book.relate_contexts("team", "company")
    assert titles(book.list(contexts="shared-branch")) == {"Yes"}


def test_contexts_that_are_related_no_longer_part_ways(book: LessonBook) -> None:
    taught(book, "Whole", contexts=["team"])
    book.relate_contexts("shared-branch", "team")
    assert book.unrelate_contexts("shared-branch", "team").data
    assert titles(book.list(contexts="shared-branch")) == set()


def test_a_circle_of_contexts_is_refused(book: LessonBook) -> None:
    book.relate_contexts("branch", "team")
    with pytest.raises(InvalidInput, match="'branch' is already under 'team'"):
        book.relate_contexts("team", "branch")


@pytest.mark.accepts("L8.6")
def test_contexts_are_suggested_from_lessons_on_the_same_matter(book: LessonBook) -> None:
    book.learn("Rebase before pushing", "Rebase a branch on main before pushing it.", contexts=["shared-branch"])
    book.learn("Water the plants", "Basil wants water every morning.", contexts=["kitchen"])
    found = book.suggest_contexts("Pushing a branch", "Rebase it on main before pushing.")
    assert found.data[0] == "shared-branch"


def test_contexts_are_suggested_from_lessons_with_the_same_tags(book: LessonBook) -> None:
    book.alias_tag("gh", "github")
    book.learn("Water the plants", "Basil wants water.", tags=["github.actions"], contexts=["ci"])
    assert book.suggest_contexts("", tags=["gh"]).data == ("ci",)
    assert book.suggest_contexts("", tags=["garden"]).data == ()


def test_a_lesson_that_names_no_context_is_told_those_of_its_like(book: LessonBook) -> None:
    book.learn("Rebase before pushing", "Rebase a branch on main before pushing.", tags=["git"], contexts=["team"])
    answer = book.learn("Rebase often", "Rebase a branch on main every day.", tags=["git"])
    assert answer.suggestions["contexts"] == ("team",)
