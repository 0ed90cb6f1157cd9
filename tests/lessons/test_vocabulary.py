"""Sources and contexts: built-in, new, inherited and related ones."""

from __future__ import annotations

import pytest

from nacre.errors import InvalidInput, UnknownName
from nacre.lessons import LessonBook
from tests.lessons.factories import all_records, learn, titles


def test_every_book_knows_five_sources_from_the_first(book: LessonBook) -> None:
    results = {source.name: source.typical_confidence for source in book.sources().data}
    assert results == {
        "inferred": "low", "tested": "high", "documented": "high", "observed": "medium", "hearsay": "low",
    }  # fmt: skip
    assert all(source.description and not source.review for source in book.sources().data)


def test_a_source_that_is_unknown_is_created_and_waits_for_review(book: LessonBook) -> None:
    answer = book.learn("One", "It is so.", source="rumour")
    assert answer.warnings == ("source 'rumour' not recognized; it is new here. It was created, and waits for review.",)
    (results,) = book.sources(review=True).data
    assert (results.name, results.count, results.review) == ("rumour", 1, True)


def test_a_source_that_came_another_way_waits_for_review_too(book: LessonBook) -> None:
    learn(book, "One")
    book.store.remember("It is so.", type="lesson", source="rumour")
    assert [source.name for source in book.sources(review=True).data] == ["rumour"]
    assert book.learn("Two", "It is so.", source="rumour").warnings[0].startswith("source 'rumour' is used by lessons")


def test_a_source_that_is_confirmed_waits_no_longer(book: LessonBook) -> None:
    learn(book, "One", source="rumour")
    assert book.confirm_source("rumour").data.review is False
    assert book.sources(review=True).data == ()
    assert book.learn("Two", "It is so.", source="rumour").warnings == ()


def test_confirming_an_unknown_source_is_refused_with_a_suggestion(book: LessonBook) -> None:
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
    learn(book, "One", source="hearsay")
    before = all_records(book.store)
    assert book.deprecate_source("hearsay").data.deprecated
    assert book.deprecate_source("hearsay").data.description
    assert all_records(book.store)[0] == before[0]
    for name in ("hearsay", "hearsay.pub"):
        assert book.learn("Two", "So.", source=name).warnings == (f"source {name!r} is deprecated; choose another",)
    assert not book.deprecate_source("hearsay", deprecated=False).data.deprecated
    assert book.learn("Two", "So.", source="hearsay").warnings == ()


def test_what_a_known_source_bears_can_be_changed_and_undone(book: LessonBook) -> None:
    learn(book, "First")
    book.add_source("inferred", "concluded with care", "high")
    assert book.learn("One", "It is so.", source="inferred").data.confidence == "high"
    book.store.undo(last=2)
    assert book.learn("One", "It is so.", source="inferred").data.confidence == "low"


def test_contexts_are_listed_with_how_many_lessons_apply_there_and_how_many_do_not(book: LessonBook) -> None:
    learn(book, "One", contexts=["team", "solo"])
    learn(book, "Two", contexts=["team"], anti_contexts=["ci"])
    results = [(each.name, each.count, each.anti_count) for each in book.contexts().data]
    assert results == [("team", 2, 0), ("ci", 0, 1), ("solo", 1, 0)]
    assert [each.name for each in book.contexts(counts=False).data] == ["ci", "solo", "team"]


@pytest.mark.accepts("L8.5")
def test_contexts_are_free_and_apart_from_tags(book: LessonBook) -> None:
    answer = book.learn("One", "It is so.", contexts=["Friday Evenings"])
    assert answer.warnings == ()
    assert answer.data.contexts == ("friday-evenings",)
    assert book.tags().data == ()


@pytest.mark.accepts("L8.6")
def test_a_child_context_is_part_of_its_parent_by_dots(book: LessonBook) -> None:
    learn(book, "Whole", contexts=["team"])
    learn(book, "Part", contexts=["team.shared-branch"])
    learn(book, "Other", contexts=["teamwork"])
    assert titles(book.list(contexts="team.shared-branch")) == {"Whole", "Part"}
    assert titles(book.list(contexts="team")) == {"Whole", "Part"}
    assert {each.name: each.parents for each in book.contexts().data}["team.shared-branch"] == ("team",)


@pytest.mark.accepts("L8.6")
def test_a_child_context_is_part_of_its_parent_by_what_was_said(book: LessonBook) -> None:
    learn(book, "Whole", contexts=["team"])
    learn(book, "Part", contexts=["shared-branch"])
    learn(book, "Sibling", contexts=["team.meeting"])
    assert titles(book.list(contexts="shared-branch")) == {"Part"}
    assert book.relate_contexts("shared-branch", "team").data
    assert titles(book.list(contexts="shared-branch")) == {"Whole", "Part"}
    assert titles(book.list(contexts="team")) == {"Whole", "Part", "Sibling"}


def test_what_does_not_apply_in_the_whole_does_not_apply_in_the_part(book: LessonBook) -> None:
    learn(book, "No", contexts=["shared-branch"], anti_contexts=["company"])
    learn(book, "Yes", contexts=["shared-branch"])
    book.relate_contexts("shared-branch", "team")
    book.relate_contexts("team", "company")
    assert titles(book.list(contexts="shared-branch")) == {"Yes"}


def test_contexts_that_are_related_no_longer_part_ways(book: LessonBook) -> None:
    learn(book, "Whole", contexts=["team"])
    book.relate_contexts("shared-branch", "team")
    assert book.unrelate_contexts("shared-branch", "team").data
    assert titles(book.list(contexts="shared-branch")) == set()


def test_a_cycle_of_contexts_is_refused(book: LessonBook) -> None:
    book.relate_contexts("branch", "team")
    with pytest.raises(InvalidInput, match="'branch' is already under 'team'"):
        book.relate_contexts("team", "branch")


@pytest.mark.accepts("L8.6")
def test_contexts_are_suggested_from_lessons_on_the_same_matter(book: LessonBook) -> None:
    book.learn("Rebase before pushing", "Rebase a branch on main before pushing it.", contexts=["shared-branch"])
    book.learn("Water the plants", "Basil wants water every morning.", contexts=["kitchen"])
    results = book.suggest_contexts("Pushing a branch", "Rebase it on main before pushing.")
    assert results.data[0] == "shared-branch"


def test_contexts_are_suggested_from_lessons_with_the_same_tags(book: LessonBook) -> None:
    book.alias_tag("gh", "github")
    book.learn("Water the plants", "Basil wants water.", tags=["github.actions"], contexts=["ci"])
    assert book.suggest_contexts("", tags=["gh"]).data == ("ci",)
    assert book.suggest_contexts("", tags=["garden"]).data == ()


def test_a_lesson_that_names_no_context_gets_suggestions_from_its_like(book: LessonBook) -> None:
    book.learn("Rebase before pushing", "Rebase a branch on main before pushing.", tags=["git"], contexts=["team"])
    answer = book.learn("Rebase often", "Rebase a branch on main every day.", tags=["git"])
    assert answer.suggestions["contexts"] == ("team",)


def test_descriptions_of_sources_are_stored_without_secrets(book: LessonBook) -> None:
    secret = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    book.add_source("wiki", f"log in with {secret}")
    assert secret not in str(book.sources()) and "[REDACTED" in str(book.sources())
