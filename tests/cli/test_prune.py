"""Letting go at the command line: pruning, scores, bounds, the trash. Each is a plan until it is applied."""

from __future__ import annotations

import json
import sys

import pytest

from tests.cli.aged_memories import days_ago, opened, operations, remember_faded
from tests.command_line import CommandLine

posix = pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")


def trashed(nacre: CommandLine) -> set[str]:
    return {each["id"] for each in nacre.json("trash", "list")}


def test_pruning_lists_what_has_faded_and_changes_nothing(nacre: CommandLine) -> None:
    remember_faded(nacre)
    nacre.ok("remember", "fresh")
    before = operations(nacre)
    plan = nacre("prune")
    rows = [row.split("\t") for row in plan.stdout.splitlines()]
    assert (rows[0][0], rows[0][2], rows[0][-1]) == ("faded-0", "semantic", "old note 0")
    assert len(rows) == 3 and float(rows[0][1]) < 0.05
    assert "3 memories score less than 0.05; --apply" in plan.stderr
    assert operations(nacre) == before and trashed(nacre) == set()


def test_what_is_pruned_is_one_act_and_comes_back(nacre: CommandLine) -> None:
    remember_faded(nacre)
    before = operations(nacre)
    done = nacre("prune", "--apply", "--yes", "--why", "spring")
    assert "Moved 3 memories to the trash; `nacre undo`" in done.stderr
    assert operations(nacre) == before + 1 and len(trashed(nacre)) == 3
    assert nacre.json("journal", "-n", "1")[0]["why"] == "spring"
    nacre.ok("undo")
    assert trashed(nacre) == set()
    assert len(nacre.json("list")) == 3


def test_the_trash_is_listed_without_a_subcommand(nacre: CommandLine) -> None:
    nacre.ok("remember", "old note", "--id", "old")
    nacre.ok("forget", "old", "--yes")
    assert nacre.ok("trash") == nacre.ok("trash", "list") and [each["id"] for each in nacre.json("trash")] == ["old"]
    header, row = nacre.ok("trash", "-f", "markdown", "-n", "1").splitlines()[::2]
    assert "| deleted |" in header and "| in 29 d |" in row
    assert nacre("trash", "old").exit_code == 2


def test_pruning_asks_and_no_answer_is_no(nacre: CommandLine) -> None:
    remember_faded(nacre)
    for answer, code in (("n\n", 2), ("", 2), ("y\n", 0)):
        result = nacre("prune", "--apply", input=answer)
        assert result.exit_code == code and "Move 3 memories to the trash?" in result.stderr
        assert len(trashed(nacre)) == (3 if code == 0 else 0)


def test_the_options_of_pruning_win_over_the_settings(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    remember_faded(nacre, days=30)
    assert nacre.json("prune", "--decay-rate", "0") == []
    assert len(nacre.json("prune", "--decay-rate", "0.2", "--model", "simple")) == 3
    assert len(nacre.json("prune", "--min-score", "1")) == 3
    assert nacre.json("prune", "--min-score", "1", "--protect-type", "semantic") == []
    monkeypatch.setenv("NACRE_DECAY_RATE", "5")
    assert len(nacre.json("prune")) == 3
    monkeypatch.setenv("NACRE_DECAY_PROTECT", "semantic")
    assert nacre.json("prune") == []
    assert len(nacre.json("prune", "--protect-type", "")) == 3


def test_json_of_a_plan_is_records_with_their_score(nacre: CommandLine) -> None:
    remember_faded(nacre, 1)
    (result,) = nacre.json("prune")
    assert (result["id"], result["text"]) == ("faded-0", "old note 0") and 0 <= result["score"] < 0.05
    (applied,) = json.loads(nacre.ok("prune", "--apply", "-y", "-f", "json"))
    assert applied["id"] == "faded-0"


@pytest.mark.slow
def test_a_table_shows_as_much_as_a_person_reads(nacre: CommandLine) -> None:
    remember_faded(nacre, 25)
    output = nacre("prune", "-f", "table")
    assert len(output.stdout.splitlines()) == 21 and "and 5 more; -n 0" in output.stderr
    assert len(nacre.ok("prune", "-f", "table", "-n", "0").splitlines()) == 26
    assert len(nacre.json("prune", "-n", "2")) == 25, "programs get the whole plan"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (["prune", "--decay-rate", "-1"], "-1"),
        (["prune", "--decay-rate", "nan"], "nan"),
        (["prune", "--decay-rate", "inf"], "inf"),
        (["prune", "--min-score", "2"], "2"),
        (["prune", "--model", "linear"], "strength"),
        (["prune", "--protect-type", "semantc"], "did you mean 'semantic'?"),
        (["retain", "--max-days", "-1"], "-1"),
        (["retain", "--max-mb", "nan"], "nan"),
        (["retain", "--type", "procedural"], "'procedural' is protected"),
        (["retain", "--type", "semantc"], "did you mean 'semantic'?"),
        (["retain", "--compress-older-than", "90"], "write 12h, 30d or 8w"),
        (["trash", "empty", "--older-than", "30"], "write 12h, 30d or 8w"),
        (["trash", "empty", "--older-than", "soon"], "is not a duration"),
        (["trash", "empty", "--older-than", "1d", "--all"], "one of them"),
    ],
)
def test_what_makes_no_sense_is_reported_in_a_sentence(nacre: CommandLine, words: list[str], reported: str) -> None:
    remember_faded(nacre)
    result = nacre(*words, "--apply", "-y") if words[0] != "trash" else nacre(*words, "-y")
    assert result.exit_code == 2 and reported in result.stderr
    assert "Traceback" not in result.output and trashed(nacre) == set()


