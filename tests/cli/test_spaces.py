"""nacre space list, and nacre space: create, copy, rename, delete."""

from __future__ import annotations

import re
import shlex

from tests.command_line import CommandLine


def spaces(nacre: CommandLine) -> dict[str, int]:
    return {each["space"]: each["memories"] for each in nacre.json("spaces")}


def test_an_empty_space_is_there_with_its_description(nacre: CommandLine) -> None:
    nacre.ok("space", "create", "work", "-d", "by day")
    assert nacre.json("spaces") == [{"space": "work", "memories": 0, "description": "by day", "here": ""}]
    assert "already" in nacre("space", "create", "work").stderr


def test_a_copy_can_be_tried_made_and_taken_back(nacre: CommandLine) -> None:
    nacre.ok("remember", "one")
    assert "nothing was changed" in nacre("space", "copy", "default", "work", "--dry-run").stderr
    assert spaces(nacre) == {"default": 1}
    nacre.ok("space", "copy", "default", "work")
    assert spaces(nacre) == {"default": 1, "work": 1}
    assert "1 were there already" in nacre("space", "copy", "default", "work").stderr
    nacre.ok("--space", "work", "undo")
    assert spaces(nacre) == {"default": 1}


def test_a_rename_can_be_tried_made_and_taken_back(nacre: CommandLine) -> None:
    nacre.ok("remember", "one")
    nacre.ok("space", "rename", "default", "work", "--dry-run")
    assert spaces(nacre) == {"default": 1}
    assert "settings still name default" in nacre("space", "rename", "default", "work").stderr
    assert spaces(nacre) == {"work": 1}
    assert "settings" not in nacre("space", "rename", "work", "home").stderr
    nacre.ok("--space", "home", "undo")
    nacre.ok("--space", "work", "undo")
    assert spaces(nacre) == {"default": 1}


def test_what_is_advised_after_a_rename_was_taken_back_works(nacre: CommandLine) -> None:
    nacre.ok("--space", "pier", "remember", "one")
    nacre.ok("space", "rename", "pier", "quay")
    said = nacre("--space", "quay", "undo").stderr
    advice = re.search(r"Undid rename_space \w+ .*`nacre (.*)` does it again", said)
    assert advice is not None and "--space pier" in advice[1], said
    assert spaces(nacre) == {"pier": 1}
    nacre.ok(*shlex.split(advice[1]))
    assert spaces(nacre) == {"quay": 1}


def test_deleting_asks_for_the_name(nacre: CommandLine) -> None:
    nacre.ok("remember", "one")
    assert nacre("space", "delete", "default", input="y\n").exit_code == 2
    assert nacre("space", "delete", "default", input="").exit_code == 2
    assert len(nacre.json("list")) == 1
    assert nacre("space", "delete", "default", input="default\n").exit_code == 0
    assert nacre.json("list") == [] and len(nacre.json("list", "--trashed")) == 1
    assert "What is in the trash is counted, too." in nacre("space", "list").stderr
    nacre.ok("undo")
    assert len(nacre.json("list")) == 1


def test_purging_leaves_nothing(nacre: CommandLine) -> None:
    nacre.ok("remember", "heliotrope")
    assert "1 memory" in nacre("space", "delete", "default", "--purge", "--dry-run").stderr
    nacre.ok("space", "delete", "default", "--purge", "--yes")
    assert spaces(nacre) == {}
    assert "heliotrope" not in nacre.ok("journal")


def test_a_name_is_taken_until_its_space_is_purged(nacre: CommandLine) -> None:
    nacre.ok("remember", "one")
    nacre.ok("--space", "work", "remember", "two")
    nacre.ok("--space", "work", "undo")
    refused = nacre("space", "rename", "default", "work")
    assert refused.exit_code == 2 and "nacre space delete --purge" in refused.stderr
    nacre.ok("space", "delete", "work", "--purge", "--yes")
    nacre.ok("space", "rename", "default", "work")
    assert spaces(nacre) == {"work": 1}


def test_a_mistyped_space_is_reported(nacre: CommandLine) -> None:
    nacre.ok("remember", "one")
    for words in (["copy", "defualt", "x"], ["rename", "defualt", "x"], ["delete", "defualt", "--yes"]):
        assert nacre("space", *words).exit_code == 1
    nacre.ok("--space", "work", "remember", "two")
    assert nacre("space", "rename", "default", "work").exit_code == 2


def test_a_memory_moves_to_another_space_and_one_undo_brings_it_back(nacre: CommandLine) -> None:
    nacre.ok("remember", "The boat is red", "--id", "old")
    nacre.ok("remember", "The boat is blue", "--id", "new", "--replaces", "old")
    said = nacre("memory", "move", "new", "--to", " garden ").stderr
    assert "Created the space 'garden'." in said
    assert "Moved 1 memory from default to garden, with 1 other version of them; `nacre undo` takes it back." in said
    assert nacre.ok("list") == "" and len(nacre.json("--space", "garden", "list")) == 1
    (entry,) = [each for each in nacre.json("journal", "--operation", "move") if each["kind"] != "memory"]
    assert (entry["kind"], entry["memory_id"]) == ("other space", "garden")
    undone = nacre("--space", "garden", "undo").stderr
    assert "Undid move " in undone and "other space" not in undone
    assert "new is back in default: The boat is blue" in undone and "new is no longer in garden: The boat" in undone
    assert [each["id"] for each in nacre.json("list")] == ["new"] and nacre.ok("--space", "garden", "list") == ""
    assert "`nacre memory move ID --to SPACE`" in nacre("move", "new").stderr


def test_a_move_names_what_it_cannot_do(nacre: CommandLine) -> None:
    nacre.ok("remember", "The boat is red", "--id", "boat")
    assert nacre("memory", "move", "boat").exit_code == 2, "where to is not said"
    assert "in the space 'default' already" in nacre("memory", "move", "boat", "--to", "default").stderr
    nacre.ok("forget", "boat", "--yes")
    assert "in the trash" in nacre("memory", "move", "boat", "--to", "garden").stderr
