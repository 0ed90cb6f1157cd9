"""Each text is embedded once, and only real work counts as work."""

from __future__ import annotations

import time

import numpy as np
import pytest

from nacre.bench.run import CachingEmbedder, RunProgress
from tests.embedders import WordBag


def test_a_text_that_came_before_is_not_embedded_again() -> None:
    inner = WordBag()
    once = CachingEmbedder(inner)
    once.embed(["sea", "salt"])
    rows = once.embed(["salt", "flour", "salt"])
    assert inner.asked == ["sea", "salt", "flour"]
    assert np.array_equal(rows, WordBag().embed(["salt", "flour", "salt"]))
    assert (once.asked, once.embedded) == (5, 3)


def test_a_question_is_embedded_anew_each_time() -> None:
    inner = WordBag()
    once = CachingEmbedder(inner)
    once.embed(["sea", "salt"])
    assert np.array_equal(once.embed(["sea"]), once.embed(["sea"]))
    assert inner.asked == ["sea", "salt", "sea", "sea"]
    assert once.embed([]).shape[0] == 0


def test_tokens_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = WordBag()
    once = CachingEmbedder(inner)
    assert once.count_tokens(["a b", "c", "a b"]) == [2, 1, 2]
    monkeypatch.setattr(inner, "count_tokens", None)
    assert once.count_tokens(["c", "a b"]) == [1, 2]


def test_it_is_the_embedder_that_it_wraps() -> None:
    inner = WordBag(32, token_limit=9, identity="bag")
    once = CachingEmbedder(inner)
    assert (once.identity, once.dimensions, once.token_limit, once.ready) == ("bag", 32, 9, True)


def test_the_pace_counts_only_batches_that_were_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 2.0, 2.0, 9.0, 9.0, 10.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(now))
    once = CachingEmbedder(WordBag())
    pace = RunProgress(once)
    once.embed(["a", "b"])
    pace(6, 20, "")  # six turns in two seconds, all new
    once.embed(["a", "b"])
    pace(20, 20, "")  # fourteen from the memo
    assert (pace.turns, pace.seconds, pace.per_second) == (6, 2.0, 3.0)


def test_a_pace_without_work_is_nothing() -> None:
    assert RunProgress(CachingEmbedder(WordBag())).per_second == 0
