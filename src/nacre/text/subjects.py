"""Whether two statements speak of one thing at all: staging is not production, and Alice is not Bob."""

from __future__ import annotations

from functools import cache

from nacre.text.frames import Frame
from nacre.text.predicates import LIKE_A_PAST, verb_words
from nacre.text.statements import Statement, Word
from nacre.text.synonyms import base

# Beside a name they make it another's: «Anna's sister».
RELATIVES = (
    "mother father parent sister brother sibling daughter son child children wife husband partner boyfriend"
    " girlfriend fiance fiancee aunt uncle cousin niece nephew grandmother grandfather grandson granddaughter"
    " twin neighbour neighbor friend colleague boss assistant roommate flatmate landlord teacher doctor".split()
)

# What they lead to is what is spoken of, wherever it stands.
LEADING = frozenset(map(base, ("of", "when", "about", "if")))
CHOOSING = "use prefer choose pick take wear drive read watch play eat drink call name hire marry sit sleep".split()


@cache
def choosing() -> frozenset[str]:
    return frozenset(map(base, CHOOSING))


@cache
def relatives() -> frozenset[str]:
    return frozenset(map(base, RELATIVES))


def strangers(given: Frame) -> bool:
    """Whether neither text so much as mentions what the other speaks of."""
    a, b = given.a, given.b
    return bool(a.subject and b.subject) and not a.subject & b.keys and not b.subject & a.keys


def other_topics(given: Frame) -> bool:
    """«Move the login page to Oslo» and «move the audit log to Oslo»; but of «use the lift» and «use the stairs» one
    is chosen."""
    a, b = given.a, given.b
    leads = a.leading == b.leading and (a.leading in verb_words() - choosing() or a.leading in LEADING)
    return leads and bool(a.topic and b.topic) and not a.topic & b.keys and not b.topic & a.keys


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
    alone_a, alone_b = describing(given.only_a), describing(given.only_b)
    spoken_of = a.subject & b.subject if a.subject and b.subject else given.shared
    return any(a.before.get(key) in alone_a and b.before.get(key) in alone_b for key in spoken_of)


def describing(words: tuple[Word, ...]) -> frozenset[str]:
    """Not the verbs: «loves broccoli» and «hates broccoli» speak of one thing."""
    return frozenset(word.key for word in words if word.key not in verb_words() or word.text.lower() in LIKE_A_PAST)


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
