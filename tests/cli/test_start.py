"""A hook is answered without the modules of the command line; everything else goes to them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nacre.cli.start import hook_call


@pytest.mark.parametrize(
    ("words", "call"),
    [
        (["hook", "prompt"], ("prompt", {})),
        (["--store", "a.db", "--space", "b", "hook", "stop"], ("stop", {"store": "a.db", "space": "b"})),
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
