"""One piece of a text, as it was cut out: a word, a number with its unit, a date, a border."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nacre.text.closed_classes import FUNCTION_WORDS


@dataclass(frozen=True, slots=True)
class Piece:
    """`amount` is that of a number in its dimension's own unit, and of an hour in minutes."""

    kind: str  # word, number, version, date, clock, score, label, border
    text: str
    lower: str
    amount: float = 0.0
    dimension: str = ""

    @property
    def has_content(self) -> bool:
        return self.kind == "label" or (self.kind == "word" and self.lower not in FUNCTION_WORDS)


def lower(pieces: Sequence[Piece], place: int) -> str:
    """Empty beyond the ends."""
    return pieces[place].lower if 0 <= place < len(pieces) else ""


def kind(pieces: Sequence[Piece], place: int) -> str:
    return pieces[place].kind if 0 <= place < len(pieces) else ""
