"""How to read an embedder's cosines: a calibration for each embedder that was measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nacre.model.memory import Json
from nacre.protocols import UPKEEP, Embedder, Reader


@dataclass(frozen=True, slots=True)
class Calibration:
    """The probability that a memory answers: a logistic curve over the cosine and the share of the question's words
    that occur nearby; fitted by `benchmarks/fit_recall.py` on the best hits of the development questions.
    `meaning` is the weight of the cosine among the signals of a recall.
    """

    intercept: float
    by_cosine: float
    by_coverage: float
    meaning: float

    def log_odds(self, cosine: Any, coverage: Any) -> Any:
        """Of one memory, or of arrays of them."""
        return self.intercept + self.by_cosine * cosine + self.by_coverage * coverage


def logistic(log_odds: float) -> float:
    """The probability."""
    return (1 + math.tanh(log_odds / 2)) / 2


CALIBRATIONS: Mapping[str, Calibration] = {
    "nacre-multilingual-1": Calibration(-4.29, 4.05, 0.75, 6.35),
    "nacre-english-1": Calibration(-4.29, 4.05, 0.75, 6.35),  # its cosines agree with the other's (correlation 0.997)
    # Fitted on conversations only. Meaning keeps half of a note's score, so that a note with all words of the question
    # is not ranked below one that is only similar.
    "all-MiniLM-L6-v2": Calibration(-5.45, 4.36, 2.04, 3.3),
}
# For an embedder that nobody has measured: its relevance orders hits of one question, and is no probability.
UNCALIBRATED = CALIBRATIONS["all-MiniLM-L6-v2"]
SHIPPED = CALIBRATIONS["nacre-multilingual-1"]
# Median cosine between halves of different texts (unrelated) and of one text (related), for the shipped embedders (0.03
# and 0.21, 0.01 and 0.28). Another embedder's cosines are rescaled so that its two medians match these.
UNRELATED, RELATED = 0.02, 0.24
FEWEST_WORDS = 8  # of a text whose halves say something
FEWEST_TEXTS, MOST_TEXTS = 30, 200
MEASURED = "calibration"  # the term of a store that holds what was measured of its embedder
LEAST_GAP = 0.05  # between the two medians; an embedder with less tells texts apart by their words alone


def is_calibrated(identity: str) -> bool:
    return identity in CALIBRATIONS


def rescaled(unrelated: float, related: float) -> Calibration | None:
    """For an embedder with these median cosines; None where they are too near to each other to mean anything."""
    if related - unrelated < LEAST_GAP:
        return None
    scale = (RELATED - UNRELATED) / (related - unrelated)
    intercept = SHIPPED.intercept + SHIPPED.by_cosine * (UNRELATED - scale * unrelated)
    return Calibration(intercept, SHIPPED.by_cosine * scale, SHIPPED.by_coverage, UNCALIBRATED.meaning)


def measured_values(identity: str, dimensions: int, medians: tuple[float, float]) -> dict[str, Json]:
    """What a store keeps, with the identity that it belongs to."""
    unrelated, related = medians
    return {"embedder": identity, "dimensions": dimensions, "unrelated": unrelated, "related": related}


def calibration_of(identity: str, reader: Reader) -> tuple[Calibration, bool]:
    """How this embedder's cosines are read, and whether that was measured: by us, or at a reindexing of the store."""
    if is_calibrated(identity):
        return CALIBRATIONS[identity], True
    measured = reader.term(UPKEEP, MEASURED) or {}
    unrelated, related = measured.get("unrelated"), measured.get("related")
    if measured.get("embedder") != identity or not isinstance(unrelated, float) or not isinstance(related, float):
        return UNCALIBRATED, False
    calibration = rescaled(unrelated, related)
    return (UNCALIBRATED, False) if calibration is None else (calibration, True)


def median_cosines(texts: Sequence[str], embedder: Embedder) -> tuple[float, float] | None:
    """The medians between halves of different texts, and between the two halves of a text; None for too few texts.

    Raises `EmbeddingError`.
    """
    words = [each for text in texts if len(each := text.split()) >= FEWEST_WORDS][:MOST_TEXTS]
    if len(words) < FEWEST_TEXTS:
        return None
    import numpy as np

    halves = [" ".join(part) for each in words for part in (each[: len(each) // 2], each[len(each) // 2 :])]
    rows = embedder.embed(halves)
    first, second = rows[::2], rows[1::2]
    others = np.roll(second, len(second) // 2, axis=0)
    return float(np.median((first * others).sum(axis=1))), float(np.median((first * second).sum(axis=1)))
