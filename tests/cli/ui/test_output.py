"""Tables, TSV and JSON, and what a terminal is spared."""

from __future__ import annotations

import json
import re

import click
import pytest
import yaml

from nacre.cli.ui.output import Column, draw_table, printable, wrapped_line
from tests.cli.terminal import conversation
from tests.command_line import CommandLine

NASTY_ID = "12345678-aaaa-4bbb-8ccc-123456789abc"
NASTY = "\x1b[31mred\x1b[0m\ttab\nline \x9b2J [bold]not markup[/bold] 中文 é 😀"

DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")


@pytest.fixture
def nasty(nacre: CommandLine) -> CommandLine:
    nacre.ok("remember", "-", "--id", NASTY_ID, input=NASTY)
    return nacre


def test_a_row_stays_one_row_and_an_escape_does_not_act(nasty: CommandLine) -> None:
    row = nasty.ok("list")
    assert row.endswith("red tab line  [bold]not markup[/bold] 中文 é 😀\tdefault")
    assert row.startswith(f"{NASTY_ID}\t")
    assert row.count("\t") == 6


@pytest.mark.slow
@pytest.mark.parametrize("words", [["list"], ["recall", "red"], ["show", "1234"], ["pack", "red"], ["journal"]])
@pytest.mark.parametrize("form", [None, "table", "text"])
def test_no_form_for_people_lets_an_escape_through(nasty: CommandLine, words: list[str], form: str | None) -> None:
    result = nasty(*words, *(["-f", form] if form else []))
    assert "\x1b" not in result.output and "\x9b" not in result.output


def test_json_keeps_every_character_and_still_sends_no_control_character(nasty: CommandLine) -> None:
    printed = nasty.ok("list", "-f", "json")
    assert json.loads(printed)[0]["text"] == NASTY
    assert "\x1b" not in printed and "\x9b" not in printed


def test_json_has_every_field_of_a_record(nacre: CommandLine) -> None:
    nacre.ok("remember", "plain")
    (record,) = nacre.json("list")
    assert (record["type"], record["tags"], record["links"], record["occurred_at"]) == ("semantic", [], [], None)


