"""An agent's experience: context, outcome and confidence, and how it is stored as a memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b

from nacre.errors import InvalidInput, UnknownName, WrongType
from nacre.model import Memory
from nacre.model.memory import Json
from nacre.model.validate import Fields

LONGEST_CONTEXT, LONGEST_OUTCOME = 500, 1000  # characters: an experience is a note, not a document
TEXTS = {"context": LONGEST_CONTEXT, "outcome": LONGEST_OUTCOME}
PREFIX = "exp_"  # of the ids that are made here; an id that is given may be any
HASH_DIGITS = 6
# Keys of the memory's metadata; the caller's own metadata is under CALLER_METADATA.
TYPE, CALLER_METADATA, COMPRESSED = "experience_type", "given", "compressed"
AWARE, KIND, MARGINS = "aware", "kind", "margins"


class ExperienceType(StrEnum):
    SUCCESS = "success"
    FAILURE = "failure"
    PATTERN = "pattern"
    INSIGHT = "insight"


# What happened is an episode; what was learnt from it is knowledge.
MEMORY_TYPES = {
    ExperienceType.SUCCESS: "episodic",
    ExperienceType.FAILURE: "episodic",
    ExperienceType.PATTERN: "semantic",
    ExperienceType.INSIGHT: "semantic",
}


@dataclass(eq=False)
class Experience:
    """Equal by its id. Not frozen: agents add tags and measurements to one until they give it away.

    A timestamp without a zone is local time, as `datetime.now()` gives it. None stands for what is not given.
    """

    experience_type: ExperienceType
    context: str
    outcome: str
    confidence: float
    timestamp: datetime = field(default_factory=datetime.now)
    experience_id: str = ""
    metadata: dict[str, Json] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name, made in DEFAULTS.items():
            if getattr(self, name) is None:
                setattr(self, name, made())
        self.check()
        self.experience_id = self.experience_id or self.make_id()

    def __eq__(self, other: object) -> bool:
        return self.experience_id == other.experience_id if isinstance(other, Experience) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.experience_id)

    def to_dict(self) -> dict[str, Json]:
        plain = {"experience_type": self.experience_type.value, "timestamp": self.timestamp.isoformat()}
        return {"experience_id": self.experience_id, **deepcopy(vars(self)), **plain}

    @classmethod
    def from_dict(cls, data: Mapping[str, Json]) -> Experience:
        """Raises `InvalidInput` for what is missing or cannot be an experience."""
        missing = [name for name in ("experience_type", "context", "outcome", "confidence") if name not in data]
        if missing:
            raise InvalidInput(f"An experience needs {', '.join(missing)}; give each by its name.")
        fields: dict[str, object] = {name: data[name] for name in KINDS if data.get(name) is not None}
        fields["experience_type"] = parse_type(data["experience_type"])
        if "timestamp" in fields:
            fields["timestamp"] = read_time(fields["timestamp"])
        return cls(**fields)  # type: ignore[arg-type]

    @classmethod
    def of(cls, memory: Memory) -> Experience:
        metadata = memory.metadata.get(CALLER_METADATA)
        at = datetime.fromtimestamp(memory.created_at, UTC if memory.metadata.get(AWARE) else None)
        experience = cls(
            parse_type(memory.metadata[TYPE]), memory.title[:LONGEST_CONTEXT] or memory.text[:LONGEST_CONTEXT],
            memory.text[:LONGEST_OUTCOME], memory.confidence, at, memory.id,
            dict(metadata) if isinstance(metadata, dict) else {}, list(memory.tags),
        )  # fmt: skip
        # A placeholder may be longer than the secret it replaced, and an edit longer still: neither is cut.
        experience.context, experience.outcome = memory.title or experience.context, memory.text
        margins = memory.metadata.get(MARGINS)
        if isinstance(margins, dict):
            for name in TEXTS:
                before, _, after = str(margins.get(name, "")).partition("|")
                setattr(experience, name, f"{before}{getattr(experience, name)}{after}")
        return experience

    def memory_fields(self, agent: str) -> Fields:
        """The context is the title, so that it comes before the outcome wherever the memory is searched or shown."""
        metadata: dict[str, Json] = {TYPE: self.experience_type.value}
        if self.experience_type is ExperienceType.PATTERN:
            metadata[KIND] = "pattern"
        # A memory's text has no blanks around it, and those of an experience may be the indent of its code.
        texts = {name: str(getattr(self, name)) for name in TEXTS}
        if any(text != text.strip() for text in texts.values()):
            metadata[MARGINS] = {name: text.replace(text.strip(), "|") for name, text in texts.items()}
        if self.metadata:
            metadata[CALLER_METADATA] = self.metadata
        if self.timestamp.tzinfo is not None:
            metadata[AWARE] = True
        return Fields(
            id=self.experience_id, agent=agent, title=self.context, confidence=self.confidence,
            type=MEMORY_TYPES[self.experience_type], created_at=seconds_of(self.timestamp),
            tags=self.tags, metadata=metadata,
        )  # fmt: skip

    def check(self) -> None:
        """Raises `WrongType` for a value of another kind, and `InvalidInput` for one outside its bounds."""
        for name, kind in KINDS.items():
            value = getattr(self, name)
            if not isinstance(value, kind) or isinstance(value, bool):
                wanted = kind[-1].__name__ if isinstance(kind, tuple) else kind.__name__
                raise WrongType(name, wanted, value)
        for name, longest in TEXTS.items():
            text = getattr(self, name)
            if not text.strip():
                raise InvalidInput(f"An experience's {name} cannot be empty; say it in a sentence.")
            if len(text) > longest:
                raise InvalidInput(f"An experience's {name} has {len(text):,} characters; shorten it to {longest:,}.")
        if not 0 <= self.confidence <= 1:
            raise InvalidInput(f"confidence must be from 0 to 1, not {self.confidence}.")

    def make_id(self, attempt: int = 0) -> str:
        """exp_YYYYMMDD_HHMMSS_hash6: the same experience always has the same one. Another attempt gives another hash,
        for the rare case of two in one second that share one."""
        parts = (self.experience_type, self.context, self.outcome, self.timestamp.isoformat(), str(attempt))
        hashed = "\0".join(parts).encode("utf-8", "replace")
        return self.id_start() + blake2b(hashed, digest_size=HASH_DIGITS // 2).hexdigest()

    def id_start(self) -> str:
        return f"{PREFIX}{self.timestamp:%Y%m%d_%H%M%S}_"


KINDS: dict[str, type | tuple[type, ...]] = {
    "experience_type": ExperienceType, "context": str, "outcome": str, "confidence": (int, float),
    "timestamp": datetime, "experience_id": str, "metadata": dict, "tags": list,
}  # fmt: skip
DEFAULTS: dict[str, Callable[[], object]] = {
    "timestamp": datetime.now, "experience_id": str, "metadata": dict, "tags": list,
}  # fmt: skip


def parse_type(value: object) -> ExperienceType:
    if value not in list(ExperienceType):
        raise UnknownName("experience type", str(value), [each.value for each in ExperienceType])
    return ExperienceType(str(value))


def read_time(value: object) -> datetime:
    try:
        return value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError as error:
        raise InvalidInput(f"timestamp: {value!r} is not a time; write it as 2026-03-31T09:00:00.") from error


def seconds_of(at: datetime) -> float:
    """Raises `InvalidInput` for a local time whose moment no calendar can show."""
    try:
        return at.timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInput(
            f"timestamp: {at.isoformat()} is no moment here; give one of the years 2 to 9998."
        ) from error


def is_experience(memory: Memory) -> bool:
    return memory.metadata.get(TYPE) in list(ExperienceType)
