"""Any cross-encoder that lies on this machine as an ONNX graph with its tokenizer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.embedding.cores import cores
from nacre.errors import RerankingError

# What reads and runs the model is imported with it: many commands make a reranker and never use it.
if TYPE_CHECKING:
    from nacre.reranking.graph import Graph
    from nacre.reranking.pairs import PairTokenizer

GRAPHS = ("model.onnx", "onnx/model.onnx")
TOKENIZER = "tokenizer.json"
CONFIG = "config.json"
POSITIONS = "max_position_embeddings"
LONGEST_PAIR = 512  # BERT's; a model that reads more is not needed for memories, and its time grows with the square
# Measured on two cores with an int8 MiniLM of six layers: pairs of 64 tokens run no faster together than one by one,
# and fifty of 40 to 150 tokens take 230 ms on two threads of one run each, 300 ms on runs of two threads.
TOKENS_A_RUN = 512
EXPORT_REMEDY = "Give a directory as `optimum-cli export onnx --model NAME DIRECTORY` writes it."
LIBRARY_REMEDY = "Install it with `pip install tokenizers`."


@dataclass(frozen=True, slots=True)
class _Loaded:
    tokenizer: PairTokenizer
    graph: Graph


class CrossEncoder:
    """`directory` holds the graph (model.onnx, onnx/model.onnx or the only *.onnx) and tokenizer.json."""

    def __init__(self, directory: Path | str) -> None:
        self._directory = Path(directory).expanduser().absolute()
        self.identity = f"cross-encoder:{self._directory.name}"
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    def load(self) -> None:
        """Opens the model if need be. Raises `RerankingError`."""
        self._model()

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        if not texts:
            return []
        model = self._model()
        pairs = model.tokenizer.encode(query, texts)
        scores = [0.0] * len(texts)

        def fill(run: list[int]) -> None:
            for position, score in zip(run, model.graph.scores([pairs[each] for each in run]), strict=True):
                scores[position] = float(score)

        try:
            in_parallel(fill, list(runs([len(pair.ids) for pair in pairs])))
        except ValueError as error:
            raise self._failed(str(error), EXPORT_REMEDY) from error
        return scores

    def _model(self) -> _Loaded:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = self._load()
        return self._loaded

    def _load(self) -> _Loaded:
        from nacre.reranking.graph import Graph

        try:
            file = find_graph(self._directory)
            return _Loaded(self._tokenizer(), Graph(file))
        except (OSError, ValueError) as error:
            raise self._failed(str(error), EXPORT_REMEDY) from error

    def _tokenizer(self) -> PairTokenizer:
        from nacre.reranking.pairs import read_tokenizer

        try:
            return read_tokenizer(self._directory / TOKENIZER, pair_limit(self._directory))
        except ImportError as error:
            raise self._failed(f"its {TOKENIZER} takes the tokenizers library", LIBRARY_REMEDY) from error

    def _failed(self, reason: str, remedy: str) -> RerankingError:
        return RerankingError(str(self._directory), " ".join(reason.split()), remedy)


def find_graph(directory: Path) -> Path:
    """Raises ValueError when there is none, or more than one and none of them the model by its name."""
    named = [directory / name for name in GRAPHS if (directory / name).is_file()]
    graphs = named[:1] or sorted({*directory.glob("*.onnx"), *directory.glob("onnx/*.onnx")})
    if not graphs:
        raise ValueError("there is no ONNX model in it")
    if len(graphs) > 1:
        shown = ", ".join(str(graph.relative_to(directory)) for graph in graphs)
        raise ValueError(f"it holds several models and none is {GRAPHS[0]}: {shown}")
    return graphs[0]


def pair_limit(directory: Path) -> int:
    """How many ids of a pair the model reads, its markers counted."""
    file = directory / CONFIG
    told = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    positions = told.get(POSITIONS) if isinstance(told, dict) else None
    return min(positions, LONGEST_PAIR) if isinstance(positions, int) and positions > 0 else LONGEST_PAIR


def runs(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Positions of pairs of equal length, longest first: nothing is padded, so a score does not depend on its batch."""
    by_length = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    for length, positions in groupby(by_length, key=lengths.__getitem__):
        alike = list(positions)
        size = max(1, TOKENS_A_RUN // length)
        yield from (alike[start : start + size] for start in range(0, len(alike), size))


def in_parallel(fill: Callable[[list[int]], None], todo: Sequence[list[int]]) -> None:
    if len(todo) == 1:
        fill(todo[0])
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(cores(), len(todo)), "nacre-rerank") as pool:
        list(pool.map(fill, todo))
