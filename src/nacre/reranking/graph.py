"""Opens a cross-encoder's graph in onnxruntime, whatever it calls for, and makes scores of what it says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nacre.embedding.onnx_session import open_session
from nacre.reranking.pairs import Pair

if TYPE_CHECKING:
    from nacre.embedding.onnx_session import InferenceSession

IDS, MASK, SEGMENTS, LOGITS = "input_ids", "attention_mask", "token_type_ids", "logits"
INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


class Graph:
    """Safe to run from several threads: a run keeps its state to itself. Raises ValueError, saying what is wrong."""

    def __init__(self, file: Path) -> None:
        self._session = _open(file)
        self._inputs = {each.name: INTEGERS.get(each.type) for each in self._session.get_inputs()}
        unknown = {name for name, kind in self._inputs.items() if kind is None or name not in (IDS, MASK, SEGMENTS)}
        if unknown or IDS not in self._inputs:
            raise ValueError(f"its graph takes {', '.join(self._inputs)}, which are not the inputs of a cross-encoder")
        names = [each.name for each in self._session.get_outputs()]
        self._output = LOGITS if LOGITS in names else names[0]

    def scores(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """All pairs have the same length, so there is nothing to pad or mask."""
        ids = np.array([pair.ids for pair in pairs])
        given = {IDS: ids, MASK: np.ones_like(ids), SEGMENTS: np.array([pair.segments for pair in pairs])}
        fed = {name: given[name].astype(kind) for name, kind in self._inputs.items()}
        try:
            logits = self._session.run([self._output], fed)[0]
        except Exception as error:  # onnxruntime's errors have no other root
            raise ValueError(f"its graph cannot be run: {error}") from error
        return scores_from(np.asarray(logits, dtype=np.float64), len(pairs))


def scores_from(logits: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """The probability of relevance: of the only class, or of the second of two."""
    if logits.shape not in ((count,), (count, 1), (count, 2)):
        raise ValueError(f"its graph gave the shape {logits.shape} for {count} pairs, not one or two numbers a pair")
    if not np.isfinite(logits).all():
        raise ValueError("its graph gave a number that is not finite")
    # The softmax of two is the logistic function of their difference.
    margins = logits[:, 1] - logits[:, 0] if logits.shape == (count, 2) else logits.reshape(count)
    return np.asarray((1 + np.tanh(margins / 2)) / 2)  # the logistic function, without its overflow


def _open(file: Path) -> InferenceSession:
    try:
        return open_session(file)
    except Exception as error:  # onnxruntime's errors have no other root
        raise ValueError(f"{file.name} cannot be opened: {error}") from error
