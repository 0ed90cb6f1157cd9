"""Opens the converted graph in onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nacre.embedding.minilm.places import GRAPH
from nacre.ports import Vectors

if TYPE_CHECKING:
    import onnxruntime

ERRORS_ONLY = 3  # onnxruntime's own scale; its warnings would reach the terminal of whoever imports us


class Session:
    """Safe to run from several threads: a run keeps its state to itself."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session

    @classmethod
    def open(cls, folder: Path) -> Session:
        # Imported here: it takes a fifth of a second, and most commands embed nothing.
        import onnxruntime

        options = onnxruntime.SessionOptions()
        # One thread a run: several runs at once use the cores better than several threads in one run do.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = ERRORS_ONLY
        # The graph is drawn as the optimiser would leave it.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        # Plans are kept for every length met: 20 MB after a bulk load, and no time saved.
        options.enable_mem_pattern = False
        return cls(onnxruntime.InferenceSession(folder / GRAPH, options, providers=["CPUExecutionProvider"]))

    def run(self, ids: NDArray[np.int32]) -> Vectors:
        """One unit row a text; all texts have the same length, so there is nothing to pad or mask."""
        rows: Vectors = self._session.run(["rows"], {"ids": ids})[0]
        return rows
