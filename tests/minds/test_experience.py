"""An experience says what it is, refuses what it cannot be, and comes back as it was."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from nacre.memory_store import MemoryStore
from nacre.minds.experience import Experience, ExperienceType
from tests.minds.experience_factory import NOON, make_experience


def test_the_id_contains_the_second_and_six_digits_of_the_content_hash() -> None:
    assert re.fullmatch(r"exp_20260601_120000_[0-9a-f]{6}", make_experience().experience_id)


def test_the_same_experience_has_the_same_id_and_another_instant_another() -> None:
    assert make_experience() == make_experience()
    later = Experience(ExperienceType.SUCCESS, "a", "b", 0.5, NOON + timedelta(microseconds=1))
    assert later != Experience(ExperienceType.SUCCESS, "a", "b", 0.5, NOON)


def test_experiences_are_equal_by_their_id_alone() -> None:
    one, other = make_experience(), make_experience("sowed late", "nothing came")
    assert one != other
    other.experience_id = one.experience_id
    assert one == other and len({one, other}) == 1
    assert one != "exp"


def test_the_timestamp_is_now_unless_it_is_given() -> None:
    before = datetime.now()
    assert before <= Experience(ExperienceType.INSIGHT, "a", "b", 1).timestamp <= datetime.now()


def test_none_means_the_default() -> None:
    values: Any = None
    bare = Experience(ExperienceType.INSIGHT, "a", "b", 1, values, values, values, values)
    assert isinstance(bare.timestamp, datetime)
    assert (bare.metadata, bare.tags) == ({}, [])
    assert bare.experience_id.startswith("exp_")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("experience_type", "success"),
        ("context", 5),
        ("outcome", None),
        ("confidence", "high"),
        ("confidence", True),
        ("timestamp", "2026-06-01"),
        ("metadata", []),
        ("tags", "one"),
    ],
)
def test_a_value_of_another_kind_is_a_type_error(field: str, value: object) -> None:
    values: dict[str, Any] = {
        "experience_type": ExperienceType.SUCCESS,
        "context": "a",
        "outcome": "b",
        "confidence": 1,
    }
    with pytest.raises(TypeError, match=field):
        Experience(**{**values, field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("context", ""),
        ("context", "  "),
        ("context", "x" * 501),
        ("outcome", ""),
        ("outcome", "x" * 1001),
        ("confidence", -0.1),
        ("confidence", 1.1),
        ("confidence", float("nan")),
    ],
)
def test_a_value_outside_its_bounds_is_a_value_error(field: str, value: object) -> None:
    values: dict[str, Any] = {
        "experience_type": ExperienceType.SUCCESS,
        "context": "a",
        "outcome": "b",
        "confidence": 1,
    }
    with pytest.raises(ValueError, match=r".+"):
        Experience(**{**values, field: value})


def test_an_id_that_is_given_may_be_any() -> None:
    assert Experience(ExperienceType.SUCCESS, "a", "b", 1, experience_id="note-1").experience_id == "note-1"


def test_the_longest_texts_are_taken() -> None:
    assert len(Experience(ExperienceType.FAILURE, "x" * 500, "y" * 1000, 0.0).outcome) == 1000


def test_a_dictionary_and_back_changes_nothing() -> None:
    one = make_experience("a", "b", ExperienceType.INSIGHT, tags=["soil"], count=5, deep={"er": [1]})
    result = one.to_dict()
    assert result["experience_type"] == "insight" and result["timestamp"] == "2026-06-01T12:00:00"
    assert vars(Experience.from_dict(result)) == vars(one)


def test_a_dictionary_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="outcome"):
        Experience.from_dict({"experience_type": "success", "context": "a", "confidence": 1})
    with pytest.raises(ValueError, match="did you mean 'success'"):
        Experience.from_dict({"experience_type": "succes", "context": "a", "outcome": "b", "confidence": 1})
    with pytest.raises(ValueError, match="not a time"):
        Experience.from_dict(
            {"experience_type": "success", "context": "a", "outcome": "b", "confidence": 1, "timestamp": "soon"}
        )


def test_there_are_four_types_and_each_is_its_word() -> None:
    assert [each.value for each in ExperienceType] == ["success", "failure", "pattern", "insight"]
    assert {"success": 1}[ExperienceType.SUCCESS] == 1


@pytest.mark.parametrize("timestamp", [
    datetime(2026, 3, 2, 4, 5, 6, 789_012),
    datetime(2026, 3, 2, 4, 5, 6, 7, UTC),
    datetime(2026, 3, 2, 4, 5, 6, tzinfo=timezone(timedelta(hours=5))),
])  # fmt: skip
def test_it_comes_back_from_a_memory_exactly_as_it_was(timestamp: datetime) -> None:
    store = MemoryStore(":memory:", embedder="hashing")
    one = Experience(
        ExperienceType.PATTERN, "\t leading", "trailing\n", 0.25, timestamp, "", {"type": "x", "n": [1]}, ["b", "a"]
    )
    memory = store.draft(one.outcome, **one.memory_fields("gardener"))
    assert (memory.title, memory.text, memory.type) == ("leading", "trailing", "semantic")
    assert vars(Experience.of(memory)) == vars(one)


def test_another_attempt_at_an_id_gives_another_one() -> None:
    assert len({make_experience().make_id(attempt) for attempt in range(8)}) == 8
