"""MCP over HTTP: the space that an agent works in, and what it learns of the server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.agents import stdio_agent
from tests.server.running import Caller, Served, serving, tokens

ASKED = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def by_user(place: Path) -> dict[str, str]:
    wanted = (
        ("eve", "writer", ()),
        ("ada", "admin", ()),
        ("bob", "reader", ("team",)),
        ("cat", "writer", ("team", "ops")),
        ("dan", "writer", ("team", "personal@dan")),
    )
    return dict(zip((user for user, _, _ in wanted), tokens(place / "s.db", *wanted), strict=True))


@pytest.fixture(scope="module")
def served(place: Path, by_user: dict[str, str]) -> Iterator[Served]:
    assert by_user  # are made before it starts
    with serving(place / "s.db", place) as running:
        yield running


@pytest.fixture
def callers(served: Served, by_user: dict[str, str]) -> dict[str, Caller]:
    return {user: served.caller(token) for user, token in by_user.items()}


def said(answer: Any) -> str:
    assert not answer.get("isError"), answer
    return str(answer["content"][0]["text"])


def test_an_agent_that_names_no_space_works_in_its_users_own(callers: dict[str, Caller]) -> None:
    assert "personal@eve" in said(callers["eve"].tool("remember", text="Eve keeps bees on the roof"))
    assert "bees" in said(callers["eve"].tool("recall", query="bees"))
    assert "bees" in callers["eve"]("GET", "/v1/spaces/personal@eve/memories").body.decode()
    assert callers["ada"]("GET", "/v1/spaces/default/count").result == 0
    assert "bees" not in said(callers["ada"].tool("recall", query="bees"))


def test_an_agent_with_a_token_for_one_space_works_in_it(callers: dict[str, Caller]) -> None:
    callers["ada"].tool("remember", "/mcp?space=team", text="The team meets on Mondays")
    assert "Mondays" in said(callers["bob"].tool("recall", query="team meets"))


def test_a_token_for_several_spaces_works_in_the_personal_one_where_it_names_it(callers: dict[str, Caller]) -> None:
    assert "personal@dan" in said(callers["dan"].tool("remember", text="Dan sails on Sundays"))


def test_a_token_for_several_spaces_without_the_personal_one_has_to_choose(callers: dict[str, Caller]) -> None:
    refused = callers["cat"]("POST", "/mcp", ASKED)
    assert refused.status == 404
    assert refused.json["message"] == (
        "This token does not open the space 'personal@cat'; it opens team, ops. Choose one of these with ?space=NAME "
        "at the end of the address, or ask an admin for a token."
    )
    assert "the space ops" in said(callers["cat"].tool("remember", "/mcp?space=ops", text="The pager is in the drawer"))


def test_the_status_tells_the_role_and_the_spaces_but_not_where_the_store_is(callers: dict[str, Caller]) -> None:
    told = {user: callers[user].tool("status") for user in ("bob", "eve", "ada")}
    assert "access: reader in team" in said(told["bob"])
    assert "access: writer in all spaces" in said(told["eve"])
    for answer in told.values():
        assert "s.db" not in str(answer) and "unrestricted" not in str(answer) and "store:" not in said(answer)


def test_the_status_works_over_a_server_for_an_mcp_server_of_ones_own(
    served: Served, by_user: dict[str, str], tmp_path: Path
) -> None:
    settings = {"NACRE_TOKEN": by_user["cat"], "NACRE_SPACE": "team"}
    with stdio_agent(served.url, tmp_path, settings=settings) as agent:  # type: ignore[arg-type]
        told = agent.told("status")
    assert "search by meaning: by the server (" in told
    assert "access: writer in team, ops" in told and f"store: {served.url}" in told


def test_tools_that_write_are_limited_as_writes(place: Path, by_user: dict[str, str]) -> None:
    with serving(place / "s.db", place, "--limit-writes", "2") as limited:
        cat = limited.caller(by_user["cat"])
        for number in range(2):
            cat.tool("remember", "/mcp?space=ops", text=f"Shift {number} begins at {number} o'clock")
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "remember", "arguments": {}}}
        refused = cat("POST", "/mcp?space=ops", call, Accept="application/json, text/event-stream")
        assert refused.status == 429 and int(refused.headers["retry-after"]) > 0
        assert "Shift 1" in said(cat.tool("recall", "/mcp?space=ops", query="shift"))
