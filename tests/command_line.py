"""The command line as a person or a script calls it, on a store of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from click.testing import CliRunner, Result

from nacre.cli.main import nacre as command_line
from nacre.models import shipped
from tests import forked
from tests.prepared_stores import empty_store

Steps = tuple[tuple[str, ...], ...]
MOMENT = 20.0  # seconds: what is printed says "just now" for a minute
LEFT: dict[tuple[Steps, tuple[tuple[str, str], ...]], tuple[float, bytes]] = {}  # by commands and settings


def is_setting(name: str, _: str) -> bool:
    return name.startswith("NACRE_") and name != "NACRE_STORE"


# The models' files are really read by the first `nacre doctor` of a process; they stay as they are.
read_once = cache(shipped.faults)


class CommandLine:
    """Calling it gives the result; `ok` and `json` insist that it went well."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.steps: Steps | None = ()  # what `after` ran; None once something else was done

    def __call__(self, *words: str, input: str | bytes | None = None) -> Result:
        self.steps = None
        return CliRunner().invoke(command_line, words, input=input, prog_name="nacre", catch_exceptions=False)

    def ok(self, *words: str, input: str | bytes | None = None) -> str:
        result = self(*words, input=input)
        assert result.exit_code == 0, result.output
        return result.stdout.rstrip("\n")

    def after(self, *steps: tuple[str, ...]) -> CommandLine:
        """Runs these commands, which many tests begin with. Where the same ones were run a moment ago on a store like
        this one, puts a copy of what they left there. For fixtures: what a test wrote by other means would be lost."""
        before, others = self.steps, tuple(sorted(named for named in os.environ.items() if is_setting(*named)))
        key = ((before or ()) + steps, others)
        at, content = LEFT.get(key, (-MOMENT, b""))
        if before is not None and monotonic() - at < MOMENT:
            self.store.write_bytes(content)
        else:
            started = monotonic()
            for words in steps:
                self.ok(*words)
            if before is not None and not self.store.with_name(self.store.name + "-wal").exists():
                LEFT[key] = started, self.store.read_bytes()
        self.steps = None if before is None else key[0]
        return self

    def json(self, *words: str) -> Any:
        return json.loads(self.ok(*words, "-f", "json"))

    def process(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """In a process of its own that starts quickly."""
        self.steps = None
        return forked.run(words, **options)

    def new_interpreter(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """In a process of its own as a shell starts it, where the start is the point."""
        self.steps = None
        settings: dict[str, Any] = {"capture_output": True, "text": True, "encoding": "utf-8", "timeout": 120}
        return subprocess.run([sys.executable, "-m", "nacre", *words], **{**settings, **options})


@pytest.fixture
def nacre(elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:  # noqa: ARG001
    monkeypatch.setenv("NACRE_EMBEDDER", "hashing")
    monkeypatch.setenv("NACRE_STORE", str(tmp_path / "store.db"))
    for name in ("NO_COLOR", "VISUAL", "EDITOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(shipped, "faults", read_once)
    # That of the library, so that a test may use both; `tests/cli/test_space_choice.py` is about the rule.
    monkeypatch.setenv("NACRE_SPACE", "default")
    return CommandLine(empty_store(tmp_path / "store.db"))  # commands that only read refuse a missing one
