"""A hook is answered without the modules of the command line; everything else goes to them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nacre.cli.start import ONE_THREAD, hook_call


@pytest.mark.parametrize(
    ("words", "call"),
    [
        (["hook", "prompt"], ("prompt", {})),
        (["--store", "a.db", "--space", "b", "hook", "stop"], ("stop", {"store": "a.db", "space": "b"})),
        (["--key", "file:/k", "hook", "stop"], ("stop", {"key": "file:/k"})),
        (["hook", "status"], None),
        (["hook", "prompt", "--help"], None),
        (["--debug", "hook", "prompt"], None),
        (["--debug", "yes", "hook", "prompt"], None),
        (["--store", "hook", "prompt"], None),
        (["recall", "prompt"], None),
        (["hook"], None),
        ([], None),
    ],
)
def test_a_call_of_an_installed_hook_is_recognised(words: list[str], call: object) -> None:
    assert hook_call(words) == call


def test_a_hook_imports_neither_click_nor_the_commands(tmp_path: Path) -> None:
    program = (
        "import sys; from nacre.cli.start import run; sys.argv = ['nacre', 'hook', 'prompt']; run();"
        "print(sorted(each for each in sys.modules if each == 'click' or each.startswith('nacre.cli')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps({"session_id": "s", "cwd": str(tmp_path), "prompt": "Where is the key?"}),
        env={"HOME": str(tmp_path), "NACRE_HOOK_INJECT": "false", "PATH": ""},
        text=True,
        capture_output=True,
        check=True,
    )
    assert done.stdout.strip() == "['nacre.cli', 'nacre.cli.start']"


@pytest.mark.parametrize(
    ("words", "variable", "threads", "spares"),
    [
        (["recall", "--help"], "", "1", True),
        pytest.param(["--space", "a", "remember", "--help"], "", "1", True, marks=pytest.mark.slow),
        (["recall", "--help"], "3", "3", True),
        pytest.param(["--space=list", "show", "--help"], "", "1", True, marks=pytest.mark.slow),
        pytest.param(["reflect", "--help"], "", "", False, marks=pytest.mark.slow),
        (["--space", "list", "stats", "--help"], "", "", False),
        pytest.param(["bench", "recall", "--help"], "", "", False, marks=pytest.mark.slow),
    ],
)
def test_a_quick_command_starts_no_threads_of_numpy_and_looks_for_no_garbage(
    words: list[str], variable: str, threads: str, spares: bool
) -> None:
    program = (
        "import gc, os, sys; from nacre.cli.start import ONE_THREAD, run; before = gc.get_threshold()\n"
        "try: run()\n"
        "finally: print(os.environ.get(ONE_THREAD, ''), gc.get_threshold() != before, file=sys.stderr)"
    )
    environment = {name: value for name, value in os.environ.items() if name != ONE_THREAD}
    if variable:
        environment[ONE_THREAD] = variable
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.stderr.split() == [*([threads] if threads else []), str(spares)]
