"""The tokenizers of the shipped models, without their libraries: BERT's WordPiece and SentencePiece's Unigram."""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, Protocol

CACHED_WORDS = 50_000  # some 10 MB; a language's working vocabulary is smaller
CACHED_LENGTH = 32  # scripts without spaces have "words" as long as a sentence, which do not come again


class Tokenizer(ABC):
    """Safe to share between threads: a cached entry does not depend on the thread that computes it."""

    empty: tuple[int, ...] = ()  # the ids of a text without words

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end
        self._known: dict[str, tuple[int, ...]] = {}

    @abstractmethod
    def words(self, text: str) -> Iterable[str]: ...

    @abstractmethod
    def split(self, word: str) -> tuple[int, ...]:
        """The ids of its pieces."""

    def encode(self, text: str, limit: int) -> list[int]:
        """The ids with the start and end markers; at most `limit` in all."""
        return [self.start, *(self._pieces(text, limit - 2) or self.empty), self.end]

    def count(self, text: str) -> int:
        """How many ids the text has, without the start and end markers."""
        return len(self._pieces(text, len(text) * 4 + 1))

    def _pieces(self, text: str, limit: int) -> list[int]:
        ids: list[int] = []
        for word in self.words(text):
            ids.extend(self._known.get(word) or self._learn(word))
            if len(ids) >= limit:
                break
        return ids[:limit]

    def _learn(self, word: str) -> tuple[int, ...]:
        ids = self.split(word)
        if len(word) <= CACHED_LENGTH:
            if len(self._known) >= CACHED_WORDS:
                self._known.clear()
            self._known[word] = ids
        return ids


UNKNOWN, START, END = "[UNK]", "[CLS]", "[SEP]"
MARKERS = ("[PAD]", UNKNOWN, START, END, "[MASK]")
CONTINUED = "##"
LONGEST_WORD = 100  # of BERT's reference; a longer run of letters is one unknown word

# The blocks that BERT writes one token a character.
IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),  # not 0x2B820: the reference has it so
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
ASCII_SYMBOLS = frozenset("$+<=>^`|~")  # Unicode calls them symbols, BERT punctuation


class WordPiece(Tokenizer):
    def __init__(self, vocabulary: dict[str, int]) -> None:
        super().__init__(vocabulary[START], vocabulary[END])
        self._vocabulary = vocabulary
        self.unknown_id = vocabulary[UNKNOWN]
        self._unknown = (self.unknown_id,)
        self._longest = max(map(len, vocabulary))
        self._marker_pattern = re.compile("(" + "|".join(map(re.escape, MARKERS)) + ")")

    @staticmethod
    @cache
    def from_vocabulary(path: Path) -> WordPiece:
        """Reads a list of pieces, one a line; the number of the line is its id. All models of a process share it."""
        pieces = path.read_text(encoding="utf-8").split("\n")[:-1]
        return WordPiece(dict(zip(pieces, range(len(pieces)), strict=True)))

    def words(self, text: str) -> Iterator[str]:
        """A marker written out in a text is that marker, as in the reference."""
        for position, part in enumerate(self._marker_pattern.split(text)):
            yield from (part,) if position % 2 else words(part)

    def split(self, word: str) -> tuple[int, ...]:
        if len(word) > LONGEST_WORD:
            return self._unknown
        ids: list[int] = []
        start = 0
        while start < len(word):
            prefix = CONTINUED if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                piece = self._vocabulary.get(prefix + word[start:end])
                if piece is not None:
                    ids.append(piece)
                    start = end
                    break
            else:
                return self._unknown
        return tuple(ids)


def words(text: str) -> Sequence[str]:
    """Lowercase words and single punctuation marks, without accents and control characters."""
    if not text.isascii():
        text = unicodedata.normalize("NFD", text.translate(CLEANED))
    return text.translate(FOLDED).split()


class CharacterTable(dict[int, str]):
    """What each character becomes, for `str.translate`; filled as characters are met."""

    def __init__(self, become: Callable[[str], str]) -> None:
        self._become = become

    def __missing__(self, code: int) -> str:
        self[code] = became = self._become(chr(code))
        return became


def clean_character(character: str) -> str:
    """Before accents are split off."""
    category = unicodedata.category(character)
    if character in "\t\n\r" or (character.isspace() and category != "Cc"):
        return " "
    if character == "\ufffd" or category in ("Cc", "Cf", "Co"):
        return ""
    if any(first <= ord(character) <= last for first, last in IDEOGRAPHS):
        return f" {character} "
    return character


