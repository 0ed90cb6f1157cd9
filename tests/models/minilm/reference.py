"""all-MiniLM-L6-v2 as its authors define it, in plain numpy: what the drawn graphs are held against."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from nacre.protocols import Vectors

LAYERS, HEADS, EPSILON = 6, 12, 1e-12


def embed(tensors: Mapping[str, Vectors], ids: Sequence[int]) -> Vectors:
    hidden = (
        tensors["embeddings.word_embeddings.weight"][list(ids)]
        + tensors["embeddings.position_embeddings.weight"][: len(ids)]
        + tensors["embeddings.token_type_embeddings.weight"][0]
    )
    hidden = norm(tensors, "embeddings", hidden)
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}"
        mixed = dense(tensors, f"{prefix}.attention.output.dense", attention(tensors, prefix, hidden))
        hidden = norm(tensors, f"{prefix}.attention.output", mixed + hidden)
        inner = gelu(dense(tensors, f"{prefix}.intermediate.dense", hidden))
        hidden = norm(tensors, f"{prefix}.output", dense(tensors, f"{prefix}.output.dense", inner) + hidden)
    mean = hidden.mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)


def attention(tensors: Mapping[str, Vectors], prefix: str, hidden: Vectors) -> Vectors:
    query, key, value = (
        dense(tensors, f"{prefix}.attention.self.{part}", hidden).reshape(len(hidden), HEADS, -1).swapaxes(0, 1)
        for part in ("query", "key", "value")
    )
    scores = query @ key.swapaxes(1, 2) / math.sqrt(query.shape[2])
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    return np.asarray((weights @ value).swapaxes(0, 1).reshape(len(hidden), -1))


def dense(tensors: Mapping[str, Vectors], prefix: str, hidden: Vectors) -> Vectors:
    return np.asarray(hidden @ tensors[f"{prefix}.weight"].T + tensors[f"{prefix}.bias"])


def norm(tensors: Mapping[str, Vectors], prefix: str, hidden: Vectors) -> Vectors:
    centred = hidden - hidden.mean(axis=1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPSILON)
    return np.asarray(scaled * tensors[f"{prefix}.LayerNorm.weight"] + tensors[f"{prefix}.LayerNorm.bias"])


def gelu(values: Vectors) -> Vectors:
    error_function = np.vectorize(math.erf, otypes=[np.float32])
    return np.asarray(values * 0.5 * (1 + error_function(values / math.sqrt(2))))
