"""Changes a file of another program atomically, and keeps a backup beside it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nacre.errors import ConfigError
from nacre.files import atomic_write

BACKUP = ".nacre-backup"
ATTEMPTS = 5  # a running client may rewrite its file meanwhile, but not five times in a row


class CannotEdit(ValueError):
    """The text is valid, but the place cannot be changed alone; the message says what to do."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """`backup` holds the former content; None where there was no file, or nothing changed."""

    file: Path
    changed: bool
    backup: Path | None = None


def rewrite(file: Path, edit: Callable[[str], str], *, replace_unreadable: bool = False) -> FileChange:
    """`edit` gets the text, empty where there is no file, and raises `ValueError` for a text that it cannot read.

    Such a file is left alone with a `ConfigError`, or replaced by the edit of an empty text. Links are followed, the
    mode stays, and an edit that leaves nothing removes the file.
    """
    real = file.resolve()
    for _ in range(ATTEMPTS):
        before = bytes_of(real)
        after = edited_bytes(real, before, edit, replace_unreadable=replace_unreadable)
        if after == (before or b""):
            return FileChange(file, changed=False)
        if before is not None and not os.access(real, os.W_OK):
            raise ConfigError(f"{file} is read-only; make it writable, or change its source.")
        if bytes_of(real) == before:
            backup = make_backup(real, before) if before is not None else None
            if after:
                real.parent.mkdir(parents=True, exist_ok=True)
                atomic_write(real, after, mode=None)
            else:
                real.unlink(missing_ok=True)
            return FileChange(file, changed=True, backup=backup)
    raise ConfigError(f"{file} is being rewritten by another program; close that program and repeat.")


def edited_bytes(file: Path, before: bytes | None, edit: Callable[[str], str], *, replace_unreadable: bool) -> bytes:
    try:
        return edit((before or b"").decode("utf-8")).encode("utf-8")
    except CannotEdit as error:
        raise ConfigError(f"{file} was left as it is: {error}.") from error
    except ValueError as error:
        if replace_unreadable:
            return edit("").encode("utf-8")
        raise unreadable(file, error) from error


def unreadable(file: Path, reason: Exception) -> ConfigError:
    first_line = f"{reason}".splitlines()[0]
    return ConfigError(
        f"{file} cannot be read ({first_line}), and was left as it is. "
        "Correct it, or replace it with --force; a backup is kept beside it."
    )


def text_of(file: Path) -> str:
    """Raises `ConfigError` for bytes that are not UTF-8."""
    try:
        return (bytes_of(file.resolve()) or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise unreadable(file, error) from error


def bytes_of(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None


def make_backup(file: Path, content: bytes) -> Path:
    """A copy beside the file. Older copies are never overwritten; an equal one is used again."""
    number = 1
    while True:
        backup = file.with_name(file.name + BACKUP + (f"-{number}" if number > 1 else ""))
        if not backup.exists():
            atomic_write(backup, content, file.stat().st_mode & 0o777)
            return backup
        if backup.read_bytes() == content:
            return backup
        number += 1
