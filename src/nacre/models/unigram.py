"""SentencePiece's Unigram tokenizer for the multilingual model, without the dependency."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

UNKNOWN, START, END = 0, 1, 2
SPACE = "▁"  # stands at the beginning of every word
UNKNOWN_PENALTY = 10.0  # below the rarest piece, as in the reference
CACHED_WORDS = 50_000
CACHED_LENGTH = 32  # scripts without spaces have "words" as long as a sentence, which do not come again


class Unigram:
    """Splits each word into the likeliest pieces. Safe to share between threads, as a cached entry does not depend on
    the thread that computes it.
    """

    def __init__(self, pieces: Sequence[str], scores: Sequence[float]) -> None:
        self._ids: Mapping[str, int] = dict(zip(pieces, range(len(pieces)), strict=True))
        self._scores = scores
        self._unknown_score = min(scores) - UNKNOWN_PENALTY
        self._longest = max(map(len, pieces))
        self._known: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str, limit: int) -> list[int]:
        """The ids with the start and end markers; at most `limit` in all."""
        return [START, *(self._pieces(text, limit - 2) or (UNKNOWN,)), END]

    def count(self, text: str) -> int:
        """How many ids the text has, without the start and end markers."""
        return len(self._pieces(text, len(text) * 4 + 1))

    def _pieces(self, text: str, limit: int) -> list[int]:
        ids: list[int] = []
        for word in normalised(text).split():
            ids.extend(self._known.get(word) or self._learn(word))
            if len(ids) >= limit:
                break
        return ids[:limit]

    def _learn(self, word: str) -> tuple[int, ...]:
        ids = self._split(SPACE + word)
        if len(word) <= CACHED_LENGTH:
            if len(self._known) >= CACHED_WORDS:
                self._known.clear()
            self._known[word] = ids
        return ids

    def _split(self, word: str) -> tuple[int, ...]:
        """The pieces with the highest sum of scores; the earliest start wins where two are equal."""
        best = [0.0] + [-1e38] * len(word)
        come_from: list[tuple[int, int]] = [(0, UNKNOWN)] * (len(word) + 1)  # where the piece that ends here starts
        for start in range(len(word)):
            for end in range(start + 1, min(len(word), start + self._longest) + 1):
                piece = self._ids.get(word[start:end])
                if piece is None and end > start + 1:
                    continue
                score = best[start] + (self._unknown_score if piece is None else self._scores[piece])
                if score > best[end]:
                    best[end], come_from[end] = score, (start, UNKNOWN if piece is None else piece)
        ids: list[int] = []
        end = len(word)
        while end:
            end, piece = come_from[end]
            ids.append(piece)
        return tuple(reversed(ids))


def normalised(text: str) -> str:
    """Compatible characters made one, as the reference does it but for a few rare marks."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text.translate(PARTING))


PARTING = dict.fromkeys(map(ord, "\u200b\u200e\u200f\ufeff\ufffd"), " ")  # invisible, and no letters
