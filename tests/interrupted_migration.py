"""`nacre` that gets a Ctrl-C while it copies the 300th row of a migration."""

from __future__ import annotations

import os
import signal
import sys

from nacre.cli.start import run
from nacre.transfer.migrate import Walk, Watch

STOPPED_AT = 300
count = Walk.count


def stopping(self: Walk, watch: Watch) -> None:
    count(self, watch)
    if self.done == STOPPED_AT:
        os.kill(os.getpid(), signal.SIGINT)


def main() -> None:
    Walk.count = stopping  # type: ignore[method-assign]
    sys.argv[0] = "nacre"
    run()
