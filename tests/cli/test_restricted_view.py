"""A restricted agent at the command line sees nothing of others, whatever the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import CommandLine
from tests.narrowing import START, outcome, world
from tests.samples import Clock

COMMANDS = [
    ["list", "--all"], ["list", "-f", "json"], ["recall", "harbour crane"], ["recall", "zebra stripes", "--why"],
    ["pack", "harbour crane flies"], ["show", "b1"], ["show", "a1"], ["stats"], ["spaces"], ["neighbors", "a1"],
    ["neighbors", "b2"], ["graph"], ["graph", "b2"], ["path", "a1", "b2"], ["relations"], ["history", "b1"],
    ["journal", "list"], ["journal"], ["conflicts"], ["review", "--list"], ["audit"], ["trash", "list"],
    ["diff", "2020-01-01"], ["doctor"], ["edit", "b1", "--text", "x"], ["forget", "b1"], ["purge", "b1", "--yes"],
    ["link", "a1", "b2"], ["unlink", "b2", "a1"], ["pin", "b3"], ["supersede", "b1", "a1"], ["redact", "b1", "--yes"],
    ["remember", "Zebra stripes attract the harbour flies"], ["undo"], ["prune-links"], ["decay"], ["reflect"],
    ["consolidate"], ["retain"], ["reindex"], ["maintenance", "status"], ["entities"],
    ["entities", "about", "Pier"], ["mind", "status", "bea"],
    ["graph", "-f", "json"], ["encrypt", "--new-key-file", "k", "--yes"],
]  # fmt: skip


FREE = 100_000_000_000


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_cannot_tell_whether_others_are_there(
    words: list[str], nacre: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = []
    for shared in (False, True):
        place = tmp_path / "here" / "store.db"
        world(place, Clock(), shared=shared).close()
        for name, value in {"STORE": str(place), "AGENT": "ada", "SESSION": "one", "SCOPE": "session_only"}.items():
            monkeypatch.setenv(f"NACRE_{name}", value)
        monkeypatch.setattr("time.time", lambda: START + 20)
        monkeypatch.setattr("nacre.lifecycle.doctor.free_bytes", lambda _: FREE)  # others use the disk meanwhile
        result = nacre(*words)
        answers.append(f"{result.exit_code} {outcome(str, result.stdout + result.stderr)}")
        for file in place.parent.iterdir():
            file.unlink()
    assert answers[0] == answers[1]
