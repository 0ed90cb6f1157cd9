"""Which parts of a lesson a list shows, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from nacre.cli.ui.columns import ROOMY, short
from nacre.cli.ui.output import Column, shortened
from nacre.cli.ui.times import age
from nacre.lessons.lesson import AGENT_TAG, Found, Lesson
from nacre.model.instants import iso

T = TypeVar("T")

LONGEST_SHOWN = 200  # of a content, below its title in a table; `nacre lesson show` has all of it


def lesson_columns(of: Callable[[T], Lesson], now: float) -> list[Column[T]]:
    return [
        Column("id", lambda item: of(item).id, lambda item: short(of(item).id), style="cyan"),
        Column("confidence", lambda item: of(item).confidence, lambda item: of(item).confidence, style="magenta"),
        Column("source", lambda item: of(item).source, lambda item: of(item).source, least_width=ROOMY),
        Column("updated", lambda item: iso(of(item).updated_at), lambda item: age(of(item).updated_at, now)),
        Column("tags", lambda item: ",".join(of(item).tags), lambda item: " ".join(of(item).tags), least_width=ROOMY),
        Column("title", lambda item: of(item).title, lambda item: headed(of(item)), wide=True, wraps=True),
        Column("content", lambda item: of(item).content),
    ]


def found_columns(now: float, *, why: bool) -> list[Column[Found]]:
    id, *others, title, content = lesson_columns(lesson_of, now)
    score: Column[Found] = Column(
        "score", lambda each: f"{each.score:.4f}", lambda each: f"{each.score:.3f}", right=True
    )
    if not why:
        return [id, score, *others, title, content]
    explained: Column[Found] = Column("title", title.exact, because, wide=True, wraps=True)
    reasons: Column[Found] = Column("why", lambda each: "; ".join(map(str, each.why)))
    return [id, score, *others, explained, content, reasons]


def lesson_of(each: Found) -> Lesson:
    return each.lesson


def headed(lesson: Lesson) -> str:
    mark = " (archived)" if lesson.archived else " (superseded)" if lesson.superseded_by else ""
    return f"{lesson.title}{mark}\n{shortened(lesson.content, LONGEST_SHOWN)}"


def because(each: Found) -> str:
    return "\n".join([headed(each.lesson), *(f"  {reason}" for reason in each.why)])


def named(lesson: Lesson) -> str:
    """In a sentence."""
    return f"{short(lesson.id)} ({shortened(lesson.title)})"


def own_tags(lesson: Lesson) -> tuple[str, ...]:
    """Without the one that says who wrote it."""
    return tuple(tag for tag in lesson.tags if not tag.startswith(AGENT_TAG))
