"""The shipped cross-encoder: a graph that reads one text, or two together, with a head for each question about them.

Asked are how two memories relate, whether the newer tells another state of what the older tells, whether a memory
answers a question, and whether a text gives orders to a model. numpy and
onnxruntime are imported, and the graph is opened, when the first text is read: many commands name a model and never use
it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Literal

from nacre.errors import ConflictModelError
from nacre.files import ThreadLock
from nacre.models.calibration import logistic
from nacre.models.onnx_session import in_parallel, open_session, runs
from nacre.models.shipped import shipped
from nacre.models.tokenizers import Pair, WordPiece, WordPiecePairs
from nacre.protocols import Answer, Relation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger("nacre")

GRAPH, WEIGHTS, CONSTANTS, VOCABULARY = "cross_encoder.onnx", "cross_encoder.bin", "cross_encoder.json", "wordpiece.txt"
IDENTITY = "nacre-cross-encoder"
TOKENS = 256  # of a text or a pair, as in training
TOKENS_A_RUN = 128  # pairs run no faster in a batch than singly, and several runs share the cores
Head = Literal["relation", "one_place", "version", "answers", "orders"]
OWN_LAYERS: tuple[Head, ...] = ("answers",)  # heads that do not share the last layers


class CrossEncoderGraph:
    """Safe to use from several threads."""

    def __init__(self) -> None:
        shipped(WEIGHTS)  # which onnxruntime maps into memory
        self._session = open_session(shipped(GRAPH))
        self._wordpiece = WordPiece.from_vocabulary(shipped(VOCABULARY))
        self._pairs = WordPiecePairs(self._wordpiece, TOKENS)
        self.unknown = self._wordpiece.unknown_id

    def pair(self, first: str, second: str) -> Pair:
        return self._pairs.encode(first, second)

    def single(self, text: str) -> Pair:
        ids = self._wordpiece.encode(text, TOKENS)
        return Pair(ids, [0] * len(ids))

    def scores(self, pairs: Sequence[Pair], *heads: Head) -> list[tuple[NDArray[np.float32], ...]]:
        """For each pair, what each head says, before any scaling."""
        return self.timed_scores(pairs, *heads)[0]

    def timed_scores(self, pairs: Sequence[Pair], *heads: Head) -> tuple[list[tuple[NDArray[np.float32], ...]], float]:
        """The scores, and the seconds that they take on an idle machine."""
        import numpy as np

        scores: list[tuple[NDArray[np.float32], ...]] = [()] * len(pairs)

        def fill(run: list[int]) -> None:
            inputs = {"ids": [pairs[at].ids for at in run], "segments": [pairs[at].segments for at in run]}
            arrays = {name: np.array(rows, np.int32) for name, rows in inputs.items()}
            said: dict[Head, NDArray[np.float32]] = {}
            for own in {head in OWN_LAYERS for head in heads}:  # the last layers, which are run for these alone
                names = [head for head in heads if (head in OWN_LAYERS) == own]
                said |= zip(names, self._session.run(names, arrays | {"for_answers": np.array(own)}), strict=True)
            for at, *rows in zip(run, *(said[head] for head in heads), strict=True):
                scores[at] = tuple(rows)

        took = in_parallel(fill, list(runs([len(pair.ids) for pair in pairs], TOKENS_A_RUN)))
        return scores, took


_opening = ThreadLock()


@cache
def _graph() -> CrossEncoderGraph:
    return CrossEncoderGraph()


def graph() -> CrossEncoderGraph:
    """One for all users in a process. Raises `ValueError`, `ImportError` and what onnxruntime raises."""
    with _opening:  # two threads do not open it twice
        return _graph()


def is_loaded() -> bool:
    return bool(_graph.cache_info().currsize)


def failure(error: Exception) -> str:
    """Why the model could not be run, in one line."""
    return "onnxruntime is not installed" if isinstance(error, ImportError) else " ".join(str(error).split())


@cache
def constants(head: Head) -> Mapping[str, float]:
    """What was fitted for these weights. Raises `ValueError`."""
    values: dict[str, dict[str, float]] = json.loads(shipped(CONSTANTS).read_text(encoding="utf-8"))
    return values[head]


KEPT = 4096  # relations of pairs read before: a scan after a remember reads none of them again
# Texts that differ in one place only are also read by a second head, `one_place`: authors rarely write such pairs, and
# the relation head misses most of them.
LEAST_COMMON = 2  # words
MOST_UNKNOWN = 0.2  # of the pieces of a pair: what differs may be among them


def read_relations(pairs: Sequence[tuple[str, str]]) -> list[Relation]:
    """Of each pair of an older and a newer text. Raises what `graph` raises."""
    model = graph()
    encoded = [model.pair(older, newer) for older, newer in pairs]
    readable = [place for place, pair in enumerate(encoded) if tells_apart(pair, model.unknown)]
    relations = [UNREAD] * len(pairs)
    scores = model.scores([encoded[place] for place in readable], "relation", "one_place", "version")
    for place, (by_reading, by_place, version) in zip(readable, scores, strict=True):
        relation = probabilities(by_reading)
        if differ_in_one_place(*pairs[place]):
            relation = max(relation, probabilities(by_place), key=lambda each: each.conflict)
        relations[place] = replace(relation, version=logistic(float(version[0])))
    return relations


def tells_apart(pair: Pair, unknown: int) -> bool:
    """False where both texts read the same up to the limit, or mostly signs that the model does not know."""
    border = pair.segments.index(1)
    older, newer = pair.ids[1 : border - 1], pair.ids[border:-1]
    if len(pair.ids) >= TOKENS:  # of one text, a piece more may be read
        least = min(len(older), len(newer))
        older, newer = older[:least], newer[:least]
    return older != newer and pair.ids.count(unknown) <= MOST_UNKNOWN * len(pair.ids)


UNREAD = Relation(0.0, 0.0, 0.0, 1.0, version=0.0)


def differ_in_one_place(older: str, newer: str) -> bool:
    """Whether another word, or another name, stands in one place of an else common text."""
    a, b = older.split(), newer.split()
    least = min(len(a), len(b))
    begin = next((at for at in range(least) if a[at].casefold() != b[at].casefold()), least)
    rest = least - begin
    end = next((at for at in range(rest) if a[-1 - at].casefold() != b[-1 - at].casefold()), rest)
    one, other = a[begin : len(a) - end], b[begin : len(b) - end]
    named = all(word[0].isupper() for word in (*one, *other))
    return begin + end >= LEAST_COMMON and 0 < min(len(one), len(other)) <= max(len(one), len(other)) <= 1 + named


class ShippedConflictModel:
    """Every instance shares one session and what it has read; both begin with the first pair."""

    identity = IDENTITY

    @property
    def noted(self) -> float:
        return self._point("noted")

    @property
    def sure(self) -> float:
        return self._point("sure")

    def _point(self, name: str) -> float:
        try:
            return constants("relation")[name]
        except ValueError as error:
            raise ConflictModelError(str(error)) from error

    def relations(self, pairs: Sequence[tuple[str, str]]) -> list[Relation]:
        named = {digest(pair): pair for pair in pairs}
        known = {name: relation for name in named if (relation := _read_before.get(name)) is not None}
        unread = [name for name in named if name not in known]
        try:
            relations = read_relations([named[name] for name in unread]) if unread else []
        except Exception as error:  # onnxruntime's errors have no other root
            raise ConflictModelError(failure(error)) from error
        new = dict(zip(unread, relations, strict=True))
        if len(_read_before) + len(new) > KEPT:
            _read_before.clear()
        _read_before.update(new)
        known |= new
        return [known[digest(pair)] for pair in pairs]


def digest(pair: tuple[str, str]) -> bytes:
    """A name for a pair that does not keep its texts: what was purged must not stay in the process."""
    older, newer = (hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in pair)
    return older + newer


_read_before: dict[bytes, Relation] = {}


def probabilities(scores: NDArray[np.float32]) -> Relation:
    import numpy as np

    powers = np.exp(scores.astype(np.float64) - float(scores.max()))
    return Relation(*(powers / powers.sum()).tolist())


MOST_READ = 8  # memories of one question
FEWEST_READ = 2  # one alone cannot change the order
# Of so many the best is first as often as of all eight. Where one of them has these log odds, the others are not read:
# on notes that spares a fifth of the time, and one answer in 250 stays below the first five.
FIRST_READ, SURE = 3, 1.0
# Tokens of a question and a long text that are read where there is no time for more: what is given to be read begins
# with the sentence that has most of the words asked for, and unread it may be met with silence.
BEGINNING = 96
# Milliseconds a token in a batch, until it was measured: twice what two idle cores of 2020 need. The time that others
# take from the process does not count: with fewer hits read, answers would be worse on a busy machine.
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
    """`patience` is how many seconds after its loading began it is waited for, without a limit where None; until it is
    loaded nothing is read."""

    identity = IDENTITY

    def __init__(self, budget_ms: float, *, patience: float | None = None, pace: Pace = _pace) -> None:
        self._budget_ms, self._patience, self._pace = budget_ms, patience, pace

    def answers(self, pairs: Sequence[tuple[str, str]]) -> list[Answer]:
        if self._patience is not None and not is_loaded():
            loading = load_in_background()
            loading.join(max(0.0, _began + self._patience - time.monotonic()))
            if not is_loaded():
                return []
        try:
            scores, fitted = self._scores(pairs), constants("answers")
        except Exception as error:  # noqa: BLE001 - onnxruntime's errors have no other root
            log.debug("Nothing was read for a recall: %s", failure(error))
            return []
        return [Answer(fitted["weight"] * logistic(score), score) for score in scores]

    def _scores(self, texts: Sequence[tuple[str, str]]) -> list[float]:
        """Of the first pairs that there is time for; of the very first ones alone, where one of them surely answers."""
        model = graph()
        pairs = [model.pair(question, text) for question, text in texts[:MOST_READ]]
        scores: list[float] = []
        left = self._budget_ms
        for part in (pairs[:FIRST_READ], pairs[FIRST_READ:]):
            count = self._pace.affordable([len(pair.ids) for pair in part], left)
            if not count and not scores:
                part = [beginning(pair) for pair in part]
                count = self._pace.affordable([len(pair.ids) for pair in part], left)
            if not count or max(scores, default=-math.inf) >= SURE:
                break
            tokens = sum(len(pair.ids) for pair in part[:count])
            expected = tokens * self._pace.ms_a_token
            read, seconds = model.timed_scores(part[:count], "answers")
            scores += [float(score[0]) for (score,) in read]
            self._pace.record(tokens, 1e3 * seconds)
            left -= max(1e3 * seconds, expected)
            if count < len(part):
                break
        if pairs and not scores:
            self._pace.record_skipped()
        return scores


def beginning(pair: Pair) -> Pair:
    if len(pair.ids) <= BEGINNING:
        return pair
    return Pair([*pair.ids[: BEGINNING - 1], pair.ids[-1]], pair.segments[:BEGINNING])


_starting = ThreadLock()
_loader: threading.Thread | None = None
_began = 0.0  # to load, by the monotonic clock


def load_in_background() -> threading.Thread:
    """One thread for the process; after a failure the next call tries again."""
    global _loader, _began
    with _starting:
        if _loader is None or not _loader.is_alive():
            _began = time.monotonic()
            _loader = threading.Thread(target=_load, name="nacre-model", daemon=True)
            _loader.start()
        return _loader


def _load() -> None:
    try:
        graph()
    except Exception as error:  # noqa: BLE001 - as above
        log.debug("The cross-encoder was not loaded: %s", failure(error))
