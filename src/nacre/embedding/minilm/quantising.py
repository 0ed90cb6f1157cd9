"""Turns the folded float32 weights into int8 a column, with fixed activation ranges instead of measured ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nacre.embedding.minilm.layout import LAYERS, LINEARS, WIDTH
from nacre.ports import Vectors

# Ranges are fixed (calibrated by scripts/draw_minilm_graph.py), not taken from each run: a range of the run makes
# a text's row depend on its neighbours (down to cosine 0.96 between batches), and no two texts differ much in it.
CALIBRATION = Path(__file__).with_name("calibration.npz")

# A few channels are ten times wider than the rest and would waste the range; dividing a channel and multiplying
# its weights moves the width over. 1 moves all of it, .5 half; measured mean cosine .9: .998, .7: .997, none: .993.
SMOOTHING = 0.85

SIGNED_STEPS = 127
UNSIGNED_STEPS = 255
NARROWEST = 1e-3  # a channel never seen to move must not be divided by nothing

Parts = Mapping[str, Vectors]
Bytes = NDArray[np.int8]


def quantised(parts: Parts) -> dict[str, NDArray[np.generic]]:
    """The int8 graph's tensors by slot name, from the float32 graph's."""
    kept = {name: part for name, part in parts.items() if name.startswith(("positions", "gain", "shift"))}
    words, words_scale = _to_bytes(parts["words"], axis=1)
    tensors: dict[str, NDArray[np.generic]] = {**kept, "words": words, "words_scale": words_scale}
    with np.load(CALIBRATION) as ranges:
        for layer in range(LAYERS):
            tensors |= _layer(parts, layer, {linear: ranges[f"{linear}_{layer}"] for linear in LINEARS})
    return tensors


def _layer(parts: Parts, layer: int, ranges: Parts) -> dict[str, NDArray[np.generic]]:
    weights = {linear: parts[f"{linear}_weight_{layer}"].copy() for linear in LINEARS}
    biases = {linear: parts[f"{linear}_bias_{layer}"].copy() for linear in LINEARS}
    values = slice(2 * WIDTH, None)
    # Attention only mixes rows, so its values can carry the division that its output would need.
    out_spread = _spread(ranges["out"], weights["out"])
    weights["qkv"][:, values] /= out_spread
    biases["qkv"][values] /= out_spread
    tensors: dict[str, NDArray[np.generic]] = {}
    for linear, weight in weights.items():
        spread = out_spread if linear == "out" else _spread(ranges[linear], weight)
        step, zero = _steps(ranges[linear] / spread)
        quantised_weight, scale = _to_bytes(weight * spread[:, None], axis=0)
        tensors |= {
            f"{linear}_shrink_{layer}": 1 / spread,
            f"{linear}_step_{layer}": step,
            f"{linear}_zero_{layer}": zero,
            f"{linear}_weight_{layer}": quantised_weight,
            f"{linear}_scale_{layer}": scale[0],
            f"{linear}_bias_{layer}": biases[linear],
        }
    return tensors


def _spread(bounds: Vectors, weight: Vectors) -> Vectors:
    widest = np.maximum(np.abs(bounds.astype(np.float32)).max(axis=0), NARROWEST)
    heaviest = np.maximum(np.abs(weight).max(axis=1), NARROWEST)
    spread = widest**SMOOTHING / heaviest ** (1 - SMOOTHING)
    return np.asarray(spread / np.median(spread), dtype=np.float32)


def _steps(bounds: Vectors) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    low, high = float(bounds[0].min()), float(bounds[1].max())
    step = (high - low) / UNSIGNED_STEPS
    return np.array(step, dtype=np.float32), np.array(round(-low / step), dtype=np.uint8)


def _to_bytes(weight: Vectors, axis: int) -> tuple[Bytes, Vectors]:
    largest = np.abs(weight).max(axis=axis, keepdims=True)
    scale = np.where(largest > 0, largest / SIGNED_STEPS, 1).astype(np.float32)
    return np.rint(weight / scale).astype(np.int8), scale
