"""The command line as a person or a script calls it, on a store of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from nacre.cli.main import nacre as command_line
from tests import forked


class CommandLine:
    """Calling it gives the result; `ok` and `json` insist that it went well."""

    def __init__(self, store: Path) -> None:
        self.store = store

    def __call__(self, *words: str, input: str | bytes | None = None) -> Result:
        return CliRunner().invoke(command_line, words, input=input, prog_name="nacre", catch_exceptions=False)

    def ok(self, *words: str, input: str | bytes | None = None) -> str:
        result = self(*words, input=input)
        assert result.exit_code == 0, result.output
        return result.stdout.rstrip("\n")

    def json(self, *words: str) -> Any:
        return json.loads(self.ok(*words, "-f", "json"))

    def process(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """In a process of its own that starts quickly."""
        return forked.run(words, **options)

    def new_interpreter(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """In a process of its own as a shell starts it, where the start is the point."""
        settings: dict[str, Any] = {"capture_output": True, "text": True, "encoding": "utf-8", "timeout": 120}
        return subprocess.run([sys.executable, "-m", "nacre", *words], **{**settings, **options})


@pytest.fixture
def nacre(elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:  # noqa: ARG001
    monkeypatch.setenv("NACRE_EMBEDDER", "hashing")
    monkeypatch.setenv("NACRE_STORE", str(tmp_path / "store.db"))
    for name in ("NO_COLOR", "VISUAL", "EDITOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    # That of the library, so that a test may use both; `tests/cli/test_space_choice.py` is about the rule.
    monkeypatch.setenv("NACRE_SPACE", "default")
    (tmp_path / "store.db").touch()  # an empty file is a new store: commands that only read refuse a missing one
    return CommandLine(tmp_path / "store.db")
