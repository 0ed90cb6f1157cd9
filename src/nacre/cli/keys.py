"""Reads single keys from a terminal; what was typed ahead is not lost."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

END = "\x04"  # Ctrl-D
PATIENCE = 0.2  # seconds between two looks at whether somebody wants to stop
ESCAPE, SEQUENCES = b"\x1b", (b"[", b"O")  # of the keys that send several, each ends with a letter or "~"


@contextmanager
def keystrokes() -> Iterator[Callable[[], str]]:
    """While it lasts keys are neither echoed nor held back until the end of a line. Ask inside it."""
    try:
        import termios
        import tty
    except ImportError:  # Windows
        import click

        yield click.getchar
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal, termios.TCSADRAIN)
        yield lambda: key(terminal)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def key(terminal: int) -> str:
    """One character; empty for a key that sends several, such as an arrow, which must not be taken for its letters."""
    while not waits(terminal, PATIENCE):
        pass  # a Ctrl-C that comes just before the reading would otherwise wait for the next key
    typed = os.read(terminal, 1)
    if typed != ESCAPE:
        return typed.decode("latin-1") if typed else END
    if waits(terminal) and os.read(terminal, 1) in SEQUENCES:
        while waits(terminal) and not b"@" <= os.read(terminal, 1) <= b"~":
            pass
    return ""


def waits(terminal: int, seconds: float = 0.01) -> bool:
    return bool(select.select([terminal], [], [], seconds)[0])
