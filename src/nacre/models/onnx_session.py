"""The only place that imports onnxruntime: its telemetry is switched off before the library is loaded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxruntime import InferenceSession as InferenceSession

ERRORS_ONLY = 3  # onnxruntime's own scale; its warnings would reach the terminal of whoever imports us
# Read once, when the library is loaded: calling its API afterwards is too late, a device id has been written by then.
TELEMETRY_SWITCH = "ORT_DISABLE_TELEMETRY"


def open_session(file: Path, *, optimize: bool = True) -> InferenceSession:
    """A session for one thread a run; safe to run from several threads. Raises what onnxruntime raises."""
    os.environ.setdefault(TELEMETRY_SWITCH, "1")  # a value that the user has set is the user's decision
    # Imported here: it takes a fifth of a second, and most commands need no model.
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # One thread a run: several runs at once use the cores better than several threads in one run do.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = ERRORS_ONLY
    # Plans are kept for every length met: 20 MB after a bulk load, and no time saved.
    options.enable_mem_pattern = False
    if not optimize:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
