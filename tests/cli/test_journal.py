"""nacre journal and undo"""

from __future__ import annotations

import json

import pytest

from tests.command_line import CommandLine


@pytest.fixture
def filled(nacre: CommandLine) -> CommandLine:
    return nacre.after(
        ("remember", "old text", "--id", "one"),
        ("remember", "another", "--id", "two"),
        ("edit", "one", "--text", "new text", "--why", "better"),
    )


def operations(results: list[dict[str, object]]) -> list[object]:
    return [entry["act"] for entry in results]


def batch_of(nacre: CommandLine, operation: str) -> str:
    return str(nacre.json("journal", "--act", operation)[0]["batch"])


def test_journal_without_a_subcommand_means_its_tail(filled: CommandLine) -> None:
    assert operations(filled.json("journal")) == ["edit", "remember", "remember"]
    assert filled.ok("journal") == filled.ok("journal", "tail")
    assert (
        operations(filled.json("journal", "one"))
        == operations(filled.json("journal", "tail", "one"))
        == ["edit", "remember"]
    )
    assert filled.json("journal", "-n", "1") == filled.json("journal", "tail", "-n", "1")
    assert "Usage: nacre journal" in filled.ok("journal", "--help")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--act", "edit"], ["edit"]),
        (["--actor", "cli"], ["edit", "remember", "remember"]),
        (["--actor", "mcp"], []),
        (["--id", "two"], ["remember"]),
        (["one", "--act", "remember"], ["remember"]),
        (["--since", "1h"], ["edit", "remember", "remember"]),
        (["--until", "1h"], []),
        (["--since", "2020-01-01", "--until", "2020-12-31"], []),
        (["-n", "2"], ["edit", "remember"]),
        (["-n", "1", "--all"], ["edit", "remember", "remember"]),
    ],
)
def test_the_tail_can_be_narrowed(filled: CommandLine, words: list[str], expected: list[str]) -> None:
    assert operations(filled.json("journal", *words)) == expected
    assert operations(filled.json("journal", "tail", *words)) == expected


def test_a_tail_that_fits_nothing_is_no_failure_but_an_unknown_memory_is(filled: CommandLine) -> None:
    result = filled("journal", "--act", "dance")
    assert result.exit_code == 0 and "Nothing in the journal fits" in result.stderr
    assert filled("journal", "zzz").exit_code == 1
    assert filled("journal", "one", "--id", "two").exit_code == 2
    assert "Nothing was done" in filled("--space", "personal", "journal").stderr


def test_a_memory_named_like_a_subcommand_is_reached_by_its_option(filled: CommandLine) -> None:
    filled.ok("remember", "x", "--id", "show")
    assert operations(filled.json("journal", "--id", "show")) == ["remember"]


def test_one_act_is_shown_field_by_field(filled: CommandLine) -> None:
    batch = batch_of(filled, "edit")
    output = filled.ok("journal", "show", batch[:8]).split("\n")
    assert output[0].startswith(f"{batch} edit by cli")
    assert "better" in output
    assert "  text: old text → new text" in output
    (record,) = filled.json("journal", "show", batch)
    assert (record["before"]["text"], record["after"]["text"]) == ("old text", "new text")
    assert (record["kind"], record["damaged"]) == ("memory", False)


@pytest.mark.slow
def test_an_act_on_several_memories_and_words_is_shown_whole(filled: CommandLine) -> None:
    filled.ok("supersede", "one", "two")
    output = filled.ok("journal", "show", batch_of(filled, "supersede"))
    assert "superseded by: (nothing) → two" in output and "supersedes → one" in output
    filled.ok("link", "one", "two", "--rel", "adores", "--weight", "0.5")
    output = filled.ok("journal", "show", batch_of(filled, "link"))
    assert "links: (nothing) → adores → two (0.5)" in output and "relation adores came" in output
    assert "\tadores\t" in filled.ok("journal", "-n", "2", "-f", "tsv")


