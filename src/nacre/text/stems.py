"""Brings the forms of a word together, so that "deployed" is found by "deploying"."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache

import Stemmer

from nacre.text.tokens import words

# The script tells the language well enough where it has one main language with a good stemmer.
SCRIPTS = (("\u0400", "\u04ff", "russian"), ("\u0370", "\u03ff", "greek"), ("\u0600", "\u06ff", "arabic"))
DEFAULT = "english"

# Words so common that they only cost time in a search; from the closed classes of English alone, since another
# language's function words may be content here. Negations stay: "not" can be what a memory is about.
STOP_WORDS = frozenset(
    "a about above after again all am an and any are as at be because been before being below between both but by can"
    " could did do does doing down during each few for from further had has have having he her here hers herself him"
    " himself his how i if in into is it its itself just me more most my myself of off on once only or other our ours"
    " ourselves out over own same she should so some such than that the their theirs them themselves then there these"
    " they this those through to too under until up very was we were what when where which while who whom why will with"
    " would you your yours yourself yourselves shall may might must ive im id ill youre hes shes theyre weve".split()
)

_local = threading.local()


def stems(text: str) -> list[str]:
    return [stem(word) for word in words(text)]


def content_stems(text: str) -> list[str]:
    """The stems of a question that are worth looking for, each once, in order.

    When nothing but common words is left, those are what was meant ("who am I").
    """
    given = words(text)
    wanted = [word for word in given if word not in STOP_WORDS]
    return list(dict.fromkeys(stem(word) for word in wanted or given))


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    if any(sign.isdigit() for sign in word) or "_" in word:
        return word  # an identifier, a version, a number: kept whole
    stemmed: str = stemmer(language(word)).stemWord(word)
    return stemmed


def language(word: str) -> str:
    for first, last, name in SCRIPTS:
        if first <= word[:1] <= last:
            return name
    return DEFAULT


def stemmer(name: str) -> Stemmer.Stemmer:
    # A stemmer keeps state while it works; each thread has its own.
    held: dict[str, Stemmer.Stemmer] = _local.__dict__.setdefault("stemmers", {})
    if name not in held:
        held[name] = Stemmer.Stemmer(name)
    return held[name]


def joined(texts: Sequence[str]) -> str:
    return " ".join(stem for text in texts for stem in stems(text))
