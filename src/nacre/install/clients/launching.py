"""The command line that starts this program from anywhere, whatever PATH and folder it is started with."""

from __future__ import annotations

import os
import sys
from pathlib import Path

SCRIPT = "nacre.exe" if sys.platform == "win32" else "nacre"


def own_command() -> tuple[str, ...]:
    """The script beside this interpreter; else the interpreter itself.

    -P keeps what lies in the folder of the caller, a stranger's project perhaps, from being imported in our place.
    """
    interpreter = Path(os.path.abspath(sys.executable))  # noqa: PTH100 (a link into an environment must not be followed)
    script = interpreter.with_name(SCRIPT)
    if script.is_file() and os.access(script, os.X_OK):
        return (str(script),)
    return (str(interpreter), "-P", "-m", "nacre")
