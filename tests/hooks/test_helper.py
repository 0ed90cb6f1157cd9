"""The helper behind the hooks: started once, asked by all, gone when nobody needs it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.hooks import client as asking
from nacre.hooks import unread
from nacre.hooks.channel import UnixChannel, receive, send
from nacre.hooks.client import LIMIT_VARIABLE, ask_helper, first_to_start, helper_at
from nacre.hooks.helper import Helper
from nacre.hooks.request import Request
from nacre.hooks.stores import Stores
from nacre.settings import Settings
from tests.command_line import CommandLine
from tests.hooks.hook_client import PATIENCE, Client, eventually, log
from tests.projects import make_project
from tests.transcripts import add_lines, turn, write_lines
from tests.trusting import trusted

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")

PORT = "The staging database listens on port 5433 of the host heron."
QUESTION = "Which port does the staging database listen on?"
HEAVY = ("numpy", "apsw", "nacre.memory_store", "nacre.recall", "onnxruntime", "subprocess", "rich")


@pytest.fixture
def client(nacre: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """Whatever helper a test starts ends with it."""
    monkeypatch.delenv("NACRE_SPACE")
    folder = make_project(tmp_path / "orchard")
    found = Client(nacre.store, folder)
    yield found
    found.end()


def soon() -> float:
    return time.monotonic() + PATIENCE


def begun(client: Client) -> int:
    """The helper's process, once it answers."""
    client.call("session-start", source="startup")
    assert eventually(lambda: client.places.address.exists() and not client.places.starting.exists())
    (pid,) = client.helpers()
    assert (helper_at(client.store, "status") or {})["pid"] == pid
    return pid


@pytest.mark.slow
def test_the_helper_starts_by_itself_and_answers_without_loading_anything_in_the_hook(client: Client) -> None:
    client.remember(PORT)
    pid = begun(client)
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "nacre", "hook", "prompt"],
        input=client.payload("prompt", prompt=QUESTION), capture_output=True, text=True, check=True, cwd=client.folder,
        env={**os.environ, LIMIT_VARIABLE: str(PATIENCE)},
    )  # fmt: skip
    assert PORT in done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "nacre.hooks.client" in imported and imported.isdisjoint(HEAVY)
    assert client.helpers() == [pid]


@pytest.mark.slow
def test_many_hooks_at_once_start_one_helper(client: Client) -> None:
    client.remember(PORT)
    payload = client.payload("session-start", source="startup")
    processes = [client.start("session-start", payload) for _ in range(6)]
    for process in processes:
        process.communicate(timeout=PATIENCE)
    assert eventually(client.places.address.exists)
    assert len(client.helpers()) == 1
    client.call("prompt", prompt=QUESTION)
    assert len(client.helpers()) == 1
    assert log() == ""


@pytest.mark.slow
def test_a_second_helper_ends_at_once(client: Client) -> None:
    pid = begun(client)
    words = [sys.executable, "-m", "nacre.hooks.helper", str(client.store), "hashing"]
    assert subprocess.run(words, timeout=PATIENCE, check=True).returncode == 0
    assert client.helpers() == [pid] and client.places.address.exists()


def test_the_helper_ends_when_nobody_asks_it(tmp_path: Path) -> None:
    channel = UnixChannel(tmp_path / "a.sock")
    Helper(tmp_path / "s.db", "hashing", idle=0.1).serve(channel)
    assert not channel.path.exists()


@pytest.mark.slow
def test_the_helper_ends_with_the_folder_of_its_store(nacre: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "doomed"
    folder.mkdir()
    client = Client(folder / "s.db", tmp_path, environment={"NACRE_STORE": str(folder / "s.db")})
    client.call("session-start", source="startup")
    assert eventually(client.places.address.exists)
    shutil.rmtree(folder)
    assert eventually(lambda: client.helpers() == [])
    assert nacre.store != client.store


@pytest.mark.slow
def test_the_helper_captures_and_nobody_waits_for_it(client: Client) -> None:
    begun(client)
    write_lines(client.transcript, [turn(1, "one", cwd=str(client.folder))])
    client.call("stop")
    assert eventually(lambda: client.kept() == ["one"])
    add_lines(client.transcript, turn(2, "two", cwd=str(client.folder)))
    processes = [client.start("stop", client.payload("stop")) for _ in range(4)]
    for process in processes:
        process.communicate(timeout=PATIENCE)
    assert eventually(lambda: client.kept() == ["one", "two"])
    assert log() == ""


def test_the_helper_keeps_projects_apart_and_takes_each_ones_settings(client: Client, tmp_path: Path) -> None:
    client.remember(PORT)
    begun(client)
    other = Client(client.store, tmp_path / "other")
    make_project(other.folder)
    assert other.context("prompt", prompt=QUESTION) == ""
    assert PORT in client.context("prompt", prompt=QUESTION)
    trusted(client.folder / ".nacre.toml", f'space = "{other.space}"\n')
    assert client.context("prompt", prompt=QUESTION) == ""


def test_only_its_owner_can_ask_the_helper(client: Client) -> None:
    begun(client)
    address = client.places.address
    assert stat.S_IMODE(address.stat().st_mode) == 0o600
    assert stat.S_IMODE(address.parent.stat().st_mode) == 0o700


@pytest.mark.slow
def test_a_killed_helper_is_missed_by_nobody(client: Client) -> None:
    client.remember(PORT)
    pid = begun(client)
    os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: client.helpers() == [])
    assert client.places.address.exists()
    assert PORT in client.context("prompt", prompt=QUESTION)
    assert eventually(lambda: len(client.helpers()) == 1)
    assert log() == ""


