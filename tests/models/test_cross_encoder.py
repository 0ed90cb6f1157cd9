"""The shipped cross-encoder: one text or two, and a head for each question about them."""

from __future__ import annotations

import numpy as np
import pytest

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


def test_heads_say_the_same_whichever_are_asked_together() -> None:
    """The answers have last layers of their own: each head must be run with those it was trained with."""
    model = graph()
    pair = model.pair("Where is the spare key?", "The spare key lies under the blue pot.")
    (together,) = model.scores([pair], "relation", "answers", "orders")
    for head, said in zip(("relation", "answers", "orders"), together, strict=True):
        ((alone,),) = model.scores([pair], head)  # type: ignore[arg-type]
        assert np.array_equal(alone, said)


def test_a_note_that_only_mentions_what_is_asked_for_is_no_answer() -> None:
    model = graph()
    boiler = "The boiler was serviced in May; the next service is due in spring 2028."
    shift = "Ines runs the night shift at the depot on Tuesdays."
    for note, answered, missed in (
        (boiler, "When is the boiler due for service?", "How much did the boiler cost?"),
        (shift, "Who has the night shift on Tuesday?", "What is the phone number of Ines?"),
    ):
        texts = [model.pair(asked, note) for asked in (answered, missed, "Which paint is on the bathroom wall?")]
        right, near, foreign = (float(score[0]) for (score,) in model.scores(texts, "answers"))
        assert min(right - near, right - foreign) > 2, note


@pytest.mark.parametrize(
    ("note", "answered", "missed"),
    [
        ("Petra waters the ferns.", "who waters the ferns?", "who waters the orchids?"),
        ("The gateway uses port 9443.", "which port does the gateway use?", "which port does the mail relay use?"),
        ("There are 14 chairs in the blue room.", "how many chairs are in the blue room?", "how many lamps are there?"),
        ("Der Schornsteinfeger kommt am Dienstag.", "wann kommt der Schornsteinfeger?", "wann kommt der Klempner?"),
        ("The spare key is under the flower pot.", "where is the spare key?", "where is the car key?"),
    ],
)
def test_a_plain_statement_answers_in_its_own_words_but_not_about_another_subject(
    note: str, answered: str, missed: str
) -> None:
    model = graph()
    (right,), (other,) = model.scores([model.pair(answered, note), model.pair(missed, note)], "answers")
    assert float(right[0]) > 2 and float(other[0]) < 0
