"""Checks what a caller gives, before anything is done: the arguments of a public method against its annotations, and
the fields of a memory, which are converted to the record's own form."""

from __future__ import annotations

import inspect
import json
import re
import reprlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, wraps
from math import isnan
from numbers import Integral, Real
from pathlib import Path
from shlex import quote
from types import FunctionType, NoneType, UnionType
from typing import (
    IO,
    Any,
    BinaryIO,
    Literal,
    Protocol,
    TextIO,
    TypeAlias,
    TypedDict,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from nacre.errors import InvalidInput, UnknownName, WrongType
from nacre.model.filter import HALF_A_PAIR, LARGEST
from nacre.model.instants import Instant, day, end_of_day, is_day, iso, last_day, seconds
from nacre.model.memory import LISTS, STATUSES, Json, Link, Memory
from nacre.settings import PERSONAL_PREFIX

LONGEST_TEXT = 1_000_000  # characters; a longer text is a document and belongs in several memories
LONGEST_LABEL = 1_000
LONGEST_METADATA = 100_000
MOST_ITEMS = {**dict.fromkeys(LISTS, 1_000), "links": 10_000}  # of a list; nobody reads a memory with more
DEEPEST_METADATA = 100  # databases limit the depth of JSON, SQLite to 1,000
UNWRITABLE = re.compile(
    "[\x00\ud800-\udfff]"
)  # halves of surrogates, from a broken paste, and NUL, which ends a string in much software
C = TypeVar("C")
FieldCheck: TypeAlias = Callable[[str, object], object]  # of a field's name and value; returns the value to store
CHECKED = "__checks_arguments__"  # marks a method, so that a subclass does not wrap it again
NAMES = {str: "text", int: "a whole number", float: "a number", Path: "a path", NoneType: "None"}


def checks_arguments(cls: type[C]) -> type[C]:
    """For a class whose methods are called by anybody: each public one raises `InvalidInput` for a wrong kind of value.

    A wrong number of arguments stays a `TypeError`, as everywhere in Python.
    """
    for name in dir(cls):
        method = inspect.getattr_static(cls, name)
        if not name.startswith("_") and isinstance(method, FunctionType) and not hasattr(method, CHECKED):
            setattr(cls, name, checked(method))
    return cls


def checked(method: FunctionType) -> Callable[..., object]:
    read_signature = cache(lambda: inspect.signature(method))  # at the first call: a class has a hundred methods

    @wraps(method)
    def call(*args: object, **kwargs: object) -> object:
        bound = read_signature().bind(*args, **kwargs)
        check_arguments(bound, hints_of(method))
        return method(*bound.args, **bound.kwargs)

    setattr(call, CHECKED, True)
    return call


def check_arguments(bound: inspect.BoundArguments, hints: Mapping[str, object]) -> None:
    """Raises `InvalidInput`; the items of an iterator are checked when it is read. Numbers and booleans of other
    libraries are converted to Python's own, which every backend takes."""
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            for field, each in value.items():
                check_field(field, each)
                value[field] = plain_number(each)
        elif name not in hints:
            continue
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            for each in value:
                check(name, each, hints[name])
        else:
            check(name, value, hints[name])
            if isinstance(value, Iterator) and not hasattr(value, "read"):
                bound.arguments[name] = checked_items(name, value, hints[name])
            else:
                bound.arguments[name] = bool(value) if hints[name] is bool else plain_number(value)


def plain_number(value: object) -> object:
    """As `int` or `float`, where it is the number of another library; anything else as it is."""
    if isinstance(value, str | int | float) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def checked_items(name: str, values: Iterator[object], hint: object) -> Iterator[object]:
    """Checks each item when the method reads it: an iterator can be read only once."""
    item_kinds = [get_args(kind)[0] for kind in alternatives(hint) if len(get_args(kind)) == 1]
    for value in values:
        if item_kinds and not any(fits(value, each) for kind in item_kinds for each in alternatives(kind)):
            raise WrongType(f"each item of {name}", names_of(item_kinds), value)
        yield value


@cache
def hints_of(method: FunctionType) -> Mapping[str, object]:
    """Without those that only a type checker can read."""
    types = {}
    for name, annotation in method.__annotations__.items():
        try:
            types[name] = eval(annotation, method.__globals__) if isinstance(annotation, str) else annotation
        except (NameError, AttributeError, TypeError):
            continue
    return types


def check(name: str, value: object, hint: object) -> None:
    kinds = alternatives(hint)
    if isinstance(value, str) and "\0" in value and Path in kinds:
        raise InvalidInput(f"{name} holds a NUL character, which no path can; remove it.")
    check_size(name, value)
    if not any(fits(value, kind) for kind in kinds):
        words = [each for kind in kinds if get_origin(kind) is Literal for each in get_args(kind)]
        if words and isinstance(value, str):
            raise UnknownName(name, value, words)
        raise wrong_inside(name, value, kinds) or WrongType(name, names_of(kinds), value)


def wrong_inside(name: str, value: object, kinds: Iterable[object]) -> WrongType | None:
    """About the first item that does not fit, where the list or mapping itself does."""
    for origin, inner in map(parts_of, kinds):
        if inner and isinstance(origin, type) and isinstance(value, origin) and isinstance(value, Collection):
            wanted = alternatives(inner[0])
            part = "key" if isinstance(value, Mapping) else "item"
            for each in value:
                if not any(fits(each, kind) for kind in wanted):
                    return WrongType(f"each {part} of {name}", names_of(wanted), each)
    return None


def refuse_single(items: object) -> None:
    """A text or a mapping can be walked through like a list, and each part of it would be stored as a memory."""
    if isinstance(items, str | Mapping):
        raise InvalidInput(f"items is one {'text' if isinstance(items, str) else 'mapping'}; give a list of them.")


def names_of(kinds: Iterable[object]) -> str:
    return " or ".join(dict.fromkeys(map(named, kinds)))


def check_field(name: str, value: object) -> None:
    """A field given by name: its type is checked where its meaning is known, so here only what would fail there."""
    check_size(name, value)
    if not has_truth(value):
        raise WrongType(name, "one plain value", value)


def check_size(name: str, value: object) -> None:
    if isinstance(value, str) and HALF_A_PAIR.search(value):
        raise InvalidInput(f"{name} holds half of a surrogate pair, which no text can; remove it.")
    try:
        fits_store = not isinstance(value, Integral) or -LARGEST <= int(value) <= LARGEST
        if isinstance(value, Real):
            float(value)
    except OverflowError:
        fits_store = False
    if not fits_store:
        raise InvalidInput(f"{name} is too large a number; give one below 2**63.")


def has_truth(value: object) -> bool:
    """An array of several numbers is neither true nor false."""
    try:
        return not hasattr(type(value), "__bool__") or bool(value) in (True, False)
    except (TypeError, ValueError, RuntimeError):
        return False


def alternatives(hint: Any) -> tuple[Any, ...]:
    """The members of a union, also of one inside another; else the type alone."""
    if is_union(hint):
        return tuple(each for kind in get_args(hint) for each in alternatives(kind))
    return (NoneType if hint is None else hint,)


def is_union(hint: object) -> bool:
    return get_origin(hint) in (Union, UnionType)


@cache
def parts_of(hint: Any) -> tuple[object, tuple[object, ...]]:
    return get_origin(hint), get_args(hint)


def fits(value: object, hint: object) -> bool:
    origin, inner = parts_of(hint)
    if origin is Literal:
        return isinstance(value, str | int) and value in inner
    if hint is NoneType or hint is None:
        return value is None
    if hint is Any or isinstance(hint, str | TypeVar):
        return True  # what cannot be known here
    if hint in (bool, int, float):
        return fits_number(value, hint)
    if origin is IO or hint in (IO, TextIO, BinaryIO):
        return hasattr(value, "read") or hasattr(value, "write")
    if isinstance(origin, type):
        return isinstance(value, origin) and fits_inside(value, inner)
    if not isinstance(hint, type):
        return True
    if getattr(hint, "_is_protocol", False):
        return callable(value) or "__call__" not in vars(hint)
    return isinstance(value, hint)


def fits_number(value: object, hint: object) -> bool:
    if hint is bool:
        return has_truth(value)
    return isinstance(value, Integral) if hint is int else isinstance(value, Real) and not isnan(float(value))


def fits_inside(value: object, inner: tuple[object, ...]) -> bool:
    """The elements of a list and the keys of a mapping; of what can be walked only once, nothing."""
    if not inner or not isinstance(value, Collection):
        return True
    kinds = alternatives(inner[0])
    if isinstance(value, str):
        return any(fits(value, kind) for kind in kinds)
    if len(kinds) == 1 and kinds[0] is str:  # the keys of a record: one of many in a batch
        return all(isinstance(each, str) for each in value)
    return all(any(fits(each, kind) for kind in kinds) for each in value)


def named(hint: object) -> str:
    if get_origin(hint) is Literal:
        return ", ".join(map(repr, get_args(hint)))
    origin = get_origin(hint)
    if isinstance(origin, type):
        return (
            "a mapping" if issubclass(origin, Mapping) else "a list" if issubclass(origin, Iterable) else "a function"
        )
    return NAMES.get(hint, getattr(hint, "__name__", "something else"))  # type: ignore[call-overload, no-any-return]


class Editable(TypedDict, total=False):
    """The fields besides the text that a caller may set and change."""

    agent: str | None
    title: str | None
    type: str
    tags: Iterable[str]
    contexts: Iterable[str]
    anti_contexts: Iterable[str]
    entities: Iterable[str]
    source: str | None
    source_notes: str | None
    metadata: Mapping[str, Json]
    importance: float
    salience: float
    confidence: float
    polarity: int
    trust: float
    pinned: bool
    valence: float | None
    arousal: float | None
    session: str | None
    position: int | None
    role: str | None
    created_at: Instant
    occurred_at: Instant | None
    valid_from: Instant | None
    valid_until: Instant | None
    expires_at: Instant | None
    last_accessed: Instant
    access_count: int
    last_validated_at: Instant | None
    status: str
    links: Iterable[Link]


class Changes(Editable, total=False):
    text: str


class Fields(Editable, total=False):
    """The fields of a new memory. A generated id begins with `id_prefix`."""

    id: str
    id_prefix: str


class NewMemory(Fields):
    """One of the memories that `remember_many` stores."""

    text: str


def validate_fields(
    fields: Mapping[str, object], types: Iterable[str], *, limit_lists: bool = True
) -> dict[str, object]:
    """Each value in the record's own form. Raises `InvalidInput` for the first invalid one. Without `limit_lists`, a
    list may be as long as one that has grown in a store."""
    valid = {}
    for name, value in fields.items():
        if name not in CHECKS:
            raise UnknownName("field", name, CHECKS)
        valid[name] = CHECKS[name](name, value)
        if limit_lists and name in MOST_ITEMS:
            check_length(name, valid[name])
    if "type" in valid:
        check_type(valid["type"], tuple(types))
    if "status" in valid and valid["status"] not in STATUSES:
        raise UnknownName("status", str(valid["status"]), STATUSES)
    return valid


def check_type(name: object, known: Collection[str]) -> None:
    """Raises `UnknownName` for a type that the store does not have."""
    if name not in known:
        raise UnknownName("memory type", str(name), known, f"nacre memory types --add {quote(str(name))}")


def check_length(name: str, value: object) -> None:
    if isinstance(value, tuple) and len(value) > MOST_ITEMS[name]:
        raise InvalidInput(
            f"{name} has {len(value):,} entries; {MOST_ITEMS[name]:,} are the most that it takes, so leave some out."
        )


def memory_text(name: str, value: object) -> str:
    text = storable_text(name, value).strip()
    if not text:
        raise InvalidInput("The text is empty; give some words to remember.")
    if len(text) > LONGEST_TEXT:
        raise InvalidInput(
            f"The text has {len(text):,} characters, and a memory holds at most {LONGEST_TEXT:,}; "
            "split it into several memories."
        )
    return text


def storable_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be text, not {type(value).__name__}.")
    unwritable = None if value.isascii() and "\0" not in value else UNWRITABLE.search(value)
    if unwritable:
        what = "a NUL character" if unwritable.group() == "\0" else "half of a surrogate pair"
        raise InvalidInput(f"{name} contains {what} at position {unwritable.start()}; remove it and repeat.")
    return value


def label(name: str, value: object) -> str:
    text = storable_text(name, "" if value is None else value).strip()
    if len(text) > LONGEST_LABEL:
        raise InvalidInput(f"{name} has {len(text):,} characters; {LONGEST_LABEL:,} are the most it holds.")
    return text


def notes(name: str, value: object) -> str:
    return memory_text(name, value) if value else ""


def required_label(name: str, value: object) -> str:
    text = label(name, value)
    if not text:
        raise InvalidInput(f"{name} is empty; leave it out or give a name.")
    return text


PATH_DOTS = (".", "..")  # in an address: this folder and the one above it, which clients resolve before they send it


def addressable_label(name: str, value: object) -> str:
    """The name of a memory or of a space (see `space_name`), which are parts of addresses."""
    text = required_label(name, value)
    if text in PATH_DOTS:
        raise InvalidInput(f"{name} is {text!r}, which means a folder in an address; give another name.")
    return text


def space_name(value: object) -> str:
    """A name for a space. One that only looks like a personal space would be open to everybody."""
    text = addressable_label("space", value)
    if is_look_alike(text):
        raise InvalidInput(
            f"space is {text!r}, which would be open to others and only looks like a personal space; "
            f"write {PERSONAL_PREFIX!r} in small letters, or give another name."
        )
    return text


def is_look_alike(space: str) -> bool:
    """Whether it differs in its letters' case alone from the name of a personal space."""
    return space.casefold().startswith(PERSONAL_PREFIX) and not space.startswith(PERSONAL_PREFIX)


def labels(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(f"{name} must be a list of words, not {type(value).__name__}; write [{value!r}].")
    return tuple(dict.fromkeys(text for item in value if (text := label(name, item))))


LARGEST_NUMBER = 2**53 - 1  # up to which every JSON reader keeps whole numbers exactly
FRACTION, FEELING, NATURAL, LINK_WEIGHT = (0, 1), (-1, 1), (0, LARGEST_NUMBER), (0, 1_000_000)
# The least and the greatest value of each number of a memory, apart from its times.
RANGES = {
    **dict.fromkeys(("importance", "salience", "confidence", "trust"), FRACTION),
    **dict.fromkeys(("polarity", "valence", "arousal"), FEELING),
    **dict.fromkeys(("position", "access_count"), NATURAL),
}


def number(name: str, value: object, low: float, high: float) -> float:
    if type(value) is float and low <= value <= high:  # as nearly always
        return value
    value = plain_number(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InvalidInput(f"{name} must be a number from {low:g} to {high:g}, not {shortened(value)}.")
    return float(value)


def shortened(value: object) -> str:
    """The value, short enough for an error message."""
    return f"{value:.4g}" if isinstance(value, float) else reprlib.repr(value)


def fraction(name: str, value: object) -> float:
    return number(name, value, *FRACTION)


def emotion_value(name: str, value: object) -> float:
    return number(name, value, *FEELING)


def polarity(name: str, value: object) -> int:
    if value not in (-1, 0, 1):
        raise InvalidInput(f"{name} is {value!r}; it must be -1, 0 or 1.")
    return int(value)


def natural_number(name: str, value: object) -> int:
    value = plain_number(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_NUMBER:
        raise InvalidInput(f"{name} must be a whole number from 0 to {LARGEST_NUMBER}, not {value!r}.")
    return value


def boolean(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} must be true or false, not {value!r}.")
    return value


# Of a day, or of a span of time in words, what a field means by it; the others mean the start.
UNTIL_ITS_END = ("valid_until", "expires_at")
TIME_FIELDS = (*UNTIL_ITS_END, "created_at", "occurred_at", "valid_from", "last_accessed", "last_validated_at")


def instant(name: str, value: object) -> float:
    """What is true until a date is still true on that day."""
    try:
        if name in UNTIL_ITS_END and is_day(value):
            return end_of_day(value)  # type: ignore[arg-type]
        return seconds(value)  # type: ignore[arg-type]
    except InvalidInput as error:
        words = "friday or 'in 2 weeks'" if name in UNTIL_ITS_END else "yesterday or 'last week'"
        raise InvalidInput(
            f"{name}: {shortened(value)} is not a time; write 2026-03-31, 2026-03-31T09:00:00Z, {words}."
        ) from error


def check_period(memory: Memory) -> Memory:
    """Raises `InvalidInput` for a memory that ends before it begins."""
    if memory.valid_from is not None and memory.valid_until is not None and memory.valid_until < memory.valid_from:
        end, start = last_day(memory.valid_until), day(memory.valid_from)
        if end >= start:  # the clock decides
            end, start = iso(memory.valid_until), iso(memory.valid_from)
        raise InvalidInput(f"valid_until ({end}) is before valid_from ({start}); swap them, or leave one out.")
    return memory


class NamedSpan(Protocol):
    """Reads a time in words: `text.dates.named_span`."""

    def __call__(self, text: str, now: float, *, ahead: bool) -> tuple[float, float] | None: ...


def with_moments(
    fields: Mapping[str, object],
    clock: Callable[[], float],
    named_span: NamedSpan,
) -> dict[str, object]:
    """The fields of a memory, with seconds in place of times that are given in words. «friday» is the last one, but of
    an end the next: nobody stores what has ended already."""
    result = dict(fields)
    for name in TIME_FIELDS:
        value, ends = fields.get(name), name in UNTIL_ITS_END
        if isinstance(value, str) and not is_written_time(value):
            span = named_span(value, clock(), ahead=ends)
            if span is not None:
                result[name] = span[ends]
    return result


def is_written_time(text: str) -> bool:
    """Whether it is a date or a time of ISO 8601."""
    try:
        seconds(text)
    except InvalidInput:
        return False
    return True


def json_object(name: str, value: object) -> dict[str, Json]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} must be a JSON object, not {type(value).__name__}.")
    try:
        packed = json.dumps(dict(value), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{name} cannot be written as JSON ({error}); use plain values.") from error
    if len(packed) > LONGEST_METADATA:
        raise InvalidInput(f"{name} takes {len(packed):,} characters; {LONGEST_METADATA:,} are the most it holds.")
    parsed: dict[str, Json] = json.loads(packed)
    check_nested(name, parsed, DEEPEST_METADATA)
    return parsed


def check_nested(name: str, value: Json, depth: int) -> None:
    if depth == 0:
        raise InvalidInput(f"{name} is nested more than {DEEPEST_METADATA} deep; make it flatter.")
    if isinstance(value, str):
        storable_text(name, value)
    elif isinstance(value, dict):
        for key, item in value.items():
            check_nested(name, key, depth)
            check_nested(name, item, depth - 1)
    elif isinstance(value, list):
        for item in value:
            check_nested(name, item, depth - 1)


def link_tuple(name: str, value: object) -> tuple[Link, ...]:
    if not isinstance(value, Iterable) or isinstance(value, str):
        raise InvalidInput(f"{name} must be a list of links, not {type(value).__name__}.")
    links: dict[tuple[str, str], Link] = {}
    for item in value:
        if not isinstance(item, Link):
            raise InvalidInput(f"{name} must hold links, not {type(item).__name__}; write Link(to=…, rel=…).")
        to, rel = required_label("a link's target", item.to), required_label("a link's relation", item.rel)
        weight = number("a link's weight", item.weight, *LINK_WEIGHT)
        links[to, rel] = Link(to, rel, weight, json_object("a link's data", item.data))
    return tuple(links.values())


def optional(check: FieldCheck) -> FieldCheck:
    return lambda name, value: None if value is None else check(name, value)


CHECKS: dict[str, FieldCheck] = {
    name: check
    for check, names in (
        (addressable_label, "id"),
        (required_label, "type status"),
        (memory_text, "text"),
        (label, "agent title source session role"),
        (labels, "tags contexts anti_contexts entities"),
        (notes, "source_notes"),
        (json_object, "metadata"),
        (fraction, "importance salience confidence trust"),
        (polarity, "polarity"),
        (boolean, "pinned"),
        (optional(emotion_value), "valence arousal"),
        (optional(natural_number), "position"),
        (natural_number, "access_count"),
        (instant, "created_at last_accessed"),
        (optional(instant), "occurred_at valid_from valid_until expires_at last_validated_at"),
        (link_tuple, "links"),
    )
    for name in names.split()
}
