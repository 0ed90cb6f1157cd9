"""`dataclass` as in the standard library, made in a third of the time: a command imports more than a hundred of them.

For every class the library compiles six functions. Of a frozen one with slots only `__init__` is compiled here, and the
others are closures. The fields, defaults and slots are left to the library, and so are all other kinds of dataclass.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeAlias

AnyField: TypeAlias = Field[Any]

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # type checkers know this one
else:

    def dataclass(cls=None, /, **options):
        """Takes the options of the library's decorator. `InitVar` is not supported with `frozen` and `slots`."""
        if cls is None:
            return lambda decorated: dataclass(decorated, **options)
        chosen = {name for name, value in options.items() if value}
        if chosen - {"eq"} == {"frozen", "slots"} and not any(map(dataclasses.is_dataclass, cls.__mro__)):
            return frozen_with_slots(cls, compared=options.get("eq", True))
        return dataclasses.dataclass(cls, **options)


def frozen_with_slots(cls: type[Any], *, compared: bool) -> type[Any]:
    about, own = cls.__doc__, vars(cls)
    cls.__doc__ = about or cls.__name__  # else the library describes the signature, which takes as long as all else
    made = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=True)
    made.__doc__ = about
    known = dataclasses.fields(made)
    methods: dict[str, Callable[..., object]] = {
        "__init__": compiled_init(made, known),
        "__repr__": repr_of([field.name for field in known if field.repr]),
        "__getstate__": get_state,
        "__setstate__": set_state,
    }
    if compared:
        methods["__eq__"], methods["__hash__"] = comparison([field.name for field in known if field.compare])
    methods["__setattr__"], methods["__delattr__"] = refusals(made, {field.name for field in known})
    for name, method in methods.items():
        if own.get(name) is None:  # `__hash__` is None where a class has an `__eq__` of its own
            setattr(made, name, method)
    # What the library did not make was made here.
    parameters = made.__dataclass_params__
    parameters.init = parameters.repr = parameters.frozen = True
    parameters.eq = compared
    return made


def compiled_init(cls: type[Any], known: Sequence[AnyField]) -> Callable[..., None]:
    names: dict[str, Any] = {"put_": object.__setattr__, "MISSING_": MISSING}
    lines = []
    for field in known:
        names[f"default_{field.name}"], names[f"make_{field.name}"] = field.default, field.default_factory
        if value := first_value(field):
            lines.append(f" put_(self, {field.name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    accepted = [field for field in known if field.init]
    by_name = [parameter(field) for field in accepted if field.kw_only]
    parameters = [
        "self",
        *(parameter(field) for field in accepted if not field.kw_only),
        *(by_name and ["*", *by_name]),
    ]
    exec(f"def __init__({', '.join(parameters)}):\n" + ("\n".join(lines) or " pass"), names)
    method: Callable[..., None] = names["__init__"]
    method.__qualname__, method.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    method.__annotations__ = {field.name: field.type for field in accepted} | {"return": None}
    return method


def parameter(field: AnyField) -> str:
    if field.default is not MISSING:
        return f"{field.name}=default_{field.name}"
    return field.name if field.default_factory is MISSING else f"{field.name}=MISSING_"


def first_value(field: AnyField) -> str:
    """The expression for it; empty where it gets none."""
    made, default = field.default_factory is not MISSING, field.default is not MISSING
    if field.init:
        return f"make_{field.name}() if {field.name} is MISSING_ else {field.name}" if made else field.name
    return f"make_{field.name}()" if made else f"default_{field.name}" if default else ""


def repr_of(names: Sequence[str]) -> Callable[[Any], str]:
    @recursive_repr("...")
    def __repr__(self: Any) -> str:  # noqa: N807
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def comparison(names: Sequence[str]) -> tuple[Callable[[Any, object], bool], Callable[[Any], int]]:
    """`__eq__` and `__hash__`, by the values of these fields."""
    values: Callable[[Any], object] = attrgetter(*names) if len(names) > 1 else partial(few_values, names)

    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        return bool(values(self) == values(other)) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values(self))

    return __eq__, __hash__


def few_values(names: Sequence[str], self: object) -> tuple[object, ...]:
    return tuple(getattr(self, name) for name in names)


def refusals(cls: type[Any], names: set[str]) -> tuple[Callable[[Any, str, object], None], Callable[[Any, str], None]]:
    """`__setattr__` and `__delattr__`; a subclass may have attributes of its own."""

    def __setattr__(self: Any, name: str, value: object) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__


def get_state(self: Any) -> list[object]:
    """For pickle and copy."""
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def set_state(self: Any, state: list[object]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
