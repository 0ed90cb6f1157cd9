"""nacre memory history, diff, and what was known or held at another time"""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from nacre.model.instants import DAY, seconds
from tests.command_line import CommandLine
from tests.waiting import wait_for


def moment() -> str:
    """A time between what was done before it and what is done after, and of another millisecond than either."""
    before = time.time()
    wait_for(lambda: time.time() - before > 0.001, "that the clock goes on")
    at = datetime.now(UTC)
    wait_for(lambda: time.time() - at.timestamp() > 0.001, "that the clock goes on")
    return at.isoformat()


@pytest.fixture
def filled(nacre: CommandLine) -> CommandLine:
    return nacre.after(
        ("remember", "The server runs Python 3.10", "--id", "old", "--occurred-at", "2026-01-01"),
        ("remember", "The server runs Python 3.12", "--id", "new", "--occurred-at", "2026-03-01"),
    )


@pytest.fixture
def superseded(filled: CommandLine) -> CommandLine:
    return filled.after(("supersede", "old", "new", "--why", "upgraded"))


def ids(results: list[dict[str, object]]) -> list[str]:
    return sorted(str(each["id"]) for each in results)


def test_history_shows_versions_and_changes_in_one_set_of_columns(superseded: CommandLine) -> None:
    superseded.ok("edit", "new", "--text", "The server runs Python 3.13")
    rows = [row.split("\t") for row in superseded.ok("history", "old").split("\n")]
    assert [row[0] for row in rows] == ["version", "version", "change", "change"]
    assert {len(row) for row in rows} == {8}
    assert rows[0][1:4] == ["old", "2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z"]
    assert rows[1][1:4] == ["new", "2026-03-01T00:00:00Z", ""]
    assert rows[2][6:] == ["supersede", "upgraded"]
    assert rows[3][4:7] == ["The server runs Python 3.12", "The server runs Python 3.13", "edit"]


def test_history_is_the_same_from_either_end_and_names_the_head(superseded: CommandLine) -> None:
    result = superseded.json("history", "old")
    assert superseded.json("history", "new") == result
    assert (result["head"], [version["id"] for version in result["versions"]]) == ("new", ["old", "new"])
    assert [(change["act"], change["why"]) for change in result["changes"]] == [("supersede", "upgraded")]


