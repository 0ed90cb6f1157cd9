"""ExperienceStore and Experience under their own names."""

from __future__ import annotations

import inspect
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from nacre.compat.amplihack_memory import (
    Experience,
    ExperienceStore,
    ExperienceType,
    InvalidExperienceError,
    MemoryConnector,
    MemoryQuotaExceededError,
)
from nacre.models.shipped_embedder import ENGLISH
from tests.compat.amplihack_memory.experience_factory import make_experience
from tests.former_model import former, is_renewed


@pytest.mark.accepts("A5.1", "A5.7")
def test_a_store_has_the_options_it_was_made_with(experiences: ExperienceStore, tmp_path: Path) -> None:
    assert (experiences.agent_name, experiences.auto_compress, experiences.max_memory_mb) == ("gardener", True, 100)
    assert (experiences.max_age_days, experiences.max_experiences) == (None, None)
    assert isinstance(experiences.connector, MemoryConnector)
    assert list(inspect.signature(ExperienceStore).parameters)[:7] == [
        "agent_name", "auto_compress", "max_age_days", "max_experiences", "max_memory_mb", "storage_path", "backend",
    ]  # fmt: skip
    assert experiences.connector.storage_path == tmp_path / "experiences"


@pytest.mark.accepts("A5.5", "A5.7")
def test_words_types_and_confidence_find_experiences_newest_first(experiences: ExperienceStore) -> None:
    experiences.add(
        make_experience("Missing labels in the beds", "Mixed seedlings", ExperienceType.PATTERN, 0.9, days_ago=2)
    )
    experiences.add(make_experience("Labelled the beds", "Found everything", confidence=0.6, days_ago=1))
    assert [each.confidence for each in experiences.search("label")] == [0.6, 0.9]
    assert [each.confidence for each in experiences.search("label", min_confidence=0.8)] == [0.9]
    assert len(experiences.search("beds", experience_type=ExperienceType.PATTERN)) == 1
    assert len(experiences.search("", limit=1)) == 1 and len(experiences.search("")) == 2
    assert [each.outcome for each in experiences.search("seedling")] == ["Mixed seedlings"]


@pytest.mark.accepts("A5.4")
def test_equal_words_at_different_times_stay_two_records(experiences: ExperienceStore) -> None:
    one, other = experiences.add(make_experience(days_ago=1)), experiences.add(make_experience())
    assert one != other
    assert len(experiences.search("beans")) == 2
    assert set(experiences.add_result(make_experience(days_ago=2)).duplicates) == {one, other}


@pytest.mark.accepts("A5.3")
def test_what_is_beyond_the_bounds_is_deleted_and_sure_patterns_stay(tmp_path: Path) -> None:
    with ExperienceStore("gardener", max_experiences=3, storage_path=tmp_path, embedder="hashing") as store:
        pattern = store.add(
            make_experience("Frost follows a clear night", "Cover", ExperienceType.PATTERN, 0.95, days_ago=60)
        )
        ids = [store.add(make_experience(f"Row {row}", days_ago=10 - row)) for row in range(5)]
        store._cleanup()
        assert [each.experience_id for each in store.search("")] == [*reversed(ids[2:]), pattern]
        assert store.store.get_many(ids[:2]) == []


@pytest.mark.accepts("A5.3")
def test_what_is_too_old_is_deleted(tmp_path: Path) -> None:
    with ExperienceStore("gardener", max_age_days=30, storage_path=tmp_path, embedder="hashing") as store:
        store.add(make_experience("Long ago", days_ago=31))
        store.add(make_experience("Lately"))
        store._cleanup()
        assert [each.context for each in store.search("")] == ["Lately"]


@pytest.mark.accepts("A5.2", "A5.7")
def test_old_experiences_are_compressed_and_counted(experiences: ExperienceStore) -> None:
    experiences.add(make_experience("Old " * 90, days_ago=31))
    experiences.add(make_experience(type=ExperienceType.INSIGHT))
    result = experiences.get_statistics()
    assert set(result) == {"total_experiences", "by_type", "storage_size_kb", "compressed_experiences"}
    assert (result["total_experiences"], result["compressed_experiences"]) == (2, 1)
    assert result["by_type"] == {ExperienceType.SUCCESS: 1, ExperienceType.FAILURE: 0, ExperienceType.PATTERN: 0,
                               ExperienceType.INSIGHT: 1}  # fmt: skip


@pytest.mark.accepts("A5.6")
def test_a_full_store_says_so(tmp_path: Path) -> None:
    with (
        ExperienceStore("gardener", max_memory_mb=0.01, storage_path=tmp_path, embedder="hashing") as store,
        pytest.raises(MemoryQuotaExceededError),
    ):
        for day in range(20):
            store.add(make_experience("x" * 400, "y" * 400, days_ago=day))


@pytest.mark.accepts("A5.8", "A5.9")
def test_what_was_spoilt_after_it_was_made_is_refused(experiences: ExperienceStore) -> None:
    for name, value in (("context", " "), ("outcome", ""), ("confidence", 1.5)):
        spoilt = make_experience()
        setattr(spoilt, name, value)
        with pytest.raises(InvalidExperienceError, match=name):
            experiences.add(spoilt)
    no_experience: Any = "sowed"
    with pytest.raises(TypeError):
        experiences.add(no_experience)
    assert experiences.search("") == []


@pytest.mark.accepts("A5.8")
def test_an_experience_has_defaults_an_id_and_a_mapping() -> None:
    made = Experience(ExperienceType.INSIGHT, "Sowed", "Sprouted", 0.5)
    assert made.timestamp.tzinfo is None and made.timestamp <= datetime.now()
    assert [len(part) for part in made.experience_id.split("_")] == [3, 8, 6, 6]
    assert (made.metadata, made.tags) == ({}, [])
    again = Experience.from_dict(made.to_dict())
    assert again == made and again.timestamp == made.timestamp
    assert made.to_dict()["experience_type"] == "insight"


@pytest.mark.accepts("A5.8")
@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("context", "", ValueError),
        ("context", "x" * 501, ValueError),
        ("outcome", "y" * 1001, ValueError),
        ("confidence", 1.1, ValueError),
        ("experience_type", "success", TypeError),
        ("timestamp", "2026-02-14", TypeError),
    ],
)
def test_a_field_that_cannot_be_is_refused(field: str, value: Any, error: type[Exception]) -> None:
    fields = {"experience_type": ExperienceType.SUCCESS, "context": "a", "outcome": "b", "confidence": 0.5}
    with pytest.raises(error):
        Experience(**{**fields, field: value})


def test_a_store_of_a_former_model_is_searched_and_written_on(tmp_path: Path) -> None:
    """These stores are filled by the English embedder."""
    with ExperienceStore("gardener", storage_path=tmp_path) as store:
        store.add(make_experience("Missing labels in the beds"))
        former(store.store.unrestricted_backend, ENGLISH.replaces[0])
    with ExperienceStore("gardener", storage_path=tmp_path) as store:
        assert [each.context for each in store.search("label")] == ["Missing labels in the beds"]
        store.add(make_experience("Watered the tomatoes"))
        assert len(store.search("")) == 2
        store.store.catch_up()
        assert is_renewed(store.store, ENGLISH.identity)
