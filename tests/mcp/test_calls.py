"""What happens between a client's call and the function of a tool."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.to_thread
import pytest

from nacre.errors import UnknownName
from nacre.mcp.calls import check_arguments, progress_reporter
from nacre.mcp.profiles import profile_named
from nacre.mcp.server import make_server
from nacre.mcp.store_provider import StoreProvider
from nacre.settings import Settings
from tests.mcp.agents import Agent, talking


@pytest.fixture
def agent() -> Iterator[Agent]:
    provider = StoreProvider(Settings(store=":memory:", embedder="hashing"))
    with talking(make_server(profile_named("core"), provider)) as talker:
        yield talker
    provider.close()


def test_an_explicit_null_for_an_argument_with_a_default_means_the_default(agent: Agent) -> None:
    for number in range(7):
        agent.ok("remember", text=f"Cupboard {number} holds cups", type=None, tags=None, importance=None)
    given = {"k": None, "type": None, "tag": None, "since": None, "until": None}
    assert len(agent.ok("recall", query="cupboard cups", **given)["memories"]) == 5
    assert "Cupboard" in agent.told("context", task="count the cups in a cupboard", budget=None)


def test_a_null_for_an_argument_without_a_default_is_refused_by_its_name(agent: Agent) -> None:
    assert "query" in agent.refused("recall", query=None)
    assert "text" in agent.refused("remember", text=None)


def test_an_unknown_argument_is_refused_even_when_it_is_null(agent: Agent) -> None:
    assert "limit" in agent.refused("recall", query="cups", limit=None)
    (recall,) = (tool for tool in profile_named("core").tools if tool.name == "recall")
    with pytest.raises(UnknownName):
        check_arguments(recall, {"query": "cups", "limit": 3})


class Reports:
    """A session that keeps the progress that it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[float, float]] = []

    async def report_progress(self, done: float, total: float, _what: str) -> None:
        self.told.append((done, total))


def reported(counts: list[tuple[int, int]], now: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, float]]:
    session = Reports()

    def work() -> None:
        report = progress_reporter(SimpleNamespace(session=session))  # type: ignore[arg-type]
        for done, total in counts:
            report(done, total, "counting")

    monkeypatch.setattr("nacre.mcp.calls.time", SimpleNamespace(monotonic=now))
    anyio.run(anyio.to_thread.run_sync, work)
    return session.told


def test_rapid_reports_are_thinned_out_and_still_end_at_the_total(monkeypatch: pytest.MonkeyPatch) -> None:
    told = reported([(done, 100) for done in range(1, 101)], lambda: 1_000.0, monkeypatch)
    assert told == [(1.0, 100.0), (100.0, 100.0)]


def test_slow_reports_are_all_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1_000, 2_000))
    told = reported([(done, 5) for done in range(1, 6)], lambda: float(next(clock)), monkeypatch)
    assert [done for done, _ in told] == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_reports_are_a_tenth_of_a_second_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 100.0625, 100.125, 100.1875, 100.25])
    told = reported([(done, 9) for done in range(1, 6)], lambda: next(clock), monkeypatch)
    assert [done for done, _ in told] == [1.0, 3.0, 5.0]
