"""A PostgreSQL server of a test's own, which can be killed, started again, copied to a replica and promoted; and a
proxy that cuts connections after any number of bytes."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg
import pytest

from tests import postgres_server
from tests.waiting import wait_for

PATIENCE = 120.0  # seconds for what takes one on an idle machine
USER = "pgserver"  # PostgreSQL does not run as root; the package makes this user
SETTINGS = {
    "max_connections": "60", "wal_level": "replica", "max_wal_senders": "5", "shared_buffers": "32MB",
    "unix_socket_directories": "", "listen_addresses": "127.0.0.1", "synchronous_commit": "on", "fsync": "on",
    "wal_sender_timeout": "2s", "log_min_messages": "fatal",
}  # fmt: skip


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def program(name: str) -> str:
    return str(postgres_server.programs() / name)


def as_server(words: list[str], **options: object) -> subprocess.Popen[bytes]:
    nothing = subprocess.DEVNULL
    given: dict[str, Any] = {"stdin": nothing, "stdout": nothing, "stderr": nothing, "cwd": "/", **options}
    if os.getuid() == 0:
        given |= {"user": USER, "group": USER, "extra_groups": []}
    return subprocess.Popen(words, **given)


class Database:
    """One server with one database `nacre`, in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return self.address_at(self.port)

    def address_at(self, port: int, user: str = postgres_server.ROLE) -> str:
        return f"postgresql://{user}@127.0.0.1:{port}/nacre?connect_timeout=5"

    def admin(self, database: str = "nacre") -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(f"postgresql://postgres@127.0.0.1:{self.port}/{database}", autocommit=True)

    def make(self) -> None:
        words = [program("initdb"), "-D", str(self.folder), "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8"]
        assert as_server(words).wait(PATIENCE) == 0
        self.start()
        with self.admin("postgres") as connection:
            connection.execute(f"CREATE ROLE {postgres_server.ROLE} LOGIN")
            connection.execute(f"CREATE DATABASE nacre OWNER {postgres_server.ROLE}")
        with self.admin() as connection:
            connection.execute("CREATE EXTENSION vector")

    def start(self, **settings: str) -> None:
        words = [program("postgres"), "-D", str(self.folder), "-p", str(self.port)]
        for name, value in {**SETTINGS, **settings}.items():
            words += ["-c", f"{name}={value}"]
        self.process = as_server(words, start_new_session=True)
        wait_for(self._answers, "the start of the server")

    def _answers(self) -> bool:
        assert self.process is not None and self.process.poll() is None, "the server ended"
        try:
            self.admin("postgres").close()
        except psycopg.OperationalError:
            return False
        return True

    def kill(self) -> None:
        """The postmaster and all it started, at once."""
        assert self.process is not None
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)

    def kill_postmaster(self) -> None:
        """The postmaster alone: its backends notice, and end."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(PATIENCE)
        group = self.process.pid
        wait_for(lambda: not is_group_alive(group), "the end of the backends")

    def kill_backend(self) -> bool:
        """One that works for a client, in the middle of what it does; the server then ends all of them and recovers."""
        with suppress(psycopg.Error), self.admin() as connection:
            rows = connection.execute(
                "SELECT pid FROM pg_stat_activity WHERE application_name = 'nacre' AND state <> 'idle' LIMIT 1"
            ).fetchall()
            for (pid,) in rows:
                with suppress(ProcessLookupError):
                    os.kill(int(str(pid)), signal.SIGKILL)
                    return True
        return False

    def replica(self) -> Database:
        """A copy that follows this server; a commit is acknowledged once it has it."""
        other = Database(folder_for_server())
        source = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres"]
        words = [program("pg_basebackup"), "-D", str(other.folder), *source, "-R", "-X", "stream", "-c", "fast"]
        assert as_server(words).wait(PATIENCE) == 0
        other.start()
        with self.admin("postgres") as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
            following = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"
            wait_for(lambda: connection.execute(following).fetchall(), "the following of the replica")
        return other

    def promote(self) -> None:
        with self.admin("postgres") as connection:
            assert connection.execute("SELECT pg_promote(true, 60)").fetchone() == (True,)

    def remove(self) -> None:
        if self.process is not None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def is_group_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def own_database() -> Iterator[Database]:
    if not postgres_server.available():
        pytest.skip(postgres_server.MISSING)
    postgres_server.server()  # makes the user that a server runs as
    made = Database(folder_for_server())
    try:
        made.make()
        yield made
    finally:
        made.remove()


def folder_for_server() -> Path:
    """One that the server's user may use; those of pytest are closed to it."""
    folder = Path(tempfile.mkdtemp(prefix="nacre-torture-postgres-"))
    if os.getuid() == 0:
        shutil.chown(folder, USER, USER)
    return folder


class CuttingProxy:
    """Passes bytes between clients and a server; a connection is cut once so many bytes have gone in one direction."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self.sent = self.received = 0  # bytes to the server and from it, of all connections since `plan`
        self.cuts = 0
        self._limit: tuple[str, int] | None = None
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def plan(self, direction: str = "", after: int = 0) -> None:
        """Cuts every connection once, after so many more bytes in one direction; without one, nothing is cut."""
        with self._lock:
            self.sent = self.received = 0
            self._limit = (direction, after) if direction else None

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self._target), PATIENCE)
                except OSError:
                    client.close()
                    continue
                server.settimeout(None)
                self._open |= {client, server}
                for source, target, direction in ((client, server, "sent"), (server, client, "received")):
                    threading.Thread(target=self._pass, args=(source, target, direction), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, direction: str) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                cut = False
                with self._lock:
                    if self._limit is not None and self._limit[0] == direction:
                        left = self._limit[1] - getattr(self, direction)
                        if len(data) >= left:
                            data, cut, self._limit = data[: max(left, 0)], True, None
                            self.cuts += 1
                    setattr(self, direction, getattr(self, direction) + len(data))
                if data:
                    target.sendall(data)
                if cut:
                    self.cut_all()
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def cut_all(self) -> None:
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
            self._open.discard(each)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut_all()
        self._thread.join(PATIENCE)
