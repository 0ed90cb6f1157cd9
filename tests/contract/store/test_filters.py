"""A filter admits in every backend what it admits by its definition: each kind of field with each comparison."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from nacre.model import Filter, Link, Memory
from nacre.model.filter import DOTTED, LIST_OPS, METADATA_OPS, ORDER_OPS, SCALAR_OPS, SEVERAL_OPS, Condition
from nacre.protocols import Backend
from tests.samples import SPACE, memory, written

KINDS = (5, 5.0, 5.5, True, "5", "true", None, [5], 0, 2**53 + 1)  # of what a key of the metadata holds
MEMORIES = (
    *(memory(f"kind{number}", metadata={"n": value}) for number, value in enumerate(KINDS)),
    memory("dots", agent="api.jira", tags=("api.jira", "x"), contexts=("team.shared.branch",), position=3),
    memory("above", agent="api", tags=("api", "y"), contexts=("team",), position=4, polarity=-1, pinned=True),
    memory("other", agent="apis", tags=("apis",), entities=("Ada", "Bob"), importance=0.9, valid_until=50.0),
    memory("linked", links=(Link("dots", "cites"), Link("above")), expires_at=100.0, source="50%_off's"),
    memory("plain", valid_until=100.0, access_count=7, superseded_by="other"),
)
FIELDS: dict[str, tuple[tuple[str, ...], tuple[Any, ...]]] = {
    "metadata.n": (METADATA_OPS, (5, 5.5, True, "5", "true", 2**53)),
    "agent": (SCALAR_OPS, ("api", "api.jira", "")),
    "source": (("contains", "eq"), ("%", "_", "'s", "50%_off's")),
    "superseded_by": (("eq", "ne", "in", "unset"), ("other", "")),
    "position": (("eq", "ne", "in", "not_in", "unset", *ORDER_OPS), (3, 3.5, 4)),
    "polarity": (("eq", "ne", *ORDER_OPS), (-1, 1)),
    "pinned": (("eq", "ne", "in"), (True, False)),
    "importance": (("eq", *ORDER_OPS), (0.5, 0.9)),
    "valid_until": (("unset", *ORDER_OPS), (50.0, 100)),
    "expires_at": (("gt_or_unset", "le_or_unset", "unset"), (100.0, 99.5)),
    "access_count": (("eq", *ORDER_OPS), (0, 7)),
    "tags": (LIST_OPS, ("api", "api.jira", "x")),
    "contexts": (LIST_OPS, ("team.shared", "team.shared.branch")),
    "entities": (("any", "all", "none", "unset"), ("Ada", "Bob", 5)),
    "links.to": (("any", "none", "unset"), ("dots", "above")),
    "links.rel": (("any", "all", "none"), ("cites", "relates_to")),
}


def conditions(field: str) -> list[Condition]:
    """Each comparison with each value, and with two of them where it takes several."""
    ops, wanted = FIELDS[field]
    made = []
    for op, value in product(ops, wanted):
        if op == "unset":
            made += [Condition(field, op, each) for each in (True, False)]
        elif op in SEVERAL_OPS:
            made += [Condition(field, op, (value,)), Condition(field, op, (value, wanted[0]))]
        elif op not in DOTTED:
            made.append(Condition(field, op, value))
    return list(dict.fromkeys(made))


def names(store: Backend, where: Filter) -> set[str]:
    return {id for (id,) in store.values(SPACE, where, ("id",))}


def admitted(where: Filter, memories: tuple[Memory, ...]) -> set[str]:
    return {each.id for each in memories if where.admits(each)}


@pytest.fixture
def filled(store: Backend) -> Backend:
    written(store, *MEMORIES)
    return store


def test_one_condition_admits_the_same_in_every_store(filled: Backend) -> None:
    for condition in (each for field in FIELDS for each in conditions(field)):
        where = Filter((condition,))
        assert names(filled, where) == admitted(where, MEMORIES), condition
        assert filled.count(SPACE, where) == len(admitted(where, MEMORIES)), condition


def test_several_conditions_admit_what_each_of_them_admits(filled: Backend) -> None:
    first = [Condition("agent", "under", ("api",)), Condition("metadata.n", "ne", 5), Condition("tags", "none", ("x",))]
    second = [Condition("position", "gt", 3), Condition("valid_until", "gt_or_unset", 60.0)]
    for pair in product(first, second):
        where = Filter(pair)
        assert names(filled, where) == admitted(where, MEMORIES), pair
        assert filled.count(SPACE, where) == len(admitted(where, MEMORIES))


def test_what_a_certain_memory_superseded_is_counted_and_not_only_that_something_did(store: Backend) -> None:
    written(store, *(memory(id, superseded_by=successor) for id, successor in (("a", ""), ("b", "a"), ("c", "d"))))
    for where, counted in (
        (Filter.where(superseded_by="a"), 1), (Filter.where(superseded_by__ne="a"), 2),
        (Filter.where(superseded_by=""), 1), (Filter.where(superseded_by__ne=""), 2),
    ):  # fmt: skip
        assert store.count(SPACE, where) == counted == sum(store.tally(SPACE, "status", where).values())