def fold_character(character: str) -> str:
    """After accents are split off."""
    cleaned = CLEANED[ord(character)]
    if cleaned != character:
        return cleaned
    if character in ASCII_SYMBOLS or unicodedata.category(character).startswith("P"):
        return f" {character} "
    # One character at a time, as the reference does it: a final sigma stays a plain one.
    return "" if unicodedata.category(character) == "Mn" else character.lower()


CLEANED = CharacterTable(clean_character)
FOLDED = CharacterTable(fold_character)


PAIR_MARKERS = 3  # [CLS] first [SEP] second [SEP]


class Pair(NamedTuple):
    """`segments` holds, for each of the ids, which of the two texts it belongs to."""

    ids: Sequence[int]
    segments: Sequence[int]


class WordPiecePairs:
    """Pairs are at most `limit` ids long."""

    def __init__(self, wordpiece: WordPiece, limit: int) -> None:
        self._wordpiece = wordpiece
        self._room = limit - PAIR_MARKERS

    def encode(self, first: str, second: str) -> Pair:
        start, end = self._wordpiece.start, self._wordpiece.end
        # Ids beyond the room of the pair are cut in any case, so they are not computed.
        ids, others = (self._wordpiece.encode(text, self._room + 2)[1:-1] for text in (first, second))
        of_first, of_second = shared_room(len(ids), len(others), self._room)
        both = [start, *ids[:of_first], end, *others[:of_second], end]
        return Pair(both, [0] * (of_first + 2) + [1] * (of_second + 1))


def shared_room(first: int, second: int, room: int) -> tuple[int, int]:
    """How many ids of two texts fit: the longer one is cut first, then both equally, as in the `tokenizers` library."""
    if first + second <= room:
        return first, second
    shorter = min(first, second)
    longer = max(shorter, room - shorter)
    if shorter + longer > room:
        shorter, longer = room // 2, room - room // 2
    return (longer, shorter) if first > second else (shorter, longer)


UNKNOWN_ID, START_ID, END_ID = 0, 1, 2  # of Unigram
SPACE = "▁"  # stands at the beginning of every word
UNKNOWN_PENALTY = 10.0  # below the rarest piece, as in the reference
LONGEST_PIECE = 16  # characters
MANY_LETTERS = 4_000  # of long words, from which on it is worth to know how long the pieces are that begin like this


class PieceNumbers(Protocol):
    """The number of each piece; a dictionary is one."""

    def get(self, piece: str, /) -> int | None: ...


Lengths = Mapping[str, int]  # of the longest piece that begins with these one or two characters


class Unigram(Tokenizer):
    """Splits each word into the likeliest pieces."""

    empty = (UNKNOWN_ID,)

    def __init__(
        self, ids: PieceNumbers, scores: Sequence[float], lowest: float, lengths: Callable[[], Lengths] | None = None
    ) -> None:
        super().__init__(START_ID, END_ID)
        self._ids = ids
        self._read_lengths = lengths
        self._lengths: Lengths | None = None
        self._letters = 0  # of long words until now
        self._scores = scores
        self._unknown_score = lowest - UNKNOWN_PENALTY

    def words(self, text: str) -> list[str]:
        return normalised(text).split()

    def split(self, word: str) -> tuple[int, ...]:
        """The pieces with the highest sum of scores; the earliest start wins where two are equal."""
        word = SPACE + word
        lengths = self._lengths_for(word)
        best = [0.0] + [-1e38] * len(word)
        come_from: list[tuple[int, int]] = [(0, UNKNOWN_ID)] * (len(word) + 1)  # where the piece that ends here starts
        for start in range(len(word)):
            longest = LONGEST_PIECE if lengths is None else lengths.get(word[start : start + 2], 1)
            for end in range(start + 1, min(len(word), start + longest) + 1):
                piece = self._ids.get(word[start:end])
                if piece is None and end > start + 1:
                    continue
                score = best[start] + (self._unknown_score if piece is None else self._scores[piece])
                if score > best[end]:
                    best[end], come_from[end] = score, (start, UNKNOWN_ID if piece is None else piece)
        ids: list[int] = []
        end = len(word)
        while end:
            end, piece = come_from[end]
            ids.append(piece)
        return tuple(reversed(ids))

    def _lengths_for(self, word: str) -> Lengths | None:
        """None until many long words were met: reading them takes as long as splitting a page of Chinese without."""
        if self._lengths is None and self._read_lengths is not None and len(word) > CACHED_LENGTH:
            self._letters += len(word)
            if self._letters > MANY_LETTERS:
                self._lengths = self._read_lengths()
        return self._lengths


def normalised(text: str) -> str:
    """Compatible characters made one, as the reference does it but for a few rare marks."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text.translate(PARTING))


PARTING = dict.fromkeys(map(ord, "\u200b\u200e\u200f\ufeff\ufffd"), " ")  # invisible, and no letters
