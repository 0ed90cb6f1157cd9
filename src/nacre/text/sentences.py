"""Finds where a text may be cut without breaking a thought."""

from __future__ import annotations

import re

# After a sentence's end mark (with its closing quotes) and space, after a full-width mark, or at a line's end.
BORDER = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？])|\n+")
WORD_BORDER = re.compile(r"\s+")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Spans that cover the text without a gap; each holds its trailing space."""
    return spans(text, 0, len(text), BORDER)


def word_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    return spans(text, start, end, WORD_BORDER)


def spans(text: str, start: int, end: int, border: re.Pattern[str]) -> list[tuple[int, int]]:
    cuts = [cut.end() for cut in border.finditer(text, start, end) if start < cut.end() < end]
    return list(zip([start, *cuts], [*cuts, end], strict=True))
