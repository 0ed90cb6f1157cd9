"""Computes the signals of each candidate, each about 0 to 1, and combines them into one score."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nacre.model import Memory
from nacre.protocols import Vectors
from nacre.recall.gather import REACH, Candidates
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
# A turn of fewer characters than BRIEF ("Thanks!") rarely answers; one of more than LONG buries the answer.
BRIEF, LONG = 110, 560


def signals(candidates: Candidates, question: Question) -> dict[str, Vectors]:
    import numpy as np

    shares = candidates.shares
    meaning = relative_to_best(np.maximum(candidates.cosines, 0))
    words = relative_to_best(shares.sum(axis=0))
    nearby = relative_to_best(best_within(shares, candidates, 1).sum(axis=0))
    mixed = sum(share * {"meaning": meaning, "words": words, "words nearby": nearby}[name]
                for name, share in CONVERSATION_MIX.items())  # fmt: skip
    result = {
        "meaning": meaning,
        "words": words,
        "words nearby": nearby,
        "coverage nearby": coverage(best_within(shares, candidates, REACH), candidates, question),
        "speaker": said_by(candidates, question.speakers(frozenset(place.role for place in candidates.places))),
        "voice": said_by(candidates, question.voice),
        "turn before": shifted(meaning, candidates.before),
        "turn after": shifted(meaning, candidates.after),
        "conversation": best_of_session(np.asarray(mixed), candidates),
    }
    return result | style_signals(candidates)


def weighted_sum(signals: Mapping[str, Vectors], weights: Mapping[str, float] = WEIGHTS) -> Vectors:
    import numpy as np

    total = np.zeros(len(next(iter(signals.values()))), np.float32)
    for name, values in signals.items():
        total += np.float32(weights[name] / FULL_SCORE) * values
    return total


def style_signals(candidates: Candidates) -> dict[str, Vectors]:
    """Length and form of turns. They count only in conversations: a short note is as good as a long one."""
    import numpy as np

    turn = np.array([bool(p.session) and p.position is not None for p in candidates.places], np.float32)
    characters = np.array([place.characters for place in candidates.places], np.float32)
    asks = np.array([place.asks for place in candidates.places], np.float32)
    return {
        "brief": turn * (1 - np.minimum(np.log1p(characters) / np.log1p(BRIEF), 1)),
        "long": turn * np.maximum(np.log1p(characters) - np.log1p(LONG), 0),
        "question": turn * asks,
    }


def relative_to_best(values: Vectors) -> Vectors:
    best = float(values.max(initial=0))
    return values / best if best > 0 else values * 0


def shifted(values: Vectors, to: NDArray[np.int64]) -> Vectors:
    import numpy as np

    return np.where(to >= 0, values[to], 0)


def best_within(shares: Vectors, candidates: Candidates, reach: int) -> Vectors:
    """For each term, the best share of a place or of any turn within reach of it."""
    import numpy as np

    best = backward = forward = shares
    for _ in range(reach):
        backward = np.where(candidates.before >= 0, backward[:, candidates.before], 0)
        forward = np.where(candidates.after >= 0, forward[:, candidates.after], 0)
        best = np.maximum(best, np.maximum(backward, forward))
    return best


def coverage(shares: Vectors, candidates: Candidates, question: Question) -> Vectors:
    """The share of the question's terms that is present; rare terms count more, the names of speakers do not count."""
    import numpy as np

    names = question.speaker_stems(frozenset(place.role for place in candidates.places))
    worth = np.array(
        [0 if term in names else rarity for term, rarity in zip(candidates.terms, candidates.rarity, strict=True)]
    )
    total = float(worth.sum())
    present = (worth[:, None] * (shares > 0)).sum(axis=0)
    return np.asarray(present / total if total > 0 else present, np.float32)


def said_by(candidates: Candidates, speakers: frozenset[str]) -> Vectors:
    import numpy as np

    return np.array([place.role in speakers for place in candidates.places], np.float32)


def best_of_session(values: Vectors, candidates: Candidates) -> Vectors:
    import numpy as np

    best = np.zeros(int(candidates.session.max(initial=-1)) + 1, np.float32)
    np.maximum.at(best, candidates.session, values)
    return best[candidates.session]


# A logistic curve over the cosine itself and the share of the question's words that occur nearby; fitted by
# `benchmarks/fit_recall.py` on the best hits of the development questions.
INTERCEPT = -5.45
BY_COSINE = 4.36
BY_COVERAGE = 2.04


def relevances(candidates: Candidates, signals: Mapping[str, Vectors]) -> Vectors:
    """The probability that each candidate answers; without vectors, the share of the question's terms."""
    import numpy as np

    if not candidates.cosines.any():
        return signals["coverage nearby"]
    logit = INTERCEPT + BY_COSINE * np.maximum(candidates.cosines, 0) + BY_COVERAGE * signals["coverage nearby"]
    return np.asarray(1 / (1 + np.exp(-logit)), np.float32)


def relevance_alone(memory: Memory, question: Question, cosine: float | None) -> float:
    """The same for one memory by itself, for strategies that do not read its neighbours."""
    held = f" {' '.join(stems(f'{memory.title} {memory.text}'))} "
    covered = sum(f" {term} " in held for term in question.terms) / max(1, len(question.terms))
    if cosine is None:
        return covered
    return 1 / (1 + math.exp(-(INTERCEPT + BY_COSINE * max(cosine, 0.0) + BY_COVERAGE * covered)))
