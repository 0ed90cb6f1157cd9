"""What commands say when something goes wrong or changes silently: the right remedy, once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.command_line import CommandLine

SECRET = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PASSPHRASE = "walnut " + "under the snow"


def levels(nacre: CommandLine) -> dict[str, str]:
    import json

    return {each["check"]: each["level"] for each in json.loads(nacre("doctor", "-f", "json").stdout)}


def test_config_refuses_a_key_itself_and_writes_nothing(nacre: CommandLine) -> None:
    result = nacre("config", "set", "key", "hunter2" * 2)
    assert result.exit_code == 2
    assert "env:VARIABLE, file:PATH or keyring:NAME" in result.stderr and "hunter2" not in result.stderr
    assert nacre("list").exit_code == 0


def test_config_takes_the_place_of_a_key(nacre: CommandLine) -> None:
    nacre.ok("config", "set", "key", "env:NACRE_SECRET")
    assert nacre.ok("config", "get", "key") == "env:NACRE_SECRET"


def test_a_new_space_with_a_similar_name_is_questioned(nacre: CommandLine) -> None:
    nacre.ok("remember", "The kettle is on.")
    stderr = nacre("--space", "deafult", "remember", "The tea is ready.").stderr
    assert (
        "Created the space 'deafult'. Did you mean 'default'? `nacre --space deafult undo` takes this back." in stderr
    )


def test_a_hint_quotes_a_space_whose_name_has_blanks(nacre: CommandLine) -> None:
    nacre.ok("--space", "my notes", "remember", "The kettle is on.")
    assert "`nacre --space 'my note' undo`" in nacre("--space", "my note", "remember", "The tea is ready.").stderr
    assert "`nacre --space 'old notes' undo`" in nacre("space", "rename", "my notes", "old notes").stderr


def test_a_new_space_with_a_name_of_its_own_is_only_announced(nacre: CommandLine) -> None:
    nacre.ok("remember", "The kettle is on.")
    assert "Created the space 'garden'.\n" in nacre("--space", "garden", "remember", "Plant the pear.").stderr


@pytest.mark.parametrize(("words", "code"), [(["recall", "tea"], 1), (["list"], 0)])
def test_a_first_use_that_finds_nothing_says_so_once(
    nacre: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], code: int
) -> None:
    monkeypatch.delenv("NACRE_STORE")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    result = nacre(*words)
    assert result.exit_code == code
    assert result.stderr.count("\n") == 1 and "Nothing is remembered yet" in result.stderr


@pytest.mark.slow
def test_an_encrypted_copy_asks_for_the_key_of_the_copy(
    nacre: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nacre.ok("remember", "The kettle is on.")
    monkeypatch.setenv("COPY_KEY", PASSPHRASE)
    nacre.ok("encrypt", "--key", "env:COPY_KEY", "--yes")
    monkeypatch.setenv("NACRE_KEY", "env:COPY_KEY")
    copy = nacre.ok("backup", "create", str(tmp_path / "copy.db"))
    monkeypatch.delenv("NACRE_KEY")
    monkeypatch.setenv("NACRE_STORE", str(tmp_path / "other.db"))
    for words in (["verify", copy], ["restore", copy, "--yes"]):
        result = nacre("backup", *words)
        assert result.exit_code == 4
        assert "Name the key of the copy with --key" in result.stderr and "setting `key`" not in result.stderr
    assert nacre("backup", "restore", copy, "--yes", "--key", "env:COPY_KEY").exit_code == 0


def test_edit_says_that_it_removed_a_secret(nacre: CommandLine) -> None:
    id = nacre.ok("remember", "The token is in the vault.")
    result = nacre("edit", id, "--text", f"The token is {SECRET}")
    assert "without what looked like a secret" in result.stderr
    assert SECRET not in nacre.ok("show", id)
    assert "secret" not in nacre("edit", id, "--text", "The token is in the safe.").stderr


def test_ingest_says_that_it_removed_a_secret(nacre: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text(f"# Access\n- the token is {SECRET}\n")
    first = nacre("ingest", str(tmp_path / "notes.md"))
    assert "without what looked like a secret" in first.stderr
    assert "secret" not in nacre("ingest", str(tmp_path / "notes.md")).stderr


def test_doctor_finds_a_named_store_that_is_missing(nacre: CommandLine) -> None:
    nacre.store.unlink()
    result = nacre("doctor")
    assert result.exit_code == 4 and f"There is no store at {nacre.store}" in result.stdout
    assert not nacre.store.exists()


def test_doctor_accepts_a_default_store_that_is_not_there_yet(
    nacre: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NACRE_STORE")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert levels(nacre)["store"] == "ok"


def test_an_empty_file_is_left_empty_and_told_until_something_is_remembered(nacre: CommandLine) -> None:
    nacre.store.write_bytes(b"")
    for _ in range(2):
        assert levels(nacre)["store"] == "warning"
    for words in (["list"], ["recall", "kettle"], ["stats"]):
        assert "is empty. If it held memories, restore a backup" in nacre(*words).stderr, words
    assert not nacre.store.stat().st_size
    nacre.ok("remember", "The kettle is on.")
    assert levels(nacre)["store"] == "ok" and [each["text"] for each in nacre.json("list")] == ["The kettle is on."]


@pytest.mark.parametrize("closed", ["file", "folder"])
def test_doctor_finds_what_is_read_only(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch, closed: str) -> None:
    nacre.ok("remember", "The kettle is on.")
    path = nacre.store if closed == "file" else nacre.store.parent
    allowed = os.access  # the superuser may write everything, whatever the mode says

    def access(at: Path, mode: int) -> bool:
        return at != path and allowed(at, mode)

    monkeypatch.setattr("nacre.cli.commands.doctor.os.access", access)
    result = nacre("doctor")
    assert result.exit_code == 4 and f"The {closed} {path} is read-only" in result.stdout


@pytest.mark.slow
def test_rekey_with_a_short_key_does_not_speak_of_encryption(
    nacre: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    nacre.ok("remember", "The kettle is on.")
    monkeypatch.setenv("OLD_KEY", PASSPHRASE)
    monkeypatch.setenv("SHORT_KEY", "abc")
    nacre.ok("encrypt", "--key", "env:OLD_KEY", "--yes")
    monkeypatch.setenv("NACRE_KEY", "env:OLD_KEY")
    result = nacre("rekey", "--new-key", "env:SHORT_KEY", "--yes")
    assert result.exit_code == 2
    assert "too short" in result.stderr and "Nothing was changed." in result.stderr


def test_commands_to_copy_name_the_store_and_the_space_of_the_one_that_says_them(
    nacre: CommandLine, tmp_path: Path
) -> None:
    here = ("--store", str(tmp_path / "h.db"), "--space", "t")
    nacre.ok(*here, "remember", "The office is in Berlin", "--id", "berlin-memory")
    options = " ".join(here)
    said = nacre(*here, "remember", "The office is in Munich", "--id", "munich-memory").stderr
    assert f"`nacre {options} memory supersede berlin-memory munich-memory`" in said
    assert f"`nacre {options} review`" in said and f"`nacre {options} undo`" in said
    assert f"`nacre {options} review` asks" in nacre(*here, "show", "munich").stdout
    assert f"`nacre {options} list`" in nacre(*here, "show", "nobody").stderr
    named = nacre("--store", here[1], "--space", "u", "space", "rename", "t", "v").stderr
    assert f"`nacre --store {here[1]} --space v undo`" in named


def test_an_id_that_somebody_chose_is_named_whole(nacre: CommandLine) -> None:
    for year in ("2024", "2025"):
        nacre.ok("remember", f"The notes of {year}", "--id", f"release-notes-{year}", "--on-conflict", "ignore")
    said = nacre("edit", "release-notes-2024", "--expires-at", "2020-01-01").stderr
    assert "`nacre edit release-notes-2024 --expires-at ''`" in said
    nacre.ok("edit", "release-notes-2024", "--expires-at", "")


def test_an_unknown_type_says_which_there_are_and_how_to_add_it(nacre: CommandLine) -> None:
    refused = nacre("remember", "Stand-up at nine", "--type", "meeting")
    assert refused.exit_code == 2
    assert "use one of: emotional" in refused.stderr
    assert ", or add it (`nacre memory types --add meeting`)." in refused.stderr
    near = nacre("remember", "Stand-up at nine", "--type", "my semantics").stderr
    assert "did you mean 'semantic', or add it (`nacre memory types --add 'my semantics'`)?" in near
    assert "the type 'meeting' now" in nacre("memory", "types", "--add", "meeting").stderr
    assert "'meeting' is a type already." in nacre("memory", "types", "--add", "meeting").stderr
    nacre.ok("remember", "Stand-up at nine", "--type", "meeting")
    counts = {each["type"]: each["memories"] for each in nacre.json("memory", "types")}
    assert (counts["meeting"], counts["semantic"]) == (1, 0)
    nacre.ok("undo", "--last", "2")
    assert "meeting" not in nacre.ok("memory", "types")
