"""The searches of ai-lessons: by words, by meaning, by both, or along links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from nacre.lessons import LessonHit
from nacre.lessons.recall import LessonFilters

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


def search_by(strategy: str) -> Callable[..., list[SearchResult]]:
    """Filters have the names of `recall`, or those of the older functions."""

    def search(
        query: str, limit: int | None = None, tag_filter: Names = None, context_filter: Names = None,
        confidence_min: str | None = None, source_filter: str | None = None, config: Config | None = None, *,
        tags: Names = None, contexts: Names = None, source: str | None = None,
    ) -> list[SearchResult]:  # fmt: skip
        if limit is not None and limit < 1:
            return []
        filters: LessonFilters = {
            "tags": tags or tag_filter or (),
            "contexts": contexts or context_filter or (),
            "confidence_min": confidence_min,
            "source": source or source_filter,
            "include_superseded": True,  # a superseded lesson is included, with a lower rank
        }
        results = book_of(config).recall(query, limit=limit, strategy=strategy, **filters).data
        return [search_result(each) for each in results]

    return search


hybrid_search, vector_search = search_by("hybrid"), search_by("semantic")
keyword_search, graph_walk = search_by("keyword"), search_by("graph")


def search_result(result: LessonHit) -> SearchResult:
    lesson = result.lesson
    return SearchResult(
        lesson.id, lesson.title, lesson.content, result.score, lesson.confidence, lesson.source or None,
        lesson.source_notes or None, list(lesson.tags), list(lesson.contexts), list(lesson.anti_contexts),
    )  # fmt: skip
