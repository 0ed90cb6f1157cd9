"""Stored text must not act on a terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.cli.ui.output import one_field, one_line, printable, shortened


@pytest.mark.parametrize(
    ("stored", "rendered"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0\x1b\\after", "after"),
        ("\x9b2Jcleared", "cleared"),
        ("unfinished \x1b]0;title", "unfinished ]0;title"),
        ("over\rwritten", "over\nwritten"),
        ("bell\x07 back\x08space", "bell backspace"),
        ("line\r\nline\ttab", "line\nline\ttab"),
        ("abc\u202edef", "abcdef"),
        ("中文 é 😀", "中文 é 😀"),
    ],
)
def test_escapes_and_control_characters_are_taken_out(stored: str, rendered: str) -> None:
    assert printable(stored) == rendered


@given(st.text())
@pytest.mark.slow
def test_nothing_printable_controls_a_terminal(text: str) -> None:
    assert all(unicodedata.category(character) != "Cc" for character in printable(text) if character not in "\n\t")


@given(st.text())
def test_a_field_stays_within_its_row(text: str) -> None:
    assert len(one_field(text).splitlines()) <= 1
    assert "\t" not in one_field(text)


def test_a_line_has_single_spaces_and_a_bound() -> None:
    assert one_line(" a \n\n b\tc ") == "a b c"
    assert shortened("x" * 100, 10) == "x" * 9 + "…"
