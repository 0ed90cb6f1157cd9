"""What belongs to an embedder and not to the code: how its cosines are read, by its identity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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


CALIBRATIONS: Mapping[str, Calibration] = {
    "nacre-multilingual-1": Calibration(-5.79, 4.91, 2.06, 7.0),
    "nacre-english-1": Calibration(-5.79, 4.91, 2.06, 7.0),  # its cosines agree with the other's (correlation 0.997)
    "all-MiniLM-L6-v2": Calibration(-5.45, 4.36, 2.04, 4.23),
}
# For an embedder that nobody has measured: its relevance orders hits of one question, and is no probability.
UNCALIBRATED = CALIBRATIONS["all-MiniLM-L6-v2"]


def calibration(identity: str) -> Calibration:
    return CALIBRATIONS.get(identity, UNCALIBRATED)


def is_calibrated(identity: str) -> bool:
    return identity in CALIBRATIONS
