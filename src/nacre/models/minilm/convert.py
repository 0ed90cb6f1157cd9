"""Converts the published weights to the int8 graph that onnxruntime runs."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nacre.models.minilm.embedder import (
    ABOUT,
    GRAPH,
    LAYERS,
    LINEARS,
    POSITIONS,
    TOKENIZER,
    WEIGHTS,
    WIDTH,
    About,
    Session,
    Variant,
    slots,
)
from nacre.models.wordpiece import WordPiece
from nacre.protocols import Progress, Vectors

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
        inputs = [_dense(tensors, f"{prefix}.attention.self.{part}") for part in ("query", "key", "value")]
        qkv = np.concatenate([weight for weight, _ in inputs], axis=1)
        qkv_bias = np.concatenate([bias for _, bias in inputs])
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
    unchanged = {name: part for name, part in parts.items() if name.startswith(("positions", "gain", "shift"))}
    words, words_scale = _to_bytes(parts["words"], axis=1)
    tensors: dict[str, NDArray[np.generic]] = {**unchanged, "words": words, "words_scale": words_scale}
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


# int8 kernels saturate on some x86 processors without VNNI; there the original precision is worth its time.
LEAST_COSINE = 0.98
CHECK_SENTENCES = (
    "The deployment failed because the database migration timed out.",
    "Anna prefers tea over coffee in the morning.",
    "What did we decide about the retry policy last week?",
    "def fetch(url: str, *, timeout: float = 5.0) -> bytes: ...",
    "Der Zug nach München fährt um 17:42 Uhr von Gleis 3 ab.",
    "她昨天在北京买了一本关于天文学的书。",
    "Error 0x80070005: access denied while writing C:\\Windows\\Temp\\setup.log",
    "yes",
    "The cat sat on the mat; the dog, a large and rather old animal, watched it from across the room and did not move "
    "until supper, when everyone went into the kitchen and the house became quiet again.",
)
STEPS = 3


def convert(safetensors: Path, tokenizer: Path, target: Path, *, source: str, progress: Progress) -> About:
    """Fills the existing folder `target`; everything in it is on the disk when this returns."""
    progress(0, STEPS, "converting the embedding model")
    parts = folded(read_float_tensors(safetensors))
    shutil.copyfile(tokenizer, target / TOKENIZER)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".original-") as temporary:
        original = Path(temporary)
        _write_variant(original, "float32", parts)
        progress(1, STEPS, "converting the embedding model")
        _write_variant(target, "int8", quantised(parts))
        progress(2, STEPS, "comparing the converted model with the original")
        worst = worst_cosine(target, original, WordPiece.from_file(target / TOKENIZER))
        variant: Variant = "int8" if worst >= LEAST_COSINE else "float32"
        if variant == "float32":
            for name in (GRAPH, WEIGHTS):
                (original / name).replace(target / name)
    about = About(variant=variant, worst_cosine=round(worst, 5), source=source)
    (target / ABOUT).write_text(json.dumps(asdict(about)), encoding="utf-8")
    for path in target.iterdir():
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    progress(STEPS, STEPS, "embedding model ready")
    return about


def worst_cosine(converted: Path, original: Path, tokenizer: WordPiece) -> float:
    ours, theirs = Session.open(converted), Session.open(original)
    worst = 1.0
    for sentence in CHECK_SENTENCES:
        ids = np.array([tokenizer.encode(sentence, POSITIONS)], dtype=np.int32)
        worst = min(worst, float((ours.run(ids) * theirs.run(ids)).sum()))
    return worst


def write_weights(path: Path, variant: Variant, tensors: Mapping[str, NDArray[np.generic]]) -> None:
    with path.open("wb") as file:
        for slot in slots(variant):
            tensor = np.ascontiguousarray(tensors[slot.name], dtype=slot.dtype)
            if tensors[slot.name].shape != slot.shape:
                raise ValueError(f"{slot.name} has the shape {tensor.shape}, not {slot.shape}: another model?")
            file.seek(slot.offset)
            file.write(tensor.tobytes())


def _write_variant(folder: Path, variant: Variant, tensors: Mapping[str, NDArray[np.generic]]) -> None:
    shutil.copyfile(Path(__file__).with_name(f"{variant}.onnx"), folder / GRAPH)
    write_weights(folder / WEIGHTS, variant, tensors)
