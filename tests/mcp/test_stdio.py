"""A stdio server ends with its client, however the client ended, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import apsw
import pytest
from mcp_types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from nacre.mcp import stdio
from nacre.memory_store import MemoryStore
from tests.mcp.agents import environment, server_command
from tests.waiting import wait_for

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and process ids as POSIX has them")
PATIENCE = 120.0  # seconds, for a machine whose cores are all busy

HELLO: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bare", "version": "1"},
}
CLIENT = """
import signal, subprocess, sys
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(server.pid, flush=True)
server.stdin.write(sys.stdin.readline().encode())
server.stdin.flush()
server.stdout.readline()
print("greeted", flush=True)
signal.pause()
"""

PARENT = """
import signal, subprocess, sys
server = subprocess.Popen(sys.argv[2:], stdin=int(sys.argv[1]), stdout=subprocess.PIPE)
print(server.pid, flush=True)
server.stdout.readline()
print("greeted", flush=True)
signal.pause()
"""


class Pipe:
    """A client that speaks the protocol byte by byte."""

    def __init__(self, store: Path, home: Path, version: str = HELLO["protocolVersion"], **settings: str) -> None:
        env = {**os.environ, **environment(home, **settings)}
        self.process = subprocess.Popen(
            server_command(store), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
        )
        self.asked = 0
        self.ask("initialize", {**HELLO, "protocolVersion": version})
        self.send("notifications/initialized")

    def send(self, method: str, params: object = None, **further: object) -> None:
        message = {"jsonrpc": "2.0", "method": method, **further, **({"params": params} if params else {})}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: object = None) -> Any:
        assert self.process.stdout is not None
        self.asked += 1
        self.send(method, params, id=self.asked)
        return json.loads(self.process.stdout.readline())

    def end(self) -> None:
        """The client closes its end, and the server ends well."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0
        self.close()

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


def call(name: str, **arguments: object) -> dict[str, object]:
    return {"name": name, "arguments": arguments}


@pytest.mark.slow
def test_it_ends_when_stdin_ends_even_while_the_model_loads(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path / "store.db", tmp_path, NACRE_EMBEDDER="multilingual")
    assert pipe.ask("tools/list")["result"]["tools"]
    pipe.end()


def test_it_ends_when_its_client_is_killed(tmp_path: Path) -> None:
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, *server_command(tmp_path / "store.db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment(tmp_path)},
    )
    assert client.stdin is not None and client.stdout is not None
    client.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}) + "\n")
    client.stdin.flush()
    server = int(client.stdout.readline())
    assert client.stdout.readline().strip() == "greeted"
    client.kill()
    client.wait()
    assert gone(server)
    client.stdin.close()
    client.stdout.close()


@pytest.mark.slow
def test_it_ends_with_its_parent_even_where_a_sibling_holds_the_pipe(tmp_path: Path) -> None:
    read, held_open = os.pipe()
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO})
    os.write(held_open, hello.encode() + b"\n")
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(read), *server_command(tmp_path / "store.db")],
        pass_fds=[read],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment(tmp_path)},
    )
    assert parent.stdout is not None
    server = int(parent.stdout.readline())
    assert parent.stdout.readline().strip() == "greeted"
    parent.kill()
    parent.wait()
    assert gone(server)
    os.close(read)
    os.close(held_open)
    parent.stdout.close()


def gone(pid: int) -> bool:
    def look() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        state = Path(f"/proc/{pid}/stat")
        return state.exists() and ") Z " in state.read_text()  # dead, and nobody has asked how yet

    try:
        return wait_for(look, "the end of the process", seconds=PATIENCE)
    except AssertionError:
        os.kill(pid, signal.SIGKILL)
        return False


@pytest.mark.slow
def test_what_was_asked_before_the_end_is_still_stored(tmp_path: Path) -> None:
    """Also what the server has not read yet when the client closes its end."""
    pipe = Pipe(tmp_path / "store.db", tmp_path)
    texts = [f"The word number {number} before the end" for number in range(12)]
    for number, text in enumerate(texts):
        pipe.send("tools/call", call("remember", text=text), id=100 + number)
    assert pipe.process.stdin is not None and pipe.process.stdout is not None
    pipe.process.stdin.close()
    answered = [json.loads(line)["id"] for line in pipe.process.stdout]
    assert pipe.process.wait(PATIENCE) == 0
    pipe.close()
    assert sorted(answered) == [100 + number for number in range(12)]
    assert kept(tmp_path) == sorted(texts)


@pytest.mark.slow
def test_what_was_asked_is_stored_also_where_nobody_reads_the_answer(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path / "store.db", tmp_path)
    assert pipe.process.stdout is not None
    pipe.process.stdout.close()
    for number in range(3):
        pipe.send("tools/call", call("remember", text=f"The word number {number} before the end"), id=100 + number)
    pipe.end()
    assert len(kept(tmp_path)) == 3


