from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from nacre import MemoryStore
from nacre.factory import make_embedder
from nacre.models.calibration import (
    FEWEST_TEXTS,
    RELATED,
    SHIPPED,
    UNCALIBRATED,
    UNRELATED,
    is_calibrated,
    logistic,
    median_cosines,
    rescaled,
)
from nacre.models.embedders import FunctionEmbedder, Hashing
from nacre.models.shipped_embedder import ENGLISH, ShippedEmbedder
from nacre.settings import Settings


def test_the_shipped_embedders_have_constants_of_their_own() -> None:
    for name in ("multilingual", "english"):
        assert is_calibrated(make_embedder(Settings(embedder=name)).identity)


def test_a_recall_with_a_foreign_embedder_says_that_its_relevance_is_uncalibrated() -> None:
    assert UNCALIBRATED.by_cosine > 0
    with MemoryStore(":memory:", embedder="hashing") as store:
        store.remember("the kettle is on", session="morning", position=1)
        assert not store.recall("kettle").calibrated
        assert not store.recall("kettle", group_by="session").calibrated


def test_an_embedder_with_the_medians_of_the_shipped_one_is_read_as_that() -> None:
    same = rescaled(UNRELATED, RELATED)
    assert same is not None
    assert (same.intercept, same.by_cosine) == pytest.approx((SHIPPED.intercept, SHIPPED.by_cosine))


def test_narrower_cosines_are_read_on_a_wider_scale() -> None:
    narrow = rescaled(0.7, 0.7 + (RELATED - UNRELATED) / 2)
    assert narrow is not None and narrow.by_cosine == pytest.approx(2 * SHIPPED.by_cosine)
    for cosine in (0.0, 0.3, 0.8):
        alike = 0.7 + (cosine - UNRELATED) / 2
        ours, theirs = SHIPPED.intercept + SHIPPED.by_cosine * cosine, narrow.intercept + narrow.by_cosine * alike
        assert theirs == pytest.approx(ours)
    assert rescaled(0.3, 0.31) is None


def test_too_few_or_too_short_texts_say_nothing() -> None:
    long = "one two three four five six seven eight nine"
    assert median_cosines([long] * (FEWEST_TEXTS - 1), Hashing()) is None
    assert median_cosines(["too short"] * 1000, Hashing()) is None


def test_a_reindexing_calibrates_a_foreign_embedder_on_the_texts_of_the_store() -> None:
    """The English one under another name, with its cosines pushed together as other models have them."""
    own = ShippedEmbedder(ENGLISH)

    def narrow(texts: Sequence[str]) -> np.ndarray:
        rows = own.embed(list(texts))
        return np.concatenate([rows, np.full((len(texts), 1), 1.5, np.float32)], axis=1)

    things = ("kettle", "bicycle", "invoice", "garden", "concert", "passport")
    facts = ("was bought in spring, and the receipt of the {} is with Anna", "needs a repair before the {} can be lent",
             "stands in the cellar next to the {} of the neighbours", "is what Tom asked about, since his {} is broken",
             "was the topic of the meeting: who pays for the {} this year")  # fmt: skip
    with MemoryStore(":memory:", embedder=FunctionEmbedder(narrow, "foreign")) as store:
        store.remember_many([f"The {thing} {fact.format(thing)}" for thing in things for fact in facts])
        before = store.recall("Who pays for the kettle?")
        assert not before.calibrated
        store.reindex()
        after = store.recall("Who pays for the kettle?")
        assert after.calibrated
        assert store.recall("Who pays for the kettle?", group_by="session").calibrated
        unrelated = store.recall("How do whales sleep?")
        assert after[0].relevance > 2 * unrelated[0].relevance


def test_even_odds_are_a_probability_of_one_half_and_great_odds_do_not_overflow() -> None:
    assert logistic(0) == 0.5
    assert (logistic(-1e6), logistic(1e6)) == (0.0, 1.0)
