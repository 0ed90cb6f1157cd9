"""The values that a lesson book returns: lessons, search results, terms, and the answer around them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Generic, TypeVar

from nacre.errors import InvalidInput
from nacre.model import Memory, Reason
from nacre.model.instants import iso
from nacre.model.levels import level_of
from nacre.model.memory import ARCHIVED, Json

T = TypeVar("T")
AGENT_TAG = "agent:"
SPACES = re.compile(r"\s+")
TRAILING = ".;,: "  # a title is not a sentence; ? and ! carry meaning and stay
# Names of programs, which keep their lower case at the start of a title.
COMMANDS = frozenset(
    "git npm npx yarn pnpm pip uv cargo go make cmake docker kubectl helm terraform ansible curl wget ssh rsync sed awk"
    " grep jq psql mysql sqlite redis nginx apt brew node deno bun python ruff mypy pytest bash zsh vim tmux systemd"
    .split()
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What every method of a `LessonBook` returns. `suggestions` lists similar known terms for each unknown one."""

    data: T
    warnings: tuple[str, ...] = ()
    suggestions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Json]:
        return {
            "success": True,
            "data": to_json(self.data),
            "warnings": list(self.warnings),
            "suggestions": {name: list(near) for name, near in self.suggestions.items()},
        }


def to_json(value: object) -> Json:
    """Plain JSON values; an object's own `to_dict` is preferred."""
    if hasattr(value, "to_dict"):
        return value.to_dict()  # type: ignore[no-any-return]
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: to_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [to_json(each) for each in value]
    return value  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Lesson:
    """`confidence` is a level; `certainty` is the number from 0 to 1 behind it."""

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
            archived=memory.status == ARCHIVED, superseded_by=memory.superseded_by,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Json]:
        values: dict[str, Json] = {each.name: to_json(getattr(self, each.name)) for each in fields(self)}
        times = (self.created_at, self.updated_at, self.last_validated_at)
        texts = (None if at is None else iso(at) for at in times)
        return values | dict(zip(("created_at", "updated_at", "last_validated_at"), texts, strict=True))


@dataclass(frozen=True, slots=True)
class LessonHit:
    """A search result: the lesson, its score and the reasons for it."""

    lesson: Lesson
    score: float
    why: tuple[Reason, ...] = ()

    def to_dict(self) -> dict[str, Json]:
        return {**self.lesson.to_dict(), "score": self.score, "why": [str(reason) for reason in self.why]}


@dataclass(frozen=True, slots=True)
class Related:
    """A linked lesson. `direction` is "out" along the link and "in" against it; `depth` counts the links between."""

    lesson: Lesson
    relation: str
    direction: str
    depth: int

    def to_dict(self) -> dict[str, Json]:
        link: dict[str, Json] = {"relation": self.relation, "direction": self.direction, "depth": self.depth}
        return {**self.lesson.to_dict(), **link}


@dataclass(frozen=True, slots=True)
class Faded:
    """A lesson before it fades; `confidence` and `certainty` are its values afterwards."""

    lesson: Lesson
    confidence: str
    certainty: float


@dataclass(frozen=True, slots=True)
class TagInfo:
    """`count` is the number of lessons with the tag; `review` is set when it was added automatically."""

    name: str
    count: int
    aliases: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    review: bool = False


@dataclass(frozen=True, slots=True)
class ContextInfo:
    """`count` lessons apply in this context, `anti_count` lessons exclude it."""

    name: str
    count: int
    anti_count: int
    aliases: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """`count` lessons name it; `review` is set when it was added automatically and nobody has confirmed it."""

    name: str
    description: str
    typical_confidence: str
    count: int
    review: bool = False
    deprecated: bool = False


@dataclass(frozen=True, slots=True)
class ReviewDue:
    """A lesson that a person should check; `why` is the question to ask. `LessonBook.validate` answers yes."""

    lesson: Lesson
    why: str


@dataclass(frozen=True, slots=True)
class LessonStats:
    """Counts over all lessons outside the trash; `tags` and `contexts` count distinct names."""

    total: int
    archived: int
    by_confidence: Mapping[str, int]
    by_source: Mapping[str, int]
    tags: int
    contexts: int
    links: int
    embedder: str


def normalize_title(title: str) -> str:
    """One line, no full stop at the end, and a capital first letter unless the first word is a command or a name."""
    if not isinstance(title, str):
        raise InvalidInput(f"A title is text, not {type(title).__name__}.")
    line = SPACES.sub(" ", title).strip().rstrip(TRAILING)
    if not line:
        raise InvalidInput("A lesson needs a title; say in a few words what it teaches.")
    first, _, rest = line.partition(" ")
    plain = first.isalpha() and first.islower()  # `iOS` and `C++` stay as they are written
    return f"{first.capitalize()} {rest}".strip() if plain and first not in COMMANDS else line


def agent_tag(agent: str) -> str:
    return f"{AGENT_TAG}{agent.strip().lower()}"
