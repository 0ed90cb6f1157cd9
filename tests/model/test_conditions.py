"""Conditions made by hand are checked as those of `Filter.where` are."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.access.capabilities import AgentCapabilities, ScopeLevel
from nacre.errors import InvalidInput, NacreError
from nacre.model import Condition, Filter
from nacre.settings import Settings
from nacre.storage.sqlite.search import said

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
        said(forged)


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