def test_a_table_has_short_ids_ages_and_a_header(nasty: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    header, row = nasty.ok("list", "-f", "table").split("\n")
    assert header.split() == ["id", "type", "imp", "date", "tags", "text"]
    assert row.split()[0] == "12345678"
    assert DATE.search(row) and "[bold]" in row
    assert len(row) <= 80


def test_a_terminal_with_room_shows_the_tags_too(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    nacre.ok("remember", "x", "-g", "ops")
    monkeypatch.setenv("COLUMNS", "140")
    assert "ops" in nacre.ok("list", "-f", "table")
    monkeypatch.setenv("COLUMNS", "80")
    assert "ops" in nacre.ok("list", "-f", "table"), "there is room for it"
    nacre.ok("remember", "a long text " * 9, "-g", "several", "-g", "tags", "-g", "that", "-g", "take", "-g", "room")
    assert "ops" not in nacre.ok("list", "-f", "table")


@pytest.mark.parametrize("words", [["stats"], ["spaces"], ["journal"], ["recall", "red tab line", "--explain"]])
def test_every_list_can_be_a_table(nasty: CommandLine, words: list[str]) -> None:
    assert len(nasty.ok(*words, "-f", "table").split("\n")) >= 2


def test_an_unknown_form_is_misuse(nasty: CommandLine) -> None:
    assert nasty("list", "-f", "xml").exit_code == 2


def test_jsonl_and_yaml_tell_the_same_as_json_and_markdown_draws_a_table(nacre: CommandLine) -> None:
    for text in ("one | two\nthree", "ünï: [x]", "not: a list"):
        nacre.ok("remember", text)
    full = nacre.json("list")
    assert [json.loads(line) for line in nacre.ok("list", "-f", "jsonl").splitlines()] == full
    assert yaml.safe_load(nacre.ok("list", "-f", "yaml")) == full
    one = full[0]["id"]
    assert yaml.safe_load(nacre.ok("show", one, "-f", "yaml")) == nacre.json("show", one)
    rows = nacre.ok("list", "-f", "markdown").splitlines()
    assert len(rows) == 5 and all(row.startswith("| ") and row.endswith(" |") for row in rows)
    assert rows[-1].endswith(r"| one \| two three |")


def test_a_long_sentence_is_wrapped_between_words_at_a_terminal_and_whole_in_a_pipe(nacre: CommandLine) -> None:
    nacre.ok("remember", "x")
    seen, _ = conversation("show", "no-such-memory-with-a-long-name-that-nobody-has-ever-given", COLUMNS="50")
    lines = seen.replace("\r", "").splitlines()
    assert len(lines) > 2 and "no-such-memory-with-a-long-name-that-nobody-has-ever-given" in "".join(lines).split("'")
    assert all(len(line) <= 50 or " " not in line.strip() for line in lines[1:])
    assert nacre("show", "no-such-memory-with-a-long-name-that-nobody-has-ever-given").stderr.count("\n") == 1


def test_a_line_of_help_never_ends_in_dots(nacre: CommandLine) -> None:
    listed = nacre.ok("help", "--all").splitlines()
    assert len(listed) > 100 and [line for line in listed if line.rstrip().endswith("...")] == []


def test_a_narrow_terminal_gets_a_stacked_table_that_loses_no_text(nacre: CommandLine) -> None:
    text = "the ferry to the island leaves at nine from the eastern pier"
    nacre.ok("remember", text, "--id", "12345678-ferry", "--type", "procedural", "--tag", "harbour")
    wide, _ = conversation("list", COLUMNS="120", NO_COLOR="1")
    assert " imp" in wide.splitlines()[0] and text in wide.splitlines()[1]
    for columns in ("40", "60"):
        narrow, code = conversation("list", COLUMNS=columns, NO_COLOR="1")
        first, *below = printable(narrow).splitlines()
        assert code == 0 and first.startswith("12345678") and "procedural" in first and "imp 0." in narrow
        assert " ".join(" ".join(below).split()).endswith(text)
        assert all(len(line) <= int(columns) for line in (first, *below))


def test_a_table_whose_short_columns_leave_no_room_for_the_text_is_stacked_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a project, where each row has the long name of a space."""
    monkeypatch.setenv("NO_COLOR", "1")
    text = "the ferry to the island leaves at nine from the eastern pier"
    columns: list[Column[str]] = [
        Column("id", lambda _: "12345678"),
        Column("score", lambda _: "1.00", right=True),
        Column("space", lambda _: "harbour-logistics-north-b2188df9"),
        Column("deleted", lambda _: "in 29 d", named=True),
        Column("text", lambda item: item, wide=True, wraps=True),
    ]
    monkeypatch.setenv("COLUMNS", "80")
    draw_table([text], columns)
    short = "12345678  score 1.00  harbour-logistics-north-b2188df9  deleted in 29 d"
    assert capsys.readouterr().out == f"{short}\n  {text}\n"
    monkeypatch.setenv("COLUMNS", "60")
    draw_table([text], columns)
    assert capsys.readouterr().out.splitlines()[:2] == [short.removesuffix("  deleted in 29 d"), "  deleted in 29 d"]
    monkeypatch.setenv("COLUMNS", "120")
    draw_table([text], columns)
    assert capsys.readouterr().out.splitlines()[0].split() == ["id", "score", "space", "deleted", "text"]


@pytest.mark.parametrize("columns", [50, 80])
def test_no_command_leaves_it_to_the_terminal_to_break_a_line(nacre: CommandLine, columns: int) -> None:
    tail = "with Priya at staging.lumen.example.org, then coffee in the kitchen on the second floor."
    nacre.ok("remember", f"The standup is at 10:00 on Zoom every day {tail}")
    nacre.ok("remember", f"The standup moved to 9:30 in Google Meet, no longer at 10:00 on Zoom {tail}")
    id = nacre.json("list")[0]["id"]
    commands: list[tuple[list[str], tuple[tuple[str, str], ...]]] = [
        (["context", "when is the standup?"], ()),
        (["show", id], ()),
        (["review"], (("[?]", "q"),)),
        (["forget", id], (("[y/N]", "n\n"),)),
    ]
    for words, answers in commands:
        seen, _ = conversation(*words, answers=answers, COLUMNS=str(columns))
        lines = [click.unstyle(line).rstrip("\r") for line in seen.split("\n")]
        assert max(map(len, lines)) <= columns, (words, max(lines, key=len))
        assert any(len(line) > columns // 2 for line in lines) and "\u00a0" not in seen
        if words[0] != "forget":
            assert "staging.lumen.example.org" in seen, words


def test_colours_take_no_place_and_wide_signs_two() -> None:
    red = click.style("red", fg="red")
    assert list(wrapped_line(f"{red} {red} {red}", 7, "")) == [f"{red} {red}", red]
    assert list(wrapped_line("  記憶 記憶 記憶", 10, "")) == ["  記憶", "  記憶", "  記憶"]
    assert list(wrapped_line("name    one two", 12, " " * 8)) == ["name    one", "        two"]
    assert list(wrapped_line("a-path/that-is-long b", 5, "")) == ["a-path/that-is-long", "b"]


def test_an_indented_second_line_of_a_list_follows_the_first_with_one_blank(nacre: CommandLine) -> None:
    nacre.ok("remember", "Release 2.4 planned\n    - needs the migration")
    assert "Release 2.4 planned - needs the migration" in nacre.ok("list")


def test_a_text_that_quotes_the_program_without_a_command_is_said_as_it_is(nacre: CommandLine) -> None:
    nacre.ok("--space", "harbour", "remember", "The harbour opens at six")
    refused = nacre("--space", "harbour", "show", "`nacre  `")
    assert refused.exit_code == 1 and "`nacre  `" in refused.stderr
