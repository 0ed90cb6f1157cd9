"""Certainty, the archive, pins and worth at the command line."""

from __future__ import annotations

import json

import pytest

from nacre.model.levels import LEVELS
from tests.cli.aged_memories import days_ago, opened, operations
from tests.command_line import CommandLine


@pytest.fixture
def held(nacre: CommandLine) -> CommandLine:
    with opened(nacre) as store:
        for id, confidence, source in (
            ("firm", 0.9, "inferred"),
            ("middle", 0.5, "observed"),
            ("weak", 0.3, "hearsay"),
        ):
            store.remember(f"a {id} belief", id=id, confidence=confidence, source=source, created_at=days_ago(730))
        store.remember("an event", id="event", type="episodic", confidence=0.8, created_at=days_ago(730))
    return nacre


def ids(results: list[dict[str, object]]) -> set[object]:
    return {each["id"] for each in results}


def test_an_audit_lists_confidence_and_source(held: CommandLine) -> None:
    assert ids(held.json("audit")) == {"firm", "middle", "weak", "event"}
    assert ids(held.json("audit", "--confidence", "high-", "--source", "inferred")) == {"firm"}
    held.ok("validate", "weak")
    assert ids(held.json("audit", "--unvalidated")) == {"firm", "middle", "event"}
    row = held.ok("audit", "--source", "hearsay").split("\t")
    assert (row[0], row[2], row[3], row[4], row[6]) == ("weak", "0.3", "", "hearsay", "a weak belief") and row[5]
    assert "never" in held.ok("audit", "-f", "table")


def test_the_levels_and_ranges_of_confidence_leave_nobody_out_and_nobody_twice(held: CommandLine) -> None:
    by_level = [ids(held.json("audit", "--confidence", level)) for level in LEVELS]
    assert by_level == [set(), {"weak"}, {"middle"}, set(), {"firm", "event"}]
    assert ids(held.json("audit", "--confidence", "0.5-0.8")) == {"middle", "event"}
    assert ids(held.json("audit", "--confidence", "0.85-")) == {"firm"}
    assert ids(held.json("audit", "--confidence", "-0.3")) == {"weak"}
    assert ids(held.json("audit", "--confidence", "-medium")) == {"weak", "middle"}
    assert ids(held.json("audit", "--confidence", "very-low-very-low")) == set()


def test_an_audit_shows_what_has_faded_and_how_much_there_is(held: CommandLine) -> None:
    faded = {each["id"]: each["faded_to"] for each in held.json("audit", "--fade")}
    assert faded["firm"] == pytest.approx(0.225, abs=0.01) and faded["event"] == 0.8, "an event does not fade"
    assert held.json("audit", "-n", "1")[0]["faded_to"] is None
    assert "There are more; -n 0" in held("audit", "-n", "3").stderr
    assert held("audit", "-n", "4").stderr == "" and len(held.json("audit", "-n", "0")) == 4
    assert "No memory matches" in held("audit", "--source", "nobody").stderr
    assert "0.90 → 0.2" in held.ok("audit", "--fade", "-f", "table")


@pytest.mark.parametrize("values", ["0.8", "firm", "0.9-0.2", "0-2", "-", "nan-1", ""])
def test_a_range_that_is_none_is_reported(held: CommandLine, values: str) -> None:
    result = held("audit", "--confidence", values)
    assert result.exit_code == 2 and "very-high, high-, 0.2-0.6" in result.stderr


def test_fading_is_a_plan_then_one_operation_that_undo_takes_back(held: CommandLine) -> None:
    before = operations(held)
    plan = held("fade")
    rows = [row.split("\t") for row in plan.stdout.splitlines()]
    assert {row[0] for row in rows} == {"firm", "middle", "weak"} and rows[0][0] == "weak"
    assert "3 memories are less certain now; --apply" in plan.stderr and operations(held) == before
    assert "0.90 → 0.2" in held.ok("fade", "-f", "table")
    assert "Lowered the confidence of 3 memories; `nacre undo`" in held("fade", "--apply", "--why", "yearly").stderr
    assert operations(held) == before + 1 and held.json("show", "firm")["confidence"] == pytest.approx(0.225, abs=0.01)
    assert "Nothing is noticeably less certain" in held("fade").stderr
    held.ok("undo")
    assert held.json("show", "firm")["confidence"] == 0.9


