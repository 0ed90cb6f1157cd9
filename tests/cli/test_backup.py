"""nacre store backup: copies, their check, and the way back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.settings import Settings
from nacre.storage.sqlite import connection
from tests.command_line import CommandLine


def texts(nacre: CommandLine) -> list[str]:
    return sorted(each["text"] for each in nacre.json("list", "-n", "0"))


@pytest.mark.slow
def test_a_copy_is_made_listed_checked_and_put_back(nacre: CommandLine) -> None:
    nacre.ok("remember", "the well is deep")
    copy = nacre.ok("backup", "create")
    nacre.ok("remember", "the rope is short")
    (listed,) = nacre.json("backup", "list")
    assert (listed["file"], listed["kind"]) == (copy, "copy")
    assert nacre.json("backup", "verify", copy)["memories"] == 1
    assert "is complete and undamaged: 1 memory in 1 space" in nacre.ok("backup", "verify", copy)
    kept = nacre.ok("backup", "restore", copy, "--yes")
    assert texts(nacre) == ["the well is deep"]
    assert [each["kind"] for each in nacre.json("backup", "list")].count("replaced") == 1
    nacre.ok("backup", "restore", kept, "--yes")
    assert texts(nacre) == ["the rope is short", "the well is deep"]


def test_a_copy_goes_where_it_should_makes_no_folder_and_replaces_nothing(nacre: CommandLine, tmp_path: Path) -> None:
    nacre.ok("remember", "x")
    missing = nacre("backup", "create", str(tmp_path / "deep" / "own.db"))
    assert missing.exit_code == 4 and "make it first" in missing.stderr and not (tmp_path / "deep").exists()
    (tmp_path / "deep").mkdir()
    assert nacre.ok("backup", "create", str(tmp_path / "deep" / "own.db")) == str(tmp_path / "deep" / "own.db")
    again = nacre("backup", "create", str(tmp_path / "deep" / "own.db"))
    assert again.exit_code == 2 and "never replaces" in again.stderr


def test_a_name_without_an_ending_is_a_folder_whose_copies_can_be_listed(nacre: CommandLine, tmp_path: Path) -> None:
    nacre.ok("remember", "x")
    for folder in (tmp_path / "new", tmp_path / "there"):
        (tmp_path / "there").mkdir(exist_ok=True)
        result = nacre("backup", "create", str(folder))
        copy = Path(result.stdout.strip())
        assert copy.parent == folder and copy.suffix == ".db" and f"backup list {folder}" in result.stderr
        assert [each["file"] for each in nacre.json("backup", "list", str(folder))] == [str(copy)]
    assert nacre.json("backup", "list") == []
    assert "put elsewhere are listed by `nacre store backup list FOLDER`" in nacre("backup", "list").stderr
    (tmp_path / "empty").mkdir()
    assert (
        f"There is no copy (a file named *.db) in {tmp_path / 'empty'}."
        in nacre("backup", "list", str(tmp_path / "empty")).stderr
    )


def test_a_restore_says_where_the_log_of_a_missing_store_is_kept_and_how_to_read_it(nacre: CommandLine) -> None:
    nacre.ok("remember", "the well is deep")
    copy, log = nacre.ok("backup", "create"), nacre.store.with_name(f"{nacre.store.name}-wal")
    with MemoryStore(settings=Settings(store=str(nacre.store), embedder="hashing")) as store:
        store.remember("the rope is short")
        left = log.read_bytes()
    nacre.store.unlink()
    log.write_bytes(left)
    result = nacre("backup", "restore", copy, "--yes")
    kept = Path(result.stdout.strip())
    assert kept.read_bytes() == left and "`nacre doctor --salvage` with this name reads it" in result.stderr
    assert texts(nacre) == ["the well is deep"]


def test_a_restore_asks_and_a_dry_run_changes_nothing(nacre: CommandLine) -> None:
    nacre.ok("remember", "first")
    copy = nacre.ok("backup", "create")
    nacre.ok("remember", "second")
    assert "nothing was changed" in nacre("backup", "restore", copy, "--dry-run").stderr
    assert nacre("backup", "restore", copy, input="n\n").exit_code == 2
    assert texts(nacre) == ["first", "second"]
    assert nacre("backup", "restore", copy, input="y\n").exit_code == 0
    assert texts(nacre) == ["first"]


def test_a_restore_brings_no_revoked_token_back(nacre: CommandLine) -> None:
    nacre.ok("user", "add", "ada")
    token = nacre.ok("token", "create", "--user", "ada", "--role", "writer")
    copy = nacre.ok("backup", "create")
    nacre.ok("token", "revoke", token.split("_")[1])
    nacre.ok("user", "add", "ben")
    assert "stay as they were" in nacre("backup", "restore", copy, "--yes").stderr
    assert json.loads(nacre.ok("token", "list", "-f", "json")) == []
    assert [user["name"] for user in json.loads(nacre.ok("user", "list", "-f", "json"))] == ["ada", "ben"]


def test_a_restore_where_nobody_was_admitted_brings_the_users_of_the_copy(nacre: CommandLine, tmp_path: Path) -> None:
    nacre.ok("user", "add", "ada")
    copy = nacre.ok("backup", "create")
    kept = tmp_path / "kept.db"
    kept.write_bytes(Path(copy).read_bytes())
    nacre.ok("user", "remove", "ada", "--yes")
    said = nacre("backup", "restore", str(kept), "--yes").stderr
    assert "are those of the copy: revoke again" in said and "stay as they were" not in said
    assert [user["name"] for user in json.loads(nacre.ok("user", "list", "-f", "json"))] == ["ada"]


def test_a_store_that_another_has_open_is_left_alone(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    nacre.ok("remember", "first")
    copy = nacre.ok("backup", "create")
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.1)
    with MemoryStore(nacre.store, embedder="hashing") as other:
        other.remember("second")
        refused = nacre("backup", "restore", copy, "--yes")
        assert refused.exit_code == 4 and "nothing was changed" in refused.stderr
        assert other.count() == 2
    assert len(texts(nacre)) == 2


def test_a_damaged_copy_is_one_sentence_and_code_4(nacre: CommandLine, tmp_path: Path) -> None:
    nacre.ok("remember", "first")
    (tmp_path / "copy.db").write_bytes(b"SQLite format 3\x00" + b"\x01" * 4096)
    for words in (["verify"], ["restore", "--yes"]):
        refused = nacre("backup", *words, str(tmp_path / "copy.db"))
        assert refused.exit_code == 4 and refused.stderr.count("\n") == 1
        assert "`nacre store backup list` has them" in refused.stderr and "doctor" not in refused.stderr
    assert texts(nacre) == ["first"]


def test_a_copy_that_is_not_there_is_named_as_one(nacre: CommandLine, tmp_path: Path) -> None:
    nacre.ok("remember", "first")
    for words in (["verify"], ["restore", "--yes"]):
        refused = nacre("backup", *words, str(tmp_path / "nope.db"))
        assert refused.exit_code == 4 and "--store" not in refused.stderr
        assert f"There is no copy {tmp_path / 'nope.db'}; `nacre store backup list` shows the copies." in refused.stderr
    assert texts(nacre) == ["first"]


def test_an_encrypted_store_takes_back_a_copy_from_before_it_was(
    nacre: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nacre.ok("remember", "plain words")
    plain = nacre.ok("backup", "create", str(tmp_path / "plain.db"))
    nacre.ok("encrypt", "--new-key-file", str(tmp_path / "key"), "--yes")
    monkeypatch.setenv("NACRE_KEY", f"file:{tmp_path / 'key'}")
    secret = nacre.ok("backup", "create", str(tmp_path / "secret.db"))
    assert nacre.json("backup", "verify", secret)["encrypted"] is True
    for copy in (plain, secret):
        nacre.ok("backup", "restore", copy, "--yes")
        assert b"plain words" not in nacre.store.read_bytes()
        assert texts(nacre) == ["plain words"]


def test_a_narrowed_agent_neither_lists_nor_restores(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    nacre.ok("remember", "first")
    copy = nacre.ok("backup", "create")
    for name, value in (("SCOPE", "session_only"), ("AGENT", "ada"), ("SESSION", "one")):
        monkeypatch.setenv(f"NACRE_{name}", value)
    for words in (["list"], ["verify", copy], ["restore", copy, "--yes"], ["create"]):
        assert nacre("backup", *words).exit_code == 3


def test_without_copies_the_list_says_how_to_make_one(nacre: CommandLine) -> None:
    output = nacre("backup", "list", "-f", "json")
    assert json.loads(output.stdout) == [] and "nacre store backup create" in output.stderr


def test_a_purge_says_that_copies_keep_what_it_deletes(nacre: CommandLine) -> None:
    nacre.ok("remember", "to be purged", "--id", "p")
    nacre.ok("remember", "to be purged too", "--id", "q")
    assert "backup list" not in nacre("purge", "p", "--yes").stderr
    nacre.ok("backup", "create")
    said = nacre("purge", "q", "--yes").stderr
    assert "1 copy of the store, made before, may still have it; `nacre store backup list` says where." in said
    assert "automatic" not in said


def test_without_a_store_there_is_nothing_to_copy(
    nacre: CommandLine, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NACRE_STORE")
    for words in ([], [str(elsewhere / "copies")]):
        result = nacre("backup", "create", *words)
        assert result.exit_code == 1 and result.stderr.startswith("Nothing is remembered yet;")
        assert len(result.stderr.splitlines()) == 1 and not (elsewhere / "copies").exists()
