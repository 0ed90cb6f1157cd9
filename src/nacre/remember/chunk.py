"""Cuts a text into spans that the embedder can read whole, on sentence borders where there are any."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.ports import Embedder
from nacre.text.sentences import sentence_spans, word_spans

Span = tuple[int, int]


def chunk(text: str, embedder: Embedder, *, reserved: int = 0) -> list[Span]:
    """Spans cover the text without a gap. `reserved` tokens are kept free for what is put before each chunk."""
    room = max(embedder.token_limit - reserved, embedder.token_limit // 2, 1)
    # A token is at least one character: what is short in characters needs no counting.
    if len(text) <= room or embedder.count_tokens([text])[0] <= room:
        return [(0, len(text))]
    return joined(fitting(text, sentence_spans(text), room, embedder), room)


def fitting(text: str, spans: Sequence[Span], room: int, embedder: Embedder) -> list[tuple[Span, int]]:
    """Spans with their tokens, none of more than `room`: too long a sentence is cut at words, a word anywhere."""
    counts = embedder.count_tokens([text[start:end] for start, end in spans])
    whole: list[tuple[Span, int]] = []
    for (start, end), tokens in zip(spans, counts, strict=True):
        if tokens <= room or end - start == 1:
            whole.append(((start, end), tokens))
            continue
        words = word_spans(text, start, end)
        whole += fitting(text, words if len(words) > 1 else slices(start, end, room), room, embedder)
    return whole


def slices(start: int, end: int, room: int) -> list[Span]:
    # A slice of `room` characters can hardly exceed `room` tokens; halving ends the recursion where it does.
    step = room if end - start > room else max(1, (end - start) // 2)
    return [(at, min(at + step, end)) for at in range(start, end, step)]


def joined(spans: Sequence[tuple[Span, int]], room: int) -> list[Span]:
    whole: list[Span] = []
    used = room + 1
    for (start, end), tokens in spans:
        if used + tokens <= room:
            whole[-1] = (whole[-1][0], end)
            used += tokens
        else:
            whole.append((start, end))
            used = tokens
    return whole
