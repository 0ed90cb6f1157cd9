"""Rewrites another program's file: whole or not at all, with the old one kept beside it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nacre.errors import ConfigError
from nacre.files import atomic_write

BACKUP = ".nacre-backup"
ATTEMPTS = 5  # a running client rewrites its file now and then, not five times in a row


class CannotEdit(ValueError):
    """A text that can be read, and holds something that cannot be changed in place; says what to do about it."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """`backup` holds what the file held before; None where there was no file, or nothing was to do."""

    file: Path
    changed: bool
    backup: Path | None = None


def rewrite(file: Path, edit: Callable[[str], str], *, replace_unreadable: bool = False) -> FileChange:
    """`edit` gets the text, empty where there is no file, and raises `ValueError` for one that it cannot read.

    Such a file is left alone with a `ConfigError`, or replaced by the edit of an empty text. A link is followed; mode
    and line ends stay; an edit that leaves nothing removes the file.
    """
    real = file.resolve()
    for _ in range(ATTEMPTS):
        before = bytes_of(real)
        after = edited_bytes(real, before, edit, replace_unreadable=replace_unreadable)
        if after == (before or b""):
            return FileChange(file, changed=False)
        if before is not None and not os.access(real, os.W_OK):
            raise ConfigError(f"{file} is read-only; make it writable, or change it where it comes from.")
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
    told = f"{reason}".splitlines()[0]
    return ConfigError(
        f"{file} cannot be read ({told}), and was left as it is. "
        "Mend it, or have it replaced with --force; what it holds is kept beside it."
    )


def text_of(file: Path) -> str:
    """Raises `ConfigError` for bytes that are no text."""
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
    """A copy beside the file; an older copy is never overwritten, and an equal one is enough."""
    number = 1
    while True:
        backup = file.with_name(file.name + BACKUP + (f"-{number}" if number > 1 else ""))
        if not backup.exists():
            atomic_write(backup, content, file.stat().st_mode & 0o777)
            return backup
        if backup.read_bytes() == content:
            return backup
        number += 1
