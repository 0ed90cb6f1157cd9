"""How likely it is that a hit answers at all, on a scale that holds from one question to the next."""

from __future__ import annotations

import math
from collections.abc import Mapping

from nacre.model import Memory
from nacre.ports import Vectors
from nacre.recall.evidence import Evidence
from nacre.recall.understand import Asked
from nacre.text.stems import stems

# A logistic curve over the cosine itself and the share of the question's words that are found nearby; fitted by
# `benchmarks/fit_recall.py` on the best hits of the development questions.
INTERCEPT = -5.45
BY_COSINE = 4.36
BY_COVERAGE = 2.04


def likely(evidence: Evidence, told: Mapping[str, Vectors]) -> Vectors:
    """Without any meaning to go by, the share of the words is all that is known."""
    import numpy as np

    if not evidence.cosines.any():
        return told["coverage nearby"]
    found = INTERCEPT + BY_COSINE * np.maximum(evidence.cosines, 0) + BY_COVERAGE * told["coverage nearby"]
    return np.asarray(1 / (1 + np.exp(-found)), np.float32)


def judged(memory: Memory, asked: Asked, cosine: float | None) -> float:
    """The same for one memory by itself, for the strategies that do not look around."""
    held = f" {' '.join(stems(f'{memory.title} {memory.text}'))} "
    covered = sum(f" {term} " in held for term in asked.terms) / max(1, len(asked.terms))
    if cosine is None:
        return covered
    return 1 / (1 + math.exp(-(INTERCEPT + BY_COSINE * max(cosine, 0.0) + BY_COVERAGE * covered)))
