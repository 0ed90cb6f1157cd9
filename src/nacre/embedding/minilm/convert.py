"""Converts the published weights into a folder that onnxruntime can open: a graph, its weights, the vocabulary."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nacre.embedding.minilm.folding import folded
from nacre.embedding.minilm.layout import POSITIONS, WEIGHTS, Variant, slots
from nacre.embedding.minilm.places import ABOUT, GRAPH, TOKENIZER, About
from nacre.embedding.minilm.quantising import quantised
from nacre.embedding.minilm.safetensors import read_float_tensors
from nacre.embedding.minilm.session import Session
from nacre.embedding.wordpiece import WordPiece
from nacre.ports import Progress

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
    (target / ABOUT).write_text(json.dumps(about.as_json()), encoding="utf-8")
    for path in target.iterdir():
        _flush(path)
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


def _flush(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
