"""`ai-lessons` without new interpreters: the `nacre` that it starts is a copy of its own process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from types import SimpleNamespace

from tests.forked import ran_to_its_end


def run(command: Sequence[str], *, env: Mapping[str, str], check: bool) -> subprocess.CompletedProcess[str]:
    assert command[:2] == [sys.executable, "-m"] and not check
    sys.stdout.flush()
    if (copy := os.fork()) == 0:
        os.environ.clear()
        os.environ.update(env)
        sys.argv = [*command[2:]]
        os._exit(ran_to_its_end(command[2]))
    return subprocess.CompletedProcess(command, os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]))


if __name__ == "__main__":
    from nacre.compat.ai_lessons import cli

    vars(cli)["subprocess"] = SimpleNamespace(run=run)
    cli.main(prog_name="ai-lessons")
