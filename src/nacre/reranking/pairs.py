"""Turns a query and its texts into the pairs of token ids that a cross-encoder reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from nacre.embedding.wordpiece import CONTINUED, END, LONGEST_WORD, START, UNKNOWN, WordPiece

if TYPE_CHECKING:
    from tokenizers import Tokenizer

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
    """Pairs are at most `limit` ids long. Raises OSError or ValueError when the file is none.

    Raises ImportError when it takes the `tokenizers` library, and that is not installed.
    """
    told = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(told, dict) or not isinstance(told.get("model"), dict):
        raise ValueError("it describes no tokenizer")
    return WordPiecePairs(WordPiece.from_file(file), limit) if _is_bert(told) else LibraryPairs(file, limit)


class WordPiecePairs:
    def __init__(self, wordpiece: WordPiece, limit: int) -> None:
        self._wordpiece = wordpiece
        self._room = limit - MARKERS

    def encode(self, query: str, texts: Sequence[str]) -> list[Pair]:
        asked = self._pieces(query)
        return [self._pair(asked, self._pieces(text)) for text in texts]

    def _pieces(self, text: str) -> list[int]:
        # What lies beyond the room of the whole pair is cut whatever the other text is, so it need not be read.
        return self._wordpiece.encode(text, self._room + 2)[1:-1]

    def _pair(self, query: list[int], text: list[int]) -> Pair:
        start, end = self._wordpiece.start, self._wordpiece.end
        of_query, of_text = kept(len(query), len(text), self._room)
        ids = [start, *query[:of_query], end, *text[:of_text], end]
        return Pair(ids, [0] * (of_query + 2) + [1] * (of_text + 1))


class LibraryPairs:
    def __init__(self, file: Path, limit: int) -> None:
        self._tokenizer = _load(file)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(limit, strategy="longest_first")

    def encode(self, query: str, texts: Sequence[str]) -> list[Pair]:
        asked = _encodable(query)
        encoded = self._tokenizer.encode_batch([(asked, _encodable(text)) for text in texts])
        return [Pair(each.ids, each.type_ids) for each in encoded]


def kept(first: int, second: int, room: int) -> tuple[int, int]:
    """How much of two texts fits: the longer one gives way first, then both alike, as in the `tokenizers` library."""
    if first + second <= room:
        return first, second
    shorter = min(first, second)
    longer = max(shorter, room - shorter)
    if shorter + longer > room:
        shorter, longer = room // 2, room - room // 2
    return (longer, shorter) if first > second else (shorter, longer)


def _is_bert(told: Mapping[str, object]) -> bool:
    """True when our WordPiece gives the very ids that the file describes."""
    model, normalizer, markers = told["model"], told.get("normalizer"), told.get("added_tokens")
    if not isinstance(model, dict) or not isinstance(normalizer, dict) or not isinstance(markers, list):
        return False
    accents = normalizer.get("strip_accents")
    return (
        _has(model, BERT_MODEL)
        and {UNKNOWN, START, END} <= set(model.get("vocab", ()))
        and _has(normalizer, BERT_NORMALIZER)
        and accents in (None, normalizer.get("lowercase"))
        and told.get("pre_tokenizer") == {"type": "BertPreTokenizer"}
        and _is_bert_pair(told.get("post_processor"))
        and bool(markers)
        and all(_has(marker, PLAIN_MARKER) for marker in markers)
    )


def _is_bert_pair(processor: object) -> bool:
    return isinstance(processor, dict) and (
        processor.get("type") == "BertProcessing" or processor.get("pair") == BERT_PAIR
    )


def _has(told: Mapping[str, object], wanted: Mapping[str, object]) -> bool:
    return all(told.get(name) == value for name, value in wanted.items())


def _load(file: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises nothing narrower
        raise ValueError(str(error)) from error


def _encodable(text: str) -> str:
    # Half of a surrogate pair is no Unicode, and the library takes nothing else.
    return text.encode("utf-8", "replace").decode("utf-8")