def test_history_for_people_has_dates_and_an_arrow(superseded: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    output = superseded.ok("history", "old", "-f", "table")
    assert "by 2026-01-01 00:00" in output and "now" in output  # nobody said when the old one began
    assert "held from" not in output
    assert "→" in output and "because: upgraded" in output


def test_history_for_people_says_from_when_it_held_where_somebody_said_so(nacre: CommandLine) -> None:
    nacre.ok("remember", "The tide is high", "--id", "tide", "--valid-from", "2026-01-01")
    assert "from 2026-01-01 00:00" in nacre.ok("history", "tide", "-f", "table")


def test_history_can_be_narrowed_to_what_was_known_or_held(filled: CommandLine) -> None:
    before = moment()
    filled.ok("supersede", "old", "new")
    assert [each["id"] for each in filled.json("history", "old", "--as-of", before)["versions"]] == ["old"]
    assert [each["id"] for each in filled.json("history", "new", "--valid-at", "2026-02-01")["versions"]] == ["old"]
    assert filled("history", "new", "--valid-at", "2025-01-01").exit_code == 0  # nobody said when the old one began
    assert filled("history", "zzz").exit_code == 1


@pytest.mark.parametrize("day", ["2025-01-01", "2026-02-01", "2026-04-01", "yesterday"])
def test_a_list_of_what_held_agrees_with_the_history(superseded: CommandLine, day: str) -> None:
    versions = ids(superseded.json("history", "new", "--valid-at", day)["versions"])
    assert ids(superseded.json("list", "--valid-at", day)) == versions


def test_times_can_be_given_in_words(nacre: CommandLine) -> None:
    nacre.ok("remember", "The boiler was cleaned", "--id", "boiler", "--occurred-at", "yesterday")
    occurred = str(nacre.json("show", "boiler")["occurred_at"])
    assert (seconds(moment()) - seconds(occurred)) // DAY in (1, 2)
    assert ids(nacre.json("list", "--since", "yesterday")) == ["boiler"]
    assert nacre.json("list", "--until", "last week") == []


def test_list_recall_and_pack_answer_as_they_would_have_then(filled: CommandLine) -> None:
    then = moment()
    filled.ok("edit", "old", "--text", "Bread needs flour")
    filled.ok("forget", "new", "--yes")
    filled.ok("remember", "The server runs Nginx", "--id", "later")
    assert ids(filled.json("list", "--as-of", then)) == ["new", "old"]
    assert ids(filled.json("recall", "Python server", "--as-of", then)) == ["new", "old"]
    assert "Python 3.10" in filled.ok("pack", "Python server", "--as-of", then)
    assert ids(filled.json("list")) == ["later", "old"]
    assert filled.json("show", "old", "--as-of", then)["text"] == "The server runs Python 3.10"
    assert filled.json("show", "old", "--as-of", then)["journal"][0]["act"] == "remember"


def test_what_held_at_a_time_is_found_though_it_is_superseded(superseded: CommandLine) -> None:
    for command in (["list"], ["recall", "Python"]):
        assert ids(superseded.json(*command, "--valid-at", "2026-02-01")) == ["old"]
        assert ids(superseded.json(*command, "--valid-at", "2026-04-01")) == ["new"]
    assert "3.10" in superseded.ok("pack", "Python", "--valid-at", "2026-02-01")
    assert superseded.json("show", "new", "--valid-at", "2026-02-01")["id"] == "old"


def test_show_shows_since_when_and_until_when_it_held(superseded: CommandLine) -> None:
    assert "valid until     2026-03-01T00:00:00Z" in superseded.ok("show", "old")
    assert "valid from      2026-03-01T00:00:00Z" in superseded.ok("show", "new")


@pytest.mark.slow
def test_links_are_walked_as_they_were_known_then(filled: CommandLine) -> None:
    filled.ok("unlink", "new", "old")
    none = moment()
    filled.ok("link", "new", "old")
    one = moment()
    filled.ok("unlink", "new", "old")
    assert filled.json("neighbors", "new") == [] and filled.json("neighbors", "new", "--as-of", none) == []
    assert ids(filled.json("neighbors", "new", "--as-of", one)) == ["old"]
    assert len(filled.json("graph", "new", "--as-of", one)["edges"]) == 1
    assert "old" in filled.ok("graph", "--as-of", one)
    assert len(filled.json("path", "new", "old", "--as-of", one)) == 2
    assert filled("path", "new", "old").exit_code == 1
    assert "related →" in filled.ok("show", "new", "--as-of", one)


def test_a_day_on_which_a_memory_did_not_hold_is_named_as_it_was_typed(nacre: CommandLine) -> None:
    nacre.after(("remember", "The office is in Kiel", "--id", "kiel", "--valid-from", "2026-05-01"))
    shown = nacre("show", "kiel", "--valid-at", "2026-04-30")
    assert shown.exit_code == 1 and "'kiel' was not known to hold on 2026-04-30; `nacre memory history" in shown.stderr


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (
            ["show", "old", "--as-of", "2020-01-01"],
            1,
            "'old' was not there at the end of 2020-01-01; `nacre memory history old`",
        ),
        (["show", "old", "--as-of", "2020-01-01T08:00Z"], 1, "'old' was not there at 2020-01-01T08:00:00"),
        (["show", "zzz", "--as-of", "2020-01-01"], 1, "'zzz' was not there at the end of 2020-01-01.\n"),
        (["list", "--as-of", "someday"], 2, "7d"),
        (["list", "--as-of", "2999-01-01"], 2, "still to come"),
        (["recall", "x", "--valid-at", "someday"], 2, "7d"),
        (["history", "old", "--as-of", "2020-01-01"], 1, "old"),
        (["diff"], 2, "WHEN"),
        (["diff", "someday"], 2, "7d"),
        (["diff", "1d", "2999-01-01"], 2, "still to come"),
    ],
)
def test_a_time_that_cannot_be_asked_about_is_one_sentence(
    filled: CommandLine, words: list[str], code: int, says: str
) -> None:
    result = filled(*words)
    assert (result.exit_code, result.stdout) == (code, "")
    assert says in result.stderr


