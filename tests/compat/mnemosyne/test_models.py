"""The values: what they hold by default, how they are written and read, what they compute."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from nacre.compat.mnemosyne.core import constants
from nacre.compat.mnemosyne.core.models import EmotionalContext, Memory, MemoryStatus, MemoryType


@pytest.mark.accepts("M3.5")
def test_a_memory_has_the_published_fields_and_defaults() -> None:
    memory = Memory()
    assert list(memory.to_dict()) == [
        "id", "content", "summary", "memory_type", "status", "created_at", "last_accessed", "access_count",
        "emotional_context", "related_memory_ids", "source_memory_ids", "tags", "metadata", "importance_score",
    ]  # fmt: skip
    assert (memory.memory_type, memory.status) == (MemoryType.EPISODIC, MemoryStatus.SHORT_TERM)
    assert (memory.importance_score, memory.access_count, memory.emotional_context) == (0.5, 0, None)
    assert len(memory.id) == 36 and memory.id != Memory().id


@pytest.mark.accepts("M2.4", "M3.2")
def test_types_and_statuses_have_the_published_values() -> None:
    assert [each.value for each in MemoryType] == ["episodic", "semantic", "procedural", "emotional"]
    assert [each.value for each in MemoryStatus] == ["short_term", "consolidating", "long_term", "archived"]


@pytest.mark.accepts("M3.5")
def test_a_memory_comes_back_from_its_dictionary_as_it_was() -> None:
    memory = Memory(
        content="The ferry was late again",
        summary="Late ferry",
        memory_type=MemoryType.EMOTIONAL,
        status=MemoryStatus.LONG_TERM,
        emotional_context=EmotionalContext(-0.4, 0.6, "frustrated"),
        source_memory_ids=["a"],
        related_memory_ids=["b"],
        tags=["travel"],
        metadata={"harbour": 3},
        access_count=4,
        importance_score=0.7,
    )
    assert Memory.from_dict(memory.to_dict()) == memory


@pytest.mark.accepts("M3.6")
def test_the_salience_of_a_feeling_counts_arousal_more_than_valence() -> None:
    assert EmotionalContext(0, 0, "neutral").salience == pytest.approx(0.5)
    assert EmotionalContext(-1, 1, "frustrated").salience == pytest.approx(1.0)
    felt = EmotionalContext(0.2, -0.6, "calm")
    assert felt.salience == pytest.approx(0.7 * 0.8 + 0.3 * 0.6)
    assert felt.to_dict() == {"valence": 0.2, "arousal": -0.6, "quadrant": "calm", "salience": felt.salience}


@pytest.mark.accepts("M3.7")
def test_importance_is_what_was_felt_how_new_it_is_and_how_often_it_was_used() -> None:
    assert Memory().compute_importance() == 0.5
    half_a_year = datetime.now() - timedelta(days=73, hours=5)
    felt = EmotionalContext(0.2, -0.6, "calm")
    used = Memory(created_at=half_a_year, access_count=5, emotional_context=felt)
    assert used.compute_importance() == pytest.approx(0.4 * 0.74 + 0.3 * 0.8 + 0.3 * 0.5)
    assert Memory(created_at=half_a_year - timedelta(days=900), access_count=99).compute_importance() == 0.5


@pytest.mark.accepts("M3.5")
def test_an_access_is_counted_and_dated() -> None:
    long_ago = datetime.now() - timedelta(days=9)
    memory = Memory(last_accessed=long_ago)
    memory.mark_accessed()
    assert memory.access_count == 1 and memory.last_accessed - long_ago >= timedelta(days=9)


@pytest.mark.accepts("M3.8", "M7.8")
def test_the_published_numbers() -> None:
    assert constants.MEMORY_SUMMARY_LENGTH == 500
    assert constants.CONSOLIDATION_IMPORTANCE_THRESHOLD == 0.6
    assert constants.CONSOLIDATION_SIMILARITY_THRESHOLD == 0.85
