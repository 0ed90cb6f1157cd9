"""What recurs is a pattern; how sure it is follows from how often it was seen and whether it held."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.errors import MemoryNotFound
from nacre.minds.experience import ExperienceType
from nacre.minds.patterns import (
    calculate_pattern_confidence,
    extract_pattern_key,
    pattern_id,
)
from nacre.model.memory import Json
from tests.minds.experience_factory import Clock, make_experience, opened
from tests.prepared_stores import empty_store


def discovered(type: str, times: int, **more: Json) -> list[dict[str, Json]]:
    return [{"type": type, "file": f"bed_{n}.py", **more} for n in range(times)]


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


@pytest.fixture(params=[pytest.param("memory", marks=pytest.mark.slow), "file"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return ":memory:" if request.param == "memory" else str(empty_store(tmp_path / "garden.db"))


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
