"""A reranker that reads query and text together: any cross-encoder in ONNX form.

numpy, onnxruntime and tokenizers are imported when the model is loaded: many commands name a reranker and never use it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from nacre.errors import RerankingError
from nacre.files import ThreadLock
from nacre.models.onnx_session import in_parallel, open_session, runs
from nacre.models.wordpiece import CONTINUED, END, LONGEST_WORD, START, UNKNOWN, WordPiece

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from nacre.models.onnx_session import InferenceSession

MARKERS = 3  # [CLS] query [SEP] text [SEP]
BERT_PAIR = [
    {"SpecialToken": {"id": START, "type_id": 0}},
    {"Sequence": {"id": "A", "type_id": 0}},
    {"SpecialToken": {"id": END, "type_id": 0}},
    {"Sequence": {"id": "B", "type_id": 1}},
    {"SpecialToken": {"id": END, "type_id": 1}},
]
BERT_NORMALIZER = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True}
BERT_MODEL = {
    "type": "WordPiece",
    "unk_token": UNKNOWN,
    "continuing_subword_prefix": CONTINUED,
    "max_input_chars_per_word": LONGEST_WORD,
}
PLAIN_MARKER = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}


@dataclass(frozen=True, slots=True)
class Pair:
    """`segments` holds, for each of the ids, which of the two texts it belongs to."""

    ids: Sequence[int]
    segments: Sequence[int]


class PairTokenizer(Protocol):
    def encode(self, query: str, texts: Sequence[str]) -> list[Pair]: ...


def read_tokenizer(file: Path, limit: int) -> PairTokenizer:
    """Pairs are at most `limit` ids long.

    Raises OSError or ValueError when the file is not a tokenizer, and ImportError when it needs the `tokenizers`
    library and that is not installed.
    """
    description = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(description, dict) or not isinstance(description.get("model"), dict):
        raise ValueError("it does not describe a tokenizer")
    return WordPiecePairs(WordPiece.from_file(file), limit) if _is_bert(description) else LibraryPairs(file, limit)


class WordPiecePairs:
    def __init__(self, wordpiece: WordPiece, limit: int) -> None:
        self._wordpiece = wordpiece
        self._room = limit - MARKERS

    def encode(self, query: str, texts: Sequence[str]) -> list[Pair]:
        start, end = self._wordpiece.start, self._wordpiece.end
        # Ids beyond the room of the pair are cut in any case, so they are not computed.
        query_ids, *all_ids = (self._wordpiece.encode(text, self._room + 2)[1:-1] for text in (query, *texts))
        pairs = []
        for ids in all_ids:
            of_query, of_text = shared_room(len(query_ids), len(ids), self._room)
            both = [start, *query_ids[:of_query], end, *ids[:of_text], end]
            pairs.append(Pair(both, [0] * (of_query + 2) + [1] * (of_text + 1)))
        return pairs


class LibraryPairs:
    def __init__(self, file: Path, limit: int) -> None:
        self._tokenizer = _load(file)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(limit, strategy="longest_first")

    def encode(self, query: str, texts: Sequence[str]) -> list[Pair]:
        first = _encodable(query)
        encoded = self._tokenizer.encode_batch([(first, _encodable(text)) for text in texts])
        return [Pair(each.ids, each.type_ids) for each in encoded]


def shared_room(first: int, second: int, room: int) -> tuple[int, int]:
    """How many ids of two texts fit: the longer one is cut first, then both equally, as in the `tokenizers` library."""
    if first + second <= room:
        return first, second
    shorter = min(first, second)
    longer = max(shorter, room - shorter)
    if shorter + longer > room:
        shorter, longer = room // 2, room - room // 2
    return (longer, shorter) if first > second else (shorter, longer)


def _is_bert(description: Mapping[str, object]) -> bool:
    """True when our WordPiece gives exactly the ids that the file describes."""
    model, normalizer, markers = (description.get(key) for key in ("model", "normalizer", "added_tokens"))
    if not isinstance(model, dict) or not isinstance(normalizer, dict) or not isinstance(markers, list):
        return False
    accents = normalizer.get("strip_accents")
    return (
        _has(model, BERT_MODEL)
        and {UNKNOWN, START, END} <= set(model.get("vocab", ()))
        and _has(normalizer, BERT_NORMALIZER)
        and accents in (None, normalizer.get("lowercase"))
        and description.get("pre_tokenizer") == {"type": "BertPreTokenizer"}
        and _is_bert_pair(description.get("post_processor"))
        and bool(markers)
        and all(_has(marker, PLAIN_MARKER) for marker in markers)
    )


def _is_bert_pair(processor: object) -> bool:
    return isinstance(processor, dict) and (
        processor.get("type") == "BertProcessing" or processor.get("pair") == BERT_PAIR
    )


def _has(values: Mapping[str, object], wanted: Mapping[str, object]) -> bool:
    return all(values.get(name) == value for name, value in wanted.items())


def _load(file: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises nothing narrower
        raise ValueError(str(error)) from error


def _encodable(text: str) -> str:
    # The library accepts only valid Unicode; half of a surrogate pair is not.
    return text.encode("utf-8", "replace").decode("utf-8")


IDS, MASK, SEGMENTS, LOGITS = "input_ids", "attention_mask", "token_type_ids", "logits"
INTEGERS = {"tensor(int64)": "int64", "tensor(int32)": "int32"}


class Graph:
    """Safe to use from several threads. Raises ValueError that says what is wrong."""

    def __init__(self, file: Path) -> None:
        self._session = _open(file)
        self._inputs = {each.name: INTEGERS.get(each.type) for each in self._session.get_inputs()}
        unknown = {name for name, kind in self._inputs.items() if kind is None or name not in (IDS, MASK, SEGMENTS)}
        if unknown or IDS not in self._inputs:
            raise ValueError(f"its graph takes {', '.join(self._inputs)}, which are not the inputs of a cross-encoder")
        names = [each.name for each in self._session.get_outputs()]
        self._output = LOGITS if LOGITS in names else names[0]

    def scores(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """All pairs must have the same length: nothing is padded or masked."""
        import numpy as np

        ids = np.array([pair.ids for pair in pairs])
        inputs = {IDS: ids, MASK: np.ones_like(ids), SEGMENTS: np.array([pair.segments for pair in pairs])}
        fed = {name: inputs[name].astype(kind) for name, kind in self._inputs.items()}
        try:
            logits = self._session.run([self._output], fed)[0]
        except Exception as error:  # onnxruntime's errors have no other root
            raise ValueError(f"its graph cannot be run: {error}") from error
        return scores_from(np.asarray(logits, dtype=np.float64), len(pairs))


def scores_from(logits: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """The probability of relevance: of the only class, or of the second of two."""
    import numpy as np

    if logits.shape not in ((count,), (count, 1), (count, 2)):
        raise ValueError(f"its graph gave the shape {logits.shape} for {count} pairs, not one or two numbers a pair")
    if not np.isfinite(logits).all():
        raise ValueError("its graph gave a number that is not finite")
    # The softmax of two is the logistic function of their difference.
    margins = logits[:, 1] - logits[:, 0] if logits.shape == (count, 2) else logits.reshape(count)
    return np.asarray((1 + np.tanh(margins / 2)) / 2)  # the logistic function, without its overflow


def _open(file: Path) -> InferenceSession:
    try:
        return open_session(file)
    except Exception as error:  # onnxruntime's errors have no other root
        raise ValueError(f"{file.name} cannot be opened: {error}") from error


GRAPHS = ("model.onnx", "onnx/model.onnx")
TOKENIZER = "tokenizer.json"
CONFIG = "config.json"
POSITIONS = "max_position_embeddings"
LONGEST_PAIR = 512  # BERT's; memories need no more, and the time grows with the square
# Measured on two cores with an int8 MiniLM of six layers: pairs of 64 tokens run no faster in a batch than singly,
# and fifty pairs of 40 to 150 tokens take 230 ms on two threads of one run each, 300 ms on runs of two threads.
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
        self._lock = ThreadLock()
        self._loaded: _Loaded | None = None

    def load(self) -> None:
        """Opens the model if it is not open yet. Raises `RerankingError`."""
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
            in_parallel(fill, list(runs([len(pair.ids) for pair in pairs], TOKENS_A_RUN)))
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
        try:
            file = find_graph(self._directory)
            return _Loaded(self._tokenizer(), Graph(file))
        except (OSError, ValueError) as error:
            raise self._failed(str(error), EXPORT_REMEDY) from error

    def _tokenizer(self) -> PairTokenizer:
        try:
            return read_tokenizer(self._directory / TOKENIZER, pair_limit(self._directory))
        except ImportError as error:
            raise self._failed(f"its {TOKENIZER} needs the tokenizers library", LIBRARY_REMEDY) from error

    def _failed(self, reason: str, remedy: str) -> RerankingError:
        return RerankingError(str(self._directory), " ".join(reason.split()), remedy)


def find_graph(directory: Path) -> Path:
    """Raises ValueError when there is none, or several and none has the usual name."""
    named = [directory / name for name in GRAPHS if (directory / name).is_file()]
    graphs = named[:1] or sorted({*directory.glob("*.onnx"), *directory.glob("onnx/*.onnx")})
    if not graphs:
        raise ValueError("there is no ONNX model in it")
    if len(graphs) > 1:
        names = ", ".join(str(graph.relative_to(directory)) for graph in graphs)
        raise ValueError(f"it holds several models and none is {GRAPHS[0]}: {names}")
    return graphs[0]


def pair_limit(directory: Path) -> int:
    """How many ids of a pair the model reads, markers included."""
    file = directory / CONFIG
    config = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    positions = config.get(POSITIONS) if isinstance(config, dict) else None
    return min(positions, LONGEST_PAIR) if isinstance(positions, int) and positions > 0 else LONGEST_PAIR
