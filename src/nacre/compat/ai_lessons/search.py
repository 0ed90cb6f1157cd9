"""Searching as ai-lessons does it: by words, by meaning, by both, or along the ties."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from nacre.lessons import Found
from nacre.lessons.recalling import Narrowing

from .config import Config
from .db import book_of


@dataclass
class SearchResult:
    id: str
    title: str
    content: str
    score: float
    confidence: str | None = None
    source: str | None = None
    source_notes: str | None = None
    tags: list[str] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    anti_contexts: list[str] = field(default_factory=list)


Names = list[str] | None


def by(strategy: str) -> Callable[..., list[SearchResult]]:
    """Narrowed by the names that `recall` has, or by those of the older functions."""

    def search(
        query: str, limit: int | None = None, tag_filter: Names = None, context_filter: Names = None,
        confidence_min: str | None = None, source_filter: str | None = None, config: Config | None = None, *,
        tags: Names = None, contexts: Names = None, source: str | None = None,
    ) -> list[SearchResult]:  # fmt: skip
        if limit is not None and limit < 1:
            return []
        narrowed: Narrowing = {
            "tags": tags or tag_filter or (),
            "contexts": contexts or context_filter or (),
            "confidence_min": confidence_min,
            "source": source or source_filter,
            "include_superseded": True,  # a lesson that was replaced ranks lower, and is found
        }
        return [result(each) for each in book_of(config).recall(query, limit=limit, strategy=strategy, **narrowed).data]

    return search


hybrid_search, vector_search = by("hybrid"), by("semantic")
keyword_search, graph_walk = by("keyword"), by("graph")


def result(found: Found) -> SearchResult:
    own = found.lesson
    return SearchResult(
        own.id, own.title, own.content, found.score, own.confidence, own.source or None, own.source_notes or None,
        list(own.tags), list(own.contexts), list(own.anti_contexts),
    )  # fmt: skip
