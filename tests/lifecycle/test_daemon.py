"""The process that runs by itself: its file, its signals, its log, and what the system is told to start."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.lifecycle import daemon
from nacre.lifecycle.daemon import Process, start_time, this_host, this_process

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"


@pytest.fixture
def pid_file(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "run.pid"


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(SLEEP)
    yield process
    process.kill()
    process.wait()


def named(process: subprocess.Popen[bytes]) -> Process:
    return Process(process.pid, this_host(), start_time(process.pid))


def dead() -> int:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def test_the_file_tells_the_process_that_wrote_it(pid_file: Path) -> None:
    assert daemon.get_pid(pid_file) is None and daemon.running(pid_file) is None
    daemon.write_pid(pid_file)
    assert daemon.get_pid(pid_file) == os.getpid()
    assert daemon.running(pid_file) == this_process()
    assert pid_file.read_text().splitlines()[0] == str(os.getpid())
    assert daemon.remove_pid(pid_file) and not daemon.remove_pid(pid_file)
    assert list(pid_file.parent.iterdir()) == []


@pytest.mark.parametrize("content", ["", "nobody\n", "-1\n", "0\n", "\udcff\n"])
def test_a_file_that_tells_no_process_tells_none(pid_file: Path, content: str) -> None:
    pid_file.parent.mkdir()
    pid_file.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert daemon.get_pid(pid_file) is None and daemon.running(pid_file) is None
    assert not daemon.stop_daemon(pid_file)


def test_a_bare_number_means_a_process_of_this_machine(pid_file: Path) -> None:
    pid_file.parent.mkdir()
    pid_file.write_text(str(os.getpid()))
    assert daemon.running(pid_file) is not None
    pid_file.write_text(str(dead()))
    assert daemon.get_pid(pid_file) is not None and daemon.running(pid_file) is None


def test_the_file_of_a_dead_process_is_cleared_away(pid_file: Path) -> None:
    daemon.write_pid(pid_file, Process(dead(), this_host(), "then"))
    assert daemon.running(pid_file) is None
    assert not daemon.stop_daemon(pid_file)
    assert not pid_file.exists()


def test_the_file_of_a_process_that_starts_meanwhile_stays(pid_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon.write_pid(pid_file, Process(dead(), this_host(), "then"))

    def starts_meanwhile(process: Process) -> bool:
        daemon.write_pid(pid_file, this_process())
        return process.born == "then"

    monkeypatch.setattr(Process, "gone", property(starts_meanwhile))
    daemon.remove_stale_pid(pid_file)
    assert daemon.read_pid(pid_file) == this_process()


def test_another_program_that_got_the_number_is_left_alone(
    pid_file: Path, sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not start_time(sleeper.pid):
        pytest.skip("this system does not tell when a process began")
    sent = list[tuple[int, int]]()
    daemon.write_pid(pid_file, Process(sleeper.pid, this_host(), "long ago"))
    with monkeypatch.context() as patched:  # the fixture itself ends the process with `os.kill`
        patched.setattr(os, "kill", lambda *given: sent.append(given))
        assert daemon.running(pid_file) is None
        assert not daemon.stop_daemon(pid_file)
    assert [signal for _, signal in sent if signal] == []


def test_a_process_of_another_machine_is_left_alone(pid_file: Path, sleeper: subprocess.Popen[bytes]) -> None:
    daemon.write_pid(pid_file, Process(sleeper.pid, "elsewhere", ""))
    assert daemon.running(pid_file) is not None
    assert not daemon.stop_daemon(pid_file)
    assert sleeper.poll() is None and pid_file.exists()


def test_stopping_ends_the_process_and_its_file(pid_file: Path, sleeper: subprocess.Popen[bytes]) -> None:
    daemon.write_pid(pid_file, named(sleeper))
    assert daemon.stop_daemon(pid_file, timeout=60)
    assert sleeper.wait(60) == -signal.SIGTERM
    assert not pid_file.exists()


def test_one_that_does_not_end_in_time_is_said_to_run_still(pid_file: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", DEAF], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None and process.stdout.readline() == b"deaf\n"
        daemon.write_pid(pid_file, named(process))
        assert not daemon.stop_daemon(pid_file, timeout=0.2)
        assert daemon.running(pid_file) is not None
    finally:
        process.kill()
        process.communicate()


def test_a_detached_process_has_its_own_session_and_writes_to_its_log(tmp_path: Path) -> None:
    log = tmp_path / "deep" / "out.log"
    code = "import os, sys; print(os.getsid(0), os.getpid(), repr(sys.stdin.read())); print('wrong', file=sys.stderr)"
    pid = daemon.spawn_detached([sys.executable, "-c", code], log, tmp_path)
    os.waitpid(pid, 0)
    assert set(log.read_text().splitlines()) == {f"{pid} {pid} ''", "wrong"}


def test_the_first_signal_asks_and_the_second_one_ends() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with daemon.stopping_on_signals() as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.wait(60)
        assert signal.getsignal(signal.SIGTERM) == before
    assert signal.getsignal(signal.SIGTERM) == before


def test_the_file_stands_while_the_process_lasts(pid_file: Path) -> None:
    with pytest.raises(KeyError), daemon.pid_file(pid_file):
        assert daemon.get_pid(pid_file) == os.getpid()
        raise KeyError
    assert not pid_file.exists()
    with daemon.pid_file(pid_file):
        daemon.write_pid(pid_file, Process(1, "another", ""))
    assert daemon.get_pid(pid_file) == 1  # not ours to remove


def test_the_log_is_put_aside_when_it_grows_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "LOG_BYTES", 2_000)
    logger = logging.getLogger("nacre")
    handlers = list(logger.handlers)
    with daemon.logging_to(tmp_path / "x.log"):
        for number in range(500):
            logger.info("line %d of a log that nobody reads", number)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["x.log", "x.log.1", "x.log.2", "x.log.3"]
    assert all(file.stat().st_size <= 2_000 for file in tmp_path.iterdir())
    assert "line 499" in (tmp_path / "x.log").read_text()
    assert logger.handlers == handlers
