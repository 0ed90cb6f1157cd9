"""Where each tensor lies in the weights file; the drawn graphs and the converter both read it here."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Literal, TypeAlias

import platformdirs

Variant: TypeAlias = Literal["int8", "float32"]

LAYERS = 6
HEADS = 12
WIDTH = 384
INNER = 1536
WORDS = 30_522
POSITIONS = 256  # the model was trained on no more, though its table has 512 rows
PAGE = 4096  # onnxruntime maps the file into memory, and maps whole pages
WEIGHTS = "weights.bin"  # named inside the graphs, beside which it must lie

# Every matrix product of a layer: what goes in, what comes out.
LINEARS = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, INNER), "down": (INNER, WIDTH)}
ITEM_SIZES = {"<f4": 4, "|i1": 1, "|u1": 1}


@dataclass(frozen=True, slots=True)
class Slot:
    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int

    @property
    def size(self) -> int:
        return prod(self.shape) * ITEM_SIZES[self.dtype]


def slots(variant: Variant) -> tuple[Slot, ...]:
    placed: list[Slot] = []
    offset = 0
    for name, dtype, shape in _tensors(variant):
        slot = Slot(name, dtype, shape, offset)
        placed.append(slot)
        offset = -(-(offset + slot.size) // PAGE) * PAGE
    return tuple(placed)


def _tensors(variant: Variant) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    if variant == "int8":
        yield "words", "|i1", (WORDS, WIDTH)
        yield "words_scale", "<f4", (WORDS, 1)
    else:
        yield "words", "<f4", (WORDS, WIDTH)
    yield "positions", "<f4", (1, POSITIONS, WIDTH)
    for layer in range(LAYERS):
        for linear in LINEARS:
            yield from _linear(variant, linear, layer)
        yield f"gain_before_{layer}", "<f4", (WIDTH,)
        yield f"gain_between_{layer}", "<f4", (WIDTH,)
    yield "gain_last", "<f4", (WIDTH,)
    yield "shift_last", "<f4", (WIDTH,)


def _linear(variant: Variant, linear: str, layer: int) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    rows, columns = LINEARS[linear]
    if variant == "int8":
        if linear != "out":  # the attention's values carry the spread of what follows them
            yield f"{linear}_shrink_{layer}", "<f4", (rows,)
        yield f"{linear}_step_{layer}", "<f4", ()
        yield f"{linear}_zero_{layer}", "|u1", ()
        yield f"{linear}_scale_{layer}", "<f4", (columns,)
    yield f"{linear}_weight_{layer}", "|i1" if variant == "int8" else "<f4", (rows, columns)
    yield f"{linear}_bias_{layer}", "<f4", (columns,)


MODEL = "all-MiniLM-L6-v2"
FORMAT = 1  # raise it when the graphs or the weights' layout change: old folders are then left alone, not misread
DIRECTORY_VARIABLE = "NACRE_MODEL_DIR"

GRAPH = "graph.onnx"
TOKENIZER = "tokenizer.json"
ABOUT = "about.json"


@dataclass(frozen=True, slots=True)
class About:
    variant: Variant
    worst_cosine: float  # of the converted graph to the original, over the fixed check sentences
    source: str

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def models_directory(given: Path | None = None) -> Path:
    """`given`, else NACRE_MODEL_DIR, else the user's cache."""
    if given is not None:
        return given
    named = os.environ.get(DIRECTORY_VARIABLE)
    return Path(named).expanduser() if named else Path(platformdirs.user_cache_dir("nacre")) / "models"


def model_folder(directory: Path) -> Path:
    return directory / f"{MODEL}-{FORMAT}"


def read_about(folder: Path) -> About | None:
    """What is noted in the folder; None when there is no complete model in it."""
    if not all((folder / name).is_file() for name in (GRAPH, WEIGHTS, TOKENIZER, ABOUT)):
        return None
    try:
        return About(**json.loads((folder / ABOUT).read_text(encoding="utf-8")))
    except (ValueError, TypeError):
        return None
