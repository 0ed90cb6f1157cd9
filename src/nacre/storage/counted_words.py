"""BM25 by counting, for the backend that keeps no index."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from nacre.protocols import Posting, Words

Name = TypeVar("Name", str, int)
K1, B = 1.2, 0.75  # as SQLite's full-text index has it


def padded(words: Words) -> str:
    # The bars keep a phrase from running out of one field into the next.
    return f" {words.title} | {words.text} | {words.role} | {words.tags} | {words.entities} "


def bm25(terms: Sequence[str], texts: dict[str, str]) -> dict[str, float]:
    lengths = {id: len(text.split()) for id, text in texts.items()}
    scores: dict[str, float] = defaultdict(float)
    for term in terms:
        shares = weights(term, texts, lengths)
        rarity = math.log(1 + (len(texts) - len(shares) + 0.5) / (len(shares) + 0.5))
        for id, share in shares.items():
            scores[id] += rarity * share
    return scores


def weights(term: str, texts: Mapping[Name, str], lengths: Mapping[Name, int]) -> dict[Name, float]:
    usual = max(1.0, sum(lengths.values()) / max(1, len(lengths)))
    counts = {id: times for id, text in texts.items() if term.strip() and (times := text.count(f" {term} "))}
    return {id: times * (K1 + 1) / (times + K1 * (1 - B + B * lengths[id] / usual)) for id, times in counts.items()}


def posting(shares: Mapping[int, float]) -> Posting:
    keys = sorted(shares)
    return Posting(np.array(keys, np.int64), np.array([shares[key] for key in keys], np.float32))
