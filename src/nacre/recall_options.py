"""The keyword options of lists and recalls, and the filter or query that they mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypedDict, cast, get_type_hints

from nacre.errors import InvalidInput, UnknownName, WrongType
from nacre.model import STATUSES, ExpandSpec, Filter, HybridWeights, Query, RankFusion
from nacre.model.instants import DAY, Instant, is_day
from nacre.model.memory import ARCHIVED, TRASHED
from nacre.model.validate import check
from nacre.text.dates import moment

CLOCKS_DIFFER = 60.0  # seconds; who asks a server for what is known now may have a clock that is ahead


class Scope(TypedDict, total=False):
    """`tag` and every name in `all_tags` is required; of `tags`, one suffices. `entity` is who or what is mentioned, by
    any of its names, in any spelling. `since` and `until` are of creation.

    `as_of` reads what the store knew at that time, `valid_at` what held then, whatever replaced it since. A time may be
    a date, which is its whole day (UTC), or words ("last week"): `since` means its start, `until` and `as_of` its end,
    `valid_at` its middle. An `as_of` that is still to come is refused, and so is a `since` later than `until`.
    """

    type: str | Iterable[str] | None
    tag: str | None
    tags: Iterable[str] | None
    all_tags: Iterable[str] | None
    context: str | None
    entity: str | None
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


class TimeAsked(NamedTuple):
    """`now` is what "yesterday", ages and expiry count from, `known_at` the time whose knowledge is asked for."""

    now: float
    known_at: float


def time_asked(as_of: Instant | None, now: float) -> TimeAsked:
    """Raises `InvalidInput` for what nobody knows yet."""
    if as_of is None:
        return TimeAsked(now, now)
    # Today's date may be tomorrow's in UTC, and the other way round.
    if moment(as_of, now) > now + (DAY if is_day(as_of) else CLOCKS_DIFFER):
        raise InvalidInput(f"{as_of!r} is still to come; ask for what was known at an earlier time.")
    known_at = moment(as_of, now, "end")
    return TimeAsked(min(now, known_at), known_at)  # a day that is named may not have ended yet


def make_filter(scope: Scope, *, now: float, types: Iterable[str], spellings: Sequence[str] = ()) -> Filter:
    """`spellings` are those in which memories name the entity of the scope."""
    for name in scope:
        if name not in Scope.__annotations__:
            raise UnknownName("filter", name, Scope.__annotations__)
    where = scope.get("where")
    if where is not None and not isinstance(where, Filter):
        raise WrongType("where", "a Filter", where)
    start, end = between(scope.get("since"), scope.get("until"), now)
    statuses = known_names("status", scope.get("status"), STATUSES)
    named = Filter.where(
        type__in=known_names("memory type", scope.get("type"), types),
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
        created_at__ge=start,
        created_at__le=end,
    )
    for tags in (scope.get("all_tags"), scope.get("tag")):
        if tags:
            named &= Filter.where(tags__all=tags)
    if (entity := entity_asked(scope)) is not None:
        named &= Filter.where(entities__any=tuple(spellings) or (entity,))  # nobody is spelled so: nothing matches
    at = scope.get("valid_at")
    held = Filter() if at is None else valid_at_filter(at, now)
    return visible(scope, now, statuses or ()) & held & named & (scope.get("where") or Filter())


def entity_asked(scope: Scope) -> str | None:
    """Raises `WrongType`."""
    entity = scope.get("entity")
    if entity is not None and not isinstance(entity, str):
        raise WrongType("entity", "text", entity)
    return entity


def valid_at_filter(valid_at: Instant, now: float) -> Filter:
    """What did not begin later or end before, as far as is known."""
    at = moment(valid_at, now, "middle")
    return Filter.where(valid_from__le_or_unset=at, valid_until__gt_or_unset=at)


def visible(scope: Scope, now: float, statuses: Sequence[str]) -> Filter:
    hidden = {
        TRASHED: not (scope.get("include_trashed") or TRASHED in statuses),
        ARCHIVED: not (scope.get("include_archived") or ARCHIVED in statuses),
        # What is superseded today may be what held then; its own dates say so.
        "superseded_by": not scope.get("include_superseded") and scope.get("valid_at") is None,
        "expires_at": not scope.get("include_expired"),
    }
    live = Filter.live(now).conditions
    return Filter(tuple(each for each in live if hidden[str(each.value) if each.field == "status" else each.field]))


def known_names(kind: str, value: str | Iterable[str] | None, known: Iterable[str]) -> list[str] | None:
    """Raises `UnknownName` and `WrongType`."""
    if value is None:
        return None
    if not isinstance(value, Iterable):
        raise WrongType(kind, "text or a list", value)
    names = [value] if isinstance(value, str) else list(value)
    allowed = list(known)
    for name in names:
        UnknownName.check(kind, name, allowed)
    return names


def between(since: Instant | None, until: Instant | None, now: float) -> tuple[float | None, float | None]:
    """Raises `InvalidInput`, also where nothing can lie between the two."""
    start = None if since is None else moment(since, now)
    end = None if until is None else moment(until, now, "end")
    if start is not None and end is not None and start > end:
        raise InvalidInput("since is later than until, so nothing can match; swap them.")
    return start, end


class RecallOptions(Scope, total=False):
    """How a recall ranks, beside what `Scope` admits to it. `asked_at` is what "yesterday" is measured from, by default
    now.

    An option that the strategy does not use is ignored: `weights` and `overfetch` count only with `strategy="hybrid"`,
    `fusion` only with `rrf`, `recency_basis` only with `auto` and `hybrid`. With `group_by="session"` neither
    `strategy`, `rerank`, `expand`, `emotion` nor `collapse` counts.
    """

    strategy: str
    asked_at: Instant | None
    group_by: str | None
    with_context: int
    min_relevance: float | None
    contexts: str | Iterable[str]
    also: Iterable[str]
    emotion: tuple[float, float] | None
    emotion_weight: float
    expand: ExpandSpec | None
    weights: HybridWeights | None
    overfetch: int
    recency_basis: str
    fusion: RankFusion | None
    collapse: bool


RANKING = frozenset(RecallOptions.__annotations__) - frozenset(Scope.__annotations__)


@cache
def recall_hints() -> Mapping[str, object]:
    return get_type_hints(RecallOptions)


def split_options(options: RecallOptions) -> tuple[dict[str, Any], Scope]:
    """The options of the ranking, checked, and those of the filter."""
    for name in options:
        if name not in RecallOptions.__annotations__:
            raise UnknownName("option of recall", name, RecallOptions.__annotations__)
    ranking: dict[str, Any] = {name: value for name, value in options.items() if name in RANKING and value is not None}
    for name, value in ranking.items():
        ranking[name] = list(value) if isinstance(value, Iterator) else value
        check(name, ranking[name], recall_hints()[name])
    return ranking, cast(Scope, {name: value for name, value in options.items() if name not in RANKING})


def make_query(text: str, k: int, ranking: dict[str, Any], where: Filter, now: float) -> Query:
    fields = dict(ranking)
    fields["asked_at"] = moment(fields["asked_at"], now, "middle") if "asked_at" in fields else now
    if "also" in fields:
        fields["also"] = tuple(fields["also"])
    if "contexts" in fields:
        contexts = fields["contexts"]
        fields["contexts"] = (contexts,) if isinstance(contexts, str) else tuple(contexts)
    return Query(text, k, where, **fields)
