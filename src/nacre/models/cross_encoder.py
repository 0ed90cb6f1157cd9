"""The shipped cross-encoder: a graph that reads one text, or two together, with a head for each question about them.

numpy and onnxruntime are imported when the first text is read: many commands name a model and never use it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal

from nacre.files import ThreadLock
from nacre.models.onnx_session import in_parallel, open_session, runs
from nacre.models.shipped import shipped
from nacre.models.wordpiece import Pair, WordPiece, WordPiecePairs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GRAPH, WEIGHTS, CONSTANTS, VOCABULARY = "cross_encoder.onnx", "cross_encoder.bin", "cross_encoder.json", "wordpiece.txt"
IDENTITY = "nacre-cross-encoder"
TOKENS = 256  # of a text or a pair, as in training
TOKENS_A_RUN = 128  # pairs run no faster in a batch than singly, and several runs share the cores
Head = Literal["relation", "one_place", "answers", "orders"]


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
        import numpy as np

        scores: list[tuple[NDArray[np.float32], ...]] = [()] * len(pairs)

        def fill(run: list[int]) -> None:
            inputs = {"ids": [pairs[at].ids for at in run], "segments": [pairs[at].segments for at in run]}
            arrays = {name: np.array(rows, np.int32) for name, rows in inputs.items()}
            for at, *rows in zip(run, *self._session.run(list(heads), arrays), strict=True):
                scores[at] = tuple(rows)

        in_parallel(fill, list(runs([len(pair.ids) for pair in pairs], TOKENS_A_RUN)))
        return scores


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
