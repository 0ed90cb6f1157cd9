"""How strongly a memory still stands: the ways to score it, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import exp, log1p
from typing import TypeAlias

from nacre.errors import UnknownName
from nacre.model import Memory
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
