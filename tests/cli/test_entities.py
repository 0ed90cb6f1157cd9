"""nacre graph entities, and names in nacre review"""

from __future__ import annotations

import pytest

from nacre import MemoryStore
from tests.cli.terminal import conversation
from tests.command_line import CommandLine

KEYS = "[?] "


@pytest.fixture
def named(nacre: CommandLine) -> CommandLine:
    with MemoryStore(nacre.store, embedder="hashing") as store:
        store.remember("mends sails", id="sails", entities=["Sarah Chen"])
        store.remember("bought rope", id="rope", entities=["S. Chen"])
        store.remember("waits at the pier", id="pier", entities=["Sarah Chen", "Olga Ek"])
    return nacre


def test_the_names_are_listed_with_how_often_they_come(named: CommandLine) -> None:
    assert named.json("entities") == [
        {"name": "Sarah Chen", "aliases": [], "count": 2},
        {"name": "Olga Ek", "aliases": [], "count": 1},
        {"name": "S. Chen", "aliases": [], "count": 1},
    ]
    assert named.ok("entities", "-n", "1").splitlines() == ["Sarah Chen\t2\t"]


def test_a_store_without_names_says_how_to_have_some(nacre: CommandLine) -> None:
    nacre.ok("remember", "something")
    result = nacre("entities")
    assert (result.stdout, result.exit_code) == ("", 0)
    assert "--entity NAME" in result.stderr
    assert "No two names" in nacre("entities", "--suggest").stderr


def test_names_that_may_be_one_are_suggested_with_the_reason(named: CommandLine) -> None:
    assert named.ok("entities", "--suggest") == "Sarah Chen\tS. Chen\tinitials of the same name"


def test_names_are_merged_and_the_merge_undone(named: CommandLine) -> None:
    result = named("entities", "merge", "Sarah Chen", "S. Chen", "--why", "same boat")
    assert "`nacre undo`" in result.stderr
    assert named.json("entities")[0] == {"name": "Sarah Chen", "aliases": ["S. Chen"], "count": 3}
    assert sorted(each["id"] for each in named.json("entities", "about", "s. chen")) == ["pier", "rope", "sails"]
    assert "already" in named("entities", "merge", "Sarah Chen", "S. Chen").stderr
    assert named.json("journal")[0]["why"] == "same boat"
    named.ok("undo")
    assert [each["id"] for each in named.json("entities", "about", "S. Chen")] == ["rope"]


def test_an_alias_is_taken_away(named: CommandLine) -> None:
    named.ok("entities", "merge", "Sarah Chen", "S. Chen")
    assert "'S. Chen' is not 'Sarah Chen' any more" in named("entities", "unalias", "S. Chen").stderr
    again = named("entities", "unalias", "S. Chen")
    assert again.exit_code != 0 and "nobody's alias" in again.stderr


def test_a_name_that_no_memory_has_says_where_to_look(named: CommandLine) -> None:
    result = named("entities", "about", "Boris")
    assert (result.stdout, result.exit_code) == ("", 0)
    assert "No memory names 'Boris'" in result.stderr and "`nacre recall`" in result.stderr


def test_the_review_list_has_the_names_in_its_own_words(named: CommandLine) -> None:
    (item,) = named.json("review", "--kind", "entity")
    assert (item["id"], item["names"]) == ("entity:Sarah Chen:S. Chen", ["Sarah Chen", "S. Chen"])
    assert "Sarah Chen = S. Chen" in named.ok("review", "--list")


def test_a_script_decides_about_names(named: CommandLine) -> None:
    named.ok("review", "decide", "entity:Sarah", "merge", "--into", "S. Chen")
    assert named.json("entities")[0]["name"] == "S. Chen"
    named.ok("undo")
    named.ok("review", "decide", "entity:Sarah", "distinct")
    assert named.json("review") == []


def test_a_person_decides_about_names_key_by_key(named: CommandLine) -> None:
    screen, _ = conversation("review", answers=((KEYS, "m"), ("fuller one)? ", "\n")))
    assert "'S. Chen' may be 'Sarah Chen'" in screen and "Both names mean one now." in screen
    assert named.json("entities")[0]["aliases"] == ["S. Chen"]
    named.ok("undo")
    screen, _ = conversation("review", answers=((KEYS, "d"),))
    assert "you are not asked again" in screen
    assert named.json("entities", "--suggest") == []


def test_names_that_an_earlier_decision_made_one_are_passed_over(named: CommandLine) -> None:
    with MemoryStore(named.store, embedder="hashing") as store:
        store.remember("owes a round", entities=["Chen"])
    waiting = len(named.json("review"))
    screen, _ = conversation(
        "review", answers=((KEYS, "m"), ("fuller one)? ", "\n"), (KEYS, "m"), ("fuller one)? ", "\n"))
    )
    assert waiting == 3 and "Settled 2 of 3, and 1 other no longer waits." in screen
    assert named.json("entities")[0]["count"] == 4
