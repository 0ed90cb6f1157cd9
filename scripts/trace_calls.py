"""Counts the source files and functions that one remember and one recall pass through, by library and by command line.

Usage: python scripts/trace_calls.py [--files]. It uses the hashing embedder and a throw-away store; `--files` lists the
files of each trace in the order in which they are first entered.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

SOURCE = Path(__file__).resolve().parents[1] / "src" / "nacre"
TEXT = "The staging database is PostgreSQL 15."
QUESTION = "Which database runs on staging?"


def traced(run: Callable[[], object]) -> tuple[list[str], int]:
    """The files of the package that `run` enters, in order, and the number of different functions."""
    files: dict[str, None] = {}
    functions: set[tuple[str, str, int]] = set()

    def profile(frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        path = Path(code.co_filename)
        if code.co_name == "<module>" or not path.is_relative_to(SOURCE):
            return  # importing a module is not a step of the path
        files[str(path.relative_to(SOURCE))] = None
        functions.add((code.co_filename, code.co_qualname, code.co_firstlineno))

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return list(files), len(functions)


def command(*words: str) -> Callable[[], object]:
    from click.testing import CliRunner

    from nacre.cli.main import nacre

    def run() -> object:
        result = CliRunner().invoke(nacre, list(words), prog_name="nacre", catch_exceptions=False)
        if result.exit_code != 0:
            raise SystemExit(result.output)
        return result

    return run


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"NACRE_EMBEDDER": "hashing", "NACRE_STORE": f"{folder}/store.db", "HOME": folder}
        os.chdir(folder)
        from nacre import MemoryStore

        with MemoryStore() as store:
            # Opening the store and importing what a first call needs are not part of the traces.
            store.remember("Four desks stand by a river.")
            store.recall("How many desks are there?")
            rows = [
                ("library remember", *traced(lambda: store.remember(TEXT))),
                ("library recall", *traced(lambda: store.recall(QUESTION))),
            ]
        for words in (("remember", "Lunch is at one."), ("recall", "When is lunch?")):
            command(*words)()
        rows += [
            ("nacre remember", *traced(command("remember", "Deploys run at noon."))),
            ("nacre recall", *traced(command("recall", QUESTION))),
        ]
    for name, files, functions in rows:
        print(f"{name:17} {len(files):3} files  {functions:4} functions")
        if "--files" in sys.argv[1:]:
            print(*(f"    {file}" for file in files), sep="\n")


if __name__ == "__main__":
    main()
