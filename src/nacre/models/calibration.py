"""How likely a memory is to answer a question, by its cosine, its words and what a model says that has read both."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from nacre.files import data_sections
from nacre.model.memory import Json
from nacre.protocols import Data, Embedder


class Closeness(NamedTuple):
    """How near a memory is to a question before anything is read: the cosine (None without vectors), and the share of
    the question's words that occur in it or nearby; whether it is a turn of a conversation; how far the cosine is below
    the best one of the question."""

    cosine: float | None
    coverage: float
    turn: bool = False
    cosine_gap: float = 0.0


class Reading(NamedTuple):
    """The log odds by which a model says, after reading, that the memory answers, and how far these are below those of
    the best memory that was read for the same question."""

    log_odds: float
    gap: float = 0.0


class Curve(NamedTuple):
    """A logistic curve: what adds up to the log odds."""

    constant: float
    cosine: float
    coverage: float
    cosine_gap: float  # to the best of the question
    reading: float
    reading_gap: float  # to the best that was read

    def relevance(self, closeness: Closeness, reading: Reading | None) -> float:
        log_odds = self.constant + self.cosine * (closeness.cosine or 0.0) + self.coverage * closeness.coverage
        log_odds += self.cosine_gap * closeness.cosine_gap
        if reading is not None:
            log_odds += self.reading * reading.log_odds + self.reading_gap * reading.gap
        return logistic(log_odds)


class Together(NamedTuple):
    """The log odds of a hit by its own, and by the logarithm of the probability that any of the hits answers. Where
    nothing answers, some hit may look as if it did; where something does, several hits and both ways to look agree."""

    constant: float
    own: float
    any: float

    def relevance(self, alone: float, any: float) -> float:
        return logistic(self.constant + self.own * math.log(alone / (1 - alone)) + self.any * math.log(any))


class Floor(NamedTuple):
    """Below `best` the best hit of a question probably does not answer it, and nothing is returned. Hits below `each`
    are left out; it is lower, because a question may have several answers, and the best is not always first."""

    best: float
    each: float


def case_of(closeness: Closeness, reading: Reading | None) -> str:
    """What is known of a hit. Each case has a curve and a floor of its own, fitted on the same questions, so that
    relevance means the same while a model loads, and where there is no time to read. Turns of conversations have other
    cosines than notes, and a floor as high would cost them more answers than it spares wrong hits."""
    known = "words" if closeness.cosine is None else "vectors"
    return f"{known}{', read' if reading else ''}{' of turns' if closeness.turn else ' of notes'}"


@cache
def fitted_curves() -> Mapping[str, Curve]:
    """By case."""
    return {name: Curve(*values) for name, values in fitted("curves")}


@cache
def fitted_floors() -> Mapping[str, Floor]:
    """By case. How they are chosen is written in `benchmarks/fit_answers.py`."""
    return {name: Floor(*values) for name, values in fitted("floors")}


READ_NOTES = "vectors, read of notes"
FITTED_HITS = 8  # of each question, for which the probability of any was fitted


def weighed_together(alone: Mapping[str, float], read: Collection[str]) -> dict[str, float]:
    """The relevance of notes that were found with vectors, by id, from that of each alone. Those that were `read` say
    how likely it is that any answers; where fewer were read than for the fit, the others count as the least of them."""
    against = [math.log(1 - bounded(alone[id])) for id in read]
    any = -math.expm1(sum(against) + max(0, FITTED_HITS - len(against)) * max(against))
    return {id: fitted_together().relevance(bounded(relevance), any) for id, relevance in alone.items()}


@cache
def fitted_together() -> Together:
    """For notes that were found with vectors and read."""
    return Together(*dict(fitted("together"))[READ_NOTES])


LEAST_PROBABILITY = 1e-6  # keeps the log odds finite


def bounded(probability: float) -> float:
    return min(max(probability, LEAST_PROBABILITY), 1 - LEAST_PROBABILITY)


def fitted(section: str) -> list[tuple[str, list[float]]]:
    lines = dict(data_sections("models/calibration.txt"))[section]
    rows = ([part.strip() for part in line.split("|")] for line in lines)
    return [(name, [*map(float, values)]) for name, *values in rows]


def floor_of(closeness: Closeness, reading: Reading | None = None) -> Floor:
    return fitted_floors()[case_of(closeness, reading)]


# Relative to the relevance of a memory without any word or meaning of the question. A little more than 1, so that a
# cosine just above 0, which is chance, stays below the floor.
ABOVE_NOTHING = 1.05


class Calibration(NamedTuple):
    """Of one embedder: the weight of the cosine among the signals of a recall, and how its cosines are mapped to those
    of the shipped embedder, for which the curves were fitted."""

    meaning: float
    scale: float = 1.0
    offset: float = 0.0

    def relevance(self, closeness: Closeness, reading: Reading | None = None) -> float:
        """The probability that the memory answers."""
        curve = fitted_curves()[case_of(closeness, reading)]
        if closeness.cosine is not None:
            cosine, gap = self.cosine(closeness.cosine), self.scale * closeness.cosine_gap
            closeness = closeness._replace(cosine=cosine, cosine_gap=gap)
        return curve.relevance(closeness, reading)

    def cosine(self, of_embedder: float | None) -> float:
        """As the shipped embedder would give it; 0 without vectors."""
        return 0.0 if of_embedder is None else max(0.0, self.scale * of_embedder + self.offset)

    def nothing_in_common(self, closeness: Closeness) -> Floor:
        """For an embedder that was never measured: only what has neither words nor meaning of the question is below."""
        none = closeness._replace(cosine=None if closeness.cosine is None else 0.0, coverage=0.0)
        return Floor(ABOVE_NOTHING * self.relevance(none), 0.0)


def logistic(log_odds: float) -> float:
    """The probability."""
    return (1 + math.tanh(log_odds / 2)) / 2


SHIPPED = Calibration(6.35)
CALIBRATIONS: Mapping[str, Calibration] = {
    "nacre-multilingual-3": SHIPPED,
    "nacre-english-3": SHIPPED,  # its cosines agree with the other's (correlation 0.997)
    # Mapped so that the curves that were fitted to both on conversations agree. Meaning keeps half of a note's score,
    # so that a note with all words of the question is not ranked below one that is only similar.
    "all-MiniLM-L6-v2": Calibration(3.3, 1.08, -0.29),
}
# For an embedder that nobody has measured: its relevance orders hits of one question, and is no probability.
UNCALIBRATED = CALIBRATIONS["all-MiniLM-L6-v2"]
# Median cosine between halves of different texts (unrelated) and of one text (related), for the shipped embedders (0.03
# and 0.21, 0.01 and 0.28). Another embedder's cosines are rescaled so that its two medians match these.
UNRELATED, RELATED = 0.02, 0.24
FEWEST_WORDS = 8  # of a text whose halves say something
FEWEST_TEXTS, MOST_TEXTS = 30, 200
LEAST_GAP = 0.05  # between the two medians; an embedder with less tells texts apart by their words alone


def is_calibrated(identity: str) -> bool:
    return identity in CALIBRATIONS


def rescaled(unrelated: float, related: float) -> Calibration | None:
    """For an embedder with these median cosines; None where they are too near to each other to mean anything."""
    if related - unrelated < LEAST_GAP:
        return None
    scale = (RELATED - UNRELATED) / (related - unrelated)
    return Calibration(UNCALIBRATED.meaning, scale, UNRELATED - scale * unrelated)


def measured_values(identity: str, dimensions: int, medians: tuple[float, float]) -> dict[str, Json]:
    """What a store keeps, with the identity that it belongs to."""
    unrelated, related = medians
    return {"embedder": identity, "dimensions": dimensions, "unrelated": unrelated, "related": related}


def calibration_of(identity: str, stored: Data | None) -> tuple[Calibration, bool]:
    """How this embedder's cosines are read, and whether that was measured: by us, or at a reindexing of the store,
    which has `stored` it."""
    if is_calibrated(identity):
        return CALIBRATIONS[identity], True
    measured = stored or {}
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
