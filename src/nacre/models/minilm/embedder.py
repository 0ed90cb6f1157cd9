"""The default embedder: all-MiniLM-L6-v2 in this process, loaded when first needed."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.errors import ModelUnavailable
from nacre.models.minilm.layout import MODEL, POSITIONS, TOKENIZER, WIDTH
from nacre.models.vectors import cores
from nacre.protocols import Progress, Vectors

if TYPE_CHECKING:
    from nacre.models.minilm.session import Session
    from nacre.models.wordpiece import WordPiece

# What reads and runs the model is imported with it: `nacre list` makes an embedder too, and never uses it.

MARKERS = 2  # [CLS] and [SEP]
# Measured on two cores with texts of 20 tokens: one text a run 1,000 a second, 384 tokens a run 1,500, and no more
# beyond, while the memory held grows (130 MB here, 290 MB at 2,048).
TOKENS_A_RUN = 384


@dataclass(frozen=True, slots=True)
class _Loaded:
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
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    @property
    def ready(self) -> bool:
        return self._loaded is not None

    def load(self) -> None:
        """Obtains and opens the model if need be. Raises `ModelUnavailable`."""
        self._model()

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        try:
            tokenizer = self._model().tokenizer
        except ModelUnavailable:
            from nacre.models.vectors import estimate_tokens

            return estimate_tokens(texts)
        return [tokenizer.count(text) for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        model = self._model()
        encoded = [model.tokenizer.encode(text, POSITIONS) for text in texts]
        rows = np.empty((len(texts), WIDTH), dtype=np.float32)

        def fill(run: list[int]) -> None:
            rows[run] = model.session.run(np.array([encoded[position] for position in run], dtype=np.int32))

        runs = list(_runs([len(ids) for ids in encoded]))
        if len(runs) == 1:
            fill(runs[0])
        elif runs:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(min(cores(), len(runs)), "nacre-embed") as pool:
                list(pool.map(fill, runs))
        return rows

    def _model(self) -> _Loaded:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    from nacre.models.minilm.provision import provide
                    from nacre.models.minilm.session import Session
                    from nacre.models.wordpiece import WordPiece

                    folder = provide(self._progress, self._directory)
                    self._loaded = _Loaded(WordPiece.from_file(folder / TOKENIZER), Session.open(folder))
        return self._loaded


def _runs(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Positions of texts of equal length, longest first: nothing is padded, and the cores end together."""
    run: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        if run and (lengths[run[0]] != lengths[position] or (len(run) + 1) * lengths[position] > TOKENS_A_RUN):
            yield run
            run = []
        run.append(position)
    if run:
        yield run
