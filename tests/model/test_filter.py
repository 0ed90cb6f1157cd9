"""Filters as callers write them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from nacre import MemoryStore
from nacre.access.capabilities import AgentCapabilities, ScopeLevel
from nacre.errors import InvalidInput, NacreError, UnknownName
from nacre.model import Condition, Filter
from nacre.settings import Settings
from nacre.storage.sqlite.rows import Clause, State, condition_sql
from tests.samples import memory


def test_a_name_alone_means_equal_and_for_a_list_any() -> None:
    assert Filter.where(type="episodic", tags="a").conditions == (
        Condition("type", "eq", "episodic"),
        Condition("tags", "any", ("a",)),
    )


def test_none_leaves_a_field_free() -> None:
    assert Filter.where(type=None, importance__ge=None) == Filter()


def test_metadata_keys_may_hold_underscores_and_be_named_like_an_operator() -> None:
    assert Filter.where(metadata__a__b=1).conditions == (Condition("metadata.a__b", "eq", 1),)
    assert Filter.where(metadata__a__in=[1, 2]).conditions == (Condition("metadata.a", "in", (1, 2)),)
    assert Filter.where(metadata__in=1).conditions == (Condition("metadata.in", "eq", 1),)


@pytest.mark.parametrize(
    "wanted",
    [
        {"typ": "x"}, {"type__like": "x"}, {"tags__gt": "x"}, {"metadata": 1}, {"metadata__a__gt": 1},
        {"metadata__a'b": 1}, {'metadata__a"': 1}, {"metadata__a.b": 1}, {"metadata__": 1}, {"links": "x"},
        {"importance__contains": "x"}, {"importance__ge": "x"}, {"type__gt": 5}, {"type": object()},
        {"importance": float("nan")}, {"importance__le": float("inf")}, {"importance__lt": 2**64},
        {"type__in": [["x"]]}, {"tags__unset": "yes"}, {"title__unset": 1},
    ],
)  # fmt: skip
def test_a_condition_that_means_nothing_is_refused_in_one_sentence(wanted: dict[str, object]) -> None:
    with pytest.raises(InvalidInput) as caught:
        Filter.where(**wanted)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("make", [lambda: Condition(cast("str", 5), "eq", "x"), lambda: Filter.where(type=object())])
def test_a_condition_of_a_wrong_type_says_what_to_do(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput, match=r"; (give its name|convert it)"):
        make()


def test_a_misspelled_field_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="'importance'"):
        Filter.where(importence__ge=0.5)


def test_live_hides_the_trashed_the_superseded_and_the_expired() -> None:
    live = Filter.live(now=100.0)
    assert live.admits(memory())
    assert live.admits(memory(expires_at=100.5))
    assert not live.admits(memory(expires_at=100.0))
    assert not live.admits(memory(status="trashed"))
    assert not live.admits(memory(superseded_by="x"))


def test_an_unset_field_passes_ne_and_not_in_but_no_order() -> None:
    unset = memory()
    assert Filter.where(valence__ne=0.5).admits(unset)
    assert Filter.where(valence__not_in=[0.5]).admits(unset)
    assert not Filter.where(valence__lt=0.5).admits(unset)
    assert Filter.where(valence__unset=True).admits(unset)
    assert Filter.where(expires_at__gt_or_unset=5.0).admits(unset)


def test_filters_add_up() -> None:
    both = Filter.where(type="semantic") & Filter.where(tags="a")
    assert both.admits(memory(tags=("a",)))
    assert not both.admits(memory())
    assert not both.admits(memory(type="episodic", tags=("a",)))


HOSTILE = (
    "type IS NOT NULL OR 1 OR memory.type", "id) OR (1=1", "space", "*", "", "type--", 'metadata.a"\') OR 1 --',
    "metadata.", "metadata", "rowid", "memory.id", "__class__", "links", "type ", "TYPE; DROP TABLE memory",
)  # fmt: skip


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "space"])
def test_a_condition_on_no_known_field_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        Condition(name, "eq", "x")


@pytest.mark.parametrize(
    ("field", "op", "value"),
    [
        ("type", "= '' OR 1 --", "x"), ("type", "like", "x"), ("tags", "eq", "x"), ("metadata.a", "gt", 1),
        ("type", "eq", ("a", "b")), ("type", "in", (["x"],)), ("importance", "ge", "x"), ("position", "eq", 2**63),
        ("tags", "unset", "yes"), (None, "eq", "x"), (["type"], "eq", "x"), ("type", None, "x"), ("type", ["eq"], "x"),
        ("type", "eq", object()), ("type", "eq", {"a": 1}), ("importance", "ge", float("nan")),
    ],
)  # fmt: skip
def test_a_condition_made_by_hand_that_means_nothing_is_refused(field: str, op: str, value: str) -> None:
    with pytest.raises(InvalidInput):
        Condition(field, op, value)


@pytest.mark.parametrize("conditions", [[Condition("type", "eq", "x")], ("type",), None, (object(),)])
def test_a_filter_holds_conditions_and_nothing_else(conditions: tuple[Condition, ...]) -> None:
    with pytest.raises(InvalidInput):
        Filter(conditions)


def test_the_field_is_checked_once_more_before_it_becomes_sql() -> None:
    forged = Condition("type", "eq", "x")
    object.__setattr__(forged, "field", "type IS NOT NULL OR memory.type")
    with pytest.raises(InvalidInput):
        condition_sql(State(1), forged, Clause(State(1)))


def test_a_session_only_agent_cannot_list_what_others_remember_by_a_forged_condition(tmp_path: Path) -> None:
    file, settings = tmp_path / "shared.db", Settings(embedder="hashing")
    with MemoryStore(file, settings=settings) as store:
        store.remember("Bob earns 90,000 a year.", agent="bob", session="theirs")
    only_its_session = AgentCapabilities(ScopeLevel.SESSION_ONLY)
    with MemoryStore(
        file, settings=settings, agent="mallory", session="mine", capabilities=only_its_session
    ) as narrowed:  # fmt: skip
        for name in HOSTILE:
            forged = Condition("type", "eq", "x")
            object.__setattr__(forged, "field", name)
            try:
                found = narrowed.list_recent(where=Filter((forged,)))
            except NacreError:
                continue
            assert found == [], name


@pytest.mark.parametrize("field", ["importance", "expires_at", "text"])
@pytest.mark.parametrize("op", ["lt", "le", "gt", "ge", "gt_or_unset", "le_or_unset"])
def test_an_order_needs_a_value(field: str, op: str) -> None:
    with pytest.raises(InvalidInput, match="give a value, or use unset"):
        Condition(field, op, None)
