"""The time limit of a hook: it is armed while the hook works, and never ends the process afterwards."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest

from nacre.hooks import client as asking


class Timer:
    """Notes what is done to it, instead of ending the process."""

    made: list[Timer]

    def __init__(self, seconds: float, _call: Any, arguments: tuple[Any, ...]) -> None:
        self.seconds, self.arguments = seconds, arguments
        self.daemon = False
        self.done: list[str] = []
        self.made.append(self)

    def start(self) -> None:
        self.done.append("start")

    def cancel(self) -> None:
        self.done.append("cancel")


@pytest.mark.parametrize("payload", [b"{}", b"no JSON"])
def test_the_limit_is_lifted_when_the_hook_is_done_and_when_it_failed(
    monkeypatch: pytest.MonkeyPatch, payload: bytes
) -> None:
    Timer.made = []
    monkeypatch.setattr(asking, "threading", SimpleNamespace(Timer=Timer))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(payload)))
    monkeypatch.setattr(asking, "answered", lambda _request, _until: "an answer")
    monkeypatch.setenv("NACRE_HOOK_LIMIT", "7.5")
    assert asking.run("prompt", {}) == ("an answer" if payload == b"{}" else "")
    (timer,) = Timer.made
    assert (timer.seconds, timer.arguments, timer.daemon) == (7.5, ("prompt", 7.5), True)
    assert timer.done == ["start", "cancel"]


@pytest.mark.parametrize("given", ["", "soon"])
def test_a_limit_that_is_no_number_is_the_usual_one(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("NACRE_HOOK_LIMIT", given)
    assert asking.seconds_allowed() == asking.LIMIT_SECONDS
