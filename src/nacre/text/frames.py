"""Lays two statements beside each other: what they share, what each has alone, and what one denies of the other."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.text.negation import limits
from nacre.text.opposites import opposed
from nacre.text.predicates import verb_words
from nacre.text.statements import Statement, Word
from nacre.text.values import Value

NOUN_ENDINGS = ("ings", "tion", "tions", "ment", "ments")


@dataclass(frozen=True, slots=True)
class Frame:
    a: Statement
    b: Statement
    shared: frozenset[str]
    only_a: tuple[Word, ...]
    only_b: tuple[Word, ...]
    coverage: float  # the share of the poorer text's words that the other has too
    values: tuple[tuple[Value, Value], ...]  # comparable ones, of which each text has one that the other lacks


def frame(a: Statement, b: Statement) -> Frame:
    shared = a.keys & b.keys
    return Frame(
        a,
        b,
        shared,
        only_a=tuple(word for word in a.words if word.key not in shared),
        only_b=tuple(word for word in b.words if word.key not in shared),
        coverage=len(shared) / max(1, min(len(a.keys), len(b.keys))),
        values=different_values(a.values, b.values),
    )


def different_values(a: tuple[Value, ...], b: tuple[Value, ...]) -> tuple[tuple[Value, Value], ...]:
    if not a or not b:
        return ()
    mine = [value for value in a if not has(b, value)]
    theirs = [value for value in b if not has(a, value)]
    return tuple((one, other) for one in mine for other in theirs if one.comparable(other))


def has(values: tuple[Value, ...], wanted: Value) -> bool:
    return any(value.comparable(wanted) and value.same(wanted) for value in values)


def nouns(words: tuple[Word, ...]) -> list[Word]:
    """All that is no verb; two texts may well say one thing with different verbs."""
    return [word for word in words if word.key not in verb_words() or word.text.lower().endswith(NOUN_ENDINGS)]


def turned(given: Frame) -> list[tuple[Word, Word]]:
    """The shared words that one text affirms and the other denies, in the order of the newer."""
    pairs = ((mine, given.b.by_key[mine.key]) for mine in given.a.by_key.values() if mine.key in given.shared)
    return sorted(
        ((mine, theirs) for mine, theirs in pairs if mine.sign != theirs.sign), key=lambda pair: pair[0].place
    )


def evenly_denied(given: Frame) -> bool:
    """Whether both texts deny, equally often, and not each what the other affirms («tabs, not spaces» and back)."""
    mine, theirs = len(given.a.negators), len(given.b.negators)
    both_ways = {word.sign for word, _ in turned(given)} == {1, -1}
    return bool(mine and theirs) and (mine - theirs) % 2 == 0 and not both_ways


def denied_in_both(given: Frame) -> bool:
    return any(given.a.by_key[key].sign == given.b.by_key[key].sign == -1 for key in given.shared)


def denied_otherwise(given: Frame) -> bool:
    """Whether what one text denies may be denied by other means in the other: «not longer than» is «at most»."""
    denying, affirming = (given.a, given.b) if len(given.a.negators) > len(given.b.negators) else (given.b, given.a)
    apart = given.a.compensating ^ given.b.compensating
    return bool(apart & affirming.compensating or apart & denying.compensating & limits())


def opposites(given: Frame) -> list[tuple[Word, Word]]:
    """The words of one that exclude words of the other."""
    content = [(mine, theirs) for mine in given.only_a for theirs in given.only_b if opposed(mine.key, theirs.key)]
    # «before» and «after» exclude each other only before one and the same thing.
    related = [
        (mine, theirs)
        for mine in given.a.relations
        for theirs in given.b.relations
        if mine.ahead == theirs.ahead and opposed(mine.key, theirs.key)
    ]
    return content + related


def bounded(given: Frame) -> bool:
    """«open until eight» is «closes at eight»."""
    return bool((given.a.compensating ^ given.b.compensating) & {"until", "till"})
