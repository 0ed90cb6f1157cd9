"""Further words for a question, from the vocabulary and from a language model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nacre.errors import ConfigError, LanguageModelError, UnknownName
from nacre.lessons.recall import MAX_EXPANSION, ask_model, expand_query
from nacre.lessons.validate_terms import TermValidator
from nacre.models.language_model import FunctionLanguageModel
from nacre.settings import Settings
from tests.lessons.booking import new_book, taught, titles
from tests.loopback import Loopback, serving


def answering(text: str) -> Loopback:
    return Loopback(reply=lambda _body: {"choices": [{"message": {"content": text}}]})


@pytest.fixture
def service() -> Iterator[Loopback]:
    with serving(answering("Deadlock\n- lock timeout\n* deadlock\n\n")) as running:
        yield running


def test_the_vocabulary_gives_aliases_synonyms_and_children_of_the_questions_words() -> None:
    book = new_book()
    taught(
        book, "tag", js={"alias_of": "javascript"}, javascript={"synonyms": ["ecmascript"]},
        react={"parents": ["javascript"]}, css={"synonyms": ["styles"]},
    )  # fmt: skip
    words, notes = expand_query("How is JS tested?", "vocabulary", TermValidator(book.store))
    assert set(words) == {"javascript", "ecmascript", "react"}
    assert notes == ()


def test_a_name_of_several_words_is_recognised_in_a_question() -> None:
    book = new_book()
    taught(book, "tag", **{"shared-branch": {"synonyms": ["trunk"]}})
    assert expand_query("who pushes to the shared branch?", "vocabulary", TermValidator(book.store))[0] == ("trunk",)


@pytest.mark.accepts("L8.8")
def test_a_lesson_without_a_word_of_the_question_is_found_by_a_synonym() -> None:
    book = new_book()
    book.learn("Trunk", "trunk stays green")
    assert book.recall("mainline", strategy="keyword").data == ()
    taught(book, "tag", mainline={"synonyms": ["trunk"]})
    assert titles(book.recall("mainline", strategy="keyword")) == {"Trunk"}
    assert book.recall("mainline", strategy="keyword", expand="none").data == ()


def test_a_book_without_vocabulary_adds_nothing() -> None:
    assert expand_query("anything at all", "vocabulary", TermValidator(new_book().store)) == ((), ())


def test_many_kin_do_not_drown_the_question() -> None:
    book = new_book()
    taught(book, "tag", **{f"child{number}": {"parents": ["root"]} for number in range(40)})
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


def test_a_model_that_fails_is_told_and_the_search_goes_on() -> None:
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


def test_the_setting_decides_where_the_question_does_not(service: Loopback) -> None:
    known = Settings(
        language_model="openai:tiny", language_model_url=service.url, lesson_expand="language-model"
    )  # fmt: skip
    book = new_book(settings=known)
    book.recall("everything hangs")
    assert len(service.asked) == 1
    book.recall("everything hangs", expand="none")
    assert len(service.asked) == 1
