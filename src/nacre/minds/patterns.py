"""Recognises what recurs among discoveries, and computes its confidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from typing import TypeAlias, cast

from nacre.errors import InvalidInput
from nacre.minds.experience import CALLER_METADATA, LONGEST_CONTEXT, PREFIX, Experience, ExperienceType
from nacre.model import Link, Memory
from nacre.model.memory import TRASHED, Json

THRESHOLD = 3
MAX_EXAMPLES = 5
# Each occurrence makes it surer; a pattern is never certain, and never quite hopeless.
BASE, EACH, CEILING, FLOOR = 0.5, 0.1, 0.95, 0.1
# What was tried: all failures leave 0.7 of it, all successes make 1.1 of it.
UNPROVEN, PROVEN = 0.7, 0.4
FAILURES_FORGIVEN, EACH_FAILURE, MOST_BLAME = 5, 0.02, 0.2

Discovery = Mapping[str, Json]


@dataclass(slots=True)
class Pattern:
    key: str
    type: str
    first_seen: datetime
    occurrences: int = 0
    examples: list[dict[str, Json]] = field(default_factory=list)
    successes: int = 0
    failures: int = 0

    @property
    def confidence(self) -> float:
        return calculate_pattern_confidence(self.occurrences, successes=self.successes, failures=self.failures)


def extract_pattern_key(discovery: Discovery) -> str:
    """What makes two discoveries the same: their type; of links also which kind of link; of documents (.md) also which
    kind of document, the first word of the file's name: {"type": "missing_example", "file": "tutorial_2.md"} is
    "tutorial_missing_example". The location (file, line, address) otherwise makes no difference."""
    kind = type_of(discovery)
    if discovery.get("link_type"):
        return f"{kind}_{discovery['link_type']}"
    file = discovery.get("file")
    if isinstance(file, str) and file.lower().endswith(".md"):
        name = file.replace("\\", "/").rsplit("/", 1)[-1][: -len(".md")]
        head = name.split("_", 1)[0]
        return f"{head}_{kind}" if head else kind
    return kind


def type_of(discovery: Discovery) -> str:
    if not isinstance(discovery, Mapping):
        raise InvalidInput(f"A discovery is a mapping with a type, not {type(discovery).__name__}.")
    return str(discovery.get("type") or "unknown")


def calculate_pattern_confidence(
    occurrences: int, threshold: int = THRESHOLD, successes: int = 0, failures: int = 0
) -> float:  # fmt: skip
    """From how often it was seen, and of how often it was tried how often it held. The threshold changes nothing."""
    del threshold  # part of the known signature
    base = min(BASE + occurrences * EACH, CEILING)
    tried = successes + failures
    if not tried:
        return base
    blame = min(max(0, failures - FAILURES_FORGIVEN) * EACH_FAILURE, MOST_BLAME)
    return min(max(base * (UNPROVEN + PROVEN * successes / tried - blame), FLOOR), CEILING)


def pattern_experience(pattern: Pattern) -> Experience:
    key, type, occurrences = pattern.key, pattern.type, pattern.occurrences
    named = f"{type} ({key})" if key != type else type
    words = type.replace("_", " ")[:500]
    advice = f"Look out for {words} in similar places and check for it first"
    return Experience(
        ExperienceType.PATTERN,
        f"Recurring pattern {named[: LONGEST_CONTEXT - 60]}: seen {occurrences} times",
        f"{advice}: this pattern occurs in {occurrences} of them.",
        pattern.confidence,
        timestamp=pattern.first_seen,
        metadata={
            "pattern_key": key, "occurrences": occurrences, "first_seen": pattern.first_seen.isoformat(),
            "examples": cast(Json, pattern.examples), "successes": pattern.successes, "failures": pattern.failures,
        },
        tags=["pattern"],
    )  # fmt: skip


DERIVED = "derived_from"
DIGEST_BYTES = 8

Discover: TypeAlias = Callable[[Experience], Iterable[Discovery]]


def discoveries_of(experience: Experience) -> list[Discovery]:
    """What the metadata holds under `discovery` or `discoveries`, or the metadata itself where it has a `type`."""
    metadata = experience.metadata
    held = metadata.get("discoveries") or metadata.get("discovery") or (metadata if metadata.get("type") else [])
    return [each for each in (held if isinstance(held, list) else [held]) if isinstance(each, dict)]


def pattern_id(key: str) -> str:
    """The same for the same key, so that two processes cannot store one pattern twice."""
    return f"{PREFIX}pattern_{blake2b(key.encode('utf-8', 'replace'), digest_size=DIGEST_BYTES).hexdigest()}"


def new_pattern(discoveries: Iterable[Discovery], at: datetime) -> Experience:
    """For a pattern that is stored for the first time; `with_evidence` adds the experiences that showed it."""
    examples = [dict(each) for each in discoveries][:MAX_EXAMPLES]
    pattern = Pattern(extract_pattern_key(examples[0]), type_of(examples[0]), at, 0, examples)
    return replace(pattern_experience(pattern), experience_id=pattern_id(pattern.key))


def stored_pattern(memory: Memory) -> Pattern | None:
    """What `pattern_experience` wrote; None where somebody else wrote the memory."""
    metadata = memory.metadata.get(CALLER_METADATA)
    if not isinstance(metadata, dict) or not metadata.get("pattern_key") or not metadata.get("examples"):
        return None
    examples = cast("list[dict[str, Json]]", metadata["examples"])
    counts = [int(cast(int, metadata[name])) for name in ("occurrences", "successes", "failures")]
    first_seen = datetime.fromisoformat(str(metadata["first_seen"]))
    return Pattern(str(metadata["pattern_key"]), type_of(examples[0]), first_seen, counts[0], examples, *counts[1:])


def with_pattern(memory: Memory, pattern: Pattern) -> Memory:
    written = pattern_experience(pattern)
    metadata: dict[str, Json] = {**memory.metadata, CALLER_METADATA: written.metadata}
    return replace(
        memory, title=written.context, text=written.outcome, confidence=pattern.confidence, metadata=metadata
    )


def with_evidence(memory: Memory, ids: Iterable[str]) -> Memory:
    """A stored pattern with these experiences, too; the same memory where none is new. Some may be deleted since."""
    pattern, known = stored_pattern(memory), {link.to for link in memory.links if link.rel == DERIVED}
    new = [id for id in ids if id not in known]
    if pattern is None or not new or memory.status == TRASHED:
        return memory
    pattern.occurrences = len(known) + len(new)
    return replace(with_pattern(memory, pattern), links=(*memory.links, *(Link(id, DERIVED) for id in new)))
