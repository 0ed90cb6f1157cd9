"""The searches of ai-lessons: by words, by meaning, by both, or along links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nacre.lessons import Lesson
from nacre.lessons.recall import LessonFilters

from .config import Config, get_config
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
        if (limit is not None and limit < 1) or not query.replace("\0", " ").strip():
            return []
        filters: LessonFilters = {
            "tags": tags or tag_filter or (),
            "contexts": contexts or context_filter or (),
            "confidence_min": confidence_min,
            "source": source or source_filter,
            "include_superseded": True,  # a superseded lesson is included, with a lower rank
        }
        wanted = (config or get_config()).search.default_limit if limit is None else limit
        results = book_of(config).recall(query, limit=wanted, strategy=strategy, **filters).data
        return [SearchResult(**fields_of(each.lesson), score=each.score) for each in results]

    return search


hybrid_search, vector_search = search_by("hybrid"), search_by("semantic")
keyword_search, graph_walk = search_by("keyword"), search_by("graph")


def fields_of(lesson: Lesson) -> dict[str, Any]:
    """The fields that a lesson and a search result share; what is empty is None or a list."""
    texts = {name: getattr(lesson, name) or None for name in ("confidence", "source", "source_notes")}
    lists = {name: list(getattr(lesson, name)) for name in ("tags", "contexts", "anti_contexts")}
    return {"id": lesson.id, "title": lesson.title, "content": lesson.content, **texts, **lists}
