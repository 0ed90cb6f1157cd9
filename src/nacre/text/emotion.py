"""Finds the feeling in a text: how pleasant it is, and how stirred up."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

from nacre.files import data_sections
from nacre.text.grammar import NEGATION_WORDS
from nacre.text.tokens import WORD, WORD_LISTS

Shade = tuple[float, float]  # valence, arousal

AROUSAL_SHARE, VALENCE_SHARE = 0.7, 0.3  # what stirs is remembered better than what merely pleases
STRONGER, WEAKER = 1.3, 0.6
DENIED = -0.5  # «not happy» lies on the other side of happy, and less far out
EMPHASIS = 0.1  # of an exclamation mark, or of a word in capitals, on arousal
MOST_MARKS = 3
REACH = 4  # words that a denial reaches over: «I don't think it's sad»
LONGEST_WAY = 8  # words between «I feel» and what is felt
STEPS = 1000  # figures are rounded to a thousandth: more would only look exact

INTENSIFIERS = WORD_LISTS["intensifiers"]
DAMPERS = WORD_LISTS["dampers"]
DENIALS = NEGATION_WORDS - {"avoid"} | {"hardly", "barely", "scarcely", "fail", "fails", "failed"}
CLAUSE_ENDS = frozenset(", ; : . ! ? ( ) — – but and because when since while although though if".split())
PASSED_OVER = INTENSIFIERS | DAMPERS | DENIALS | frozenset("a an still just now already also again always of".split())
FEELING = frozenset("feel feels felt feeling".split())
LINKING = FEELING | WORD_LISTS["linking verbs"]
CONTRACTED = frozenset("i'm im we're you're youre he's she's they're theyre everyone's".split())
MADE = frozenset("make makes made making leave leaves left leaving drive drives drove".split())
OBJECTS = frozenset("me us him her them you everyone".split())
PEOPLE = OBJECTS | WORD_LISTS["people"]
NAMES = frozenset(("Joy", "Merry"))
NO_NAMES = frozenset(("It", "This", "That", "What", "Which"))
CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
EXCLAMATION = re.compile(r"(?<=[^\s!])!+(?![=\w(\[])")
COMPARATIVE = re.compile(r"\w{3,}er\Z")
JOINED = re.compile(r"[\w][^\w\s'][\w]|[\d_]")


@dataclass(frozen=True, slots=True)
class Emotion:
    """Both figures in -1..1; `words` are those that decided, in order."""

    valence: float
    arousal: float
    words: tuple[str, ...] = ()

    @property
    def quadrant(self) -> str:
        return quadrant(self.valence, self.arousal)

    @property
    def salience(self) -> float:
        return salience(self.valence, self.arousal)


def quadrant(valence: float, arousal: float) -> str:
    if valence == 0 and arousal == 0:
        return "neutral"
    if arousal >= 0:
        return "excited" if valence >= 0 else "frustrated"
    return "calm" if valence >= 0 else "depleted"


def salience(valence: float, arousal: float) -> float:
    """How much it stands out, in 0.5..1."""
    return AROUSAL_SHARE * (abs(arousal) + 1) / 2 + VALENCE_SHARE * (abs(valence) + 1) / 2


def detect_emotion(text: str) -> Emotion | None:
    """None when no word expresses a feeling."""
    tokens = cut(text)
    shades = [(tokens[place], shade) for place in range(len(tokens)) if (shade := shade_at(tokens, place))]
    if not shades:
        return None
    valence, arousal = middle([shade for _, shade in shades])
    exclamations = sum(len(match[0]) for match in EXCLAMATION.finditer(CODE.sub(" ", text)))
    arousal = clipped(arousal + EMPHASIS * min(MOST_MARKS, exclamations))
    return Emotion(rounded(valence), rounded(arousal), tuple(dict.fromkeys(token.lower() for token, _ in shades)))


def cut(text: str) -> list[str]:
    """Words, phrases and signs in order; code is left out, and so is what only looks like a feeling."""
    plain = CODE.sub(" ; ", text.replace("’", "'"))
    if not may_have_phrases(plain):
        return WORD.findall(plain)
    return [match[0] for match in token_pattern().finditer(plain) if match.lastgroup != "friend"]


def may_have_phrases(plain: str) -> bool:
    """Whether a phrase or a false friend may be in it: to search for them takes five times as long."""
    if not plain.isascii():  # whose letters may be taken for others
        return True
    return any(map(" ".join(plain.lower().split()).__contains__, phrases_in_one_case()))


@cache
def phrases_in_one_case() -> tuple[str, ...]:
    """All phrases and false friends, with single blanks."""
    every = (*divided(tables()["false friends"]), *phrase_shades())
    return tuple(" ".join(phrase.lower().split()) for phrase in every)


@cache
def token_pattern() -> re.Pattern[str]:
    friends, phrases = one_of(divided(tables()["false friends"])), one_of(phrase_shades())
    return re.compile(rf"\b(?P<friend>{friends})|\b(?P<phrase>{phrases})|(?P<word>{WORD.pattern})", re.IGNORECASE)


def one_of(phrases: Iterable[str]) -> str:
    """Sorted under their first words: most places in a text are passed by at once."""
    rests: dict[str, list[str]] = {}
    for phrase in sorted(phrases, key=len, reverse=True):
        first, *rest = phrase.split()
        rests.setdefault(first, []).append(r"\s+".join(map(re.escape, rest)))
    listed = (rf"{re.escape(first)}\s+(?:{'|'.join(many)})" for first, many in rests.items())
    return f"(?:{'|'.join(listed)})(?![\\w'])"


def shade_at(tokens: Sequence[str], place: int) -> Shade | None:
    shade = meant(tokens, place)
    if shade is None:
        return None
    before = clause_before(tokens, place)
    factor = strength(before, tokens[place])
    valence, arousal = shade
    loud = EMPHASIS if shouted(tokens[place]) or any(map(shouted, before[-1:])) else 0.0
    return clipped(valence * factor), clipped(arousal * factor + loud)


def meant(tokens: Sequence[str], place: int) -> Shade | None:
    token = tokens[place]
    if token in NAMES:
        return None
    return always_meant(token.lower()) or framed(tokens, place, token.lower())


@lru_cache(maxsize=65536)
def always_meant(token: str) -> Shade | None:
    word = " ".join(token.split())
    if JOINED.search(word):
        return None
    known = shades("felt").get(word) or phrase_shades().get(word) or shades("emoji").get(word)
    return known or next((shade for start, shade in beginnings() if word.startswith(start)), None)


def framed(tokens: Sequence[str], place: int, word: str) -> Shade | None:
    """The shade of a word that is a feeling only where a person is said to have it."""
    for table, said in FRAMES:
        shade = shades(table).get(word)
        if shade is not None:
            return shade if said(tokens, place) else None
    return None


def of_a_person(tokens: Sequence[str], place: int) -> bool:
    at = link_before(tokens, place)
    if at < 0:
        return False
    link = tokens[at].lower()
    if link in CONTRACTED or (link in OBJECTS and at > 0 and tokens[at - 1].lower() in MADE):
        return True
    return link in LINKING and somebody(tokens, at)


def after_feel(tokens: Sequence[str], place: int) -> bool:
    at = link_before(tokens, place)
    return at >= 0 and tokens[at].lower() in FEELING and (tokens[at].lower() == "feeling" or somebody(tokens, at))


FRAMES: tuple[tuple[str, Callable[[Sequence[str], int], bool]], ...] = (
    ("of a person", of_a_person),
    ("after feel", after_feel),
)


def link_before(tokens: Sequence[str], place: int) -> int:
    """The place of the verb before the word, past «really», «not» and «tired and»; -1 without one."""
    at = place - 1
    while at >= max(0, place - LONGEST_WAY):
        word = tokens[at].lower()
        if word == "and":
            at -= 2
        elif bare(word) in PASSED_OVER:
            at -= 1
        else:
            return at
    return -1


def somebody(tokens: Sequence[str], link: int) -> bool:
    """Whether a person is the subject of the verb; with «feels», any name is a person."""
    before = clause_before(tokens, link)[-3:]
    if any(word.lower() in PEOPLE or word.lower() in CONTRACTED for word in before):
        return True
    return tokens[link].lower() in FEELING and any(word.istitle() and word not in NO_NAMES for word in before[-1:])


def clause_before(tokens: Sequence[str], place: int) -> list[str]:
    """As much of it as can matter."""
    start, first = place, max(0, place - REACH)
    while start > first and tokens[start - 1].lower() not in CLAUSE_ENDS:
        start -= 1
    return list(tokens[start:place])


def strength(before: Sequence[str], word: str) -> float:
    near = [bare(token.lower()) for token in before]
    denials = sum(word in DENIALS and after not in ("only", "just") for word, after in pairwise([*near, ""]))
    denied = denials % 2 == 1
    if denied and (COMPARATIVE.match(word.lower()) or "more" in near[-1:]):
        return STRONGER  # «never been happier»
    if denied:
        return DENIED
    if INTENSIFIERS & set(near[-2:]):
        return STRONGER
    return WEAKER if DAMPERS & set(near[-3:]) else 1.0


def bare(word: str) -> str:
    return word.replace("'", "")


def shouted(token: str) -> bool:
    return len(token) > 1 and token.isupper() and token.isalpha()


def middle(shades: Sequence[Shade]) -> Shade:
    """The mean, in which a strong word weighs more than a faint one."""
    weights = [math.hypot(*shade) for shade in shades]
    total = sum(weights) or 1.0
    valence = sum(weight * shade[0] for weight, shade in zip(weights, shades, strict=True))
    arousal = sum(weight * shade[1] for weight, shade in zip(weights, shades, strict=True))
    return valence / total, arousal / total


def clipped(value: float) -> float:
    return max(-1.0, min(1.0, value))


def rounded(value: float) -> float:
    return round(value * STEPS) / STEPS


@cache
def tables() -> dict[str, list[str]]:
    """The lines of words and phrases, read when the first text is looked at."""
    return dict(data_sections("text/feelings.txt"))


def rated(table: str) -> Iterator[tuple[str, Shade]]:
    """Each line's words, or its phrases with bars between them, with the line's figures."""
    for line in tables()[table]:
        valence, arousal, words = line.split(maxsplit=2)
        yield words, (float(valence), float(arousal))


@cache
def shades(table: str) -> Mapping[str, Shade]:
    return {word: shade for words, shade in rated(table) for word in words.split() if not word.endswith("*")}


@cache
def beginnings() -> tuple[tuple[str, Shade], ...]:
    return tuple((word[:-1], shade) for words, shade in rated("felt") for word in words.split() if word.endswith("*"))


@cache
def phrase_shades() -> Mapping[str, Shade]:
    return {phrase: shade for phrases, shade in rated("phrases") for phrase in divided([phrases])}


def divided(lines: Iterable[str]) -> list[str]:
    return [phrase.strip() for line in lines for phrase in line.split("|")]
