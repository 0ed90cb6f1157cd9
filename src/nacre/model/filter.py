"""Which memories are meant: one meaning, `Filter.admits`, that every backend's own query must match."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TypeAlias

from nacre.errors import InvalidInput, UnknownName
from nacre.model.memory import ARCHIVED, LISTS, NAMES, TRASHED, Memory

Scalar: TypeAlias = str | float | int | bool | None
Value: TypeAlias = Scalar | tuple[Scalar, ...]

LIST_FIELDS = (*LISTS, "links.to", "links.rel")
SCALAR_FIELDS = tuple(name for name in NAMES if name not in (*LISTS, "links", "metadata"))

DOTTED = ("under", "along")
ORDER_OPS = ("lt", "le", "gt", "ge", "gt_or_unset", "le_or_unset")
SCALAR_OPS = ("eq", "ne", "in", "not_in", "unset", "contains", "under", *ORDER_OPS)
LIST_OPS = ("any", "all", "none", "under", "along", "unset")
METADATA_OPS = ("eq", "ne", "in", "not_in", "unset")
SEVERAL_OPS = ("in", "not_in", "any", "all", "none", *DOTTED)

# A key that goes into a JSON path unquoted by SQL must not be able to leave it.
METADATA_KEY = re.compile(r"metadata\.[A-Za-z0-9_-]+\Z")
HALF_A_PAIR = re.compile("[\ud800-\udfff]")  # of surrogates: no character
LARGEST = 2**63 - 1  # the largest integer of every database
TEXT_FIELDS = ("id", "text", "space", "agent", "title", "type", "source", "source_notes", "session", "role", "status",
               "trashed_from", "superseded_by")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Condition:
    """`ne` and `not_in` admit an unset field; an order never does, unless its name says so.

    `under` takes names that are separated by dots: it admits each of them and all below it, "api.jira" for "api";
    `along` also those above it.

    Raises `InvalidInput` for a field, a comparison or a value that is not known: a backend writes the name of the
    field into its query.
    """

    field: str
    op: str
    value: Value

    def __post_init__(self) -> None:
        check_field(self.field)
        allowed = operators(self.field)
        if not isinstance(self.op, str) or self.op not in allowed:
            raise UnknownName(f"comparison for {self.field}", str(self.op), allowed)
        comparable(self.field, self.op, self.value)
        if isinstance(self.value, tuple):
            if self.op not in SEVERAL_OPS:
                raise InvalidInput(f"{self.field} {self.op} compares with one value, not with a list; use in or any.")
            for each in self.value:
                single(self.field, each)
        else:
            single(self.field, self.value)

    def admits(self, memory: Memory) -> bool:
        if self.field in LIST_FIELDS:
            return LIST_TESTS[self.op](set(listed(memory, self.field)), as_set(self.value))
        return scalar_admits(self.op, scalar(memory, self.field), self.value)


@dataclass(frozen=True, slots=True)
class Filter:
    conditions: tuple[Condition, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.conditions, tuple) or not all(isinstance(each, Condition) for each in self.conditions):
            raise InvalidInput("A filter holds a tuple of conditions; write Filter.where(type='episodic'), say.")

    def admits(self, memory: Memory) -> bool:
        return all(condition.admits(memory) for condition in self.conditions)

    def __and__(self, other: Filter) -> Filter:
        return Filter(self.conditions + other.conditions)

    @classmethod
    def where(cls, **wanted: object) -> Filter:
        """`Filter.where(type="episodic", importance__ge=0.5, tags__any=("a", "b"))`; None leaves a field free.

        `metadata__key=value` asks for one key of the metadata; `field__unset=True` for fields without a value.
        """
        return cls(tuple(condition(key, value) for key, value in wanted.items() if value is not None))

    @classmethod
    def live(cls, now: float) -> Filter:
        """What an agent should see by default: not in the trash or the archive, not superseded, not expired."""
        return cls(
            (
                Condition("status", "ne", TRASHED),
                Condition("status", "ne", ARCHIVED),
                Condition("superseded_by", "eq", ""),
                Condition("expires_at", "gt_or_unset", now),
            )
        )


def condition(key: str, value: object) -> Condition:
    name, op = split(key)
    return Condition(name, op, tuple(values(value)) if op in SEVERAL_OPS else single(name, value))


def check_field(name: object) -> None:
    """Only fields of a memory, and keys of its metadata that cannot leave a JSON path."""
    if not isinstance(name, str):
        raise InvalidInput(f"A filter names a field by text, not by {type(name).__name__}; give its name.")
    if name.startswith("metadata."):
        if not METADATA_KEY.match(name):
            key = name.removeprefix("metadata.")
            raise InvalidInput(f"Cannot filter on the metadata key {key!r}; use letters, digits, _ and -.")
    elif name not in SCALAR_FIELDS and name not in LIST_FIELDS:
        raise UnknownName("field", name, (*SCALAR_FIELDS, *LIST_FIELDS, "metadata"))


def operators(name: str) -> tuple[str, ...]:
    if name in LIST_FIELDS:
        return LIST_OPS
    return METADATA_OPS if name.startswith("metadata.") else SCALAR_OPS


def split(key: str) -> tuple[str, str]:
    name, _, op = key.partition("__")
    if name == "metadata" and op:
        head, _, tail = op.rpartition("__")
        metadata_key, op = (head, tail) if head and tail in (*SCALAR_OPS, *LIST_OPS) else (op, "")
        name = f"metadata.{metadata_key}"
    elif name == "links" and op:
        part, _, op = op.partition("__")
        name = f"links.{part}"
    check_field(name)
    return name, op or ("any" if name in LIST_FIELDS else "eq")


def values(value: object) -> Iterable[Scalar]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        value = (value,)
    return (single("list", item) for item in value)


def single(name: str, value: object) -> Scalar:
    if value is None or isinstance(value, str | int | float):
        if isinstance(value, str) and HALF_A_PAIR.search(value):
            raise InvalidInput(f"A filter on {name} holds half of a surrogate pair, which no text can; remove it.")
        if isinstance(value, float) and not isfinite(value):
            raise InvalidInput(f"A filter on {name} cannot compare with {value}; give a finite number.")
        if isinstance(value, int) and not -LARGEST <= value <= LARGEST:
            raise InvalidInput(f"A filter on {name} cannot compare with so large a number; give one below 2**63.")
        return value
    raise InvalidInput(
        f"A filter on {name} compares with text or a number, not with {type(value).__name__}; convert it."
    )


def comparable(name: str, op: str, value: object) -> None:
    if op == "unset" and not isinstance(value, bool):
        raise InvalidInput(f"{name} unset asks yes or no; give true or false, not {value!r}.")
    if op == "contains" and name not in TEXT_FIELDS:
        raise InvalidInput(f"'contains' looks inside text, and {name} is not text; use eq, lt, gt or in.")
    if op in DOTTED and not (name in TEXT_FIELDS or name in LIST_FIELDS):
        raise InvalidInput(f"'{op}' asks for names separated by dots, and {name} holds none; use eq, in or any.")
    if op in DOTTED and not all(isinstance(each, str) for each in values(value)):
        raise InvalidInput(f"{name} {op} {value!r} asks for something else than names; give text.")
    if op in ORDER_OPS and value is None:
        raise InvalidInput(f"{name} {op} compares with nothing; give a value, or use unset.")
    if op in (*ORDER_OPS, "contains") and isinstance(value, str) != (name in TEXT_FIELDS):
        raise InvalidInput(f"{name} {op} {value!r} compares text with a number; give the value as the field has it.")


def as_set(value: Value) -> set[Scalar]:
    return set(value) if isinstance(value, tuple) else {value}


def listed(memory: Memory, name: str) -> Iterable[Scalar]:
    if name == "links.to":
        return (link.to for link in memory.links)
    if name == "links.rel":
        return (link.rel for link in memory.links)
    return getattr(memory, name)  # type: ignore[no-any-return]


def scalar(memory: Memory, name: str) -> Scalar:
    if not name.startswith("metadata."):
        return getattr(memory, name)  # type: ignore[no-any-return]
    value = memory.metadata.get(name.removeprefix("metadata."))
    return value if isinstance(value, str | int | float) else None


def scalar_admits(op: str, value: Scalar, wanted: Value) -> bool:
    if op == "unset":
        return (value is None or value == "") == bool(wanted)
    if op in ("in", "not_in"):
        return (value in as_set(wanted)) == (op == "in")
    if op == "under":
        return is_under(value, as_set(wanted))
    if op in ("eq", "ne"):
        return (value == wanted) == (op == "eq")
    if value is None:
        return op.endswith("_or_unset")
    return SCALAR_TESTS[op.removesuffix("_or_unset")](value, wanted)


def is_under(value: Scalar, names: set[Scalar]) -> bool:
    below = tuple(f"{name}." for name in names if isinstance(name, str))
    return value in names or (isinstance(value, str) and value.startswith(below))


def ancestors(name: str) -> tuple[str, ...]:
    """`team.shared.branch` lies in `team.shared` and in `team`."""
    parts = name.split(".")
    return tuple(".".join(parts[:length]) for length in range(1, len(parts)))


def above(names: Iterable[Scalar]) -> set[Scalar]:
    return {other for name in names if isinstance(name, str) for other in ancestors(name)}


SCALAR_TESTS: Mapping[str, Callable[[object, object], bool]] = {
    "lt": lambda value, wanted: value < wanted,  # type: ignore[operator]
    "le": lambda value, wanted: value <= wanted,  # type: ignore[operator]
    "gt": lambda value, wanted: value > wanted,  # type: ignore[operator]
    "ge": lambda value, wanted: value >= wanted,  # type: ignore[operator]
    "contains": lambda value, wanted: str(wanted) in str(value),
}
LIST_TESTS: Mapping[str, Callable[[set[Scalar], set[Scalar]], bool]] = {
    "any": lambda value, wanted: bool(value & wanted),
    "all": lambda value, wanted: wanted <= value,
    "none": lambda value, wanted: not (value & wanted),
    "under": lambda value, wanted: any(is_under(each, wanted) for each in value),
    "along": lambda value, wanted: bool(value & above(wanted)) or any(is_under(each, wanted) for each in value),
    "unset": lambda value, wanted: (not value) == (True in wanted),
}