def test_a_fault_in_one_request_is_noted_and_the_next_is_answered(client: Client) -> None:
    client.remember(PORT)
    pid = begun(client)
    trusted(client.folder / ".nacre.toml", "secrets = 'nonesuch'\n")
    assert client.call("prompt", prompt=QUESTION) == ""
    assert eventually(lambda: "nonesuch" in log())
    (client.folder / ".nacre.toml").unlink()
    assert PORT in client.context("prompt", prompt=QUESTION)
    assert client.helpers() == [pid]


@pytest.mark.slow
def test_a_store_that_was_put_in_the_others_place_is_seen(client: Client, tmp_path: Path) -> None:
    client.remember(PORT)
    begun(client)
    assert PORT in client.context("prompt", prompt=QUESTION)
    with MemoryStore(tmp_path / "new.db", space=client.space, embedder="hashing") as store:
        store.remember(PORT.replace("5433", "6000"))
    for file in tmp_path.glob("store.db*"):
        file.unlink()
    (tmp_path / "new.db").rename(client.store)
    assert "6000" in client.context("prompt", prompt=QUESTION)


@pytest.mark.slow
def test_the_helper_can_be_ended(client: Client, nacre: CommandLine) -> None:
    begun(client)
    assert "The helper ends." in nacre("hook", "end").stderr
    assert eventually(lambda: client.helpers() == [])
    assert "no helper" in nacre("hook", "end").stderr


def test_a_start_that_came_to_nothing_does_not_stop_the_next_for_ever(tmp_path: Path) -> None:
    mark = tmp_path / "starting"
    assert first_to_start(mark)
    assert not first_to_start(mark)
    os.utime(mark, (1, 1))
    assert first_to_start(mark)