@pytest.mark.slow
def test_a_write_that_waits_for_a_lock_when_the_client_ends_is_stored_once_it_is_free(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path / "store.db", tmp_path)
    pipe.ask("tools/call", call("status"))
    writer = apsw.Connection(str(tmp_path / "store.db"))
    writer.execute("BEGIN IMMEDIATE")
    pipe.send("tools/call", call("remember", text="This has to wait"), id=99)
    assert pipe.process.stdin is not None
    pipe.process.stdin.close()
    writer.execute("ROLLBACK")
    writer.close()
    pipe.end()
    assert kept(tmp_path) == ["This has to wait"]


@pytest.mark.slow
def test_a_call_that_waits_for_a_lock_does_not_keep_it_alive_for_ever(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path / "store.db", tmp_path)
    pipe.ask("tools/call", call("status"))
    writer = apsw.Connection(str(tmp_path / "store.db"))
    writer.execute("BEGIN IMMEDIATE")
    pipe.send("tools/call", call("remember", text="This has to wait"), id=99)
    pipe.end()
    writer.execute("ROLLBACK")
    writer.close()


def test_the_end_waits_for_answers_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    def request(id: int) -> JSONRPCRequest:
        return JSONRPCRequest(jsonrpc="2.0", id=id, method="tools/call")

    async def drained(*answered: int) -> bool:
        ledger = stdio.PendingRequests()
        for id in (1, 2, 3):
            ledger.read(request(id))
        cancelled = {"requestId": 3}
        ledger.read(JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=cancelled))
        async with anyio.create_task_group() as together:
            together.start_soon(ledger.drain)
            for id in answered:
                ledger.written(JSONRPCResponse(jsonrpc="2.0", id=id, result={}))
        return ledger.ended and ledger.settled

    assert anyio.run(drained, 1, 2)
    monkeypatch.setattr(stdio, "DRAIN_SECONDS", 0.01)
    assert not anyio.run(drained, 1)


def kept(folder: Path) -> list[str]:
    with MemoryStore(folder / "store.db", embedder="hashing") as store:
        return sorted(memory.text for memory in store.list_recent(100))


@pytest.mark.slow
def test_a_line_that_is_no_message_and_an_unknown_method_are_survived(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path / "store.db", tmp_path)
    assert pipe.process.stdin is not None and pipe.process.stdout is not None
    pipe.process.stdin.write(b"this is no JSON\n")
    assert pipe.ask("tools/unheard_of")["error"]
    assert pipe.ask("tools/call", call("status"))["result"]["content"][0]["text"].startswith("0 memories")
    pipe.end()


@pytest.mark.slow
def test_a_store_that_cannot_be_opened_is_a_tool_error_and_not_the_end(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"certainly no database, and long enough to be looked at" * 40)
    pipe = Pipe(tmp_path / "store.db", tmp_path)
    assert pipe.ask("tools/list")["result"]["tools"]
    answer = pipe.ask("tools/call", call("status"))["result"]
    assert answer["isError"] and str(tmp_path) in answer["content"][0]["text"]
    (tmp_path / "store.db").unlink()
    assert not pipe.ask("tools/call", call("status"))["result"].get("isError")
    pipe.end()


@pytest.mark.slow
def test_a_store_that_was_put_in_the_others_place_gets_what_is_stored_next(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path / "store.db", tmp_path, NACRE_EMBEDDER="hashing")
    pipe.ask("tools/call", call("remember", text="The lamp is green"))
    with MemoryStore(tmp_path / "new.db", embedder="hashing") as store:
        store.remember("The door is blue")
    for file in tmp_path.glob("store.db*"):
        file.unlink()
    answer = pipe.ask("tools/call", call("remember", text="The roof is red"))["result"]
    assert answer["isError"] and "Put the file back" in answer["content"][0]["text"]
    (tmp_path / "new.db").rename(tmp_path / "store.db")
    assert not pipe.ask("tools/call", call("remember", text="The roof is red"))["result"].get("isError")
    with MemoryStore(tmp_path / "store.db", embedder="hashing") as store:
        texts = [memory.text for space in store.spaces() for memory in store.in_space(space).iterate()]
    assert sorted(texts) == ["The door is blue", "The roof is red"]
    pipe.end()


@pytest.mark.slow
def test_the_first_recall_answers_from_words_while_the_model_is_away_and_says_so(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path / "store.db", tmp_path, NACRE_EMBEDDER="openai:none",
                NACRE_EMBEDDER_URL="http://127.0.0.1:9/")  # fmt: skip
    pipe.ask("tools/call", call("remember", text="Barnacles grow on the northern hull"))
    (told,) = pipe.ask("tools/call", call("recall", query="barnacles on the hull"))["result"]["content"]
    assert "Barnacles grow on the northern hull" in told["text"] and "words alone" in told["text"]
    pipe.end()


@pytest.mark.slow
def test_nothing_heavy_is_imported_before_a_client_is_greeted() -> None:
    code = (
        "import sys\nfrom nacre.settings import Settings\nfrom nacre.mcp.store_provider import StoreProvider\n"
        "from nacre.mcp.profiles import profile_named\nfrom nacre.mcp.server import make_server, tool_list\n"
        "import nacre.mcp.stdio\nprofile = profile_named('core')\nmake_server(profile, StoreProvider(Settings()))\n"
        "tool_list(profile)\n"
        "heavy = ('numpy', 'onnxruntime', 'apsw', 'rich', 'nacre.memory_store')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
