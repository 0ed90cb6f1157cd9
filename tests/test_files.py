"""Whatever Nacre writes, only its owner may read, whatever the umask is."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import platformdirs
import pytest

from nacre import MemoryStore, files
from nacre.files import (
    XDG,
    atomic_write,
    atomic_writer,
    data_sections,
    file_lock,
    private_folder,
    restrict_to_owner,
    user_folder,
)
from nacre.hooks.channel import LoopbackChannel, UnixChannel, log_line
from nacre.lifecycle.daemon import DaemonFiles, logging_to, pid_file, spawn_detached
from nacre.mcp.http import load_token
from nacre.storage.keys import make_key_file
from tests.command_line import CommandLine

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the user's profile decides there")


@pytest.fixture(params=[0o000, 0o022], ids=["umask 000", "umask 022"])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    try:
        yield request.param
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def readable_by_others(*folders: Path) -> list[str]:
    """What lies below these, each file and folder that somebody else may use."""
    found = [each for folder in folders for each in folder.rglob("*")]
    assert found, "nothing was written"
    return [f"{each.relative_to(each.anchor)} {mode(each):o}" for each in found if mode(each) & 0o077]


@pytest.mark.slow
@pytest.mark.usefixtures("umask")
def test_files_written_by_commands_are_their_owners_alone(
    nacre: CommandLine, elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "made" / "by" / "nacre" / "store.db"
    nacre.store.unlink(missing_ok=True)  # the fixture's own; here the store and its folders are made by us
    monkeypatch.setenv("NACRE_STORE", str(store))
    monkeypatch.setenv("NACRE_JOURNAL_MIRROR", str(tmp_path / "made" / "mirror" / "journal.jsonl"))
    nacre.ok("remember", "the well is deep")
    nacre.ok("export", str(tmp_path / "all.nacre"))
    nacre.ok("export", str(tmp_path / "all.ahkai"))
    nacre.ok("backup", "create")
    (tmp_path / "copies").mkdir(mode=0o700)
    copy = nacre.ok("backup", "create", str(tmp_path / "copies" / "own.db"))
    nacre.ok("backup", "restore", copy, "--yes")
    nacre.ok("lesson", "add", "--title", "Measure first", "--content", "Measure before you optimise.")
    nacre.ok("lesson", "export", "-o", str(tmp_path / "lessons.yaml"))
    nacre.ok("config", "set", "space", "me")
    nacre.ok("maintenance", "tick")
    assert (tmp_path / "made" / "mirror" / "journal.jsonl").is_file()
    assert readable_by_others(tmp_path / "made" / "mirror") == []
    monkeypatch.delenv("NACRE_JOURNAL_MIRROR")  # an encrypted store has none
    shutil.rmtree(tmp_path / "made" / "mirror")
    nacre.ok("encrypt", "--new-key-file", str(tmp_path / "keys" / "store.key"), "--yes")
    assert (tmp_path / "all.nacre").is_file() and (elsewhere / "config").is_dir()
    assert readable_by_others(tmp_path, elsewhere) == []


@pytest.mark.usefixtures("umask")
def test_a_store_in_use_and_what_lies_beside_it_are_their_owners_alone(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "deep" / "store.db", embedder="hashing") as store:
        store.remember("the well is deep")
        assert (tmp_path / "deep" / "store.db-wal").is_file()
        assert readable_by_others(tmp_path) == []


@pytest.mark.usefixtures("umask")
def test_logs_sockets_and_pid_files_are_their_owners_alone(elsewhere: Path, tmp_path: Path) -> None:
    log_line("prompt", "a line")
    beside = DaemonFiles.beside(tmp_path / "state" / "store.db")
    spawn_detached([sys.executable, "-c", ""], beside.log)
    channel = UnixChannel(private_folder(tmp_path / "run") / "a.sock")
    listening, _ = channel.listen()
    other, _ = LoopbackChannel(tmp_path / "run" / "port").listen()
    load_token(tmp_path / "token")
    make_key_file(tmp_path / "keys" / "key")
    with listening, other, pid_file(beside.pid), logging_to(beside.log):
        assert readable_by_others(tmp_path, elsewhere) == []


@pytest.mark.parametrize("beside", ["", "-wal", "-shm"])
def test_a_store_that_others_could_read_is_tightened_when_it_is_opened(tmp_path: Path, beside: str) -> None:
    file = tmp_path / "store.db"
    with MemoryStore(file, embedder="hashing") as first:
        first.remember("the well is deep")
        part = file.with_name(file.name + beside)
        part.chmod(0o644)
        with MemoryStore(file, embedder="hashing") as second:
            assert second.count() == 1
            assert mode(part) == 0o600


def test_the_users_settings_file_is_tightened_when_it_is_read(nacre: CommandLine, elsewhere: Path) -> None:
    file = elsewhere / "config" / "nacre" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('space = "me"\n', "utf-8")
    file.chmod(0o644)
    nacre.ok("config", "list")
    assert mode(file) == 0o600


def test_a_folder_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o755)
    with MemoryStore(folder / "store.db", embedder="hashing") as store:
        store.remember("the well is deep")
    assert mode(folder) == 0o755
    assert mode(folder / "store.db") == 0o600


def test_a_folder_with_the_setgid_bit_is_shared_with_its_group_on_purpose(tmp_path: Path) -> None:
    folder = tmp_path / "team"
    folder.mkdir()
    folder.chmod(0o2770)
    file = folder / "store.db"
    file.touch()
    file.chmod(0o664)
    restrict_to_owner(file)
    assert mode(file) == 0o660


def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "state"
    atomic_write(file, "before")
    with pytest.raises(ZeroDivisionError), atomic_writer(file) as out:
        out.write(b"half")
        raise ZeroDivisionError
    assert file.read_text("utf-8") == "before"
    assert list(tmp_path.iterdir()) == [file]


def test_shared_locks_do_not_exclude_each_other_and_an_exclusive_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "lock"
    with (
        file_lock(file, exclusive=False, patience=0),
        file_lock(file, exclusive=False, patience=0),
        pytest.raises(BlockingIOError),
        file_lock(file, exclusive=True, patience=0.01),
    ):
        raise AssertionError
    with (
        file_lock(file, exclusive=True, patience=0),
        pytest.raises(BlockingIOError),
        file_lock(file, exclusive=False, patience=0),
    ):
        raise AssertionError
    begun, waited_for = threading.Event(), threading.Event()

    def hold() -> None:
        with file_lock(file, exclusive=True, patience=0):
            begun.set()
            assert waited_for.wait(60)

    monkeypatch.setattr("nacre.files.time.sleep", lambda _: waited_for.set())  # between two attempts

    holder = threading.Thread(target=hold)
    holder.start()
    assert begun.wait(60)
    with file_lock(file, exclusive=False, patience=60):
        holder.join()


def test_a_data_file_has_sections_comments_continued_lines_and_definitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = (
        "# what it is\nSIGN = [!?]\nTWICE = {SIGN}{2}\n\n[first]\na b|\n    c\n{TWICE}[a]\n# on {NOTHING}\n[2 x]\n"
    )
    (tmp_path / "words.txt").write_text(written, "utf-8")
    monkeypatch.setattr(files, "PACKAGE", tmp_path)
    assert data_sections("words.txt") == [("first", ["a b|c", "[!?]{2}[a]"]), ("2 x", [])]


@pytest.mark.parametrize("kind", XDG)
@pytest.mark.parametrize("home", [None, "", "/home/ann", "ann"])
@pytest.mark.parametrize("named", [None, "", "/srv/own", "own", " "])
def test_the_users_folders_are_those_of_platformdirs(
    monkeypatch: pytest.MonkeyPatch,
    kind: Literal["config", "data", "state", "cache"],
    home: str | None,
    named: str | None,
) -> None:
    for variable, value in (("HOME", home), (XDG[kind][0], named)):
        if value is None:
            monkeypatch.delenv(variable, raising=False)
        else:
            monkeypatch.setenv(variable, value)
    try:
        expected = getattr(platformdirs, f"user_{kind}_path")("nacre", appauthor=False)
    except RuntimeError as error:  # newer versions refuse a home that is no absolute path
        with pytest.raises(RuntimeError, match=re.escape(str(error))):
            user_folder(kind)
    else:
        assert user_folder(kind) == expected
