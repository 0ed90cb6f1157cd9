"""Changes a file of another program atomically, and keeps a backup beside it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from nacre.errors import ConfigError
from nacre.files import atomic_write

BACKUP = ".nacre-backup"
COMMENT = re.compile(r""""(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|(//[^\n]*|/\*.*?\*/|#[^\n]*|<!--.*?-->)""", re.DOTALL)
REPLACE = "Correct it, or replace it with --force; a backup is kept beside it."
OUT_OF_REACH = "Make it a file that you may read, or move it away, and repeat."
CORRECT = "Correct it and repeat this, or take the entry out in an editor."
ATTEMPTS = 5  # a running client may rewrite its file meanwhile, but not five times in a row


class CannotEdit(ValueError):
    """The text is valid, but the place cannot be changed alone; the message says what to do."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """`backup` holds the former content; None where there was no file, or nothing changed. `made_backup` says that it
    was not there before."""

    file: Path
    changed: bool
    backup: Path | None = None
    made_backup: bool = False


def rewrite(
    file: Path,
    edit: Callable[[str], str],
    *,
    replace_unreadable: bool = False,
    keep_backup: bool = True,
    mode: int | None = None,
    remedy: str = REPLACE,
) -> FileChange:
    """`edit` gets the text, empty where there is no file, and raises `ValueError` for a text that it cannot read.

    Such a file is left alone with a `ConfigError`, or replaced by the edit of an empty text. Links are followed, the
    mode stays unless one is given, and an edit that leaves nothing removes the file. `remedy` ends the error.
    """
    real = real_path(file)
    for _ in range(ATTEMPTS):
        before = bytes_of(real)
        after = edited_bytes(real, before, edit, remedy, replace_unreadable=replace_unreadable)
        if after == (before or b""):
            return FileChange(file, changed=False)
        if before is not None and not os.access(real, os.W_OK):
            raise ConfigError(f"{file} is read-only; make it writable, or change its source.")
        if bytes_of(real) == before:
            kept = backups_of(real)
            backup = make_backup(real, before) if before is not None and keep_backup else None
            if after:
                real.parent.mkdir(parents=True, exist_ok=True)
                atomic_write(real, after, mode=mode)
            else:
                real.unlink(missing_ok=True)
            return FileChange(file, changed=True, backup=backup, made_backup=backup is not None and backup not in kept)
    raise ConfigError(f"{file} is being rewritten by another program; close that program and repeat.")


def edited_bytes(
    file: Path, before: bytes | None, edit: Callable[[str], str], remedy: str, *, replace_unreadable: bool
) -> bytes:
    try:
        return edit((before or b"").decode("utf-8")).encode("utf-8")
    except CannotEdit as error:
        raise ConfigError(f"{file} was left as it is: {error}.") from error
    except ValueError as error:
        if replace_unreadable:
            return edit("").encode("utf-8")
        raise unreadable(file, error, remedy) from error


def unreadable(file: Path, reason: Exception, remedy: str = REPLACE) -> ConfigError:
    first_line = f"{reason}".splitlines()[0]
    return ConfigError(f"{file} cannot be read ({first_line}), and was left as it is. {remedy}")


def text_of(file: Path) -> str:
    """Raises `ConfigError` for bytes that are not UTF-8, and for what is no file."""
    try:
        return (bytes_of(real_path(file)) or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise unreadable(file, error) from error


def real_path(file: Path) -> Path:
    try:
        return file.resolve()
    except RuntimeError as error:  # links that lead in a circle; from Python 3.13 on, reading fails instead
        raise unreadable(file, error, OUT_OF_REACH) from error


def bytes_of(file: Path) -> bytes | None:
    """None where there is none. Raises `ConfigError` for a folder, and for what may not be read."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be read ({error.strerror or error}), and was left as it is. {OUT_OF_REACH}"
        ) from error


