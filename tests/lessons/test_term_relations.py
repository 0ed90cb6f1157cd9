"""Tags are related and merged."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.errors import InvalidInput, UnknownName
from nacre.lessons import LessonBook
from nacre.lessons.vocabulary import Vocabulary
from nacre.model.memory import LESSON
from tests.lessons.factories import BACKENDS, all_records, learn, open_book, titles


def test_tags_are_listed_with_how_many_lessons_have_them_the_most_used_first(book: LessonBook) -> None:
    learn(book, "One", "api", "jira")
    learn(book, "Two", "api")
    book.store.archive(learn(book, "Three", "api"))
    assert [(tag.name, tag.count) for tag in book.tags().data] == [("api", 3), ("jira", 1)]


def test_without_counts_they_come_by_name(book: LessonBook) -> None:
    learn(book, "One", "zebra", "ant")
    learn(book, "Two", "zebra")
    assert [(tag.name, tag.count) for tag in book.tags(counts=False).data] == [("ant", 0), ("zebra", 0)]


def test_an_alias_is_resolved_when_it_is_written_and_when_it_is_asked_for(book: LessonBook) -> None:
    assert book.alias_tag("JS", "JavaScript").data
    id = learn(book, "One", "js")
    assert book.get(id).data.tags == ("javascript",)  # type: ignore[union-attr]
    assert titles(book.list(tags="js")) == {"One"}
    (tag,) = book.tags().data
    assert (tag.name, tag.aliases) == ("javascript", ("js",))


def test_an_alias_of_an_alias_resolves_to_what_that_resolves_to(book: LessonBook) -> None:
    book.alias_tag("projects", "proj")
    book.alias_tag("proj", "project")
    assert book.store.vocabulary("tag") == {"projects": {"alias_of": "project"}, "proj": {"alias_of": "project"}}


def test_an_alias_reports_how_many_lessons_still_have_it(book: LessonBook) -> None:
    learn(book, "One", "js")
    assert book.alias_tag("js", "javascript").warnings == (
        "1 lessons still have 'js'; merge it into 'javascript' to change them.",
    )


def test_a_cycle_of_aliases_is_refused_in_one_sentence(book: LessonBook) -> None:
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


def test_synonyms_are_found_with_each_other_and_listed_for_both(book: LessonBook) -> None:
    learn(book, "One", "k8s")
    learn(book, "Two", "kubernetes")
    assert book.relate_tags("k8s", "kubernetes", "synonym").data
    assert not book.relate_tags("kubernetes", "k8s", "synonym").data
    assert titles(book.list(tags="k8s")) == titles(book.list(tags="kubernetes")) == {"One", "Two"}
    assert [tag.synonyms for tag in book.tags().data] == [("kubernetes",), ("k8s",)]


@pytest.mark.accepts("L8.4")
def test_a_child_is_found_with_its_parent_and_not_the_other_way_round(book: LessonBook) -> None:
    learn(book, "One", "jira")
    learn(book, "Two", "trackers")
    book.relate_tags("jira", "trackers", "child_of")
    assert titles(book.list(tags="trackers")) == {"One", "Two"}
    assert titles(book.list(tags="jira")) == {"One"}


def test_what_is_under_a_tag_by_its_dots_is_found_with_it(book: LessonBook) -> None:
    learn(book, "One", "api.jira")
    learn(book, "Two", "apiary")
    assert titles(book.list(tags="api")) == {"One"}
    assert book.tags().data[0].parents == ("api",)


def test_a_cycle_of_parents_is_refused_in_one_sentence(book: LessonBook) -> None:
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
    before = all_records(book.store)
    if relation == "alias":
        book.alias_tag("a1", "b1")
    elif relation == "apart":
        book.keep_apart("tag", "a1", "b1")
    else:
        book.relate_tags("a1", "b1", relation)
    assert book.unrelate_tags("b1", "a1").data
    assert all_records(book.store) == before
    assert not book.unrelate_tags("b1", "a1").data


def test_a_tag_that_was_made_known_is_written_without_a_warning(book: LessonBook) -> None:
    assert book.know_tags("Jira", "api").data == ("jira", "api")
    assert book.know_tags("jira").data == ()
    assert book.learn("One", "It is so.", tags=["jira"]).warnings == ()
    assert book.learn("Two", "It is so.", tags=["jra"]).warnings == ("tag 'jra' not recognized, did you mean 'jira'?",)


@BACKENDS
def test_what_is_done_to_tags_outlives_the_book_and_can_be_undone(where: str, tmp_path: Path) -> None:
    with open_book(where, tmp_path) as book:
        before = all_records(book.store)
        book.relate_tags("a1", "b1", "synonym")
        if where == "file":
            with open_book(where, tmp_path) as again:
                assert [tag.synonyms for tag in again.tags().data] == [("b1",), ("a1",)]
        book.store.undo()
        assert all_records(book.store) == before


def tags_of(book: LessonBook, id: str) -> tuple[str, ...]:
    memory = book.store.get(id)
    assert memory is not None
    return memory.tags


def test_merging_changes_lessons_of_every_status_in_one_operation_that_can_be_undone(book: LessonBook) -> None:
    live, archived, trashed, old, new = (learn(book, name, "js", "web") for name in "abcde")
    book.archive(archived)
    book.delete(trashed)
    book.link(new, old, "supersedes")
    before = all_records(book.store)
    assert book.merge_tags("js", "javascript").data == 5
    assert {tags_of(book, id) for id in (live, archived, trashed, old, new)} == {("javascript", "web")}
    assert book.store.vocabulary("tag") == {"js": {"alias_of": "javascript"}}
    book.store.undo()
    assert all_records(book.store) == before


def test_a_lesson_with_both_has_one_in_the_place_of_the_first(book: LessonBook) -> None:
    id = learn(book, "One", "js", "web", "javascript")
    book.merge_tags("js", "javascript")
    assert tags_of(book, id) == ("javascript", "web")


def test_what_lies_under_the_old_tag_comes_along(book: LessonBook) -> None:
    one, two = learn(book, "One", "apis.jira"), learn(book, "Two", "apis.jira.cloud", "apisix")
    book.merge_tags("apis", "api")
    assert tags_of(book, one) == ("api.jira",)
    assert tags_of(book, two) == ("api.jira.cloud", "apisix")
    assert titles(book.list(tags="apis.jira")) == {"One", "Two"}


def test_a_child_may_be_merged_into_its_parent_but_not_the_other_way_round(book: LessonBook) -> None:
    id = learn(book, "One", "api.jira.jira", "api.jira")
    with pytest.raises(InvalidInput, match=r"'api.jira' is under 'api'; merge 'api.jira' into 'api' instead"):
        book.merge_tags("api", "api.jira")
    book.merge_tags("api.jira", "api")
    assert tags_of(book, id) == ("api",)


def test_the_new_tag_takes_over_what_was_said_of_the_old_one(book: LessonBook) -> None:
    learn(book, "One", "js")
    book.alias_tag("ecmascript", "js")
    book.relate_tags("js", "web", "child_of")
    book.relate_tags("node", "js", "child_of")
    book.relate_tags("js", "javascript", "synonym")
    book.keep_apart("tag", "js", "java")
    book.merge_tags("js", "javascript")
    assert book.store.vocabulary("tag") == {
        "ecmascript": {"alias_of": "javascript"},
        "js": {"alias_of": "javascript"},
        "node": {"parents": ["javascript"]},
        "javascript": {"parents": ["web"], "distinct_from": ["java"]},
        "java": {"distinct_from": ["javascript"]},
    }


def test_an_alias_that_lessons_still_have_can_be_merged_into_what_it_resolves_to(book: LessonBook) -> None:
    id = learn(book, "One", "js")
    book.alias_tag("js", "javascript")
    assert book.merge_tags("js", "javascript").data == 1
    assert tags_of(book, id) == ("javascript",)


def test_merging_a_tag_into_itself_is_refused(book: LessonBook) -> None:
    learn(book, "One", "api")
    with pytest.raises(InvalidInput, match="; give two that differ"):
        book.merge_tags("api", "API")


def test_merging_into_ones_own_alias_is_refused_in_one_sentence(book: LessonBook) -> None:
    learn(book, "One", "js")
    book.alias_tag("javascript", "js")
    with pytest.raises(InvalidInput, match=r"^'javascript' is already an alias of 'js'; swap the two"):
        book.merge_tags("js", "javascript")


def test_merging_an_unknown_tag_is_refused_with_a_suggestion(book: LessonBook) -> None:
    learn(book, "One", "javascript")
    with pytest.raises(InvalidInput, match="no tag 'javascritp'; did you mean 'javascript'"):
        book.merge_tags("javascritp", "js")


@pytest.mark.parametrize(("old", "into"), [("agent:ada", "ada"), ("ada", "agent:ada")])
def test_who_wrote_a_lesson_cannot_be_merged_away_or_made_up(book: LessonBook, old: str, into: str) -> None:
    with LessonBook(store=book.store, agent="ada") as hers:
        id = learn(hers, "One", "ada")
        with pytest.raises(InvalidInput, match="marks the author of a lesson"):
            book.merge_tags(old, into)
    assert tags_of(book, id) == ("ada", "agent:ada")


def test_merging_contexts_changes_both_where_a_lesson_applies_and_where_it_does_not(book: LessonBook) -> None:
    learn(book, "One", contexts=["squad.shared"])
    learn(book, "Two", anti_contexts=["squad"])
    assert book.merge_contexts("squad", "team").data == 2
    assert [(c.name, c.count, c.anti_count) for c in book.contexts().data] == [("team", 0, 1), ("team.shared", 1, 0)]
    assert titles(book.list(contexts="squad.shared")) == titles(book.list(contexts="team")) == {"One"}


def test_a_lesson_that_is_torn_between_two_contexts_is_named(book: LessonBook) -> None:
    id = learn(book, "One", contexts=["squad"], anti_contexts=["team"])
    (warning,) = book.merge_contexts("squad", "team").warnings
    assert warning == f"Lessons that now both apply in 'team' and exclude it: 1 ({id}); decide for each."


def test_merging_sources_moves_the_lessons_and_what_lies_under(book: LessonBook) -> None:
    learn(book, "One", source="tried")
    learn(book, "Two", source="tried.unit")
    assert book.merge_sources("tried", "tested").data == 2
    assert {(s.name, s.count) for s in book.sources().data if s.count} == {("tested", 1), ("tested.unit", 1)}
    assert "tried" not in {s.name for s in book.sources(review=True).data}
    assert book.learn("Three", "So.", source="tried").data.source == "tested"


def test_a_source_that_every_book_knows_can_be_merged_away_and_come_back(book: LessonBook) -> None:
    learn(book, "One", source="hearsay")
    before = all_records(book.store)
    book.merge_sources("hearsay", "observed")
    assert "hearsay" not in {source.name for source in book.sources().data}
    assert next(s for s in book.sources().data if s.name == "observed").description
    book.store.undo()
    assert all_records(book.store) == before
    assert "hearsay" in {source.name for source in book.sources().data}


@pytest.mark.parametrize(("where", "many"), [("file", 300), pytest.param(":memory:", 10_000, marks=pytest.mark.slow)])
def test_however_many_lessons_are_merged_it_is_one_operation(where: str, many: int, tmp_path: Path) -> None:
    with open_book(where, tmp_path) as book:
        store = book.store
        store.register_type(LESSON)
        store.remember_many({"text": f"Lesson {n}.", "type": LESSON, "tags": ["js"]} for n in range(many))
        assert book.merge_tags("js", "javascript").data == many
        assert store.tally("tags") == {"javascript": many}
        assert len(store.undo()) == many + 1
        assert store.tally("tags") == {"js": many}


NAMES = st.sampled_from(["a1", "b1", "c1", "a1.x", "b1.x", "a1.x.y", "c1.x"])
SAID = st.tuples(st.sampled_from(["alias", "synonym", "child_of", "apart"]), NAMES, NAMES)
STATUS = st.sampled_from(["live", "archived", "trashed"])


@pytest.mark.slow
@given(
    lessons=st.lists(st.tuples(st.lists(NAMES, max_size=3), st.lists(NAMES, max_size=2), STATUS), max_size=6),
    said=st.lists(SAID, max_size=5),
    old=NAMES,
    into=NAMES,
    kind=st.sampled_from(["tags", "contexts", "sources"]),
)
def test_a_merge_that_is_undone_leaves_everything_as_it_was(
    lessons: list[tuple[list[str], list[str], str]], said: list[tuple[str, str, str]], old: str, into: str, kind: str
) -> None:
    with open_book(":memory:", Path()) as book:
        for tags, contexts, status in lessons:
            id = learn(book, "One", *tags, contexts=contexts, anti_contexts=tags, source=next(iter(tags), ""))
            if status != "live":
                (book.archive if status == "archived" else book.delete)(id)
        for relation, one, other in said:
            try:
                relate(book, relation, one, other)
            except InvalidInput:
                continue
        before = all_records(book.store)
        try:
            {"tags": book.merge_tags, "contexts": book.merge_contexts, "sources": book.merge_sources}[kind](old, into)
        except InvalidInput:
            assert all_records(book.store) == before
            return
        words = Vocabulary(book.store, kind[:-1])
        assert words.resolve(old) == words.resolve(into) != old
        assert old not in words.counts()
        for name in words.terms:  # no alias ends at an alias
            assert not (there := words.terms.get(words.resolve(name))) or not there.alias_of
        if all_records(book.store) != before:  # an alias that no lesson has is merged already, and that is no act
            book.store.undo()
        assert all_records(book.store) == before


def relate(book: LessonBook, relation: str, one: str, other: str) -> None:
    if relation == "alias":
        book.alias_tag(one, other)
    elif relation == "apart":
        book.keep_apart("tag", one, other)
    else:
        book.relate_tags(one, other, relation)
        book.relate_contexts(one, other, relation)
