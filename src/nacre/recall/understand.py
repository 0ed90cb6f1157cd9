"""Reads the question: which words to look for, and among which memories."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nacre.errors import InvalidInput, UnknownName
from nacre.model import Filter, Query
from nacre.recall.fuse import STRATEGIES
from nacre.text.stems import content_stems

# Half a surrogate pair or a NUL, from a broken paste: nothing that is kept has them, and no model reads them.
UNWRITABLE = re.compile("[\x00\ud800-\udfff]")
LONGEST_QUERY = 20_000  # characters; an agent that pastes a whole file wants ingestion, not recall


@dataclass(frozen=True, slots=True)
class Asked:
    text: str
    terms: tuple[str, ...]
    where: Filter
    k: int
    strategy: str
    asked_at: float


def understand(query: Query) -> Asked:
    if query.strategy not in STRATEGIES:
        raise UnknownName("strategy", query.strategy, STRATEGIES)
    if not isinstance(query.text, str):  # the type forbids it, a caller may not know
        raise InvalidInput(f"The question must be text, not {type(query.text).__name__}.")
    if len(query.text) > LONGEST_QUERY:
        raise InvalidInput(
            f"The question has {len(query.text):,} characters; ask with at most {LONGEST_QUERY:,}, in fewer words."
        )
    text = UNWRITABLE.sub(" ", query.text).strip()
    return Asked(
        text=text,
        terms=tuple(content_stems(text)),
        where=query.where,
        k=query.k,
        strategy=query.strategy,
        asked_at=query.asked_at,
    )
