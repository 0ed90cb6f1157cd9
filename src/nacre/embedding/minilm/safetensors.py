"""Reads a safetensors file: a length, a JSON header, then the tensors' bytes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from nacre.ports import Vectors

LENGTH_BYTES = 8


def read_float_tensors(path: Path) -> dict[str, Vectors]:
    """The float32 tensors by name, as views into the file: read-only, and paged in as they are used."""
    raw = np.memmap(path, dtype=np.uint8, mode="r")
    start = LENGTH_BYTES + int(raw[:LENGTH_BYTES].view("<u8")[0])
    header = json.loads(raw[LENGTH_BYTES:start].tobytes())
    tensors: dict[str, Vectors] = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            tensors[name] = raw[start + begin : start + end].view("<f4").reshape(entry["shape"])
    return tensors
