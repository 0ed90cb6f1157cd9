"""How relevant an experience is to a text: by shared words, type, confidence and age."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

from nacre.minds.experience import Experience, ExperienceType
from nacre.model.instants import DAY
from nacre.text.tokens import content_stems, stems

# Patterns and insights count more than events.
TYPE_WEIGHTS = {ExperienceType.PATTERN: 1.5, ExperienceType.INSIGHT: 1.3}
LEAST_SURE = 0.5  # the factor of a similarity at confidence 0
RECENCY_DAYS, RECENCY_FLOOR = 90.0, 0.7


class TFIDFSimilarity:
    """The cosine of two texts' stems, without common words. `fit` or `add` counts how rare each stem is;
    before that, all weigh the same."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.fit(texts)

    def fit(self, texts: Iterable[str]) -> TFIDFSimilarity:
        self._holding: Counter[str] = Counter()
        self._texts = 0
        for text in texts:
            self.add(text)
        return self

    def add(self, text: str) -> None:
        self._texts += 1
        self._holding.update(set(stems(text)))

    def rarity(self, stem: str) -> float:
        return math.log((1 + self._texts) / (1 + self._holding[stem])) + 1 if self._texts else 1.0

    def calculate(self, text1: str, text2: str) -> float:
        """From 0, nothing in common, to 1, the same words."""
        one, other = self._weights(text1), self._weights(text2)
        if one == other:
            return 1.0 if one else 0.0
        shared = sum(weight * other[stem] for stem, weight in one.items() if stem in other)
        lengths = math.hypot(*one.values()) * math.hypot(*other.values())
        return min(1.0, shared / lengths) if shared else 0.0

    def _weights(self, text: str) -> dict[str, float]:
        wanted = set(content_stems(text))
        return {stem: count * self.rarity(stem) for stem, count in Counter(stems(text)).items() if stem in wanted}


def calculate_relevance(
    experience: Experience, query: str, *, now: datetime | None = None, similarity: TFIDFSimilarity | None = None
) -> float:
    """From 0 to 1. The likeness is that of the context; `now` is what the age is measured from."""
    alike = (similarity or TFIDFSimilarity()).calculate(experience.context, query)
    alike *= TYPE_WEIGHTS.get(experience.experience_type, 1.0)
    alike *= LEAST_SURE + (1 - LEAST_SURE) * experience.confidence
    at = datetime.now(UTC) if now is None else now  # a time without a zone is local
    days = max(0.0, (at.timestamp() - experience.timestamp.timestamp()) / DAY)
    return min(1.0, alike * max(RECENCY_FLOOR, 1 - (1 - RECENCY_FLOOR) * days / RECENCY_DAYS))


def retrieve_relevant_experiences(
    experiences: Iterable[Experience], current_context: str, top_k: int = 10, min_similarity: float = 0.0, *,
    now: datetime | None = None, similarity: TFIDFSimilarity | None = None,
) -> list[Experience]:  # fmt: skip
    """The most relevant first; of equals, in the order given."""
    measure = similarity or TFIDFSimilarity()
    scored = [(calculate_relevance(each, current_context, now=now, similarity=measure), each) for each in experiences]
    chosen = sorted((each for each in scored if each[0] >= min_similarity), key=lambda each: -each[0])
    return [experience for _, experience in chosen[: max(0, top_k)]]


class SemanticSearchEngine:
    """Ranks a corpus by relevance; experiences that have nothing in common with the query are left out."""

    def __init__(self, experiences: Iterable[Experience] = ()) -> None:
        self._corpus: dict[str, Experience] = {}
        for experience in experiences:
            self.add_experience(experience)

    @property
    def corpus_size(self) -> int:
        return len(self._corpus)

    def is_indexed(self) -> bool:
        """Always: nothing is prepared beforehand."""
        return True

    def add_experience(self, experience: Experience) -> None:
        """Replaces one with the same id."""
        self.remove_experience(experience.experience_id)
        self._corpus[experience.experience_id] = experience

    def remove_experience(self, experience_id: str) -> bool:
        """False for an unknown id."""
        return self._corpus.pop(experience_id, None) is not None

    def search(
        self, query: str, top_k: int = 10, min_similarity: float = 0.0, *, now: datetime | None = None
    ) -> list[Experience]:
        similarity = TFIDFSimilarity(each.context for each in self._corpus.values())
        wanted = set(content_stems(query))
        near = [each for each in self._corpus.values() if not wanted.isdisjoint(stems(each.context))]
        return retrieve_relevant_experiences(near, query, top_k, min_similarity, now=now, similarity=similarity)
