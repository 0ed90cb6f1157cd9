"""The ids of ai-lessons: ULIDs, which sort by creation time."""

from __future__ import annotations

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32, without letters that look like digits
LENGTH = 26
RANDOM_BITS = 80


def ulid(seconds: float, randomness: int) -> str:
    """`seconds` since the epoch; `randomness` has 80 bits."""
    number = (int(seconds * 1000) << RANDOM_BITS) | randomness
    return "".join(ALPHABET[number >> 5 * place & 31] for place in reversed(range(LENGTH)))
