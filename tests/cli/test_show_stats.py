"""nacre stats: numbers for programs, small pictures for people."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nacre import MemoryStore
from nacre.cli.ui.charts import bars, sparkline
from tests.cli.terminal import conversation
from tests.command_line import CommandLine

WEEK = 7 * 86_400.0


@pytest.fixture
def grown(nacre: CommandLine) -> CommandLine:
    with MemoryStore(nacre.store, embedder="hashing") as store:
        now = store.now()
        for weeks_ago, how_many in ((0, 1), (2, 8), (40, 3)):
            for number in range(how_many):
                store.remember(
                    f"{weeks_ago} {number}",
                    created_at=now - weeks_ago * WEEK,
                    type="episodic" if number % 4 else "semantic",
                    tags=["often"] if number else ["rare"],
                    on_conflict="ignore",
                )
    return nacre


def test_growth_counts_by_the_week_and_shows_the_gaps(grown: CommandLine) -> None:
    result = grown.json("stats")
    assert list(result["growth"].values()) == [8, 0, 1]
    assert all(datetime.fromisoformat(day).replace(tzinfo=UTC).weekday() == 0 for day in result["growth"])
    assert result["total"] == 12 and result["by_type"] == {"episodic": 8, "semantic": 4}


def test_a_pipe_gets_the_same_lines_and_the_weeks(grown: CommandLine) -> None:
    lines = dict(line.split("\t") for line in grown.ok("stats").splitlines())
    assert (lines["total"], lines["by type episodic"], lines["top tags often"]) == ("12", "8", "9")
    assert [count for name, count in lines.items() if name.startswith("growth week of ")] == ["8", "0", "1"]


@pytest.mark.slow
def test_a_terminal_gets_bars_and_a_sparkline(grown: CommandLine) -> None:
    seen, code = conversation("stats", NACRE_STORE=str(grown.store))
    assert code == 0 and "█" * 30 + " 8" in seen and "█▁▂" in seen


def test_the_picture_says_how_many_are_older_than_it(grown: CommandLine) -> None:
    seen, _ = conversation("stats", NACRE_STORE=str(grown.store))
    assert "(3 older ones are not drawn)" in " ".join(seen.split())
    for memory in grown.json("list", "-n", "0"):
        if memory["text"].startswith("40"):
            grown.ok("forget", memory["id"], "--yes")
    assert "not drawn" not in conversation("stats", NACRE_STORE=str(grown.store))[0]


def test_a_terminal_that_has_only_ascii_gets_that(grown: CommandLine) -> None:
    seen, code = conversation("stats", NACRE_STORE=str(grown.store), PYTHONIOENCODING="ascii")
    assert code == 0 and seen.isascii() and "#" * 30 + " 8" in seen and "#_." in seen


def test_an_empty_store_has_no_pictures(nacre: CommandLine) -> None:
    output = nacre.ok("stats", "-f", "table")
    assert "types" not in output and "week" not in output
    assert list(bars({})) == [] and sparkline([]) == ""


def test_what_is_there_is_seen_however_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nacre.cli.ui.charts.writes_unicode", lambda: True)
    small = list(bars({"much": 10_000, "little": 1, "none": 0}))
    assert "▏ 1" in small[1] and small[2].endswith(" 0")
    assert sparkline([0, 1, 10_000]) == "▁▂█"


def test_what_matches_nothing_names_the_day_as_it_was_typed(grown: CommandLine) -> None:
    assert "Nothing matches --as-of 2020-09-01.\n" in grown("list", "--as-of", "2020-09-01").stderr
    assert "last week" not in grown("list", "--since", "last week", "-g", "none").stderr


def test_a_list_whose_dates_are_not_in_order_says_what_orders_it(nacre: CommandLine) -> None:
    says = "Sorted by when each was created; a date is since when it holds, or when it happened."
    nacre.ok("remember", "The pier was painted", "--occurred-at", "2026-03-01")
    nacre.ok("remember", "The ferry was sold", "--occurred-at", "2026-04-01")
    assert says not in nacre("list", "-f", "table").stderr
    nacre.ok("remember", "The crane was bought", "--occurred-at", "2026-02-01")
    assert says in nacre("list", "-f", "table").stderr
    assert says not in nacre("list", "-f", "table", "--sort", "importance").stderr
    assert says not in nacre("list").stderr


def test_a_long_name_of_a_field_is_apart_from_its_value(nacre: CommandLine) -> None:
    nacre.ok("remember", "The crane is red", "--id", "crane")
    nacre.ok("memory", "validate", "crane")
    assert "\nlast validated at 20" in nacre.ok("show", "crane")


def test_the_metadata_that_show_prints_is_taken_by_edit(nacre: CommandLine) -> None:
    metadata = '{"sure": true, "page": null, "by": "it\'s Zoë"}'
    nacre.ok("remember", "The crane is red", "--id", "crane", "--metadata", metadata)
    (printed,) = (line for line in nacre.ok("show", "crane").splitlines() if line.startswith("metadata"))
    assert printed.removeprefix("metadata").strip() == metadata
    nacre.ok("edit", "crane", "--metadata", printed.removeprefix("metadata"))


def test_times_that_a_replacement_set_are_times_in_json(nacre: CommandLine) -> None:
    nacre.ok("remember", "The crane is red", "--id", "old")
    nacre.ok("remember", "The crane is green", "--id", "new", "--replaces", "old")
    shown, ended = nacre.json("show", "new"), nacre.json("show", "old")["valid_until"]
    expected = {"valid_until": ended, "valid_from_set": True}
    (link,) = (each for each in shown["links"] if each["rel"] == "supersedes")
    assert link["data"] == expected
    (stored,) = (each for each in shown["journal"] if each["act"] == "remember")
    assert stored["after"]["links"][0]["data"] == expected


def test_what_lists_the_other_links_is_a_command_that_does(nacre: CommandLine) -> None:
    nacre.ok("remember", "--lines", input="".join(f"fact number {number}\n" for number in range(13)))
    with MemoryStore(nacre.store, embedder="hashing") as store:
        first, *others = store.list_recent()
        for other in others:
            store.link(first.id, other.id)
    advised = f"nacre graph neighbors {first.id[:8]}"
    assert f"and 2 more; `{advised}` lists them all" in nacre.ok("show", first.id)
    assert len(nacre.json(*advised.split()[1:])) == 12
