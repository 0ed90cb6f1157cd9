"""The shipped cross-encoder: one text or two, and a head for each question about them."""

from __future__ import annotations

import numpy as np

from nacre.models import cross_encoder
from nacre.models.cross_encoder import constants, failure, graph, is_loaded


def test_a_text_gives_the_same_scores_whatever_is_read_with_it() -> None:
    model = graph()
    pairs = [model.pair("Where is the key?", "The key is under the mat."), model.single("Tea is nice."),
             model.pair("Where is the key?", "Tea is nice.")]  # fmt: skip
    together = model.scores(pairs, "answers", "orders")
    for pair, (answers, orders) in zip(pairs, together, strict=True):
        (alone,) = model.scores([pair], "answers", "orders")
        assert np.allclose(np.concatenate(alone), np.concatenate((answers, orders)), atol=1e-4)
    assert model.scores([], "answers") == []


def test_every_head_has_the_width_that_its_user_expects() -> None:
    model = graph()
    (scores,) = model.scores([model.single("Tea is nice.")], "relation", "one_place", "answers", "orders")
    assert [len(each) for each in scores] == [4, 4, 1, 1]


def test_it_is_loaded_by_the_first_use() -> None:
    cross_encoder._graph.cache_clear()
    assert not is_loaded()
    assert graph() is graph() and is_loaded()


def test_a_failure_is_one_line() -> None:
    assert failure(ImportError("x")) == "onnxruntime is not installed"
    assert failure(ValueError("one\n two")) == "one two"


def test_the_points_of_the_relation_were_fitted_for_these_weights() -> None:
    assert 0.5 <= constants("relation")["noted"] < constants("relation")["sure"] < 1
