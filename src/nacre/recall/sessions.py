"""Ranks whole conversations: by their best turns, and by what all their turns say together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from nacre.model import Reason
from nacre.protocols import Vectors
from nacre.recall.gather import Evidence, collect
from nacre.recall.signals import spoken_by
from nacre.recall.strategies import Sources, direction
from nacre.recall.understand import Question
from nacre.text.dates import when_weight

# A session's words are summed over its turns; so many turns of each channel are read.
POOL = 600
# Fitted by `benchmarks/fit_recall.py` on the pooled development half of LongMemEval, five folds over questions.
WEIGHTS: Mapping[str, float] = {
    "best turn's meaning": 3.52,
    "asker's best meaning": 1.46,
    "best turn's words": 3.85,
    "asker's words": 1.36,
    "asker's coverage": 3.63,
    "time": 5.79,
}
FULL_SCORE = sum(weight for name, weight in WEIGHTS.items() if name != "time")
SATURATION = 1.2  # BM25's k1: the tenth mention of a word in a session says little more than the third
DECIDING = 3  # turns returned with each session


class Decisive(NamedTuple):
    id: str
    cosine: float


@dataclass(frozen=True, slots=True)
class ScoredSession:
    session: str
    score: float
    why: tuple[Reason, ...]
    turns: tuple[Decisive, ...]  # best first


def rank_sessions(asked: Question, sources: Sources, k: int) -> tuple[list[ScoredSession], tuple[str, ...]]:
    """Memories outside of any conversation are left out."""
    vector, notes = direction(asked, sources)
    evidence = collect(asked, vector, space=sources.space, store=sources.store, pool=POOL, reach=0)
    return scored(evidence, asked, k), notes


def scored(evidence: Evidence, asked: Question, k: int) -> list[ScoredSession]:
    import numpy as np

    if not evidence.places:
        return []
    told = session_signals(evidence, asked)
    scores = np.sum([WEIGHTS[name] * found for name, found in told.items()], axis=0) / FULL_SCORE
    names = {int(code): place.session for code, place in zip(evidence.session, evidence.places, strict=True)}
    ranked = [int(code) for code in np.argsort(-scores, kind="stable") if names[int(code)]][:k]
    best = turn_scores(evidence)
    return [
        ScoredSession(
            names[code],
            float(scores[code]),
            tuple(Reason(name, WEIGHTS[name] * float(found[code]) / FULL_SCORE) for name, found in told.items()),
            deciding(evidence, best, code),
        )
        for code in ranked
    ]


def session_signals(evidence: Evidence, asked: Question) -> dict[str, Vectors]:
    import numpy as np

    heard = spoken_by(evidence, asked.voice)
    heard = heard if heard.any() else np.ones_like(heard)
    meaning = np.maximum(evidence.cosines, 0)
    return {
        "best turn's meaning": spread(highest(meaning, evidence)),
        "asker's best meaning": spread(highest(meaning * heard, evidence)),
        "best turn's words": spread(highest(evidence.shares.sum(axis=0), evidence)),
        "asker's words": spread(together(evidence.shares * heard, evidence)),
        "asker's coverage": covered(evidence.shares * heard, evidence),
        "time": highest(in_time(evidence, asked), evidence),
    }


def highest(values: Vectors, evidence: Evidence) -> Vectors:
    import numpy as np

    best = np.zeros(int(evidence.session.max()) + 1, np.float32)
    np.maximum.at(best, evidence.session, values)
    return best


def together(shares: Vectors, evidence: Evidence) -> Vectors:
    """For each term its weight in all turns of the session, saturating, times its rarity."""
    import numpy as np

    whole = np.zeros(int(evidence.session.max()) + 1, np.float32)
    for row, rarity in zip(shares, evidence.rarity, strict=True):
        mass = np.bincount(evidence.session, row / max(float(rarity), 1e-9), len(whole))
        whole += (rarity * mass / (mass + SATURATION)).astype(np.float32)
    return whole


def covered(shares: Vectors, evidence: Evidence) -> Vectors:
    """The share of what was asked that is said anywhere in the session, rare words counting more."""
    import numpy as np

    whole = np.zeros(int(evidence.session.max()) + 1, np.float32)
    for row, rarity in zip(shares, evidence.rarity, strict=True):
        whole += rarity * (np.bincount(evidence.session, row, len(whole)) > 0)
    return whole / max(float(evidence.rarity.sum()), 1e-9)


def in_time(evidence: Evidence, asked: Question) -> Vectors:
    import numpy as np

    if not asked.windows:
        return np.zeros(len(evidence.places), np.float32)
    return np.array([when_weight(place.at, asked.windows) for place in evidence.places], np.float32)


def spread(values: Vectors) -> Vectors:
    low, high = float(values.min(initial=0)), float(values.max(initial=0))
    return (values - low) / (high - low) if high > low else values * 0


def turn_scores(evidence: Evidence) -> Vectors:
    import numpy as np

    return spread(np.maximum(evidence.cosines, 0)) + spread(evidence.shares.sum(axis=0))


def deciding(evidence: Evidence, best: Vectors, code: int) -> tuple[Decisive, ...]:
    import numpy as np

    turns = np.flatnonzero(evidence.session == code)
    ranked = turns[np.argsort(-best[turns], kind="stable")][:DECIDING].tolist()
    return tuple(Decisive(evidence.places[i].id, float(evidence.cosines[i])) for i in ranked)
