"""Runs the ```console blocks of README and quickstart on a real terminal, and writes what each command prints.

`make docs` writes them anew; a test runs them again and compares, without ids and times.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/quickstart.md")
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\r")
COLUMNS, ROWS = 100, 60
PATIENCE = 120.0  # seconds: on a busy machine the first command loads the models
# What differs from run to run.
VARYING = (
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{8}\b"), "ID"),
    (re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d\S*)?"), "DATE"),
    (re.compile(r"\b(?:just now|\d+ (?:second|minute)s? ago|today|yesterday)\b"), "WHEN"),
    (re.compile(r"\b[01]\.\d+\b"), "FIGURE"),
    (re.compile(r"/\S*/nacre\.db"), "STORE"),
    (re.compile(r"[─━╌ ]+"), " "),
)


def run(block: str, home: Path, commands: Path) -> Iterator[tuple[str, str]]:
    """Each command of a block with what it prints; `commands` is the folder of the command `nacre`."""
    for line in block.splitlines():
        if line.startswith("$ "):
            yield line[2:], on_a_terminal(shlex.split(line[2:]), home, commands)


def on_a_terminal(words: list[str], home: Path, commands: Path) -> str:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NACRE_", "XDG_"))}
    environment = {**kept, "HOME": str(home), "TERM": "xterm-256color", "NO_COLOR": "1", "COLUMNS": str(COLUMNS)}
    environment["PATH"] = f"{commands}{os.pathsep}{environment['PATH']}"
    process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=home)
    os.close(slave)
    printed, until = b"", time.monotonic() + PATIENCE
    try:
        while time.monotonic() < until:
            ready, _, _ = select.select([master], [], [], until - time.monotonic())
            if not ready:
                break
            try:
                piece = os.read(master, 65_536)
            except OSError:  # the other end was closed
                break
            if not piece:
                break
            printed += piece
    finally:
        os.close(master)
        if process.poll() is None and time.monotonic() >= until:
            process.kill()
        process.wait(PATIENCE)
    text = ESCAPES.sub("", printed.decode("utf-8", "replace"))
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def masked(text: str) -> str:
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def filled(page: str, home: Path, commands: Path) -> str:
    """The page, with what its commands print now."""

    def block(found: re.Match[str]) -> str:
        shown = run(found.group(), home, commands)
        return (
            "\n\n".join(f"$ {command}\n{output}".rstrip().replace(str(home), "~") for command, output in shown) + "\n"
        )

    return BLOCK.sub(block, page)


def main() -> int:
    commands = Path(sys.executable).parent
    for name in PAGES:
        with tempfile.TemporaryDirectory() as home:
            file = ROOT / name
            file.write_text(filled(file.read_text("utf-8"), Path(home), commands), "utf-8")
            print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
