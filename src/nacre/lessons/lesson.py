"""A lesson: a memory as the book speaks of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nacre.errors import InvalidInput
from nacre.model import Memory, Reason
from nacre.model.instants import iso
from nacre.model.levels import level_of
from nacre.model.memory import Json

AGENT_TAG = "agent:"
SPACES = re.compile(r"\s+")
LAST_SIGNS = ".;,: "  # a title is no sentence; ? and ! are meant


@dataclass(frozen=True, slots=True)
class Lesson:
    """`confidence` is the level; `certainty`, from 0 to 1, is what stands behind it."""

    id: str
    title: str
    content: str
    confidence: str
    certainty: float
    source: str
    source_notes: str
    tags: tuple[str, ...]
    contexts: tuple[str, ...]
    anti_contexts: tuple[str, ...]
    created_at: float
    updated_at: float
    last_validated_at: float | None
    agent: str
    archived: bool
    superseded_by: str

    @classmethod
    def of(cls, memory: Memory) -> Lesson:
        return cls(
            id=memory.id, title=memory.title, content=memory.text, confidence=level_of(memory.confidence).name,
            certainty=memory.confidence, source=memory.source, source_notes=memory.source_notes, tags=memory.tags,
            contexts=memory.contexts, anti_contexts=memory.anti_contexts, created_at=memory.created_at,
            updated_at=memory.updated_at, last_validated_at=memory.last_validated_at, agent=memory.agent,
            archived=memory.status == "archived", superseded_by=memory.superseded_by,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Json]:
        return {
            "id": self.id, "title": self.title, "content": self.content, "confidence": self.confidence,
            "certainty": self.certainty, "source": self.source, "source_notes": self.source_notes,
            "tags": list(self.tags), "contexts": list(self.contexts), "anti_contexts": list(self.anti_contexts),
            "created_at": iso(self.created_at), "updated_at": iso(self.updated_at),
            "last_validated_at": None if self.last_validated_at is None else iso(self.last_validated_at),
            "agent": self.agent, "archived": self.archived, "superseded_by": self.superseded_by,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """A lesson that answers, with its score and what gave it."""

    lesson: Lesson
    score: float
    why: tuple[Reason, ...] = ()

    def to_dict(self) -> dict[str, Json]:
        return {**self.lesson.to_dict(), "score": self.score, "why": [str(reason) for reason in self.why]}


@dataclass(frozen=True, slots=True)
class Related:
    """A lesson that a tie leads to: along it (`out`) or against it (`in`), so many ties away."""

    lesson: Lesson
    relation: str
    direction: str
    depth: int

    def to_dict(self) -> dict[str, Json]:
        told: dict[str, Json] = {"relation": self.relation, "direction": self.direction, "depth": self.depth}
        return {**self.lesson.to_dict(), **told}


def normal_title(title: str) -> str:
    """On one line, without the full stop, and beginning with a capital where it begins with a plain word."""
    if not isinstance(title, str):
        raise InvalidInput(f"A title is text, not {type(title).__name__}.")
    bare = SPACES.sub(" ", title).strip().rstrip(LAST_SIGNS)
    if not bare:
        raise InvalidInput("A lesson needs a title; say in a few words what it teaches.")
    first, _, rest = bare.partition(" ")
    plain = first.isalpha() and first.islower()  # `npm ci` and `iOS` begin as they are written… by those who mean it
    return f"{first.capitalize()} {rest}".strip() if plain and first not in COMMANDS else bare


# Names of programs, which are written small.
COMMANDS = frozenset(
    "git npm npx yarn pnpm pip uv cargo go make cmake docker kubectl helm terraform ansible curl wget ssh rsync sed awk"
    " grep jq psql mysql sqlite redis nginx apt brew node deno bun python ruff mypy pytest bash zsh vim tmux systemd"
    .split()
)  # fmt: skip


def agent_tag(agent: str) -> str:
    return f"{AGENT_TAG}{agent.strip().lower()}"
