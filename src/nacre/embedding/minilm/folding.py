"""Rewrites BERT's weights so that every layer norm is a bare normalisation: its gain and shift move into
the products that follow it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nacre.embedding.minilm.layout import LAYERS, POSITIONS
from nacre.ports import Vectors


def folded(tensors: Mapping[str, Vectors]) -> dict[str, Vectors]:
    """The float32 graph's tensors by slot name.

    A norm gives `n * gain + shift`. The product that reads it takes `gain` into its rows and `shift @ weight` into
    its bias; the residual keeps `n * gain`, and `shift` joins the bias of the product it is added to.
    """
    sentence = tensors["embeddings.token_type_embeddings.weight"][0]
    parts = {
        "words": tensors["embeddings.word_embeddings.weight"],
        "positions": (tensors["embeddings.position_embeddings.weight"][:POSITIONS] + sentence)[None],
    }
    gain, shift = _norm(tensors, "embeddings")
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}"
        qkv, qkv_bias = _attention_input(tensors, f"{prefix}.attention.self")
        out, out_bias = _dense(tensors, f"{prefix}.attention.output.dense")
        parts[f"qkv_weight_{layer}"] = qkv * gain[:, None]
        parts[f"qkv_bias_{layer}"] = qkv_bias + shift @ qkv
        parts[f"out_weight_{layer}"] = out
        parts[f"out_bias_{layer}"] = out_bias + shift
        parts[f"gain_before_{layer}"] = gain
        gain, shift = _norm(tensors, f"{prefix}.attention.output")
        up, up_bias = _dense(tensors, f"{prefix}.intermediate.dense")
        down, down_bias = _dense(tensors, f"{prefix}.output.dense")
        parts[f"up_weight_{layer}"] = up * gain[:, None]
        parts[f"up_bias_{layer}"] = up_bias + shift @ up
        parts[f"down_weight_{layer}"] = down
        parts[f"down_bias_{layer}"] = down_bias + shift
        parts[f"gain_between_{layer}"] = gain
        gain, shift = _norm(tensors, f"{prefix}.output")
    return parts | {"gain_last": gain, "shift_last": shift}


def _norm(tensors: Mapping[str, Vectors], prefix: str) -> tuple[Vectors, Vectors]:
    return tensors[f"{prefix}.LayerNorm.weight"], tensors[f"{prefix}.LayerNorm.bias"]


def _dense(tensors: Mapping[str, Vectors], prefix: str) -> tuple[Vectors, Vectors]:
    return tensors[f"{prefix}.weight"].T, tensors[f"{prefix}.bias"]


def _attention_input(tensors: Mapping[str, Vectors], prefix: str) -> tuple[Vectors, Vectors]:
    parts = [_dense(tensors, f"{prefix}.{part}") for part in ("query", "key", "value")]
    return np.concatenate([weight for weight, _ in parts], axis=1), np.concatenate([bias for _, bias in parts])
