"""The embedders that come with the package, loaded when they are first needed: English alone, and many languages.

numpy and onnxruntime are imported with the model: many commands create an embedder and never use it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol
from weakref import WeakValueDictionary

from nacre.errors import ModelUnavailable
from nacre.files import ThreadLock
from nacre.models.onnx_session import in_parallel, open_session, runs
from nacre.models.shipped import MODELS, REMEDY, WEIGHTS, shipped
from nacre.protocols import Vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

POSITIONS = 256  # tokens of a text that are read, markers included: training saw no longer texts
MARKERS = 2  # before and after the text
ENGLISH_WIDTH, PROJECTED_WIDTH = 384, 192
# Measured on two cores with texts of 20 tokens: one text a run 1,000 a second, 384 tokens a run 1,500, and no more
# beyond, while the memory held grows (130 MB here, 290 MB at 2,048).
TOKENS_A_RUN = 384


def check_files(model: str, folder: Path) -> None:
    """Raises `ValueError` for a file that is not as it was made."""
    for name in next(each.files for each in MODELS if each.name == model):
        shipped(name, folder)


class Part(Protocol):
    """One of the models that a vector is made of."""

    def count(self, text: str) -> int: ...

    def rows(self, texts: Sequence[str]) -> Vectors: ...


class EnglishPart:
    """A BERT of six layers: the mean over the tokens of a text."""

    def __init__(self, folder: Path) -> None:
        from nacre.models.tokenizers import WordPiece

        check_files("english", folder)
        self._session = open_session(folder / "english.onnx")
        self._tokenizer = WordPiece.from_vocabulary(folder / "wordpiece.txt")
        self.count = self._tokenizer.count

    def rows(self, texts: Sequence[str]) -> Vectors:
        encoded = [self._tokenizer.encode(text, POSITIONS) for text in texts]
        return _rows(encoded, ENGLISH_WIDTH, self._run)

    def _run(self, ids: NDArray[np.int64]) -> Vectors:
        rows: Vectors = self._session.run(["rows"], {"ids": ids.astype("int32")})[0]
        return rows


class MultilingualPart:
    """The universal sentence encoder for sixteen languages: windows of two, three and five pieces of words."""

    def __init__(self, folder: Path) -> None:
        import numpy as np

        from nacre.models.pieces import WIDTH, PieceTable, StoredPieces
        from nacre.models.tokenizers import Unigram

        check_files("multilingual", folder)
        pieces = StoredPieces((folder / "unigram.txt").read_bytes(), np.load(folder / "unigram_order.npy"))
        scores = np.load(folder / "unigram.npy")
        self._tokenizer = Unigram(pieces, scores.data, float(scores.min()), pieces.lengths)
        self._table = PieceTable(folder / "pieces.bin")
        self._session = open_session(folder / "multilingual.onnx")
        self._width = WIDTH
        self.count = self._tokenizer.count

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, POSITIONS)

    def rows(self, texts: Sequence[str]) -> Vectors:
        return self.encoded_rows([self.encode(text) for text in texts])

    def encoded_rows(self, encoded: Sequence[Sequence[int]]) -> Vectors:
        return _rows(encoded, self._width, self._run)

    def _run(self, ids: NDArray[np.int64]) -> Vectors:
        rows: Vectors = self._session.run(["rows"], {"pieces": self._table.rows(ids)})[0]
        return rows


class BothParts:
    """The place of a text among English ones, and beside it what the multilingual encoder says by itself.

    An English text has its place from the English part. The encoder's row of any other is mapped to where an English
    translation would be, so that questions and memories of different languages meet; texts of mixed languages lie
    between. The encoder's own row is centred and projected to fewer dimensions.
    """

    def __init__(self, folder: Path) -> None:
        from concurrent.futures import ThreadPoolExecutor

        import numpy as np

        with ThreadPoolExecutor(1, "nacre-model") as pool:  # a command waits for both
            english = pool.submit(EnglishPart, folder)
            self._multilingual = MultilingualPart(folder)
            self._english = english.result()
        self._odds = np.load(folder / "english_pieces.npy")
        with np.load(folder / "combination.npz") as stored:
            self._mean, self._mapping, self._shift, self._projection = (
                stored[name] for name in ("mean", "mapping", "shift", "projection")
            )
            self._weight = float(stored["weight"])

    def count(self, text: str) -> int:
        # A word of a script that a tokenizer does not know counts as one token there, however long it is.
        return max(self._english.count(text), self._multilingual.count(text))

    def halves(self, texts: Sequence[str]) -> tuple[Vectors, Vectors]:
        """The place of each text among English ones, and the encoder's centred row."""
        import numpy as np

        encoded = [self._multilingual.encode(text) for text in texts]
        centred = self._multilingual.encoded_rows(encoded) - self._mean
        shares = englishness(self._odds, encoded)
        readable = np.flatnonzero(shares).tolist()
        english = self._english.rows([texts[place] for place in readable]) if readable else None
        # Only now: the threads of a matrix product keep a core busy for a while, which the models would miss.
        placed = (1 - shares[:, None]) * _unit(_product(centred, self._mapping) + self._shift)
        if english is not None:
            placed[readable] += shares[readable, None] * english
        return _unit(placed), centred

    def rows(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        placed, centred = self.halves(texts)
        own = self._weight * _unit(_product(centred, self._projection))
        return _unit(np.concatenate([placed, own], axis=1))


NO_LETTER = -128  # marks a piece of digits or punctuation, which says nothing of the language
LARGEST_ODDS = 4.0  # of one piece: 55 times as often in one language as in the others
# A text is English when the mean of its pieces' odds is above MIDDLE: names and rare words have odds of 0. Of English
# sentences 99 % get a share of 0.99 or more, of others 95 % one of 0.07 or less.
MIDDLE, STEEPNESS = -0.5, 4.0
FOREIGN = 0.02  # a share that is taken for nothing: the English part need not run


def englishness(odds: NDArray[np.int8], encoded: Sequence[Sequence[int]]) -> Vectors:
    """How English each text is, from 0 to 1; `odds` are those of the pieces, as `english_pieces.npy` holds them."""
    import numpy as np

    shares = np.ones(len(encoded), np.float32)
    for place, ids in enumerate(encoded):
        of_pieces = odds[ids[1:-1]]
        of_words = of_pieces[of_pieces != NO_LETTER]
        if len(of_words):
            mean = float(of_words.mean()) * LARGEST_ODDS / 127
            share = 1 / (1 + np.exp(-STEEPNESS * (mean - MIDDLE)))
            shares[place] = 0 if share < FOREIGN else share
    return shares


def _product(rows: Vectors, matrix: Vectors) -> Vectors:
    """Of a single row not by a matrix product, whose threads keep a core busy for a while after each question."""
    import numpy as np

    return np.einsum("ij,jk->ik", rows, matrix) if len(rows) == 1 else rows @ matrix


def _unit(rows: Vectors) -> Vectors:
    import numpy as np

    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), np.float32)


