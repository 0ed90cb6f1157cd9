"""Chooses a memory type by the words of a text: procedural, prospective, episodic, or else semantic."""

from __future__ import annotations

import re

from nacre.files import data_sections
from nacre.text.grammar import ARTICLES, VERBS

PATTERNS = {heading: "|".join(lines) for heading, lines in data_sections("minds/classify.txt")}
OTHER_MEANINGS = re.compile(rf"\b(?:{PATTERNS['other meanings']})\b|['’]s will\b", re.IGNORECASE)
# What follows a «Will» at the start of a sentence that is not a person: «Will it rain?», «Will never do».
AFTER_WILL = ARTICLES.union(
    VERBS, "I you he she it we they there these those be not never also probably soon all any some each".split()
)
WILL = re.compile(
    r"(?<![\w.])(?<!\w[-'’/])(?:will|WILL)(?![\w/'’]|[-.]\w)|(?<=\w)['’]ll\b"
    rf"|(?:\A|[.!?:;…\n\"“«(])[\s*•-]*Will\s+(?:{'|'.join(AFTER_WILL)})\b"
)


def whole_words(words: str) -> re.Pattern[str]:
    """Not parts of words, names or compounds («plants», asyncio.Future, «event-driven»)."""
    return re.compile(rf"(?<![\w.])(?<!\w[-'’/])(?:{words})(?![\w/]|[-.]\w)", re.IGNORECASE)


# In the order in which they decide.
CUES = (
    ("procedural", whole_words(PATTERNS["procedural"])),
    ("prospective", whole_words(PATTERNS["prospective"])),
    ("prospective", WILL),
    ("episodic", whole_words(PATTERNS["episodic"])),
)


def classify(text: str, concept: str = "") -> str:
    """A type of `nacre.model.memory.TYPES`: the first of procedural, prospective, episodic; else semantic."""
    subject = OTHER_MEANINGS.sub(" ", f"{concept}\n{text}" if concept else text)
    return next((type for type, cue in CUES if cue.search(subject)), "semantic")
