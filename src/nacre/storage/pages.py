"""Orders and keyset cursors of `Reader.page`, the same for every backend."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence

from nacre.errors import InvalidInput
from nacre.model import Filter, Memory
from nacre.protocols import Order, Reader

# The fields that sort, then the backend's number of the memory; all of them fall, except in the order "oldest".
ORDERS: Mapping[Order, tuple[str, ...]] = {
    "newest": ("created_at",),
    "oldest": ("created_at",),
    "importance": ("importance", "created_at"),
    "confidence": ("confidence", "created_at"),
    "updated": ("updated_at",),
    "accessed": ("last_accessed",),
}
RISING: Order = "oldest"
LARGEST = 2**63 - 1  # a database takes no greater number
PAGE = 500  # memories that are held at once by a walk over all of them


def make_cursor(order: Order, values: Sequence[float]) -> str:
    """`values` are the last memory's fields of the order, then its number."""
    return base64.urlsafe_b64encode(json.dumps([order, *values]).encode()).decode().rstrip("=")


def read_cursor(cursor: str, order: Order) -> tuple[float, ...] | None:
    """The values that it was made of; None for an empty one. Raises `InvalidInput`."""
    if not cursor:
        return None
    try:
        made_for, *values = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        sound = all(
            isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST for value in values
        )
    except (ValueError, TypeError, RecursionError):
        made_for, values, sound = "", [], False
    if not sound or made_for != order or len(values) != len(ORDERS[order]) + 1:
        raise InvalidInput("This cursor is damaged or belongs to another order; begin again without one.")
    return tuple(values)


def check_page(limit: int | None, offset: int) -> None:
    """Without a limit there is none to check. Raises `InvalidInput`."""
    for name, value in (("limit", limit or 0), ("offset", offset)):
        if not 0 <= value < LARGEST:
            raise InvalidInput(f"The {name} is {value}; give 0 or more{'' if value < 0 else f', below {LARGEST}'}.")


def iterate_pages(reader: Reader, space: str, where: Filter, size: int = PAGE) -> Iterator[Memory]:
    """See `Reader.iterate`."""
    cursor, begun = "", False
    while cursor or not begun:
        page = reader.page(space, where, order=RISING, limit=size, cursor=cursor)
        yield from page.memories
        cursor, begun = page.cursor, True
