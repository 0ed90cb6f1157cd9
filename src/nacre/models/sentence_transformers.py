"""Any sentence-transformers model, for those who have torch installed anyway."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from nacre.errors import ModelUnavailable
from nacre.models.vectors import unit_rows
from nacre.protocols import Vectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

OWNER = "sentence-transformers/"
MARKERS = 2
EXTRA_REMEDY = 'Install it with `pip install "nacre[sentence-transformers]"`.'
LOAD_REMEDY = "Check the model's name and the network, or choose another embedder with NACRE_EMBEDDER."


class SentenceTransformers:
    def __init__(self, model_name: str) -> None:
        self._name = model_name
        self._lock = threading.Lock()
        self._loaded: SentenceTransformer | None = None

    @property
    def identity(self) -> str:
        # Without the owner: all-MiniLM-L6-v2 is one vector space, whichever program computes it.
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
