"""Opens the converted graph in onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nacre.models.minilm.layout import GRAPH
from nacre.models.onnx_session import open_session
from nacre.protocols import Vectors

if TYPE_CHECKING:
    from nacre.models.onnx_session import InferenceSession


class Session:
    """Safe to run from several threads: a run keeps its state to itself."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session

    @classmethod
    def open(cls, folder: Path) -> Session:
        # The graph is drawn as the optimiser would leave it.
        return cls(open_session(folder / GRAPH, optimize=False))

    def run(self, ids: NDArray[np.int32]) -> Vectors:
        """One unit row a text; all texts have the same length, so there is nothing to pad or mask."""
        rows: Vectors = self._session.run(["rows"], {"ids": ids})[0]
        return rows
