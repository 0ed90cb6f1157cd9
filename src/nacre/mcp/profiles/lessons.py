"""The ten tools of a lesson book: knowledge with contexts, confidence and a source; every answer in one envelope."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nacre.errors import MemoryNotFound
from nacre.mcp.records import suspicion
from nacre.mcp.tool import ToolSession, read_profile
from nacre.model.memory import Json, without_none

if TYPE_CHECKING:
    from nacre.lessons.lesson import Answer


def learn(
    session: ToolSession,
    title: str,
    content: str,
    tags: list[str] | None = None,
    contexts: list[str] | None = None,
    anti_contexts: list[str] | None = None,
    confidence: str | None = None,
    source: str | None = None,
    source_notes: str | None = None,
) -> dict[str, Json]:
    fields = without_none(
        tags=tags, contexts=contexts, anti_contexts=anti_contexts, confidence=confidence, source=source,
        source_notes=source_notes,
    )  # fmt: skip
    learned = session.lessons().learn(title, content, **fields)
    return enveloped(learned, {"lesson_id": learned.data.id, **learned.data.to_dict()})


def recall(
    session: ToolSession, query: str, tags: list[str] | None = None, contexts: list[str] | None = None,
    confidence_min: str | None = None, source: str | None = None, limit: int | None = None
) -> dict[str, Json]:  # fmt: skip
    narrowed = without_none(tags=tags, contexts=contexts, confidence_min=confidence_min, source=source, limit=limit)
    return marked(session, session.lessons().recall(query, **narrowed))


def get(session: ToolSession, lesson_id: str) -> dict[str, Json]:
    answer = session.lessons().get(lesson_id)
    if answer.data is None:
        raise MemoryNotFound(lesson_id, session.store.space)
    return marked(session, answer)


def update(
    session: ToolSession, lesson_id: str, title: str | None = None, content: str | None = None,
    tags: list[str] | None = None, contexts: list[str] | None = None, anti_contexts: list[str] | None = None,
    confidence: str | None = None, source: str | None = None, source_notes: str | None = None
) -> dict[str, Json]:  # fmt: skip
    changes = without_none(
        title=title, content=content, tags=tags, contexts=contexts, anti_contexts=anti_contexts,
        confidence=confidence, source=source, source_notes=source_notes,
    )  # fmt: skip
    return session.lessons().update(lesson_id, **changes).to_dict()


def delete(session: ToolSession, lesson_id: str) -> dict[str, Json]:
    done = session.lessons().delete(lesson_id)
    return enveloped(done, {"deleted": done.data})


def related(
    session: ToolSession, lesson_id: str, depth: int = 1, relations: list[str] | None = None
) -> dict[str, Json]:
    return marked(session, session.lessons().related(lesson_id, depth=depth, relations=relations))


def link(session: ToolSession, from_id: str, to_id: str, relation: str) -> dict[str, Json]:
    made = session.lessons().link(from_id, to_id, relation)
    return enveloped(made, {"linked": True, "new": made.data})


def tags(session: ToolSession, with_counts: bool = False) -> dict[str, Json]:
    answer = session.lessons().tags(counts=with_counts)
    return answer.to_dict() if with_counts else enveloped(answer, [each.name for each in answer.data])


def sources(session: ToolSession) -> dict[str, Json]:
    return session.lessons().sources().to_dict()


def contexts(session: ToolSession) -> dict[str, Json]:
    return session.lessons().contexts().to_dict()


def enveloped(answer: Answer[Any], data: Json) -> dict[str, Json]:
    return {**answer.to_dict(), "data": data}


def marked(session: ToolSession, answer: Answer[Any]) -> dict[str, Json]:
    """With a warning for each lesson that gives orders to its reader."""
    fields: dict[str, Any] = answer.to_dict()
    data = fields["data"]
    lessons = [each["id"] for each in (data if isinstance(data, list) else [data])]
    marks = [f"The lesson {each.id} {mark}." for each in session.store.get_many(lessons)
             for mark in suspicion(each).values()]  # fmt: skip
    return {**fields, "warnings": [*fields["warnings"], *marks]}


PROFILE = read_profile(
    "lessons", learn, recall, get, update, delete, related, link, tags, sources, contexts,
    refusing=lambda sentence: {"success": False, "data": None, "warnings": [sentence], "suggestions": {}},
)  # fmt: skip
ENVELOPE = PROFILE.tools[0].returns  # the same for all of them
