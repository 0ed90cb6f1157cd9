"""Starts a memory's worker process and speaks with it."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from peers.drivers import Item
from peers.environments import BENCHMARKS, Peer

ANSWER_LIMIT = 900.0  # seconds for one request; a batch of a thousand long texts takes minutes in the slowest memory
OPEN_LIMIT = 180.0
END_LIMIT = 30.0
KIB = 1024


class PeerFailed(Exception):
    """A memory raised an error, ended or did not answer; the message is its own."""


class Worker:
    """One process with one open store. `opened_in` is the time from its start until it could be asked."""

    def __init__(self, peer: Peer, folder: Path, *, quiet: bool = True, prefix: Sequence[str] = ()) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.started = time.perf_counter()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            [*prefix, str(peer.interpreter), "-m", "peers.worker", peer.driver, str(folder)],
            cwd=BENCHMARKS,
            env=peer.environment(quiet=quiet),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        self._buffer = b""
        try:
            self.receive(OPEN_LIMIT)
        except PeerFailed:
            self.kill()
            raise
        self.opened_in = time.perf_counter() - self.started

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.kill()

    def send(self, do: str, **content: object) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **content}).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError) as error:  # the process, or this end of the pipe, is closed
            raise PeerFailed("its process ended") from error

    def receive(self, limit: float = ANSWER_LIMIT) -> dict[str, Any]:
        """The next answer. Raises `PeerFailed`."""
        answer: dict[str, Any] = json.loads(self._line(limit))
        if "error" in answer:
            raise PeerFailed(str(answer["error"]))
        return answer

    def _line(self, limit: float) -> bytes:
        assert self._process.stdout is not None
        until = time.monotonic() + limit
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(max(0.0, until - time.monotonic())):
                    raise PeerFailed(f"no answer within {limit:.0f} s")
                part = os.read(self._process.stdout.fileno(), 1 << 16)
                if not part:
                    raise PeerFailed(f"its process ended ({self._last_words()})")
                self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "without a message")

    def ask(self, do: str, **content: object) -> dict[str, Any]:
        self.send(do, **content)
        return self.receive()

    def add(self, item: Item) -> dict[str, Any]:
        return self.ask("add", item=asdict(item))

    def add_many(self, items: Sequence[Item]) -> dict[str, Any]:
        return self.ask("add_many", items=[asdict(item) for item in items])

    def search(self, question: str, k: int, asked_at: float | None = None) -> dict[str, Any]:
        return self.ask("search", question=question, k=k, asked_at=asked_at)

    def close(self) -> None:
        """Lets the memory close its store; one that does not end in time is killed."""
        try:
            self.ask("close")
            self._process.wait(END_LIMIT)
        except (PeerFailed, subprocess.TimeoutExpired):
            self.kill()
        else:
            self._release()

    def kill(self) -> None:
        """Kills the process and those that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._release()

    def _release(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(OSError):  # what was not sent any more
                stream.close()
        self._errors.close()

    def resident_bytes(self) -> int:
        """Of the process and those that it started, now."""
        group = [
            pid
            for pid in map(int, filter(str.isdigit, (entry.name for entry in Path("/proc").iterdir())))
            if group_of(pid) == self._process.pid
        ]
        return sum(resident(pid) for pid in group)


def group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:
        return -1


def resident(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * KIB for line in lines if line.startswith("VmRSS:"))
