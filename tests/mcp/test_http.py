"""The server over streamable HTTP: its token, its names, several clients at once, its end."""

from __future__ import annotations

import os
import signal
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from nacre.errors import ConfigError, InvalidInput
from nacre.mcp.http import Address, allowed_names, listen, load_token
from tests.command_line import CommandLine
from tests.mcp.agents import PATIENCE, HttpServer

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
TAKING = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    place = tmp_path_factory.mktemp("http")
    served = HttpServer(place / "store.db", place)
    yield served
    served.stop()


def posted(server: HttpServer, **headers: str) -> httpx2.Response:
    return httpx2.post(server.url, json=HELLO, headers={**TAKING, **headers}, timeout=PATIENCE)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_clients_of_either_protocol_remember_and_recall(server: HttpServer, mode: str) -> None:
    with server.agent(mode=mode) as agent:
        assert len(agent.tools()) == 8
        id = agent.ok("remember", text=f"Moorings are numbered from the east, says {mode}")["id"]
        assert agent.ok("recall", query=f"moorings numbered {mode}", k=1)["memories"][0]["id"] == id


@pytest.mark.slow
def test_clients_at_the_same_time_share_one_memory(server: HttpServer) -> None:
    with server.agent() as first, server.agent() as second:
        id = first.ok("remember", text="The winch squeaks when it rains")["id"]
        assert second.ok("recall", query="winch squeaks", k=1)["memories"][0]["id"] == id
        assert first.ok("status")["memories"] == second.ok("status")["memories"]


@pytest.mark.slow
def test_the_token_is_shown_once_and_asked_for(server: HttpServer) -> None:
    assert server.said.count(server.token) == 1 and len(server.token) >= 32
    answers = [posted(server), posted(server, Authorization="Bearer wrong"), posted(server, Authorization="Basic x")]
    answers.append(posted(server, Authorization=f"Bearer {server.token}x"))
    assert {(each.status_code, each.headers["www-authenticate"]) for each in answers} == {(401, "Bearer")}
    assert posted(server, Authorization=f"Bearer {server.token}").status_code == 200


@pytest.mark.slow
def test_a_page_that_let_its_name_lead_here_is_turned_away(server: HttpServer) -> None:
    bearer = f"Bearer {server.token}"
    port = server.url.rsplit(":", 1)[1].partition("/")[0]
    assert posted(server, Authorization=bearer, Host=f"evil.example:{port}").status_code == 421
    assert posted(server, Authorization=bearer, Origin="http://evil.example").status_code == 403
    assert posted(server, Authorization=bearer, Origin=f"http://localhost:{port}").status_code == 200
    assert posted(server, Authorization=bearer, Host=f"localhost:{port}").status_code == 200


@pytest.mark.slow
def test_there_is_no_oauth_to_discover(server: HttpServer) -> None:
    """Claude Code takes 401 for an invitation to log in."""
    root = server.url.removesuffix("/mcp")
    for place in ("oauth-protected-resource", "oauth-protected-resource/mcp", "oauth-authorization-server"):
        answer = httpx2.get(f"{root}/.well-known/{place}", timeout=PATIENCE)
        assert (answer.status_code, "www-authenticate" in answer.headers) == (404, False)
        assert answer.json() == {"error": "Not found."}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_does_not_notice_a_restart(tmp_path: Path, mode: str) -> None:
    load_token(tmp_path / "token")
    words = ("--token-file", str(tmp_path / "token"))
    first = HttpServer(tmp_path / "store.db", tmp_path, *words)
    with first.agent((tmp_path / "token").read_text().strip(), mode=mode) as agent:
        id = agent.ok("remember", text="The lock gate is greased in March")["id"]
        first.stop()
        port = int(first.url.rsplit(":", 1)[1].partition("/")[0])
        second = HttpServer(tmp_path / "store.db", tmp_path, *words, port=port)
        try:
            assert agent.ok("recall", query="lock gate greased", k=1)["memories"][0]["id"] == id
        finally:
            second.stop()


@pytest.mark.slow
def test_a_server_ends_when_it_is_told_to_although_a_client_is_connected(tmp_path: Path) -> None:
    served = HttpServer(tmp_path / "store.db", tmp_path, "--profile", "lessons", new_interpreter=True)
    with served.agent() as agent:
        agent.ok("learn", title="Grease", content="The hinges want grease in spring")
        assert served.stop() in (0, -signal.SIGTERM)