@pytest.mark.parametrize(("name", "value"), [("RATE", "-1"), ("RATE", "nan")])
def test_a_setting_that_makes_no_sense_is_reported_too(
    nacre: CommandLine, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"NACRE_DECAY_{name}", value)
    result = nacre("prune")
    assert result.exit_code == 2 and value in result.stderr


def test_what_nothing_has_faded_says_so(nacre: CommandLine) -> None:
    nacre.ok("remember", "fresh")
    assert "no memory has a decay score below 0.05" in nacre("prune", "--apply").stderr


def test_scores_come_strongest_or_weakest_first(nacre: CommandLine) -> None:
    remember_faded(nacre, 2)
    nacre.ok("remember", "fresh", "--id", "fresh")
    strongest = nacre.json("decay", "scores")
    assert strongest[0]["id"] == "fresh" and strongest[0]["score"] == pytest.approx(0.5, abs=0.01)
    assert nacre.ok("decay", "scores", "-n", "1").split("\t")[0] == "fresh"
    assert {each["id"] for each in nacre.json("decay", "scores", "--weakest", "-n", "2")} == {"faded-0", "faded-1"}
    assert len(nacre.json("decay", "scores", "-n", "0")) == 3
    assert "score" in nacre.ok("decay", "scores", "-f", "table")


@pytest.mark.slow
def test_retaining_puts_away_what_is_beyond_and_takes_it_back(nacre: CommandLine) -> None:
    remember_faded(nacre, 3)
    nacre.ok("remember", "fresh", "--id", "fresh")
    nacre.ok("remember", "gone", "--id", "expired", "--expires-at", "2020-01-01T00:00:00Z")
    before = operations(nacre)
    plan = nacre("retain", "--max-days", "100")
    fates = {row.split("\t")[0]: row.split("\t")[1:3] for row in plan.stdout.splitlines()}
    assert fates["expired"] == ["trash", "expired"] and fates["faded-0"] == ["archive", "older than 100 days"]
    assert "1 memory to the trash and 3 memories to the archive would go; --apply" in plan.stderr
    assert operations(nacre) == before
    refused = nacre("retain", "--max-days", "100", "--apply", input="n\n")
    assert refused.exit_code == 2 and operations(nacre) == before
    assert "Moved 4 memories" in nacre("retain", "--max-days", "100", "--apply", "-y").stderr
    assert operations(nacre) == before + 1
    assert {each["id"] for each in nacre.json("list", "--archived")} == {"faded-0", "faded-1", "faded-2"}
    assert trashed(nacre) == {"expired"}
    nacre.ok("undo")
    assert nacre.json("list", "--archived") == [] and trashed(nacre) == set()