def _rows(encoded: Sequence[Sequence[int]], width: int, run: Callable[[NDArray[np.int64]], Vectors]) -> Vectors:
    import numpy as np

    rows = np.empty((len(encoded), width), dtype=np.float32)

    def fill(positions: list[int]) -> None:
        rows[positions] = run(np.array([encoded[position] for position in positions]))

    in_parallel(fill, list(runs([len(ids) for ids in encoded], TOKENS_A_RUN)))
    return rows


class Kind(NamedTuple):
    """`replaces` are the identities that it had before it was trained anew; their vectors cannot be compared with its
    own."""

    identity: str
    dimensions: int
    open: Callable[[Path], Part]
    replaces: tuple[str, ...]

    def is_of(self, identity: str) -> bool:
        """Whether it is this one, or one that this one replaces."""
        return identity == self.identity or identity in self.replaces


ENGLISH = Kind("nacre-english-3", ENGLISH_WIDTH, EnglishPart, replaces=("nacre-english-1", "nacre-english-2"))
MULTILINGUAL = Kind(
    "nacre-multilingual-3",
    ENGLISH_WIDTH + PROJECTED_WIDTH,
    BothParts,
    replaces=("nacre-multilingual-1", "nacre-multilingual-2"),
)


def is_replaced(former: str, present: str) -> bool:
    """Whether the second identity is that of a shipped embedder which replaces the one with the first."""
    return any(kind.identity == present and former in kind.replaces for kind in (ENGLISH, MULTILINGUAL))


_opening = ThreadLock()
_opened: WeakValueDictionary[tuple[Kind, Path], Part] = WeakValueDictionary()


def shared_part(kind: Kind, folder: Path) -> Part:
    """One for all embedders of a process, for as long as one of them is there: it takes 20 MB and 50 ms."""
    with _opening:
        part = _opened.get((kind, folder))
        if part is None:
            part = _opened[kind, folder] = kind.open(folder)
        return part


class ShippedEmbedder:
    """`follows_store`: a store that was filled with the other one keeps that."""

    token_limit = POSITIONS - MARKERS

    def __init__(self, kind: Kind = MULTILINGUAL, folder: Path = WEIGHTS, *, follows_store: bool = False) -> None:
        self.identity, self.dimensions = kind.identity, kind.dimensions
        self.follows_store = follows_store
        self._kind, self._folder = kind, folder
        self._loaded: Part | None = None

    def following(self, stored: str) -> ShippedEmbedder:
        """The one with this identity, or the one that replaces it, if it is a shipped one; else this one."""
        other = next((kind for kind in (ENGLISH, MULTILINGUAL) if kind.is_of(stored)), self._kind)
        return self if other is self._kind else ShippedEmbedder(other, self._folder)

    @property
    def ready(self) -> bool:
        return self._loaded is not None

    def load(self) -> None:
        """Opens the model if it is not open yet. Raises `ModelUnavailable`."""
        self._part()

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        try:
            part = self._part()
        except ModelUnavailable:
            from nacre.models.embedders import estimate_tokens

            return estimate_tokens(texts)
        return [part.count(text) for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._part().rows(texts)

    def _part(self) -> Part:
        if self._loaded is None:
            self._loaded = self._open()
        return self._loaded

    def _open(self) -> Part:
        try:
            return shared_part(self._kind, self._folder)
        except ValueError as error:
            raise ModelUnavailable(self.identity, str(error), REMEDY) from error
        except ImportError as error:
            remedy = "Install it for this machine: `pip install --force-reinstall onnxruntime`."
            raise ModelUnavailable(self.identity, f"onnxruntime cannot be loaded ({error})", remedy) from error
