"""Embedders without a service: hashing, a function, sentence-transformers."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nacre.errors import EmbeddingError, ModelUnavailable
from nacre.files import ThreadLock
from nacre.protocols import Vectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

WORDS_TO_TOKENS = 1.5  # English prose takes 1.3 pieces a word, identifiers and other languages more
CHARACTERS_A_TOKEN = 4


def unit_rows(values: ArrayLike, count: int) -> Vectors:
    """Rows scaled to length 1. Raises ValueError unless `values` are `count` rows of finite numbers."""
    rows = np.array(values, dtype=np.float32)
    if rows.shape[:1] != (count,) or rows.ndim != 2 or not rows.shape[1]:
        raise ValueError(f"{count} rows were expected, and the answer has the shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError("a row holds a number that is not finite")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    # A row of zeros has no direction: use the first axis.
    rows[lengths[:, 0] == 0, 0] = 1
    return np.asarray(rows / np.where(lengths == 0, 1, lengths), dtype=np.float32)


def estimate_tokens(texts: Sequence[str]) -> list[int]:
    """For an embedder without an accessible tokenizer; rather too many than too few."""
    return [max(round(len(text.split()) * WORDS_TO_TOKENS), len(text) // CHARACTERS_A_TOKEN) for text in texts]


DIMENSIONS = 384
WORD = re.compile(r"\w+")
WORD_WEIGHT = 2
TRIPLE_WEIGHT = 1  # a typo changes three triples of a word, so its row stays near
UNLIMITED = 1_000_000
CACHED_FEATURES = 20_000  # 48 bytes of signs each, spread to 384


class Hashing:
    """Vectors without a model, for tests and emergencies: words and letter triples hashed to signs.

    Every feature changes every dimension, so that the signs of a row distinguish texts. Sums are integers, so rows are
    identical in every process and on every platform.
    """

    identity = f"hashing-{DIMENSIONS}"
    dimensions = DIMENSIONS
    token_limit = UNLIMITED
    ready = True

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return estimate_tokens(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for position, text in enumerate(texts):
            rows[position] = _row(text)
        return rows


def _row(text: str) -> Vectors:
    total = np.zeros(DIMENSIONS, dtype=np.int64)
    for feature, weight in _features(text).items():
        total += np.int64(weight) * _signs(feature)  # a weight above 127 does not fit into int8
    length = math.sqrt(int(total @ total))
    if length == 0:
        total, length = _signs("").astype(np.int64), math.sqrt(DIMENSIONS)
    return (total / length).astype(np.float32)


def _features(text: str) -> Counter[str]:
    features: Counter[str] = Counter()
    for word in WORD.findall(text.lower()):
        features[word] += WORD_WEIGHT
        marked = f"<{word}>"
        for start in range(len(marked) - 2):
            # The bar distinguishes a triple from a word of the same three letters.
            features[f"|{marked[start : start + 3]}"] += TRIPLE_WEIGHT
    return features


@lru_cache(maxsize=CACHED_FEATURES)
def _signs(feature: str) -> NDArray[np.int8]:
    bits = hashlib.shake_256(feature.encode("utf-8", "surrogatepass")).digest(DIMENSIONS // 8)
    return np.unpackbits(np.frombuffer(bits, dtype=np.uint8)).astype(np.int8) * 2 - 1


PROBE = "How many dimensions?"


class FunctionEmbedder:
    """Any function from texts to rows. Calls are made one at a time, so the function need not be thread-safe."""

    ready = True
    token_limit = 256  # of the usual small models

    def __init__(
        self,
        function: Callable[[Sequence[str]], ArrayLike],
        identity: str,
        dimensions: int | None = None,
    ) -> None:
        self.identity = identity
        self._function = function
        self._dimensions = dimensions
        self._lock = ThreadLock()

    @property
    def dimensions(self) -> int:
        if self._dimensions is None:
            self._dimensions = int(self._rows([PROBE]).shape[1])
        return self._dimensions

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return estimate_tokens(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = self._rows(texts)
        if self._dimensions is None:
            self._dimensions = int(rows.shape[1])
        if rows.shape[1] != self.dimensions:
            raise EmbeddingError(
                f"The embedder {self.identity!r} gave rows of {rows.shape[1]} numbers instead of {self.dimensions}. "
                "Give each model an identity of its own, and its true number of dimensions."
            )
        return rows

    def _rows(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return unit_rows([[0.0] * self.dimensions], 1)[:0]
        try:
            with self._lock:
                values = self._function(texts)
        except EmbeddingError:
            raise
        except Exception as error:
            raise EmbeddingError(
                f"The embedder {self.identity!r} failed ({type(error).__name__}: {error}). "
                "Fix the function, or what it depends on."
            ) from error
        try:
            return unit_rows(values, len(texts))
        except (ValueError, TypeError) as error:
            raise EmbeddingError(
                f"The embedder {self.identity!r} gave no usable rows ({error}). "
                "Return one row of numbers for each text."
            ) from error


OWNER = "sentence-transformers/"
MARKERS = 2
EXTRA_REMEDY = 'Run `pip install ".[sentence-transformers]"` in the checkout of Nacre.'
LOAD_REMEDY = "Check the model's name and the network, or choose another embedder with NACRE_EMBEDDER."


class SentenceTransformers:
    def __init__(self, model_name: str) -> None:
        self._name = model_name
        self._lock = ThreadLock()
        self._loaded: SentenceTransformer | None = None

    @property
    def identity(self) -> str:
        # Without the owner: all-MiniLM-L6-v2 is the same vector space in every program.
        return self._name.removeprefix(OWNER)

    @property
    def dimensions(self) -> int:
        return int(self._model().get_sentence_embedding_dimension())

    @property
    def token_limit(self) -> int:
        return int(self._model().max_seq_length) - MARKERS

    @property
    def ready(self) -> bool:
        return self._loaded is not None

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        if not texts:
            return []
        tokenizer = self._model().tokenizer
        encoded = tokenizer(list(texts), add_special_tokens=False, truncation=False, padding=False)
        return [len(ids) for ids in encoded["input_ids"]]

    def embed(self, texts: Sequence[str]) -> Vectors:
        model = self._model()
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        with self._lock:
            rows = model.encode(list(texts), convert_to_numpy=True, show_progress_bar=False)
        return unit_rows(rows, len(texts))

    def _model(self) -> SentenceTransformer:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._name)
            return self._loaded


def _load(name: str) -> SentenceTransformer:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        reason = "the package sentence-transformers is not installed"
        raise ModelUnavailable(name, reason, EXTRA_REMEDY) from error
    try:
        return SentenceTransformer(name)
    except (OSError, ValueError) as error:
        raise ModelUnavailable(name, str(error).splitlines()[0], LOAD_REMEDY) from error
