"""nacre lesson add, search, list, show, edit, delete, restore, related, link, unlink"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from nacre import Memory
from nacre.cli.lesson import edit
from nacre.cli.lesson.catalogue import SECTIONS
from nacre.cli.lesson.common import find_lesson
from nacre.lessons import LessonBook
from tests.command_line import CommandLine

COMMANDS = [entry.name for section in SECTIONS for entry in section.entries]
HEAVY = ("rapidfuzz", "prompt_toolkit", "yaml", "numpy", "apsw", "rich", "nacre.memory_store", "nacre.lessons")


def add(nacre: CommandLine, id: str, title: str, content: str = "Some content", *options: str) -> str:
    return nacre.ok(*adding(id, title, content, *options))


def adding(id: str, title: str, content: str, *options: str) -> tuple[str, ...]:
    return ("lesson", "add", "--title", title, "--content", content, "--id", id, *options)


@pytest.fixture
def book(nacre: CommandLine) -> CommandLine:
    return nacre.after(
        adding("rebase", "Rebase before you push", "A stale branch breaks the pipeline", "--tags", "git,ci",
               "--contexts", "team.shared-branch", "--confidence", "high", "--source", "tested"),
        adding("board", "Boards move slowly", "Wait a minute after each transition", "--tags", "api.jira",
               "--anti-contexts", "solo", "--confidence", "low", "--source", "hearsay", "--notes", "said at lunch"),
    )  # fmt: skip


def printed(nacre: CommandLine, id: str) -> Any:
    return nacre.json("lesson", "show", id)["data"]


def results(nacre: CommandLine, *words: str) -> list[str]:
    return [each["id"] for each in nacre.json("lesson", *words)["data"]]


# the group


def test_help_of_the_group_imports_no_command_and_nothing_heavy() -> None:
    code = (
        "import sys\nfrom nacre.cli.main import nacre\nnacre.main(['lesson', '--help'], standalone_mode=False)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert all(f"  {name} " in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_that_begins_like_its_line(nacre: CommandLine, command: str) -> None:
    rendered = nacre.ok("lesson", command, "--help")
    assert f"Usage: nacre lesson {command}" in rendered
    assert len(rendered.splitlines()) > 5


def test_an_unknown_command_names_the_nearest(nacre: CommandLine) -> None:
    result = nacre("lesson", "serach", "x")
    assert result.exit_code == 2 and "Did you mean 'search'?" in result.stderr
    assert "`nacre memory archive` is for lessons too" in nacre("lesson", "archive", "x").stderr
    assert "`nacre lesson --help`" in nacre("lesson", "xyzzy").stderr


# add


def test_a_lesson_is_stored_with_all_that_is_said_of_it(book: CommandLine) -> None:
    lesson = printed(book, "board")
    assert (lesson["title"], lesson["content"]) == ("Boards move slowly", "Wait a minute after each transition")
    assert (lesson["tags"], lesson["contexts"], lesson["anti_contexts"]) == (["api.jira"], [], ["solo"])
    assert (lesson["confidence"], lesson["source"], lesson["source_notes"]) == ("low", "hearsay", "said at lunch")


def test_adding_prints_the_id_and_nothing_else_on_stdout(nacre: CommandLine) -> None:
    result = nacre("lesson", "add", "--title", "One", "--content", "Two")
    assert result.stdout.strip() == nacre.json("lesson", "list")["data"][0]["id"]
    assert len(result.stdout.split()) == 1


def test_content_comes_from_stdin(nacre: CommandLine) -> None:
    id = nacre.ok("lesson", "add", "--title", "Long", "--content", "-", input="first line\nsecond line\n")
    assert printed(nacre, id)["content"].splitlines() == ["first line", "second line"]


def test_tags_come_with_commas_and_repeated(nacre: CommandLine) -> None:
    add(nacre, "x", "X", "Y", "--tags", "One, two ,", "-g", "three")
    assert printed(nacre, "x")["tags"] == ["one", "two", "three"]


def test_a_tag_that_is_unknown_is_stored_with_a_hint(book: CommandLine) -> None:
    add(book, "jira", "X", "Y", "--tags", "jira")
    result = book("lesson", "add", "--title", "X", "--content", "Y", "--tags", "jra")
    assert result.exit_code == 0
    assert "tag 'jra' not recognized, did you mean 'jira'?" in result.stderr
    assert printed(book, result.stdout.strip())["tags"] == ["jra"]


def test_the_envelope_has_the_warnings_and_suggestions(book: CommandLine) -> None:
    rendered = json.loads(
        book.ok("lesson", "add", "--title", "X", "--content", "Y", "--tags", "gitt", "--format", "json")
    )
    assert set(rendered) == {"success", "data", "warnings", "suggestions"}
    assert (rendered["success"], rendered["data"]["title"], rendered["suggestions"]["gitt"]) == (True, "X", ["git"])
    assert rendered["warnings"] == ["tag 'gitt' not recognized, did you mean 'git'?"]


def test_contexts_of_similar_lessons_are_offered(book: CommandLine) -> None:
    rendered = "A stale branch breaks the pipeline again"
    result = book("lesson", "add", "--title", "Rebase before you push", "--content", rendered, "--tags", "git")
    id = result.stdout.strip()
    assert f"`nacre lesson edit {id[:8]} --context team.shared-branch`" in result.stderr


def test_a_number_is_a_confidence_too(nacre: CommandLine) -> None:
    add(nacre, "x", "X", "Y", "--confidence", "0.9")
    assert (printed(nacre, "x")["confidence"], printed(nacre, "x")["certainty"]) == ("very-high", 0.9)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["add", "--title", "X"], "--interactive"),
        (["add", "--title", " ", "--content", "Y"], "needs a title"),
        (["add", "--title", "X", "--content", "Y", "--confidence", "hihg"], "high"),
        (["edit", "rebase"], "Name what to change"),
        (["edit", "rebase", "--tags", "a", "--add-tag", "b"], "--tag replaces all tags"),
    ],
)
def test_a_wrong_call_is_refused_with_a_remedy(book: CommandLine, words: list[str], hint: str) -> None:
    result = book("lesson", *words)
    assert result.exit_code == 2 and hint in result.stderr
    assert len(book.json("lesson", "list")["data"]) == 2


# search and list


def test_search_finds_the_best_first_and_explains_itself(book: CommandLine) -> None:
    rendered = book.json("lesson", "search", "the", "pipeline", "breaks", "--limit", "1")
    assert [each["id"] for each in rendered["data"]] == ["rebase"]
    assert rendered["data"][0]["score"] > 0 and rendered["data"][0]["why"]
    row = book.ok("lesson", "search", "pipeline", "--limit", "1", "--why").split("\t")
    assert row[0] == "rebase" and "Rebase before you push" in row and "word" in row[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("narrowed", "expected"),
    [
        (["--tags", "git,api"], {"rebase", "board"}),
        (["--tags", "git,api", "--all-tags"], set()),
        (["--tags", "ci", "-g", "git", "--all-tags"], {"rebase"}),
        (["--tags", "api"], {"board"}),
        (["--context", "team.shared-branch"], {"rebase"}),
        (["--source", "hearsay"], {"board"}),
        (["--confidence-min", "medium"], {"rebase"}),
        (["--agent", "nobody"], set()),
    ],
)
@pytest.mark.parametrize("command", ["search", "list"])
def test_both_lists_are_narrowed(book: CommandLine, command: str, narrowed: list[str], expected: set[str]) -> None:
    query = ["a minute for the branch"] if command == "search" else []
    rendered = book("lesson", command, *query, *narrowed, "-f", "json")
    assert {each["id"] for each in json.loads(rendered.stdout)["data"]} == expected
    assert rendered.exit_code == (1 if command == "search" and not expected else 0)


@pytest.mark.parametrize("strategy", ["hybrid", "semantic", "keyword", "graph"])
def test_every_strategy_finds_it(book: CommandLine, strategy: str) -> None:
    assert "rebase" in results(book, "search", "stale branch breaks the pipeline", "--strategy", strategy, "--fresh")


def test_a_tag_that_is_unknown_is_reported_when_searching_too(book: CommandLine) -> None:
    result = book("lesson", "search", "pipeline", "--tags", "gitt")
    assert result.exit_code == 1
    assert "did you mean 'git'?" in result.stderr and "no lesson answers that" in result.stderr


def test_a_table_is_drawn_for_people(book: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    rendered = book.ok("lesson", "search", "pipeline", "-f", "table", "--why")
    assert "confidence" in rendered and "Rebase before you push" in rendered and "A stale branch" in rendered


def test_every_other_form_has_the_same_matter(book: CommandLine) -> None:
    lines = book.ok("lesson", "list", "-f", "jsonl").splitlines()
    assert [json.loads(line)["id"] for line in lines] == results(book, "list")
    rendered = book.ok("lesson", "list", "--tags", "gitt", "-f", "yaml")
    assert rendered.startswith("success: true") and "did you mean 'git'?" in rendered
    result = book("lesson", "list", "--tags", "gitt,git", "-f", "jsonl")
    assert json.loads(result.stdout)["id"] == "rebase" and "did you mean 'git'?" in result.stderr
    assert "| rebase |" in book.ok("lesson", "list", "-f", "markdown")
    assert json.loads(book.ok("lesson", "show", "rebase", "-f", "jsonl"))["title"] == "Rebase before you push"


def test_an_empty_book_says_how_to_begin(nacre: CommandLine) -> None:
    assert "`nacre lesson add`" in nacre("lesson", "list").stderr
    assert "No lesson matches" in nacre("lesson", "list", "--source", "tested").stderr


def test_what_one_agent_learned_is_found_by_its_name(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_AGENT", "otter")
    add(nacre, "x", "X")
    monkeypatch.delenv("NACRE_AGENT")
    add(nacre, "y", "Y")
    assert results(nacre, "list", "--agent", "otter") == ["x"]
    nacre.ok("lesson", "edit", "x", "--tags", "new")
    assert results(nacre, "list", "--agent", "otter") == ["x"]


# show, edit, delete, restore


def test_a_lesson_is_printed_with_its_links(book: CommandLine) -> None:
    book.ok("lesson", "link", "reb", "boa", "--relation", "example_of")
    rendered = book.ok("lesson", "show", "reb")
    assert rendered.startswith("Rebase before you push")
    assert "team.shared-branch" in rendered and "high (0.70)" in rendered and "example_of →" in rendered
    assert printed(book, "boa")["links"] == [
        {"relation": "example_of", "direction": "in", "id": "rebase", "title": "Rebase before you push"}
    ]


def test_what_is_not_a_lesson_says_where_it_is_printed(book: CommandLine) -> None:
    book.ok("remember", "just a memory", "--id", "plain")
    result = book("lesson", "show", "plain")
    assert result.exit_code == 1 and "`nacre show plain`" in result.stderr
    assert book("lesson", "show", "zzz").exit_code == 1


def test_only_what_is_given_changes(book: CommandLine) -> None:
    before = printed(book, "rebase")
    result = book("lesson", "edit", "reb", "--title", "rebase first", "--confidence", "very-high", "--notes", "twice")
    assert "`nacre undo`" in result.stderr
    after = printed(book, "rebase")
    assert (after["title"], after["confidence"], after["source_notes"]) == ("Rebase first", "very-high", "twice")
    same = ("content", "tags", "contexts", "source", "created_at")
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    book.ok("undo")
    assert printed(book, "rebase")["title"] == before["title"]


def test_tags_are_added_and_taken_away(book: CommandLine) -> None:
    book.ok("lesson", "edit", "rebase", "--add-tag", "api.jira", "--remove-tag", "GIT")
    assert printed(book, "rebase")["tags"] == ["ci", "api.jira"]
    assert "no tag 'zebra'" in book("lesson", "edit", "rebase", "--remove-tag", "zebra").stderr
    book.ok("lesson", "edit", "rebase", "--tags", "", "--contexts", "")
    assert (printed(book, "rebase")["tags"], printed(book, "rebase")["contexts"]) == ([], [])


def test_a_tag_is_added_to_what_somebody_else_added_meanwhile(
    book: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    find, late = find_lesson, ["theirs"]

    def overtaken(opened: LessonBook, prefix: str) -> Memory:
        memory = find(opened, prefix)
        if late:
            opened.store.tag(memory.id, add=[late.pop()])
        return memory

    monkeypatch.setattr(edit, "find_lesson", overtaken)
    book.ok("lesson", "edit", "rebase", "--add-tag", "mine")
    assert printed(book, "rebase")["tags"] == ["git", "ci", "theirs", "mine"]


def test_a_deleted_lesson_is_brought_back(book: CommandLine) -> None:
    result = book("lesson", "delete", "reb", "--why", "outdated")
    assert result.exit_code == 0 and "`nacre trash restore rebase`" in result.stderr
    assert results(book, "list") == ["board"]
    assert "`nacre trash restore rebase`" in book("lesson", "show", "reb").stderr
    book.ok("restore", "reb")
    assert set(results(book, "list")) == {"rebase", "board"}


# related, link, unlink


def test_related_lessons_are_found_along_and_against_links(book: CommandLine) -> None:
    add(book, "third", "A third one")
    book.ok("lesson", "link", "rebase", "board")
    book.ok("lesson", "link", "third", "board", "-r", "example_of")
    assert results(book, "related", "rebase") == ["board"]
    assert results(book, "related", "rebase", "--depth", "2") == ["board", "third"]
    assert results(book, "related", "board", "--relation", "example-of") == ["third"]
    assert results(book, "related", "board", "-r", "related_to,example_of") == ["rebase", "third"]
    row = book.ok("lesson", "related", "board", "-r", "example_of").split("\t")
    assert row[:4] == ["third", "example_of", "in", "1"]


def test_what_contradicts_another_makes_it_less_sure(book: CommandLine) -> None:
    result = book("lesson", "link", "board", "rebase", "--relation", "contradicts")
    assert "now medium" in result.stderr
    assert printed(book, "rebase")["confidence"] == "medium"
    assert "link exists already" in book("lesson", "link", "board", "rebase", "--relation", "contradicts").stderr
    book.ok("undo")
    assert (printed(book, "rebase")["confidence"], printed(book, "rebase")["links"]) == ("high", [])


def test_what_supersedes_another_takes_its_place(book: CommandLine) -> None:
    book.ok("lesson", "link", "board", "rebase", "--relation", "supersedes")
    assert results(book, "list") == ["board"]
    assert set(results(book, "list", "--include-superseded")) == {"rebase", "board"}
    assert printed(book, "board")["links"][0]["id"] == "rebase"


def test_links_are_taken_away_by_relation_or_all(book: CommandLine) -> None:
    for relation in ("related_to", "example_of", "causes"):
        book.ok("lesson", "link", "rebase", "board", "-r", relation)
    assert "1 link;" in book("lesson", "unlink", "reb", "boa", "-r", "causes").stderr
    assert "2 links;" in book("lesson", "unlink", "reb", "boa").stderr
    result = book("lesson", "unlink", "reb", "boa")
    assert result.exit_code == 1 and "no link leads from rebase to board" in result.stderr
    assert "No link leads" in book("lesson", "related", "reb").stderr


@pytest.mark.parametrize(
    ("words", "data"),
    [
        (["link", "rebase", "board"], True),
        (["delete", "rebase"], True),
        (["tags", "--merge", "ci", "git", "--yes"], 1),
        (["tags", "--alias", "vcs", "git"], True),
        (["contexts", "--child", "solo", "team"], True),
        (["reembed", "--lesson", "rebase"], 1),
        (["tags", "--know", "zig"], ["zig"]),
    ],
)
def test_what_changes_something_answers_in_the_envelope_too(book: CommandLine, words: list[str], data: object) -> None:
    rendered = book.json("lesson", *words)
    assert (rendered["success"], rendered["data"]) == (True, data)
    assert isinstance(rendered["warnings"], list) and isinstance(rendered["suggestions"], dict)
