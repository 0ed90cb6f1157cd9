"""Audit, review, archive and statistics of lessons on the command line."""

from __future__ import annotations

import re

import pytest

from nacre import MemoryStore
from nacre.lessons import LessonBook
from tests.cli.terminal import conversation
from tests.command_line import CommandLine

KEYS, DAY = "[?] ", 86_400.0


@pytest.fixture
def book(nacre: CommandLine) -> CommandLine:
    for id, confidence, source in (
        ("guess", "high", "inferred"),
        ("trial", "high", "tested"),
        ("rumour", "low", "hearsay"),
    ):
        nacre.ok("lesson", "add", "--title", f"Lesson {id}", "--content", f"About {id}", "--tags", "work",
                 "--confidence", confidence, "--source", source, "--id", id)  # fmt: skip
    return nacre


def ids(nacre: CommandLine, *words: str) -> list[str]:
    return [each["id"] for each in nacre.json("lesson", *words)["data"]]


def confidence(nacre: CommandLine, id: str) -> object:
    return nacre.json("lesson", "show", id)["data"]["confidence"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (["--confidence", "high", "--source", "inferred"], {"guess"}),
        (["--confidence", "high-"], {"guess", "trial"}),
        (["--confidence", "-low"], {"rumour"}),
        (["--confidence", "0.2-0.6"], {"rumour"}),
        (["--unvalidated"], {"trial", "rumour"}),
    ],
)
def test_an_audit_finds_what_is_held_too_firmly(book: CommandLine, asked: list[str], expected: set[str]) -> None:
    book.ok("lesson", "validate", "guess")
    assert set(ids(book, "audit", *asked)) == expected


def test_an_audit_without_findings_says_so_and_a_wrong_range_is_refused(book: CommandLine) -> None:
    assert "No lesson matches" in book("lesson", "audit", "--confidence", "very-high").stderr
    assert book("lesson", "audit", "--confidence", "hihg").exit_code == 2


def test_a_lesson_is_validated_with_another_confidence(book: CommandLine) -> None:
    assert "very-high confidence" in book("lesson", "validate", "tri", "--confidence", "very-high").stderr
    printed = book.json("lesson", "show", "trial")["data"]
    assert printed["confidence"] == "very-high" and printed["last_validated_at"]
    assert book.json("lesson", "validate", "trial")["success"] is True


# review


@pytest.fixture
def aged(nacre: CommandLine) -> CommandLine:
    with MemoryStore(nacre.store, embedder="hashing", clock=lambda: 1_600_000_000.0) as store:
        lessons = LessonBook(store=store)
        for id in ("old", "older"):
            lessons.learn(f"Lesson {id}", f"About {id}", id=id, confidence="high")
    return nacre


@pytest.mark.accepts("L8.16")
def test_stale_lessons_are_listed_with_the_question(aged: CommandLine) -> None:
    aged.ok("lesson", "add", "--title", "New", "--content", "New", "--id", "new")
    rendered = aged.json("lesson", "review")["data"]
    assert {each["lesson"]["id"] for each in rendered} == {"old", "older"}
    assert "is it still so?" in rendered[0]["why"]
    result = aged("lesson", "review", "--stale-days", "365")
    assert result.stdout.count("\n") == 2 and "`nacre lesson validate ID`" in result.stderr
    assert "No lesson waits" in aged("lesson", "review", "--stale-days", "36500").stderr


def test_on_a_terminal_each_is_asked_for_with_one_key(aged: CommandLine) -> None:
    seen, code = conversation("lesson", "review", answers=((KEYS, "v"), (KEYS, "l")))
    assert code == 0 and "1 of 2" in seen and "Settled 2 of 2" in seen and "About old" in seen
    assert sorted(str(confidence(aged, id)) for id in ("old", "older")) == ["high", "medium"]
    assert aged.json("lesson", "review")["data"] == []


def test_what_no_longer_holds_is_archived_or_thrown_away_on_the_way(aged: CommandLine) -> None:
    seen, _ = conversation("lesson", "review", answers=((KEYS, "a"), (KEYS, "t")))
    assert "`nacre memory unarchive" in seen and "`nacre trash restore" in seen
    assert ids(aged, "list") == [] and len(ids(aged, "list", "--include-archived")) == 1


# archive, reembed, stats


@pytest.mark.slow
def test_an_archived_lesson_is_out_of_sight_until_it_is_asked_for(book: CommandLine) -> None:
    book.ok("archive", "gue", "tri")
    assert ids(book, "search", "About") == ["rumour"]
    assert set(ids(book, "search", "About", "--include-archived")) == {"guess", "trial", "rumour"}
    book.ok("unarchive", "guess")
    assert set(ids(book, "list")) == {"guess", "rumour"}


@pytest.mark.accepts("L7.6")
def test_vectors_are_computed_again_for_one_or_all(book: CommandLine) -> None:
    assert "1 memory again" in book("lesson", "reembed", "--lesson", "gue").stderr
    assert "3 memories again" in book("lesson", "reembed", "--all").stderr
    assert book("lesson", "reembed", "--all", "--lesson", "gue").exit_code == 2
    assert book("lesson", "reembed", "--lesson", "zzz").exit_code == 1


@pytest.mark.slow
def test_a_book_is_counted(book: CommandLine) -> None:
    book.ok("archive", "trial")
    book.ok("lesson", "link", "guess", "rumour")
    rendered = book.json("lesson", "stats")["data"]
    assert (rendered["total"], rendered["archived"], rendered["tags"], rendered["links"]) == (3, 1, 1, 1)
    assert (rendered["by_confidence"]["high"], rendered["by_source"]["hearsay"]) == (2, 1)
    rows = dict(row.split("\t") for row in book.ok("lesson", "stats").splitlines())
    assert (rows["total"], rows["by confidence high"], rows["by source tested"]) == ("3", "2", "1")


# the verification of a new book, command by command


def test_a_new_book_is_verified_by_its_commands_in_processes_of_their_own(nacre: CommandLine) -> None:
    def run(*words: str) -> str:
        done = nacre.process("lesson", *words)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    assert run("stats").startswith("total\t0\n")
    assert run("tags") == ""
    assert {row.split("\t")[0] for row in run("sources").splitlines()} >= {"inferred", "tested", "documented"}
    id = run(
        "add", "--title", "Test lesson", "--content", "Testing", "--tags", "test", "--confidence", "low",
        "--source", "tested",
    ).strip()  # fmt: skip
    assert re.fullmatch(r"\S+", id)
    results = run("search", "test")
    assert results.split("\t")[0] == id and "Test lesson" in results
    assert run("tags", "--counts").split("\t")[:2] == ["test", "1"]
    run("delete", id)
    assert nacre.process("lesson", "search", "test").returncode == 1
    assert run("stats").startswith("total\t0\n")


def test_the_help_says_from_what_a_lesson_is_stale(nacre: CommandLine) -> None:
    assert "without an edit or a confirmation" in " ".join(nacre.ok("lesson", "review", "--help").split())
