"""onnxruntime is loaded behind numpy, so that no other thread meets a half of it."""

from __future__ import annotations

import subprocess
import sys

SEEN = """
import sys
from nacre.models.onnx_session import open_session
from nacre.models.shipped import shipped

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "onnxruntime":
            numpy = sys.modules.get("numpy")
            print("complete" if numpy is not None and not numpy.__spec__._initializing else "missing")

sys.meta_path.insert(0, Watch())
open_session(shipped("cross_encoder.onnx"))
"""


def test_numpy_is_complete_before_onnxruntime_is_loaded() -> None:
    """Python does not wait for another thread that imports numpy when only a part of numpy is asked for."""
    done = subprocess.run([sys.executable, "-c", SEEN], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["complete"]