def take_back(
    file: Path,
    remove: Callable[[str], str],
    meaning: Callable[[str], object],
    remove_from_backup: Callable[[str], str] | None = None,
) -> bool:
    """Undoes an earlier `rewrite`; False where `remove` finds nothing to remove.

    Where what is left means the same as a backup, the file is that backup again, byte for byte; where there is none and
    nothing is left, the file goes, with folders that are then empty. Backups lose what was removed, too, by
    `remove_from_backup` if given: it may hold a token. Those that equal the file are removed.
    """
    real = real_path(file)
    clean = remove_from_backup or remove

    def removed(text: str) -> str:
        after = remove(text)
        if after == text:
            return text
        backups = [text_of_backup(each) for each in backups_of(real)]
        earlier = [each for each in backups if each is not None and same_meaning(each, after, meaning)]
        if earlier:
            return earlier[-1]
        made_here = all(each is not None and cleaned_text(each, clean) != each for each in backups)
        return "" if made_here and not meaning(after) and not comments(after) else after

    if not rewrite(file, removed, keep_backup=False, remedy=CORRECT).changed:
        return False
    backups = backups_of(real)
    if any(backup.stat().st_size == 0 for backup in backups) and not real.exists():
        real.touch()  # it was there, and empty
    for backup in backups:
        clean_backup(backup, bytes_of(real), clean, meaning)
    if not real.exists():
        remove_empty_folders(real.parent)
    return True


def clean_backup(
    backup: Path, current: bytes | None, remove: Callable[[str], str], meaning: Callable[[str], object]
) -> None:
    content, text = backup.read_bytes(), text_of_backup(backup)
    cleaned = "" if text is None else cleaned_text(text, remove)
    changed = text is not None and cleaned != text
    if content == current or (changed and same_meaning(cleaned, (current or b"").decode("utf-8", "replace"), meaning)):
        backup.unlink()
    elif changed:
        atomic_write(backup, cleaned.encode("utf-8"), backup.stat().st_mode & 0o777)


def cleaned_text(text: str, remove: Callable[[str], str]) -> str:
    """As it is where `remove` cannot read it: so it was when the backup was made."""
    try:
        return remove(text)
    except ValueError:
        return text


def remove_empty_folders(folder: Path) -> None:
    """A client that was never here must not seem to be: `rewrite` makes missing folders. Those of the system, and the
    one that the user works in, stay."""
    lasting = {Path.home(), Path.cwd(), config_home(), settings_home()}
    while folder not in {each.resolve() for each in lasting}:
        try:
            folder.rmdir()
        except OSError:  # there is something else in it
            return
        folder = folder.parent


def settings_home() -> Path:
    """The settings folder of desktop programs: ~/.config, Application Support, or %APPDATA%."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return folder_from("APPDATA", Path.home() / "AppData" / "Roaming")
    return config_home()


def config_home() -> Path:
    """The settings folder of terminal programs, on every system."""
    return folder_from("XDG_CONFIG_HOME", Path.home() / ".config")


def folder_from(variable: str, otherwise: Path) -> Path:
    """The folder that an environment variable names."""
    value = os.environ.get(variable, "").strip()
    return Path(value).expanduser() if value else otherwise


def text_of_backup(backup: Path) -> str | None:
    """None where it holds no text."""
    try:
        return backup.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None


def same_meaning(one: str, other: str, meaning: Callable[[str], object]) -> bool:
    """Comments mean nothing to a program, but something to whoever wrote them."""
    try:
        return meaning(one) == meaning(other) and comments(one) == comments(other)
    except ValueError:
        return False


def comments(text: str) -> list[str]:
    """Their words; what looks like a comment in a quoted string is none."""
    return [" ".join(each.split()) for each in COMMENT.findall(text) if each]


def pruned(value: object) -> object:
    """Without what is empty: None where nothing is left."""
    if isinstance(value, dict):
        rest = {name: kept for name, each in value.items() if (kept := pruned(each)) is not None}
        return rest or None
    return None if value in ([], "") else value


def backups_of(file: Path) -> list[Path]:
    """Oldest first; some may be gone."""
    if not file.parent.is_dir():
        return []
    name = re.compile(re.escape(file.name + BACKUP) + r"(?:-([0-9]+))?")
    numbered = [(int(match[1] or 1), each) for each in file.parent.iterdir() if (match := name.fullmatch(each.name))]
    return [each for _, each in sorted(numbered)]


def backup_names(file: Path) -> Iterator[Path]:
    for number in count(1):
        yield file.with_name(file.name + BACKUP + (f"-{number}" if number > 1 else ""))


def make_backup(file: Path, content: bytes) -> Path:
    """A copy beside the file. Older copies are never overwritten; an equal one is used again."""
    backup = next(each for each in backup_names(file) if not each.exists() or each.read_bytes() == content)
    if not backup.exists():
        atomic_write(backup, content, file.stat().st_mode & 0o777)
    return backup
