"""Reads a text into what two texts can be compared by: its words with their signs, its values, labels and cues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, pairwise, takewhile

from nacre.text.amounts import cut
from nacre.text.changes import Cues, cues
from nacre.text.clauses import clause_numbers, details, signs, without_prefix
from nacre.text.closed_classes import ARTICLES
from nacre.text.figures import labels, values
from nacre.text.manner import Manner, manner
from nacre.text.negation import compensating
from nacre.text.opposites import opposed_words
from nacre.text.pieces import Piece, kind, lower
from nacre.text.predicates import SINGULAR_VERBS, verb_place
from nacre.text.stems import STOP_WORDS
from nacre.text.synonyms import base
from nacre.text.values import Value

LONGEST = 4000  # characters; beyond them a text is a document, and its head says what it is about
SMALL_WORDS = STOP_WORDS - ARTICLES - {"than"}
WITHIN_SENTENCES = frozenset((",", ":", "(", "—", "–"))  # what follows these is capital only if it is a name
POINTING = frozenset("the our my your his her their this that".split())
KEPT = 32768  # texts; what is read of one takes some 7 KB, and a scan of 10,000 memories reads each but once


@dataclass(frozen=True, slots=True)
class Word:
    key: str  # the form in which it is compared; of a value, its amount after "="
    text: str
    place: int
    sign: int = 1
    name: bool = False
    ahead: str = ""  # of a function word: the content word it leads to


@dataclass(frozen=True, slots=True)
class Statement:
    words: tuple[Word, ...]  # those with content, in order
    by_key: dict[str, Word]
    keys: frozenset[str]
    before: dict[str, str]  # the content word that stands directly before one
    sequence: tuple[Word, ...]  # content words and values, in order
    whole: tuple[Word, ...]  # every word and value but articles, in order
    relations: tuple[Word, ...]  # the function words that have an opposite: before, on, all
    values: tuple[Value, ...]
    labels: frozenset[str]
    verb_place: int
    verb: str  # the first verb, as far as it can be told; empty in an instruction
    subject: frozenset[str]  # what stands before the verb
    topic: frozenset[str]  # the first thing that the text points at: «the session cache», «our dog»
    leading: str  # the word that leads to it: «move» the cache, version 3 «of» the cache
    negators: tuple[str, ...]
    compensating: frozenset[str]  # words that can deny without a negation
    cues: Cues
    manner: Manner


@lru_cache(maxsize=KEPT)
def statement(text: str) -> Statement:
    text = text[:LONGEST]
    pieces = cut(text)
    verb = verb_place(pieces)
    clauses = clause_numbers(pieces)
    signed, negators = signs(pieces, clauses)
    words, given = content_words(pieces, signed), values(pieces, verb)
    leading, topic = pointed_at(pieces, words)
    return Statement(
        words=words,
        by_key={word.key: word for word in reversed(words)},
        keys=frozenset(word.key for word in words),
        before={word.key: prior.key for prior, word in pairwise(words) if prior.place + 1 == word.place},
        sequence=in_order(words, given),
        whole=whole(pieces),
        relations=relations(pieces, clauses, signed),
        values=given,
        labels=labels(pieces, verb),
        verb_place=verb,
        verb=base(pieces[verb].lower) if verb else "",
        subject=frozenset(word.key for word in words if word.place < verb),
        topic=topic,
        leading=leading,
        negators=negators,
        compensating=frozenset(key for piece in pieces if (key := base(piece.lower)) in compensating()),
        cues=cues(text),
        manner=manner(text, pieces),
    )


def content_words(pieces: Sequence[Piece], signed: Sequence[int]) -> tuple[Word, ...]:
    words = []
    for place, piece in enumerate(pieces):
        if piece.has_content:
            key, sign = without_prefix(base(piece.lower))
            words.append(Word(key, piece.text, place, sign * signed[place], is_name(pieces, place)))
    return tuple(words)


def pointed_at(pieces: Sequence[Piece], words: Sequence[Word]) -> tuple[str, frozenset[str]]:
    at = {word.place: word.key for word in words}
    start = next((place for place, piece in enumerate(pieces) if piece.lower in POINTING and place + 1 in at), None)
    if start is None:
        return "", frozenset()
    phrase = takewhile(at.__contains__, count(start + 1))
    return base(lower(pieces, start - 1)), frozenset(at[place] for place in phrase)


def is_name(pieces: Sequence[Piece], place: int) -> bool:
    """At a sentence's beginning every word is capital: there, one that has a verb of the singular at once is a name."""
    text = pieces[place].text
    if any(sign.isdigit() or sign.isupper() for sign in text[1:]):
        return True
    begins = place == 0 or (kind(pieces, place - 1) == "border" and lower(pieces, place - 1) not in WITHIN_SENTENCES)
    return text[:1].isupper() and (not begins or lower(pieces, place + 1) in SINGULAR_VERBS)


def relations(pieces: Sequence[Piece], clauses: Sequence[int], signed: Sequence[int]) -> tuple[Word, ...]:
    remarks = details(pieces, clauses)
    return tuple(
        Word(base(piece.lower), piece.text, place, signed[place], ahead=ahead_of(pieces, clauses, place))
        for place, piece in enumerate(pieces)
        if piece.kind == "word" and not piece.has_content and clauses[place] not in remarks
        if base(piece.lower) in opposed_words()
    )


def ahead_of(pieces: Sequence[Piece], clauses: Sequence[int], place: int) -> str:
    """What a preposition leads to; nothing where another follows it at once («must be on during the call»)."""
    if lower(pieces, place + 1) in SMALL_WORDS:
        return ""
    later = (at for at in range(place + 1, len(pieces)) if clauses[at] == clauses[place])
    return next((base(pieces[at].lower) for at in later if pieces[at].has_content or pieces[at].kind == "number"), "")


def in_order(words: Sequence[Word], given: Sequence[Value]) -> tuple[Word, ...]:
    both = (*words, *(Word(value.key, value.text, value.place) for value in given))
    return tuple(sorted(both, key=lambda word: word.place))


def whole(pieces: Sequence[Piece]) -> tuple[Word, ...]:
    kept = (piece for piece in pieces if piece.kind != "border" and piece.lower not in ARTICLES)
    return tuple(
        Word(base(piece.lower) if piece.kind in ("word", "label") else f"={piece.lower}", piece.text, place)
        for place, piece in enumerate(kept)
    )