def test_bounds_of_a_type_leave_the_others_alone(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    remember_faded(nacre, 2)
    nacre.ok("remember", "an event", "-t", "episodic", "--id", "event")
    monkeypatch.setenv("NACRE_RETAIN_MAX_COUNT", "1")
    assert {each["id"] for each in nacre.json("retain")} == {"faded-0", "faded-1"}
    assert nacre.json("retain", "--max-count", "0") == [], "0 sets no bound"
    assert nacre.json("retain", "--type", "episodic") == []
    (result,) = nacre.json("retain", "--type", "semantic", "--outcome", "trash")
    assert (result["outcome"], result["why"]) == ("trash", "more than 1")
    assert "Everything is within bounds" in nacre("retain", "--max-count", "9").stderr
    assert "no bound is set" in nacre("retain", "--max-count", "0").stderr


def test_long_texts_are_compressed_only_when_applied(nacre: CommandLine) -> None:
    with opened(nacre) as store:
        store.remember("a long story " * 400, id="long", created_at=days_ago(200), last_accessed=days_ago(200))
    assert "would be compressed" in nacre("retain", "--compress-older-than", "90d").stderr
    assert "Compressed 1 long text" in nacre("retain", "--compress-older-than", "90d", "--apply").stderr
    assert nacre.json("show", "long")["text"] == ("a long story " * 400).strip()
    assert "Compressed 0 long texts" in nacre("retain", "--compress-older-than", "90d", "--apply").stderr


@pytest.mark.slow
def test_the_trash_is_listed_and_gives_back_in_one_act(nacre: CommandLine) -> None:
    assert "The trash is empty" in nacre("trash", "list").stderr
    for id in ("a1", "b2", "c3"):
        nacre.ok("remember", f"text of {id}", "--id", id)
    nacre.ok("forget", "a1", "b2", "--yes")
    (first, *_) = nacre.json("trash", "list")
    assert first["status"] == "trashed" and first["kept_until"] > first["updated_at"]
    assert "in 29 d" in nacre.ok("trash", "list", "-f", "table")
    before = operations(nacre)
    result = nacre("restore", "a1", "c3")
    assert result.exit_code == 1 and "c3 is neither in the trash" in result.stderr and operations(nacre) == before
    assert "Restored 2 memories" in nacre("restore", "a1", "b2").stderr
    assert operations(nacre) == before + 1 and len(nacre.json("list")) == 3
    nacre.ok("undo")
    assert trashed(nacre) == {"a1", "b2"}


def test_a_trash_without_a_limit_is_emptied_on_request_only(
    nacre: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_TRASH_DAYS", "0")
    nacre.ok("forget", nacre.ok("remember", "x"), "--yes")
    assert nacre.json("trash", "list")[0]["kept_until"] is None
    refused = nacre("trash", "empty", "--yes")
    assert refused.exit_code == 2 and "trash_days keeps the trash forever" in refused.stderr
    assert "Deleted 1 memory for good" in nacre("trash", "empty", "--all", "--yes").stderr


def test_emptying_the_trash_asks_says_that_it_is_for_good_and_is(nacre: CommandLine) -> None:
    nacre.ok("remember", "doomed", "--id", "doomed")
    assert "The trash is empty" in nacre("trash", "empty").stderr
    nacre.ok("forget", "doomed", "--yes")
    assert "none of them for 30 days; --all" in nacre("trash", "empty", "--yes").stderr
    assert "none of them for 7 days" in nacre("trash", "empty", "--older-than", "1w", "--yes").stderr
    refused = nacre("trash", "empty", "--all", input="\n")
    assert refused.exit_code == 2 and "for good" in refused.stderr and "doomed" in refused.stderr
    assert trashed(nacre) == {"doomed"}
    assert "Deleted 1 memory for good." in nacre("trash", "empty", "--all", "--yes").stderr
    assert trashed(nacre) == set() and nacre("show", "doomed").exit_code == 1
    assert nacre("undo", "--any").exit_code == 3


def test_what_was_redacted_is_neither_listed_nor_restored(nacre: CommandLine) -> None:
    nacre.ok("remember", "secret", "--id", "secret")
    nacre.ok("redact", "secret", "--yes")
    assert nacre.json("trash", "list") == []
    result = nacre("restore", "secret")
    assert result.exit_code == 3 and "redacted" in result.stderr


@pytest.mark.slow
def test_a_long_undo_is_reported_briefly(nacre: CommandLine) -> None:
    remember_faded(nacre, 30)
    nacre.ok("prune", "--apply", "-y")
    result = nacre("undo", "--any").stderr.splitlines()
    assert result[0].startswith("Undid decay")
    assert len(result) == 12 and result[-1].startswith("and 20 more")


@posix
def test_at_a_terminal_the_plan_is_printed_before_the_question(nacre: CommandLine) -> None:
    from tests.cli.terminal import conversation

    remember_faded(nacre, 2)
    seen, code = conversation("prune", "--apply", answers=(("[y/N]", "y\n"),))
    assert code == 0 and seen.index("old note 1") < seen.index("Move 2 memories") < seen.index("nacre undo` takes")
    assert len(trashed(nacre)) == 2
