"""Finds memories by a few words of a question, whole words in their title or text."""

from __future__ import annotations

from nacre.memory_store import MemoryStore
from nacre.model import Filter, Memory
from nacre.text.tokens import content_stems, stems

KEYWORDS = 6  # of a question; the first ones say what it is about
MATCHES = 500  # best by BM25, before the caller's own order: a common word may stand in half of a large store


def matching(
    store: MemoryStore, question: str, among: Filter, limit: int = MATCHES, keywords: int = KEYWORDS
) -> list[Memory]:
    """Newest first. From the index of words: its cost grows with the matches, at most `limit` of which are read."""
    terms = content_stems(question)[:keywords]
    index, where = store.acting_as("").store, Filter.live(store.now()) & among
    found = index.by_words(store.space, terms, where, limit) if terms else []
    memories = [memory for memory in store.get_many([match.id for match in found]) if has_one(memory, terms)]
    return sorted(memories, key=lambda memory: -memory.created_at)


def has_one(memory: Memory, terms: list[str]) -> bool:
    """The index knows tags and entities too; the question asks for what was said."""
    return not set(terms).isdisjoint(stems(f"{memory.title} {memory.text}"))
