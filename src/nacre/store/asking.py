"""What a caller may say to shape a recall, besides narrowing it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from nacre.errors import UnknownName
from nacre.model import ExpandSpec, Filter, HybridWeights, Query, RankFusion
from nacre.model.instants import Instant, seconds
from nacre.store.scope import Scope


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


def parted(asking: Asking) -> tuple[dict[str, Any], Scope]:
    """How to ask, and among what."""
    for name in asking:
        if name not in Asking.__annotations__:
            raise UnknownName("option of recall", name, Asking.__annotations__)
    own = {name: value for name, value in asking.items() if name in OWN and value is not None}
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
