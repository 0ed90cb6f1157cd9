"""What each scope lets an agent read, write and do for everybody."""

from __future__ import annotations

from typing import Any

import pytest

from nacre.access.capabilities import Access, AgentCapabilities, ScopeLevel, scope_named
from nacre.errors import AccessDenied, InvalidInput, UnknownName
from tests.samples import memory

OWN_HERE = memory("1", agent="ann", session="s1", space="default")
OWN_ELSEWHERE = memory("2", agent="ann", session="s2", space="default")
FOREIGN_HERE = memory("3", agent="bob", session="s1", space="default")
FOREIGN = memory("4", agent="bob", session="s2", space="default")
ALL = (OWN_HERE, OWN_ELSEWHERE, FOREIGN_HERE, FOREIGN)


def access(scope: ScopeLevel, **limits: Any) -> Access:
    return Access("ann", "s1", "default", AgentCapabilities(scope, **limits))


@pytest.mark.parametrize(
    ("scope", "reads", "writes"),
    [
        (ScopeLevel.SESSION_ONLY, "1", "1"),
        (ScopeLevel.CROSS_SESSION_READ, "12", "1"),
        (ScopeLevel.CROSS_SESSION_WRITE, "12", "12"),
        (ScopeLevel.GLOBAL_READ, "1234", "12"),
        (ScopeLevel.GLOBAL_WRITE, "1234", "1234"),
    ],
)
def test_a_scope_reads_and_writes_these(scope: ScopeLevel, reads: str, writes: str) -> None:
    narrowed = access(scope)
    assert "".join(each.id for each in ALL if narrowed.readable.admits(each)) == reads
    assert "".join(each.id for each in ALL if narrowed.writable.admits(each)) == writes
    assert narrowed.sees_all is narrowed.sees_store is (reads == "1234")
    assert narrowed.unrestricted is (writes == "1234")


@pytest.mark.parametrize("scope", [each for each in ScopeLevel if each is not ScopeLevel.GLOBAL_WRITE])
def test_what_concerns_everybody_is_refused_to_whoever_may_not_write_everything(scope: ScopeLevel) -> None:
    with pytest.raises(AccessDenied, match=rf"'ann' may not sweep.*\({scope}\)"):
        access(scope).demand("sweep")


def test_what_concerns_everybody_is_for_whoever_may_write_everything_everywhere() -> None:
    access(ScopeLevel.GLOBAL_WRITE).demand("sweep")
    for limits in ({"allowed_spaces": ["default"]}, {"allowed_types": ["semantic"]}, {"can_access_patterns": False}):
        with pytest.raises(AccessDenied):
            access(ScopeLevel.GLOBAL_WRITE, **limits).demand("sweep")


@pytest.mark.parametrize(
    ("scope", "limits", "kind", "shown"),
    [
        (ScopeLevel.GLOBAL_READ, {}, "tag/other", True),
        (ScopeLevel.GLOBAL_READ, {"allowed_spaces": ["default"]}, "tag/other", False),
        (ScopeLevel.GLOBAL_READ, {"allowed_spaces": ["default"]}, "tag/default", True),
        (ScopeLevel.GLOBAL_READ, {"allowed_spaces": ["default"]}, "relation", False),
        (ScopeLevel.GLOBAL_READ, {"allowed_types": ["semantic"]}, "tag/default", False),
        (ScopeLevel.CROSS_SESSION_WRITE, {}, "tag/default", False),
        (ScopeLevel.SESSION_ONLY, {}, "type", True),
    ],
)
def test_terms_are_shown_to_whoever_sees_all_that_they_may_come_from(
    scope: ScopeLevel, limits: dict[str, Any], kind: str, shown: bool
) -> None:
    assert access(scope, **limits).sees_terms(kind) is shown


def test_a_space_that_is_not_allowed_is_refused_and_one_that_is_allowed_is_not() -> None:
    assert access(ScopeLevel.GLOBAL_READ, allowed_spaces=["default"]).sees_all
    with pytest.raises(AccessDenied, match="'default'"):
        access(ScopeLevel.GLOBAL_READ, allowed_spaces=["other"])


@pytest.mark.parametrize("scope", list(ScopeLevel))
def test_only_a_scope_that_is_bound_to_a_session_needs_its_name(scope: ScopeLevel) -> None:
    can = AgentCapabilities(scope)
    if scope in (ScopeLevel.SESSION_ONLY, ScopeLevel.CROSS_SESSION_READ):
        with pytest.raises(InvalidInput, match="session"):
            Access("ann", "", "default", can)
    else:
        assert Access("ann", "", "default", can).agent == "ann"


def test_capabilities_belong_to_an_agent_with_a_name() -> None:
    with pytest.raises(InvalidInput, match="agent"):
        Access("", "s1", "default", AgentCapabilities(ScopeLevel.GLOBAL_WRITE))


@pytest.mark.parametrize("limits", [{"max_query_cost": 0}, {"memory_quota_mb": 0}, {"memory_quota_mb": -1}])
def test_a_limit_of_nothing_is_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        AgentCapabilities(ScopeLevel.GLOBAL_WRITE, **limits)
    little: dict[str, Any] = dict.fromkeys(limits, 0.5)
    AgentCapabilities(ScopeLevel.GLOBAL_WRITE, **little)


@pytest.mark.parametrize(
    ("limits", "admitted"),
    [
        ({}, {"plain", "success", "pattern", "learned pattern"}),
        ({"can_access_patterns": False}, {"plain", "success"}),
        ({"allowed_experience_types": ["pattern"]}, {"plain", "pattern", "learned pattern"}),
        ({"allowed_experience_types": ["success"]}, {"plain", "success"}),
        ({"allowed_types": ["episodic"]}, set()),
    ],
)
def test_kinds_that_are_not_allowed_are_neither_read_nor_written(limits: dict[str, Any], admitted: set[str]) -> None:
    held = [
        memory("plain"),
        memory("success", metadata={"experience_type": "success"}),
        memory("pattern", metadata={"experience_type": "pattern"}),
        memory("learned pattern", metadata={"kind": "pattern"}),
    ]
    narrowed = access(ScopeLevel.GLOBAL_WRITE, **limits)
    assert {each.id for each in held if narrowed.readable.admits(each)} == admitted
    assert {each.id for each in held if narrowed.writable.admits(each)} == admitted


def test_a_scope_is_known_by_its_name_and_another_name_is_refused() -> None:
    assert scope_named("global_read") is ScopeLevel.GLOBAL_READ
    with pytest.raises(UnknownName, match="global_reed"):
        scope_named("global_reed")
