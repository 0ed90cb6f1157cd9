"""Characters that a person does not see and a model reads: tags, zero-width signs, turned directions."""

from __future__ import annotations

import re
from collections.abc import Iterator

FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f")  # Scotland's is spelled out in tags
TAGS = re.compile("[\U000e0000-\U000e007f]")
SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")  # one after a letter is a font's affair
TURNED = re.compile("[\u202a\u202b\u202d\u202e\u2066-\u2068]")
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
# Joiners belong to emoji, to Persian and to the Indic scripts, never between two Latin letters.
INSIDE_WORDS = re.compile("(?<=[A-Za-z])[\u200b-\u200d\u2060\ufeff\u180e\u00ad]+(?=[A-Za-z])")
ZERO_WIDTH = re.compile("[\u200b\u2060-\u2064\u180e]")
MANY = 8  # some web pages leave a few
INVISIBLE = re.compile(
    "[\u200b\u2060-\u2064\ufeff\u180e\u00ad\u202a-\u202e\u2066-\u2069]|(?<=[A-Za-z])[\u200c\u200d](?=[A-Za-z])"
)


def hidden_signs(text: str) -> Iterator[tuple[str, float]]:
    if text.isascii():
        return
    if TAGS.search(FLAG.sub("", text)):
        yield "holds invisible tag characters", 0.9
    if SELECTORS.search(text):
        yield "holds rows of variation selectors", 0.8
    if TURNED.search(text) and not RIGHT_TO_LEFT.search(text):
        yield "turns the direction of the text", 0.5
    if len(INSIDE_WORDS.findall(text)) > 1 or len(ZERO_WIDTH.findall(text)) >= MANY:
        yield "holds zero-width characters", 0.5


def visible(text: str) -> str:
    """What a model reads: tag characters as the letters they stand for, zero-width ones left out."""
    if text.isascii():
        return text
    spelled = TAGS.sub(lambda match: chr(ord(match[0]) - 0xE0000), FLAG.sub("", text))
    return INVISIBLE.sub("", spelled)
