"""The shipped cross-encoder as the judge of two memories: it reads both texts together.

numpy and onnxruntime are imported when the first pair is read: many commands name the judge and never use it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from nacre.errors import ConflictModelError
from nacre.files import ThreadLock
from nacre.models.onnx_session import in_parallel, open_session, runs
from nacre.models.shipped import shipped
from nacre.models.wordpiece import Pair, WordPiece, WordPiecePairs
from nacre.protocols import Relation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GRAPH, WEIGHTS, CONSTANTS, VOCABULARY = "cross_encoder.onnx", "cross_encoder.bin", "cross_encoder.json", "wordpiece.txt"
TOKENS = 256  # of a pair, as in training
TOKENS_A_RUN = 128  # pairs run no faster in a batch than singly, and several runs share the cores
KEPT = 4096  # relations of pairs read before: a scan after a remember reads none of them again
HEAD, ONE_PLACE_HEAD = "relation", "one_place"
# Texts that are else the same have a head of their own beside the other: people who write pairs do not write such ones,
# and a head that never saw them takes every two texts of one form for two things.
LEAST_COMMON = 2  # words
MOST_UNKNOWN = 0.2  # of the pieces of a pair: what differs may be among them


class CrossEncoderGraph:
    """Reads pairs of texts by the shipped graph. Safe to use from several threads."""

    def __init__(self) -> None:
        shipped(WEIGHTS)  # which onnxruntime maps into memory
        self._session = open_session(shipped(GRAPH))
        wordpiece = WordPiece.from_vocabulary(shipped(VOCABULARY))
        self._tokenizer, self._unknown = WordPiecePairs(wordpiece, TOKENS), wordpiece.unknown_id

    def relations(self, pairs: Sequence[tuple[str, str]]) -> list[Relation]:
        """Of each pair of an older and a newer text."""
        import numpy as np

        encoded = [self._tokenizer.encode(older, newer) for older, newer in pairs]
        relations = [UNREAD] * len(pairs)

        def fill(run: list[int]) -> None:
            read = [encoded[place] for place in run]
            inputs = {"ids": [pair.ids for pair in read], "segments": [pair.segments for pair in read]}
            arrays = {name: np.array(rows, np.int32) for name, rows in inputs.items()}
            scores = zip(*self._session.run([HEAD, ONE_PLACE_HEAD], arrays), strict=True)
            for place, (by_reading, by_place) in zip(run, scores, strict=True):
                relations[place] = probabilities(by_reading)
                if differ_in_one_place(*pairs[place]):
                    relations[place] = max(relations[place], probabilities(by_place), key=conflict)

        readable = [place for place, pair in enumerate(encoded) if self._tells_apart(pair)]
        chosen = runs([len(encoded[place].ids) for place in readable], TOKENS_A_RUN)
        in_parallel(fill, [[readable[place] for place in run] for run in chosen])
        return relations

    def _tells_apart(self, pair: Pair) -> bool:
        """False where both texts read the same up to the limit, or mostly signs that the model does not know."""
        border = pair.segments.index(1)
        older, newer = pair.ids[1 : border - 1], pair.ids[border:-1]
        if len(pair.ids) >= TOKENS:  # of one text, a piece more may be read
            least = min(len(older), len(newer))
            older, newer = older[:least], newer[:least]
        return older != newer and pair.ids.count(self._unknown) <= MOST_UNKNOWN * len(pair.ids)


UNREAD = Relation(0.0, 0.0, 0.0, 1.0)


def conflict(relation: Relation) -> float:
    return relation.contradiction + relation.update


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

    identity = "nacre-cross-encoder"

    @property
    def noted(self) -> float:
        return constants()["noted"]

    @property
    def sure(self) -> float:
        return constants()["sure"]

    def relations(self, pairs: Sequence[tuple[str, str]]) -> list[Relation]:
        named = {digest(pair): pair for pair in pairs}
        known = {name: relation for name in named if (relation := _read_before.get(name)) is not None}
        unread = [name for name in named if name not in known]
        try:
            relations = graph().relations([named[name] for name in unread]) if unread else []
        except ImportError as error:
            raise ConflictModelError("onnxruntime is not installed") from error
        except Exception as error:  # onnxruntime's errors have no other root
            raise ConflictModelError(" ".join(str(error).split())) from error
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
_opening = ThreadLock()


@cache
def _graph() -> CrossEncoderGraph:
    return CrossEncoderGraph()


def graph() -> CrossEncoderGraph:
    with _opening:  # two threads do not open it twice
        return _graph()


@cache
def constants() -> Mapping[str, float]:
    """What was fitted for these weights: the points from which a conflict is noted, and from which it is sure."""
    try:
        values: dict[str, float] = json.loads(shipped(CONSTANTS).read_text(encoding="utf-8"))[HEAD]
    except ValueError as error:
        raise ConflictModelError(str(error)) from error
    return values


def probabilities(scores: NDArray[np.float32]) -> Relation:
    import numpy as np

    powers = np.exp(scores.astype(np.float64) - float(scores.max()))
    return Relation(*(powers / powers.sum()).tolist())
