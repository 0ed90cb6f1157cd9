"""Asks each channel for its candidates, over the whole space and with the filter in force."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.errors import EmbeddingError
from nacre.ports import Embedder, Match, Store
from nacre.recall.fuse import STRATEGIES
from nacre.recall.understand import Asked

# A memory that is 40th by words and 40th by meaning may be the best by both.
OVERFETCH = 8
LEAST_POOL = 60


@dataclass(frozen=True, slots=True)
class Gathered:
    channels: dict[str, list[Match]]
    notes: tuple[str, ...] = ()


def gather(asked: Asked, *, space: str, store: Store, embedder: Embedder) -> Gathered:
    wanted = STRATEGIES[asked.strategy]
    pool = max(LEAST_POOL, OVERFETCH * asked.k)
    channels: dict[str, list[Match]] = {}
    notes: tuple[str, ...] = ()
    if "meaning" in wanted:
        try:
            vector = embedder.embed([asked.text])[0]
            channels["meaning"] = store.by_vector(space, vector, asked.where, pool)
        except EmbeddingError as error:
            notes = (f"Answered from words alone: {error}",)
    if "words" in wanted or notes:
        channels["words"] = store.by_words(space, asked.terms, asked.where, pool)
    return Gathered(channels, notes)
