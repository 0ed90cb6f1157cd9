"""A service that answers too much, or too slowly, is given up."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from nacre.errors import LanguageModelError
from nacre.models import http_json
from nacre.models.http_json import JsonService, bounded
from tests.loopback import Loopback, serving


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    with serving(Loopback()) as service:
        yield service


def test_an_answer_beyond_the_limit_is_not_read_to_its_end(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_json, "LARGEST_ANSWER", 1000)
    asked = JsonService(f"{loopback.url}/ask", lambda reason: LanguageModelError("tiny", reason, "Start it."))
    with pytest.raises(LanguageModelError, match="more than"):
        asked.post({"echo": "x" * 5000})
    assert len(loopback.asked) == 1


def test_an_answer_that_trickles_has_a_time_limit_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(1000))
    monkeypatch.setattr("nacre.models.http_json.time.monotonic", lambda: float(next(times)))

    class Trickle(io.RawIOBase):
        def read(self, _size: int = -1) -> bytes:
            return b"x"

    with pytest.raises(TimeoutError):
        bounded(Trickle(), until=20.0)  # type: ignore[arg-type]


def test_all_tries_together_have_a_time_limit(loopback: Loopback) -> None:
    loopback.failures = [(429, {"Retry-After": "3600"})] * 10
    paused: list[float] = []
    asked = JsonService(
        f"{loopback.url}/ask", lambda reason: LanguageModelError("tiny", reason, "Start it."), timeout=5.0,
        sleep=paused.append,
    )  # fmt: skip
    with pytest.raises(LanguageModelError, match="429"):
        asked.post({})
    assert paused == []