def test_a_hook_that_comes_while_a_helper_comes_up_starts_no_second_one(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark of a start goes only when the helper has loaded; who makes a new one then finds it there."""
    begun(client)
    started: list[object] = []
    monkeypatch.setattr(subprocess, "Popen", lambda *given, **named: started.append((given, named)))
    assert not client.places.starting.exists()
    asking.start(client.store, client.places, Settings().embedder)
    assert started == [] and not client.places.starting.exists()


def test_the_helper_listens_before_it_loads_and_takes_a_capture_meanwhile(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark of its start stays until it has loaded, and a question does not wait for longer than is said."""
    client.remember(PORT)
    write_lines(client.transcript, [turn(1, "one", cwd=str(client.folder))])
    monkeypatch.chdir(client.folder)
    loads = threading.Event()
    monkeypatch.setattr(Stores, "warm", lambda *_: loads.wait(PATIENCE))
    client.places.starting.touch()
    channel = UnixChannel(client.places.address)
    companion = Helper(client.store, "hashing", idle=PATIENCE)
    serving = threading.Thread(target=companion.serve, args=(channel, client.places.starting.unlink))
    serving.start()
    try:
        assert eventually(channel.path.exists)
        stop = Request.here("stop", json.loads(client.payload("stop")), {})
        assert ask_helper(stop, client.places, soon()) == {"taken": True}
        assert helper_at(client.store, "status") == {"pid": os.getpid(), "ready": False}
        exchange = {"session_id": "g", "cwd": str(client.folder), "prompt": "Which port?", "prompt_response": PORT}
        refused = ask_helper(Request.here("stop", exchange, {}), client.places, soon())
        assert refused is None  # nobody could read it again
        client.without_helper()  # the question has waited long enough
        question = Request.here("prompt", json.loads(client.payload("prompt", prompt=QUESTION)), {})
        with pytest.raises(TimeoutError):
            ask_helper(question, client.places, soon())
        assert PORT in asking.answer(question)
        assert client.kept() == [] and client.places.starting.exists()
        loads.set()
        assert eventually(lambda: client.kept() == ["one"] and not client.places.starting.exists())
    finally:
        loads.set()
        companion.ending.set()
        serving.join()


def test_a_helper_that_cannot_load_ends_and_hooks_do_without_it(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.remember(PORT)

    def fail(*_: object) -> None:
        raise ImportError("half of an update")

    monkeypatch.setattr(Stores, "warm", fail)
    client.without_helper()
    channel = UnixChannel(client.places.address)
    Helper(client.store, "hashing", idle=PATIENCE).serve(channel, client.places.starting.unlink)
    assert "half of an update" in log() and not channel.path.exists()
    assert client.places.starting.exists()  # no other is started at once, which would fail as well
    assert PORT in client.context("prompt", prompt=QUESTION)
    write_lines(client.transcript, [turn(1, "one", cwd=str(client.folder))])
    client.call("stop")
    assert client.kept() == ["one"]


def test_what_a_helper_took_before_it_failed_to_load_is_captured_by_the_next_hook(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails = threading.Event()

    def fail(*_: object) -> None:
        assert fails.wait(PATIENCE)
        raise ImportError("half of an update")

    monkeypatch.setattr(Stores, "warm", fail)
    client.without_helper()
    channel = UnixChannel(client.places.address)
    companion = Helper(client.store, "hashing", idle=PATIENCE)
    serving = threading.Thread(target=companion.serve, args=(channel,))
    serving.start()
    try:
        assert eventually(channel.path.exists)
        write_lines(client.transcript, [turn(1, "one", cwd=str(client.folder))])
        client.call("session-end")
    finally:
        fails.set()
        serving.join()
    assert client.kept() == []
    later = Client(client.store, client.folder, "the next session")
    other = write_lines(tmp_path / "other.jsonl", [turn(2, "two", cwd=str(client.folder))])
    later.call("stop", transcript_path=str(other))
    assert sorted(client.kept()) == ["one", "two"]
    assert list(unread.left(client.store)) == []


def test_a_helper_captures_what_an_earlier_one_has_left(client: Client) -> None:
    write_lines(client.transcript, [turn(1, "one", cwd=str(client.folder))])
    unread.note(client.store, Request.here("session-end", json.loads(client.payload("session-end")), {}))
    begun(client)
    assert eventually(lambda: client.kept() == ["one"] and not list(unread.left(client.store)))


def test_what_is_said_is_stored_beside_a_helper_that_hangs(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "STATUS_SECONDS", 0.5)
    pid = begun(client)
    client.environment[LIMIT_VARIABLE] = str(asking.LIMIT_SECONDS)
    os.kill(pid, signal.SIGSTOP)
    try:
        client.call("stop", transcript_path="", prompt="Which port?", prompt_response=PORT)
        assert asking.hook_status({"store": str(client.store)}).hangs
        assert not client.places.starting.exists()  # nobody has tried to start another one
        with MemoryStore(client.store, space=client.space, embedder="hashing") as store:
            assert {memory.text for memory in store.list_recent()} == {"Which port?", PORT}
    finally:
        os.kill(pid, signal.SIGCONT)
    assert eventually(lambda: "BrokenPipeError" in log())  # it finds that the hook has gone, and stores nothing
    with MemoryStore(client.store, space=client.space, embedder="hashing") as store:
        assert store.count() == 2


def test_who_reached_the_helper_just_before_its_end_is_answered(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as short:
        channel = UnixChannel(Path(short) / "a.sock")
        companion = Helper(tmp_path / "s.db", "hashing", idle=60)
        waiting: list[socket.socket] = []

        def loaded() -> None:
            waiting.append(channel.connect(PATIENCE)[0])
            send(waiting[0], {"event": "status"})
            companion.ending.set()

        companion.serve(channel, loaded)
        with waiting[0]:
            assert receive(waiting[0])["pid"] == os.getpid()
        assert list(Path(short).iterdir()) == []


def test_a_helper_that_ends_without_an_answer_is_done_without(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.remember(PORT)
    client.without_helper()
    listening, _ = UnixChannel(client.places.address).listen()
    monkeypatch.chdir(client.folder)

    def hang_up() -> None:
        connection, _ = listening.accept()
        with connection:
            receive(connection)

    ending = threading.Thread(target=hang_up)
    ending.start()
    request = Request.here("prompt", json.loads(client.payload("prompt", prompt=QUESTION)), {})
    told = asking.answer(request)
    ending.join()
    listening.close()
    client.places.address.unlink()
    assert PORT in told


def test_the_helper_may_take_as_long_as_the_limit_allows(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.remember(PORT)
    allowed: list[float] = []
    monkeypatch.setenv(LIMIT_VARIABLE, "77")

    def answer(*given: object) -> dict[str, str]:
        allowed.append(float(str(given[-1])))
        return {"output": "x"}

    monkeypatch.setattr(asking, "ask", answer)
    request = Request.here("prompt", json.loads(client.payload("prompt", prompt=QUESTION)), {})
    assert asking.answer(request) == "x" and 70.0 < allowed[0] <= 77.0
