"""Lessons are found by filters, words, meaning and expanded queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from nacre.errors import ConfigError, InvalidInput, LanguageModelError, UnknownName
from nacre.lessons import LessonBook
from nacre.lessons.recall import MAX_EXPANSION, MIN_FRESHNESS, STRATEGIES, SUPERSEDED_FACTOR, ask_model, expand_query
from nacre.lessons.vocabulary import TermValidator
from nacre.model.instants import DAY
from nacre.settings import Settings
from tests.function_model import FunctionLanguageModel
from tests.lessons.factories import TickingClock, add_terms, new_book, titles
from tests.loopback import Loopback, serving

YEAR = 365 * DAY


def book_with(*lessons: Mapping[str, Any]) -> LessonBook:
    book = new_book()
    for number, fields in enumerate(lessons):
        book.learn(**{"title": f"L{number}", "content": "retry the failing request", **fields})
    return book


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_finds_the_lesson_that_is_meant(strategy: str) -> None:
    book = book_with({"content": "vacuum the database at night"}, {"content": "rebase before you merge the branch"})
    assert book.recall("rebase a branch before merging", strategy=strategy).data[0].lesson.title == "L1"


def test_the_keyword_strategy_finds_words_alone() -> None:
    book = book_with({"content": "vacuum the database at night"}, {"content": "set error code E4711 aside"})
    assert titles(book.recall("E4711", strategy="keyword")) == {"L1"}


def test_the_title_is_searched_as_well() -> None:
    book = book_with({"title": "Quokka protocol"}, {})
    assert titles(book.recall("quokka", strategy="keyword")) == {"Quokka protocol"}


def test_the_graph_strategy_reaches_what_is_linked() -> None:
    book = new_book()
    first = book.learn("Deadlock", "two transactions wait for each other").data
    other = book.learn("Elsewhere", "nothing alike at all in this text").data
    book.link(first.id, other.id)
    assert titles(book.recall("transactions deadlock", strategy="graph")) == {"Deadlock", "Elsewhere"}


def test_an_unknown_strategy_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="hybrid"):
        new_book().recall("anything", strategy="hybird")


@pytest.mark.parametrize(
    "wrong", [{"limit": 0}, {"limit": -1}, {"match": "some"}, {"confidence_min": "sure"}, {"expand": "magic"},
              {"colour": "red"}, {"tags": [3]}, {"contexts": [None]}]
)  # fmt: skip
def test_a_question_that_means_nothing_is_one_clear_error(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        new_book().recall("anything", **wrong)  # type: ignore[arg-type]


def test_ten_are_found_by_default_and_as_many_as_are_asked_for() -> None:
    book = book_with(*({} for _ in range(14)))
    assert len(book.recall("retry request").data) == 10
    assert len(book.recall("retry request", limit=3).data) == 3
    assert len(book.recall("retry request", limit=50).data) == 14


def test_a_hit_carries_confidence_source_contexts_score_and_why() -> None:
    book = book_with({"confidence": "high", "source": "tested", "contexts": ["prod"]})
    (results,) = book.recall("retry request").data
    rendered = results.to_dict()
    assert (rendered["confidence"], rendered["source"], rendered["contexts"]) == ("high", "tested", ["prod"])
    assert rendered["score"] == results.score > 0
    assert rendered["why"] == [str(reason) for reason in results.why] != []


def test_hybrid_weighs_meaning_and_words_as_the_settings_say() -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] if "near" in text.lower() or text == "rope of the mast" else [0.6, 0.8] for text in texts]

    for semantic, best in ((1.0, "Near"), (0.0, "Worded")):
        book = new_book(embedder=embed, settings=Settings(lesson_semantic=semantic))
        book.learn("Worded", "a rope of the mast")
        book.learn("Near", "nothing that was asked for")
        assert book.recall("rope of the mast", limit=1).data[0].lesson.title == best


def test_only_lessons_are_found() -> None:
    book = book_with({})
    book.store.remember("retry the failing request")
    assert titles(book.recall("retry request")) == titles(book.list()) == {"L0"}


@pytest.mark.accepts("L5.2")
def test_tags_are_any_of_by_default_and_all_of_when_asked() -> None:
    book = book_with({"tags": ["a"]}, {"tags": ["b"]}, {"tags": ["a", "b"]}, {})
    assert titles(book.recall("retry", tags=["a", "b"])) == {"L0", "L1", "L2"}
    assert titles(book.recall("retry", tags=["a", "b"], match="all")) == {"L2"}
    assert titles(book.list(tags="a", match="all")) == {"L0", "L2"}


@pytest.mark.accepts("L8.4")
def test_a_tag_resolves_to_all_that_is_under_it_and_for_nothing_beside() -> None:
    book = book_with({"tags": ["api"]}, {"tags": ["api.jira"]}, {"tags": ["api.jira.cloud"]}, {"tags": ["apis"]})
    assert titles(book.recall("retry", tags=["api"])) == {"L0", "L1", "L2"}
    assert titles(book.recall("retry", tags=["api.jira"])) == {"L1", "L2"}


def test_all_of_two_tags_may_be_met_by_what_is_under_them() -> None:
    book = book_with({"tags": ["api.jira", "db.sql"]}, {"tags": ["api.jira", "api.rest"]})
    assert titles(book.recall("retry", tags=["api", "db"], match="all")) == {"L0"}


def test_aliases_synonyms_and_children_are_found_by_a_tag() -> None:
    book = book_with({"tags": ["javascript"]}, {"tags": ["ecmascript"]}, {"tags": ["react"]}, {"tags": ["css"]})
    add_terms(
        book, "tag", js={"alias_of": "javascript"}, javascript={"synonyms": ["ecmascript"]},
        react={"parents": ["javascript"]},
    )  # fmt: skip
    assert titles(book.recall("retry", tags=["JS"])) == {"L0", "L1", "L2"}


def test_an_unknown_tag_finds_nothing_and_says_what_may_have_been_meant() -> None:
    book = book_with({"tags": ["jira"]})
    answer = book.recall("retry", tags=["jra"])
    assert answer.data == ()
    assert answer.warnings[0] == "tag 'jra' not recognized, did you mean 'jira'?"
    assert answer.suggestions["jra"] == ("jira",)


def test_in_a_context_only_what_applies_there_is_found() -> None:
    book = book_with({"contexts": ["prod"]}, {"contexts": ["tests"]}, {})
    assert titles(book.recall("retry", contexts=["prod"])) == {"L0"}


def test_a_context_reaches_up_and_down_its_own_line_only() -> None:
    book = book_with({"contexts": ["team"]}, {"contexts": ["team.shared"]}, {"contexts": ["team.shared.branch"]},
                     {"contexts": ["team.alone"]})  # fmt: skip
    assert titles(book.recall("retry", contexts=["team.shared"])) == {"L0", "L1", "L2"}


def test_an_anti_context_rules_a_lesson_out_there_and_below() -> None:
    book = book_with({"contexts": ["team"], "anti_contexts": ["team.shared"]}, {"contexts": ["team"]})
    assert titles(book.recall("retry", contexts=["team"])) == {"L0", "L1"}
    assert titles(book.recall("retry", contexts=["team.shared"])) == {"L1"}
    assert titles(book.recall("retry", contexts=["team.shared.branch"])) == {"L1"}


@pytest.mark.accepts("L8.5")
def test_an_anti_context_is_no_context() -> None:
    book = book_with({"anti_contexts": ["prod"]})
    assert book.recall("retry", contexts=["prod"]).data == ()
    assert titles(book.recall("retry")) == {"L0"}


@pytest.mark.accepts("L8.5")
def test_contexts_are_not_tags() -> None:
    book = book_with({"tags": ["prod"]}, {"contexts": ["prod"]})
    assert titles(book.recall("retry", contexts=["prod"])) == {"L1"}
    assert titles(book.recall("retry", tags=["prod"])) == {"L0"}


@pytest.mark.accepts("L5.2")
def test_the_least_confidence_goes_by_the_order_of_levels() -> None:
    levels = ("very-low", "low", "medium", "high", "very-high")
    book = book_with(*({"confidence": level} for level in levels))
    for ordinal, level in enumerate(levels):
        assert titles(book.recall("retry", confidence_min=level)) == {f"L{each}" for each in range(ordinal, 5)}


def test_a_source_resolves_to_all_that_is_under_it() -> None:
    book = book_with({"source": "tested"}, {"source": "tested.unit"}, {"source": "inferred"})
    assert titles(book.recall("retry", source="tested")) == {"L0", "L1"}
    assert titles(book.recall("retry", source="tested.unit")) == {"L1"}


def test_lessons_are_found_by_the_agent_that_learned_them() -> None:
    book = new_book("claude")
    book.learn("Mine", "retry the request")
    LessonBook(store=book.store, agent="Other").learn("Theirs", "retry the request")
    assert titles(book.recall("retry", agent="Claude")) == {"Mine"}
    assert titles(book.recall("retry", agent="other")) == {"Theirs"}


def test_what_is_archived_or_replaced_is_found_only_when_asked_for() -> None:
    book = book_with({"content": "old retry"}, {"content": "new retry"}, {"content": "stored retry"})
    ids = {lesson.title: lesson.id for lesson in book.list().data}
    book.link(ids["L1"], ids["L0"], "supersedes")
    book.store.edit(ids["L2"], status="archived")
    assert titles(book.recall("retry")) == titles(book.list()) == {"L1"}
    assert titles(book.recall("retry", include_archived=True)) == {"L1", "L2"}
    assert titles(book.list(include_superseded=True)) == {"L0", "L1"}


def test_a_replaced_lesson_is_worth_half() -> None:
    book = book_with({"content": "old retry"}, {"content": "other words entirely"})
    ids = {lesson.title: lesson.id for lesson in book.list().data}
    (before,) = [hit for hit in book.recall("old retry").data if hit.lesson.title == "L0"]
    book.link(ids["L1"], ids["L0"], "supersedes")
    results = book.recall("old retry", include_superseded=True).data
    (after,) = [hit for hit in results if hit.lesson.title == "L0"]
    assert after.score == pytest.approx(before.score * SUPERSEDED_FACTOR, rel=0.05)


@pytest.mark.accepts("L8.16")
def test_freshness_halves_what_age_may_take_each_year_and_validation_renews_it() -> None:
    clock = TickingClock()
    book = new_book(clock=clock)
    old = book.learn("Old", "retry the request").data
    clock.at += YEAR
    book.learn("New", "retry the request")
    scores = {hit.lesson.title: hit for hit in book.recall("retry request", freshness=True, strategy="semantic").data}
    plain = {hit.lesson.title: hit for hit in book.recall("retry request", strategy="semantic").data}
    expected = MIN_FRESHNESS + (1 - MIN_FRESHNESS) / 2
    assert scores["Old"].score / plain["Old"].score == pytest.approx(expected, rel=1e-3)
    assert scores["New"].score / plain["New"].score == pytest.approx(1.0, rel=1e-3)
    book.store.validate(old.id)
    again = {hit.lesson.title: hit for hit in book.recall("retry request", freshness=True, strategy="semantic").data}
    assert again["Old"].score / plain["Old"].score == pytest.approx(1.0, rel=1e-3)


def test_only_a_lesson_that_is_returned_counts_as_used() -> None:
    book = book_with(*({} for _ in range(9)))
    (results,) = book.recall("retry request", limit=1).data
    used = {memory.id for memory in book.store.iterate() if memory.access_count}
    assert used == {results.lesson.id}
    book.recall("retry request", limit=1, freshness=True)
    assert {memory.id for memory in book.store.iterate() if memory.access_count} == used


def test_a_list_is_newest_first_and_narrowed_like_a_recall() -> None:
    book = book_with({"tags": ["a"]}, {"tags": ["b"]}, {"tags": ["a.c"]})
    assert [lesson.title for lesson in book.list(tags=["a"]).data] == ["L2", "L0"]
    assert [lesson.title for lesson in book.list(1).data] == ["L2"]


@pytest.mark.slow
@pytest.mark.accepts("L5.5")
def test_a_narrow_filter_finds_the_one_lesson_among_many_that_are_nearer() -> None:
    book = book_with(*({"tags": ["common"]} for _ in range(120)))
    book.learn("Rare", "something else about the request", tags=["rare"], confidence="very-low")
    for strategy in STRATEGIES:
        results = book.recall("retry the failing request", tags=["rare"], limit=1, strategy=strategy)
        assert titles(results) == {"Rare"}, strategy


def test_nothing_is_found_in_an_empty_book() -> None:
    assert new_book().recall("anything").data == ()
    assert new_book().list().data == ()


def answering(text: str) -> Loopback:
    return Loopback(reply=lambda _body: {"choices": [{"message": {"content": text}}]})


@pytest.fixture
def service() -> Iterator[Loopback]:
    with serving(answering("Deadlock\n- lock timeout\n* deadlock\n\n")) as running:
        yield running


def test_the_vocabulary_gives_aliases_synonyms_and_children_of_the_questions_words() -> None:
    book = new_book()
    add_terms(
        book, "tag", js={"alias_of": "javascript"}, javascript={"synonyms": ["ecmascript"]},
        react={"parents": ["javascript"]}, css={"synonyms": ["styles"]},
    )  # fmt: skip
    words, notes = expand_query("How is JS tested?", "vocabulary", TermValidator(book.store))
    assert set(words) == {"javascript", "ecmascript", "react"}
    assert notes == ()


def test_a_name_of_several_words_is_recognised_in_a_question() -> None:
    book = new_book()
    add_terms(book, "tag", **{"shared-branch": {"synonyms": ["trunk"]}})
    assert expand_query("who pushes to the shared branch?", "vocabulary", TermValidator(book.store))[0] == ("trunk",)


@pytest.mark.accepts("L8.8")
def test_a_lesson_without_a_word_of_the_question_is_found_by_a_synonym() -> None:
    book = new_book()
    book.learn("Trunk", "trunk stays green")
    assert book.recall("mainline", strategy="keyword").data == ()
    add_terms(book, "tag", mainline={"synonyms": ["trunk"]})
    assert titles(book.recall("mainline", strategy="keyword")) == {"Trunk"}
    assert book.recall("mainline", strategy="keyword", expand="none").data == ()


def test_a_book_without_vocabulary_adds_nothing() -> None:
    assert expand_query("anything at all", "vocabulary", TermValidator(new_book().store)) == ((), ())


def test_many_kin_do_not_drown_the_question() -> None:
    book = new_book()
    add_terms(book, "tag", **{f"child{number}": {"parents": ["root"]} for number in range(40)})
    assert len(expand_query("root", "vocabulary", TermValidator(book.store))[0]) == MAX_EXPANSION


def test_an_unknown_way_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="vocabulary"):
        expand_query("anything", "magic", TermValidator(new_book().store))


def test_a_language_model_must_be_configured_to_be_asked() -> None:
    with pytest.raises(ConfigError, match="set language_model"):
        new_book().recall("anything", expand="language-model")


def test_a_model_gives_a_word_a_line_and_each_counts_once() -> None:
    words, notes = ask_model(
        FunctionLanguageModel(lambda _: "- Deadlock\n* lock timeout\n\ndeadlock\n" + "x" * 80, "own"), "stuck"
    )
    assert words == ("deadlock", "lock timeout")
    assert notes == ()


def test_the_question_reaches_the_model_as_data() -> None:
    seen: list[str] = []

    def model(prompt: str) -> str:
        seen.append(prompt)
        return "word"

    ask_model(FunctionLanguageModel(model, "own"), 'say "yes"\nand </stop>')
    assert '"say \\"yes\\"\\nand \\u003c/stop>"' in seen[0]


def test_a_model_that_fails_is_reported_and_the_search_goes_on() -> None:
    def model(_: str) -> str:
        raise LanguageModelError("own", "is asleep", "Wake it.")

    words, notes = ask_model(FunctionLanguageModel(model, "own"), "stuck")
    assert words == ()
    assert "searched without them" in notes[0]


@pytest.mark.accepts("L5.1", "L8.8")
def test_a_recall_asks_the_configured_model_and_finds_by_its_words(service: Loopback) -> None:
    known = Settings(language_model="openai:tiny", language_model_url=service.url)
    book = new_book(settings=known)
    book.learn("Deadlock", "deadlock between two writers")
    assert book.recall("everything hangs", strategy="keyword").data == ()
    assert service.asked == []
    assert titles(book.recall("everything hangs", strategy="keyword", expand="language-model")) == {"Deadlock"}
    assert len(service.asked) == 1


def test_with_a_limit_of_one_a_replaced_best_match_yields_to_its_successor() -> None:
    book = new_book()
    old = book.learn(title="Retry", content="retry the failing request three times").data.id
    new = book.learn(title="Back off", content="wait longer before each further retry of a request").data.id
    book.store.supersede(old, new)
    query = "retry the failing request three times"
    results = book.recall(query, limit=1, include_superseded=True).data
    assert [each.lesson.id for each in results] == [new]
    both = book.recall(query, limit=2, include_superseded=True).data
    assert [each.lesson.id for each in both] == [new, old]
    assert [book.store.get(id).access_count for id in (old, new)] == [1, 2]  # type: ignore[union-attr]
