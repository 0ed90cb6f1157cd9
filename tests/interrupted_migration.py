"""`nacre` that gets a Ctrl-C while it copies the 300th row of a migration."""

from __future__ import annotations

import os
import signal
import sys

from nacre.cli.main import run
from nacre.transfer.migrate import Walk

STOPPED_AT = 300
count = Walk._count


def stopping(walk: Walk) -> None:
    count(walk)
    if walk.done == STOPPED_AT:
        os.kill(os.getpid(), signal.SIGINT)


def main() -> None:
    Walk._count = stopping  # type: ignore[method-assign]
    sys.argv[0] = "nacre"
    run()
