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
    UNRELATED,
    Closeness,
    Reading,
    case_of,
    fitted_curves,
    floor_of,
    is_calibrated,
    logistic,
    median_cosines,
    rescaled,
    weighed_together,
)
from nacre.models.embedders import FunctionEmbedder, Hashing
from nacre.models.shipped_embedder import ENGLISH, ShippedEmbedder
from nacre.settings import Settings


def test_the_shipped_embedders_have_constants_of_their_own() -> None:
    for name in ("multilingual", "english"):
        assert is_calibrated(make_embedder(Settings(embedder=name)).identity)


def test_a_recall_with_a_foreign_embedder_says_that_its_relevance_is_uncalibrated() -> None:
    with MemoryStore(":memory:", embedder="hashing") as store:
        store.remember("the kettle is on", session="morning", position=1)
        assert not store.recall("kettle").calibrated
        assert not store.recall("kettle", group_by="session").calibrated


def test_an_embedder_with_the_medians_of_the_shipped_one_is_read_as_that() -> None:
    same = rescaled(UNRELATED, RELATED)
    assert same is not None
    assert (same.scale, same.offset) == pytest.approx((1, 0))


def test_narrower_cosines_are_read_on_a_wider_scale() -> None:
    narrow = rescaled(0.7, 0.7 + (RELATED - UNRELATED) / 2)
    assert narrow is not None
    for cosine in (0.0, 0.3, 0.8):
        alike = 0.7 + (cosine - UNRELATED) / 2
        ours, theirs = Closeness(cosine, 0.5), Closeness(alike, 0.5)
        assert narrow.relevance(theirs) == pytest.approx(SHIPPED.relevance(ours))
    assert rescaled(0.3, 0.31) is None


def test_too_few_or_too_short_texts_say_nothing() -> None:
    long = "one two three four five six seven eight nine"
    assert median_cosines([long] * (FEWEST_TEXTS - 1), Hashing()) is None
    assert median_cosines(["too short"] * 1000, Hashing()) is None


@pytest.mark.slow
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
        unrelated = store.recall("How do whales sleep?", min_relevance=0.0)
        assert after[0].relevance > 2 * unrelated[0].relevance


def test_a_note_that_was_read_is_less_relevant_the_farther_its_cosine_is_behind_the_best() -> None:
    behind = [SHIPPED.relevance(Closeness(0.4, 0.5, cosine_gap=by), Reading(0.0)) for by in (0.0, 0.1, 0.3)]
    assert behind == sorted(behind, reverse=True) and behind[0] > 1.5 * behind[-1]
    narrow = SHIPPED._replace(scale=2.0)
    assert narrow.relevance(Closeness(0.2, 0.5, cosine_gap=0.05), Reading(0.0)) == pytest.approx(behind[1])


def test_a_note_is_more_relevant_where_others_may_answer_too() -> None:
    few, many = ({"a": 0.3, **dict.fromkeys("bcdefgh", other)} for other in (0.01, 0.2))
    assert weighed_together(few, tuple(few))["a"] < weighed_together(many, tuple(many))["a"]
    extremes = weighed_together({"a": 0.0, "b": 1.0}, ("a", "b"))
    assert 0 <= extremes["a"] < extremes["b"] <= 1


def test_what_was_not_read_counts_as_the_least_of_what_was() -> None:
    read = {"a": 0.6, "b": 0.3, "c": 0.1}
    some, all_of_them = weighed_together(read, "abc"), weighed_together(read | dict.fromkeys("defgh", 0.1), "abcdefgh")
    assert [some[id] for id in "abc"] == pytest.approx([all_of_them[id] for id in "abc"])


def test_few_notes_are_judged_as_so_many_like_them() -> None:
    """A small store is not silent because there is little to choose from."""
    alone, eight = weighed_together({"a": 0.2}, "a"), weighed_together(dict.fromkeys("abcdefgh", 0.2), "abcdefgh")
    assert alone["a"] == pytest.approx(eight["a"])


def test_even_odds_are_a_probability_of_one_half_and_great_odds_do_not_overflow() -> None:
    assert logistic(0) == 0.5
    assert (logistic(-1e6), logistic(1e6)) == (0.0, 1.0)


KNOWN: list[tuple[float | None, Reading | None]] = [
    (0.3, None), (None, None), (0.3, Reading(0.0)), (None, Reading(0.0))
]  # fmt: skip


@pytest.mark.parametrize(("cosine", "reading"), KNOWN)
def test_every_case_has_a_curve_that_rises_with_what_speaks_for_the_memory(
    cosine: float | None, reading: Reading | None
) -> None:
    close = Closeness(cosine, 0.5)
    assert case_of(close, reading) in fitted_curves()
    usual = SHIPPED.relevance(close, reading)
    assert 0 < usual < 1
    assert SHIPPED.relevance(close._replace(coverage=1.0), reading) >= usual
    if cosine is not None:
        assert SHIPPED.relevance(close._replace(cosine=0.8), reading) > usual
    if reading is not None:
        assert SHIPPED.relevance(close, Reading(4.0)) > usual > SHIPPED.relevance(close, Reading(0.0, 4.0))


def test_what_is_nearest_of_all_is_above_every_floor_and_what_has_nothing_in_common_below() -> None:
    for case, readings in (("unread", (None, None)), ("read", (Reading(9.0), Reading(-9.0)))):
        for cosine in (0.7, None):
            best, worst = Closeness(cosine, 1.0), Closeness(cosine and 0.0, 0.0)
            assert SHIPPED.relevance(best, readings[0]) > floor_of(best, readings[0]).best, case
            assert SHIPPED.relevance(worst, readings[1]) < floor_of(worst, readings[1]).best, case
