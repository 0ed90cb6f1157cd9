"""Real processes that start quickly: copies of one process that has already imported what a command needs.

A copy has its own standard streams, environment, folder, session and exit code, as `python -m nacre` would. Use a new
interpreter (`subprocess`) instead where the start itself is tested: what is imported, how streams are encoded.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from select import select
from shutil import rmtree
from tempfile import TemporaryDirectory, TemporaryFile, mkdtemp


class Forked:
    """One process that was started; like `subprocess.Popen` in what it offers."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._answers = connection.makefile("r")
        self.pid = int(self._answers.readline())
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._connection.settimeout(timeout)
            self.returncode = int(self._answers.readline())
            self._answers.close()
            self._connection.close()
        return self.returncode

    def kill(self) -> None:
        if self.returncode is None:  # until then, nobody else can have been given its id
            os.kill(self.pid, signal.SIGKILL)


def start(
    words: Sequence[str],
    *,
    streams: tuple[int, int, int],
    module: str = "nacre",
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
    own_terminal: bool = False,
) -> Forked:
    """Starts `python -m MODULE WORDS` with these files as its standard streams, which stay open here."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(parent()))
    asked = {"module": module, "words": list(words), "env": dict(env or os.environ), "folder": str(cwd or Path.cwd()),
             "own_terminal": own_terminal}  # fmt: skip
    socket.send_fds(connection, [b"."], streams)
    connection.sendall(json.dumps(asked).encode() + b"\n")
    return Forked(connection)


def run(
    words: Sequence[str],
    *,
    module: str = "nacre",
    input: str = "",
    timeout: float = 120,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
    encoding: str = "utf-8",
) -> subprocess.CompletedProcess[str]:
    """Like `subprocess.run` with captured text."""
    with TemporaryFile() as read, TemporaryFile() as out, TemporaryFile() as err:
        read.write(input.encode())
        read.seek(0)
        process = start(words, streams=(read.fileno(), out.fileno(), err.fileno()), module=module, env=env, cwd=cwd)
        try:
            code = process.wait(timeout)
        finally:
            process.kill()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(list(words), code, out.read().decode(encoding), err.read().decode(encoding))


def launcher(words: Sequence[str], module: str = "nacre") -> list[str]:
    """A command line that does the same for one who must start a command himself. It passes SIGTERM and SIGINT on; the
    process with its id is not the one that does the work."""
    return [sys.executable, "-I", "-S", str(Path(__file__).with_name("launched.py")), str(parent()), module, *words]


@cache
def parent() -> Path:
    """Where the process that is copied is asked for a copy; there is one for each process that runs tests."""
    address = Path(mkdtemp(prefix="nacre-")) / "socket"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(address))
    listener.listen()
    here, there = socket.socketpair()
    given = [listener.fileno(), there.fileno()]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.forked", *map(str, given)],
        pass_fds=given,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        cwd=Path(__file__).parents[1],
    )
    listener.close()
    there.close()
    atexit.register(rmtree, address.parent)
    atexit.register(process.wait)
    atexit.register(here.close)  # which ends it
    return address


def load() -> None:
    """Imports what the commands need, and uses it once: some of it is made at the first use."""
    for package in ("nacre.cli", "nacre.cli.commands", "nacre.cli.lesson", "nacre.hooks", "nacre.mcp", "nacre.server"):
        for module in iter_modules(import_module(package).__path__, package + "."):
            import_module(module.name)
    for name in ("nacre.cli.main", "prompt_toolkit.input.vt100", "prompt_toolkit.shortcuts", "rich.table"):
        import_module(name)
    from nacre import MemoryStore
    from nacre.lessons.book import LessonBook

    with TemporaryDirectory() as folder, MemoryStore(Path(folder, "s.db"), embedder="hashing") as store:
        store.remember(
            "The ferry leaves at noon. Its token is " + "_".join(("ghp", "0123456789abcdefghijABCDEFGHIJ012345"))
        )
        store.recall("ferry")
        LessonBook(store=store).learn("Ask first", "The ferry may be full", tags=["ferry"])
    gc.freeze()  # the collector of a copy would write to every page that it shares


def serve(listener: socket.socket, lifeline: socket.socket) -> None:
    """Makes copies until whoever started it is gone."""
    load()
    watchers: set[int] = set()
    while lifeline not in select([listener, lifeline], [], [])[0]:
        connection, _ = listener.accept()
        _, streams, _, _ = socket.recv_fds(connection, 1, 3)
        if (watcher := os.fork()) == 0:
            listener.close()
            lifeline.close()
            watch(connection, streams)
        watchers.add(watcher)
        connection.close()
        for file in streams:
            os.close(file)
        watchers -= {each for each in watchers if os.waitpid(each, os.WNOHANG)[0]}
    for each in watchers:
        os.waitpid(each, 0)


def watch(connection: socket.socket, streams: list[int]) -> None:
    """Starts the copy, and tells its id and how it ended."""
    asked = json.loads(connection.makefile("r").readline())
    if (copy := os.fork()) == 0:
        connection.close()
        become(asked, streams)
    for file in streams:
        os.close(file)
    connection.sendall(f"{copy}\n".encode())
    ended = os.waitid(os.P_PID, copy, os.WEXITED | os.WNOWAIT)
    assert ended is not None
    connection.sendall(f"{ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status}\n".encode())
    connection.recv(1)  # the one who asked still knows it by its id, until he hangs up
    os.waitpid(copy, 0)
    os._exit(0)


def become(asked: dict[str, object], streams: list[int]) -> None:
    for number, file in enumerate(streams):
        os.dup2(file, number)
    os.closerange(3, 256)
    if asked["own_terminal"]:  # without it, Ctrl-C would reach nobody
        import fcntl
        import termios

        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(asked["env"])  # type: ignore[call-overload]
    tempfile.tempdir = None  # may be another one there
    os.chdir(str(asked["folder"]))
    encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, 1 if number == 2 or os.isatty(number) else -1, encoding, closefd=False)  # noqa: SIM115
        for number, mode in enumerate(("r", "w", "w"))
    )
    sys.argv = [str(asked["module"]), *asked["words"]]  # type: ignore[misc]
    os._exit(ran_to_its_end(str(asked["module"])))


def ran_to_its_end(module: str) -> int:
    """As the interpreter does it."""
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


if __name__ == "__main__":
    serve(*(socket.socket(fileno=int(number)) for number in sys.argv[1:]))
