"""Where a text may be cut."""

from __future__ import annotations

import pytest

from nacre.text.tokens import sentence_spans


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One. ", "Two! ", "Three?"]),
        ('He said "go." Then left.', ['He said "go." ', "Then left."]),
        ("一。二！三", ["一。", "二！", "三"]),
        ("line\n\nline", ["line\n\n", "line"]),
        ("v1.2 is out", ["v1.2 is out"]),
        ("", [""]),
    ],
)
def test_sentences_of(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentence_spans(text)] == expected
