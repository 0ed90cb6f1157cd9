"""Numbers in a text, however they are written, and whether two texts give different ones."""

from __future__ import annotations

import re

from nacre.text.tokens import words

NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?")
SHORTEST_CONCEPT = 3  # characters; shorter words are too common to show that two texts speak of one thing
ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen".split()
)
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
SPELLED: dict[str, float] = {word: float(value) for value, word in enumerate(ONES)} | {
    word: 10.0 * value for value, word in enumerate(TENS, 2)
}
SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "dozen": 12.0}
SUFFIXES = {"k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9, "b": 1e9}


def number_conflict(content_a: str, content_b: str, concept_a: str = "", concept_b: str = "") -> str:
    """«9 vs 10» where both texts speak of one concept and each gives a number that the other does not; else empty."""
    concepts_a, concepts_b = concept_words(concept_a or content_a), concept_words(concept_b or content_b)
    numbers_a, numbers_b = numbers(content_a), numbers(content_b)
    only_a, only_b = numbers_a - numbers_b, numbers_b - numbers_a
    if not (concepts_a & concepts_b and only_a and only_b):
        return ""
    return f"{', '.join(sorted(only_a, key=float))} vs {', '.join(sorted(only_b, key=float))}"


def concept_words(text: str) -> frozenset[str]:
    return frozenset(word for word in words(text) if len(word) >= SHORTEST_CONCEPT and not word[0].isdigit())


def numbers(text: str) -> frozenset[str]:
    return frozenset(found.replace(",", "") for found in NUMBER.findall(text))


def spelled_out(parts: list[str]) -> float | None:
    """«two hundred fifty», «twenty five»; None where the words are no number."""
    total, current, seen = 0.0, 0.0, False
    for part in parts:
        if part in SPELLED:
            current, seen = current + SPELLED[part], True
        elif part in SCALES:
            current = (current or 1.0) * SCALES[part]
            if SCALES[part] > SCALES["hundred"]:
                total, current = total + current, 0.0
            seen = True
        else:
            return None
    return total + current if seen else None
