"""The faster `dataclass` does what the standard library's does."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from typing import Any, ClassVar

import pytest

from nacre.files import PACKAGE
from nacre.values import dataclass

Decorator = Callable[..., Any]


class Place:
    town: str
    street: str = "High Street"
    numbers: list[int] = field(default_factory=list)
    country: ClassVar[str] = "Estonia"
    secret: str = field(default="", repr=False)
    seen: int = field(default=0, compare=False)
    kind: str = field(default="place", init=False)
    marks: dict[str, int] = field(default_factory=dict, init=False, compare=False)
    width: float = field(default=1.0, kw_only=True)


class Single:
    name: str


class Empty:
    pass


class Checked:
    low: int
    high: int = 9

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low is above high")


class WithOwnMethods:
    """Says so."""

    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.name.casefold() == other.name.casefold()

    def __repr__(self) -> str:
        return f"<{self.name}>"


class WithOwnHash:
    name: str

    def __hash__(self) -> int:
        return 7


CALLS: list[tuple[type, tuple[object, ...], dict[str, object]]] = [
    (Place, ("Tartu",), {}),
    (Place, ("Tartu", "Long Street", [3]), {"width": 2.0, "seen": 4, "secret": "x"}),
    (Single, ("a",), {}),
    (Single, (), {"name": float("nan")}),
    (Empty, (), {}),
    (Checked, (1,), {}),
    (WithOwnMethods, ("Ann",), {}),
    (WithOwnHash, ("b",), {}),
]


def both(cls: type, **options: bool) -> list[Any]:
    """A copy of the class for each decorator, made from the same body."""
    decorators: list[Decorator] = [dataclasses.dataclass, dataclass]
    body = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    own = {name: copy.copy(value) if isinstance(value, dataclasses.Field) else value for name, value in body.items()}
    made = (type(cls.__name__, (), each) for each in (body, own))
    return [decorate(each, frozen=True, slots=True, **options) for decorate, each in zip(decorators, made, strict=True)]


def parameters(cls: type) -> list[tuple[str, object, object, bool]]:
    known = inspect.signature(cls).parameters.values()
    return [(each.name, each.kind, each.annotation, each.default is each.empty) for each in known]


@pytest.mark.parametrize(("cls", "arguments", "named"), CALLS)
def test_values_have_the_same_fields_text_and_copies(
    cls: type, arguments: tuple[object, ...], named: dict[str, object]
) -> None:
    standard, ours = (made(*arguments, **named) for made in both(cls))
    assert repr(ours) == repr(standard)
    assert list(asdict(ours)) == list(asdict(standard))
    assert [getattr(ours, each.name) for each in fields(ours)] == [
        getattr(standard, each.name) for each in fields(ours)
    ]
    assert repr(replace(ours)) == repr(replace(standard))
    assert repr(copy.deepcopy(ours)) == repr(standard)
    assert ours == copy.copy(ours)
    assert type(ours).__match_args__ == type(standard).__match_args__
    assert parameters(type(ours)) == parameters(type(standard))
    assert type(ours).__slots__ == type(standard).__slots__
    assert not hasattr(ours, "__dict__")


@pytest.mark.parametrize(("cls", "arguments", "named"), CALLS)
def test_values_are_equal_and_hashed_by_the_fields_that_are_compared(
    cls: type, arguments: tuple[object, ...], named: dict[str, object]
) -> None:
    standard, ours = both(cls)
    for made in (standard, ours):
        one, other = made(*arguments, **named), made(*arguments, **named)
        assert one == other
        assert one != "a"
        try:
            expected = hash(standard(*arguments, **named)) == hash(standard(*arguments, **named))
        except TypeError:  # a list in a field
            with pytest.raises(TypeError):
                hash(one)
        else:
            assert (hash(one) == hash(other)) == expected
    assert ours(*arguments, **named) != standard(*arguments, **named) or cls is WithOwnMethods


def test_a_field_that_is_not_compared_does_not_matter() -> None:
    _, ours = both(Place)
    assert ours("Tartu", seen=1) == ours("Tartu", seen=2)
    assert ours("Tartu", secret="1") != ours("Tartu", secret="2")
    assert ours("Tartu") != ours("Narva")


def test_without_eq_a_value_is_equal_to_itself_alone() -> None:
    for made in both(Single, eq=False):
        one = made("a")
        assert one == one
        assert one != made("a")
        assert {one: 1}[one] == 1


@pytest.mark.parametrize("arguments", [(), ("a", "b"), (1, 2, 3, 4)])
def test_wrong_arguments_are_refused_as_by_the_library(arguments: tuple[object, ...]) -> None:
    for made in both(Single):
        with pytest.raises(TypeError, match="__init__"):
            made(*arguments)


def test_each_value_gets_its_own_default_list() -> None:
    _, ours = both(Place)
    one, other = ours("Tartu"), ours("Tartu")
    one.numbers.append(1)
    one.marks["a"] = 1
    assert (other.numbers, other.marks) == ([], {})


def test_what_is_checked_after_the_making_is_checked() -> None:
    for made in both(Checked):
        with pytest.raises(ValueError, match="low is above high"):
            made(10)


def test_nothing_can_be_changed_or_deleted() -> None:
    """Of names that are no field, the library of Python 3.11 says something else."""
    value = both(Place)[1]("Tartu")
    for name in ("town", "kind", "other"):
        with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(value, name, "x")
        with pytest.raises(FrozenInstanceError, match=f"cannot delete field '{name}'"):
            delattr(value, name)
    assert value.town == "Tartu"


def test_a_subclass_may_have_attributes_of_its_own_and_not_change_the_fields() -> None:
    value = type("Wider", (both(Single)[1],), {})("a")
    value.more = 1
    assert value.more == 1
    with pytest.raises(FrozenInstanceError):
        value.name = "b"
    del value.more
    assert not hasattr(value, "more")


def test_methods_of_the_class_stay() -> None:
    standard, ours = both(WithOwnMethods)
    assert ours("Ann") == ours("ANN")
    assert repr(ours("Ann")) == "<Ann>"
    assert ours.__doc__ == "Says so."
    assert hash(ours("Ann")) != hash(ours("Bob"))
    assert (standard.__hash__ is None) == (ours.__hash__ is None)
    assert hash(both(WithOwnHash)[1]("a")) == 7


def test_a_text_that_contains_itself_ends() -> None:
    for made in both(Place):
        numbers: list[Any] = []
        value = made("Tartu", "", numbers)
        numbers.append(value)
        assert "numbers=[...]" in repr(value)


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 0


@dataclass(frozen=True, slots=True)
class Point3(Point):
    z: int = 0


@dataclass(slots=True)
class Counter:
    count: int = 0


def test_values_survive_pickle_and_copy() -> None:
    assert pickle.loads(pickle.dumps(Point(1, 2))) == Point(1, 2)
    assert copy.deepcopy([Point(1)]) == [Point(1)]


def test_a_dataclass_may_inherit_from_one() -> None:
    value = Point3(1, 2, 3)
    assert repr(value) == "Point3(x=1, y=2, z=3)"
    assert value == pickle.loads(pickle.dumps(value))
    with pytest.raises(FrozenInstanceError):
        value.x = 5  # type: ignore[misc]


def test_other_kinds_are_made_by_the_library() -> None:
    counter = Counter()
    counter.count += 1
    assert counter == Counter(1)
    with pytest.raises(ValueError, match="mutable default"):

        @dataclass(frozen=True, slots=True)
        class Wrong:
            names: list[str] = []  # noqa: RUF012


def test_the_package_has_no_frozen_dataclass_of_the_library() -> None:
    """They would be made slowly at every start."""
    slow = [
        str(path)
        for path in sorted(PACKAGE.rglob("*.py"))
        if "@dataclass(frozen=True, slots=True" in (text := path.read_text(encoding="utf-8"))
        and "from nacre.values import dataclass" not in text
    ]
    assert slow == []
