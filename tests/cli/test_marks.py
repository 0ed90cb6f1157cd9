"""nacre memory tag, bump and merge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import CommandLine


def rendered(nacre: CommandLine, id: str) -> dict[str, object]:
    result: dict[str, object] = nacre.json("show", id)
    return result


@pytest.fixture
def ids(nacre: CommandLine) -> list[str]:
    return [
        nacre.ok("remember", text, "--id", id, "-i", "0.5", "--on-conflict", "ignore")
        for id, text in (("aa1", "the bell rings at noon"), ("bb2", "at noon the bell rings"), ("cc3", "ring, bell"))
    ]


@pytest.mark.slow
def test_tags_come_and_go_and_undo_brings_them_back(nacre: CommandLine, ids: list[str]) -> None:
    nacre.ok("tag", "aa", "bb", "--add", "bell", "--add", "noon")
    nacre.ok("tag", "aa", "--remove", "noon")
    assert [rendered(nacre, id)["tags"] for id in ids] == [["bell"], ["bell", "noon"], []]
    nacre.ok("undo")
    assert rendered(nacre, "aa")["tags"] == ["bell", "noon"]
    assert "Nothing to do" in nacre("tag", "aa", "--add", "bell").stderr
    assert nacre("tag", "aa").exit_code == 2


@pytest.mark.parametrize(("change", "importance"), [("+0.2", 0.7), ("-0.1", 0.4), ("=0.9", 0.9), ("+1", 1.0)])
def test_an_importance_goes_up_down_or_where_it_is_put(
    nacre: CommandLine, ids: list[str], change: str, importance: float
) -> None:
    assert f"{importance:g} now" in nacre("bump", ids[0], change).stderr
    assert rendered(nacre, "aa")["importance"] == importance


@pytest.mark.slow
def test_several_are_bumped_in_one_operation(nacre: CommandLine, ids: list[str]) -> None:
    nacre.ok("bump", *ids, "-0.25")
    assert [rendered(nacre, id)["importance"] for id in ids] == [0.25] * 3
    nacre.ok("undo")
    assert [rendered(nacre, id)["importance"] for id in ids] == [0.5] * 3


@pytest.mark.parametrize("words", [["0.3"], ["=2"], ["more"], ["+0.1", "--whyy", "x"]])
def test_what_is_no_change_is_refused(nacre: CommandLine, ids: list[str], words: list[str]) -> None:
    assert nacre("bump", ids[0], *words).exit_code == 2
    assert rendered(nacre, "aa")["importance"] == 0.5


@pytest.mark.slow
def test_merging_leaves_one_and_undo_brings_back_three(nacre: CommandLine, ids: list[str]) -> None:
    assert "would replace bb2, cc3" in nacre("merge", *ids, "--dry-run").stderr
    assert nacre("merge", *ids, input="n\n").exit_code == 2
    assert len(nacre.json("list")) == 3
    nacre.ok("merge", *ids, "--yes", "--text", "The bell rings at noon, once.")
    assert [each["text"] for each in nacre.json("list")] == ["The bell rings at noon, once."]
    nacre.ok("undo")
    assert len(nacre.json("list")) == 3


def test_what_is_in_the_trash_is_not_merged(nacre: CommandLine, ids: list[str]) -> None:
    nacre.ok("forget", "bb", "--yes")
    refused = nacre("merge", "aa", "bb")
    assert refused.exit_code == 3 and "nacre trash restore" in refused.stderr
    assert nacre("merge", "aa", "aa").exit_code == 2
    assert nacre("merge", "aa", "nobody").exit_code == 1
    assert len(ids) == 3


def test_nothing_is_merged_into_what_is_archived_nor_promised(nacre: CommandLine, ids: list[str]) -> None:
    nacre.ok("archive", "aa")
    for words in ([], ["--dry-run"]):
        refused = nacre("merge", *ids[:2], *words)
        assert refused.exit_code == 2 and "nacre memory unarchive aa1" in refused.stderr
    assert len(nacre.json("list")) == 2


def test_a_merge_in_the_editor_takes_what_was_saved_and_nothing_when_nothing_was(
    nacre: CommandLine, ids: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor, opened = tmp_path / "editor.sh", tmp_path / "opened.txt"
    editor.write_text(f'#!/bin/sh\ncp "$1" {opened}\necho "The bell rings at noon, once." > "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    nacre.ok("merge", *ids[:2], "--edit", "--yes")
    assert opened.read_text().strip() == "the bell rings at noon\n\nat noon the bell rings"
    assert rendered(nacre, "aa")["text"] == "The bell rings at noon, once."
    nacre.ok("undo")
    monkeypatch.setenv("EDITOR", "true")
    unsaved = nacre("merge", *ids[:2], "--edit", "--yes")
    assert unsaved.exit_code == 2 and "nothing was merged" in unsaved.stderr and len(nacre.json("list")) == 3
    both = nacre("merge", *ids[:2], "--edit", "--text", "x", "--yes")
    assert both.exit_code == 2 and "give one of them" in both.stderr
