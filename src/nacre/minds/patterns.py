"""Recognises what recurs among discoveries, computes its confidence, and stores patterns with their evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any, TypeAlias, cast

from nacre.engine.engine import Edit
from nacre.errors import InvalidInput, MemoryNotFound
from nacre.memory_store import MemoryStore
from nacre.minds.experience import (
    CALLER_METADATA,
    LONGEST_CONTEXT,
    PREFIX,
    TYPE,
    Experience,
    ExperienceType,
    experience_of,
    memory_fields,
)
from nacre.model import Filter, Link, Memory
from nacre.model.arguments import checks_arguments
from nacre.model.memory import Json

THRESHOLD = 3
MIN_CONFIDENCE = 0.5
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


@checks_arguments
class PatternDetector:
    """Counts discoveries of one kind; from `threshold` on they are a pattern. A pattern answers to its key and to the
    type of its discoveries."""

    def __init__(
        self, threshold: int = THRESHOLD, min_confidence: float = MIN_CONFIDENCE, max_examples: int = MAX_EXAMPLES
    ) -> None:
        if threshold < 1:
            raise InvalidInput(f"A pattern needs at least 1 occurrence, not {threshold}; give 1 or more.")
        self.threshold = threshold
        self.min_confidence = min_confidence
        self.max_examples = max_examples
        self._patterns: dict[str, Pattern] = {}

    def add_discovery(self, discovery: Discovery) -> str:
        """Returns the key under which it counts."""
        key = extract_pattern_key(discovery)
        pattern = self._patterns.setdefault(key, Pattern(key, type_of(discovery), datetime.now()))
        pattern.occurrences += 1
        if len(pattern.examples) < self.max_examples:
            pattern.examples.append(dict(discovery))
        return key

    def get_occurrence_count(self, name: str) -> int:
        return sum(pattern.occurrences for pattern in self._called(name))

    def is_pattern_recognized(self, name: str) -> bool:
        return any(pattern.occurrences >= self.threshold for pattern in self._called(name))

    def validate_pattern(self, name: str, success: bool) -> None:
        """Records whether the pattern held when it was applied. An unknown name is ignored."""
        for pattern in self._called(name):
            pattern.successes += bool(success)
            pattern.failures += not success

    def get_recognized_patterns(self, min_confidence: float | None = None) -> list[Experience]:
        """Those that recur often enough and have at least this confidence."""
        least = self.min_confidence if min_confidence is None else min_confidence
        recurring = (pattern for pattern in self._patterns.values() if pattern.occurrences >= self.threshold)
        return [pattern_experience(each) for each in recurring if each.confidence >= least]

    def _called(self, name: str) -> Sequence[Pattern]:
        return [pattern for pattern in self._patterns.values() if name in (pattern.key, pattern.type)]


def recognize_patterns(
    current_discoveries: Iterable[Discovery], known_patterns: Iterable[Experience] | None = None,
    threshold: int = THRESHOLD,
) -> list[Experience]:  # fmt: skip
    """The patterns among these discoveries, without those that are known."""
    detector = PatternDetector(threshold)
    for discovery in current_discoveries:
        detector.add_discovery(discovery)
    known = list(known_patterns or ())
    return [each for each in detector.get_recognized_patterns() if not any(is_known(each, one) for one in known)]


def is_known(pattern: Experience, known: Experience) -> bool:
    """By its key; one that was written by hand, without a key, is known by naming it in its context."""
    key = known.metadata.get("pattern_key")
    mine = str(pattern.metadata["pattern_key"])
    return key == mine if key else mine in known.context


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
    metadata: dict[str, Json] = {
        "first_seen": pattern.first_seen.isoformat(), "examples": cast(Json, pattern.examples),
        "successes": pattern.successes, "failures": pattern.failures,
    }  # fmt: skip
    counted = (pattern.key, pattern.type, pattern.occurrences, pattern.confidence)
    return make_experience(*counted, metadata, timestamp=pattern.first_seen)


def make_experience(
    key: str, type: str, occurrences: int, confidence: float, metadata: Mapping[str, Json], **fields: Any
) -> Experience:
    return Experience(
        ExperienceType.PATTERN, describe(key, type, occurrences), advice(type, occurrences), confidence,
        metadata={"pattern_key": key, "occurrences": occurrences, **metadata}, tags=["pattern"], **fields,
    )  # fmt: skip


def describe(key: str, type: str, occurrences: int) -> str:
    named = f"{type} ({key})" if key != type else type
    return f"Recurring pattern {named[: LONGEST_CONTEXT - 60]}: seen {occurrences} times"


def advice(type: str, occurrences: int) -> str:
    words = type.replace("_", " ")[:500]
    seen = f"this pattern occurs in {occurrences} of them"
    return f"Look out for {words} in similar places and check for it first: {seen}."


NEWEST_READ = 5_000  # the newest experiences; evidence from older ones is in the patterns' links already
MOST_EVIDENCE = 1_000  # links of one pattern; its confidence reached the ceiling long before
DIGEST_BYTES = 8
DERIVED = "derived_from"
EVIDENCE = Filter.where(metadata__experience_type__in=("success", "failure", "insight"))

Discover: TypeAlias = Callable[[Experience], Iterable[Discovery]]


def discoveries_of(experience: Experience) -> list[Discovery]:
    """What the metadata holds under `discovery` or `discoveries`, or the metadata itself where it has a `type`."""
    metadata = experience.metadata
    discoveries = metadata.get("discoveries") or metadata.get("discovery") or (metadata if metadata.get("type") else [])
    each = [discoveries] if isinstance(discoveries, dict) else discoveries if isinstance(discoveries, list) else []
    return [one for one in each if isinstance(one, dict)]


def pattern_id(key: str) -> str:
    """The same for the same key, so that two processes cannot keep one pattern twice."""
    return f"{PREFIX}pattern_{blake2b(key.encode('utf-8', 'replace'), digest_size=DIGEST_BYTES).hexdigest()}"


@dataclass(slots=True)
class Evidence:
    """The experiences that showed a pattern, each once, and what the first of them discovered."""

    key: str
    type: str
    first: float
    examples: list[Json]
    ids: dict[str, None]

    def all_ids(self, memory: Memory | None) -> tuple[str, ...]:
        """With those that the pattern links to already, which may be old or deleted."""
        linked = [link.to for link in memory.links if link.rel == DERIVED] if memory is not None else []
        return tuple(dict.fromkeys([*linked, *self.ids]))[:MOST_EVIDENCE]


@dataclass(frozen=True, slots=True)
class StoredPatterns:
    store: MemoryStore
    threshold: int = THRESHOLD
    min_confidence: float = MIN_CONFIDENCE
    max_examples: int = MAX_EXAMPLES

    def recognize(self, *, discover: Discover = discoveries_of) -> list[Memory]:
        """Writes new and grown patterns in one operation and returns them. A pattern in the trash stays there."""
        gathered = self._collect_evidence(discover)
        while True:
            existing = {memory.id: memory for memory in self.store.get_many([pattern_id(key) for key in gathered])}
            new: list[Memory] = []
            edits: dict[str, Edit] = {}
            for key, evidence in gathered.items():
                memory = existing.get(pattern_id(key))
                if memory is None and len(evidence.ids) >= self.threshold:
                    new.append(self._draft(evidence))
                elif memory is not None and memory.status != "trashed":
                    edits[memory.id] = self._update(evidence)
            edits = {id: edit for id, edit in edits.items() if edit(existing[id]) != existing[id]}
            try:
                return self.store.write("recognize", new=new, edits=edits) if new or edits else []
            except InvalidInput:
                if not self.store.get_many([memory.id for memory in new]):
                    raise
                # Another process stored it in between: now it is updated.

    def validate(self, key: str, success: bool) -> Memory:
        """By its key or its id; whether it held when it was applied. One operation. Raises `MemoryNotFound`."""
        memory = self.get(key)
        if memory is None:
            raise MemoryNotFound(key, self.store.space)
        now = self.store.now()

        def edit(memory: Memory) -> Memory:
            metadata = dict(caller_metadata(memory))
            name = "successes" if success else "failures"
            metadata[name] = count_in(metadata.get(name)) + 1
            return replace(self._with_confidence(memory, metadata), last_validated_at=now)

        return self.store.write("validate", edits={memory.id: edit})[0]

    def get(self, key: str) -> Memory | None:
        memory = self.store.get(pattern_id(key)) or (self.store.get(key) if key.startswith(PREFIX) else None)
        return memory if memory is not None and memory.metadata.get(TYPE) == ExperienceType.PATTERN else None

    def active(self, limit: int = 20) -> list[Experience]:
        """The patterns with enough confidence, highest first; one that failed too often returns when it holds again."""
        where = Filter.where(metadata__experience_type=ExperienceType.PATTERN.value)
        memories = self.store.list_recent(NEWEST_READ, where=where, min_confidence=self.min_confidence)
        return [experience_of(memory) for memory in sorted(memories, key=lambda each: -each.confidence)[:limit]]

    def _collect_evidence(self, discover: Discover) -> dict[str, Evidence]:
        evidence_by_key: dict[str, Evidence] = {}
        for memory in reversed(self.store.list_recent(NEWEST_READ, where=EVIDENCE)):
            for discovery in discover(experience_of(memory)):
                key = extract_pattern_key(discovery)
                evidence = evidence_by_key.setdefault(key, Evidence(key, type_of(discovery), memory.created_at, [], {}))
                evidence.ids[memory.id] = None
                if len(evidence.examples) < self.max_examples:
                    evidence.examples.append(dict(discovery))
        return evidence_by_key

    def _draft(self, evidence: Evidence) -> Memory:
        key, type, seen = evidence.key, evidence.type, evidence.all_ids(None)
        metadata: dict[str, Json] = {"type": type, "first_seen": evidence.first, "examples": evidence.examples}
        metadata |= {"successes": 0, "failures": 0}
        confidence = calculate_pattern_confidence(len(seen))
        experience = make_experience(key, type, len(seen), confidence, metadata, experience_id=pattern_id(key))
        fields = memory_fields(experience, self.store.space)
        fields["created_at"], fields["links"] = self.store.now(), evidence_links(seen)
        return self.store.draft(experience.outcome, **fields)

    def _update(self, evidence: Evidence) -> Edit:
        def edit(memory: Memory) -> Memory:
            seen = evidence.all_ids(memory)
            metadata = caller_metadata(memory)
            if len(seen) <= count_in(metadata.get("occurrences")):
                return memory
            others = tuple(link for link in memory.links if link.rel != DERIVED)
            title, text = describe(evidence.key, evidence.type, len(seen)), advice(evidence.type, len(seen))
            grown = replace(memory, title=title, text=text, links=(*others, *evidence_links(seen)))
            return self._with_confidence(grown, {**metadata, "occurrences": len(seen)})

        return edit

    def _with_confidence(self, memory: Memory, metadata: Mapping[str, Json]) -> Memory:
        counts = {name: count_in(metadata.get(name)) for name in ("occurrences", "successes", "failures")}
        confidence = calculate_pattern_confidence(**counts)
        return replace(memory, confidence=confidence, metadata={**memory.metadata, CALLER_METADATA: dict(metadata)})


def evidence_links(ids: Iterable[str]) -> tuple[Link, ...]:
    return tuple(Link(id, DERIVED) for id in ids)


def caller_metadata(memory: Memory) -> Mapping[str, Json]:
    stored = memory.metadata.get(CALLER_METADATA)
    return cast("Mapping[str, Json]", stored) if isinstance(stored, dict) else {}


def count_in(value: Json) -> int:
    return int(value) if isinstance(value, int | float) else 0
