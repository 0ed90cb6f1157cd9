"""A client that calls hooks, as a process of its own for each call, and the helper that they start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nacre import Memory, MemoryStore
from nacre.hooks.channel import HelperFiles, log_file
from nacre.hooks.client import HELPER_SECONDS, end_helper
from nacre.settings import choose_space
from tests import forked
from tests.waiting import wait_for

COMPANION = "nacre.hooks.helper"
EVENTS = {"prompt": "UserPromptSubmit", "session-start": "SessionStart", "stop": "Stop", "session-end": "SessionEnd"}
PATIENCE = 120.0  # seconds, for a machine whose cores are all busy


@dataclass
class Client:
    store: Path
    folder: Path
    session: str = "3f0c7a52-session"
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def transcript(self) -> Path:
        return self.folder / "transcript.jsonl"

    @property
    def space(self) -> str:
        return choose_space(self.folder, environment={}).space

    @property
    def places(self) -> HelperFiles:
        return HelperFiles.of(self.store)

    def payload(self, event: str, **more: Any) -> str:
        return json.dumps({
            "session_id": self.session, "transcript_path": str(self.transcript), "cwd": str(self.folder),
            "hook_event_name": EVENTS.get(event, event), "permission_mode": "default", **more,
        })  # fmt: skip

    def start(self, event: str, payload: str) -> subprocess.Popen[str]:
        """In a new interpreter, as a client does it."""
        process = subprocess.Popen(
            [sys.executable, "-m", "nacre", "hook", event],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
            env=self.variables(),
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(payload)
        process.stdin.close()
        process.stdin = None
        return process

    def call(self, event: str, payload: str | None = None, **more: Any) -> str:
        """What the client gets; a hook never fails and never complains."""
        given = self.payload(event, **more) if payload is None else payload
        done = forked.run(["hook", event], input=given, env=self.variables(), cwd=self.folder, timeout=2 * PATIENCE)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout

    def variables(self) -> dict[str, str]:
        return {**os.environ, "NACRE_HOOK_LIMIT": str(PATIENCE), **self.environment}

    def context(self, event: str, **more: Any) -> str:
        """What is put before the prompt, empty when nothing is printed."""
        out = self.call(event, **more)
        if not out:
            return ""
        told = json.loads(out)["hookSpecificOutput"]
        assert told["hookEventName"] == EVENTS[event]
        return str(told["additionalContext"])

    def remember(self, text: str, space: str = "", **fields: Any) -> Memory:
        with MemoryStore(self.store, space=space or self.space, embedder="hashing") as store:
            return store.remember(text, **fields)

    def kept(self) -> list[str]:
        with MemoryStore(self.store, space=self.space, embedder="hashing") as store:
            return [memory.text for memory in store.list_recent(1_000, order="oldest", source="claude-code")]

    def without_helper(self) -> None:
        """A mark as if one were being started for some seconds: no hook starts another, or waits for it."""
        self.places.starting.touch()
        os.utime(self.places.starting, (time.time() - 2 * HELPER_SECONDS,) * 2)

    def helpers(self) -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().decode().split("\0") if entry.name.isdigit() else []
            except OSError:
                continue
            if COMPANION in words and str(self.store) in words:
                found.append(int(entry.name))
        return found

    def end(self) -> None:
        """One that is only just starting cannot be asked yet."""

        def ended() -> bool:
            end_helper({"store": str(self.store)})
            return not self.helpers()

        assert not self.helpers() or eventually(ended)
        for path in (self.places.starting, self.places.lock):
            path.unlink(missing_ok=True)


def log() -> str:
    return log_file().read_text("utf-8") if log_file().exists() else ""


def eventually(held: Callable[[], bool]) -> bool:
    return wait_for(held, "what the hook does")
