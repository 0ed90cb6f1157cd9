"""How strongly a memory still stands: the ways to score it, by name."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log1p
from typing import TypeAlias

from nacre.engine.review import trashed
from nacre.errors import InvalidInput, UnknownName
from nacre.memory_store import MemoryStore
from nacre.model import Filter, Memory
from nacre.model.instants import DAY

# What each adds to the time that a memory lasts, in units of the time that an unused one does.
USED = 1.0  # by the logarithm of its uses: the tenth recall proves less than the first (Ebbinghaus' savings)
VALIDATED = 2.0  # somebody said that it still holds
TIED = 0.25  # each tie that leads to it, up to
MOST_TIES = 8
# The height of a curve hardly decides when it ends: at 0.02 a day a remark (0.2) would last 69 days and a standing
# order (0.95) 147. So what is worth more than anything that is said in passing, as the appraisal has it, lasts longer
# too: unused, a fact (0.55) three years and a standing order ten. With a quarter of this facts are lost after a year
# and a half that somebody would still have asked for (benchmarks/YEAR.md); it is junk that must go, and junk does.
PASSING = 0.35
WORTH = 40.0


@dataclass(frozen=True, slots=True)
class Standing:
    """What a score is made of; `support` counts the ties that lead to the memory."""

    memory: Memory
    now: float
    decay_rate: float
    support: int = 0


Model: TypeAlias = Callable[[Standing], float]


def simple(given: Standing) -> float:
    """importance · exp(−rate · days since its last use): AI-Houkai's formula."""
    return given.memory.importance * exp(-given.decay_rate * days_since(given.memory.last_accessed, given.now))


def strength(given: Standing) -> float:
    """The same curve, made longer by what speaks for the memory: its worth, uses, a validation, ties.

    A pinned one never fades.
    """
    memory = given.memory
    if memory.pinned:
        return 1.0
    proven = USED * log1p(memory.access_count) + TIED * min(given.support, MOST_TIES)
    worth = WORTH * max(0.0, memory.importance - PASSING)
    confirmed = VALIDATED if memory.last_validated_at is not None else 0.0
    last = max(memory.last_accessed, memory.last_validated_at or 0.0)
    return memory.importance * exp(-given.decay_rate * days_since(last, given.now) / (1 + worth + proven + confirmed))


def days_since(at: float, now: float) -> float:
    """A clock that ran ahead makes nothing younger than new."""
    return max(0.0, (now - at) / DAY)


MODELS: Mapping[str, Model] = {"simple": simple, "strength": strength}


def model_named(name: str) -> Model:
    if name not in MODELS:
        raise UnknownName("decay model", name, MODELS)
    return MODELS[name]


ACTOR = "decay"
PAGE = 500
# Ties that do not speak for what they lead to: doubts, what was replaced, what a summary already holds.
NO_SUPPORT = frozenset(("conflicts", "distinct_from", "contradicts", "supersedes", "derived_from", "transitioned_to"))


@dataclass(frozen=True, slots=True)
class Faded:
    memory: Memory
    score: float


@dataclass(frozen=True, slots=True)
class DecayEngine:
    """`model` is `simple` or `strength`. Pinned memories and those of the protected types are never let go, nor, with
    `protect_linked`, those that ties lead to."""

    store: MemoryStore
    decay_rate: float = 0.1
    min_score: float = 0.05
    protect_types: tuple[str, ...] = ("procedural",)
    model: str = "simple"
    protect_linked: bool = True

    def __post_init__(self) -> None:
        model_named(self.model)
        if not (math.isfinite(self.decay_rate) and self.decay_rate >= 0):
            raise InvalidInput(f"A decay rate of {self.decay_rate} lets nothing fade; give 0 or more, such as 0.02.")
        if not math.isfinite(self.min_score):
            raise InvalidInput(f"The least score {self.min_score} is no number; give one from 0 to 1, such as 0.05.")

    def score(self, memory: Memory, now: float | None = None) -> float:
        return self._scored([memory], self._now(now), self._support([memory.id]))[0].score

    def score_all(self, now: float | None = None) -> Iterator[tuple[Memory, float]]:
        """Every live memory, the strongest first. Only scores are held; records are read as they are asked for."""
        at, support = self._now(now), self._support()
        scores = {m.id: self._score(m, at, support) for m in self.store.iterate()}
        ranked = sorted(scores, key=lambda id: -scores[id])
        for start in range(0, len(ranked), PAGE):
            for memory in self.store.get_many(ranked[start : start + PAGE]):
                yield memory, scores[memory.id]

    def plan(self, now: float | None = None) -> tuple[Faded, ...]:
        """What would be let go, the weakest first. Nothing is changed."""
        at, support = self._now(now), self._support()
        fading = self._scored(self.store.iterate(where=Filter.where(pinned=False)), at, support)
        return tuple(sorted((each for each in fading if self._lets_go(each, support)), key=lambda each: each.score))

    def apply(self, plan: Sequence[Faded], *, why: str = "") -> list[Memory]:
        """Moves what was planned to the trash in one act; what was used, changed, pinned or tied since then stays."""
        planned = {each.memory.id: each.memory for each in plan}
        if not planned:
            return []
        tied = self._support(list(planned)) if self.protect_linked else Counter()

        def edit(memory: Memory) -> Memory:
            unused = unused_since(planned[memory.id], memory) and not tied[memory.id]
            return trashed(memory) if unused else memory

        engine = self.store.acting_as(ACTOR)
        done = engine.change_present(self.store.space, list(planned), "decay", edit, why=why)
        return [planned[memory.id] for memory in done]

    def prune(self, dry_run: bool = False, now: float | None = None) -> list[Memory]:
        """What was let go, or would be."""
        plan = self.plan(now)
        return [each.memory for each in plan] if dry_run else self.apply(plan)

    def _lets_go(self, faded: Faded, support: Counter[str]) -> bool:
        kept = faded.memory.type in self.protect_types or (self.protect_linked and support[faded.memory.id] > 0)
        return faded.score < self.min_score and not kept

    def _scored(self, memories: Iterable[Memory], now: float, support: Counter[str]) -> list[Faded]:
        return [Faded(memory, self._score(memory, now, support)) for memory in memories]

    def _score(self, memory: Memory, now: float, support: Counter[str]) -> float:
        return model_named(self.model)(Standing(memory, now, self.decay_rate, support[memory.id]))

    def _support(self, ids: Sequence[str] | None = None) -> Counter[str]:
        edges = self.store.edges(into=ids)
        return Counter(edge.target for edge in edges if edge.rel not in NO_SUPPORT)

    def _now(self, now: float | None) -> float:
        return self.store.now() if now is None else now


def unused_since(planned: Memory, memory: Memory) -> bool:
    same = (memory.last_accessed, memory.updated_at) == (planned.last_accessed, planned.updated_at)
    return same and not memory.pinned and memory.status != "trashed"
