"""What happens between a client's call and the function of a tool."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.to_thread
import pytest

from nacre.errors import EmbeddingMismatch, MemoryNotFound, UnknownName
from nacre.mcp.calls import check_arguments, progress_reporter
from nacre.mcp.profiles import profile_named
from nacre.mcp.server import make_server
from nacre.mcp.store_provider import StoreProvider
from nacre.mcp.tool import Answer, ToolSession, without_commands
from nacre.models.shipped_embedder import ENGLISH
from nacre.settings import Settings
from tests.former_model import TEXTS, fill, is_renewed
from tests.mcp.agents import Agent, talking
from tests.waiting import wait_for


@pytest.fixture
def agent() -> Iterator[Agent]:
    provider = StoreProvider(Settings(store=":memory:", embedder="hashing"))
    with talking(make_server(profile_named("core"), provider)) as talker:
        yield talker
    provider.close()


@pytest.mark.slow
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
    assert "colour" in agent.refused("recall", query="cups", colour=None)
    (recall,) = (tool for tool in profile_named("core").tools if tool.name == "recall")
    with pytest.raises(UnknownName):
        check_arguments(recall, {"query": "cups", "colour": 3})


def test_names_that_models_often_use_for_an_argument_are_understood(agent: Agent) -> None:
    for number in range(3):
        agent.ok("remember", content=f"Saucer {number} has a crack")
    assert len(agent.ok("recall", q="cracked saucer", limit=2)["memories"]) == 2
    assert len(agent.ok("history", k=1)["operations"]) == 1
    assert "limit" in agent.refused("recall", query="saucer", k=1, limit=2)
    assert "'q'" in agent.refused("recall", query="saucer", q="saucer")


def test_a_cancelled_call_writes_nothing() -> None:
    reached, released, ended = threading.Event(), threading.Event(), threading.Event()

    def slowly(session: ToolSession, text: str) -> Answer:
        reached.set()
        assert released.wait(60)
        try:
            return Answer({"id": session.store.remember(text).id}, "stored")
        finally:
            ended.set()

    provider = StoreProvider(Settings(store=":memory:", embedder="hashing"))
    with talking(make_server(profile_named("core").running({"remember": slowly}), provider)) as client:
        for text, cancels in (("The kettle whistles", True), ("The kettle boils", False)):
            called = client.portal.start_task_soon(client.client.call_tool, "remember", {"text": text})
            assert reached.wait(60)
            if cancels:
                called.cancel()
                client.ok("status")  # answered after the cancellation was read
            released.set()
            assert ended.wait(60)
            if not cancels:
                called.result(60)
            for event in (reached, released, ended):
                event.clear()
        assert [memory.text for memory in provider.store().list_recent()] == ["The kettle boils"]
    provider.close()


@pytest.mark.parametrize(
    ("profile", "error", "says"),
    [
        ("core", MemoryNotFound("x", "s"), "No memory 'x' in the space 's'; `recall` shows ids."),
        ("mnemosyne", MemoryNotFound("x", "s"), "No memory 'x' in the space 's'; `search_memories` shows ids."),
        ("core", "There is no such operation; `nacre journal` lists them.",
         "There is no such operation; `history` lists what was done."),
        ("core", "a was changed (edit 12); undo the later operations first, or with this one (`--cascade`).",
         "a was changed (edit 12); undo the later operations first."),
        ("core", EmbeddingMismatch("a", "b"), "This store was indexed with 'a', but 'b' is configured. Tell the user, "
         "because no tool can do this."),
        ("lessons", "'i' names nothing; `nacre review` lists them.",
         "'i' names nothing; tell the user, because no tool can do this."),
    ],
)  # fmt: skip
def test_an_error_names_the_tool_to_call_next_and_no_shell_command(profile: str, error: object, says: str) -> None:
    assert without_commands(profile_named(profile), str(error)) == says


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


def test_after_an_update_with_another_model_words_answer_until_the_store_has_new_vectors(tmp_path: Path) -> None:
    fill(tmp_path / "s.db", ENGLISH.replaces[0])
    provider = StoreProvider(Settings(store=str(tmp_path / "s.db"), embedder="english", space="default"))
    with talking(make_server(profile_named("core"), provider)) as talker:
        told = talker.told("recall", query="copper kettle")
        assert TEXTS[0] in told and "model has changed with an update" in told
        assert "reindex" not in told and "tell the user" not in told.lower()
        talker.ok("remember", text="The teapot is red")
        store = provider.opened()
        assert wait_for(lambda: talker.ok("recall", query="copper kettle") and not store.stats().waiting_for_model)
        assert is_renewed(store, ENGLISH.identity)
        assert "model has changed" not in talker.told("recall", query="copper kettle")
    provider.close()
