"""Reads and changes the settings in a TOML file, and keeps its comments and layout."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

from nacre.clients.files import CannotEdit
from nacre.errors import ConfigError
from nacre.files import PRIVATE_FILE, atomic_write, private_folder
from nacre.settings import (
    KEY_PLACES,
    SERVICES,
    TABLES,
    Settings,
    converted,
    from_file,
    has_password,
    spaces_of,
    user_config,
)


def set_value(file: Path, key: str, value: str) -> object:
    """Writes the setting, which may be `spaces.NAME.KEY`, and returns the value.

    Raises `ConfigError`, and writes nothing, for an unknown setting or a value that does not fit it.
    """
    *table, name = split_key(key)
    wanted = converted(name, value, "The command line")
    if table:
        spaces_of({table[1]: {name: wanted}}, "The command line")
    whole_number = isinstance(wanted, float) and wanted.is_integer()
    write_setting(file, (*table, name), int(wanted) if whole_number else wanted)  # type: ignore[call-overload]
    return wanted


def unset(file: Path, key: str) -> bool:
    """Removes the setting from the file; False when it is not in it."""
    from nacre.clients import toml

    path = split_key(key)
    if toml.lookup(toml.read(text_of(file)), path) is None:
        return False
    write_setting(file, path, None)
    return True


def split_key(key: str) -> list[str]:
    """A space's name may have dots of its own."""
    head, _, rest = key.partition(".")
    space, _, name = rest.rpartition(".")
    return [head, space, name] if head in TABLES and space and name else [key]


def text_of(file: Path) -> str:
    if not file.is_file():
        return ""
    from_file(file)  # a file that cannot be read is reported before it is touched
    return file.read_text("utf-8")


def write_setting(file: Path, path: Sequence[str], value: object) -> None:
    from nacre.clients import toml  # slow to import, and most commands change no setting

    before = text_of(file)
    try:
        after = toml.take(before, path) if value is None else toml.put(before, path, value)
    except CannotEdit as error:
        raise ConfigError(
            f"{file} is written in a way that this program cannot change by itself; nothing was changed. "
            "Change it in an editor."
        ) from error
    private_folder(file.resolve().parent)
    atomic_write(file.resolve(), after, mode_for(file, after))


def mode_for(file: Path, text: str) -> int | None:
    """Only the user may read their own file, and any that holds the key of a service or a password; None where the mode
    may stay."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return PRIVATE_FILE
    tables = [values, *(each for each in values.get("spaces", {}).values() if isinstance(each, dict))]
    held = any(is_plain_key(key, table[key]) for table in tables for key in SERVICES.values() if key in table)
    held = held or any(has_password(table.get("store", "")) for table in tables)
    return PRIVATE_FILE if held or file.absolute() == user_config().absolute() else None


def is_plain_key(key: str, value: object) -> bool:
    """Whether it is the key of a service itself, and not where one is."""
    return key.rpartition(".")[2] in SERVICES.values() and bool(value) and not str(value).startswith(KEY_PLACES)


def keys() -> tuple[str, ...]:
    return tuple(name for name in Settings.__dataclass_fields__ if name not in TABLES)
