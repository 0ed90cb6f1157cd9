"""Ids as ai-lessons gives them: ULIDs, which sort by when they were made."""

from __future__ import annotations

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's: nothing that reads like something else
LENGTH = 26
RANDOM_BITS = 80


def ulid(seconds: float, randomness: int) -> str:
    """Of a time and 80 random bits."""
    number = (int(seconds * 1000) << RANDOM_BITS) | randomness
    return "".join(ALPHABET[number >> 5 * place & 31] for place in reversed(range(LENGTH)))
