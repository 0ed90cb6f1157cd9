"""Whether one text denies what the other affirms."""

from __future__ import annotations

import pytest

from nacre.text.grammar import negation_diff


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Use tabs", "Do not use tabs"),
        ("Deploy on Friday", "Don't deploy on Friday"),
        ("Deploy on Friday", "dont deploy on friday"),
        ("It won’t start", "It will start"),
        ("Serve it with salt", "Serve it without salt"),
        ("Avoid globals", "Globals are fine"),
        ("Nobody came", "Everybody came"),
    ],
)
def test_an_odd_number_of_denials_between_them_is_a_difference(a: str, b: str) -> None:
    assert negation_diff(a, b)
    assert negation_diff(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Use tabs", "Use spaces"),
        ("Never use tabs", "Do not use tabs"),
        ("It is not impossible", "It isn't so"),
        ("Neither this nor that", "This and that"),
        ("", ""),
    ],
)
def test_an_even_number_is_none(a: str, b: str) -> None:
    assert not negation_diff(a, b)
