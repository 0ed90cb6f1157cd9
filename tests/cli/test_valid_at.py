"""Ties as they held at another time: --valid-at on neighbors, graph and path."""

from __future__ import annotations

import pytest

from nacre import Link, MemoryStore
from tests.command_line import CommandLine


@pytest.fixture
def changed(nacre: CommandLine) -> CommandLine:
    """The office stood in Lyon until 2020 and stands in Turin since; the team sits where the office is."""
    with MemoryStore(nacre.store, embedder="hashing", on_conflict="ignore") as store:
        store.remember("The office is in Lyon.", id="lyon", valid_from="2010-01-01")
        store.remember("The office is in Turin.", id="turin", valid_from="2020-01-01")
        store.remember("The team sits in the office.", id="team", links=[Link("lyon"), Link("turin")])
        store.supersede("lyon", "turin")
    return nacre


def near(nacre: CommandLine, *words: str) -> set[str]:
    return {each["id"] for each in nacre.json("neighbors", "team", *words)}


def test_only_what_held_then_is_walked(changed: CommandLine) -> None:
    assert near(changed) == {"turin"}
    assert near(changed, "--valid-at", "2015-06-01") == {"lyon"}
    assert near(changed, "--valid-at", "2022-06-01") == {"turin"}
    assert near(changed, "--hidden") == {"lyon", "turin"}


def test_a_graph_shows_what_held_then(changed: CommandLine) -> None:
    for words in (["team"], []):
        nodes = changed.json("graph", *words, "--valid-at", "2015-06-01")["nodes"]
        assert {each["id"] for each in nodes} == {"team", "lyon"}


def test_a_path_leads_only_over_what_held_then(changed: CommandLine) -> None:
    assert changed("path", "team", "lyon", "--valid-at", "2015-06-01").exit_code == 0
    assert changed("path", "team", "turin", "--valid-at", "2015-06-01").exit_code == 1
