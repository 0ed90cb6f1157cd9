"""Reads starting weights, a BERT as ONNX or safetensors, into the names of `transformers.BertModel`; reads the weights
of a shipped graph; packs what was trained."""

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


def from_graph(path: Path) -> dict[str, np.ndarray]:
    """The weights of a graph that `drawing.py` has written, by their names there."""
    import onnx

    types = {onnx.TensorProto.FLOAT: np.float32, onnx.TensorProto.INT8: np.int8, onnx.TensorProto.UINT8: np.uint8}
    stored = np.memmap(path.with_suffix(".bin"), np.uint8, "r")
    tensors = {}
    for each in onnx.load(str(path), load_external_data=False).graph.initializer:
        if each.data_location == onnx.TensorProto.EXTERNAL:
            where = {entry.key: entry.value for entry in each.external_data}
            raw = stored[int(where["offset"]) : int(where["offset"]) + int(where["length"])]
            tensors[each.name] = np.frombuffer(raw.tobytes(), types[each.data_type]).reshape(each.dims)
    return tensors


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
