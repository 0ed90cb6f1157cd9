"""Pages and their cursors, which stay right while others write."""

from __future__ import annotations

import base64
import json
import typing

import pytest

from nacre.errors import InvalidInput
from nacre.model import Filter, Memory
from nacre.protocols import ALL, Backend, Order, Reader
from tests.samples import SPACE, derived, ids, listed, memory, put, removed, written

ORDERS: tuple[Order, ...] = typing.get_args(Order)


def walked(store: Reader, order: Order, limit: int, where: Filter = ALL) -> list[list[str]]:
    pages, cursor = [], ""
    while True:
        page = store.page(SPACE, where, order=order, limit=limit, cursor=cursor)
        pages.append(ids(page.memories))
        if not page.cursor:
            return pages
        cursor = page.cursor


@pytest.fixture
def filled(store: Backend) -> Backend:
    put(store, *(varied(i) for i in range(23)))
    return store


def varied(i: int) -> Memory:
    """Many are equal in what sorts them, so that the number of the memory must decide."""
    return memory(
        f"m{i:02}", created_at=float(i // 3), importance=(i % 4) / 4, confidence=(i % 2) / 2, updated_at=float(i % 5),
        last_accessed=1e9 + i % 3 / 3, tags=("odd",) if i % 2 else (),
    )  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
def test_cursors_lead_through_all_memories_in_order(filled: Backend, order: Order) -> None:
    expected = ids(listed(filled, SPACE, order=order))
    assert len(set(expected)) == 23
    for limit in (1, 5, 22, 23, 24):
        pages = walked(filled, order, limit)
        assert [id for page in pages for id in page] == expected
        assert all(len(page) == limit for page in pages[:-1])
    odd = [id for page in walked(filled, order, 4, Filter.where(tags="odd")) for id in page]
    assert odd == [id for id in expected if int(id[1:]) % 2]


def test_the_last_page_has_no_cursor_and_an_empty_store_one_page(store: Backend) -> None:
    assert walked(store, "newest", 5) == [[]]
    put(store, memory("a"), memory("b"))
    assert walked(store, "newest", 2) == [["b", "a"]]
    assert store.page(SPACE, ALL, limit=0).cursor == ""


@pytest.mark.parametrize("order", ["newest", "oldest", "importance", "confidence"])
def test_a_walk_meets_each_memory_once_while_others_write(filled: Backend, order: Order) -> None:
    expected = ids(listed(filled, SPACE, order=order))
    first = filled.page(SPACE, ALL, order=order, limit=9)
    removed(filled, expected[2], expected[12])
    written(filled, *(memory(f"new{i}", created_at=3.0, importance=0.25) for i in range(5)))
    written(filled, varied(int(expected[0][1:])), varied(int(expected[8][1:])))
    rest, cursor = [], first.cursor
    while cursor:
        page = filled.page(SPACE, ALL, order=order, limit=4, cursor=cursor)
        rest += ids(page.memories)
        cursor = page.cursor
    assert ids(first.memories) == expected[:9]
    assert [id for id in rest if not id.startswith("new")] == [id for id in expected[9:] if id != expected[12]]
    assert len(rest) == len(set(rest))


def test_cursors_lead_through_an_earlier_state_as_well(filled: Backend) -> None:
    seq = written(filled, varied(0))
    expected = walked(filled, "importance", 4)
    written(filled, *(memory(f"m{i:02}", importance=1.0) for i in range(23)), memory("late"))
    assert walked(filled.at(SPACE, seq), "importance", 4) == expected


def test_an_offset_counts_from_the_cursor(filled: Backend) -> None:
    expected = ids(listed(filled, SPACE))
    first = filled.page(SPACE, ALL, limit=5)
    assert ids(filled.page(SPACE, ALL, limit=3, cursor=first.cursor, offset=2).memories) == expected[7:10]
    assert filled.page(SPACE, ALL, limit=3, offset=99).memories == []


def test_negative_limits_and_offsets_are_refused(filled: Backend) -> None:
    with pytest.raises(InvalidInput, match="offset is -5"):
        filled.page(SPACE, ALL, limit=5, offset=-5)
    with pytest.raises(InvalidInput, match="limit is -1"):
        filled.page(SPACE, ALL, limit=-1)


def as_cursor(*values: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode()


@pytest.mark.parametrize(
    "damaged",
    ["x", "é", "====", "!!", as_cursor(), as_cursor("newest"), as_cursor("newest", 1, 2, 3), as_cursor("oldest", 1, 2),
     as_cursor("newest", "1", 2), as_cursor("newest", None, 2), as_cursor("newest", True, 2), "bnVsbA", "NA", "e30"],
)  # fmt: skip
def test_a_damaged_cursor_is_refused(filled: Backend, damaged: str) -> None:
    with pytest.raises(InvalidInput, match="cursor is damaged"):
        filled.page(SPACE, ALL, limit=5, cursor=damaged)


def test_a_cursor_of_another_order_is_refused(filled: Backend) -> None:
    cursor = filled.page(SPACE, ALL, order="importance", limit=5).cursor
    with pytest.raises(InvalidInput, match="another order"):
        filled.page(SPACE, ALL, order="confidence", limit=5, cursor=cursor)


def test_a_filter_holds_with_forty_thousand_names(store: Backend) -> None:
    put(store, *((memory(f"m{i}", tags=(f"t{i}.sub",)), derived("x")) for i in range(4)))
    many = tuple(f"t{i}.sub" for i in range(2, 40_000))
    assert sorted(ids(listed(store, SPACE, Filter.where(tags__any=many)))) == ["m2", "m3"]
    assert sorted(ids(listed(store, SPACE, Filter.where(tags__none=many)))) == ["m0", "m1"]
    assert sorted(ids(listed(store, SPACE, Filter.where(tags__under=tuple(f"t{i}" for i in range(1, 300)))))) == [
        "m1", "m2", "m3",
    ]  # fmt: skip
