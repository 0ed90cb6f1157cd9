"""Both ways to the helper: one message there, one back, and nothing for strangers."""

from __future__ import annotations

import os
import socket
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.hooks.channel import (
    LOG_BYTES,
    LONGEST_MESSAGE,
    Channel,
    LoopbackChannel,
    UnixChannel,
    ask,
    log_file,
    log_line,
    private_runtime_folder,
    receive,
    send,
)
from nacre.hooks.helper import Helper

SECONDS = 5.0


@pytest.fixture(params=[UnixChannel, LoopbackChannel])
def channel(request: pytest.FixtureRequest) -> Iterator[Channel]:
    if request.param is UnixChannel and os.name == "nt":
        pytest.skip("no Unix sockets here")
    with tempfile.TemporaryDirectory() as folder:  # a test's own folder may be too long for a socket
        yield request.param(Path(folder) / "a")


def served(channel: Channel, answer: bytes | None) -> threading.Thread:
    """Answers one connection with what was asked, or with these bytes."""
    listening, token = channel.listen()

    def serve() -> None:
        connection, _ = listening.accept()
        with connection, listening:
            told = receive(connection)
            assert told["token"] == token
            connection.sendall(answer) if answer is not None else send(connection, told)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


def test_what_is_asked_comes_back(channel: Channel) -> None:
    thread = served(channel, None)
    told = ask(channel, {"event": "prompt", "text": "ä\n€" * 100_000}, SECONDS)
    thread.join()
    assert told is not None and told["text"] == "ä\n€" * 100_000


@pytest.mark.parametrize("answer", [b"", b"{half", b"not json\n"])
def test_no_whole_answer_is_an_os_error(channel: Channel, answer: bytes) -> None:
    thread = served(channel, answer)
    with pytest.raises(OSError):
        ask(channel, {"event": "prompt"}, SECONDS)
    thread.join()


def test_nobody_there_is_no_answer(channel: Channel) -> None:
    assert ask(channel, {"event": "prompt"}, SECONDS) is None
    listening, _ = channel.listen()
    listening.close()
    assert ask(channel, {"event": "prompt"}, SECONDS) is None
    channel.close()
    channel.close()


def test_a_file_without_a_port_means_that_nobody_listens(tmp_path: Path) -> None:
    (tmp_path / "port").write_text("soon")
    assert ask(LoopbackChannel(tmp_path / "port"), {}, SECONDS) is None


def test_the_token_is_its_owners_alone(tmp_path: Path) -> None:
    listening, token = LoopbackChannel(tmp_path / "port").listen()
    with listening:
        assert len(token) == 32 and token in (tmp_path / "port").read_text()
        if os.name != "nt":
            assert stat.S_IMODE((tmp_path / "port").stat().st_mode) == 0o600


def test_a_stranger_without_the_token_is_not_answered(tmp_path: Path) -> None:
    channel = LoopbackChannel(tmp_path / "port")
    companion = Helper(tmp_path / "s.db", "hashing", idle=60)
    thread = threading.Thread(target=companion.serve, args=(channel,))
    thread.start()
    try:
        while not (tmp_path / "port").exists():
            thread.join(0.01)
        port = int((tmp_path / "port").read_text().split()[0])
        with socket.create_connection(("127.0.0.1", port), SECONDS) as stranger:
            send(stranger, {"event": "status", "token": "guessed"})
            with pytest.raises(OSError):
                receive(stranger)
        while not (log_file().exists() and log_file().read_text()):  # noted after the connection was closed
            thread.join(0.01)
        assert "did not send the token" in log_file().read_text()
        told = ask(channel, {"event": "status"}, SECONDS)
        assert told is not None and told["pid"] == os.getpid()
    finally:
        companion.ending.set()
        thread.join()
    assert not (tmp_path / "port").exists()


def test_a_message_without_an_end_is_not_read_for_ever() -> None:
    asking, answering = socket.socketpair()
    with asking, answering:

        def pour() -> None:
            with pytest.raises(OSError):
                while True:
                    asking.sendall(b"x" * 1_000_000)

        thread = threading.Thread(target=pour)
        thread.start()
        with pytest.raises(OSError):
            receive(answering)
        answering.close()
        thread.join()
    assert LONGEST_MESSAGE < 100_000_000


@pytest.mark.skipif(os.name == "nt", reason="owners and modes of POSIX")
def test_a_folder_that_others_can_enter_is_closed_and_a_link_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o755)
    assert stat.S_IMODE(private_runtime_folder(folder).stat().st_mode) == 0o700
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(PermissionError):
        private_runtime_folder(tmp_path / "link")


def test_the_log_is_put_aside_when_it_grows_and_a_line_stays_one_line() -> None:
    log_line("stop", "two\nlines")
    assert log_file().read_text().endswith(" stop: two lines\n")
    log_file().write_text("x" * (LOG_BYTES + 1))
    log_line("stop", "afterwards")
    assert log_file().read_text().count("\n") == 1
    assert log_file().with_suffix(".log.1").stat().st_size > LOG_BYTES
