"""Keeps recognised patterns as memories, tied to the experiences that showed them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TypeAlias, cast

from nacre.engine.engine import Edit
from nacre.errors import InvalidInput, MemoryNotFound
from nacre.memory_store import MemoryStore
from nacre.minds.experience import GIVEN, PREFIX, TYPE, Experience, ExperienceType, experience_of, kept_fields
from nacre.minds.patterns import (
    MAX_EXAMPLES,
    MIN_CONFIDENCE,
    THRESHOLD,
    Discovery,
    advice,
    calculate_pattern_confidence,
    described,
    extract_pattern_key,
    type_of,
)
from nacre.model import Filter, Link, Memory
from nacre.model.memory import Json

LOOKED_AT = 5_000  # the newest experiences; what older ones showed stands in the patterns' ties already
MOST_EVIDENCE = 1_000  # ties of one pattern: its confidence reached the ceiling long before
DIGEST_BYTES = 8
DERIVED = "derived_from"
SHOWING = Filter.where(metadata__experience_type__in=("success", "failure", "insight"))

Discover: TypeAlias = Callable[[Experience], Iterable[Discovery]]


def discoveries_of(experience: Experience) -> list[Discovery]:
    """What the metadata holds under `discovery` or `discoveries`, or the metadata itself where it has a `type`."""
    given = experience.metadata
    found = given.get("discoveries") or given.get("discovery") or (given if given.get("type") else [])
    each = [found] if isinstance(found, dict) else found if isinstance(found, list) else []
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

    def in_keeping(self, memory: Memory | None) -> tuple[str, ...]:
        """With those that the pattern is tied to already, which may be gone from the newest, or from the store."""
        tied = [link.to for link in memory.links if link.rel == DERIVED] if memory is not None else []
        return tuple(dict.fromkeys([*tied, *self.ids]))[:MOST_EVIDENCE]


@dataclass(frozen=True, slots=True)
class PatternKeeper:
    store: MemoryStore
    threshold: int = THRESHOLD
    min_confidence: float = MIN_CONFIDENCE
    max_examples: int = MAX_EXAMPLES

    def recognize(self, *, discover: Discover = discoveries_of) -> list[Memory]:
        """What is new among the patterns, or has grown, written in one act. One in the trash stays there."""
        gathered = self._gathered(discover)
        while True:
            standing = {memory.id: memory for memory in self.store.get_many([pattern_id(key) for key in gathered])}
            new: list[Memory] = []
            edits: dict[str, Edit] = {}
            for key, evidence in gathered.items():
                memory = standing.get(pattern_id(key))
                if memory is None and len(evidence.ids) >= self.threshold:
                    new.append(self._drafted(evidence))
                elif memory is not None and memory.status != "trashed":
                    edits[memory.id] = self._grown(evidence)
            edits = {id: edit for id, edit in edits.items() if edit(standing[id]) != standing[id]}
            try:
                return self.store.write("recognize", new=new, edits=edits) if new or edits else []
            except InvalidInput:
                if not self.store.get_many([memory.id for memory in new]):
                    raise
                # Another process recognised it in between: it stands now, and is updated.

    def validate(self, key: str, success: bool) -> Memory:
        """By its key or its id; whether it held when it was applied. One act. Raises `MemoryNotFound`."""
        memory = self.get(key)
        if memory is None:
            raise MemoryNotFound(key, self.store.space)
        now = self.store.now()

        def edit(memory: Memory) -> Memory:
            given = dict(given_of(memory))
            name = "successes" if success else "failures"
            given[name] = whole(given.get(name)) + 1
            return replace(self._weighed(memory, given), last_validated_at=now)

        return self.store.write("validate", edits={memory.id: edit})[0]

    def get(self, key: str) -> Memory | None:
        memory = self.store.get(pattern_id(key)) or (self.store.get(key) if key.startswith(PREFIX) else None)
        return memory if memory is not None and memory.metadata.get(TYPE) == ExperienceType.PATTERN else None

    def active(self, limit: int = 20) -> list[Experience]:
        """The patterns that are still sure enough, the surest first; one that failed too often is no longer among
        them, and comes back when it proves itself."""
        where = Filter.where(metadata__experience_type=ExperienceType.PATTERN.value)
        found = self.store.list_recent(LOOKED_AT, where=where, min_confidence=self.min_confidence)
        return [experience_of(memory) for memory in sorted(found, key=lambda each: -each.confidence)[:limit]]

    def _gathered(self, discover: Discover) -> dict[str, Evidence]:
        found: dict[str, Evidence] = {}
        for memory in reversed(self.store.list_recent(LOOKED_AT, where=SHOWING)):
            for discovery in discover(experience_of(memory)):
                key = extract_pattern_key(discovery)
                evidence = found.setdefault(key, Evidence(key, type_of(discovery), memory.created_at, [], {}))
                evidence.ids[memory.id] = None
                if len(evidence.examples) < self.max_examples:
                    evidence.examples.append(dict(discovery))
        return found

    def _drafted(self, evidence: Evidence) -> Memory:
        now = self.store.now()
        seen = evidence.in_keeping(None)
        given: dict[str, Json] = {"pattern_key": evidence.key, "type": evidence.type, "first_seen": evidence.first,
                                  "examples": evidence.examples, "successes": 0, "failures": 0,
                                  "occurrences": len(seen)}  # fmt: skip
        shown = Experience(
            ExperienceType.PATTERN,
            described(evidence.key, evidence.type, len(seen)),
            advice(evidence.type, len(seen)),
            calculate_pattern_confidence(len(seen), self.threshold),
            experience_id=pattern_id(evidence.key),
            metadata=given,
            tags=["pattern"],
        )
        fields = kept_fields(shown, self.store.space)
        fields["created_at"], fields["links"] = now, ties(seen)
        return self.store.draft(shown.outcome, **fields)

    def _grown(self, evidence: Evidence) -> Edit:
        def edit(memory: Memory) -> Memory:
            seen = evidence.in_keeping(memory)
            given = given_of(memory)
            if len(seen) <= whole(given.get("occurrences")):
                return memory
            others = tuple(link for link in memory.links if link.rel != DERIVED)
            grown = replace(
                memory,
                title=described(evidence.key, evidence.type, len(seen)),
                text=advice(evidence.type, len(seen)),
                links=(*others, *ties(seen)),
            )
            return self._weighed(grown, {**given, "occurrences": len(seen)})

        return edit

    def _weighed(self, memory: Memory, given: Mapping[str, Json]) -> Memory:
        confidence = calculate_pattern_confidence(
            whole(given.get("occurrences")), self.threshold, whole(given.get("successes")), whole(given.get("failures"))
        )
        return replace(memory, confidence=confidence, metadata={**memory.metadata, GIVEN: dict(given)})


def ties(ids: Iterable[str]) -> tuple[Link, ...]:
    return tuple(Link(id, DERIVED) for id in ids)


def given_of(memory: Memory) -> Mapping[str, Json]:
    given = memory.metadata.get(GIVEN)
    return cast("Mapping[str, Json]", given) if isinstance(given, dict) else {}


def whole(value: Json) -> int:
    return int(value) if isinstance(value, int | float) else 0
