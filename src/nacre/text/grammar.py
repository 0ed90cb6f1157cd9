"""English grammar: function words, verbs, negations, and the form in which a word is compared."""

from __future__ import annotations

from functools import cache, lru_cache

from nacre.files import data_sections
from nacre.text.tokens import STOP_WORDS, WORD_LISTS, folded, stem, words

ARTICLES = WORD_LISTS["articles"]
AUXILIARIES = WORD_LISTS["auxiliaries"]
FUNCTION_WORDS = STOP_WORDS | WORD_LISTS["function words"]
CLAUSE_WORDS = WORD_LISTS["clause words"]
NEGATION_WORDS = WORD_LISTS["negations"]
GRADABLE = WORD_LISTS["gradable adjectives"]
VERBS = WORD_LISTS["verbs"]


@cache
def word_groups() -> dict[str, list[list[str]]]:
    """The irregular forms and the synonyms."""
    return {heading: [line.split() for line in lines] for heading, lines in data_sections("text/synonyms.txt")}


@cache
def irregular() -> dict[str, str]:
    return {form: base for base, *forms in word_groups()["irregular forms"] for form in forms}


@cache
def graded() -> dict[str, str]:
    """«older» and «oldest» to «old»; only for known adjectives, since «water» is not a form of «wat»."""
    forms: dict[str, str] = {}
    for word in GRADABLE:
        root = word[:-1] if word.endswith("e") else word[:-1] + "i" if word.endswith("y") else word
        roots = (root, root + root[-1]) if len(word) <= 4 else (root,)
        forms |= {each + ending: word for each in roots for ending in ("er", "est")}
    return forms


@cache
def synonyms() -> dict[str, str]:
    """Each stem to the one that represents its meaning. A word's first group decides."""
    forms: dict[str, str] = {}
    for group in word_groups()["synonyms"]:
        first, *others = (stem(irregular().get(word, word)) for word in group)
        for other in others:
            forms.setdefault(other, forms.get(first, first))
    return forms


@lru_cache(maxsize=65536)
def base(word: str) -> str:
    """The form in which a word is compared: without its inflection, and with its synonyms."""
    plain = graded().get(lowered := folded(word), lowered)
    stemmed = stem(irregular().get(plain, plain))
    return synonyms().get(stemmed, stemmed)


def negation_diff(a: str, b: str) -> bool:
    """Whether one text denies an odd number of times more than the other."""
    return (count(a) - count(b)) % 2 == 1


def count(text: str) -> int:
    return sum(word in NEGATION_WORDS for word in words(text))


@cache
def verb_words() -> frozenset[str]:
    return frozenset(map(base, VERBS))
