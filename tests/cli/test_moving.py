"""nacre export in every format, nacre import of what it wrote, and of tables: as a person calls them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import CommandLine
from tests.waiting import wait_for

PATIENCE = 120.0  # seconds; a busy machine needs some of them


def until(path: Path, word: str) -> Path:
    """The first note that holds the word."""
    notes = wait_for(lambda: [note for note in path.rglob("*.md") if word in note.read_text()], f"a note with {word!r}")
    return notes[0]


FORMS = ("an archive", "JSON lines", "CSV", "Markdown notes")


@pytest.mark.slow
def test_each_format_goes_out_by_its_name_and_comes_back(nacre: CommandLine, tmp_path: Path) -> None:
    nacre.ok("remember", "The ferry leaves at nine", "-g", "ferry", "--created-at", "2024-05-01")
    wanted = nacre.json("list")
    assert wanted[0]["created_at"].startswith("2024-05-01") if isinstance(wanted[0]["created_at"], str) else True
    for number, name in enumerate(("all.nacre", "all.jsonl", "all.csv", "notes/")):
        said = nacre("export", str(tmp_path) + "/" + name).stderr
        assert "Wrote 1 memory" in said and f" as {FORMS[number]}, " in said
        other = ("--store", str(tmp_path / f"other{number}.db"))
        assert "Imported 1 memory" in nacre(*other, "import", str(tmp_path / name), "--yes").stderr
        assert nacre.json(*other, "list") == wanted


def test_an_export_neither_contradicts_its_name_nor_overwrites(nacre: CommandLine, tmp_path: Path) -> None:
    nacre.ok("remember", "The ferry leaves at nine")
    file = str(tmp_path / "all.csv")
    nacre.ok("export", file)
    for words, said in (
        (["export", file], "--force"),
        (["export", file, "--format", "jsonl", "--force"], "ends in .csv"),
        (["export", str(tmp_path / "x.md")], "folder"),
        (["export", str(tmp_path / "x.txt")], "--to"),
        (["export", str(tmp_path / "backup")], "--to"),
        (["export", file, "--watch"], "--to markdown"),
    ):
        refused = nacre(*words)
        assert refused.exit_code == 2 and said in " ".join(refused.stderr.split()), (words, refused.stderr)
    nacre.ok("export", file, "--force")


def test_a_table_is_mapped_tried_and_its_bad_lines_are_written_to_a_file(nacre: CommandLine, tmp_path: Path) -> None:
    file, errors = tmp_path / "notes.csv", tmp_path / "errors.jsonl"
    file.write_text("Note,importance\nBees sleep in winter,0.8\nBad,much\n")
    words = ("import", str(file), "--map", "Note=text", "--errors", str(errors))
    would = nacre(*words, "--dry-run")
    assert "is CSV." in would.stderr and "Would import 1 memory" in would.stderr and nacre.ok("list") == ""
    done = nacre(*words, "--yes")
    assert "Imported 1 memory" in done.stderr and "line 3: " in done.stderr
    [fault] = [json.loads(line) for line in errors.read_text().splitlines()]
    assert (
        fault["line"] == 3
        and "importance" in fault["error"]
        and (fault["Note"], fault["importance"]) == ("Bad", "much")
    )
    assert "1 line passed over" in done.stderr
    assert nacre.json("list")[0]["importance"] == 0.8
    assert "1 known already" in nacre(*words, "--yes").stderr
    nacre.ok("undo")
    assert nacre.ok("list") == ""
    assert nacre("import", str(file), "--map", "Note", "--yes").exit_code == 2
    file.write_text("text,Colour\nBees like blue,blue\n,red\n")
    advised = " ".join(nacre("import", str(file), "--dry-run").stderr.split())
    assert "--map COLUMN=FIELD takes a column" in advised and "--map COLUMN=text says" not in advised


def test_advice_on_columns_comes_only_where_no_row_had_a_text(nacre: CommandLine, tmp_path: Path) -> None:
    table, lines, advice = tmp_path / "t.csv", tmp_path / "t.jsonl", "says which column has the text"
    table.write_text("Note,Kind\nThe well is deep,a\n,b\n")
    some = nacre("import", str(table), "--map", "Note=text", "--map", "Kind=source", "--yes")
    assert "it has no text" in some.stderr and advice not in some.stderr
    table.write_text("Note,text\nThe rope is short,\n")
    assert advice in nacre("import", str(table), "--yes").stderr
    lines.write_text('{"text": 42}\n{"text": "The pail leaks"}\n')
    said = nacre("import", str(lines), "--yes").stderr
    assert "its text is 42, which is not text" in said and "has no text" not in said


def test_what_cannot_be_imported_leaves_no_store_and_is_no_success(nacre: CommandLine, tmp_path: Path) -> None:
    bad, empty = tmp_path / "notes.csv", tmp_path / "empty"
    bad.write_text("Note,importance\nBees,much\n")
    empty.mkdir()
    nacre.store.unlink()
    for words, code, said in (
        ([str(tmp_path / "nowhere.csv")], 4, "no such file"),
        (["--from", "csv", str(tmp_path / "nowhere.csv")], 4, "no such file"),
        ([str(bad), "--map", "Nte=text"], 2, "did you mean 'Note'?"),
        ([str(empty)], 4, "the folder is empty"),
        ([str(bad), str(bad)], 2, "at a time"),
    ):
        refused = nacre("import", *words, "--yes")
        assert refused.exit_code == code and said in " ".join(refused.stderr.split()), (words, refused.stderr)
        assert not nacre.store.exists()
    for more in ("--dry-run", "--yes"):
        refused = nacre("import", str(bad), "--map", "Note=text", more)
        assert refused.exit_code == 3 and "nothing was imported" in refused.stderr
    declined = nacre("--store", str(tmp_path / "asked.db"), "import", str(bad), input="n\n")
    assert declined.exit_code != 0 and not (tmp_path / "asked.db").exists()


def test_edited_notes_come_back_and_a_conflict_is_listed(nacre: CommandLine, tmp_path: Path) -> None:
    id = nacre.ok("remember", "The ferry leaves at nine").strip()
    folder = tmp_path / "notes"
    nacre.ok("export", str(folder), "--to", "markdown")
    note = until(folder, "at nine")
    note.write_text(note.read_text().replace("at nine", "at ten"))
    done = nacre("import", str(folder), "--yes")
    assert "is exported notes." in done.stderr and "1 overwritten" in done.stderr
    assert nacre.json("show", id)["text"] == "The ferry leaves at ten"
    nacre.ok("edit", id, "--text", "The ferry leaves at six")
    note.write_text(note.read_text().replace("at ten", "at noon"))
    refused = nacre("import", str(folder), "--yes")
    assert "it was changed in the store, too" in refused.stderr
    assert nacre.json("show", id)["text"] == "The ferry leaves at six"
    said = " ".join(refused.stderr.split())
    assert "move the note out of the folder, export again and repeat the edit in the new one" in said
    assert "move the note away first" in " ".join(nacre("export", str(folder), "--force").stderr.split())
    note.rename(tmp_path / note.name)
    nacre.ok("export", str(folder), "--force")
    assert until(folder, "at six").is_file()


@pytest.mark.slow
def test_a_watched_folder_follows_what_other_processes_write(nacre: CommandLine, tmp_path: Path) -> None:
    nacre.ok("remember", "The ferry leaves at nine")
    folder = tmp_path / "notes"
    words = [sys.executable, "-m", "nacre", "--store", str(nacre.store), "export", str(folder)]
    watching = subprocess.Popen([*words, "--format", "markdown", "--watch"], stderr=subprocess.PIPE, text=True)
    try:
        until(folder, "at nine")
        id = nacre.ok("remember", "Gulls steal chips").strip()
        note = until(folder, "Gulls steal chips")
        nacre.ok("edit", id, "--text", "Gulls steal bread")
        assert until(folder, "Gulls steal bread") == note
    finally:
        watching.send_signal(signal.SIGINT)
        _, said = watching.communicate(timeout=PATIENCE)
    assert "the same command continues" in said and watching.returncode != 0


def test_the_kind_can_be_said_and_an_unknown_one_lists_the_names(nacre: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "x.bin"
    file.write_text("text\nBees sleep in winter\n")
    refused = nacre("import", str(file), "--yes")
    assert refused.exit_code == 4 and "--from" in refused.stderr
    assert "Imported 1 memory" in nacre("import", "--from", "csv", str(file), "--yes").stderr


def test_rows_whose_numbers_are_taken_are_told_from_known_ones(nacre: CommandLine, tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("id,text\n1,Bees sleep\n2,Wasps do not\n")
    second.write_text("id,text\n1,Figs ripen\n2,Wasps do not\n")
    nacre.ok("import", str(first), "--yes")
    for how in ("--dry-run", "--yes"):
        said = nacre("import", str(second), how).stderr
        assert "; 1 known already." in said and "1 has an id that is here with another text or title" in said
        assert "`--on-conflict rename`" in said
    said = nacre("import", str(second), "--yes", "--on-conflict", "rename").stderr
    assert "Imported 1 memory; 1 of them under another id, 1 known already" in said


def test_a_line_with_half_a_character_is_written_as_it_was(nacre: CommandLine, tmp_path: Path) -> None:
    file, errors = tmp_path / "notes.jsonl", tmp_path / "errors.jsonl"
    file.write_text('{"text": "half \\ud800 of it"}\n{"text": "good"}\n')
    done = nacre("import", str(file), "--errors", str(errors), "--yes")
    assert done.exit_code == 0 and "Imported 1 memory" in done.stderr
    [fault] = [json.loads(line) for line in errors.read_text("utf-8").splitlines()]
    assert (fault["line"], fault["text"]) == (1, "half \ud800 of it")
