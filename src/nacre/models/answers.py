"""Reads a question with each of the best memories, in a limited time: does this memory answer it?"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

from nacre.files import ThreadLock
from nacre.models.calibration import logistic
from nacre.models.cross_encoder import IDENTITY, constants, failure, graph, is_loaded
from nacre.protocols import Answer

log = logging.getLogger("nacre")

MOST_READ = 8  # memories of one question
FEWEST_READ = 2  # one alone cannot change the order
# Milliseconds a token in a batch, until it was measured: twice what two idle cores of 2020 need.
FIRST_PACE = 0.35
LAST_SHARE = 0.3  # of the last batch in the estimate
# A question that was skipped for lack of time lowers the estimate a little, so that reading is tried again.
RETRY_FACTOR = 0.95


class Pace:
    """How long a token takes on this machine, as far as it is known; for all users of a process."""

    def __init__(self, first: float = FIRST_PACE) -> None:
        self.ms_a_token = first

    def affordable(self, lengths: Sequence[int], budget_ms: float) -> int:
        """How many of the first texts can be read in this time."""
        tokens, count = 0, 0
        while count < len(lengths) and (tokens + lengths[count]) * self.ms_a_token <= budget_ms:
            tokens += lengths[count]
            count += 1
        return count if count >= min(FEWEST_READ, len(lengths)) else 0

    def record_skipped(self) -> None:
        self.ms_a_token *= RETRY_FACTOR

    def record(self, tokens: int, ms: float) -> None:
        self.ms_a_token = (1 - LAST_SHARE) * self.ms_a_token + LAST_SHARE * ms / max(1, tokens)


_pace = Pace()


class ShippedAnswerModel:
    """`waits` is False in a long-lived process: until the model is loaded, in the background, nothing is read."""

    identity = IDENTITY

    def __init__(self, budget_ms: float, *, waits: bool = True, pace: Pace = _pace) -> None:
        self._budget_ms, self._waits, self._pace = budget_ms, waits, pace

    def answers(self, question: str, texts: Sequence[str]) -> list[Answer]:
        if not is_loaded() and not self._waits:
            load_in_background()
            return []
        try:
            scores, fitted = self._scores(question, texts), constants("answers")
        except Exception as error:  # noqa: BLE001 - onnxruntime's errors have no other root
            log.debug("Nothing was read for a recall: %s", failure(error))
            return []
        return [
            Answer(fitted["weight"] * logistic(score), fitted["by_reading"] * score + fitted["shift"])
            for score in scores
        ]

    def _scores(self, question: str, texts: Sequence[str]) -> list[float]:
        model = graph()
        pairs = [model.pair(question, text) for text in texts[:MOST_READ]]
        count = self._pace.affordable([len(pair.ids) for pair in pairs], self._budget_ms)
        if pairs and not count:
            self._pace.record_skipped()
        if not count:
            return []
        pairs = pairs[:count]
        began = time.perf_counter()
        scores = [float(score[0]) for (score,) in model.scores(pairs, "answers")]
        self._pace.record(sum(len(pair.ids) for pair in pairs), 1e3 * (time.perf_counter() - began))
        return scores


_starting = ThreadLock()
_loader: threading.Thread | None = None


def load_in_background() -> threading.Thread:
    """One thread for the process; after a failure the next call tries again."""
    global _loader
    with _starting:
        if _loader is None or not _loader.is_alive():
            _loader = threading.Thread(target=_load, name="nacre-model", daemon=True)
            _loader.start()
        return _loader


def _load() -> None:
    try:
        graph()
    except Exception as error:  # noqa: BLE001 - as above
        log.debug("The cross-encoder was not loaded: %s", failure(error))
