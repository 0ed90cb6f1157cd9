"""Whether two statements speak of one thing at all: staging is not production, and Alice is not Bob."""

from __future__ import annotations

from functools import cache

from nacre.text.frames import Frame
from nacre.text.statements import Statement
from nacre.text.synonyms import base

# Beside a name they make it another's: «Anna's sister».
RELATIVES = (
    "mother father parent sister brother sibling daughter son child children wife husband partner boyfriend"
    " girlfriend fiance fiancee aunt uncle cousin niece nephew grandmother grandfather grandson granddaughter"
    " twin neighbour neighbor friend colleague boss assistant roommate flatmate landlord teacher doctor".split()
)


@cache
def relatives() -> frozenset[str]:
    return frozenset(map(base, RELATIVES))


def strangers(given: Frame) -> bool:
    """Whether neither text so much as mentions what the other speaks of."""
    a, b = given.a, given.b
    return bool(a.subject and b.subject) and not a.subject & b.keys and not b.subject & a.keys


def told_apart(given: Frame) -> bool:
    """Whether the things spoken of bear different names, or different words, numbers or dates beside one noun."""
    a, b = given.a, given.b
    if bears_name(a, a.subject - b.keys) and bears_name(b, b.subject - a.keys):
        return True
    if (a.subject - b.keys | b.subject - a.keys) & relatives() and given.shared & a.subject & b.subject:
        return True
    in_subject = any(one.place < a.verb_place and other.place < b.verb_place for one, other in given.values)
    return in_subject or differently_described(given)


def differently_described(given: Frame) -> bool:
    """«The kitchen sink» and «the bathroom sink»."""
    a, b = given.a, given.b
    alone_a, alone_b = {word.key for word in given.only_a}, {word.key for word in given.only_b}
    spoken_of = a.subject & b.subject if a.subject and b.subject else given.shared
    return any(a.before.get(key) in alone_a and b.before.get(key) in alone_b for key in spoken_of)


def bears_name(given: Statement, keys: frozenset[str]) -> bool:
    return any(given.by_key[key].name for key in keys)


def only_the_subject(given: Frame) -> bool:
    """Whether nothing is shared but what both texts speak of: who studies law may sell a bicycle."""
    return given.shared <= given.a.subject & given.b.subject


def other_subjects(given: Frame) -> bool:
    """Whether each text's subject has something that the other text lacks."""
    return bool(given.a.subject - given.b.keys) and bool(given.b.subject - given.a.keys)


def other_head(given: Frame) -> bool:
    """«The rabbit» and «the rabbit hutch»."""
    a, b = head(given.a), head(given.b)
    return bool(a and b) and (a in given.b.keys) != (b in given.a.keys)


def head(given: Statement) -> str:
    """The last of the words that stand together at the beginning of the subject; empty where there is no subject."""
    found, place = "", -1
    for word in given.words:
        if word.place >= given.verb_place or (found and word.place > place + 1):
            break
        found, place = word.key, word.place
    return found


def same_subject(given: Frame) -> bool:
    return bool(given.a.subject & given.b.subject) or (not given.a.subject and not given.b.subject)
