"""Reads the data in a pickle without running anything in it: a class is only a name here, and is never looked up."""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nacre.errors import InvalidInput

LARGEST = 64_000_000  # bytes of one pickle
NODES_A_BYTE = 10  # of what it unfolds to; plain data has fewer than one, and a reference to a small object a few
MARK = object()
PLAIN = frozenset(
    "INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT BINUNICODE SHORT_BINUNICODE BINUNICODE8 UNICODE"
    " BINBYTES SHORT_BINBYTES BINBYTES8 BINSTRING SHORT_BINSTRING STRING".split()
)
CONSTANTS: dict[str, object] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
EMPTY: dict[str, Callable[[], object]] = {
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_SET": list,
}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
IGNORED = frozenset(("PROTO", "FRAME", "STOP"))


@dataclass(slots=True)
class Thing:
    """What would be an object: the name of its class, and its state."""

    name: object
    state: object = None


def read(data: bytes) -> object:
    """Raises `InvalidInput` for what is not a pickle of plain data and objects."""
    if len(data) > LARGEST:
        raise InvalidInput("it is too large.")
    machine = Machine()
    try:
        for opcode, argument, _ in pickletools.genops(data):
            machine.step(opcode.name, argument)
        result = machine.stack[-1]
        require_few_nodes(result, NODES_A_BYTE * len(data))
        return result
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise InvalidInput(f"its data cannot be read ({error}).") from None


def require_few_nodes(value: object, most: int) -> None:
    """Counts a value as often as it is referred to: whoever walks it meets it that often. Raises `ValueError`."""
    waiting, count = [value], 0
    while waiting:
        each = waiting.pop()
        count += 1
        if count > most:
            raise ValueError("it unfolds to too much")
        if isinstance(each, dict):
            waiting += [*each, *each.values()]
        elif isinstance(each, list | tuple):
            waiting += each
        elif isinstance(each, Thing):
            waiting += (each.name, each.state)


class Machine:
    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def step(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in PLAIN:
            stack.append(argument)
        elif name in CONSTANTS:
            stack.append(CONSTANTS[name])
        elif name in EMPTY:
            stack.append(EMPTY[name]())
        elif name in TUPLES:
            stack.append(tuple(self.take(TUPLES[name])))
        elif name == "MARK":
            stack.append(MARK)
        elif name == "MEMOIZE":
            self.memo[len(self.memo)] = stack[-1]
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            self.memo[int(argument)] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(self.known(int(argument)))
        elif name not in IGNORED:
            self.compose(name, argument)

    def known(self, number: int) -> Any:
        value = self.memo[number]
        if isinstance(value, list | dict | tuple) and value:
            raise ValueError("one value is in it twice")  # a small pickle could unfold to a giant
        return value

    def compose(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in ("DICT", "LIST", "TUPLE", "FROZENSET"):
            items = self.since_mark()
            stack.append(dict(zip(items[::2], items[1::2], strict=True)) if name == "DICT" else items)
        elif name == "SETITEMS":
            items = self.since_mark()
            stack[-1].update(zip(items[::2], items[1::2], strict=True))
        elif name == "SETITEM":
            key, value = self.take(2)
            stack[-1][key] = value
        elif name in ("APPENDS", "ADDITEMS", "APPEND"):
            items = self.take(1) if name == "APPEND" else self.since_mark()
            stack[-1].extend(items)
        else:
            self.make(name, argument)

    def make(self, name: str, argument: Any) -> None:
        """What would be an object."""
        stack = self.stack
        if name == "GLOBAL":
            stack.append(Thing(argument))
        elif name == "STACK_GLOBAL":
            stack.append(Thing(tuple(self.take(2))))
        elif name in ("NEWOBJ", "REDUCE"):
            made, _arguments = self.take(2)
            stack.append(Thing(made))
        elif name == "BUILD":
            [state] = self.take(1)
            stack[-1].state = state
        else:
            raise ValueError(f"{name} is not read")

    def take(self, count: int) -> list[Any]:
        taken = self.stack[-count:]
        if len(taken) < count:
            raise ValueError("it ends too early")
        del self.stack[-count:]
        return taken

    def since_mark(self) -> list[Any]:
        items = []
        while (item := self.stack.pop()) is not MARK:
            items.append(item)
        return items[::-1]
