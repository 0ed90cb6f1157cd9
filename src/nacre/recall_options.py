"""What a caller may say to narrow a call, and the filter that it means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypedDict, cast, get_type_hints

from nacre.errors import UnknownName, WrongType
from nacre.model import STATUSES, Condition, ExpandSpec, Filter, HybridWeights, Query, RankFusion
from nacre.model.arguments import check
from nacre.model.instants import Instant, seconds


class Scope(TypedDict, total=False):
    """`tag` and every name in `all_tags` must be there; of `tags`, one suffices. `since` and `until` are of creation.

    `as_of` asks what the store knew at that time, `valid_at` what held then, whatever has replaced it since.
    """

    type: str | Iterable[str] | None
    tag: str | None
    tags: Iterable[str] | None
    all_tags: Iterable[str] | None
    context: str | None
    session: str | None
    agent: str | None
    role: str | None
    source: str | None
    status: str | Iterable[str] | None
    min_importance: float | None
    min_confidence: float | None
    min_trust: float | None
    since: Instant | None
    until: Instant | None
    where: Filter | None
    include_superseded: bool
    include_trashed: bool
    include_expired: bool
    include_archived: bool
    as_of: Instant | None
    valid_at: Instant | None


def filter_of(scope: Scope, *, now: float, types: Iterable[str]) -> Filter:
    for name in scope:
        if name not in Scope.__annotations__:
            raise UnknownName("filter", name, Scope.__annotations__)
    where = scope.get("where")
    if where is not None and not isinstance(where, Filter):
        raise WrongType("where", "a Filter", where)
    statuses = listed("status", scope.get("status"), STATUSES)
    named = Filter.where(
        type__in=listed("memory type", scope.get("type"), types),
        status__in=statuses,
        tags__any=scope.get("tags"),
        contexts=scope.get("context"),
        session=scope.get("session"),
        agent=scope.get("agent"),
        role=scope.get("role"),
        source=scope.get("source"),
        importance__ge=scope.get("min_importance"),
        confidence__ge=scope.get("min_confidence"),
        trust__ge=scope.get("min_trust"),
        created_at__ge=instant(scope.get("since")),
        created_at__le=instant(scope.get("until")),
    )
    for tags in (scope.get("all_tags"), scope.get("tag")):
        if tags:
            named &= Filter.where(tags__all=tags)
    at = scope.get("valid_at")
    held = Filter() if at is None else held_at(seconds(at))
    return visible(scope, now, statuses or ()) & held & named & (scope.get("where") or Filter())


def held_at(at: float) -> Filter:
    """What nobody says began later or ended before."""
    return Filter.where(valid_from__le_or_unset=at, valid_until__gt_or_unset=at)


def visible(scope: Scope, now: float, statuses: Sequence[str]) -> Filter:
    hidden = {
        "trashed": not (scope.get("include_trashed") or "trashed" in statuses),
        "archived": not (scope.get("include_archived") or "archived" in statuses),
        # What is superseded today may be what held then; its own dates say so.
        "superseded_by": not scope.get("include_superseded") and scope.get("valid_at") is None,
        "expires_at": not scope.get("include_expired"),
    }
    shown = (each for each in live(now) if hidden[str(each.value) if each.field == "status" else each.field])
    return Filter(tuple(shown))


def live(now: float) -> tuple[Condition, ...]:
    return Filter.live(now).conditions


def listed(kind: str, given: str | Iterable[str] | None, known: Iterable[str]) -> list[str] | None:
    if given is None:
        return None
    if not isinstance(given, Iterable):
        raise WrongType(kind, "text or a list", given)
    names = [given] if isinstance(given, str) else list(given)
    allowed = list(known)
    for name in names:
        if name not in allowed:
            raise UnknownName(kind, str(name), allowed)
    return names


def instant(given: object) -> float | None:
    return None if given is None else seconds(cast(Instant, given))


class Asking(Scope, total=False):
    """Every word of `Query` by name; `asked_at` is what "yesterday" is measured from, by default now."""

    strategy: str
    asked_at: Instant | None
    group_by: str | None
    with_context: int
    min_relevance: float
    contexts: str | Iterable[str]
    also: Iterable[str]
    emotion: tuple[float, float] | None
    emotion_weight: float
    diversity: float
    per_session: int
    expand: ExpandSpec | None
    weights: HybridWeights | None
    overfetch: int
    recency_basis: str
    fusion: RankFusion | None
    collapse: bool


OWN = frozenset(Asking.__annotations__) - frozenset(Scope.__annotations__)
RENAMED = {"weights": "hybrid"}


@cache
def recall_hints() -> Mapping[str, object]:
    return get_type_hints(Asking)


def parted(asking: Asking) -> tuple[dict[str, Any], Scope]:
    """How to ask, and among what."""
    for name in asking:
        if name not in Asking.__annotations__:
            raise UnknownName("option of recall", name, Asking.__annotations__)
    own: dict[str, Any] = {name: value for name, value in asking.items() if name in OWN and value is not None}
    for name, value in own.items():
        own[name] = list(value) if isinstance(value, Iterator) else value
        check(name, own[name], recall_hints()[name])
    scope = {name: value for name, value in asking.items() if name not in OWN}
    return own, cast(Scope, scope)


def query_of(text: str, k: int, own: dict[str, Any], where: Filter, now: float) -> Query:
    given = {RENAMED.get(name, name): value for name, value in own.items()}
    given["asked_at"] = seconds(given["asked_at"]) if "asked_at" in given else now
    if "also" in given:
        given["also"] = tuple(given["also"])
    if "contexts" in given:
        given["contexts"] = (given["contexts"],) if isinstance(given["contexts"], str) else tuple(given["contexts"])
    return Query(text, k, where, **given)
