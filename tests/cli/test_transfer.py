"""nacre export, import and info, as a person or a script calls them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.command_line import CommandLine


@pytest.fixture
def filled(nacre: CommandLine) -> CommandLine:
    nacre.ok("remember", "The ferry leaves at nine", "-t", "procedural", "-g", "ferry")
    nacre.ok("remember", "--lines", input="\n".join(f"buoy number {number}" for number in range(5)))
    return nacre


def other(tmp_path: Path) -> tuple[str, str]:
    return "--store", str(tmp_path / "other.db")


def test_an_export_is_imported_elsewhere(filled: CommandLine, tmp_path: Path) -> None:
    file = str(tmp_path / "all.nacre")
    assert "Wrote 6 memories" in filled("export", file).stderr
    result = filled(*other(tmp_path), "import", file, "--yes")
    assert result.exit_code == 0 and "Imported 6 memories" in result.stderr
    assert filled.ok(*other(tmp_path), "list", "-n", "0") == filled.ok("list", "-n", "0")


def test_filters_narrow_what_is_written(filled: CommandLine, tmp_path: Path) -> None:
    file = str(tmp_path / "part.nacre")
    for words, count in (
        (["-t", "procedural"], 1),
        (["-g", "ferry"], 1),
        (["--since", "2099-01-01"], 0),
        (["--until", "2001-01-01"], 0),
        (["--status", "archived"], 0),
        (["--no-vectors"], 6),
    ):
        assert filled.json("export", file, "--force", *words)["count"] == count


def test_the_trash_goes_only_when_asked_for(filled: CommandLine, tmp_path: Path) -> None:
    id = filled.json("list", "-t", "procedural")[0]["id"]
    filled.ok("forget", id, "--yes")
    file = str(tmp_path / "all.nacre")
    assert filled.json("export", file)["count"] == 5
    assert filled.json("export", file, "--trashed", "--force")["count"] == 6


def test_info_shows_what_is_in_it_in_every_form(filled: CommandLine, tmp_path: Path) -> None:
    file = str(tmp_path / "all.nacre")
    filled.ok("export", file)
    result = filled.json("info", file)
    assert result["intact"] and result["count"] == 6 and result["types"]["procedural"] == 1 and result["vectors"] == 6
    rows = dict(line.split("\t") for line in filled.ok("info", file).splitlines())
    assert [*rows][:6] == ["file", "form", "exported", "space", "embedder", "memories"]
    assert (rows["memories"], rows["intact"], rows["type procedural"]) == ("6", "yes", "1")
    assert not {"", "None", "[]", "{}"} & {*rows.values()}
    assert "memories" in filled.ok("info", file, "-f", "table")
    assert "| memories | 6 |" in filled.ok("info", file, "-f", "markdown")
    assert "count: 6" in filled.ok("info", file, "-f", "yaml")
    assert json.loads(filled.ok("info", file, "-f", "jsonl"))["count"] == 6


def test_a_damaged_file_is_reported_and_not_imported(filled: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "all.nacre"
    filled.ok("export", str(file))
    file.write_bytes(file.read_bytes()[:-30])
    looked = filled("info", str(file))
    assert looked.exit_code == 4 and "incomplete or damaged" in looked.stderr and "intact\tno" in looked.stdout
    filled.ok(*other(tmp_path), "space", "create", "default")
    result = filled(*other(tmp_path), "import", str(file), "--yes")
    assert result.exit_code == 4 and result.stderr.startswith("nacre: ") and result.stderr.count("\n") == 1
    assert filled.ok(*other(tmp_path), "list") == ""


def test_it_asks_and_does_nothing_without_a_yes(filled: CommandLine, tmp_path: Path) -> None:
    file = str(tmp_path / "all.nacre")
    filled.ok("export", file)
    refused = filled(*other(tmp_path), "import", file, input="n\n")
    assert refused.exit_code == 2 and "Will import 6 memories" in refused.stderr
    assert not (tmp_path / "other.db").exists()
    assert filled(*other(tmp_path), "import", file, input="y\n").exit_code == 0
    assert len(filled.json(*other(tmp_path), "list")) == 6


def test_a_dry_run_changes_nothing(filled: CommandLine, tmp_path: Path) -> None:
    file = str(tmp_path / "all.nacre")
    filled.ok("export", file)
    result = filled.json(*other(tmp_path), "import", file, "--dry-run")
    assert result["imported"] == 6 and result["batch"] == ""
    assert filled(*other(tmp_path), "list").exit_code == 4, "there is still no store"


def test_policies_are_named_and_a_conflict_has_its_exit_code(filled: CommandLine, tmp_path: Path) -> None:
    file = str(tmp_path / "all.nacre")
    filled.ok("export", file)
    assert "6 known already" in filled("import", file, "--yes").stderr
    refused = filled("import", file, "--yes", "--on-conflict", "error")
    assert refused.exit_code == 3 and "6 of the archive's ids" in refused.stderr
    assert filled.json("import", file, "--yes", "--on-conflict", "rename")["renamed"] == 6
    assert filled.json("import", file, "--yes", "--on-conflict", "overwrite")["overwritten"] == 0
    assert filled("import", file, "--yes", "--on-conflict", "guess").exit_code == 2


def test_the_command_offers_every_policy() -> None:
    from nacre.cli.commands.transfer import POLICIES as OFFERED
    from nacre.transfer.import_plan import POLICIES

    assert OFFERED == POLICIES


def test_vectors_are_computed_anew_on_request(filled: CommandLine, tmp_path: Path) -> None:
    file = str(tmp_path / "all.nacre")
    filled.ok("export", file)
    assert filled.json(*other(tmp_path), "import", file, "--yes", "--regenerate-vectors")["vectors_regenerated"] == 6


@pytest.mark.slow
def test_an_import_is_one_act_that_undo_takes_back(filled: CommandLine, tmp_path: Path) -> None:
    file = str(tmp_path / "all.nacre")
    filled.ok("export", file)
    filled.ok(*other(tmp_path), "import", file, "--yes", "--why", "moving house")
    operations = filled.json(*other(tmp_path), "journal", "-n", "0")
    assert {(operation["act"], operation["actor"], operation["why"]) for operation in operations} == {
        ("import", "cli", "moving house")
    }
    filled.ok(*other(tmp_path), "undo")
    assert filled.ok(*other(tmp_path), "list") == ""


@pytest.mark.slow
def test_through_a_pipe_it_goes_from_one_store_to_another(filled: CommandLine, tmp_path: Path) -> None:
    written = filled.new_interpreter("export", "-", text=False, encoding=None)
    assert written.returncode == 0
    content = written.stdout
    assert isinstance(content, bytes) and gzip.decompress(content).count(b"\n") == 8
    assert "--yes" in filled(*other(tmp_path), "import", "-", input=content).stderr
    assert filled(*other(tmp_path), "import", "-", "--yes", input=content).exit_code == 0
    assert len(filled.json(*other(tmp_path), "list")) == 6
    looked = filled("info", "-", "-f", "json", input=content)
    assert json.loads(looked.stdout)["count"] == 6 and json.loads(looked.stdout)["path"] == "stdin"


def test_bad_lines_are_named(filled: CommandLine, tmp_path: Path) -> None:
    header = {"format": "ai-houkai/export", "version": 1, "source": {}}
    rows = [header, {"id": "a", "text": "The quay is wet"}, {"id": "b"}]
    file = tmp_path / "old.ahkai"
    file.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    result = filled("import", str(file), "--yes")
    assert result.exit_code == 0 and "Imported 1 memory" in result.stderr and "line 3:" in result.stderr


def test_a_name_that_ends_in_ahkai_gets_its_form(filled: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "all.ahkai"
    filled.ok("export", str(file))
    assert filled.json("info", str(file))["format"] == "ai-houkai/export"


def test_the_store_itself_is_never_overwritten(filled: CommandLine) -> None:
    before = filled.ok("list")
    refused = filled("export", str(filled.store), "--format", "archive", "--force")
    assert refused.exit_code == 2 and "choose another name" in refused.stderr
    assert filled.ok("list") == before


@pytest.mark.slow
def test_secrets_stay_behind_unless_asked_for(
    nacre: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "ghp_" + "q1W2e3R4t5Z6u7I8o9P0a1S2d3F4g5H6j7K8"
    monkeypatch.setenv("NACRE_SECRETS", "allow")
    nacre.ok("remember", f"The token is {secret}")
    monkeypatch.delenv("NACRE_SECRETS")
    file = tmp_path / "all.nacre"
    assert nacre.json("export", str(file))["redacted"] == 1
    assert secret not in gzip.decompress(file.read_bytes()).decode()
    nacre.ok("export", str(file), "--no-redact", "--force")
    assert secret in gzip.decompress(file.read_bytes()).decode()


def test_a_folder_in_the_place_of_a_file_is_called_a_folder(filled: CommandLine, tmp_path: Path) -> None:
    result = filled("info", str(tmp_path))
    assert result.exit_code == 4 and "it is a folder; name a file" in result.stderr, result.stderr
    empty = tmp_path / "empty"
    empty.mkdir()
    result = filled("import", str(empty), "--yes")
    assert result.exit_code == 4 and "the folder is empty" in result.stderr, result.stderr


@pytest.mark.parametrize(
    ("name", "what"), [("all.csv", "CSV"), ("all.jsonl", "JSON lines"), ("notes", "exported notes")]
)
def test_info_on_what_is_no_archive_names_the_command_that_reads_it(
    filled: CommandLine, tmp_path: Path, name: str, what: str
) -> None:
    file = str(tmp_path / name)
    filled.ok("export", file, *(["--format", "markdown"] if name == "notes" else []))
    result = filled("info", file)
    assert result.exit_code and f"it is {what}" in result.stderr
    assert f"`nacre import --dry-run {file}`" in result.stderr
    assert filled("import", "--dry-run", file).exit_code == 0


@pytest.mark.parametrize("content", ["", "  \n"])
def test_an_empty_file_is_called_empty(filled: CommandLine, tmp_path: Path, content: str) -> None:
    (tmp_path / "e.jsonl").write_text(content)
    for words in (["import", "-y"], ["info"]):
        result = filled(*words, str(tmp_path / "e.jsonl"))
        assert result.exit_code and "it is empty. Name the file" in result.stderr and "--from" not in result.stderr


def test_notes_that_the_store_has_otherwise_come_with_commands_that_can_be_pasted(
    filled: CommandLine, tmp_path: Path
) -> None:
    folder = tmp_path / "my notes"
    filled.ok("export", f"{folder}/", "-t", "procedural")
    (note,) = folder.rglob("*ferry*.md")
    note.write_text(note.read_text().replace("at nine", "at ten"))
    filled.ok("import", str(folder), "--yes")
    filled.ok("undo")
    said = filled("import", str(folder), "--yes").stderr
    assert "1 note differs from the store, which was changed after it was written, perhaps by an undo;" in said
    assert f"`nacre import --on-conflict overwrite '{folder}'` takes what the notes say" in said
    assert f"`nacre export '{folder}' --force` writes them anew." in said
    single = filled("import", str(note), "--yes").stderr
    assert f"overwrite '{note}'` takes what the notes say." in single and "nacre export" not in single


def test_an_import_that_changes_nothing_says_that_there_is_nothing_to_undo(filled: CommandLine, tmp_path: Path) -> None:
    file = str(tmp_path / "all.nacre")
    filled.ok("export", file)
    says = "No memory was changed, so there is nothing of it to undo."
    assert says in filled("import", file, "--yes").stderr
    assert says not in filled(*other(tmp_path), "import", file, "--yes").stderr
    assert says not in filled("import", file, "--dry-run").stderr


def test_items_of_an_array_are_counted_as_items(nacre: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text('[{"text": "One"}, {"text": 7}, "plain"]')
    said = nacre("import", str(file), "--dry-run", "--errors", str(tmp_path / "left.jsonl")).stderr
    assert "2 items passed over" in said and "  item 2: its text is 7" in said and "line " not in said
    assert "Wrote 2 items that cannot be taken" in said
    assert json.loads((tmp_path / "left.jsonl").read_text().splitlines()[0])["text"] == 7
    file.write_text('["plain", {"text": 7}]')
    assert "not one item of x.json" in nacre("import", str(file), "--from", "jsonl", "--yes").stderr


def test_a_folder_that_is_called_as_a_source_is_imported(
    filled: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    missing = filled("import", "notes", "--dry-run")
    assert missing.exit_code == 2 and "'notes' is no file or folder here" in missing.stderr
    assert "nacre import notes PATH" in missing.stderr
    filled.ok("export", "notes/")
    for words in (["notes"], ["notes", "notes"]):
        assert "Would import 0 memories; 6 known already" in filled("import", *words, "--dry-run").stderr


def test_what_holds_no_memories_is_refused_before_anything_is_asked(nacre: CommandLine, tmp_path: Path) -> None:
    for name, content in (("x.csv", "text,tags\n"), ("x.json", "[]"), ("y.json", "{}")):
        (tmp_path / name).write_text(content)
        result = nacre("import", str(tmp_path / name))
        assert result.exit_code == 4 and "it holds no memories. Name the file that holds them." in result.stderr
        assert "Import" not in result.stderr


def test_a_description_of_stdin_names_a_command_that_works(nacre: CommandLine) -> None:
    result = nacre("info", "-", input='{"text": "One"}')
    assert result.exit_code == 4 and "stdin was not taken" in result.stderr
    assert "`nacre import --dry-run -` says" in result.stderr
    assert "Would import 1 memory" in nacre("import", "--dry-run", "-", input='{"text": "One"}').stderr


def test_an_export_names_its_space_and_those_that_are_not_in_it(nacre: CommandLine, tmp_path: Path) -> None:
    for space in ("alpha", "beta", "personal"):
        nacre.ok("--space", space, "remember", f"A note of {space}.")
    said = nacre("--space", "alpha", "export", str(tmp_path / "all.nacre")).stderr
    assert "Wrote 1 memory of 'alpha' to" in said
    assert (
        "'personal' and 1 other space are not in it; `--space personal` exports that one, `--all-spaces` all of them."
        in said
    )


@pytest.mark.parametrize(
    "words", [("--to", "csv"), ("--format", "csv"), ("-f", "csv"), ("-f", "csv", "--format", "json")]
)
def test_the_format_of_an_export_is_known_by_its_value(
    filled: CommandLine, tmp_path: Path, words: tuple[str, ...]
) -> None:
    filled.ok("export", str(tmp_path / "plain"), *words)
    assert (tmp_path / "plain").read_text().startswith("id,")


def test_how_to_print_is_said_as_everywhere_else(filled: CommandLine, tmp_path: Path) -> None:
    file = str(tmp_path / "all.nacre")
    for words in (("-f", "json"), ("--format", "json"), ("--to", "archive", "-f", "json")):
        assert json.loads(filled.ok("export", file, "--force", *words))["count"] == 6
    assert json.loads(filled.ok("import", file, "--dry-run", "--format", "json"))["skipped"] == 6
    (tmp_path / "note.md").write_text("# A boat\n\nIt leaks.\n")
    (note,) = json.loads(filled.ok("ingest", str(tmp_path / "note.md"), "--dry-run", "--format", "json"))
    assert note["format"] == "markdown"
    forced = filled.ok("ingest", str(tmp_path / "note.md"), "--dry-run", "--format", "markdown", "-f", "json")
    assert json.loads(forced)[0]["format"] == "markdown"
    twice = filled("export", file, "-f", "csv", "--to", "archive")
    assert twice.exit_code == 2 and "csv and archive both say the format of the file; give one of them." in twice.stderr
    assert filled("export", file, "--to", "word").exit_code == 2


def test_all_spaces_go_into_one_file_and_come_back_each_into_its_own(
    nacre: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for space, text in (("default", "The kettle is on."), ("a/b", "Plant the pear."), ("personal", "I like tea.")):
        nacre.ok("--space", space, "remember", text, "--id", "one")
    file = str(tmp_path / "all.zip")
    said = nacre("export", file, "--all-spaces").stderr
    assert "a/b: 1 memory" in said and "Wrote 3 memories of 3 spaces" in said
    assert nacre("export", file, "--all-spaces").exit_code == 2, "it is there already"
    nacre.ok("export", file, "--all-spaces", "--force")
    monkeypatch.setenv("NACRE_STORE", str(tmp_path / "other.db"))
    would = nacre("import", file, "--dry-run")
    assert would.exit_code == 0 and would.stderr.count("Would import 1 memory") == 3
    assert not (tmp_path / "other.db").exists()
    assert nacre("import", file, input="n\n").exit_code == 2
    nacre.ok("import", file, "--yes")
    assert nacre.json("--space", "a/b", "show", "one")["text"] == "Plant the pear."
    assert {each["space"]: each["memories"] for each in nacre.json("space", "list")} == {
        "a/b": 1, "default": 1, "personal": 1
    }  # fmt: skip
    nacre.ok("--space", "a/b", "undo")
    assert len(nacre.json("list")) == 1 and nacre.ok("--space", "a/b", "list") == ""
    piped = nacre("import", "-", "--dry-run", input=Path(file).read_bytes())
    assert piped.exit_code == 0 and "is an export of 3 spaces" in piped.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["all.nacre", "--all-spaces"], "name it FILE.zip"),
        (["all.zip", "--all-spaces", "--to", "csv"], "name it FILE.zip"),
        (["all.zip", "--all-spaces", "--watch"], "name it FILE.zip"),
        (["-", "--all-spaces"], "name it FILE.zip"),
        (["all.zip"], "add --all-spaces"),
        (["all.zip", "--all-spaces", "--space", "default"], "exclude each other"),
    ],
)
def test_all_spaces_take_no_options_of_one_space(filled: CommandLine, words: list[str], said: str) -> None:
    result = filled("export", *words)
    assert result.exit_code == 2 and said in result.stderr


def test_an_export_of_all_spaces_replaces_nothing_else_and_is_refused_when_damaged(
    filled: CommandLine, tmp_path: Path
) -> None:
    other = tmp_path / "other.zip"
    other.write_bytes(b"PK not ours")
    assert "is no export of all spaces" in filled("export", str(other), "--all-spaces", "--force").stderr
    file = tmp_path / "all.zip"
    filled.ok("export", str(file), "--all-spaces")
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 3] ^= 0xFF
    file.write_bytes(whole)
    before = filled.json("list", "-n", "0")
    assert filled("import", str(file), "--yes").exit_code == 4
    assert filled.json("list", "-n", "0") == before
    assert "leave --space out" in filled("--space", "x", "import", str(file), "--yes").stderr
