"""What a memory is like decides between two that answer equally well."""

from __future__ import annotations

from typing import Any

import pytest

from nacre.compat.mnemosyne import quality as formula
from nacre.compat.mnemosyne.config.settings import RetrievalSettings
from nacre.model import Memory

NOW = 1_800_000_000.0
HOUR = 3600.0


def note(text: str = "x" * 100, **given: object) -> Memory:
    return Memory("one", text, **{"type": "episodic", "created_at": NOW - HOUR, **given})  # type: ignore[arg-type]


def quality(memory: Memory, relevance: float, now: float, **weights: Any) -> float:
    return formula.quality(memory, relevance, now, RetrievalSettings(**weights))


def test_relevance_recency_and_importance_are_added_by_their_shares() -> None:
    memory = note("x" * 500, importance=0.4)
    assert quality(memory, 0.8, NOW) == pytest.approx(0.5 * 0.8 + 0.3 * 0.995 + 0.2 * 0.4)


def test_shares_that_do_not_add_up_to_one_are_brought_to_it() -> None:
    halved = {"relevance_weight": 0.25, "recency_weight": 0.15, "importance_weight": 0.1}
    assert quality(note(), 0.8, NOW, **halved) == pytest.approx(quality(note(), 0.8, NOW))
    assert quality(note(), 0.8, NOW, **dict.fromkeys(halved, 0.0)) == 0.0


def test_age_stops_to_count_after_its_bound_and_the_future_is_now() -> None:
    month, year = (note(created_at=NOW - days * 24 * HOUR) for days in (30, 365))
    assert quality(month, 0.5, NOW) == pytest.approx(quality(year, 0.5, NOW))
    assert quality(note(created_at=NOW + HOUR), 0.5, NOW) == quality(note(created_at=NOW), 0.5, NOW)


def test_the_last_use_counts_only_where_there_was_one() -> None:
    old = NOW - 400 * HOUR
    unused = note(created_at=old, last_accessed=NOW)
    assert quality(unused, 0.5, NOW) == quality(note(created_at=old, last_accessed=old), 0.5, NOW)
    assert quality(note(created_at=old, last_accessed=NOW, access_count=1), 0.5, NOW) > quality(unused, 0.5, NOW)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"access_count": 9}, {"access_count": 1}),
        ({"type": "semantic"}, {"type": "procedural"}),
        ({"role": "assistant"}, {"role": ""}),
        ({"tags": ()}, {"tags": ("user",)}),
        ({"text": "x" * 90}, {"text": "x" * 80}),
        ({"importance": 0.9}, {"importance": 0.8}),
    ],
)
def test_of_two_equally_relevant_the_better_one_scores_higher(
    better: dict[str, object], worse: dict[str, object]
) -> None:
    used = {"last_accessed": NOW - HOUR}
    one, other = (quality(note(**{**used, **each}), 0.5, NOW) for each in (better, worse))  # type: ignore[arg-type]
    assert one > other


def test_no_quality_is_more_than_one() -> None:
    best = note("x" * 9000, type="semantic", tags=("assistant",), importance=1.0, access_count=99, last_accessed=NOW)
    assert quality(best, 1.0, NOW) == 1.0
