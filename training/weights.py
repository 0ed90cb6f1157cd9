"""Reads starting weights, a BERT as ONNX or safetensors, into the names of `transformers.BertModel`."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import numpy as np

MATMUL = re.compile(r"/(encoder/layer\.\d+/.*?)/MatMul$")


def from_onnx(path: Path) -> dict[str, np.ndarray]:
    """Biases and embeddings keep their names in an export; a weight is found through the MatMul node that uses it."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(str(path)).graph
    stored = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    weights = {name: array for name, array in stored.items() if name.startswith(("embeddings.", "encoder."))}
    for node in graph.node:
        found = MATMUL.search(node.name) if node.op_type == "MatMul" else None
        if found and node.input[1] in stored:
            weights[found.group(1).replace("/", ".") + ".weight"] = stored[node.input[1]].T
    return weights


def from_safetensors(path: Path) -> dict[str, np.ndarray]:
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    weights = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            first, last = (8 + length + offset for offset in entry["data_offsets"])
            weights[name.removeprefix("bert.")] = np.frombuffer(raw[first:last], "<f4").reshape(entry["shape"])
    return weights


def pack(weights: dict[str, np.ndarray], path: Path) -> None:
    """Half the size or less: word embeddings as rows of 8 bits with a scale, all else as 16-bit floats."""
    packed = {}
    for name, array in weights.items():
        if name.endswith("word_embeddings.weight"):
            scale = np.abs(array).max(axis=1, keepdims=True) / 127
            packed[f"{name}#8"] = np.round(array / np.maximum(scale, 1e-12)).astype(np.int8)
            packed[f"{name}#scale"] = scale.astype(np.float32)
        else:
            packed[name] = array.astype(np.float16)
    np.savez(path, **packed)


def unpack(path: Path) -> dict[str, np.ndarray]:
    stored = np.load(path)
    weights = {name: stored[name].astype(np.float32) for name in stored.files if "#" not in name}
    for name in stored.files:
        if name.endswith("#8"):
            plain = name.removesuffix("#8")
            weights[plain] = stored[name].astype(np.float32) * stored[f"{plain}#scale"]
    return weights
