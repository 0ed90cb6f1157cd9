"""The command as a process: what it imports, its streams, its end."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import termios
import time
from tempfile import TemporaryFile

import pytest

from nacre.cli.catalogue import COMMANDS
from tests import forked
from tests.cli.terminal import PATIENCE, conversation
from tests.command_line import CommandLine

DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")
HEAVY = ("numpy", "apsw", "rich", "onnxruntime", "asyncio", "nacre.memory_store", "nacre.cli.commands")


def test_help_imports_nothing_heavy_and_no_command() -> None:
    code = (
        "import sys\nfrom nacre.cli.main import nacre\nnacre.main(['--help'], standalone_mode=False)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert all(name in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(nacre: CommandLine, command: str) -> None:
    assert "Usage: nacre" in nacre.ok(command, "--help")


def test_an_unknown_command_names_the_nearest(nacre: CommandLine) -> None:
    assert "Did you mean 'recall'" in nacre("recal", "x").stderr
    result = nacre("xyzzy")
    assert result.exit_code == 2 and "nacre --help" in result.stderr


@pytest.mark.parametrize("typed", ["redac", "purg", "redact-all"])
def test_a_command_that_deletes_for_good_is_never_suggested(nacre: CommandLine, typed: str) -> None:
    stderr = nacre(typed, "x").stderr
    assert f"No such command {typed!r}" in stderr and "'redact'" not in stderr and "'purge'" not in stderr


def test_who_looks_for_redo_learns_how_to_undo_an_undo(nacre: CommandLine) -> None:
    nacre.ok("remember", "kept after all", "--id", "x")
    nacre.ok("undo")
    result = nacre("redo")
    assert result.exit_code == 2 and "`nacre undo BATCH` undoes an undo too; `nacre journal` shows" in result.stderr
    nacre.ok("undo", nacre.json("journal", "-n", "1")[0]["batch"])
    assert [each["id"] for each in nacre.json("list")] == ["x"]


def test_the_version_is_printed(nacre: CommandLine) -> None:
    assert nacre.new_interpreter("--version").stdout.startswith("nacre ")


def test_a_memory_passes_from_one_process_to_the_next(nacre: CommandLine) -> None:
    id = nacre.new_interpreter("remember", "from one process").stdout.strip()
    (matches,) = json.loads(nacre.new_interpreter("recall", "process", "-f", "json").stdout)
    assert (matches["id"], matches["text"]) == (id, "from one process")


def test_a_reader_that_goes_away_is_no_reason_to_complain(nacre: CommandLine) -> None:
    nacre.ok("remember", "x", "--id", "x")
    read, write = os.pipe()
    os.close(read)
    done = nacre.new_interpreter("list", capture_output=False, stdout=write, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (141, "")
    for words in (["list", "-f", "json"], ["list", "-f", "table"], ["show", "x"]):
        with TemporaryFile() as nothing, TemporaryFile() as err:
            process = forked.start(words, streams=(nothing.fileno(), write, err.fileno()))
            assert process.wait(PATIENCE) == 141, words
            assert err.seek(0, os.SEEK_END) == 0
    os.close(write)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_no_encoding_of_a_terminal_is_a_crash(nacre: CommandLine, encoding: str) -> None:
    nacre.ok("remember", "中文 é 😀", "--id", "x")
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    for words in (["list", "-f", "table"], ["show", "x"], ["pack", "é"], ["list", "-f", "json"]):
        done = nacre.process(*words, env=environment, encoding=encoding)
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["text"] == "中文 é 😀"
    assert nacre.new_interpreter("list", env=environment, encoding=encoding).returncode == 0


def test_a_terminal_gets_a_coloured_table(nacre: CommandLine) -> None:
    nacre.ok("remember", "the sea is salty")
    seen, _ = conversation("list")
    assert DATE.search(seen) and "\x1b[" in seen


def test_no_color_means_a_table_without_colour(nacre: CommandLine) -> None:
    nacre.ok("remember", "the sea is salty", "--id", "abcdefgh-more")
    for words in (["list"], ["show", "abc"], ["doctor"]):
        seen, _ = conversation(*words, NO_COLOR="1")
        assert "\x1b[3" not in seen
        assert words != ["list"] or (DATE.search(seen) and "abcdefgh-more" not in seen)


@pytest.mark.usefixtures("nacre")
def test_ctrl_c_ends_with_130_and_one_word() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "nacre", "remember", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"The ferry")
    process.stdin.flush()
    deadline = time.monotonic() + PATIENCE
    while unread(process.stdin.fileno()) and time.monotonic() < deadline:
        time.sleep(0.01)  # it has begun to read when nothing is left
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, b"", b"nacre: stopped.\n")


def unread(pipe: int) -> int:
    """How many bytes wait in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
