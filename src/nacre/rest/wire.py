"""Values as plain JSON and back, by their types. Every field is written, so that any client can read all of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from functools import cache
from math import isfinite
from types import NoneType
from typing import Any, ForwardRef, Literal, get_args, get_origin, get_type_hints, is_typeddict

from nacre.errors import InvalidInput, UnknownName, WrongType
from nacre.model import Hit, Listing, Memory
from nacre.model.filter import Condition, Filter
from nacre.model.instants import WRITTEN_DATE
from nacre.model.memory import Json
from nacre.model.review import RememberResult, ReviewItem
from nacre.model.validate import alternatives

# Computed values that a reader would have to compute again; they are ignored when a value is read.
COMPUTED: Mapping[type, tuple[str, ...]] = {
    Hit: ("strength", "marks"),
    Memory: ("date",),
    RememberResult: ("outcome", "noted"),
    ReviewItem: ("decisions",),
}
TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
PLAIN = frozenset((str, int, bool, NoneType))  # these are JSON already, and most values are of these types
LARGEST = sys.float_info.max
NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false", dict: "an object"}


def to_json(value: object) -> Json:
    if value is None or isinstance(value, bool | int | str | float):
        return plain_scalar(value)
    if isinstance(value, Filter):
        return [{"field": each.field, "op": each.op, "value": to_json(each.value)} for each in value.conditions]
    if isinstance(value, date):
        return value.isoformat()
    record = record_values(value)
    if record is not None:
        return {name: each if type(each) in PLAIN else to_json(each) for name, each in record}
    if isinstance(value, Mapping):
        return {str(key): each if type(each) in PLAIN else to_json(each) for key, each in value.items()}
    if hasattr(value, "tolist"):  # numbers of numpy
        return value.tolist()  # type: ignore[no-any-return]
    if isinstance(value, Iterable):
        return [each if type(each) in PLAIN else to_json(each) for each in value]
    return str(value)


def record_values(value: object) -> list[tuple[str, Any]] | None:
    """The names and values of what is written as an object; None for anything else, also for a mapping."""
    if isinstance(value, Listing):
        return [("memories", list(value)), ("cursor", value.cursor)]
    if is_dataclass(value) and not isinstance(value, type):
        names = (*field_names(type(value)), *COMPUTED.get(type(value), ()))
        return [(name, getattr(value, name)) for name in names]
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return list(value._asdict().items())
    return None


def plain_scalar(value: bool | int | str | float | None) -> Json:
    if isinstance(value, Enum):
        return str(value.value)
    return None if isinstance(value, float) and not isfinite(value) else value


@cache
def field_names(cls: type) -> tuple[str, ...]:
    return tuple(field_hints(cls)) if is_typeddict(cls) else tuple(each.name for each in fields(cls))


@cache
def field_hints(cls: type) -> Mapping[str, Any]:
    return get_type_hints(cls)


class Reading:
    """Reads JSON as values of a type. A `strict` one refuses fields that the type does not have, as a server does; a
    `textual` one reads numbers and truths from text, as in the query of a URL."""

    def __init__(self, *, strict: bool, textual: bool = False) -> None:
        self.strict = strict
        self.textual = textual

    def read(self, name: str, hint: Any, value: Any) -> Any:
        """Raises `InvalidInput`, which calls the value by this name."""
        kinds = alternatives(hint)
        if self.textual and isinstance(value, str) and str in kinds and WRITTEN_DATE.fullmatch(value.strip()):
            return value  # a year or a day; other numbers are seconds
        if value is None:
            if any(kind in (NoneType, Any, object) or isinstance(kind, ForwardRef | str) for kind in kinds):
                return None
            raise WrongType(name, wanted(kinds), value)
        for kind in sorted((each for each in kinds if each is not NoneType), key=text_last):
            reader = self._reader(kind)
            if reader is not None and (result := reader(name, kind, value)) is not NO:
                return result
        if isinstance(value, str) and (words := literals(kinds)):
            raise UnknownName(name, value, words)
        raise WrongType(name, wanted(kinds), value)

    def _reader(self, kind: Any) -> Callable[[str, Any, Any], Any] | None:
        origin = get_origin(kind) or kind
        if kind in (Any, object) or isinstance(kind, ForwardRef | str):  # inside of JSON, any JSON
            return lambda _name, _kind, value: value
        if origin is Literal:
            return lambda _name, _kind, value: value if value in get_args(kind) else NO
        if kind in (bool, int, float, str):
            return self._scalar
        if kind is Listing:
            return self._listing
        if kind is Filter:
            return self._filter
        if not isinstance(origin, type):
            return None
        if is_dataclass(origin) or hasattr(origin, "_fields") or is_typeddict(kind):
            return self._record
        if issubclass(origin, Mapping):
            return self._mapping
        return self._several if issubclass(origin, Iterable) and not issubclass(origin, str) else None

    def _scalar(self, _name: str, kind: Any, value: Any) -> Any:
        if self.textual and isinstance(value, str) and kind is not str:
            return textual_scalar(kind, value)
        if kind is bool:
            return value if isinstance(value, bool) else NO
        if isinstance(value, bool):
            return NO
        if kind is float and isinstance(value, int | float):
            too_large = isinstance(value, int) and abs(value) > LARGEST  # no float can hold it
            return NO if too_large else value
        return value if isinstance(value, kind) else NO

    def _listing(self, name: str, _kind: Any, value: Any) -> Any:
        memories = [self.read(name, Memory, each) for each in value["memories"]]
        return Listing(memories, value["cursor"])

    def _filter(self, name: str, _kind: Any, value: Any) -> Any:
        value = self._parsed(name, value)
        if not isinstance(value, list):
            return NO
        conditions = []
        for each in value:
            if not isinstance(each, dict) or set(each) != {"field", "op", "value"}:
                raise InvalidInput(
                    f'{name} holds a condition that cannot be read; write {{"field": "type", "op": "eq", "value": …}}.'
                )
            wanted_value = each["value"]
            conditions.append(
                Condition(
                    each["field"], each["op"], tuple(wanted_value) if isinstance(wanted_value, list) else wanted_value
                )
            )
        return Filter(tuple(conditions))

    def _record(self, name: str, kind: Any, value: Any) -> Any:
        value = self._parsed(name, value)
        if not isinstance(value, dict):
            return NO
        cls = get_origin(kind) or kind
        names = cls._fields if hasattr(cls, "_fields") else field_names(cls)
        hints = field_hints(cls)
        for key in value if self.strict else ():
            if key not in COMPUTED.get(cls, ()):
                UnknownName.check(f"field of {name}", key, names)
        known = {key: self.read(f"{name}.{key}", hints[key], value[key]) for key in names if key in value}
        try:
            return cls(**known)
        except TypeError as error:
            missing = [key for key in names if key not in known]
            raise InvalidInput(f"{name} lacks {', '.join(missing[:3])}; add it.") from error

    def _mapping(self, name: str, kind: Any, value: Any) -> Any:
        value = self._parsed(name, value)
        if not isinstance(value, dict):
            return NO
        inner = (get_args(kind) or (str, Any))[1]
        return {key: self.read(f"{name}.{key}", inner, each) for key, each in value.items()}

    def _several(self, name: str, kind: Any, value: Any) -> Any:
        """A list, or in a URL a value that is there once. A text is several texts where the method takes any such."""
        origin, inner = get_origin(kind) or kind, get_args(kind)
        if not self.textual and isinstance(value, str) and inner == (str,) and isinstance(value, origin):
            return value
        if not isinstance(value, list):
            if not self.textual:
                return NO
            value = [value]
        if origin is tuple and inner and inner[-1] is not Ellipsis:
            if len(value) != len(inner):
                raise InvalidInput(f"{name} must have {len(inner)} values, not {len(value)}.")
            return tuple(self.read(name, each, item) for each, item in zip(inner, value, strict=True))
        items = [self.read(f"each item of {name}", inner[0] if inner else Any, each) for each in value]
        return items if origin is list else tuple(items)

    def _parsed(self, name: str, value: Any) -> Any:
        """In a URL, records are JSON."""
        if not self.textual or not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError as error:
            raise InvalidInput(f"{name} cannot be read as JSON ({error}).") from error


class Missing:
    """Marks a value that a reader cannot read."""


NO = Missing()


def textual_scalar(kind: Any, value: str) -> Any:
    if kind is bool:
        return TRUTHS.get(value.lower(), NO)
    try:
        number = kind(value)
    except ValueError:
        return NO
    return number if isinstance(number, int) or isfinite(number) else NO


def text_last(kind: Any) -> bool:
    """What a text may mean besides text is tried first."""
    return kind is str


def literals(kinds: Iterable[Any]) -> list[str]:
    return [each for kind in kinds if get_origin(kind) is Literal for each in get_args(kind)]


def wanted(kinds: Iterable[Any]) -> str:
    names = []
    for kind in kinds:
        origin = get_origin(kind) or kind
        if kind is NoneType:
            continue
        if origin is Literal:
            names += [repr(each) for each in get_args(kind)]
        elif kind in NAMES:
            names.append(NAMES[kind])
        elif kind is Filter or (isinstance(origin, type) and issubclass(origin, Iterable) and not is_dataclass(origin)):
            names.append("an object" if origin is not Filter and issubclass(origin, Mapping) else "a list")
        else:
            names.append("an object")
    return " or ".join(dict.fromkeys(names)) or "null"


def is_object(hint: Any) -> bool:
    """Whether a result of this type is a JSON object (or null); any other is sent as `{"result": …}`."""
    kinds = [get_origin(kind) or kind for kind in alternatives(hint) if kind is not NoneType]
    return all(
        isinstance(kind, type)
        and (kind is Listing or is_dataclass(kind) or hasattr(kind, "_fields") or issubclass(kind, Mapping))
        for kind in kinds
    ) and bool(kinds)  # fmt: skip
