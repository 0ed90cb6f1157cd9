"""How the `nacre` command starts.

A client waits for a hook at every prompt, so that one is answered without importing the command line: that halves its
time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

EVENTS = ("session-start", "prompt", "pre-compact", "stop", "session-end")
FLAGS = ("--store", "--space", "--embedder")
# numpy's threads, one for each core, are started with it and keep their cores busy for a while. These commands compute
# nothing that is large enough to be shared; maintenance does.
QUICK = {"hook", "list", "recall", "remember", "show"}
ONE_THREAD = "OPENBLAS_NUM_THREADS"


def run() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a character that the terminal cannot show
    if QUICK.intersection(sys.argv[1:]):
        os.environ.setdefault(ONE_THREAD, "1")
    call = hook_call(sys.argv[1:])
    if call is None:
        from nacre.cli.main import nacre

        nacre.main(prog_name="nacre")
    else:
        answer_hook(*call)


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
