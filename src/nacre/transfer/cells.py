"""The fields of a memory in a table: as cells, and back in the kind that each field has."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from collections.abc import Sequence

from nacre.errors import InvalidInput
from nacre.model import Memory
from nacre.model.instants import DAY, LAST, WRITTEN_DATE, iso, seconds
from nacre.model.memory import LISTS, NAMES
from nacre.model.validate import UNTIL_ITS_END, instant
from nacre.text.dates import read_span

TIMES = frozenset(
    "created_at updated_at occurred_at valid_from valid_until expires_at last_accessed last_validated_at"
    " superseded_at".split()
)
NUMBERS = frozenset("importance salience confidence trust valence arousal".split())
INTEGERS = frozenset(("polarity", "position", "access_count"))
OBJECTS = frozenset(("links", "metadata"))
TRUE, FALSE = frozenset(("true", "yes", "1")), frozenset(("false", "no", "0"))
MILLISECONDS = LAST  # no time in seconds is larger
DAY_IN_DIGITS = re.compile(r"(19|20|21)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")  # as seconds, summer of 1970
LONGEST_SHOWN = 80  # characters of a value in a message


def cell(name: str, memory: Memory) -> str:
    """The field in a table: times as ISO 8601, lists and objects as JSON, empty for what is not known."""
    value = getattr(memory, name)
    if value is None or value in ((), {}, ""):
        return ""
    if name in TIMES:
        return iso(value)
    if name == "links":
        return json.dumps([link.to_dict() for link in value], ensure_ascii=False)
    if name in LISTS or name == "metadata":
        return json.dumps(list(value) if name in LISTS else dict(value), ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else str(value)


def csv_line(values: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(values)  # as RFC 4180 has it; a lone CR is then quoted too
    return out.getvalue()


def convert(name: str, value: object) -> object:
    """The value of a field from a file, in the kind that the field has. Raises `InvalidInput`."""
    if name in TIMES:
        return moment(name, value)
    if not isinstance(value, str):
        return value
    text = value.strip()
    if name in LISTS:
        return as_list(name, text)
    if name in OBJECTS:
        return parse(name, text)
    if name == "type":
        return text.lower()
    if name in NUMBERS or name in INTEGERS:
        return as_number(name, text)
    if name == "pinned":
        if text.lower() not in TRUE | FALSE:
            raise InvalidInput(f"{name} is {text[:LONGEST_SHOWN]!r}; write true or false.")
        return text.lower() in TRUE
    return value


def moment(name: str, value: object) -> float | None:
    """Numbers are seconds since 1970, or milliseconds where they are too large for seconds, but the whole number
    20260331 is a day: as seconds it would lie in 1970; as a text, `2026` is a year, too. Words are read as a person
    types them: `yesterday`, `31.3.2026`, `3 days ago`; of a longer time its beginning counts, or its end for what is
    true until then."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str) and WRITTEN_DATE.fullmatch(value.strip()):
        return typed_moment(name, value.strip())
    if isinstance(value, bool):
        raise InvalidInput(f"{name} must be a time, not {str(value).lower()}.")
    if isinstance(value, int) and DAY_IN_DIGITS.fullmatch(str(value)):
        return typed_moment(name, str(value))
    try:
        number = float(value)  # type: ignore[arg-type]
    except OverflowError:
        raise InvalidInput(f"{name} is no time; write a date, or seconds since 1970.") from None
    except (TypeError, ValueError):
        if not isinstance(value, str):
            raise InvalidInput(f"{name} must be a time, not {type(value).__name__}.") from None
        return typed_moment(name, value.strip())
    return seconds(number / 1000 if abs(number) > MILLISECONDS else number)


def typed_moment(name: str, text: str) -> float:
    try:
        return instant(name, text)
    except InvalidInput:
        span = read_span(text, time.time(), ahead=name in UNTIL_ITS_END)
    if span is None:
        raise InvalidInput(
            f"{name} is {text[:LONGEST_SHOWN]!r}, which is not a time; write 2026-03-31, 2026-03-31T09:00:00Z, "
            "31.3.2026 or yesterday."
        )
    return span[name in UNTIL_ITS_END]


def is_relative(value: object) -> bool:
    """Whether it names another time on another day."""
    if not isinstance(value, str) or not value.strip():
        return False
    try:
        seconds(value.strip())
    except InvalidInput:
        spans = [read_span(value, at) for at in (0.0, 400 * DAY)]
        return spans[0] != spans[1]
    return False


def as_list(name: str, text: str) -> object:
    if text.startswith("["):
        return parse(name, text)
    return [each.strip() for each in text.replace(";", ",").split(",") if each.strip()]


def parse(name: str, text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput(f"{name} is not JSON.") from None


def as_number(name: str, text: str) -> float | int:
    kind = "a whole number" if name in INTEGERS else "a number"
    try:
        if name not in INTEGERS:
            return float(text)
        return int(text.removesuffix(".0"))  # as programs write a whole number in a column with others
    except ValueError:
        raise InvalidInput(f"{name} is {text[:LONGEST_SHOWN]!r}, which is not {kind}.") from None


def json_line(memory: Memory) -> str:
    """Only what is not the default, and the times that an import would set where they are missing."""
    times = {name: getattr(memory, name) for name in ("created_at", "updated_at", "last_accessed")}
    return json.dumps({**memory.to_dict(), **times}, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def table_line(memory: Memory) -> str:
    return csv_line([cell(name, memory) for name in NAMES])
