"""BERT's WordPiece tokenizer for texts and pairs of texts: the ids of the `tokenizers` library, without it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

UNKNOWN, START, END = "[UNK]", "[CLS]", "[SEP]"
MARKERS = ("[PAD]", UNKNOWN, START, END, "[MASK]")
CONTINUED = "##"
LONGEST_WORD = 100  # of BERT's reference; a longer run of letters is one unknown word
CACHED_WORDS = 50_000  # some 10 MB; a language's working vocabulary is smaller

# The blocks that BERT writes one token a character.
IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),  # not 0x2B820: the reference has it so
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
ASCII_SYMBOLS = frozenset("$+<=>^`|~")  # Unicode calls them symbols, BERT punctuation


class WordPiece:
    """Safe to share between threads: a cached entry does not depend on the thread that computes it."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self.start, self.end = vocabulary[START], vocabulary[END]
        self._vocabulary = vocabulary
        self.unknown_id = vocabulary[UNKNOWN]
        self._unknown = (self.unknown_id,)
        self._longest = max(map(len, vocabulary))
        self._marker_pattern = re.compile("(" + "|".join(map(re.escape, MARKERS)) + ")")
        self._known: dict[str, tuple[int, ...]] = {}

    @classmethod
    def from_vocabulary(cls, path: Path) -> WordPiece:
        """Reads a list of pieces, one a line; the number of the line is its id."""
        return cls({piece: number for number, piece in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1])})

    def encode(self, text: str, limit: int) -> list[int]:
        """The ids with the start and end markers; at most `limit` in all."""
        return [self.start, *self._pieces(text, limit - 2), self.end]

    def count(self, text: str) -> int:
        """How many ids the text has, without the start and end markers."""
        return len(self._pieces(text, len(text) * 4 + 1))

    def _pieces(self, text: str, limit: int) -> list[int]:
        ids: list[int] = []
        # A marker written out in a text is that marker, as in the reference.
        for position, part in enumerate(self._marker_pattern.split(text)):
            if position % 2:
                ids.append(self._vocabulary[part])
                continue
            for word in words(part):
                ids.extend(self._known.get(word) or self._learn(word))
                if len(ids) >= limit:
                    return ids[:limit]
        return ids[:limit]

    def _learn(self, word: str) -> tuple[int, ...]:
        ids = self._split(word) if len(word) <= LONGEST_WORD else self._unknown
        if len(self._known) >= CACHED_WORDS:
            self._known.clear()
        self._known[word] = ids
        return ids

    def _split(self, word: str) -> tuple[int, ...]:
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


@dataclass(frozen=True, slots=True)
class Pair:
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
