"""The default embedder: all-MiniLM-L6-v2 in this process, loaded when it is first needed.

numpy and onnxruntime are imported with the model: many commands create an embedder and never use it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import platformdirs

from nacre.errors import ModelUnavailable
from nacre.files import ThreadLock
from nacre.models.onnx_session import in_parallel, open_session, runs
from nacre.protocols import Progress, Vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nacre.models.onnx_session import InferenceSession
    from nacre.models.wordpiece import WordPiece

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


def models_directory(directory: Path | None = None) -> Path:
    """`directory`, else NACRE_MODEL_DIR, else the user's cache."""
    if directory is not None:
        return directory
    named = os.environ.get(DIRECTORY_VARIABLE)
    return Path(named).expanduser() if named else Path(platformdirs.user_cache_dir("nacre")) / "models"


def model_folder(directory: Path) -> Path:
    return directory / f"{MODEL}-{FORMAT}"


def read_about(folder: Path) -> About | None:
    """Describes the model in the folder; None when it is not complete."""
    if not all((folder / name).is_file() for name in (GRAPH, WEIGHTS, TOKENIZER, ABOUT)):
        return None
    try:
        return About(**json.loads((folder / ABOUT).read_text(encoding="utf-8")))
    except (ValueError, TypeError):
        return None


class Session:
    """Safe to use from several threads."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session

    @classmethod
    def open(cls, folder: Path) -> Session:
        # The graph is drawn as the optimiser would leave it.
        return cls(open_session(folder / GRAPH, optimize=False))

    def run(self, ids: NDArray[np.int32]) -> Vectors:
        """One unit row for each text. All texts must have the same length: nothing is padded or masked."""
        rows: Vectors = self._session.run(["rows"], {"ids": ids})[0]
        return rows


MARKERS = 2  # [CLS] and [SEP]
# Measured on two cores with texts of 20 tokens: one text a run 1,000 a second, 384 tokens a run 1,500, and no more
# beyond, while the memory held grows (130 MB here, 290 MB at 2,048).
TOKENS_A_RUN = 384


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    tokenizer: WordPiece
    session: Session


class MiniLM:
    """`directory` holds the models (default: NACRE_MODEL_DIR, else the user's cache)."""

    identity = MODEL
    dimensions = WIDTH
    token_limit = POSITIONS - MARKERS

    def __init__(self, directory: Path | None = None, progress: Progress | None = None) -> None:
        self._directory = directory
        self._progress = progress
        self._lock = ThreadLock()
        self._loaded: _LoadedModel | None = None

    @property
    def ready(self) -> bool:
        return self._loaded is not None

    def load(self) -> None:
        """Downloads and opens the model where that is needed. Raises `ModelUnavailable`."""
        self._model()

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        try:
            tokenizer = self._model().tokenizer
        except ModelUnavailable:
            from nacre.models.embedders import estimate_tokens

            return estimate_tokens(texts)
        return [tokenizer.count(text) for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        model = self._model()
        encoded = [model.tokenizer.encode(text, POSITIONS) for text in texts]
        rows = np.empty((len(texts), WIDTH), dtype=np.float32)

        def fill(run: list[int]) -> None:
            rows[run] = model.session.run(np.array([encoded[position] for position in run], dtype=np.int32))

        in_parallel(fill, list(runs([len(ids) for ids in encoded], TOKENS_A_RUN)))
        return rows

    def _model(self) -> _LoadedModel:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    from nacre.models.minilm.provision import provide
                    from nacre.models.wordpiece import WordPiece

                    folder = provide(self._progress, self._directory)
                    self._loaded = _LoadedModel(WordPiece.from_file(folder / TOKENIZER), Session.open(folder))
        return self._loaded
