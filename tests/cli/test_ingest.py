"""Conversations and notes at the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.settings import choose_space
from tests.command_line import CommandLine
from tests.transcripts import claude, secret, turn, write_lines


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A transcript, an export, a note, and something else."""
    home = tmp_path / "files"
    write_lines(home / "p" / "x.jsonl", [turn(1, "Plant the pear."), turn(2, "Done.", "assistant"), "{broken"])
    (home / "conversations.json").write_text(json.dumps([claude(("human", "Which stock?"))]))
    (home / "notes.md").write_text("# Rules\n- prune in winter\n")
    (home / "prices.json").write_text('{"pear": 3}')
    return home


def test_a_folder_is_ingested_and_the_counts_are_reported(nacre: CommandLine, folder: Path) -> None:
    result = nacre("ingest", str(folder), "--space", "me")
    assert result.exit_code == 0, result.output
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert [(Path(row[0]).name, *row[1:]) for row in rows] == [
        ("conversations.json", "claude", "me", "1", "0", "0", "0", "0", "0"),
        ("notes.md", "markdown", "me", "1", "0", "0", "0", "0", "0"),
        ("x.jsonl", "claude-code", "me", "2", "0", "0", "0", "0", "1"),
    ]
    assert "x.jsonl: line 3: not JSON" in result.stderr
    assert "1 file in no known format left out." in result.stderr
    assert "3 files: 4 new, 0 unchanged, 0 changed." in result.stderr


def test_ingesting_twice_changes_nothing(nacre: CommandLine, folder: Path) -> None:
    nacre.ok("ingest", str(folder), "--space", "me")
    before = nacre.ok("journal", "--space", "me", "-f", "json")
    assert "0 new, 4 unchanged, 0 changed" in nacre("ingest", str(folder), "--space", "me").stderr
    assert nacre.ok("journal", "--space", "me", "-f", "json") == before


def test_a_dry_run_stores_nothing(nacre: CommandLine, folder: Path) -> None:
    result = nacre("ingest", str(folder), "--dry-run", "-f", "json")
    assert [each["new"] for each in json.loads(result.stdout)] == [1, 1, 2]
    assert "nothing was stored (--dry-run)" in result.stderr
    assert nacre.ok("spaces") == ""


