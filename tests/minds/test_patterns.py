"""What recurs is a pattern; how sure it is follows from how often it was seen and whether it held."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.errors import MemoryNotFound
from nacre.minds.experience import Experience, ExperienceType
from nacre.minds.patterns import (
    PatternDetector,
    calculate_pattern_confidence,
    extract_pattern_key,
    pattern_id,
    recognize_patterns,
)
from nacre.model.memory import Json
from tests.minds.experience_factory import Clock, make_experience, opened


def discovered(type: str, times: int, **more: Json) -> list[dict[str, Json]]:
    return [{"type": type, "file": f"bed_{n}.py", **more} for n in range(times)]


def output(detector: PatternDetector, discoveries: list[dict[str, Json]]) -> PatternDetector:
    for each in discoveries:
        detector.add_discovery(each)
    return detector


@pytest.mark.parametrize(
    ("discovery", "key"),
    [
        ({"type": "rust_spot", "file": "a/b.py", "line": 4}, "rust_spot"),
        ({"type": "gap", "file": "guide_1.md"}, "guide_gap"),
        ({"type": "gap", "file": "docs/guide.MD"}, "guide_gap"),
        ({"type": "gap", "file": "_private.md"}, "gap"),
        ({"type": "dead_link", "link_type": "outer", "url": "x"}, "dead_link_outer"),
        ({"type": "dead_link", "link_type": "inner"}, "dead_link_inner"),
        ({"issue": "no type"}, "unknown"),
        ({"type": 5}, "5"),
    ],
)
def test_the_key_says_what_makes_two_discoveries_the_same(discovery: dict[str, Json], key: str) -> None:
    assert extract_pattern_key(discovery) == key


def test_a_discovery_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(ValueError, match="mapping"):
        extract_pattern_key("gap")  # type: ignore[arg-type]


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


@pytest.mark.parametrize(("seen", "sure"), [(1, 0.6), (3, 0.8), (4, 0.9), (5, 0.95), (1000, 0.95)])
def test_confidence_grows_with_occurrences_up_to_the_ceiling(seen: int, sure: float) -> None:
    assert calculate_pattern_confidence(seen, 3) == pytest.approx(sure)


@pytest.mark.accepts("A11.3")
@pytest.mark.parametrize(
    ("successes", "failures", "sure"),
    [
        (5, 0, 0.8 * 1.1),
        (1, 1, 0.8 * 0.9),
        (0, 3, 0.8 * 0.7),
        (0, 5, 0.8 * 0.7),
        (0, 10, 0.8 * (0.7 - 0.1)),
        (0, 100, 0.8 * (0.7 - 0.2)),
    ],
)
def test_confidence_follows_what_was_made_of_it(successes: int, failures: int, sure: float) -> None:
    assert calculate_pattern_confidence(3, 3, successes, failures) == pytest.approx(sure)


@pytest.mark.accepts("A11.3")
def test_confidence_stays_between_its_floor_and_its_ceiling() -> None:
    assert calculate_pattern_confidence(9, 3, 9, 0) == 0.95
    assert calculate_pattern_confidence(-4, 3, 0, 99) == 0.1


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


@pytest.fixture(params=[pytest.param("memory", marks=pytest.mark.slow), "file"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return ":memory:" if request.param == "memory" else str(tmp_path / "garden.db")


def test_what_recurs_in_experiences_is_stored_and_linked_to_them(path: str) -> None:
    store = opened(path, Clock())
    ids = [store.add(make_experience(f"case {n}", discovery={"type": "blight"})) for n in range(3)]
    store.add(make_experience("another", discoveries=[{"type": "slugs"}, {"type": "slugs"}]))
    (pattern,) = store.recognize_patterns()
    memory = store.store.get(pattern.experience_id)
    assert memory is not None and (memory.type, memory.metadata["kind"]) == ("semantic", "pattern")
    assert {(link.to, link.rel) for link in memory.links} == {(id, "derived_from") for id in ids}
    assert memory.confidence == pytest.approx(0.8)
    assert [each.experience_id for each in store.search("blight", ExperienceType.PATTERN)] == [memory.id]


def test_recognising_again_changes_nothing_and_growth_is_an_update(path: str) -> None:
    store = opened(path, Clock())
    for n in range(3):
        store.add(make_experience(f"case {n}", type=ExperienceType.FAILURE, discovery={"type": "blight"}))
    store.recognize_patterns()
    written = len(store.store.journal(limit=None))
    assert store.recognize_patterns() == [] and len(store.store.journal(limit=None)) == written
    store.add(make_experience("case 4", discovery={"type": "blight"}))
    (grown,) = store.recognize_patterns()
    assert grown.metadata["occurrences"] == 4 and grown.confidence == pytest.approx(0.9)
    assert "4 times" in grown.context
    assert len(store.search("", ExperienceType.PATTERN)) == 1


def test_evidence_that_left_still_counts(path: str) -> None:
    store = opened(path, Clock())
    ids = [store.add(make_experience(f"case {n}", discovery={"type": "blight"})) for n in range(3)]
    store.recognize_patterns()
    store.store.forget(ids[0])
    store.add(make_experience("case 4", discovery={"type": "blight"}))
    assert store.recognize_patterns()[0].metadata["occurrences"] == 4


def test_recognition_is_one_act_that_can_be_undone(path: str) -> None:
    store = opened(path, Clock())
    for n in range(3):
        store.add(make_experience(f"case {n}", discoveries=[{"type": "blight"}, {"type": "slugs"}]))
    assert len(store.recognize_patterns()) == 2
    store.store.undo()
    assert store.search("", ExperienceType.PATTERN) == []
    assert len(store.recognize_patterns()) == 2


def test_a_forgotten_pattern_stays_forgotten(path: str) -> None:
    store = opened(path, Clock())
    for n in range(3):
        store.add(make_experience(f"case {n}", discovery={"type": "blight"}))
    store.store.forget(store.recognize_patterns()[0].experience_id)
    assert store.recognize_patterns() == []


def test_validation_moves_the_memorys_confidence_and_survives_growth(path: str) -> None:
    store = opened(path, Clock())
    for n in range(3):
        store.add(make_experience(f"case {n}", discovery={"type": "blight"}))
    store.recognize_patterns()
    assert store.validate_pattern("blight", success=True).confidence == pytest.approx(0.88)
    assert store.validate_pattern("blight", success=False).confidence == pytest.approx(0.72)
    memory = store.store.get(pattern_id("blight"))
    assert memory is not None and memory.last_validated_at == store.store.now()
    store.add(make_experience("case 4", discovery={"type": "blight"}))
    assert store.recognize_patterns()[0].confidence == pytest.approx(0.9 * 0.9)
    store.store.undo(last=3)
    undone = store.store.get(pattern_id("blight"))
    assert undone is not None and undone.confidence == pytest.approx(0.88)


def test_a_pattern_that_was_never_recognised_cannot_be_validated(path: str) -> None:
    store = opened(path, Clock())
    id = store.add(make_experience())
    for name in ("blight", id):
        with pytest.raises(MemoryNotFound):
            store.validate_pattern(name, success=True)


def test_the_caller_may_say_what_an_experience_discovered(path: str) -> None:
    store = opened(path, Clock())
    for n in range(3):
        store.add(make_experience(f"case {n}", tags=["frost"]))
    (pattern,) = store.recognize_patterns(discover=lambda each: [{"type": tag} for tag in each.tags])
    assert "frost" in pattern.context


def test_two_stores_on_one_file_keep_one_pattern(tmp_path: Path) -> None:
    one, other = (opened(tmp_path / "garden.db", Clock()) for _ in range(2))
    for n in range(3):
        one.add(make_experience(f"case {n}", discovery={"type": "blight"}))
    assert len(one.recognize_patterns()) == 1
    assert other.recognize_patterns() == []