def test_the_half_life_is_a_length_of_time(held: CommandLine) -> None:
    (firm,) = [each for each in held.json("fade", "--half-life", "730d") if each["id"] == "firm"]
    assert firm["faded_to"] == pytest.approx(0.45, abs=0.01)
    for bad, output in (("365", "write 12h"), ("0d", "must be longer than zero"), ("long", "is not a duration")):
        result = held("fade", "--half-life", bad)
        assert result.exit_code == 2 and output in result.stderr


@pytest.mark.slow
def test_what_is_archived_is_out_of_sight_and_can_be_asked_for(nacre: CommandLine) -> None:
    for id in ("a1", "b2", "c3"):
        nacre.ok("remember", f"the harbour of {id}", "--id", id)
    before = operations(nacre)
    assert "Archived 2 memories." in nacre("archive", "a1", "b2", "--why", "old").stderr
    assert operations(nacre) == before + 1
    assert ids(nacre.json("list")) == {"c3"} == ids(nacre.json("recall", "harbour"))
    assert ids(nacre.json("list", "--include-archived")) == {"a1", "b2", "c3"}
    assert ids(nacre.json("list", "--archived")) == {"a1", "b2"}
    assert ids(nacre.json("recall", "harbour", "--include-archived")) == {"a1", "b2", "c3"}
    assert len(json.loads(nacre.ok("pack", "harbour", "--include-archived", "-f", "json"))["items"]) == 3
    assert "so already" in nacre("archive", "a1").stderr and operations(nacre) == before + 1
    nacre.ok("undo")
    assert len(nacre.json("list")) == 3


def test_what_leaves_the_archive_is_where_it_was(nacre: CommandLine) -> None:
    nacre.ok("remember", "short", "--id", "short")
    with opened(nacre) as store:
        store.remember("long", id="long", status="long_term")
        store.remember("born there", id="born", status="archived")
    nacre.ok("archive", "short", "long")
    assert "Took out of the archive: 3 memories." in nacre("unarchive", "short", "long", "born").stderr
    statuses = {each["id"]: each["status"] for each in nacre.json("list")}
    assert statuses == {"short": "short_term", "long": "long_term", "born": "long_term"}
    nacre.ok("undo")
    assert len(nacre.json("list", "--archived")) == 3


def test_pins_are_set_and_taken_away_in_one_act_each(nacre: CommandLine) -> None:
    for id in ("a1", "b2"):
        nacre.ok("remember", f"text of {id}", "--id", id)
    before = operations(nacre)
    assert "Pinned 2 memories." in nacre("pin", "a1", "b2").stderr
    assert operations(nacre) == before + 1 and all(each["pinned"] for each in nacre.json("list"))
    assert "Unpinned a1: text of a1" in nacre("unpin", "a1").stderr
    assert not nacre.json("show", "a1")["pinned"]
    nacre.ok("undo")
    assert nacre.json("show", "a1")["pinned"]
    assert "so already" in nacre("pin", "a1").stderr


@pytest.mark.parametrize("command", ["pin", "unpin", "archive", "unarchive"])
def test_a_mark_on_what_is_not_there_or_in_the_trash_is_refused(nacre: CommandLine, command: str) -> None:
    nacre.ok("remember", "x", "--id", "x1")
    nacre.ok("forget", "x1", "--yes")
    before = operations(nacre)
    result = nacre(command, "x1")
    assert result.exit_code == 3 and "in the trash" in result.stderr
    missing = nacre(command, "nobody")
    assert missing.exit_code == 1 and operations(nacre) == before
    assert nacre(command).exit_code == 2
