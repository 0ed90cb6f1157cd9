"""Relevance is likeness of words, weighed by kind, confidence and age."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from nacre.compat.amplihack_memory.semantic_search import (
    SemanticSearchEngine,
    TFIDFSimilarity,
    calculate_relevance,
    retrieve_relevant_experiences,
)
from nacre.minds.experience import Experience, ExperienceType
from tests.minds.experience_factory import NOON, make_experience


def scored(type: ExperienceType = ExperienceType.SUCCESS, days_ago: float = 0, confidence: float = 0.6) -> float:
    one = make_experience("frost on the young beans", type=type, days_ago=days_ago, confidence=confidence)
    return calculate_relevance(one, "frost on young cabbages", now=NOON)


def test_shared_words_in_any_form_make_it_relevant() -> None:
    near, far = make_experience("freezing of seedlings"), make_experience("sharpening the spade")
    assert calculate_relevance(near, "a frozen seedling froze", now=NOON) > 0
    assert calculate_relevance(far, "a frozen seedling froze", now=NOON) == 0


@pytest.mark.parametrize(("type", "weight"), [(ExperienceType.PATTERN, 1.5), (ExperienceType.INSIGHT, 1.3),
                                              (ExperienceType.FAILURE, 1.0)])  # fmt: skip
def test_what_was_learnt_weighs_more(type: ExperienceType, weight: float) -> None:
    assert scored(type) == pytest.approx(min(1.0, weight * scored()))


def test_confidence_counts_by_half() -> None:
    assert scored(confidence=0.0) == pytest.approx(0.5 * scored(confidence=1.0))


def test_ninety_days_take_three_tenths_and_no_more() -> None:
    now = scored()
    assert scored(days_ago=45) == pytest.approx(0.85 * now)
    assert scored(days_ago=90) == pytest.approx(0.7 * now) == scored(days_ago=900)
    assert scored(days_ago=-5) == now


def test_relevance_is_never_above_one_and_takes_any_zone() -> None:
    one = Experience(ExperienceType.PATTERN, "late frost", "cover", 1.0, datetime.now(UTC))
    assert calculate_relevance(one, "late frost") == 1.0


def test_the_same_text_is_alike_and_an_empty_one_is_like_nothing() -> None:
    similarity = TFIDFSimilarity()
    assert similarity.calculate("Late Frost", "late frosts") == 1.0
    assert similarity.calculate("", "frost") == similarity.calculate("frost", "") == similarity.calculate("", "") == 0.0
    assert similarity.calculate("late frost", "sharp spade") == 0.0


def test_a_rare_word_in_common_says_more_than_a_usual_one() -> None:
    similarity = TFIDFSimilarity([*["bean bed"] * 9, "heron bed"])
    assert similarity.calculate("heron bed", "heron nest") > similarity.calculate("heron bed", "bed nest")


def test_the_most_relevant_come_first_and_at_most_so_many() -> None:
    known = [
        make_experience("beans and frost", days_ago=60),
        make_experience("frost", type=ExperienceType.PATTERN),
        make_experience("spade"),
    ]
    result = retrieve_relevant_experiences(known, "frost", top_k=2, now=NOON)
    assert [each.context for each in result] == ["frost", "beans and frost"]
    assert retrieve_relevant_experiences(known, "frost", min_similarity=0.9, now=NOON) == [known[1]]
    assert len(retrieve_relevant_experiences(known, "frost", now=NOON)) == 3
    assert retrieve_relevant_experiences([], "frost") == [] == retrieve_relevant_experiences(known, "frost", top_k=0)


def test_the_engine_finds_by_its_index_and_learns_and_forgets() -> None:
    engine = SemanticSearchEngine([make_experience(f"bed {n} of beans", days_ago=n) for n in range(30)])
    assert engine.corpus_size == 30 and engine.is_indexed()
    assert len(engine.search("beans", top_k=10, now=NOON)) == 10
    new = make_experience("a heron in the pond")
    engine.add_experience(new)
    engine.add_experience(new)
    assert engine.corpus_size == 31 and engine.search("herons", now=NOON) == [new]
    new.context = "edited since"
    assert engine.remove_experience(new.experience_id) and not engine.remove_experience(new.experience_id)
    assert engine.search("herons", now=NOON) == [] and engine.corpus_size == 30


def test_the_engine_ranks_as_relevance_does() -> None:
    old = Experience(ExperienceType.SUCCESS, "frost", "covered", 0.9, NOON - timedelta(days=80))
    new = Experience(ExperienceType.SUCCESS, "frost", "covered", 0.9, NOON)
    assert SemanticSearchEngine([old, new]).search("frost", now=NOON) == [new, old]
