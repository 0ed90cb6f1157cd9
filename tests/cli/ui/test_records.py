"""Marks in lists of memories: short, explained where one occurs, and only at a terminal."""

from __future__ import annotations

import json

from nacre import Memory
from nacre.cli.ui.records import MARKS, marks, marks_line
from tests.cli.terminal import conversation
from tests.command_line import CommandLine


def test_each_mark_has_its_letter_and_its_line() -> None:
    replaced = Memory("a", "x", superseded_by="b", pinned=True)
    doubted = Memory("b", "x", trust=0.3)
    assert (marks(replaced), marks(doubted), marks(doubted, {"b"})) == ("sp", "t", "ct")
    assert marks(Memory("c", "x")) == "" and marks_line([Memory("c", "x")]) == []
    (line,) = marks_line([replaced, doubted], {"b"})
    assert all(f"{mark} = {text}" in line for mark, text in MARKS.items())
    assert marks_line([doubted]) == [f"Marks: t = {MARKS['t']}."]


def test_a_list_at_a_terminal_marks_what_a_reader_should_know(nacre: CommandLine) -> None:
    nacre.ok("remember", "the gate opens at 8", "--id", "older")
    nacre.ok("remember", "the well is deep", "--id", "plain")
    seen, _ = conversation("list", NO_COLOR="1")
    assert "Marks:" not in seen
    nacre.ok("remember", "the gate opens at 9", "--id", "newer")
    nacre.ok("pin", "plain")
    seen, code = conversation("list", NO_COLOR="1")
    rows = {id: line for id in ("older", "newer", "plain") for line in seen.splitlines() if line.startswith(id)}
    assert code == 0 and [" c " in rows[id] for id in ("older", "newer", "plain")] == [True, True, False]
    assert " p " in rows["plain"]
    said = " ".join(seen.split())
    assert "Marks: c = in conflict with another, until `nacre review` settles it; p = pinned, and never fades." in said
    nacre.ok("supersede", "older", "newer")
    seen, _ = conversation("list", "--superseded", NO_COLOR="1")
    assert "Marks: s = superseded by a newer one." in " ".join(seen.split())


def test_pipes_and_programs_get_fields_and_no_marks(nacre: CommandLine) -> None:
    nacre.ok("remember", "the well is deep", "--id", "plain")
    nacre.ok("pin", "plain")
    piped = nacre("list")
    assert "Marks" not in piped.output and " p\t" not in piped.stdout
    (record,) = json.loads(nacre.ok("list", "-f", "json"))
    assert record["pinned"] is True and {"superseded_by", "trust", "links"} <= record.keys()
