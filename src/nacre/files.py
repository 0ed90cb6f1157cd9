"""Files and folders that only their owner may read, whatever the umask; and files that are replaced as a whole.

On Windows the permissions of the user's profile apply, and the modes here do nothing.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
GROUP = 0o070
OTHERS = 0o007
SPECIAL = "a pipe, a device or a socket, and no file"


def private_folder(folder: Path) -> Path:
    """Makes the folder and its missing parents for their owner alone. One that is there already stays as it is."""
    missing = []
    at = folder
    while not at.exists() and at != at.parent:
        missing.append(at)
        at = at.parent
    for each in reversed(missing):
        with suppress(FileExistsError):  # another process may be as quick
            each.mkdir(mode=PRIVATE_FOLDER)
    folder.mkdir(exist_ok=True)  # says so where something else than a folder lies there
    return folder


def private_opener(path: str | os.PathLike[str], flags: int) -> int:
    """For `open(..., opener=private_opener)`: a new file is its owner's alone, and so is an old one from now on."""
    opened = os.open(path, flags, PRIVATE_FILE)
    tighten(Path(path))
    return opened


def open_regular(path: Path) -> BinaryIO:
    """To read a file that somebody else may have made. Raises `OSError` for a pipe, a device or a socket, which may
    never answer, or never end."""
    opened = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise OSError(errno.EINVAL, f"it is {SPECIAL}")
        return os.fdopen(opened, "rb")
    except OSError:
        os.close(opened)
        raise


def create_private(path: Path) -> bool:
    """An empty file, for a library that would make it with other permissions. False where there is one already, which
    is not opened: to close it would take away the locks that SQLite holds on it in this process."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE))
    except FileExistsError:
        return False
    return True


def tighten(path: Path) -> None:
    """Takes what group and others may do with a file that this user owns; whatever else lies there is left alone.

    A folder with the setgid bit (`chmod g+s`) is shared with a group on purpose: there the group keeps its rights.
    """
    if not hasattr(os, "geteuid"):
        return
    with suppress(OSError):
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            return
        taken = OTHERS if path.parent.stat().st_mode & stat.S_ISGID else GROUP | OTHERS
        if found.st_mode & taken:
            path.chmod(stat.S_IMODE(found.st_mode) & ~taken)


@contextmanager
def replacing(path: Path, mode: int = PRIVATE_FILE) -> Iterator[IO[bytes]]:
    """A file under another name, which takes the place of `path` when all went well and is on the disk by then.

    Raises `OSError`; then `path` is as it was.
    """
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(opened_for(path, temporary, flags, mode & PRIVATE_FILE), "wb") as file:
            if mode != PRIVATE_FILE:
                temporary.chmod(mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def opened_for(path: Path, temporary: Path, flags: int, mode: int) -> int:
    """An error names the file that was asked for, not the temporary one."""
    try:
        return os.open(temporary, flags, mode)
    except OSError as error:
        error.filename = str(path)
        raise


def write_private(path: Path, content: str | bytes, mode: int = PRIVATE_FILE) -> None:
    """Whole or not at all. Raises `OSError`."""
    with replacing(path, mode) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)
