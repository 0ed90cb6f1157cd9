"""Turns the evidence into signals, each on a scale of about 0 to 1, and weighs them into one score."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nacre.model import Memory
from nacre.protocols import Vectors
from nacre.recall.gather import REACH, Evidence
from nacre.recall.understand import Question
from nacre.text.tokens import stems

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Fitted by `benchmarks/fit_recall.py` on the development halves of LoCoMo and BEAM together, five folds over whole
# conversations; benchmarks/RECALL.md says what each gives. They are divided so that a memory outside of any
# conversation that is best in everything scores 1.
WEIGHTS: Mapping[str, float] = {
    "meaning": 4.23,
    "words": 1.76,
    "words nearby": 0.65,
    "coverage nearby": 2.21,
    "speaker": 2.64,
    "voice": 0.54,
    "turn before": 0.41,
    "turn after": 1.39,
    "conversation": 4.67,
    "brief": -8.2,
    "long": -1.68,
    "question": -0.49,
}
FULL_SCORE = sum(WEIGHTS[name] for name in ("meaning", "words", "words nearby", "coverage nearby", "conversation"))
# How the parts of "conversation" are mixed before the best turn of a session is taken.
CONVERSATION_MIX = {"meaning": 0.5, "words": 0.3, "words nearby": 0.2}
# A turn of fewer characters than this is rarely the one that tells ("Thanks!"); one of more buries what it tells.
BRIEF, LONG = 110, 560


def signals(evidence: Evidence, asked: Question) -> dict[str, Vectors]:
    import numpy as np

    shares = evidence.shares
    meaning = against_best(np.maximum(evidence.cosines, 0))
    words = against_best(shares.sum(axis=0))
    nearby = against_best(widest(shares, evidence, 1).sum(axis=0))
    mixed = sum(share * {"meaning": meaning, "words": words, "words nearby": nearby}[name]
                for name, share in CONVERSATION_MIX.items())  # fmt: skip
    told = {
        "meaning": meaning,
        "words": words,
        "words nearby": nearby,
        "coverage nearby": coverage(widest(shares, evidence, REACH), evidence, asked),
        "speaker": spoken_by(evidence, asked.speakers(frozenset(place.role for place in evidence.places))),
        "voice": spoken_by(evidence, asked.voice),
        "turn before": moved(meaning, evidence.before),
        "turn after": moved(meaning, evidence.after),
        "conversation": best_of_session(np.asarray(mixed), evidence),
    }
    return told | manner(evidence)


def weighed(told: Mapping[str, Vectors], weights: Mapping[str, float] = WEIGHTS) -> Vectors:
    import numpy as np

    whole = np.zeros(len(next(iter(told.values()))), np.float32)
    for name, found in told.items():
        whole += np.float32(weights[name] / FULL_SCORE) * found
    return whole


def manner(evidence: Evidence) -> dict[str, Vectors]:
    """How a turn is said. Only turns of a conversation are judged by it: a short note is as good as a long one."""
    import numpy as np

    turn = np.array([bool(p.session) and p.position is not None for p in evidence.places], np.float32)
    characters = np.array([place.characters for place in evidence.places], np.float32)
    asks = np.array([place.asks for place in evidence.places], np.float32)
    return {
        "brief": turn * (1 - np.minimum(np.log1p(characters) / np.log1p(BRIEF), 1)),
        "long": turn * np.maximum(np.log1p(characters) - np.log1p(LONG), 0),
        "question": turn * asks,
    }


def against_best(values: Vectors) -> Vectors:
    best = float(values.max(initial=0))
    return values / best if best > 0 else values * 0


def moved(values: Vectors, to: NDArray[np.int64]) -> Vectors:
    import numpy as np

    return np.where(to >= 0, values[to], 0)


def widest(shares: Vectors, evidence: Evidence, reach: int) -> Vectors:
    """For each term, the best that a place or any turn within reach of it offers."""
    import numpy as np

    best = backward = forward = shares
    for _ in range(reach):
        backward = np.where(evidence.before >= 0, backward[:, evidence.before], 0)
        forward = np.where(evidence.after >= 0, forward[:, evidence.after], 0)
        best = np.maximum(best, np.maximum(backward, forward))
    return best


def coverage(shares: Vectors, evidence: Evidence, asked: Question) -> Vectors:
    """How much of what was asked is there, rare words counting more; the names of speakers, being everywhere, not."""
    import numpy as np

    names = asked.named(frozenset(place.role for place in evidence.places))
    worth = np.array(
        [0 if term in names else found for term, found in zip(evidence.terms, evidence.rarity, strict=True)]
    )
    whole = float(worth.sum())
    found = (worth[:, None] * (shares > 0)).sum(axis=0)
    return np.asarray(found / whole if whole > 0 else found, np.float32)


def spoken_by(evidence: Evidence, speakers: frozenset[str]) -> Vectors:
    import numpy as np

    return np.array([place.role in speakers for place in evidence.places], np.float32)


def best_of_session(values: Vectors, evidence: Evidence) -> Vectors:
    import numpy as np

    best = np.zeros(int(evidence.session.max(initial=-1)) + 1, np.float32)
    np.maximum.at(best, evidence.session, values)
    return best[evidence.session]


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


def judged(memory: Memory, asked: Question, cosine: float | None) -> float:
    """The same for one memory by itself, for the strategies that do not look around."""
    held = f" {' '.join(stems(f'{memory.title} {memory.text}'))} "
    covered = sum(f" {term} " in held for term in asked.terms) / max(1, len(asked.terms))
    if cosine is None:
        return covered
    return 1 / (1 + math.exp(-(INTERCEPT + BY_COSINE * max(cosine, 0.0) + BY_COVERAGE * covered)))