@pytest.mark.slow
def test_a_token_file_is_made_for_its_owner_alone_and_then_used(tmp_path: Path) -> None:
    file = tmp_path / "token"
    token, made = load_token(file)
    assert made and load_token(file) == (token, False)
    assert os.name != "posix" or stat.S_IMODE(file.stat().st_mode) == 0o600
    served = HttpServer(tmp_path / "store.db", tmp_path, "--token-file", str(file))
    assert token not in served.said
    with served.agent(token) as agent:
        assert agent.ok("status")["memories"] == 0
    served.stop()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_token_file_that_others_may_read_is_used_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "token"
    load_token(file)
    load_token(file)
    assert caplog.messages == []
    file.chmod(0o644)
    load_token(file)
    assert caplog.messages == [f"Others may read the token file {file}; run `chmod 600` on it."]


@pytest.mark.parametrize("content", ["", "short", "two words " * 4])
def test_a_file_that_holds_no_token_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "token").write_text(content)
    with pytest.raises(ConfigError, match="no token"):
        load_token(tmp_path / "token")


def test_a_host_that_others_can_reach_needs_a_token_file(nacre: CommandLine) -> None:
    for place in ("0.0.0.0:0", "[::]:0", "example.org:80"):
        result = nacre("mcp", "--http", place)
        assert result.exit_code != 0 and "--token-file" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "host", "port", "local"),
    [
        ("127.0.0.1:80", "127.0.0.1", 80, True),
        ("8765", "127.0.0.1", 8765, True),
        ("localhost:1", "localhost", 1, True),
        ("[::1]:9", "::1", 9, True),
        ("127.9.9.9:0", "127.9.9.9", 0, True),
        ("10.0.0.1:1", "10.0.0.1", 1, False),
        ("box.local:1", "box.local", 1, False),
    ],
)
def test_a_place_is_read(given: str, host: str, port: int, local: bool) -> None:
    place = Address.of(given)
    assert (place.host, place.port, place.local) == (host, port, local)


@pytest.mark.slow
@pytest.mark.parametrize("given", ["", "here", "127.0.0.1:", "127.0.0.1:x", "h:70000"])
def test_what_is_no_place_is_refused(given: str) -> None:
    with pytest.raises(InvalidInput, match="HOST:PORT"):
        Address.of(given)


@pytest.mark.slow
def test_a_further_name_of_the_machine_may_be_allowed() -> None:
    allowed = allowed_names(["box.local"])
    assert {"box.local:*", "localhost:*", "127.0.0.1:*", "[::1]:*"} <= set(allowed.allowed_hosts)
    assert "https://box.local:*" in allowed.allowed_origins and allowed.enable_dns_rebinding_protection


@pytest.mark.parametrize(
    ("host", "says"),
    [
        ("no.such.host.invalid", "'no.such.host.invalid' is not the name of a host that is known here ("),
        ("192.0.2.1", "192.0.2.1 is not an address of this machine (Cannot assign requested address); write one"),
    ],
)
def test_a_host_that_is_not_here_is_named(host: str, says: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        listen(Address(host, 0))
    assert says in str(refused.value) and "such as 127.0.0.1." in str(refused.value)
    assert "port" not in str(refused.value) and "Unknown error" not in str(refused.value)


def test_who_meets_a_taken_port_reads_the_option_of_this_command_alone(nacre: CommandLine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        address = f"127.0.0.1:{port}"
        for words in (["serve", "--http", address], ["mcp", "--http", address], ["web", "--port", str(port)]):
            said = nacre(*words).stderr
            assert f"choose another port with {words[1]}." in said and "`nacre" not in said


@pytest.mark.slow
def test_a_port_that_is_taken_is_one_clear_error(nacre: CommandLine, server: HttpServer) -> None:
    taken = server.url.partition("//")[2].partition("/")[0]
    result = nacre("mcp", "--http", taken)
    assert result.exit_code != 0 and "is not available (Address already in use); choose another port" in result.stderr
    assert "--http" in result.stderr and "attempting" not in result.stderr
