"""How similar two texts or facts are, and whether they give different numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from nacre.text.tokens import STOP_WORDS, UNSPACED_RUN, words

NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?")
SHORTEST_CONCEPT = 3  # characters; shorter words are too common to show that two texts speak of one thing


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
    return frozenset(number.replace(",", "") for number in NUMBER.findall(text))


# The content counts most, then the concept, then the tags.
WORD_SHARE, TAG_SHARE, CONCEPT_SHARE = 0.5, 0.2, 0.3
SHORTEST = 3  # letters; shorter words are mostly particles


def compute_word_similarity(a: str, b: str) -> float:
    """The share of content words that both have, 0 to 1; 0 where either has none."""
    return overlap(content_words(a), content_words(b))


def compute_tag_similarity(a: Iterable[str], b: Iterable[str]) -> float:
    """The share of tags that both have, whatever their case, 0 to 1."""
    return overlap({tag.casefold() for tag in a}, {tag.casefold() for tag in b})


def compute_similarity(a: object, b: object) -> float:
    """0 to 1, of mappings or objects with `content`, `concept` and `tags`; a missing part counts as empty."""
    return (
        WORD_SHARE * compute_word_similarity(text_of(a, "content"), text_of(b, "content"))
        + TAG_SHARE * compute_tag_similarity(tags_of(a), tags_of(b))
        + CONCEPT_SHARE * compute_word_similarity(text_of(a, "concept"), text_of(b, "concept"))
    )


def content_words(text: str) -> frozenset[str]:
    """Without common and very short words; a pair of signs is a word where a script has no spaces."""
    return frozenset(
        word
        for word in words(text)
        if word not in STOP_WORDS and (len(word) >= SHORTEST or UNSPACED_RUN.match(word) is not None)
    )


def overlap(a: Collection[str], b: Collection[str]) -> float:
    mine, theirs = set(a), set(b)
    return len(mine & theirs) / len(mine | theirs) if mine and theirs else 0.0


def part(record: object, name: str) -> object:
    return record.get(name) if isinstance(record, Mapping) else getattr(record, name, None)


def text_of(record: object, name: str) -> str:
    value = part(record, name)
    return value if isinstance(value, str) else ""


def tags_of(record: object) -> list[str]:
    value = part(record, "tags")
    return [str(tag) for tag in value] if isinstance(value, Iterable) and not isinstance(value, str) else []