def test_diff_shows_what_came_went_and_changed(filled: CommandLine) -> None:
    then = moment()
    filled.ok("remember", "Nginx is in front", "--id", "later")
    filled.ok("edit", "old", "-i", "0.9", "--add-tag", "ops")
    filled.ok("undo", filled.json("journal", "new")[0]["batch"])
    result = filled("diff", then)
    assert result.stdout.split("\n")[:-1] == [
        "+\tlater\t\t\tNginx is in front\tdefault",
        "-\tnew\t\tThe server runs Python 3.12\t\tdefault",
        "~\told\ttags\t(nothing)\tops\tdefault",
        "~\told\timportance\t0.55\t0.9\tdefault",
    ]
    assert "1 memory came, 1 went, 1 changed" in result.stderr
    output = filled.json("diff", then)
    assert (ids(output["added"]), ids(output["removed"])) == (["later"], ["new"])
    assert output["changed"] == [
        {
            "id": "old",
            "space": "default",
            "before": {"tags": [], "importance": 0.55},
            "after": {"tags": ["ops"], "importance": 0.9},
        }
    ]
    assert "0.55 → 0.9" in filled.ok("diff", then, "-f", "table")


def test_what_is_forgotten_went_and_what_is_restored_came(filled: CommandLine) -> None:
    before = moment()
    filled.ok("forget", "new", "-y")
    filled.ok("remember", "Nobody lists this", "--id", "brief")
    filled.ok("forget", "brief", "-y")
    forgotten = moment()
    result = filled("diff", before)
    assert result.stdout == "-\tnew\t\tThe server runs Python 3.12\t\tdefault\n"
    assert "0 memories came, 1 went, 0 changed" in result.stderr
    filled.ok("trash", "restore", "new")
    result = filled("diff", forgotten)
    assert result.stdout == "+\tnew\t\t\tThe server runs Python 3.12\tdefault\n"
    assert "1 memory came, 0 went, 0 changed" in result.stderr
    assert ids(filled.json("diff", before, forgotten)["removed"]) == ["new"]


def test_diff_of_two_times_takes_them_in_either_order_and_days_whole(filled: CommandLine) -> None:
    then = moment()
    filled.ok("remember", "too late", "--id", "late")
    today = datetime.now(UTC).date().isoformat()
    assert ids(filled.json("diff", "1h", then)["added"]) == ["new", "old"]
    assert ids(filled.json("diff", then, "1h")["added"]) == ["new", "old"]
    assert ids(filled.json("diff", today, today)["added"]) == ["late", "new", "old"]
    assert filled.json("diff", then, then) == {"added": [], "removed": [], "changed": []}


def test_a_compacted_past_is_reported_as_lost(filled: CommandLine) -> None:
    then = moment()
    filled.ok("edit", "old", "-i", "0.9")
    filled.ok("journal", "compact", "--older-than", "0d", "--yes")
    for words in (["list", "--as-of", then], ["show", "old", "--as-of", then], ["diff", then]):
        result = filled(*words)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "compacted" in result.stderr
    assert filled.json("show", "old")["importance"] == 0.9


def test_an_undo_says_how_many_operations_it_took_back_and_why(nacre: CommandLine) -> None:
    nacre.ok("remember", "The pump is blue", "--id", "pump")
    for colour in ("red", "green"):
        nacre.ok("edit", "pump", "--text", f"The pump is {colour}")
    nacre.ok("undo", "--last", "2", "--reason", "wrong")
    assert "because: undid 2 operations: wrong" in nacre.ok("history", "pump", "-f", "table")
    nacre.ok("edit", "pump", "--text", "The pump is grey")
    nacre.ok("undo")
    assert nacre.ok("history", "pump", "-f", "table").rstrip().endswith("because: undid 1 operation")
