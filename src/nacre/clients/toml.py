"""Changes one table of a TOML text, and leaves every other line, its order and its comments, as they are."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from nacre.clients.files import CannotEdit
from nacre.clients.settings_file import bare, path_of, whole

BYTE_ORDER_MARK = "\ufeff"
DELETE = "\x7f"  # JSON leaves it as it is, TOML must have it escaped


@dataclass(frozen=True, slots=True)
class Part:
    """Whole lines: a table's head, a setting however long, or an empty line or comment, whose path is what holds it."""

    start: int
    end: int
    path: tuple[str, ...]
    heads: bool = False


def read(text: str) -> dict[str, object]:
    return tomllib.loads(text.removeprefix(BYTE_ORDER_MARK))


def put(text: str, path: Sequence[str], value: object) -> str:
    """Raises `InTheWay` where the text holds the table in a form that whole lines cannot be taken from."""
    if at(read(text), path) == value:
        return text
    lines, place = without(text, path)
    before, behind = "".join(lines[:place]), "".join(lines[place:])
    block = apart(before) + tables(path, value) + ("" if not behind or blank(lines[place]) else "\n")
    return checked(before + (block.replace("\n", "\r\n") if "\r\n" in text else block) + behind, text, path, value)


def take(text: str, path: Sequence[str]) -> str:
    if at(read(text), path) is None:
        return text
    lines, place = without(text, path)
    if place and blank(lines[place - 1]) and (place == len(lines) or blank(lines[place])):
        del lines[place - 1]  # the empty line that set the table apart
    return checked("".join(lines), text, path, None)


def render(value: object, path: Sequence[str] = ()) -> str:
    return tables(path, value).strip("\n")


def apart(before: str) -> str:
    """What ends the line before, and leaves one empty."""
    if not before:
        return ""
    missing = "" if before.endswith("\n") else "\n"
    return missing if before.replace("\r", "").endswith("\n\n") else missing + "\n"


def without(text: str, path: Sequence[str]) -> tuple[list[str], int]:
    """The lines that say nothing of the path, and where the first of the others stood; else the end."""
    lines = text.removeprefix(BYTE_ORDER_MARK).splitlines(keepends=True)
    gone = [part for part in parts(lines) if part.path[: len(path)] == tuple(path)]
    dropped = {line for part in gone for line in range(part.start, part.end)}
    kept = [line for number, line in enumerate(lines) if number not in dropped]
    # Between the settings of a table no other table can begin.
    return kept, gone[0].start if gone and gone[0].heads else len(kept)


def parts(lines: Sequence[str]) -> Iterator[Part]:
    """Comments and empty lines belong to the table they stand in; those before the next one to what holds them both."""
    start, table, waiting = 0, tuple[str, ...](), list[tuple[int, int]]()
    while start < len(lines):
        end, found = whole(lines, start)
        heads = lines[start].lstrip().startswith("[")
        if heads or found:
            path = path_of(found) if heads else (*table, *path_of(found))
            yield from (Part(*lines_, shared(table, path)) for lines_ in waiting)
            yield Part(start, end, path, heads)
            table, waiting = path if heads else table, []
        else:
            waiting.append((start, end))
        start = end


def shared(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def tables(path: Sequence[str], value: object) -> str:
    """A table with its settings, then the tables in it."""
    if not isinstance(value, Mapping):
        raise TypeError("only a mapping can become a table")
    inner = {name: each for name, each in value.items() if isinstance(each, Mapping)}
    own = [f"{bare(name)} = {literal(each)}\n" for name, each in value.items() if name not in inner]
    blocks = [f"[{'.'.join(map(bare, path))}]\n" + "".join(own)] if own or not inner else []
    return "\n".join([*blocks, *(tables((*path, name), each) for name, each in inner.items())])


def literal(value: object) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace(DELETE, "\\u007f")


def blank(line: str) -> bool:
    return not line.strip()


def at(found: object, path: Sequence[str]) -> object:
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def checked(after: str, before: str, path: Sequence[str], value: object) -> str:
    """TOML has many ways to write a table; one that was not foreseen must not cost a person's settings."""
    wanted = read(before)
    inner = wanted
    for name in path[:-1]:
        inner = inner.setdefault(name, {})  # type: ignore[assignment]
    inner.pop(path[-1], None)
    if value is not None:
        inner[path[-1]] = value
    try:
        same = filled(read(after)) == filled(wanted)
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise CannotEdit(
            f"{'.'.join(path[:-1])} is written otherwise than as tables; write [{'.'.join(path[:-1])}.NAME]"
        )
    return BYTE_ORDER_MARK + after if before.startswith(BYTE_ORDER_MARK) else after


def filled(found: object) -> object:
    """A table without settings says nothing."""
    if not isinstance(found, dict):
        return found
    inner = {name: filled(each) for name, each in found.items()}
    return {name: each for name, each in inner.items() if each != {}}