def test_a_table_has_one_row_for_an_operation_and_a_pipe_one_for_each_entry(filled: CommandLine) -> None:
    filled.ok("tag", "one", "two", "--add", "reed")
    filled.ok("link", "one", "two", "--rel", "adores")
    _, link, tag, edit = filled.ok("journal", "-n", "3", "-f", "table").splitlines()
    assert " link " in link and " one " in link and "more" not in link
    assert "2 memories" in tag and "tags: reed; and 1 more" in tag and " edit " in edit
    assert len(filled.ok("journal", "-n", "4").splitlines()) == 4
    assert filled.ok("journal", "--all", "-f", "table").count("\n") == 5
    assert "1 memories" not in filled.ok("journal", "one", "-f", "table")


def test_the_journal_marks_what_is_new_or_gone_for_good(filled: CommandLine) -> None:
    assert "two came" in filled.ok("journal", "show", str(filled.json("journal", "two")[0]["batch"]))
    filled.ok("purge", "two", "--yes")
    assert "gone for good" in filled.ok("journal", "show", batch_of(filled, "purge"))


def test_an_act_that_is_not_there_is_not_found(filled: CommandLine) -> None:
    for batch in ("zzzz", "0" * 32):
        result = filled("journal", "show", batch)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "nacre journal" in result.stderr
    assert filled("journal", "show", "").exit_code == 1


def test_an_act_is_taken_back_by_its_batch_and_the_journal_says_so(filled: CommandLine) -> None:
    batch = batch_of(filled, "edit")
    assert "one is as it was before: text" in filled("journal", "undo", batch[:8], "--why", "worse").stderr
    assert filled.json("show", "one")["text"] == "old text"
    assert f"(takes back {batch[:8]}: worse)" in filled.ok("journal", "-n", "1")


def test_undo_takes_back_the_last_few_whole_and_can_be_undone(filled: CommandLine) -> None:
    filled.ok("undo", "--last", "2", "--why", "start again")
    assert [each["id"] for each in filled.json("list")] == ["one"]
    assert filled.json("show", "one")["text"] == "old text"
    filled.ok("undo", str(filled.json("journal", "-n", "1")[0]["batch"]))
    assert filled.json("show", "one")["text"] == "new text"
    assert filled("undo", "--last", "9").exit_code == 3
    assert filled("undo", "--last", "0").exit_code == 2
    assert filled("undo", "abc", "--last", "1").exit_code == 2


