"""A service that answers too much, or too slowly, is given up."""

from __future__ import annotations

import io
import socket
from collections.abc import Iterator

import pytest

from nacre.errors import InvalidInput, LanguageModelError
from nacre.models import services
from nacre.models.services import ATTEMPTS, LONGEST_PAUSE_SECONDS, REASON_LENGTH, JsonService, read_limited
from tests.loopback import KEY, Loopback, serving


def failure(reason: str) -> LanguageModelError:
    return LanguageModelError("tiny", reason, "Start it.")


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    with serving(Loopback()) as service:
        yield service


def service(loopback: Loopback, key: str | None = KEY) -> JsonService:
    return JsonService(f"{loopback.url}/ask", failure, key=key, sleep=loopback.pauses.append)


def test_request_and_answer_are_json(loopback: Loopback) -> None:
    assert service(loopback).post({"a": ["é", 1]}) == {"a": ["é", 1]}
    assert loopback.asked[0].headers["content-type"] == "application/json"


def test_the_key_is_sent_in_its_header_without_surrounding_space(loopback: Loopback) -> None:
    service(loopback, f" {KEY}\n").post({})
    service(loopback, None).post({})
    assert [asked.headers.get("authorization") for asked in loopback.asked] == [f"Bearer {KEY}", None]


def test_a_temporary_failure_is_tried_again_with_growing_pauses(loopback: Loopback) -> None:
    loopback.failures = [(500, {}), (529, {}), (429, {"Retry-After": "3600"})]
    assert service(loopback).post({"a": 1}) == {"a": 1}
    assert loopback.pauses == [0.5, 1.0, LONGEST_PAUSE_SECONDS]


def test_the_number_of_tries_is_limited(loopback: Loopback) -> None:
    loopback.failures = [(503, {})] * 10
    with pytest.raises(LanguageModelError, match="HTTP 503"):
        service(loopback).post({})
    assert (len(loopback.asked), len(loopback.pauses)) == (ATTEMPTS, ATTEMPTS - 1)


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_permanent_refusal_is_not_tried_again_and_shows_no_key(loopback: Loopback, status: int) -> None:
    loopback.failures = [(status, {})]
    with pytest.raises(LanguageModelError, match=rf"HTTP {status}: refused the key \[key\]") as caught:
        service(loopback).post({})
    assert KEY not in str(caught.value)
    assert len(loopback.asked) == 1


def test_the_key_is_not_sent_to_another_host(loopback: Loopback) -> None:
    with serving(Loopback()) as other:
        for status in (301, 302, 303, 307, 308):
            loopback.failures = [(status, {"Location": f"{other.url}/steal"})]
            with pytest.raises(LanguageModelError, match=f"HTTP {status}"):
                service(loopback).post({})
        assert other.asked == []


@pytest.mark.parametrize("answer", [b"<html>" * 1000, b"\xff\xfe\xfd", b"", b"[" * 100_000])
def test_an_answer_that_is_not_json_is_reported_in_one_short_line(loopback: Loopback, answer: bytes) -> None:
    loopback.answer = answer
    with pytest.raises(LanguageModelError, match="its answer is not JSON") as caught:
        service(loopback).post({})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < REASON_LENGTH + 100


def test_a_timeout_is_not_tried_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        pauses: list[float] = []
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(LanguageModelError, match=r"no answer within 0\.05 s"):
            JsonService(url, failure, timeout=0.05, sleep=pauses.append).post({})
    assert pauses == []


def test_a_refused_connection_is_tried_again() -> None:
    pauses: list[float] = []
    with pytest.raises(LanguageModelError, match="refused"):
        JsonService("http://127.0.0.1:9", failure, sleep=pauses.append).post({})
    assert len(pauses) == ATTEMPTS - 1


@pytest.mark.parametrize("url", ["file:///etc/passwd", "localhost:11434", "https://me:secret@host/v1"])
def test_only_plain_web_addresses_are_accepted(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        JsonService(url, failure)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-a\nsk-b", "sk-ключ", "sk-\x00"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(InvalidInput, match="copy it again") as caught:
        JsonService("http://127.0.0.1:9", failure, key=key)
    assert "sk-" not in str(caught.value)


def test_an_answer_beyond_the_limit_is_not_read_to_its_end(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "LARGEST_ANSWER", 1000)
    asked = JsonService(f"{loopback.url}/ask", lambda reason: LanguageModelError("tiny", reason, "Start it."))
    with pytest.raises(LanguageModelError, match="more than"):
        asked.post({"echo": "x" * 5000})
    assert len(loopback.asked) == 1


def test_a_slowly_sent_answer_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(1000))
    monkeypatch.setattr("nacre.models.services.time.monotonic", lambda: float(next(times)))

    class Trickle(io.RawIOBase):
        def read(self, _size: int = -1) -> bytes:
            return b"x"

    with pytest.raises(TimeoutError):
        read_limited(Trickle(), deadline=20.0)  # type: ignore[arg-type]


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
