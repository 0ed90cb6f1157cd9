"""Connections to the database: taken and given back by threads, never shared with a forked child, and what their errors
mean to a user."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeAlias

import numpy as np
import psycopg
from psycopg import errors, pq
from psycopg.adapt import Dumper, Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Format
from psycopg.types import TypeInfo
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper

from nacre.errors import DatabaseRefused, StorageError, StoreBusy, StoreFull, StoreReadOnly
from nacre.files import ThreadLock
from nacre.settings import without_password
from nacre.storage.postgres import arrays, migrations

Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"
Row: TypeAlias = tuple[Any, ...]
Statement: TypeAlias = tuple[str, Mapping[str, Any] | None]  # with the values of its parameters

MOST_CONNECTIONS = 16  # of one process; the next thread waits for one
PATIENCE = 30.0  # seconds that a thread waits for a connection, and a statement for a lock
STATEMENT_SECONDS = 120  # a statement that takes longer is ended by the server
CONNECT_SECONDS = 10
PREPARED_AFTER = 2  # times that a statement is sent before the server keeps its plan
EVERY_SPACE = "*"
HALF_VECTOR_HEADER = 4  # bytes: the number of dimensions, and two that are not used
LOST_STATES = ("08", "57P01", "57P02", "57P03")  # how SQLSTATE begins where the server went away
# Errors after which the same transaction may succeed.
PASSING = (errors.SerializationFailure, errors.DeadlockDetected)

# psycopg reports each lost connection there, which would reach a user's terminal beside our own message.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class HalfVector:
    """A row of numbers as the type `halfvec` of pgvector."""

    def __init__(self, row: np.ndarray[Any, Any]) -> None:
        self.row = row


class HalfVectorDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: HalfVector) -> bytes:
        return len(obj.row).to_bytes(2, "big") + b"\0\0" + obj.row.astype(">f2").tobytes()


class HalfVectorLoader(Loader):
    format = Format.BINARY

    def load(self, data: Any) -> np.ndarray[Any, Any]:
        return np.frombuffer(data, ">f2", offset=HALF_VECTOR_HEADER).astype(np.float32)


class Connections:
    """Thread-safe. A forked child opens connections of its own and leaves those of its parent alone: psycopg ends a
    connection only in the process that made it."""

    def __init__(self, address: str) -> None:
        self.public_address = without_password(address)
        self._address = address
        self.space_numbers: dict[str, int] = {}  # by name, as they were last seen; each use checks it
        self._lock = ThreadLock()
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._idle: list[Connection] = []
        self._slots = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._generation = object()

    @contextmanager
    def use(self) -> Iterator[Connection]:
        """A connection in autocommit mode, which nobody else uses meanwhile. Translates the driver's errors."""
        if self._closed:
            raise StorageError(f"The store {self.public_address} is closed; open it again.")
        with self._lock:
            if self._process != os.getpid():
                self._begin()
            slots, generation = self._slots, self._generation
        if not slots.acquire(timeout=PATIENCE):
            raise StoreBusy(self.public_address, PATIENCE)
        try:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                connection = self._connect()
            try:
                yield connection
            finally:
                self._give_back(connection, generation)
        except psycopg.Error as error:
            raise self.translated(error) from error
        finally:
            if generation is self._generation:
                slots.release()

    def _give_back(self, connection: Connection, generation: object) -> None:
        if generation is not self._generation:
            return  # of the parent process
        idle = not connection.closed and connection.info.transaction_status == pq.TransactionStatus.IDLE
        if idle and not self._closed:
            with self._lock:
                self._idle.append(connection)
        else:
            with suppress(psycopg.Error):
                connection.close()

    def forget_idle(self) -> None:
        """After one connection was lost, the others probably are, too."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            with suppress(psycopg.Error):
                connection.close()

    def close(self) -> None:
        self._closed = True
        if self._process == os.getpid():
            self.forget_idle()

    def _connect(self) -> Connection:
        connection = psycopg.connect(
            self._address, autocommit=True, prepare_threshold=PREPARED_AFTER, connect_timeout=CONNECT_SECONDS,
            application_name="nacre",
        )  # fmt: skip
        try:
            migrations.check(connection, self.public_address)
            self._adapt(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _adapt(self, connection: Connection) -> None:
        # One type for all whole numbers: otherwise a statement would be prepared anew for each size of a number.
        connection.adapters.register_dumper(int, Int8Dumper)
        connection.adapters.register_dumper(int, Int8BinaryDumper)
        info = TypeInfo.fetch(connection, "halfvec")
        assert info is not None, "the migration made the extension"
        info.register(connection)
        connection.adapters.register_loader(info.oid, HalfVectorLoader)
        dumper = type("BoundHalfVectorDumper", (HalfVectorDumper,), {"oid": info.oid})
        connection.adapters.register_dumper(HalfVector, dumper)
        arrays.register(connection, info.oid, info.array_oid)

    def translated(self, error: psycopg.Error) -> StorageError:
        """What it means to a user, with a remedy."""
        place, reason = self.public_address, first_line(error)
        match error:
            case errors.InsufficientPrivilege():
                return DatabaseRefused(
                    place, reason, "Have the owner of the database grant this role the rights on it."
                )
            case errors.ReadOnlySqlTransaction():
                return StoreReadOnly(place)
            case errors.DiskFull():
                return StoreFull(place)
            case errors.QueryCanceled() | errors.LockNotAvailable():
                return StoreBusy(place, STATEMENT_SECONDS)
            case errors.OperationalError() | errors.InterfaceError():
                return DatabaseRefused(place, reason, remedy_for(reason))
            case errors.ProgrammingError() if "invalid" in reason and "connection" in reason:
                return DatabaseRefused(place, reason, "Write it as postgresql://USER@HOST/DATABASE.")
        return StorageError(f"The database {place} gave an error ({reason}); nothing was changed. Repeat the call.")


def remedy_for(reason: str) -> str:
    """Of a connection that was refused: libpq gives no codes for that."""
    if reason.startswith("database") and reason.endswith("does not exist"):
        return "Create the database with `createdb`, or correct its name."
    if "authentication" in reason or "role" in reason or "no pg_hba.conf entry" in reason:
        return "Check the user and the password in its address."
    return "Check that the server runs and that the address is right."


def is_lost(error: BaseException | None) -> bool:
    """Whether the connection broke, and not the statement failed."""
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    return error.sqlstate is None or error.sqlstate.startswith(LOST_STATES)


def first_line(error: psycopg.Error) -> str:
    """The reason alone: neither the query nor what libpq says about the address."""
    lines = (error.diag.message_primary or str(error) or "no reason is given").strip().splitlines()
    reason = next((line for line in lines if "FATAL:" in line), lines[0])
    reason = reason.rpartition("FATAL:")[2].rpartition("failed: ")[2]
    return without_password(reason.strip().rstrip("."))


def check_address(address: str) -> None:
    """Raises `DatabaseRefused` where libpq could not read it."""
    try:
        conninfo_to_dict(address)
    except psycopg.ProgrammingError as error:
        raise DatabaseRefused(
            without_password(address), first_line(error), "Write it as postgresql://USER@HOST/DATABASE."
        ) from error


class Session:
    """A connection on which some spaces were chosen, for one transaction."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._pipeline: ExitStack | None = None  # statements are under way, whose results nobody has read

    def fetch(self, sql: str, values: Mapping[str, Any] | None = None, *, binary: bool = False) -> list[Row]:
        self.settle()
        return self.connection.execute(sql, values, binary=binary).fetchall()

    def only_row(self, sql: str, values: Mapping[str, Any] | None = None) -> Row:
        """For a query that always gives a row."""
        return self.fetch(sql, values)[0]

    def execute(self, sql: str, values: Mapping[str, Any] | None = None) -> int:
        """How many rows it changed."""
        self.settle()
        return self.connection.execute(sql, values).rowcount

    def together(self, *statements: Statement, binary: bool = False) -> list[list[Row]]:
        """The rows of each, in one round trip."""
        if not statements:
            self.settle()
            return []
        pipeline, self._pipeline = self._opened(), None
        with pipeline:
            cursors = [self.connection.execute(sql, values, binary=binary) for sql, values in statements]
        return [cursor.fetchall() if cursor.description else [] for cursor in cursors]

    def send(self, *statements: Statement) -> None:
        """Lets the server work on them while this goes on. What fails is raised by this or by a later call."""
        self._opened()
        for sql, values in statements:
            self.connection.execute(sql, values)

    def settle(self) -> None:
        """Waits for what was sent."""
        if self._pipeline is not None:
            pipeline, self._pipeline = self._pipeline, None
            pipeline.close()

    def _opened(self) -> ExitStack:
        if self._pipeline is None:
            self._pipeline = ExitStack()
            self._pipeline.enter_context(self.connection.pipeline())
        return self._pipeline


CHOOSE = "SELECT set_config('nacre.spaces', %(numbers)s, true), set_config('nacre.names', %(names)s, true)"
# With the number that the space has by now, which may have been renamed or made anew.
CHOOSE_NUMBER = f"{CHOOSE}, (SELECT space_id FROM spaces WHERE name = %(name)s)"
NUMBER = "SELECT space_id FROM spaces WHERE name = %(name)s"


def chosen(numbers: Sequence[int] | None, names: Sequence[str]) -> dict[str, str]:
    """The values of `CHOOSE`; None chooses every space."""
    marked = EVERY_SPACE if numbers is None else "{" + ",".join(map(str, numbers)) + "}"
    return {"numbers": marked, "names": "{" + ",".join(map(quoted, names)) + "}"}


def quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
