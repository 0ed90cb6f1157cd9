"""What recurs among discoveries, and which experiences matter now."""

from __future__ import annotations

import pytest

from nacre.compat.amplihack_memory import Experience, ExperienceType
from nacre.compat.amplihack_memory.pattern_recognition import (
    PatternDetector,
    calculate_pattern_confidence,
    extract_pattern_key,
    recognize_patterns,
)
from nacre.compat.amplihack_memory.semantic_search import (
    SemanticSearchEngine,
    TFIDFSimilarity,
    calculate_relevance,
    retrieve_relevant_experiences,
)
from nacre.model.memory import Json
from tests.compat.amplihack_memory.experience_factory import make_experience


@pytest.mark.accepts("A11.1")
def test_three_discoveries_are_a_pattern() -> None:
    detector = PatternDetector()
    for bed in range(3):
        assert not detector.is_pattern_recognized("late_frost")
        detector.add_discovery({"type": "late_frost", "bed": bed})
    assert (detector.threshold, detector.get_occurrence_count("late_frost")) == (3, 3)
    [pattern] = detector.get_recognized_patterns()
    assert pattern.experience_type is ExperienceType.PATTERN
    assert "late_frost" in pattern.context
    assert (pattern.confidence, pattern.metadata["occurrences"]) == (0.8, 3)


@pytest.mark.accepts("A11.1", "A11.3")
def test_what_was_made_of_a_pattern_moves_its_confidence() -> None:
    assert calculate_pattern_confidence(3, 3) == 0.8
    assert calculate_pattern_confidence(100, 3) == 0.95
    detector = PatternDetector(min_confidence=0.5)
    for _ in range(3):
        detector.add_discovery({"type": "late_frost"})
        detector.add_discovery({"type": "early_frost"})
    detector.validate_pattern("early_frost", success=True)
    assert max(each.confidence for each in detector.get_recognized_patterns()) == pytest.approx(0.8 * 1.1)
    for _ in range(10):
        detector.validate_pattern("late_frost", success=False)
    [held] = detector.get_recognized_patterns(min_confidence=0.5)
    assert "early_frost" in held.context


@pytest.mark.accepts("A11.2", "A11.3")
def test_known_patterns_are_not_recognised_again() -> None:
    result = [{"type": "late_frost"}] * 3 + [{"type": "hail"}] * 2
    [pattern] = recognize_patterns(result)
    assert recognize_patterns(result, known_patterns=[pattern]) == []
    assert len(recognize_patterns(result, threshold=2)) == 2
    assert extract_pattern_key({"type": "torn_link", "link_type": "outer"}) == "torn_link_outer"
    assert extract_pattern_key({"type": "no_example", "file": "guide_3.md"}) == "guide_no_example"


@pytest.mark.accepts("A12.1")
def test_relevance_weighs_kind_confidence_and_age() -> None:
    query = "beans in the frost"
    plain = calculate_relevance(make_experience(), query)
    assert calculate_relevance(make_experience(type=ExperienceType.PATTERN), query) == pytest.approx(
        1.5 * plain, rel=1e-3
    )
    assert calculate_relevance(make_experience(type=ExperienceType.INSIGHT), query) == pytest.approx(
        1.3 * plain, rel=1e-3
    )
    assert calculate_relevance(make_experience(confidence=0.2), query) < plain
    assert calculate_relevance(make_experience(days_ago=400), query) == pytest.approx(0.7 * plain, rel=1e-3)


@pytest.mark.accepts("A12.1")
def test_the_most_relevant_experiences_come_first() -> None:
    corpus = [
        make_experience("Painted the shed"),
        make_experience("Sowed beans"),
        make_experience("Sowed beans in frost"),
    ]
    assert retrieve_relevant_experiences(corpus, "beans frost", top_k=2) == [corpus[2], corpus[1]]
    assert retrieve_relevant_experiences(corpus, "beans frost", min_similarity=0.6) == [corpus[2]]
    engine = SemanticSearchEngine(corpus[:2])
    engine.add_experience(corpus[2])
    assert engine.is_indexed() and engine.corpus_size == 3
    assert engine.search("beans frost", top_k=1) == [corpus[2]]


@pytest.mark.accepts("A12.1")
def test_texts_are_alike_by_their_words_whatever_the_case() -> None:
    likeness = TFIDFSimilarity()
    assert likeness.calculate("Sowed beans", "SOWED BEANS") == 1.0
    assert likeness.calculate("Sowed beans", "") == 0.0
    assert 0 < likeness.calculate("Sowed beans", "Ate beans") < 1


def discovered(type: str, times: int, **more: Json) -> list[dict[str, Json]]:
    return [{"type": type, "file": f"bed_{n}.py", **more} for n in range(times)]


def output(detector: PatternDetector, discoveries: list[dict[str, Json]]) -> PatternDetector:
    for each in discoveries:
        detector.add_discovery(each)
    return detector


def test_occurrences_are_counted_by_key_and_by_type() -> None:
    detector = output(PatternDetector(), [{"type": "gap", "file": f"guide_{n}.md"} for n in range(3)])
    assert detector.get_occurrence_count("gap") == detector.get_occurrence_count("guide_gap") == 3
    assert detector.get_occurrence_count("ga") == 0


def test_a_pattern_is_recognised_at_the_threshold_and_not_before() -> None:
    detector = output(PatternDetector(threshold=3), discovered("blight", 2))
    assert not detector.is_pattern_recognized("blight") and detector.get_recognized_patterns() == []
    output(detector, discovered("blight", 1))
    assert detector.is_pattern_recognized("blight")


@pytest.mark.accepts("A11.1")
def test_a_recognised_pattern_is_an_experience_that_says_what_to_do() -> None:
    (pattern,) = output(PatternDetector(max_examples=4), discovered("late_frost", 7)).get_recognized_patterns()
    assert pattern.experience_type is ExperienceType.PATTERN
    assert "late_frost" in pattern.context and len(pattern.context) > 20
    assert "check" in pattern.outcome and "late frost" in pattern.outcome
    assert pattern.metadata["occurrences"] == 7
    assert pattern.metadata["examples"] == discovered("late_frost", 4)


def test_a_pattern_of_endless_names_still_fits() -> None:
    (pattern,) = recognize_patterns(discovered("x" * 3000, 3))
    assert len(pattern.context) <= 500 and len(pattern.outcome) <= 1000


def test_a_pattern_that_fails_is_no_longer_returned() -> None:
    detector = output(PatternDetector(), discovered("moon_sowing", 3))
    for _ in range(10):
        detector.validate_pattern("moon_sowing", success=False)
    assert detector.get_recognized_patterns() == []
    assert len(detector.get_recognized_patterns(min_confidence=0.4)) == 1
    detector.validate_pattern("never heard of", success=True)


def test_known_patterns_are_left_out() -> None:
    result = discovered("blight", 3) + discovered("slugs", 4) + discovered("drought", 2)
    assert len(recognize_patterns(result)) == 2
    known = [each for each in recognize_patterns(result) if "blight" in each.context]
    assert ["slugs" in each.context for each in recognize_patterns(result, known)] == [True]
    by_hand = [Experience(ExperienceType.PATTERN, "slugs again", "collect them", 0.9)]
    assert ["blight" in each.context for each in recognize_patterns(result, by_hand)] == [True]
    assert len(recognize_patterns(result, threshold=2)) == 3


def test_a_threshold_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        PatternDetector(threshold=0)
