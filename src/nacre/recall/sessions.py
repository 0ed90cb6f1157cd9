"""Ranks whole conversations by their best turns and by all their turns together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from nacre.model import Reason
from nacre.protocols import Vectors
from nacre.recall.gather import PlacedCandidates, Question, gather
from nacre.recall.signals import best_of_turns, said_by
from nacre.recall.strategies import Sources, embed_question
from nacre.text.dates import when_weight

# A session's words are summed over its turns; so many turns of each channel are read.
SESSION_POOL = 600
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
TURNS_RETURNED = 3  # turns returned with each session


class BestTurn(NamedTuple):
    id: str
    cosine: float | None


class ScoredSession(NamedTuple):
    session: str
    score: float
    why: tuple[Reason, ...]
    turns: tuple[BestTurn, ...]  # best first


def rank_sessions(question: Question, sources: Sources) -> tuple[list[ScoredSession], tuple[str, ...]]:
    """Memories outside of any conversation are left out."""
    vector, notes = embed_question(question, sources)
    candidates = gather(question, vector, space=sources.space, reader=sources.reader, pool=SESSION_POOL, reach=0)
    return score_sessions(candidates, question), notes


def score_sessions(candidates: PlacedCandidates, question: Question) -> list[ScoredSession]:
    if not candidates.places:
        return []
    signals = session_signals(candidates, question)
    scores = np.sum([WEIGHTS[name] * values for name, values in signals.items()], axis=0) / FULL_SCORE
    names = {int(code): place.session for code, place in zip(candidates.session, candidates.places, strict=True)}
    ranked = [int(code) for code in np.argsort(-scores, kind="stable") if names[int(code)]]
    best = turn_scores(candidates)
    return [
        ScoredSession(
            names[code],
            float(scores[code]),
            tuple(Reason(name, WEIGHTS[name] * float(values[code]) / FULL_SCORE) for name, values in signals.items()),
            best_turns(candidates, best, code),
        )
        for code in ranked[: question.query.k]
    ]


def session_signals(candidates: PlacedCandidates, question: Question) -> dict[str, Vectors]:
    by_voice = said_by(candidates, question.likely_roles)
    by_voice = by_voice if by_voice.any() else np.ones_like(by_voice)
    meaning = np.maximum(candidates.cosines, 0)
    return {
        "best turn's meaning": rescaled(best_of_turns(meaning, candidates)),
        "asker's best meaning": rescaled(best_of_turns(meaning * by_voice, candidates)),
        "best turn's words": rescaled(best_of_turns(candidates.shares.sum(axis=0), candidates)),
        "asker's words": rescaled(saturated_words(candidates.shares * by_voice, candidates)),
        "asker's coverage": coverage_by_session(candidates.shares * by_voice, candidates),
        "time": best_of_turns(time_signal(candidates, question), candidates),
    }


def saturated_words(shares: Vectors, candidates: PlacedCandidates) -> Vectors:
    """For each term its weight in all turns of the session, saturating, times its rarity."""
    total = np.zeros(int(candidates.session.max()) + 1, np.float32)
    for row, rarity in zip(shares, candidates.rarity, strict=True):
        mass = np.bincount(candidates.session, row / max(float(rarity), 1e-9), len(total))
        total += (rarity * mass / (mass + SATURATION)).astype(np.float32)
    return total


def coverage_by_session(shares: Vectors, candidates: PlacedCandidates) -> Vectors:
    """The share of the question's terms that occurs anywhere in the session; rare terms count more."""
    total = np.zeros(int(candidates.session.max()) + 1, np.float32)
    for row, rarity in zip(shares, candidates.rarity, strict=True):
        total += rarity * (np.bincount(candidates.session, row, len(total)) > 0)
    return total / max(float(candidates.rarity.sum()), 1e-9)


def time_signal(candidates: PlacedCandidates, question: Question) -> Vectors:
    if not question.windows:
        return np.zeros(len(candidates.places), np.float32)
    return np.array([when_weight(place.at, question.windows) for place in candidates.places], np.float32)


def rescaled(values: Vectors) -> Vectors:
    low, high = float(values.min(initial=0)), float(values.max(initial=0))
    return (values - low) / (high - low) if high > low else values * 0


def turn_scores(candidates: PlacedCandidates) -> Vectors:
    return rescaled(np.maximum(candidates.cosines, 0)) + rescaled(candidates.shares.sum(axis=0))


def best_turns(candidates: PlacedCandidates, best: Vectors, code: int) -> tuple[BestTurn, ...]:
    turns = np.flatnonzero(candidates.session == code)
    ranked = turns[np.argsort(-best[turns], kind="stable")][:TURNS_RETURNED].tolist()
    known = candidates.cosines.any()
    return tuple(BestTurn(candidates.places[i].id, float(candidates.cosines[i]) if known else None) for i in ranked)
