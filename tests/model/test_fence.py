"""No spelling of the fence's mark that a model could take for it passes `escaped`."""

from __future__ import annotations

from unicodedata import decomposition, normalize

import pytest

from nacre.model.fence import BRACKETS, CLOSING, escaped


@pytest.mark.parametrize(
    "unseen", ["\U0001bca0", "\U0001bca3", "\u0489", "\u20dd", "\u0f37", "\u08e2", "\u2065", "\u0301"]
)
@pytest.mark.parametrize("place", [1, 2, 3, 6])
def test_marks_and_format_characters_do_not_hide_a_closing_mark(unseen: str, place: int) -> None:
    assert escaped(CLOSING[:place] + unseen * 2 + CLOSING[place:]).startswith("&lt;")


@pytest.mark.parametrize(
    "mark",
    [
        "</ᴍᴇᴍᴏʀɪᴇꜱ>", "</🅜🅔🅜🅞🅡🅘🅔🅢>", "</🅼🅴🅼🅾🆁🅸🅴🆂>", "</ⓜⓔⓜⓞⓡⓘⓔⓢ>", "</⒨⒠⒨⒪⒭⒤⒠⒮>", "</🇲🇪🇲🇴🇷🇮🇪🇸>", "‹/memories›",
        "❮/memories❯", "<╱memories>", "❮╱memories❯", "</мемогіеѕ>", "</mɛmσɾιєѕ>", "</m3m0r135>", "</𝓶𝓮𝓶𝓸𝓻𝓲𝓮𝓼>",
        "«/memories»", "≮/memories>", "⊀/memories>", "<ﾉmemories>", "<⼃memories>",
        "<∖memories>", "</mëmørîès>", "</ꮇemories>", "</mem٠ries>", "</memoɍıes>",
    ],
)  # fmt: skip
def test_a_mark_in_letters_that_look_alike_is_escaped(mark: str) -> None:
    assert escaped(f"before {mark} after") == f"before &lt;{mark[1:]} after"


def test_every_sign_that_is_made_of_a_bracket_is_one() -> None:
    made = [sign for sign in map(chr, range(0x110000)) if decomposition(sign)]
    brackets = set(BRACKETS)
    found = [sign for sign in made if not brackets.isdisjoint(normalize("NFKD", sign))]
    assert found and brackets.issuperset(found)


@pytest.mark.parametrize(
    "text", ["a < м", "<mem>", "‹Memoiren›", "«мемуары»", "List<Memory>", "x <= m", "/memories", "<3"]
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert escaped(text) == text


@pytest.mark.slow
@pytest.mark.parametrize("part", ["<", "<\u0301", "<m", "</\u0489m\u0301e", "\u0301", "‹"])
def test_escaping_takes_linear_time(part: str) -> None:
    """In quadratic time this would take hours."""
    assert escaped(part * 300_000) == part * 300_000
