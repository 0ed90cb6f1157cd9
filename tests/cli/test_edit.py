"""nacre edit, forget, restore, purge, supersede, undo, journal, reindex"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from nacre import Memory, MemoryStore
from nacre.cli.commands import edit
from nacre.cli.lookup import find_by_id
from tests import forked
from tests.command_line import CommandLine


@pytest.fixture
def filled(nacre: CommandLine) -> CommandLine:
    dates = ("--expires-at", "2099-01-01", "--valid-until", "2098-01-01")
    return nacre.after(
        ("remember", "old text", "--id", "one", "-g", "a", *dates), ("remember", "another", "--id", "two")
    )


def test_edit_takes_a_tag_as_remember_does(nacre: CommandLine) -> None:
    nacre.ok("remember", "Bread needs flour", "--id", "fact-bread", "-g", "food")
    nacre.ok("edit", "fact-bread", "-g", "kitchen", "--tag", "baking")
    assert nacre.json("show", "fact-bread")["tags"] == ["food", "kitchen", "baking"]


def test_edit_changes_what_is_named_and_nothing_else(filled: CommandLine) -> None:
    before = filled.json("show", "one")
    filled.ok("edit", "one", "--text", "new text", "-i", "0.8", "--add-tag", "b", "--remove-tag", "a", "--pin")
    after = filled.json("show", "one")
    assert (after["text"], after["importance"], after["tags"], after["pinned"]) == ("new text", 0.8, ["b"], True)
    same = ("id", "type", "created_at", "expires_at", "metadata", "title")
    assert {name: after[name] for name in same} == {name: before[name] for name in same}


def test_an_edit_says_what_the_settings_of_its_space_made_of_a_secret(nacre: CommandLine) -> None:
    address = "ada@" + "harbour.org"
    nacre.ok("config", "set", "spaces.mail.personal_data", "redact")
    nacre.ok("--space", "mail", "remember", "The address is known", "--id", "one")
    result = nacre("--space", "mail", "edit", "one", "--text", f"The address is {address}")
    assert "Kept without what looked like a secret (email)" in result.stderr
    assert address not in nacre.json("--space", "mail", "show", "one")["text"]


def test_edit_takes_text_from_stdin_and_clears_with_an_empty_value(filled: CommandLine) -> None:
    filled.ok("edit", "one", "--text", "-", "--expires-at", "", "--valid-until", "", "--unpin", input="from a pipe\n")
    after = filled.json("show", "one")
    assert (after["text"], after["expires_at"], after["valid_until"]) == ("from a pipe", None, None)


def test_edit_without_options_opens_the_editor(filled: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "sed -i s/old/edited/")
    filled.ok("edit", "one")
    assert filled.json("show", "one")["text"] == "edited text"


def test_the_visual_editor_comes_first(filled: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "sed -i s/old/set/")
    monkeypatch.setenv("EDITOR", "false")
    filled.ok("edit", "one")
    assert filled.json("show", "one")["text"] == "set text"


def test_an_editor_that_fails_or_saves_nothing_changes_nothing(
    filled: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "false")
    assert filled("edit", "one").exit_code == 2
    monkeypatch.setenv("EDITOR", "true")
    assert "Nothing changed" in filled("edit", "one").stderr
    assert filled.json("show", "one")["text"] == "old text"


def test_edit_refuses_an_empty_text(filled: CommandLine) -> None:
    assert filled("edit", "one", "--text", " ").exit_code == 2


@pytest.mark.parametrize("command", ["forget", "purge"])
@pytest.mark.parametrize("answer", ["", "\n", "n\n"])
def test_nothing_goes_without_a_yes(filled: CommandLine, command: str, answer: str) -> None:
    result = filled(command, "one", "two", input=answer)
    assert result.exit_code == 2
    assert "old text" in result.stderr and "2 memories?" in result.stderr
    assert len(filled.json("list")) == 2


def test_forget_moves_to_the_trash_and_restore_brings_back(filled: CommandLine) -> None:
    result = filled("forget", "one", "two", input="y\n")
    assert result.exit_code == 0 and "nacre trash restore" in result.stderr
    assert filled.json("list") == []
    assert "already" in filled("forget", "one", "-y").stderr
    filled.ok("restore", "one")
    assert [each["id"] for each in filled.json("list")] == ["one"]


def test_an_unknown_id_among_several_stops_all_of_them(filled: CommandLine) -> None:
    assert filled("forget", "one", "nine", "--yes").exit_code == 1
    assert len(filled.json("list")) == 2


def test_purge_says_that_it_is_for_good_and_is(filled: CommandLine) -> None:
    assert "for good" in filled("purge", "one", input="n\n").stderr
    filled.ok("purge", "one", "--yes")
    assert filled("show", "one").exit_code == 1
    assert [entry["act"] for entry in filled.json("journal", "one")] == ["purge", "remember"]
    assert all(entry["after"] is None for entry in filled.json("journal", "one"))


@pytest.mark.parametrize("command", ["purge", "redact"])
def test_what_is_no_longer_here_is_taken_out_of_the_past_by_its_whole_id(filled: CommandLine, command: str) -> None:
    filled.ok("undo")
    assert "another" in filled(command, "two", input="n\n").stderr
    filled.ok(command, "two", "--yes")
    entries = filled.json("journal", "two")
    assert len(entries) == 3 and all((entry["before"], entry["after"]) == (None, None) for entry in entries)
    for unknown in ("two", "nine"):
        assert filled(command, unknown, "--yes").exit_code == 1


def test_restoring_what_is_not_away_finds_nothing(filled: CommandLine) -> None:
    result = filled("restore", "one")
    assert result.exit_code == 1 and "neither" in result.stderr


@pytest.mark.parametrize(("away", "back"), [("forget", "restore"), ("archive", "unarchive")])
def test_what_expired_meanwhile_is_seen_again_and_the_answer_says_so(filled: CommandLine, away: str, back: str) -> None:
    filled.ok("edit", "one", "--expires-at", "2020-02-03")
    seen = filled("restore", "one").stderr
    assert "neither" in seen and "--expires-at ''" in seen
    filled.ok(*(away, "one", "--yes") if away == "forget" else (away, "one"))
    result = filled(back, "one")
    assert "one had expired on 2020-02-03; it no longer expires. `nacre edit one --expires-at TIME`" in result.stderr
    assert "one" in [each["id"] for each in filled.json("list")]
    filled.ok(*(away, "one", "--yes") if away == "forget" else (away, "one"))
    assert "expire" not in filled(back, "one").stderr


def test_a_circle_of_supersession_is_a_conflict(filled: CommandLine) -> None:
    filled.ok("supersede", "one", "two")
    result = filled("supersede", "two", "one")
    assert result.exit_code == 3 and "Restore" in result.stderr
    filled.ok("restore", "one")
    assert filled.json("show", "one")["superseded_by"] == ""
    result = filled("supersede", "one", "one")
    assert result.exit_code == 3 and "A memory cannot replace itself; name two different ones." in result.stderr


def test_undo_takes_back_act_after_act_and_shows_what(filled: CommandLine) -> None:
    filled.ok("edit", "one", "--text", "new text")
    filled.ok("forget", "two", "--yes")
    undone = filled("undo").stderr
    assert "Undid " in undone and "` does it again." in undone and "two is as it was before: status" in undone
    assert "one is as it was before: text" in filled("undo").stderr
    assert filled.json("show", "one")["text"] == "old text"
    assert "two is no longer there: another" in filled("undo").stderr


def test_undo_takes_an_act_by_the_first_characters_of_its_batch(filled: CommandLine) -> None:
    batch = filled.json("journal", "one")[0]["batch"]
    filled.ok("undo", batch[:8])
    assert [each["id"] for each in filled.json("list")] == ["two"]


def test_undo_of_nothing_or_of_what_others_built_upon_is_refused(nacre: CommandLine, filled: CommandLine) -> None:
    batch = filled.json("journal", "one")[0]["batch"]
    filled.ok("edit", "one", "--text", "new text")
    assert filled("undo", batch).exit_code == 3
    for words in (["undo", "zzzz"], ["journal", "undo", "zzzz"], ["journal", "show", "zzzz"], ["undo", "f" * 32]):
        assert filled(*words).exit_code == 1, "what was asked for is not there"
    assert nacre("--space", "personal", "undo").exit_code == 3


def test_the_journal_shows_all_memories_or_one(filled: CommandLine) -> None:
    filled.ok("edit", "one", "-i", "0.9", "--why", "it matters")
    assert [entry["act"] for entry in filled.json("journal", "one")] == ["edit", "remember"]
    assert len(filled.json("journal", "-n", "1")) == 1
    assert len(filled.json("journal", "-n", "0")) == 3
    assert "(it matters) importance: 0.9" in filled.ok("journal", "one")
    assert filled("journal", "nine").exit_code == 1


def test_reindex_computes_everything_again(filled: CommandLine) -> None:
    assert "Reindexed 2 memories" in filled("reindex").stderr
    assert [each["id"] for each in filled.json("recall", "another", "-k", "1")] == ["two"]


def test_what_is_no_number_is_refused_with_the_numbers_that_are_possible(filled: CommandLine) -> None:
    result = filled("edit", "one", "-i", "")
    assert result.exit_code == 2 and "'' is not a valid number; give one from 0 to 1." in result.stderr


def test_a_bump_without_its_change_asks_for_that(filled: CommandLine) -> None:
    for words in (["one"], ["one", "--reason", "it matters"]):
        refused = filled("memory", "bump", *words)
        assert refused.exit_code == 2 and "then the change: +0.2, -0.1 or =0.9" in refused.stderr


def other_terminal(folder: Path, *words: str, then: str = "") -> str:
    """An editor that calls another `nacre` before it saves."""
    editor = folder / "editor.py"
    editor.write_text(
        "import subprocess, sys\n"
        f"subprocess.run({forked.launcher(words)!r}, check=True)\n"
        f"open(sys.argv[1], 'w').write({then!r})\n"
    )
    return f"{sys.executable} {editor}"


def test_tags_of_two_terminals_are_both_kept(filled: CommandLine) -> None:
    def add(name: str) -> forked.Forked:
        return forked.start(["edit", "one", "--add-tag", name], streams=(0, 1, 2))

    names = [f"tag{number}" for number in range(4)]
    assert [process.wait(120) for process in list(map(add, names))] == [0] * 4
    assert set(filled.json("show", "one")["tags"]) == {"a", *names}


def test_a_tag_is_added_to_what_somebody_else_added_meanwhile(
    filled: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    find, late = find_by_id, ["theirs"]

    def overtaken(store: MemoryStore, id: str) -> Memory:
        memory = find(store, id)
        if late:
            store.tag(id, add=[late.pop()])
        return memory

    monkeypatch.setattr(edit, "find_by_id", overtaken)
    filled.ok("edit", "one", "--add-tag", "mine")
    assert filled.json("show", "one")["tags"] == ["a", "theirs", "mine"]


@pytest.mark.parametrize("command", [("edit", "one"), ("merge", "one", "two", "--edit")])
@pytest.mark.parametrize(
    ("meanwhile", "done", "remedy"),
    [
        (("edit", "one", "--text", "theirs"), "changed", "`nacre show one` shows"),
        (("memory", "purge", "one", "--yes"), "deleted", r"`nacre remember - < \1` stores it"),
    ],
)
def test_what_is_typed_does_not_overwrite_what_changed_meanwhile_and_is_kept_in_a_file(
    filled: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    meanwhile: tuple[str, ...],
    done: str,
    remedy: str,
) -> None:
    monkeypatch.setenv("EDITOR", other_terminal(tmp_path, *meanwhile, then="mine"))
    result = filled(*command)
    assert result.exit_code == 3 and f"{done} by somebody else meanwhile, and nothing was written" in result.stderr
    kept = re.search(rf"your text is in (\S+\.md)\. {remedy}", result.stderr)
    assert kept is not None and Path(kept[1]).read_text() == "mine"
    Path(kept[1]).unlink()
    assert filled.json("show", "two")["superseded_by"] == ""
    assert done == "deleted" or filled.json("show", "one")["text"] == "theirs"


def test_undo_after_a_text_that_is_known_takes_back_what_was_done_before_and_quotes_it(nacre: CommandLine) -> None:
    nacre.ok("remember", "The kettle is on", "--id", "kettle")
    nacre.ok("edit", "kettle", "--importance", "0.9")
    assert "Known already" in nacre("remember", "The kettle is on", "--importance", "0.1").stderr
    undone = nacre("undo").stderr
    assert "Undid edit " in undone and "kettle is as it was before: importance (The kettle is on)" in undone
