"""How far a denial reaches: each piece of a text with its clause and its sign, -1 where it is denied."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

from nacre.text.closed_classes import AUXILIARIES, CLAUSE_WORDS
from nacre.text.negation import NEAR_NEGATORS, NO_DENIAL, NOT_BUT_MORE, WHOLE_CLAUSE, denies_clause
from nacre.text.pieces import Piece, kind, lower
from nacre.text.predicates import verb_words
from nacre.text.synonyms import base

NEAR = 2  # content words that «no» and «without» reach
DETAIL_STARTS = CLAUSE_WORDS - {"but", "so"} | {"("}
PREFIXES = ("un", "non")  # before any known verb or adjective
ADJECTIVE_PREFIXES = ("in", "im", "il", "ir", "dis")  # before adjectives alone: to inform is not the reverse of to form
SHORTEST_ROOT = 4  # letters; «under» is not «der»
DENIED_ADJECTIVES = (
    "salted available safe stable signed sorted limited necessary known used happy healthy damaged paid"
    " married compatible possible correct complete valid visible active dependent convenient sufficient"
    " accurate polite regular relevant legal honest secure mutable finite formal frequent direct consistent".split()
)


def clause_numbers(pieces: Sequence[Piece]) -> list[int]:
    numbers, current = [], 0
    for place, piece in enumerate(pieces):
        current += piece.kind == "border" or piece.lower in CLAUSE_WORDS or begins_again(pieces, place)
        numbers.append(current)
    return numbers


def begins_again(pieces: Sequence[Piece], place: int) -> bool:
    """«… and could never do it»: an «and» with a verb of its own."""
    following = (lower(pieces, place + 1), lower(pieces, place + 2))
    return pieces[place].lower == "and" and any(word in AUXILIARIES or word == "never" for word in following)


def details(pieces: Sequence[Piece], clauses: Sequence[int]) -> frozenset[int]:
    """The clauses that give a reason, a condition or a remark, and so do not say the thing itself."""
    starts = {clause: piece for piece, clause in reversed(list(zip(pieces, clauses, strict=True)))}
    return frozenset(clause for clause, piece in starts.items() if piece.lower in DETAIL_STARTS)


def signs(pieces: Sequence[Piece], clauses: Sequence[int]) -> tuple[list[int], tuple[str, ...]]:
    """The sign of each piece, and the words that deny."""
    found, negators = [1] * len(pieces), []
    for place, piece in enumerate(pieces):
        reach = reach_of(pieces, clauses, place)
        negators += [piece.text] if reach else []
        for at in set(reach) - {place}:
            found[at] = -found[at]
    return found, tuple(negators)


def reach_of(pieces: Sequence[Piece], clauses: Sequence[int], place: int) -> list[int]:
    """The places whose sign the word at `place` turns."""
    word, after = pieces[place].lower, lower(pieces, place + 1)
    denies_all = pieces[place].kind == "word" and (denies_clause(word) or denied_by_prefix(pieces, place))
    denies_near = word == "not" or word in NEAR_NEGATORS
    if not (denies_all or denies_near) or after in (NOT_BUT_MORE if word == "not" else NO_DENIAL):
        return []
    clause = [at for at, number in enumerate(clauses) if number == clauses[place]]
    if denies_all or after in WHOLE_CLAUSE or reaches_all(pieces, clause, place):
        return clause
    return [at for at in clause if at > place and pieces[at].has_content][:NEAR]


def denied_by_prefix(pieces: Sequence[Piece], place: int) -> bool:
    """«The door is unlocked» denies its clause; «unworn shoes may be returned» says something of such shoes."""
    before_noun = place + 1 < len(pieces) and pieces[place + 1].has_content
    return not before_noun and without_prefix(base(pieces[place].lower))[1] < 0


def reaches_all(pieces: Sequence[Piece], clause: list[int], place: int) -> bool:
    word = pieces[place].lower
    demands = word == "without" and denied_before(pieces, clause, place)
    return demands or begins(pieces, clause, place) or (word == "not" and has_verb(pieces, place))


def begins(pieces: Sequence[Piece], clause: list[int], place: int) -> bool:
    return place == clause[0] or (kind(pieces, clause[0]) == "border" and place == clause[0] + 1)


def denied_before(pieces: Sequence[Piece], clause: list[int], place: int) -> bool:
    """«Do not merge without approval» denies nothing: it demands the approval."""
    return any(lower(pieces, at) in ("not", "no", "never") for at in clause if at < place)


def has_verb(pieces: Sequence[Piece], place: int) -> bool:
    """«is not» denies its clause; «tabs, not spaces» only what follows."""
    return lower(pieces, place - 1) in AUXILIARIES or lower(pieces, place - 2) in AUXILIARIES


@lru_cache(maxsize=16384)
def without_prefix(key: str) -> tuple[str, int]:
    """«unsalted» is salt, denied."""
    for prefixes, roots in ((PREFIXES, deniable_words()), (ADJECTIVE_PREFIXES, deniable_adjectives())):
        for prefix in prefixes:
            rest = key.removeprefix(prefix)
            if rest != key and len(rest) >= SHORTEST_ROOT and rest in roots:
                return rest, -1
    return key, 1


@cache
def deniable_adjectives() -> frozenset[str]:
    return frozenset(map(base, DENIED_ADJECTIVES))


@cache
def deniable_words() -> frozenset[str]:
    return verb_words() | deniable_adjectives()
