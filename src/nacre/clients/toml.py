"""Changes one place of a TOML text with tomlkit, and keeps the comments and the layout of the rest."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any

import tomlkit
from tomlkit.container import Container
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Comment, InlineTable, Table, Whitespace

from nacre.clients.files import CannotEdit

BYTE_ORDER_MARK = "\ufeff"
Edit = Callable[[str], str]


def read(text: str) -> dict[str, Any]:
    """Raises `ValueError` for a text that is not TOML."""
    return tomllib.loads(text.removeprefix(BYTE_ORDER_MARK))


def put(text: str, path: Sequence[str], value: object) -> str:
    """Raises `ValueError` for a text that is not TOML, `CannotEdit` where the place cannot be changed alone."""
    before = lookup(read(text), path)
    if before == value and type(before) is type(value):
        return text
    # A new table goes to the end. Whether an edit does what it should depends on how the file writes its tables.
    edits: list[Edit] = [lambda bare: assigned(bare, path, value)]
    if isinstance(value, Mapping):
        edits.insert(0 if before is None else 1, lambda bare: appended(removed(bare, path), path, value))
    return edited(text, path, value, edits)


def take(text: str, path: Sequence[str]) -> str:
    if lookup(read(text), path) is None:
        return text
    return edited(text, path, None, [lambda bare: removed(bare, path)])


def render(value: object) -> str:
    return tomlkit.dumps(value).strip("\n")  # type: ignore[arg-type]


def appended(text: str, path: Sequence[str], value: object) -> str:
    for name in reversed(path):
        value = {name: value}
    return text + gap_after(text) + tomlkit.dumps(value).strip("\n") + "\n"  # type: ignore[arg-type]


def lookup(values: object, path: Sequence[str]) -> object:
    for name in path:
        values = values.get(name) if isinstance(values, dict) else None
    return values


def gap_after(text: str) -> str:
    """Ends the last line, and leaves an empty one."""
    if not text:
        return ""
    ended = "" if text.endswith("\n") else "\n"
    return ended if text.endswith("\n\n") else ended + "\n"


def edited(text: str, path: Sequence[str], value: object, edits: Iterable[Edit]) -> str:
    """The first edit that changes only the one place: no setting of a person may be lost. Else raises `CannotEdit`."""
    bare = text.removeprefix(BYTE_ORDER_MARK)
    windows = "\r\n" in bare and bare.count("\n") == bare.count("\r\n")
    bare = bare.replace("\r\n", "\n") if windows else bare
    for edit in edits:
        with suppress(TOMLKitError, tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError):
            after = edit(bare)
            if without_empty(read(after)) == without_empty(expected(read(bare), path, value)):
                after = after.replace("\n", "\r\n") if windows else after
                return BYTE_ORDER_MARK + after if text.startswith(BYTE_ORDER_MARK) else after
    table = ".".join(path[:-1])
    raise CannotEdit(f"{table} is not written as tables; write [{table}.NAME]")


def assigned(text: str, path: Sequence[str], value: object) -> str:
    document = tomlkit.parse(text)
    table: Any = document
    for name in path[:-1]:
        if name not in table:
            table[name] = tomlkit.table(is_super_table=True)
        table = table[name]
    update(table, {path[-1]: value})
    return tomlkit.dumps(document)


def update(table: Any, values: Mapping[str, object]) -> None:
    """Tables are changed key by key, so that their comments stay."""
    for name, value in values.items():
        inner = table.get(name)
        if isinstance(value, Mapping) and isinstance(inner, Table):
            for stale in [each for each in inner if each not in value]:
                drop(inner, stale)
            update(inner, value)
        elif inner is None and (last := last_setting(table)) is not None and not isinstance(value, Mapping):
            # Behind the last setting: a comment before the next table belongs to that table.
            container_of(table)._insert_after(last, name, tomlkit.item(value))
        elif inner is None or inner != value:
            table[name] = value


def container_of(table: Any) -> Any:
    return table if isinstance(table, Container) else table.value


def last_setting(table: Any) -> Any:
    if not isinstance(table, Container | Table):
        return None
    body = container_of(table).body
    keys = [key for key, item in body if key is not None and not isinstance(item, Table | AoT | InlineTable)]
    return keys[-1] if keys else None


def removed(text: str, path: Sequence[str]) -> str:
    if lookup(read(text), path) is None:
        return text
    document = tomlkit.parse(text)
    table: Any = document
    for name in path[:-1]:
        table = table[name]
    drop(table, path[-1])
    after = tomlkit.dumps(document)
    # The empty line that set the table apart goes with it.
    return after.rstrip("\n") + "\n" if after.endswith("\n\n") else after.removeprefix("\n")


def drop(table: Any, name: str) -> None:
    """Comments behind the last setting of a table belong to what follows it, and stay."""
    item = table[name]
    rest = trailing(item) if isinstance(item, Table) else ""
    body = container_of(table).body if isinstance(table, Container | Table) else []
    place = next((at for at, (key, _) in enumerate(body) if key is not None and key.key == name), None)
    del table[name]
    if rest and place is not None:
        body[place] = (None, Whitespace(rest))


def trailing(table: Table) -> str:
    rest: list[str] = []
    for key, item in reversed(table.value.body):
        if isinstance(item, Table):
            return trailing(item) + "".join(rest)
        if key is not None or not isinstance(item, Comment | Whitespace):
            break
        rest.insert(0, item.as_string())
    text = "".join(rest)
    return text.lstrip("\n") if "#" in text else ""


def expected(values: dict[str, Any], path: Sequence[str], value: object) -> dict[str, Any]:
    inner = values
    for name in path[:-1]:
        inner = inner.setdefault(name, {})
    inner.pop(path[-1], None)
    if value is not None:
        inner[path[-1]] = deepcopy(value)
    return values


def without_empty(values: object) -> object:
    """A table without settings says nothing."""
    if not isinstance(values, dict):
        return values
    inner = {name: without_empty(each) for name, each in values.items()}
    return {name: each for name, each in inner.items() if each != {}}
