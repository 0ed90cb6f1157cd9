"""Phrases of several words that mean what one word means: what is off limits is forbidden."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

from nacre.text.stems import stem
from nacre.text.synonyms import irregular

# The one word, then the phrases that stand for it; in a phrase «give» is every form of the verb.
PHRASES = {
    "forbid": "off limits, out of bounds, not allowed, not permitted, not ok, not okay, not welcome,"
    " not acceptable, not an option, no place, no go",
    "allow": "feel free, free to, be fine, be ok, be okay, be welcome, up to you, as you see fit, as you like, be"
    " fine with",
    "exclude": "rule out, leave out, leave off",
    "required": "have to, be obliged to, be supposed to, not optional, can not sign in without",
    "outsourced": "by an outside, from an outside",
    "inhouse": "in house",
    "manual": "by hand",
    "dropout": "drop out",
    "keep": "leave in place, stay in, leave as it is, keep as it is",
    "untouched": "leave alone",
    "weakest": "weak spot, weak point",
    "relaxed": "at ease",
    "disable": "turn off, switch off, shut off, opt out, power off",
    "enable": "turn on, switch on, opt in, power on",
    "accept": "say yes",
    "reject": "turn down, say no, turn away, vote down",
    "postpone": "put off, push back, hold off",
    "cancel": "call off",
    "available": "in stock",
    "unavailable": "out of stock, sold out, no longer available",
    "hate": "can not stand, could not stand, can not bear, can not abide, have no time for",
    "fond": "be into, be keen on, be fond of, be a fan of, be big on",
    "punctual": "on time, in time, on schedule",
    "late": "behind schedule, overdue, past due",
    "always": "all year round, year round, all year, at all times, all the time, around the clock, without"
    " exception, every time, from day one, from the start, in every case, every single time",
    "never": "at no time, under no circumstances, in no case, on no account, not once, not ever",
    "maximum": "at most, no more than, not more than, not longer than, no longer than, up to, not exceed, no greater"
    " than",
    "minimum": "at least, no less than, no fewer than, not less than",
    "manage": "look after, take care of, in charge of, be responsible for, responsible for",
    "marry": "tie the knot, get married",
    "divorce": "split up, break up",
    "approve": "sign off, sign off on, give the green light, green light",
    "default": "out of the box, by default",
    "alone": "all alone, on my own, on your own, on his own, on her own, on our own, on their own, by myself,"
    " by himself, by herself, by yourself",
    "start": "set off, kick off, get going",
    "stop": "give up",
    "finish": "wrap up",
    "remove": "get rid of, take out, take off, strip out, rip out",
    "install": "set up",
    "forget": "lose track",
    "fail": "fall through, fall short, break down, go wrong",
    "succeed": "work out, go well, go fine",
    "visible": "in sight, in view",
    "daily": "every day, each day, a day, per day, once a day",
    "weekly": "every week, each week, a week, per week, once a week",
    "monthly": "every month, each month, a month, per month, once a month",
    "yearly": "every year, each year, a year, per year, once a year",
    "nightly": "every night, each night",
    "colored": "in color, in colour",
    "monochrome": "black and white",
    "happen": "take place",
    "walk": "on foot",
    "onsite": "in person, on site, in the office",
    "remote": "from home",
    "offline": "without internet, without network, without a connection",
    "quarterly": "every quarter, each quarter",
}
BEING = frozenset("be is are was were am been being".split())


@cache
def by_first_word() -> dict[str, list[tuple[tuple[str, ...], str]]]:
    """Each phrase under its first word, the longest first: «in the office» is not to be read as something shorter."""
    table: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for meaning, given in PHRASES.items():
        for phrase in given.split(","):
            words = tuple(map(plain, phrase.split()))
            table.setdefault(words[0], []).append((words, meaning))
    return {first: sorted(found, key=lambda each: -len(each[0])) for first, found in table.items()}


@lru_cache(maxsize=16384)
def plain(word: str) -> str:
    """Without its ending, so that «gave up» is «give up»; but still itself, and none of its synonyms."""
    return "be" if word in BEING else stem(irregular().get(word, word))


def phrase_at(words: Sequence[str]) -> tuple[str, int] | None:
    """What the phrase that the words begin with means, and how many of them it takes."""
    for phrase, meaning in by_first_word().get(plain(words[0]), ()):
        if len(words) >= len(phrase) and all(
            plain(word) == wanted for word, wanted in zip(words, phrase, strict=False)
        ):
            return meaning, len(phrase)
    return None
