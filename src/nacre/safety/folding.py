"""Reads a text as a person or a model reads it: look-alike letters, marks over letters and set-apart letters undone."""

from __future__ import annotations

import re
import unicodedata

from nacre.safety.hidden import visible

# Letters of other scripts that look like Latin ones; replaced only in words that also hold Latin letters.
LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁһӏԛԝвкмнтгпАЕОРСУХІЈЅВКМНТ" + "αοερτυνικχβμηωγΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" + "ıɡɑℓ",
    "aeopcyxijsdhlqwbkmhtrnAEOPCYXIJSBKMHT" + "aoeptuvikxbunwyABEZHIKMNOPTYX" + "igal",
)
SQUARED = {0x1F150 + at: 65 + at for at in range(26)} | {0x1F170 + at: 65 + at for at in range(26)}
MIXED_WORD = re.compile(r"\b(?=\w{0,40}[A-Za-z])(?=\w{0,40}[Ѐ-ӿԀ-ԯͰ-Ͽıɡɑℓ])\w{1,60}")
MARKS = re.compile("(?<=[A-Za-z])[\u0300-\u036f\u0489\u20d0-\u20f0]+")
SPACED_OUT = re.compile(r"(?<!\w)(?:\w[ .*_-]){5,60}\w(?!\w)")  # i g n o r e, i.g.n.o.r.e
RESTS = re.compile(r"[ .*_-]")
BLANKS = re.compile(r"[ \t\xa0]+")
LEET = str.maketrans("0134578@$", "oieastbas")
LEET_INSIDE = re.compile(r"[a-z][0134578@$]|[0134578@$][a-z]")
LEET_WORD = re.compile(r"\b(?=[a-z]{0,20}[0134578@$])(?=[0134578@$]{0,8}[a-z])[a-z0134578@$]{3,24}")


def folded(text: str) -> str:
    """Line ends stay; everything else that has no meaning for a reader is gone."""
    seen = visible(text)
    if not seen.isascii():
        seen = unicodedata.normalize("NFKC", seen.translate(SQUARED)).replace("’", "'")
        seen = MARKS.sub("", unicodedata.normalize("NFC", MARKS.sub("", seen)))
        seen = MIXED_WORD.sub(lambda match: match[0].translate(LOOKALIKES), seen)
    joined = SPACED_OUT.sub(lambda match: RESTS.sub("", match[0]), seen)
    return BLANKS.sub(" ", joined)


def unleeted(lowered: str) -> str:
    """1gn0re as ignore; for words that are hidden so on purpose."""
    if LEET_INSIDE.search(lowered) is None:
        return lowered
    return LEET_WORD.sub(lambda match: match[0].translate(LEET), lowered)
