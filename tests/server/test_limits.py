"""A token gets its share of each minute, which fills up again; others are not concerned."""

from __future__ import annotations

import json

import pytest

from nacre.server.limits import Limits, RateLimiter, tool_writes
from nacre.server.serve import writing_tools
from tests.samples import Clock


def test_a_share_is_used_up_and_fills_up_again() -> None:
    clock = Clock(0.0)
    limiter = RateLimiter(Limits(requests=60, writes=2, bytes=1_000), clock)
    assert [limiter.take("a", writes=1) for _ in range(2)] == [0, 0]
    assert 29 < limiter.take("a", writes=1) <= 30
    assert limiter.take("a") == 0 and limiter.take("b", writes=1) == 0
    clock.now += 30
    assert limiter.take("a", writes=1) == 0 and limiter.take("a", writes=1) > 0


def test_what_is_refused_takes_nothing() -> None:
    clock = Clock(0.0)
    limiter = RateLimiter(Limits(requests=1, writes=0, bytes=0), clock)
    assert limiter.take("a") == 0
    assert [round(limiter.take("a")) for _ in range(3)] == [60, 60, 60]


def test_what_is_given_back_can_be_taken_again_and_no_more() -> None:
    limiter = RateLimiter(Limits(requests=1, writes=0, bytes=0), Clock(0.0))
    limiter.give_back("a")
    assert limiter.take("a") == 0 and limiter.take("a") > 0
    for _ in range(2):
        limiter.give_back("a")
    assert limiter.take("a") == 0 and limiter.take("a") > 0


def test_a_body_larger_than_the_share_of_a_minute_waits_for_all_of_it_and_then_passes() -> None:
    clock = Clock(0.0)
    limiter = RateLimiter(Limits(requests=0, writes=0, bytes=100), clock)
    assert limiter.take("a", size=250) == 0
    assert limiter.take("a", size=1) > 60
    clock.now += 151
    assert limiter.take("a", size=1) == 0


def test_without_a_limit_nothing_is_refused() -> None:
    limiter = RateLimiter(Limits(requests=0, writes=0, bytes=0), Clock(0.0))
    assert not any(limiter.take("a", writes=1, size=10**9) for _ in range(1_000))


def called(*names: object) -> object:
    calls = [{"method": "tools/call", "params": {"name": name, "arguments": {}}} for name in names]
    return calls[0] if len(calls) == 1 else calls


@pytest.mark.parametrize(
    ("sent", "writes"),
    [
        (called("remember"), 1), (called("forget"), 1), (called("recall"), 0), (called(["remember"]), 0),
        (called("remember", "recall", "link"), 2), ({"method": "tools/list"}, 0), ([1], 0), (None, 0),
        ({"method": "tools/call", "params": ["remember"]}, 0),
    ],
)  # fmt: skip
def test_calls_of_tools_that_write_are_writes(sent: object, writes: int) -> None:
    assert tool_writes(json.dumps(sent).encode(), writing_tools("core")) == writes


def test_what_is_no_json_writes_nothing() -> None:
    assert [tool_writes(body, writing_tools("full")) for body in (b"", b"{", b"[" * 100_000, b"\xff")] == [0] * 4
