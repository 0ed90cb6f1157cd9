"""Files and folders for their owner alone, atomic writes, locks between processes and threads, and data of the package.

On Windows the permissions of the user's profile apply, and the modes here do nothing.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, Literal

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
ANY_NEW_FILE = 0o666  # reduced by the umask
GROUP = 0o070
OTHERS = 0o007
NOT_A_FILE = "a pipe, a device or a socket, and not a file"
BINARY = getattr(os, "O_BINARY", 0)
PACKAGE = Path(__file__).parent
HEADING = re.compile(r"\[([^\[\]]+)\]")
CONTINUED = re.compile(r"\n[ ]+")
DEFINITION = re.compile(r"([A-Z_]+) = (.*)")
DEFINED = re.compile(r"\{([A-Z_]+)\}")


XDG = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
    "state": ("XDG_STATE_HOME", ".local/state"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
}


def user_folder(kind: Literal["config", "data", "state", "cache"]) -> Path:
    """The user's folder of this program. It may not exist yet.

    `platformdirs` names it; as that takes 18 ms to import, what it does on Linux in the usual case is done here.
    """
    if sys.platform == "linux" and "ANDROID_ROOT" not in os.environ:
        variable, usual = XDG[kind]
        named, home = os.environ.get(variable, ""), os.environ.get("HOME", "")
        if named.startswith("/"):
            return Path(named, "nacre")
        if not named and home.startswith("/"):
            return Path(home, usual, "nacre")
    import platformdirs

    return Path(getattr(platformdirs.PlatformDirs("nacre", appauthor=False), f"user_{kind}_dir"))


def private_folder(folder: Path) -> Path:
    """Creates the folder and its missing parents for their owner alone. An existing one stays as it is."""
    missing = []
    current = folder
    while not current.exists() and current != current.parent:
        missing.append(current)
        current = current.parent
    for each in reversed(missing):
        with suppress(FileExistsError):  # another process may create it at the same time
            each.mkdir(mode=PRIVATE_FOLDER)
    folder.mkdir(exist_ok=True)  # raises when the path is not a folder
    return folder


def private_opener(path: str | os.PathLike[str], flags: int) -> int:
    """For `open(..., opener=private_opener)`: a new or an existing file becomes readable by its owner alone."""
    opened = os.open(path, flags, PRIVATE_FILE)
    restrict_to_owner(Path(path))
    return opened


def open_regular(path: Path) -> BinaryIO:
    """Opens a file that somebody else may have made. Raises `OSError` for a folder, a pipe, a device or a socket: the
    reading may never end."""
    opened = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | BINARY)
    try:
        mode = os.fstat(opened).st_mode
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, "it is a folder; name a file")
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, f"it is {NOT_A_FILE}")
        return os.fdopen(opened, "rb")
    except OSError:
        os.close(opened)
        raise


def create_private(path: Path, content: bytes = b"") -> bool:
    """Creates a file that is readable by its owner alone and on the disk when this returns.

    Returns False where there is a file already. That one is not opened: closing it would release the locks that SQLite
    holds on it in this process.
    """
    try:
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, PRIVATE_FILE)
    except FileExistsError:
        return False
    with os.fdopen(opened, "wb") as file:
        if content:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    return True


def is_open_to_others(mode: int) -> bool:
    """Whether a file of this mode can be read, or more, by others than its owner. Windows has no such modes."""
    return os.name != "nt" and bool(mode & (GROUP | OTHERS))


def restrict_to_owner(path: Path) -> None:
    """Removes the rights of group and others on a regular file that this user owns.

    A folder with the setgid bit (`chmod g+s`) is shared with a group on purpose: there the group keeps its rights.
    """
    if not hasattr(os, "geteuid"):
        return
    with suppress(OSError):
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return
        removed = OTHERS if path.parent.stat().st_mode & stat.S_ISGID else GROUP | OTHERS
        if status.st_mode & removed:
            path.chmod(stat.S_IMODE(status.st_mode) & ~removed)


def copy_owner_write(source: Path, target: Path) -> None:
    """Makes `target` writable for its owner where `source` is, and this user owns it; otherwise changes nothing."""
    with suppress(OSError):
        mode = stat.S_IMODE(target.stat().st_mode)
        owned = not hasattr(os, "geteuid") or target.stat().st_uid == os.geteuid()
        if owned and source.stat().st_mode & stat.S_IWUSR and not mode & stat.S_IWUSR:
            target.chmod(mode | stat.S_IWUSR)


@contextmanager
def atomic_writer(
    path: Path, mode: int | None = PRIVATE_FILE, temporary: Path | None = None, *, durable: bool = True
) -> Iterator[IO[bytes]]:
    """A temporary file that replaces `path` when the block ends without an error; it is on the disk by then, unless
    `durable` is False, for many files that can be written again.

    With `mode` None an existing file keeps its mode, and a new one gets the usual mode of this user. A caller that
    removes what a crash left behind names the temporary file. Raises `OSError`; then `path` is unchanged.
    """
    if temporary is None:
        temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    else:
        temporary.unlink(missing_ok=True)
    if mode is None and path.exists():
        mode = stat.S_IMODE(path.stat().st_mode)
    try:
        with os.fdopen(_open_temporary(path, temporary, mode), "wb") as file:
            if mode is not None and mode != PRIVATE_FILE:
                temporary.chmod(mode)
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _open_temporary(path: Path, temporary: Path, mode: int | None) -> int:
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY
        return os.open(temporary, flags, ANY_NEW_FILE if mode is None else mode & PRIVATE_FILE)
    except OSError as error:
        error.filename = str(path)  # the error names the file that the caller knows
        raise


def atomic_write(path: Path, content: str | bytes, mode: int | None = PRIVATE_FILE, *, durable: bool = True) -> None:
    """Writes all of the content or nothing; see `atomic_writer`."""
    with atomic_writer(path, mode, durable=durable) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


def data_text(name: str) -> str:
    """A text file of this package, without the line end that closes it."""
    return (PACKAGE / name).read_text("utf-8").removesuffix("\n")


def data_sections(name: str) -> list[tuple[str, list[str]]]:
    """The sections of a text file of this package: each `[heading]`, and the lines below it.

    A line that begins with `#` is a comment, and an indented one continues the line before it (joined without a blank).
    `NAME = text` on a line says what `{NAME}` stands for on all later lines.
    """
    sections: list[tuple[str, list[str]]] = []
    definitions: dict[str, str] = {}
    for written in CONTINUED.sub("", data_text(name)).splitlines():
        if not written or written[0] == "#":
            continue
        line = DEFINED.sub(lambda match: definitions[match[1]], written)
        if definition := DEFINITION.fullmatch(line):
            definitions[definition[1]] = definition[2]
        elif heading := HEADING.fullmatch(line):
            sections.append((heading[1], []))
        else:
            sections[-1][1].append(line)
    return sections


def data_words(name: str) -> dict[str, frozenset[str]]:
    """The words in each section of a text file of this package; see `data_sections`."""
    return {heading: frozenset(" ".join(lines).split()) for heading, lines in data_sections(name)}


FIRST_PAUSE_SECONDS = 0.001
LONGEST_PAUSE_SECONDS = 0.05

if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: int, *, exclusive: bool) -> None:  # noqa: ARG001 - Windows has no shared lock
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(*error.args) from error

    def _unlock(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _try_lock(file: int, *, exclusive: bool) -> None:
        fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)  # closing is not enough: a forked child may have the file open too


@contextmanager
def file_lock(path: Path, *, exclusive: bool, patience: float) -> Iterator[None]:
    """A lock between processes on a file of its own; it ends with the process that holds it.

    Raises `BlockingIOError` when it cannot be had within `patience` seconds. Shared locks do not exclude each other.
    """
    file = _open_lock_file(path)
    try:
        _wait_for_lock(file, exclusive=exclusive, deadline=time.monotonic() + patience)
        try:
            yield
        finally:
            _unlock(file)
    finally:
        os.close(file)


def _open_lock_file(path: Path) -> int:
    try:
        return private_opener(path, os.O_RDWR | os.O_CREAT)
    except FileNotFoundError:
        private_folder(path.parent)
        return private_opener(path, os.O_RDWR | os.O_CREAT)


def _wait_for_lock(file: int, *, exclusive: bool, deadline: float) -> None:
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            return _try_lock(file, exclusive=exclusive)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)


class ThreadLock:
    """A lock between threads that is free in a forked child: who held it in the parent does not exist there."""

    def __init__(self, kind: Callable[[], AbstractContextManager[bool]] = threading.Lock) -> None:
        self._kind = kind
        self._lock = kind()
        _thread_locks.add(self)

    def __enter__(self) -> None:
        self._lock.__enter__()

    def __exit__(self, *_: object) -> None:
        with suppress(RuntimeError):  # of a thread that forked while it held the lock
            self._lock.__exit__(None, None, None)

    def renew(self) -> None:
        self._lock = self._kind()


_thread_locks: weakref.WeakSet[ThreadLock] = weakref.WeakSet()


def _renew_locks() -> None:
    for lock in list(_thread_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def log_of(path: Path) -> Path:
    """The write-ahead log of a store's file."""
    return path.with_name(f"{path.name}-wal")


def size_of(file: Path) -> int:
    """In bytes; 0 where there is none."""
    try:
        return file.stat().st_size
    except OSError:
        return 0
