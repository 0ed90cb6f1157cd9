"""Chunks and embeds: cuts texts at sentence borders, and derives the indexed words and vectors of memories."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

from nacre.errors import EmbeddingError
from nacre.model import Memory
from nacre.model.memory import embedded_head, piece_digest
from nacre.protocols import Backend, Chunk, Derived, Embedder, EmbedderIdentity, Vectors, Words
from nacre.text.tokens import joined_stems, sentence_spans, word_spans

Span = tuple[int, int]
Check = Callable[[EmbedderIdentity], object]  # raises where the store is bound to another vector space

# A file in base64 or hexadecimal is no language: to embed all of it takes seconds and places it no better. It stands in
# one line, or in lines of 60 characters or more, as in mails and key files.
LEAST_ENCODED = 2000  # characters
SIGN = "[A-Za-z0-9_+/=-]"
LINE_END = r"\r?\n[ \t]*"
LINES = rf"{SIGN}{{60,}}(?:{LINE_END}{SIGN}{{60,}}){{32,}}(?:{LINE_END}{SIGN}+(?=[ \t]*(?:\r?\n|\Z)))?"
ENCODED = re.compile(rf"(?<!{SIGN})(?:{SIGN}{{{LEAST_ENCODED},}}|{LINES})")
BEGINNING = 200  # characters of such a run that are embedded
MOST_CHARACTERS = 16  # a token; a text that has more of them for each token that fits is cut without counting first


def chunk(text: str, embedder: Embedder, *, reserved: int = 0) -> list[Span]:
    """Spans cover the text without a gap. `reserved` tokens stay free for the head that precedes each chunk."""
    room = max(embedder.token_limit - reserved, embedder.token_limit // 2, 1)
    # A token is at least one character, so a short text needs no counting.
    if len(text) <= room or counted(text, [(0, len(text))], room, embedder)[0] <= room:
        return [(0, len(text))]
    return join_spans(fitting(text, encoded_as_one(text, sentence_spans(text)), room, embedder), room)


def encoded_as_one(text: str, spans: Sequence[Span]) -> list[Span]:
    """The spans, with all lines of encoded data joined to one, of which only the beginning is embedded."""
    runs = [run.span() for run in ENCODED.finditer(text)]
    if not runs:
        return list(spans)
    begins = [begin for begin, _ in runs]
    # The run that begins before a span, if any, ends before it too, or the span is part of it.
    starts = [at for at, _ in spans if not (before := bisect_left(begins, at)) or runs[before - 1][1] <= at]
    return list(zip(starts, [*starts[1:], spans[-1][1]], strict=True))


def fitting(text: str, spans: Sequence[Span], room: int, embedder: Embedder) -> list[tuple[Span, int]]:
    """Spans with their token counts, at most `room` each: a long sentence is cut at words, a long word anywhere."""
    counts = counted(text, spans, room, embedder)
    fitted: list[tuple[Span, int]] = []
    for (start, end), tokens in zip(spans, counts, strict=True):
        if tokens <= room or end - start == 1:
            fitted.append(((start, end), tokens))
            continue
        words = word_spans(text, start, end)
        fitted += fitting(text, words if len(words) > 1 else slices(start, end, room), room, embedder)
    return fitted


def counted(text: str, spans: Sequence[Span], room: int, embedder: Embedder) -> list[int]:
    """The tokens of each span, or more than `room` where it is so long that it has to be cut in any case."""
    pieces = [without_encoded(text[start:end]) for start, end in spans]
    counts = iter(embedder.count_tokens([piece for piece in pieces if len(piece) <= MOST_CHARACTERS * room]))
    return [next(counts) if len(piece) <= MOST_CHARACTERS * room else room + 1 for piece in pieces]


def without_encoded(text: str) -> str:
    """As it is embedded: of encoded data, the beginning alone."""
    if len(text) < LEAST_ENCODED:
        return text
    return ENCODED.sub(lambda run: run[0][:BEGINNING], text)


def slices(start: int, end: int, room: int) -> list[Span]:
    # A slice of `room` characters can hardly exceed `room` tokens; halving ends the recursion where it does.
    step = room if end - start > room else max(1, (end - start) // 2)
    return [(at, min(at + step, end)) for at in range(start, end, step)]


def join_spans(spans: Sequence[tuple[Span, int]], room: int) -> list[Span]:
    joined: list[Span] = []
    used = room + 1
    for (start, end), tokens in spans:
        if used + tokens <= room:
            joined[-1] = (joined[-1][0], end)
            used += tokens
        else:
            joined.append((start, end))
            used = tokens
    return joined


def derive(memories: Sequence[Memory], embedder: Embedder, store: Backend, check: Check | None = None) -> list[Derived]:
    """In order. Raises `EmbeddingError` when the embedder cannot answer, and what `check` raises."""
    import numpy as np

    cut = [chunk_memory(memory, embedder) for memory in memories]
    wanted = {each.digest: piece for chunks, pieces in cut for each, piece in zip(chunks, pieces, strict=True)}
    known = vectors_of(wanted, embedder, store, check)
    vectors = ([known[each.digest] for each in chunks] for chunks, _ in cut)
    return [
        Derived(indexed_words(memory), chunks, rows[0][np.newaxis] if len(rows) == 1 else np.stack(rows))
        for memory, (chunks, _), rows in zip(memories, cut, vectors, strict=True)
    ]


def derive_or_defer(
    memories: Sequence[Memory], embedder: Embedder, store: Backend, check: Check | None = None
) -> tuple[list[Derived], str]:
    """Like `derive`; when the embedder fails, only the words are derived and the second value says why."""
    try:
        return derive(memories, embedder, store, check), ""
    except EmbeddingError as error:
        return [Derived(indexed_words(memory)) for memory in memories], str(error)


def indexed_words(memory: Memory) -> Words:
    return Words(
        title=joined_stems([memory.title]),
        text=joined_stems([memory.text]),
        role=joined_stems([memory.role]),
        tags=joined_stems(memory.tags),
        entities=joined_stems(memory.entities),
    )


def chunk_memory(memory: Memory, embedder: Embedder) -> tuple[tuple[Chunk, ...], list[str]]:
    """Each chunk is embedded with the title and the speaker before it."""
    head = embedded_head(shortened(memory.title, embedder) if memory.title else "", memory.role)
    reserved = embedder.count_tokens([head])[0] if head else 0
    spans = chunk(memory.text, embedder, reserved=reserved)
    pieces = [head + memory.text[start:end] for start, end in spans]
    chunks = tuple(Chunk(start, end, piece_digest(piece)) for (start, end), piece in zip(spans, pieces, strict=True))
    return chunks, list(map(without_encoded, pieces))


def shortened(title: str, embedder: Embedder) -> str:
    """At most half of what the embedder reads, so that a long title does not displace the text."""
    start, end = chunk(title, embedder, reserved=embedder.token_limit)[0]
    return title[start:end].rstrip()


def vectors_of(
    wanted: Mapping[bytes, str], embedder: Embedder, store: Backend, check: Check | None
) -> dict[bytes, Vectors]:
    """Of these pieces, by their digests."""
    bound, stored = store.vectors_for(list(wanted))
    if check is not None:
        check(bound)
    known = stored if bound.name == embedder.identity else {}
    missing = {key: piece for key, piece in wanted.items() if key not in known}
    if missing:
        known |= dict(zip(missing, embedder.embed(list(missing.values())), strict=True))
    return known


def same_derived_input(a: Memory, b: Memory) -> bool:
    """Whether both give the same words and vectors."""
    return derived_input(a) == derived_input(b)


def derived_input(memory: Memory) -> tuple[object, ...]:
    return memory.title, memory.text, memory.role, memory.tags, memory.entities