def test_a_transcript_goes_to_the_space_of_its_project(
    nacre: CommandLine, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NACRE_SPACE")
    orchard = tmp_path / "orchard"
    (orchard / ".git").mkdir(parents=True)
    (orchard / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for file in folder.rglob("*.jsonl"):
        file.write_text(file.read_text("utf-8").replace("/nowhere/orchard", str(orchard)), "utf-8")
    nacre.ok("ingest", str(folder))
    space = choose_space(orchard).space
    assert space.startswith("orchard-")
    assert {each["text"] for each in nacre.json("list", "--space", space)} == {"Plant the pear.", "Done."}
    assert {each["text"] for each in nacre.json("list")} == {"Which stock?", "prune in winter"}


def test_an_ingest_can_be_taken_back(nacre: CommandLine, folder: Path) -> None:
    nacre.ok("ingest", str(folder / "notes.md"))
    nacre.ok("undo")
    assert nacre.json("list") == []


def test_the_command_that_takes_back_all_files_is_named(nacre: CommandLine, tmp_path: Path) -> None:
    for name in ("pears", "plums"):
        (tmp_path / f"{name}.md").write_text(f"- {name} are pruned in winter\n")
    first, both = [str(tmp_path / "pears.md")], [str(tmp_path / "pears.md"), str(tmp_path / "plums.md")]
    assert "undo` takes it back." in nacre("ingest", *first).stderr
    nacre.ok("undo")
    told = nacre("ingest", *both).stderr
    assert "These are 2 operations; `nacre undo --last 2` takes them all back." in told
    nacre.ok("undo", "--last", "2")
    assert nacre.json("list") == []
    assert "undo" not in nacre("ingest", *both, "--dry-run").stderr


def test_notes_that_are_gone_from_their_folder_are_told(nacre: CommandLine, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in ("apples", "pears", "plums"):
        (notes / f"{name}.md").write_text(f"- {name} are pruned in winter\n- {name} need sun\n")
    assert "gone" not in nacre("ingest", str(notes)).stderr
    (notes / "pears.md").unlink()
    (notes / "plums.md").unlink()
    told = nacre("ingest", str(notes)).stderr
    assert "2 notes that were ingested before are gone from the folder; their 4 memories stay." in told
    assert f"--session {notes / 'pears.md'}` lists those of the first" in told
    listed = nacre.json("list", "--session", str(notes / "pears.md"))
    assert len(listed) == 2
    nacre.ok("forget", "--yes", *(each["id"] for each in listed))
    told = nacre("ingest", str(notes)).stderr
    assert "1 note that was ingested before is gone from the folder; its 2 memories stay." in told


@pytest.mark.parametrize("whole_folder", [True, False])
def test_the_memories_of_a_note_move_with_it_when_it_is_renamed(
    nacre: CommandLine, tmp_path: Path, whole_folder: bool
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in ("apples", "plums"):
        (notes / f"{name}.md").write_text(f"- {name} are pruned in winter\n- {name} need sun\n- {name} are sweet\n")
    nacre("ingest", str(notes))
    before = {each["id"]: each["title"] for each in nacre.json("list", "--session", str(notes / "plums.md"))}
    new = notes / "stone fruit.md"
    new.write_text((notes / "plums.md").read_text().replace("are sweet", "taste of summer"))
    (notes / "plums.md").unlink()
    named = str(notes if whole_folder else new)
    told = nacre("ingest", named, "--dry-run").stderr
    assert f"{new} is {notes / 'plums.md'} under another name: its memories would move with it." in told
    assert len(nacre.json("list", "--session", str(notes / "plums.md"))) == 3
    told = nacre("ingest", named).stderr
    assert f"{new} is {notes / 'plums.md'} under another name: its memories moved with it." in told
    assert "gone from the folder" not in told
    moved = nacre.json("list", "--session", str(new))
    assert {each["id"] for each in moved} == before.keys() and "summer" in str(moved)
    assert all(each["source"] == str(new) and each["title"] == "stone fruit" for each in moved)
    assert nacre.json("list", "--session", str(notes / "plums.md")) == []
    assert "under another name" not in nacre("ingest", named).stderr
    nacre.ok("undo")
    assert {each["id"]: each["title"] for each in nacre.json("list", "--session", str(notes / "plums.md"))} == before


def test_a_new_note_takes_nothing_from_one_that_says_something_else(nacre: CommandLine, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "plums.md").write_text("- plums need sun\n- plums are sweet\n- see the garden plan\n")
    nacre("ingest", str(notes))
    (notes / "plums.md").unlink()
    (notes / "pears.md").write_text("- pears need shade\n- pears are late\n- see the garden plan\n")
    told = nacre("ingest", str(notes)).stderr
    assert "under another name" not in told and "its 3 memories stay" in told


def test_dates_of_all_notes_are_read_in_one_way(nacre: CommandLine, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name, date in (("pears", "04/05/2020"), ("plums", "25/12/2020")):
        (notes / f"{name}.md").write_text(f"---\ndate: {date}\n---\n- {name} were pruned\n")
    assert "were read with the day first" in nacre("ingest", str(notes)).stderr
    dates = {each["text"]: each["occurred_at"][:10] for each in nacre.json("list")}
    assert dates == {"pears were pruned": "2020-05-04", "plums were pruned": "2020-12-25"}


def test_what_was_left_out_is_reported_with_its_reasons(nacre: CommandLine, tmp_path: Path) -> None:
    tool = [{"type": "tool_use", "name": "Grep", "input": {"pattern": "pear"}}]
    path = write_lines(tmp_path / "x.jsonl", [turn(1, "hi"), turn(2, tool, "assistant"), turn(3, "m", isMeta=True)])
    said = nacre("ingest", str(path), "--space", "me").stderr
    assert "Left out: tools and thinking (1), written by the client (1)." in said
    assert "1 new, 1 unchanged" in nacre("ingest", str(path), "--space", "me", "--include-tools").stderr


def test_no_secret_of_a_conversation_reaches_the_file(nacre: CommandLine, tmp_path: Path) -> None:
    nacre.ok("ingest", str(write_lines(tmp_path / "x.jsonl", [turn(1, f"use {secret()}")])), "--space", "me")
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("store.db*"))
    assert kept and secret().encode() not in kept


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["nowhere.md"], 2, "nowhere.md does not exist"),
        (["prices.json"], 2, "--from says which one it is"),
        (["empty"], 1, "nothing to ingest"),
        (["prices.json", "--format", "chatgpd"], 2, "chatgpd"),
    ],
)
def test_what_cannot_be_ingested_is_one_sentence(
    nacre: CommandLine, elsewhere: Path, words: list[str], code: int, said: str
) -> None:
    (elsewhere / "prices.json").write_text('{"pear": 3}')
    (elsewhere / "empty").mkdir()
    result = nacre("ingest", *words)
    assert (result.exit_code, said in result.stderr) == (code, True), result.output


def test_a_format_can_be_named(nacre: CommandLine, elsewhere: Path) -> None:
    (elsewhere / "notes.txt").write_text("- one\n- two\n")
    nacre.ok("ingest", "notes.txt", "--format", "markdown")
    with MemoryStore(nacre.store, embedder="hashing") as store:
        assert store.count() == 2
