"""How the `nacre` command starts.

A client waits for a hook at every prompt, so that one is answered without importing the command line: that halves its
time.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

EVENTS = ("session-start", "prompt", "pre-compact", "stop", "session-end")
FLAGS = ("--store", "--space", "--embedder", "--key")
QUICK = {"hook", "list", "recall", "remember", "show"}  # commands that people and clients wait for, with little work
# numpy starts a thread for each core, which keeps it busy for a while. Only maintenance has work for several.
ONE_THREAD = "OPENBLAS_NUM_THREADS"
NEW_OBJECTS = 400_000  # until the garbage collector runs: twice as many as a recall makes, about 60 MB


def run() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a character that the terminal cannot show
    if command_of(sys.argv[1:]) in QUICK:
        spare_time()
    call = hook_call(sys.argv[1:])
    if call is None:
        from nacre.cli.main import nacre

        nacre.main(prog_name="nacre")
    else:
        answer_hook(*call)


def command_of(words: Sequence[str]) -> str:
    """The first word behind the flags; a flag that is not known here may have a value, and counts as a command."""
    at = 0
    while at < len(words) and words[at].partition("=")[0] in FLAGS:
        at += 1 if "=" in words[at] else 2
    return words[at] if at < len(words) else ""


def spare_time() -> None:
    """What a process that ends soon can do without: a sixth of the time of a recall."""
    os.environ.setdefault(ONE_THREAD, "1")
    gc.set_threshold(NEW_OBJECTS)
    atexit.register(gc.freeze)  # what is left at the end is not searched for garbage


def hook_call(words: Sequence[str]) -> tuple[str, dict[str, str]] | None:
    """The event and the flags of a call as installers write it; None where click has to read it."""
    *flags, command, event = words if len(words) >= 2 else ("", "")
    names, values = flags[::2], flags[1::2]
    if command != "hook" or event not in EVENTS or len(names) != len(values) or not set(names) <= set(FLAGS):
        return None
    return event, {name.removeprefix("--"): value for name, value in zip(names, values, strict=True)}


def answer_hook(event: str, flags: dict[str, str]) -> None:
    from nacre.hooks.client import run

    if text := run(event, flags):
        sys.stdout.write(text + "\n")
