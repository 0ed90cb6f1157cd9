"""How relevant an experience is to a text: by shared words, type, confidence and age."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from nacre.minds.experience import Experience, ExperienceType
from nacre.model.instants import DAY
from nacre.text.tokens import content_stems, stems

# Patterns and insights count more than events.
TYPE_WEIGHTS = {ExperienceType.PATTERN: 1.5, ExperienceType.INSIGHT: 1.3}
LEAST_SURE = 0.5  # the factor of a similarity at confidence 0
RECENCY_DAYS, RECENCY_FLOOR = 90.0, 0.7

Rarity = Mapping[str, float]


class TFIDFSimilarity:
    """The cosine of two texts' stems, without common words. `fit` or `add` counts how rare each stem is;
    before that, all weigh the same."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._holding: Counter[str] = Counter()
        self._texts = 0
        self.fit(texts)

    def fit(self, texts: Iterable[str]) -> TFIDFSimilarity:
        self._holding.clear()
        self._texts = 0
        for text in texts:
            self.add(text)
        return self

    def add(self, text: str) -> None:
        self.count(stems(text), 1)

    def count(self, text_stems: Iterable[str], sign: int) -> None:
        """One text more, or one less."""
        self._texts += sign
        for stem in set(text_stems):
            self._holding[stem] += sign

    def rarity(self, stem: str) -> float:
        return math.log((1 + self._texts) / (1 + self._holding[stem])) + 1 if self._texts else 1.0

    def calculate(self, text1: str, text2: str) -> float:
        """From 0, nothing in common, to 1, the same words."""
        return self.compare(self.weigh_text(text1), self.weigh_text(text2))

    def compare(self, one: Rarity, other: Rarity) -> float:
        if one == other:
            return 1.0 if one else 0.0
        shared = sum(weight * other[stem] for stem, weight in one.items() if stem in other)
        return min(1.0, shared / (norm(one) * norm(other))) if shared else 0.0

    def weigh_text(self, text: str) -> dict[str, float]:
        return self.weights(count_stems(text))

    def weights(self, counts: Mapping[str, int]) -> dict[str, float]:
        return {stem: count * self.rarity(stem) for stem, count in counts.items()}


def count_stems(text: str) -> dict[str, int]:
    wanted = set(content_stems(text))
    return {stem: count for stem, count in Counter(stems(text)).items() if stem in wanted}


def norm(weights: Mapping[str, float]) -> float:
    return math.sqrt(sum(weight * weight for weight in weights.values()))


def calculate_relevance(
    experience: Experience, query: str, *, now: datetime | None = None, similarity: TFIDFSimilarity | None = None
) -> float:
    """From 0 to 1. The likeness is that of the context; `now` is what the age is measured from."""
    alike = (similarity or TFIDFSimilarity()).calculate(experience.context, query)
    return weigh(experience, alike, now)


def weigh(experience: Experience, alike: float, now: datetime | None) -> float:
    if not alike:
        return 0.0
    alike *= TYPE_WEIGHTS.get(experience.experience_type, 1.0)
    alike *= LEAST_SURE + (1 - LEAST_SURE) * experience.confidence
    at = datetime.now(UTC) if now is None else now  # a time without a zone is local
    return min(1.0, alike * recency((at.timestamp() - experience.timestamp.timestamp()) / DAY))


def recency(days: float) -> float:
    return max(RECENCY_FLOOR, 1 - (1 - RECENCY_FLOOR) * max(0.0, days) / RECENCY_DAYS)


def retrieve_relevant_experiences(
    experiences: Iterable[Experience], current_context: str, top_k: int = 10, min_similarity: float = 0.0, *,
    now: datetime | None = None,
) -> list[Experience]:  # fmt: skip
    """The most relevant first; of equals, in the order given."""
    similarity = TFIDFSimilarity()
    scored = [(calculate_relevance(each, current_context, now=now, similarity=similarity), each)
              for each in experiences]  # fmt: skip
    return best(scored, top_k, min_similarity)


def best(scored: Iterable[tuple[float, Experience]], top_k: int, least: float) -> list[Experience]:
    chosen = sorted((each for each in scored if each[0] >= least), key=lambda each: -each[0])
    return [experience for _, experience in chosen[: max(0, top_k)]]


class Indexed(NamedTuple):
    experience: Experience
    stems: frozenset[str]  # of the context when it was added, whatever is edited later
    counts: dict[str, int]


class SemanticSearchEngine:
    """Ranks a corpus by relevance. Experiences that share no stem with the query are not compared."""

    def __init__(self, experiences: Iterable[Experience] = ()) -> None:
        self._indexed: dict[str, Indexed] = {}
        self._similarity = TFIDFSimilarity()
        for experience in experiences:
            self.add_experience(experience)

    @property
    def corpus_size(self) -> int:
        return len(self._indexed)

    def is_indexed(self) -> bool:
        """Always: an experience is indexed when it is added."""
        return True

    def add_experience(self, experience: Experience) -> None:
        """Replaces one with the same id."""
        self.remove_experience(experience.experience_id)
        added = Indexed(experience, frozenset(stems(experience.context)), count_stems(experience.context))
        self._indexed[experience.experience_id] = added
        self._similarity.count(added.stems, 1)

    def remove_experience(self, experience_id: str) -> bool:
        """False for an unknown id."""
        removed = self._indexed.pop(experience_id, None)
        if removed is not None:
            self._similarity.count(removed.stems, -1)
        return removed is not None

    def search(
        self, query: str, top_k: int = 10, min_similarity: float = 0.0, *, now: datetime | None = None
    ) -> list[Experience]:
        wanted, weights = set(content_stems(query)), self._similarity.weigh_text(query)
        scored = []
        for each in self._indexed.values():
            if not wanted.isdisjoint(each.stems):
                alike = self._similarity.compare(self._similarity.weights(each.counts), weights)
                scored.append((weigh(each.experience, alike, now), each.experience))
        return best(scored, top_k, min_similarity)
