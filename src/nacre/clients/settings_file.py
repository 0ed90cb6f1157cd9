"""Changes one setting in a TOML file and leaves every other line, its order and its comments, as they are."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nacre.errors import ConfigError
from nacre.files import PRIVATE_FILE, atomic_write, private_folder
from nacre.settings import KEY_PLACES, SERVICES, TABLES, Settings, converted, from_file, spaces_of, user_config

DELETE = "\x7f"  # JSON leaves it as it is, TOML must have it escaped


@dataclass(frozen=True, slots=True)
class Statement:
    """Whole lines that belong together: a setting however long, a table's head, a comment or an empty line."""

    start: int
    end: int
    table: tuple[str, ...]
    key: str = ""
    heads: bool = False


def set_value(file: Path, key: str, value: str) -> object:
    """Writes the setting, which may be `spaces.NAME.KEY`, and returns the value. Raises `ConfigError` for what is no
    setting, or no value for it; nothing is written then."""
    *table, name = split_key(key)
    wanted = checked(table, name, value)
    before = text_of(file)
    lines, literal = before.splitlines(keepends=True), f"{name} = {written(wanted)}"
    stood = find(lines, tuple(table), name)
    if stood is not None:
        lines[stood.start : stood.end] = [literal + comment(lines, stood) + "\n"]
    else:
        place = place_for(lines, tuple(table))
        head = [] if place is not None else [*separator(lines), f"[{'.'.join(map(bare, table))}]\n"]
        at = len(lines) if place is None else place
        if at and not lines[at - 1].endswith("\n"):
            lines[at - 1] += "\n"
        lines[at:at] = [*head, literal + "\n"]
    replace_file(file, before, "".join(lines), (*table, name), wanted)
    return wanted


def unset(file: Path, key: str) -> bool:
    """Takes the setting out of the file; False when it is not in it."""
    *table, name = split_key(key)
    before = text_of(file)
    lines = before.splitlines(keepends=True)
    if not tables_of(before, file, (*table, name)):
        return False
    stood = find(lines, tuple(table), name)
    if stood is not None:
        del lines[stood.start : stood.end]
    replace_file(file, before, "".join(lines), (*table, name), None)
    return True


def split_key(key: str) -> list[str]:
    """A space's name may have dots of its own."""
    head, _, rest = key.partition(".")
    space, _, name = rest.rpartition(".")
    return [head, space, name] if head in TABLES and space and name else [key]


def checked(table: Sequence[str], name: str, value: str) -> object:
    wanted = converted(name, value, "The command line")
    if table:
        spaces_of({table[1]: {name: wanted}}, "The command line")
    return wanted


def written(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bool | float):
        return repr(value).lower()
    return json.dumps(str(value), ensure_ascii=False).replace(DELETE, "\\u007f")


def bare(name: str) -> str:
    plain = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if plain else json.dumps(name, ensure_ascii=False).replace(DELETE, "\\u007f")


def statements(lines: Sequence[str]) -> Iterator[Statement]:
    at, table = 0, tuple[str, ...]()
    while at < len(lines):
        end, found = whole(lines, at)
        heads = lines[at].lstrip().startswith("[")
        if heads:
            table = path_of(found)
        key = next(iter(found), "") if not heads else ""
        yield Statement(at, end, table, key, heads)
        at = end


def whole(lines: Sequence[str], at: int) -> tuple[int, dict[str, object]]:
    """As few lines as can be read by themselves: a text or a list may run over several."""
    for end in range(at + 1, len(lines) + 1):
        with suppress(tomllib.TOMLDecodeError):
            return end, tomllib.loads("".join(lines[at:end]))
    return at + 1, {}


def path_of(nested: object) -> tuple[str, ...]:
    path = []
    while isinstance(nested, dict) and len(nested) == 1:
        name, nested = next(iter(nested.items()))
        path.append(str(name))
    return tuple(path)


def find(lines: Sequence[str], table: tuple[str, ...], name: str) -> Statement | None:
    return next((each for each in statements(lines) if each.table == table and each.key == name), None)


def place_for(lines: Sequence[str], table: tuple[str, ...]) -> int | None:
    """Behind the last setting of the table; where there is none, behind its head. None where it has no head."""
    inside = [each for each in statements(lines) if each.table == table]
    if not inside:
        return None if table else 0
    last = [each.end for each in inside if each.key or each.heads]
    return last[-1] if last else inside[-1].end


def separator(lines: Sequence[str]) -> list[str]:
    return ["\n"] if lines and lines[-1].strip() else []


def comment(lines: Sequence[str], stood: Statement) -> str:
    """What stands behind the value on its line."""
    if stood.end - stood.start > 1:
        return ""
    line = lines[stood.start].rstrip("\r\n")
    for at in (at for at, letter in enumerate(line) if letter == "#"):
        with suppress(tomllib.TOMLDecodeError):
            tomllib.loads(line[:at])
            return line[len(line[:at].rstrip()) :]
    return ""


def text_of(file: Path) -> str:
    if not file.is_file():
        return ""
    from_file(file)  # what cannot be read is told before it is touched
    return file.read_text("utf-8")


def tables_of(text: str, file: Path, path: Sequence[str]) -> bool:
    found: object = tomllib.loads(text)
    for name in path:
        if not isinstance(found, dict) or name not in found:
            return False
        found = found[name]
    return file.is_file()


def replace_file(file: Path, before: str, after: str, path: Sequence[str], wanted: object) -> None:
    """Whole or not at all, and only when nothing but this one setting has changed."""
    if settled(after) != expected(before, path, wanted):
        raise ConfigError(
            f"{file} is written in a way that this program cannot change by itself; nothing was changed. "
            "`nacre config edit` opens it."
        )
    private_folder(file.resolve().parent)
    atomic_write(file.resolve(), after, mode_for(file, after))


def mode_for(file: Path, text: str) -> int | None:
    """Only the user may read their own file, and any that holds the key of a service; None where the mode may stay."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return PRIVATE_FILE
    tables = [values, *(each for each in values.get("spaces", {}).values() if isinstance(each, dict))]
    held = any(is_plain_key(key, table[key]) for table in tables for key in SERVICES.values() if key in table)
    return PRIVATE_FILE if held or file.absolute() == user_config().absolute() else None


def is_plain_key(key: str, value: object) -> bool:
    """Whether it is the key of a service itself, and not where one is."""
    return key.rpartition(".")[2] in SERVICES.values() and bool(value) and not str(value).startswith(KEY_PLACES)


def settled(text: str) -> object:
    try:
        return dropped_empty(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return None


def expected(before: str, path: Sequence[str], wanted: object) -> object:
    whole: dict[str, object] = tomllib.loads(before)
    inner = whole
    for name in path[:-1]:
        inner = inner.setdefault(name, {})  # type: ignore[assignment]
    if wanted is None:
        inner.pop(path[-1], None)
    else:
        inner[path[-1]] = wanted
    return dropped_empty(whole)


def dropped_empty(found: dict[str, object]) -> dict[str, object]:
    """A table without settings says nothing."""
    inner = {key: dropped_empty(value) if isinstance(value, dict) else value for key, value in found.items()}
    return {key: value for key, value in inner.items() if value != {}}


def keys() -> tuple[str, ...]:
    return tuple(name for name in Settings.__dataclass_fields__ if name not in TABLES)
