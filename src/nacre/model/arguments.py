"""Checks what a caller gives to a public method against the method's own annotations, before anything is done."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, wraps
from math import isnan
from numbers import Integral, Real
from pathlib import Path
from types import FunctionType, NoneType, UnionType
from typing import IO, Any, BinaryIO, Literal, TextIO, TypeVar, Union, get_args, get_origin

from nacre.errors import InvalidInput, UnknownName, WrongType
from nacre.model.filter import LARGEST

C = TypeVar("C")
CHECKED = "__checks_arguments__"  # marks a method, so that a subclass does not wrap it again
HALF_A_PAIR = re.compile("[\ud800-\udfff]")
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
    signature = inspect.signature(method)

    @wraps(method)
    def call(*args: object, **kwargs: object) -> object:
        bound = signature.bind(*args, **kwargs)
        hints = hints_of(method)
        for name, value in bound.arguments.items():
            kind = signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                for field, each in value.items():
                    check_field(field, each)
            elif name not in hints:
                continue
            elif kind is inspect.Parameter.VAR_POSITIONAL:
                for each in value:
                    check(name, each, hints[name])
            else:
                check(name, value, hints[name])
                if isinstance(value, Iterator) and not hasattr(value, "read"):
                    bound.arguments[name] = checked_items(name, value, hints[name])
        return method(*bound.args, **bound.kwargs)

    setattr(call, CHECKED, True)
    return call


def checked_items(name: str, values: Iterator[object], hint: object) -> Iterator[object]:
    """Checks each item when the method reads it: an iterator can be read only once."""
    item_kinds = [get_args(kind)[0] for kind in alternatives(hint) if len(get_args(kind)) == 1]
    for value in values:
        if item_kinds and not any(fits(value, each) for kind in item_kinds for each in alternatives(kind)):
            raise WrongType(f"each item of {name}", " or ".join(dict.fromkeys(map(named, item_kinds))), value)
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
        raise WrongType(name, " or ".join(dict.fromkeys(map(named, kinds))), value)


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


def alternatives(hint: object) -> tuple[object, ...]:
    return tuple(each for kind in get_args(hint) for each in alternatives(kind)) if is_union(hint) else (hint,)


def is_union(hint: object) -> bool:
    return get_origin(hint) in (Union, UnionType)


def fits(value: object, hint: object) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
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
