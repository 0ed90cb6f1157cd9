"""Reads lines of JSON one at a time, from any place in a file, however long the file is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from nacre.files import open_regular
from nacre.model.memory import Json

LONGEST_LINE = 16_000_000  # bytes: a picture written into a line, which tells no words
WHOLE_LINES = b"\n"


@dataclass(frozen=True, slots=True)
class Line:
    """`entry` is None where the line could not be read, and `fault` says why; `end` is the byte after it."""

    number: int
    end: int
    entry: Json = None
    fault: str = ""


def lines(path: Path, start: int = 0, *, whole: bool = False) -> Iterator[Line]:
    """With `whole`, a last line that has no end yet is left for the next time. Empty lines are passed over."""
    with open_regular(path) as file:
        file.seek(start)
        at, number = start, 0
        while raw := file.readline(LONGEST_LINE):
            number += 1
            long = len(raw) == LONGEST_LINE and not raw.endswith(WHOLE_LINES)
            at += len(raw)
            if long:
                rest, ended = rest_of_line(file)
                at += rest
            else:
                ended = raw.endswith(WHOLE_LINES)
            if whole and not ended:
                return
            if long:
                yield Line(number, at, None, f"longer than {LONGEST_LINE // 1_000_000} MB")
            elif raw.strip():
                yield parsed(raw, number, at)


def rest_of_line(file: BinaryIO) -> tuple[int, bool]:
    passed = 0
    while raw := file.readline(LONGEST_LINE):
        passed += len(raw)
        if raw.endswith(WHOLE_LINES):
            return passed, True
    return passed, False


def parsed(raw: bytes, number: int, end: int) -> Line:
    try:
        return Line(number, end, json.loads(raw.decode("utf-8-sig" if number == 1 else "utf-8")))
    except UnicodeDecodeError:
        return Line(number, end, None, "not UTF-8 text")
    except (ValueError, RecursionError):
        return Line(number, end, None, "not JSON")
