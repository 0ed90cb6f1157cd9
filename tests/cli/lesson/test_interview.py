"""`nacre lesson add --interactive` on a terminal."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from nacre.cli.lesson.interview import TermCompleter
from tests.cli.terminal import conversation
from tests.command_line import CommandLine

ENTER, TAB, CTRL_C, CTRL_D, ESC_ENTER, CTRL_U = "\r", "\t", "\x03", "\x04", "\x1b\r", "\x15"
TITLE, CONTENT, TAGS, APPLIES, NOT_IN = "Title:", "Ctrl-D ends it):", "Tags:", "Applies in:", "Does not apply in:"
SOURCE, NOTES, CONFIDENCE, KEYS = "Source:", "and where:", "Confidence, ", "[?] "
Answers = tuple[tuple[str, str], ...]


@pytest.fixture
def book(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.setenv("PROMPT_TOOLKIT_NO_CPR", "1")  # this terminal does not tell where its cursor is
    nacre.ok(
        "lesson", "add", "--title", "Boards move slowly", "--content", "Wait a minute after each transition",
        "--tags", "jira,workflow", "--contexts", "team.shared-board", "--id", "boards",
    )  # fmt: skip
    return nacre


def asked(**changed: str) -> Answers:
    """Every question in its order, with a plain answer to each that is not given here."""
    plain = {
        "title": "Close what is done" + ENTER, "content": "Nobody else will" + ESC_ENTER, "tags": "workflow" + ENTER,
        "contexts": ENTER, "anti_contexts": ENTER, "source": ENTER, "confidence": ENTER,
    }  # fmt: skip
    options = {**plain, **changed}
    questions = (TITLE, CONTENT, TAGS, APPLIES, NOT_IN, SOURCE, CONFIDENCE)
    return tuple(zip(questions, (options[name] for name in plain), strict=True))


def add(*answers: tuple[str, str], options: tuple[str, ...] = ()) -> tuple[str, int]:
    return conversation("lesson", "add", "--interactive", *options, answers=answers)


def lessons(nacre: CommandLine) -> dict[str, dict[str, object]]:
    return {each["title"]: each for each in nacre.json("lesson", "list")["data"]}


@pytest.mark.accepts("L7.1", "L7.7")
@pytest.mark.slow
def test_a_lesson_is_asked_for_previewed_and_stored(book: CommandLine) -> None:
    seen, code = add(*asked(title="close what is done." + ENTER), (KEYS, "s"))
    assert code == 0, seen
    stored = lessons(book)["Close what is done"]
    assert (stored["content"], stored["tags"], stored["confidence"]) == ("Nobody else will", ["workflow"], "medium")
    assert str(stored["id"]) in seen
    preview = seen[seen.rindex(CONFIDENCE) :]
    assert "Close what is done" in preview and "Nobody else will" in preview and "workflow" in preview


@pytest.mark.accepts("L7.7")
@pytest.mark.parametrize("end", [ENTER + "." + ENTER, ESC_ENTER, CTRL_D])
def test_several_lines_end_in_three_ways(book: CommandLine, end: str) -> None:
    _, code = add(*asked(content="First." + ENTER + ENTER + "Second.5" + end), (KEYS, "s"))
    assert code == 0
    assert lessons(book)["Close what is done"]["content"] == "First.\n\nSecond.5"


@pytest.mark.accepts("L7.7")
def test_words_are_completed_from_the_book(book: CommandLine) -> None:
    answers = asked(
        tags="wor" + TAB + ", jr" + TAB + ENTER, contexts="board" + TAB + ENTER, source="doc" + TAB + ENTER,
        confidence="very-h" + TAB + ENTER,
    )  # fmt: skip
    with_notes = (*answers[:-1], (NOTES, "page 3" + ENTER), answers[-1])
    seen, code = add(*with_notes, (KEYS, "s"))
    assert code == 0, seen
    assert "Similar lessons apply in: team.shared-board" in seen
    assert "high unless you say" in seen  # what is documented usually is
    stored = lessons(book)["Close what is done"]
    assert (stored["tags"], stored["contexts"]) == (["workflow", "jira"], ["team.shared-board"])
    assert (stored["source"], stored["source_notes"], stored["confidence"]) == ("documented", "page 3", "very-high")


@pytest.mark.accepts("L7.7")
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("python,c", "python,code review"), ("python, c", "python, code review"), ("python,", "python,code review"),
        ("shared b", "shared branch"), ("shared ", "shared branch"), ("a b,shared br", "a b,shared branch"),
    ],
)  # fmt: skip
def test_a_term_is_completed_after_a_comma_and_beyond_its_own_blanks(typed: str, completed: str) -> None:
    completer = TermCompleter({"code review": "3", "shared branch": "2"})
    first, *_ = completer.get_completions(Document(typed), CompleteEvent(completion_requested=True))
    assert typed[: len(typed) + first.start_position] + first.text == completed


def test_where_several_words_fit_the_menu_offers_them_and_tab_goes_through_it(book: CommandLine) -> None:
    book.ok("lesson", "edit", "boards", "--add-tag", "workshop,worn")
    answers = list(asked(tags="work" + TAB))
    answers[3:3] = [("shop", TAB + TAB + ENTER)]
    seen, code = add(*answers, (KEYS, "s"))
    assert code == 0, seen
    assert lessons(book)["Close what is done"]["tags"] in (["workflow"], ["workshop"])
    assert "worn" not in seen


@pytest.mark.accepts("L7.7")
@pytest.mark.parametrize(("key", "tag"), [("y", "jira"), ("n", "jra")])
def test_a_misspelt_tag_is_mended_with_one_key(book: CommandLine, key: str, tag: str) -> None:
    answers = list(asked(tags="jra" + ENTER))
    answers[3:3] = [("did you mean 'jira'?", ""), (KEYS, key)]
    _, code = add(*answers, (KEYS, "s"))
    assert code == 0
    assert lessons(book)["Close what is done"]["tags"] == [tag]


def test_what_was_said_is_proposed_when_it_is_edited_again(book: CommandLine) -> None:
    again = asked(title=CTRL_U + "Another title" + ENTER, content=ESC_ENTER, tags=ENTER)
    seen, code = add(*asked(), (KEYS, "e"), *again, (KEYS, "s"))
    assert code == 0, seen
    stored = lessons(book)["Another title"]
    assert (stored["content"], stored["tags"]) == ("Nobody else will", ["workflow"])
    assert "Close what is done" not in lessons(book)


def test_options_are_proposals(book: CommandLine) -> None:
    options = ("--title", "From an option", "--tags", "jira", "--confidence", "low")
    _, code = add(*asked(title=ENTER, tags=ENTER), (KEYS, "s"), options=options)
    assert code == 0
    stored = lessons(book)["From an option"]
    assert (stored["tags"], stored["confidence"]) == (["jira"], "low")


def test_an_empty_title_is_asked_for_again(book: CommandLine) -> None:
    (title, _), *others = asked()
    _, code = add((title, ENTER), ("what it teaches", "Now with one" + ENTER), *others, (KEYS, "s"))
    assert code == 0
    assert "Now with one" in lessons(book)


def test_what_the_book_refuses_is_not_lost(book: CommandLine) -> None:
    seen, code = add(*asked(), (KEYS, "s"), ("boards", ""), (TITLE, CTRL_C), options=("--id", "boards"))
    assert code == 130, seen
    assert list(lessons(book)) == ["Boards move slowly"]


def test_cancelling_stores_nothing(book: CommandLine) -> None:
    seen, code = add(*asked(), (KEYS, "c"))
    assert code == 2 and "nothing was stored" in seen
    assert list(lessons(book)) == ["Boards move slowly"]


@pytest.mark.parametrize("at", [0, *(pytest.param(at, marks=pytest.mark.slow) for at in range(1, len(asked()))), 7])
def test_ctrl_c_at_any_question_stores_nothing_and_says_so(book: CommandLine, at: int) -> None:
    answers = (*asked(), (KEYS, ""))
    seen, code = add(*answers[:at], (answers[at][0], CTRL_C))
    assert code == 130, seen
    assert "stopped; nothing was stored." in seen and "Traceback" not in seen
    assert list(lessons(book)) == ["Boards move slowly"]


def test_ctrl_c_at_a_did_you_mean_stores_nothing(book: CommandLine) -> None:
    seen, code = add(*asked(tags="jra" + ENTER)[:3], (KEYS, CTRL_C))
    assert code == 130 and "nothing was stored" in seen
    assert list(lessons(book)) == ["Boards move slowly"]


def test_without_a_terminal_there_is_one_clear_sentence(book: CommandLine) -> None:
    done = book.process("lesson", "add", "--interactive")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("nacre: --interactive needs a terminal; give --title and --content instead.\n")


def test_what_is_missing_is_asked_for_on_a_terminal(book: CommandLine) -> None:
    seen, code = conversation("lesson", "add", "--title", "Close what is done", answers=((TITLE, CTRL_C),))
    assert (code, "nothing was stored" in seen) == (130, True), seen
    done = book.process("lesson", "add", "--title", "Close what is done")
    assert (done.returncode, "Give --title and --content" in done.stderr) == (2, True)
