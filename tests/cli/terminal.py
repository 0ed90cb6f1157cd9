"""A person at a terminal of 80 columns: reads until something is asked, and types the answer."""

from __future__ import annotations

import os
import pty
import select
import time
from dataclasses import dataclass, field

from tests import forked

PATIENCE = 120.0  # seconds


@dataclass
class Terminal:
    master: int
    seen: bytearray = field(default_factory=bytearray)
    read: int = 0

    def reads_until(self, question: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while (at := self.seen.find(question.encode(), self.read)) < 0:
            assert self.more(deadline), f"{question!r} was never asked: {self.seen.decode()}"
        self.read = at + len(question.encode())

    def reads_to_the_end(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while self.more(deadline):
            pass

    def more(self, deadline: float) -> bool:
        ready, _, _ = select.select([self.master], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"it waits for an answer: {self.seen.decode()}"
        try:
            block = os.read(self.master, 65536)
        except OSError:  # Linux tells the end of a terminal so
            return False
        self.seen += block
        return bool(block)


def conversation(*words: str, answers: tuple[tuple[str, str], ...] = (), **environment: str) -> tuple[str, int]:
    """Each answer is typed when the words before it were seen; gives all that was seen, and the exit code."""
    master, slave = pty.openpty()
    settings = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", **environment}
    process = forked.start(words, streams=(slave, slave, slave), env=settings, own_terminal=True)
    os.close(slave)
    terminal = Terminal(master)
    try:
        for question, keys in answers:
            terminal.reads_until(question)
            os.write(master, keys.encode())
        terminal.reads_to_the_end()
        return terminal.seen.decode(), process.wait(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait(PATIENCE)
        os.close(master)
