"""The models that score a memory: what makes one last."""

from __future__ import annotations

from itertools import pairwise
from math import exp, log1p

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre import Memory, MemoryStore
from nacre.errors import UnknownName
from nacre.lifecycle.decay import MODELS, MOST_LINKS, PASSING, DecayEngine, days_since, simple, strength
from tests.lifecycle.aged import DAY, NOW


def aged(days: float = 10.0, **fields: object) -> Memory:
    return Memory("m", "x", last_accessed=NOW - days * DAY, **{"importance": 0.3, **fields})  # type: ignore[arg-type]


def standing(support: int = 0, days: float = 10.0, **fields: object) -> tuple[Memory, float, float, int]:
    return aged(days, **fields), NOW, 0.1, support


def test_of_what_passes_unused_and_untied_the_two_models_agree() -> None:
    assert strength(*standing()) == simple(*standing()) == pytest.approx(0.3 * exp(-1))


def test_what_is_worth_more_than_what_passes_lasts_longer() -> None:
    scores = [strength(*standing(importance=worth)) / worth for worth in (0.2, PASSING, 0.55, 0.75, 0.95)]
    assert scores[0] == pytest.approx(scores[1]) and scores[1:] == sorted(set(scores[1:]))
    assert scores[2] == pytest.approx(exp(-1 / 9))


def test_uses_make_it_last_each_less_than_the_one_before() -> None:
    scores = [strength(*standing(access_count=uses)) for uses in range(6)]
    gains = [after - before for before, after in pairwise(scores)]
    assert scores == sorted(scores) and gains == sorted(gains, reverse=True) and min(gains) > 0
    assert scores[3] == pytest.approx(0.3 * exp(-1 / (1 + log1p(3))))
    assert simple(*standing(access_count=5)) == simple(*standing())


def test_a_validation_makes_it_last_and_counts_as_a_use() -> None:
    long_ago = strength(*standing(last_validated_at=1.0))
    today = strength(*standing(last_validated_at=NOW))
    assert strength(*standing()) < long_ago < today == 0.3
    assert long_ago == pytest.approx(0.3 * exp(-1 / 3))


def test_ties_make_it_last_up_to_a_number() -> None:
    scores = [strength(*standing(support=ties)) for ties in range(MOST_LINKS + 3)]
    assert scores[: MOST_LINKS + 1] == sorted(set(scores))
    assert scores[MOST_LINKS:] == [scores[MOST_LINKS]] * 3


def test_a_pinned_memory_never_fades() -> None:
    assert strength(*standing(days=100_000, pinned=True, importance=0.0)) == 1.0


def test_a_clock_that_ran_ahead_makes_nothing_younger_than_new() -> None:
    assert days_since(NOW + 5 * DAY, NOW) == 0.0
    assert strength(*standing(days=-5)) == simple(*standing(days=-5)) == 0.3


@pytest.mark.parametrize("name", sorted(MODELS))
@given(
    importance=st.floats(0, 1), days=st.floats(0, 10_000), more=st.floats(0, 1_000), uses=st.integers(0, 1_000),
    ties=st.integers(0, 50),
)  # fmt: skip
def test_a_score_is_a_share_and_never_grows_with_time(
    name: str, importance: float, days: float, more: float, uses: int, ties: int
) -> None:
    fading = Memory("m", "x", importance=importance, last_accessed=NOW, access_count=uses)
    earlier, later = (MODELS[name](fading, NOW + after * DAY, 0.1, ties) for after in (days, days + more))
    assert 0 <= later <= earlier <= importance


def test_an_unknown_model_is_an_error_that_names_the_known() -> None:
    with MemoryStore(":memory:", embedder="hashing") as store, pytest.raises(UnknownName, match="simple"):
        DecayEngine(store, model="exponential")
