"""nacre store migrate: the whole store to another file, with its history."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.cli.commands.migrate import report
from nacre.cli.ui.prompts import duration, progress_text
from nacre.errors import StoreIncomplete
from nacre.transfer.migrate import Migrated, MovedSpace
from tests.command_line import CommandLine


@pytest.fixture
def filled(nacre: CommandLine) -> CommandLine:
    nacre.ok("remember", "the well is deep")
    nacre.ok("remember", "the rope is short", "--space", "other")
    nacre.ok("undo")
    return nacre


def test_a_moved_store_has_all_spaces_and_its_journal(filled: CommandLine, tmp_path: Path) -> None:
    target = str(tmp_path / "moved.db")
    before = [filled.json("journal", "--space", space) for space in ("default", "other")]
    done = filled("migrate", str(filled.store), target)
    assert done.exit_code == 0 and "Both were read again and are equal" in done.stderr
    assert f"nacre config set store {target}" in done.stderr
    assert [filled.json("--store", target, "journal", "--space", space) for space in ("default", "other")] == before
    batch = next(each["batch"] for each in before[0] if each["act"] == "undo")
    filled.ok("--store", target, "undo", batch)
    assert [each["text"] for each in filled.json("--store", target, "list")] == ["the well is deep"]


def test_what_was_moved_can_be_read_by_a_program(filled: CommandLine, tmp_path: Path) -> None:
    done = filled.json("migrate", str(filled.store), str(tmp_path / "moved.db"))
    assert done["target"] == str(tmp_path / "moved.db")
    assert {space["name"]: (space["memories"], space["entries"]) for space in done["spaces"]} == {
        "default": (0, 2), "other": (1, 1),
    }  # fmt: skip


def test_a_store_that_holds_something_a_missing_one_and_the_same_one_are_refused(
    filled: CommandLine, tmp_path: Path
) -> None:
    other = str(tmp_path / "other.db")
    filled.ok("--store", other, "remember", "mine")
    refused = filled("migrate", str(filled.store), other)
    assert refused.exit_code == 3 and "has memories already" in refused.stderr
    itself = filled("migrate", str(filled.store), str(tmp_path / "." / "store.db"))
    assert itself.exit_code == 3 and "cannot be moved to itself" in itself.stderr
    (tmp_path / "missing.txt").touch()  # no store, however similar its name
    missing = filled("migrate", str(tmp_path / "missing.db"), str(tmp_path / "new.db"))
    assert missing.exit_code == 4 and "missing.db" in missing.stderr and "did you mean" not in missing.stderr
    assert filled("migrate", ":memory:", str(tmp_path / "new.db")).exit_code == 3
    assert not (tmp_path / "missing.db").exists() and not (tmp_path / "new.db").exists()


def test_an_empty_file_is_not_moved_and_stays_as_it_is(filled: CommandLine, tmp_path: Path) -> None:
    empty = tmp_path / "empty.db"
    empty.touch()
    refused = filled("migrate", str(empty), str(tmp_path / "new.db"))
    assert refused.exit_code == 4 and "it is empty" in refused.stderr
    assert not empty.stat().st_size and not (tmp_path / "new.db").exists()


def test_a_short_passphrase_leaves_no_target(filled: CommandLine, tmp_path: Path) -> None:
    key = tmp_path / "short.key"
    key.write_text("s" * 3)
    key.chmod(0o600)
    refused = filled("migrate", str(filled.store), str(tmp_path / "new.db"), "--to-key", f"file:{key}")
    assert refused.exit_code == 2 and "too short" in refused.stderr and "--new-key-file" not in refused.stderr
    assert not (tmp_path / "new.db").exists()


def test_a_restricted_agent_cannot_move_the_store(
    filled: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_SCOPE", "session_only")
    monkeypatch.setenv("NACRE_AGENT", "scout")
    monkeypatch.setenv("NACRE_SESSION", "one")
    refused = filled("migrate", str(filled.store), str(tmp_path / "new.db"))
    assert refused.exit_code == 3 and "move the store" in refused.stderr and not (tmp_path / "new.db").exists()


@pytest.mark.slow
def test_an_encrypted_store_stays_encrypted_unless_it_is_said(filled: CommandLine, tmp_path: Path) -> None:
    key, other = tmp_path / "first.key", tmp_path / "second.key"
    filled.ok("encrypt", "--new-key-file", str(key), "--yes")
    other.write_text("1f" * 32)
    other.chmod(0o600)
    plain, same, fresh = (str(tmp_path / f"{name}.db") for name in ("plain", "same", "fresh"))
    wrong = filled("migrate", str(filled.store), same)
    assert wrong.exit_code == 4 and "encrypted" in wrong.stderr
    first = ("--from-key", f"file:{key}")
    filled.ok("migrate", str(filled.store), same, *first)
    filled.ok("migrate", str(filled.store), fresh, *first, "--to-key", f"file:{other}")
    done = filled("migrate", str(filled.store), plain, *first, "--to-key", "")
    assert "is encrypted, and" in done.stderr
    headers = [Path(file).read_bytes()[:6] for file in (plain, same, fresh)]
    assert headers[0] == b"SQLite" and b"SQLite" not in headers[1:]
    filled.ok("migrate", fresh, str(tmp_path / "last.db"), "--from-key", f"file:{other}", "--to-key", "")
    assert filled.json("--store", str(tmp_path / "last.db"), "list", "--space", "other")


@pytest.mark.slow
def test_ctrl_c_says_what_was_kept_and_the_same_command_continues(nacre: CommandLine, tmp_path: Path) -> None:
    with MemoryStore(nacre.store, space="default") as store:
        store.remember_many([f"fact number {number}" for number in range(400)], on_conflict="ignore")
    target = str(tmp_path / "moved.db")
    script = "from tests.interrupted_migration import main; main()"
    words = [sys.executable, "-c", script, "migrate", str(nacre.store), target]
    stopped = subprocess.run(words, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=120)
    assert stopped.returncode == 128 + signal.SIGINT
    assert "run the same command again to continue" in stopped.stderr and "is unchanged" in stopped.stderr
    refused = nacre("--store", target, "list")
    assert refused.exit_code == 4 and f"nacre store migrate {nacre.store} {target}" in refused.stderr
    with pytest.raises(StoreIncomplete, match="delete the file"):
        MemoryStore(target)
    done = nacre.json("migrate", str(nacre.store), target)
    assert done["spaces"][0]["memories"] == 400
    assert len(json.loads(nacre.ok("--store", target, "list", "-n", "0", "-f", "json"))) == 400


def test_the_rate_and_the_time_left_are_told_once_they_are_known() -> None:
    assert progress_text("Copying", 10, 100, 0.5, columns=60) == "Copying: 10 of 100, 10 %"
    rate = progress_text("Copying", 1_000, 100_000, 10.0, columns=120)
    assert rate == f"Copying: [{'-' * 20}] 1,000 of 100,000, 1 %, 100 a second, 16 min 30 s left"
    assert duration(59.4) == "59 s"


@pytest.mark.parametrize(
    ("target", "space", "told"),
    [("postgresql://me@db/memory", "personal", True), ("postgresql://me@db/memory", "work", False),
     ("/tmp/other.db", "personal", False)],
)  # fmt: skip
def test_who_moves_personal_notes_to_a_database_is_told_who_could_read_them(
    target: str, space: str, told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    done = Migrated("/tmp/own.db", target, (MovedSpace(space, 1, 1, 1, "00"),), 0, 1, 1.0)
    report(done, encrypted_before=False, key="")
    assert ("space rename personal personal@USER" in capsys.readouterr().err) is told
