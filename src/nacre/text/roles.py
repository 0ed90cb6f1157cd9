"""Whether two texts of the same words give them the opposite parts: who reports to whom, what is preferred to what."""

from __future__ import annotations

from nacre.text.frames import Frame
from nacre.text.statements import Statement
from nacre.text.synonyms import base, graded

# What stands before one of them and what stands after it cannot change places.
DIVIDERS = frozenset(map(base, ("than", "over", "instead", "before")))
PREFERRING = frozenset(map(base, ("prefer", "use", "choose", "visit", "run", "read", "pick")))
# With these either may be named first.
MUTUAL = frozenset(map(base, "marry wed meet divorce date fight agree split argue share".split()))
COPULA = frozenset("is are was were am be been has have had : do does did".split())


def swapped(given: Frame) -> tuple[str, str] | None:
    """What stands on the other side of «than» or «over»: «faster in air than in water», «in water … than in air»."""
    mine, theirs = around_divider(given.a), around_divider(given.b)
    here, there = mine[0] & theirs[1] - theirs[0], mine[1] & theirs[0] - theirs[1]
    if not here or not there:
        return None
    return given.a.by_key[min(here)].text, given.a.by_key[min(there)].text


def compared_alike(given: Frame) -> bool:
    """Whether both compare by one word, «faster» and «quicker», or both put one thing before the other."""
    words = ((given.a.by_key[key].text.lower(), given.b.by_key[key].text.lower()) for key in given.shared)
    same_measure = any(mine in graded() and theirs in graded() for mine, theirs in words)
    return same_measure or (divider(given.a) == divider(given.b) != "than" and bool(given.shared & PREFERRING))


def divider(given: Statement) -> str:
    return next((word.key for word in given.whole if word.key in DIVIDERS), "")


def around_divider(given: Statement) -> tuple[frozenset[str], frozenset[str]]:
    """The content words before «than» or its like, and those after it."""
    words = [word.key for word in given.whole]
    if not (found := divider(given)):
        return frozenset(), frozenset()
    place = words.index(found)
    return given.keys & frozenset(words[:place]), given.keys & frozenset(words[place:])


def exchanged(given: Frame) -> tuple[str, str] | None:
    """Who does a thing in one text has it done to him in the other: «Ann reports to Bo», «Bo reports to Ann»."""
    a, b = given.a, given.b
    if a.verb != b.verb or a.verb in COPULA | MUTUAL or "by" in {word.key for word in (*a.whole, *b.whole)}:
        return None
    mine, theirs = doer(a), doer(b)
    if not mine or not theirs or mine == theirs or mine in b.subject or theirs in a.subject:
        return None
    return (a.by_key[mine].text, b.by_key[theirs].text) if mine in b.keys and theirs in a.keys else None


def doer(given: Statement) -> str:
    """The last word of the subject; in «In March Matteo lent» it is Matteo."""
    return next((word.key for word in reversed(given.words) if word.place < given.verb_place), "")
