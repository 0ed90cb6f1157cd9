"""The command as a process: what it imports, its streams, its end."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from nacre.cli.catalogue import HELP
from tests.doors.conftest import CommandLine

HEAVY = ("numpy", "apsw", "rich", "onnxruntime", "asyncio", "nacre.store", "nacre.cli.commands")


def test_help_imports_nothing_heavy_and_no_command() -> None:
    code = (
        "import sys\nfrom nacre.cli.main import nacre\nnacre.main(['--help'], standalone_mode=False)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert all(name in done.stdout for name in HELP)


@pytest.mark.parametrize("command", HELP)
def test_every_command_has_help(nacre: CommandLine, command: str) -> None:
    assert "Usage: nacre" in nacre.ok(command, "--help")


def test_an_unknown_command_names_the_nearest(nacre: CommandLine) -> None:
    assert "Did you mean 'recall'" in nacre("recal", "x").stderr
    result = nacre("xyzzy")
    assert result.exit_code == 2 and "nacre --help" in result.stderr


def test_the_version_is_told(nacre: CommandLine) -> None:
    assert nacre.new_interpreter("--version").stdout.startswith("nacre ")


def test_a_memory_passes_from_one_process_to_the_next(nacre: CommandLine) -> None:
    id = nacre.new_interpreter("remember", "from one process").stdout.strip()
    (found,) = json.loads(nacre.new_interpreter("recall", "process", "-f", "json").stdout)
    assert (found["id"], found["text"]) == (id, "from one process")


@pytest.mark.parametrize("words", [["list"], ["list", "-f", "json"], ["list", "-f", "table"], ["show", "x"]])
def test_a_reader_that_goes_away_is_no_reason_to_complain(nacre: CommandLine, words: list[str]) -> None:
    nacre.ok("remember", "x", "--id", "x")
    read, write = os.pipe()
    os.close(read)
    done = nacre.new_interpreter(*words, capture_output=False, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_no_encoding_of_a_terminal_is_a_crash(nacre: CommandLine, encoding: str) -> None:
    nacre.ok("remember", "中文 é 😀", "--id", "x")
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    for words in (["list"], ["list", "-f", "table"], ["show", "x"], ["pack", "é"]):
        done = nacre.new_interpreter(*words, env=environment, encoding=encoding)
        assert done.returncode == 0, done.stderr
    printed = nacre.new_interpreter("list", "-f", "json", env=environment, encoding=encoding).stdout
    assert json.loads(printed)[0]["text"] == "中文 é 😀"


def on_a_terminal(*words: str, **environment: str) -> str:
    """What a terminal of 80 columns gets to see."""
    master, terminal = pty.openpty()
    settings = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", **environment}
    process = subprocess.Popen(
        [sys.executable, "-m", "nacre", *words], stdin=terminal, stdout=terminal, stderr=terminal, env=settings
    )
    os.close(terminal)
    seen = bytearray()
    try:
        while block := os.read(master, 65536):
            seen += block
    except OSError:
        pass  # Linux tells the end of a terminal so
    os.close(master)
    process.wait(timeout=60)
    return seen.decode()


def test_a_terminal_gets_a_coloured_table(nacre: CommandLine) -> None:
    nacre.ok("remember", "the sea is salty")
    seen = on_a_terminal("list")
    assert "just now" in seen and "\x1b[" in seen


def test_no_color_means_a_table_without_colour(nacre: CommandLine) -> None:
    nacre.ok("remember", "the sea is salty", "--id", "abcdefgh-more")
    for words in (["list"], ["show", "abc"], ["doctor"]):
        seen = on_a_terminal(*words, NO_COLOR="1")
        assert "\x1b[3" not in seen
    assert "just now" in on_a_terminal("list", NO_COLOR="1")
    assert "abcdefgh-more" not in on_a_terminal("list", NO_COLOR="1")


def test_ctrl_c_ends_with_130_and_one_word(nacre: CommandLine) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "nacre", "remember", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while not nacre.store.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)  # the store is opened, and stdin is awaited
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "nacre: stopped.\n")
