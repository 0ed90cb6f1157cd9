"""How alike two texts, two lists of tags or two facts are, and which facts answer a question."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from nacre.text.similarity import (
    compute_similarity,
    compute_tag_similarity,
    compute_word_similarity,
    content_words,
    text_of,
)

__all__ = ["compute_similarity", "compute_tag_similarity", "compute_word_similarity", "rerank_facts_by_query"]

DATED_BONUS = 0.15  # less than one word of a question of six: it decides between equals only
DATED_KEYS = ("source_date", "temporal_order")
# «originally» and «changes» ask what «original» and «change» ask; «afternoon» does not ask for «after».
ASKS_FOR_TIME = re.compile(
    r"\b(?:change[sd]?|original(?:ly)?|before|after|previous(?:ly)?|current(?:ly)?|first|initially|updated|revised"
    r"|intermediate|over\s+time|history|evolution|timeline|when)\b",
    re.IGNORECASE,
)

Fact = TypeVar("Fact", bound=Mapping[str, object])


def rerank_facts_by_query(facts: Sequence[Fact], query: str, top_k: int = 0) -> list[Fact]:
    """The facts by the share of the question's words they have, equals in the order given; all of them unless
    `top_k` is positive.

    The text of a fact is in `context` and `outcome` (or `concept` and `content`). When the question asks about time, a
    fact with a date in its `metadata` is preferred.
    """
    asked, about_time = content_words(query), ASKS_FOR_TIME.search(query) is not None
    ranked = sorted(facts, key=lambda fact: -relevance(fact, asked, about_time)) if asked else list(facts)
    return ranked[:top_k] if top_k > 0 else ranked


def relevance(fact: Mapping[str, object], asked: Collection[str], about_time: bool) -> float:
    fact_words = content_words(" ".join(text_of(fact, name) for name in ("context", "outcome", "concept", "content")))
    if not fact_words:
        return 0.0
    return len(fact_words & set(asked)) / len(asked) + (DATED_BONUS if about_time and dated(fact) else 0.0)


def dated(fact: Mapping[str, object]) -> bool:
    metadata = fact.get("metadata")
    fields = metadata if isinstance(metadata, Mapping) else {}
    index = fields.get("temporal_index", 0)
    return (isinstance(index, int | float) and index > 0) or any(fields.get(key) for key in DATED_KEYS)


def _tokenize(text: str) -> set[str]:
    return set(content_words(text))