def test_an_undo_of_many_advises_the_command_that_lists_them_all(nacre: CommandLine) -> None:
    nacre.ok("remember", "--lines", input="".join(f"fact number {number}\n" for number in range(12)))
    undone = nacre("undo").stderr
    batch = nacre.json("journal", "-n", "1")[0]["batch"]
    assert f"and 2 more; `nacre journal show {batch[:8]}` lists them all." in undone
    assert len(nacre.json("journal", "show", batch[:8])) == 12


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["journal", "shwo", "one"], "show"),
        (["journal", "lst"], "list"),
        (["graph", "lnk", "one", "two"], "link"),
        (["graph", "lnk", "o"], "link"),
        (["review", "conflict"], "conflicts"),
    ],
)
def test_a_mistyped_subcommand_is_not_taken_for_a_memory(filled: CommandLine, words: list[str], near: str) -> None:
    result = filled(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"No such command {words[1]!r}. Did you mean {near!r}?" in result.stderr


def test_an_id_is_an_id_also_where_it_is_similar_to_a_command(filled: CommandLine) -> None:
    filled.ok("remember", "called like a command", "--id", "shows")
    assert operations(filled.json("journal", "shows")) == ["remember"]
    assert "unexpected extra argument" in filled("journal", "shows", "one").stderr
    assert filled("journal", "d1ff").exit_code == 1  # an id that Nacre made could begin so


def test_what_is_undone_cannot_be_undone_again(filled: CommandLine) -> None:
    batch = batch_of(filled, "edit")
    filled.ok("undo", batch)
    assert filled("undo", batch).exit_code == 3
    assert filled.json("show", "one")["text"] == "old text"


def test_a_blocked_undo_names_the_acts_that_block_it(filled: CommandLine) -> None:
    filled.ok("forget", "one", "--yes")
    result = filled("undo", str(filled.json("journal", "one")[-1]["batch"]))
    assert result.exit_code == 3
    assert f"forget {batch_of(filled, 'forget')[:8]}" in result.stderr
    assert f"edit {batch_of(filled, 'edit')[:8]}" in result.stderr


def test_undoing_a_link_also_reports_its_relation(filled: CommandLine) -> None:
    filled.ok("link", "one", "two", "--rel", "adores")
    result = filled("undo")
    assert "one is as it was before: links" in result.stderr
    assert "relation adores is gone again" in result.stderr


def test_the_journal_of_nasty_text_is_one_json_line_an_entry(nacre: CommandLine) -> None:
    nacre.ok("remember", "-", input="line\nbreak \x1b[31m \x9b \u2028 é")
    (line,) = nacre("journal", "--all", "-f", "jsonl").stdout_bytes.decode().rstrip("\n").split("\n")
    assert json.loads(line)["after"]["text"] == "line\nbreak \x1b[31m \x9b \u2028 é"
    assert "\x1b" not in line and "\x9b" not in line


def test_compacting_asks_first_and_reports_what_it_dropped(filled: CommandLine) -> None:
    refused = filled("journal", "compact", "--older-than", "0d", input="n\n")
    assert refused.exit_code == 2 and "for good" in refused.stderr
    assert "nothing so old" in filled("journal", "compact", "--older-than", "90d", "-y").stderr
    assert "Dropped 3 entries" in filled("journal", "compact", "--older-than", "0d", "-y", "--why", "space").stderr
    (entry,) = filled.json("journal")
    assert (entry["act"], entry["after"]) == ("compact", {"dropped": 3})
    assert "dropped: 3" in filled.ok("journal")
    assert filled("undo").exit_code == 3
    assert len(filled.json("list")) == 2


def test_compacting_without_an_age_follows_the_setting(filled: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    result = filled("journal", "compact", "-y")
    assert result.exit_code == 2 and "--older-than" in result.stderr
    monkeypatch.setenv("NACRE_JOURNAL_DAYS", "30")
    assert "nothing so old" in filled("journal", "compact", "-y").stderr
    assert filled("journal", "compact", "--older-than", "someday").exit_code == 2
    assert filled("journal", "compact", "--older-than", "2999-01-01", "-y").exit_code == 2


def test_a_hint_at_undo_names_the_space_that_was_worked_in(nacre: CommandLine) -> None:
    nacre.ok("remember", "The ladder is in the shed", "--id", "ladder")
    nacre.ok("--space", "home town", "remember", "The key is under the mat", "--id", "key")
    assert "`nacre undo`" in nacre("pin", "ladder").stderr
    assert "`nacre --space 'home town' undo`" in nacre("--space", "home town", "pin", "key").stderr
    assert "`nacre --space 'home town' undo`" in nacre("unpin", "key", "--space", "home town").stderr


def test_undoing_a_decision_on_names_is_told_without_code_words(nacre: CommandLine) -> None:
    nacre.ok("remember", "Ask about the oven", "--entity", "Priya Raman", "--entity", "P. Raman")
    nacre.ok("review", "decide-all", "entity", "distinct", "--yes")
    said = nacre("undo").stderr
    assert "name Priya Raman is as it was before" in said
    assert "entity/" not in said and "gone" not in said


def test_a_count_that_is_no_number_is_called_so(filled: CommandLine) -> None:
    result = filled("undo", "--last", "abc")
    assert result.exit_code == 2 and "'abc' is not a valid whole number" in result.stderr
