from __future__ import annotations

import numpy as np
import pytest

from nacre.models.vectors import estimate_tokens, unit_rows


def test_rows_are_brought_to_unit_length_and_a_row_of_zeros_gets_a_direction() -> None:
    rows = unit_rows([[3, 4], [0, 0]], 2)
    assert rows.dtype == np.float32
    assert rows.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [1.0, 0.0]]


@pytest.mark.parametrize("values", [[[1.0]], [1.0, 2.0], [[], []], [[1.0], [float("nan")]], [[1.0], [1.0, 2.0]]])
def test_what_is_not_two_rows_of_numbers_is_refused(values: list[object]) -> None:
    with pytest.raises(ValueError):
        unit_rows(values, 2)  # type: ignore[arg-type]


def test_the_given_array_is_not_changed() -> None:
    given = np.zeros((1, 2), np.float32)
    unit_rows(given, 1)
    assert not given.any()


def test_tokens_are_estimated_by_words_or_by_length_whichever_is_more() -> None:
    assert estimate_tokens(["", "two words", "x" * 100]) == [0, 3, 25]
