"""How a text speaks, apart from what it speaks of: of the past or of news, without exception, by comparing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import count, pairwise, takewhile

from nacre.conflicts.opposites import opposed_words
from nacre.conflicts.quantities import Value, cut, labels, values
from nacre.text.grammar import (
    ARTICLES,
    AUXILIARIES,
    CLAUSE_WORDS,
    NEAR_NEGATORS,
    NO_DENIAL,
    NOT_BUT_MORE,
    SINGULAR_VERBS,
    WHOLE_CLAUSE,
    Piece,
    base,
    compensating,
    denies_clause,
    kind,
    lower,
    verb_place,
    verb_words,
)
from nacre.text.tokens import STOP_WORDS

PAST = frozenset(
    "was were has have had been got went came did gave took left put grew became found sold bought hit made met"
    " began won lost broke wrote fell rose sent built ran told said paid kept held led brought".split()
)
LONGEST_ED_NOUN = 4  # letters; «seed» and «need» are no past tense
WITHOUT_EXCEPTION = frozenset(
    "never nothing nobody none all every always any everything everywhere anywhere everyone anyone entirely entire"
    " whole complete completely purely perfectly ever throughout nowhere fully totally absolutely strictly".split()
)
SOLE = frozenset("only sole solely single exclusively just alone exactly".split())
COMPARING = frozenset(("than", "rather"))
PERMITTING = frozenset("may can could fine allow allowed permitted ok okay welcome free".split())
DEMANDING = frozenset("must should shall required mandatory obliged need needs please".split())
# A text that has one of these, beside another of the same thing that has none, tends to tell how things have gone on.
NEWS = re.compile(
    r"\b(?:since|today|yesterday|tonight|this (?:week|month|year|morning|spring|summer|autumn|fall|winter|term|quarter)"
    r"|last (?:week|month|night|year|spring|summer|autumn|fall|winter|quarter)|new|newly|latest|recently|lately|just"
    r"|after|starting|beginning|effective|already|meanwhile|by now|any ?more|no more|for good|from here on|in place of"
    r"|finished|started|ended|reached|hit|welcomed|grew|joined|left|opened|arrived|signed|filed|bought|hired|quit"
    r"|obsolete|archived|checked out|turned out|turned \d+|went live|rolled out|passed away|expired|ran out|enrolled"
    r"|cleared|approved|declined|installed|fitted|painted|planted|adopted|dismissed|resigned|sold|born|died|engaged"
    r"|moved|took (?:up|on|over)|gave up|stopped|swapped|closed|cancelled|canceled|launched|landed|won|got|hatched"
    r"|is (?:out|in|back|gone|over|done|live|fixed|closed|ready)"
    r"|are (?:out|back|gone|over|done|live|fixed|closed|ready)"
    r"|fresh|upgraded|refurbished|relabelled|dropped|up from|down from|instead)\b"
)


@dataclass(frozen=True, slots=True)
class Manner:
    past: bool
    without_exception: bool
    sole: bool
    comparing: bool
    permitting: bool
    demanding: bool
    news: bool


def manner(text: str, pieces: Sequence[Piece]) -> Manner:
    words = {piece.lower for piece in pieces if piece.kind == "word"}
    return Manner(
        past=bool(words & PAST) or any(word.endswith("ed") and len(word) > LONGEST_ED_NOUN for word in words),
        without_exception=bool(words & WITHOUT_EXCEPTION),
        sole=bool(words & SOLE),
        comparing=bool(words & COMPARING),
        permitting=bool(words & PERMITTING),
        demanding=bool(words & DEMANDING),
        news=bool(NEWS.search(text.lower())),
    )


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
    signs, negators = [1] * len(pieces), []
    for place, piece in enumerate(pieces):
        reach = reach_of(pieces, clauses, place)
        negators += [piece.text] if reach else []
        for at in set(reach) - {place}:
            signs[at] = -signs[at]
    return signs, tuple(negators)


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


# Verbs of change, as they stand where a change is reported.
CHANGE_VERBS = (
    "moved migrated relocated transferred shifted transitioned converted changed altered amended revised"
    " upgraded downgraded bumped replaced superseded swapped exchanged substituted renamed rebranded redesigned"
    " rebuilt rewritten redone reorganised reorganized restructured raised lifted lowered reduced increased"
    " decreased doubled halved tripled extended lengthened prolonged shortened widened narrowed tightened"
    " relaxed loosened expanded shrunk dropped slipped jumped climbed postponed delayed rescheduled deferred"
    " cancelled canceled scrapped abandoned discontinued deprecated decommissioned retired quit stopped ceased"
    " resigned promoted demoted appointed elected succeeded graduated divorced separated sold traded reverted"
    " restored refinanced renewed reopened recovered healed repaired removed deleted became parted parting"
    " reassigned redeployed repainted renovated outgrown phased ditched adopted overhauled updated replacing"
    " succeeding rebrand adjourned ported outsourced suspended resumed revoked reinstated demolished evicted"
    " rehomed retitled reshuffled readjusted recalculated reallocated".split()
)
CHANGE_PHRASES = (
    *CHANGE_VERBS,
    r"no longer",
    r"(?:not|n['’]t)\b.{0,40}\bany ?more",
    r"(?:from|starting) (?:now|here|today|tomorrow)(?: on(?:wards?)?)?",
    r"(?:from|starting) (?:this|next|last) (?:week|month|year|spring|summer|autumn|fall|winter|quarter|season|\w+day)",
    r"from \w+ on(?:wards?)\b",
    r"going forward",
    r"these days",
    r"nowadays",
    r"as (?:of|from)(?! course| well| always)",
    r"effective (?:from|\w+ \d|immediately|\d)",
    r"now(?! and then)",
    r"by now",
    r"meanwhile",
    r"at last",
    r"finally",
    r"switch(?:ed|ing|es)?\b(?! (?:on|off)).{0,40}\b(?:to|over|from)",
    r"(?:went|gone|fell|rose|grown|grew|cut|came) (?:(?:back|up|down|over) )?(?:to|by)(?! bed| sleep| work)",
    r"(?:went|fell|rose|grew|cut) from",
    r"(?:went|gone|came) (?:up|down)",
    r"(?:up|down) (?:to|from)(?= \W?\d)",
    r"(?:was|were|been|got|has|have) cut",
    r"(?:put|brought|pushed|taken|moved) .{0,30}(?:up|down|forward|back) to",
    r"voted in",
    r"in favou?r of",
    r"(?:took|taken) over",
    r"stepped down",
    r"handed (?:\w+ ){0,3}(?:over|to)",
    r"used to be",
    r"formerly",
    r"previously",
    r"until recently",
    r"(?:has|have|['’]s|['’]ve) become",
    r"turned into",
    r"(?:gave|given) up",
    r"moved out",
    r"called off",
    r"shut down",
    r"closed down",
    r"laid off",
    r"broke up",
    r"dropped out",
    r"(?:change|update|correction|changes?) ?:",
    r"instead(?! of)",
    r"(?:has|have) reached",
    r"new (?:\w+ ){1,3}for|new \w+ ?:",
    r"revised",
    r"price drop",
    r"again\b",
    r"back (?:to|on|at|in|from|between|home)",
    r"(?:is|are|was|were|['’]s) (?:gone|over|history)\b",
    r"month over|year over",
    r"since (?:then|last|this|\w+day|the \w+(?=[.,;]|$)|[a-z]\w+ (?:quit|left|went))",
    r"since (?:spring|summer|autumn|fall|winter|january|february|march|april|may|june|july|august)",
    r"since (?:september|october|november|december)",
    r"(?:different|another) (?:\w+ )?(?:number|address|name|job|provider|place|company)",
    r"just (?:got|moved|switched|started|became|bought|left)",
)
# That something was still open when the text was written.
OPEN_PHRASES = (
    r"still|yet|so far|for now|at the moment|currently|in progress|under review|halfway|midway",
    r"pending|waiting|awaiting|expecting|considering|looking for|undecided|tbd|vacant|blocked|open",
    r"planned|planning|plans? to|intend\w*|scheduled|going to|will|about to|upcoming",
    r"next (?:week|month|year|spring|summer|autumn|fall|winter|\w+day)|tomorrow",
    r"to be (?:decided|announced|confirmed)",
    r"tentativ\w+|provisional\w*|temporar\w+|draft|applied|ordered|on (?:its|the|his|her|their) way",
    r"engaged|pregnant|out with|recovering|broken|missing|lost|on leave",
    r"(?:has|have|had) not|(?:has|have)n['’]t|not been",
    r"(?:is|are|am|['’]s|['’]re|['’]m) \w{3,}ing",
)
# That something has come to its end.
SETTLED_PHRASES = (
    r"finished|completed?|done|closed|resolved|settled|ready|fixed|repaired|returned|confirmed|decided|chose|chosen",
    r"accepted|approved|rejected|registered|granted|signed|passed|won|found|born|married|tied the knot",
    r"delivered|arrived|received|published|released|shipped|launched|merged|bought|started",
    r"got|went|came|had|took|is in|is out|been \w+(?:ed|en|t)|(?:has|have|was|were) \w+ed",
)
# That a particular case leaves the general rule standing, or that one more stands beside the first.
EXCEPTION_PHRASES = (
    r"(?<!no )(?<!without )exceptions?|exempt\w*|except|apart from|other than",
    r"also|additionally|another(?! one)|in addition",
)
PAST_PHRASES = (
    r"was|were|did|born|came|went|met|won|lost|wrote|began|took|gave|found",
    r"(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bget )(?<!\bgets )\w{2,}ed",  # «is hosted» is no past
)
MOVED_PHRASES = (
    r"(?:moved|relocated|transferred|migrated|switched|shifted|renamed) (?:to|from|out|away|back|into|over)",
)
PLACED_PHRASES = (
    r"called|named",
    r"lives?|living|works?|working|based|located|hosted|situated|stays?|runs?|sits?",
    r"(?:is|are|was|were) (?:\w+ )?(?:in|at|on|near)",
)


@dataclass(frozen=True, slots=True)
class Cues:
    """The words of each kind, in small letters; empty where the text has none."""

    changed: str
    change_verb: str  # the base form of the first word of `changed`
    open: str
    settled: str
    exception: str
    past: str
    moved: str
    placed: str


def cues(original: str) -> Cues:
    text = original.lower()  # matching in lower case takes a third of the time
    changed = first(CHANGE_PHRASES, text)
    return Cues(
        changed=changed,
        change_verb=base(changed.split()[0]) if changed else "",
        open=first(OPEN_PHRASES, text),
        settled=first(SETTLED_PHRASES, text),
        exception=first(EXCEPTION_PHRASES, text),
        past=first(PAST_PHRASES, text),
        moved=first(MOVED_PHRASES, text),
        placed=first(PLACED_PHRASES, text),
    )


def first(phrases: tuple[str, ...], text: str) -> str:
    match = pattern(phrases).search(text)
    return match.group() if match else ""


@cache  # a pattern takes milliseconds to build: when the first text is compared, not at import
def pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrases)})(?!\w)")


LONGEST = 4000  # characters; beyond them a text is a document, and its head says what it is about
SMALL_WORDS = STOP_WORDS - ARTICLES - {"than"}
WITHIN_SENTENCES = frozenset((",", ":", "(", "—", "–"))  # what follows these is capital only if it is a name
POINTING = frozenset("the our my your his her their this that".split())
CACHED = 32768  # texts, about 7 KB each; a scan of 10,000 memories reads each once


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
    all_words: tuple[Word, ...]  # every word and value but articles, in order
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


@lru_cache(maxsize=CACHED)
def statement(text: str) -> Statement:
    text = text[:LONGEST]
    pieces = cut(text)
    verb = verb_place(pieces)
    clauses = clause_numbers(pieces)
    signed, negators = signs(pieces, clauses)
    words, quantities = content_words(pieces, signed), values(pieces, verb)
    leading, topic = pointed_at(pieces, words)
    return Statement(
        words=words,
        by_key={word.key: word for word in reversed(words)},
        keys=frozenset(word.key for word in words),
        before={word.key: prior.key for prior, word in pairwise(words) if prior.place + 1 == word.place},
        sequence=in_order(words, quantities),
        all_words=all_words(pieces),
        relations=relations(pieces, clauses, signed),
        values=quantities,
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


def in_order(words: Sequence[Word], values: Sequence[Value]) -> tuple[Word, ...]:
    both = (*words, *(Word(value.key, value.text, value.place) for value in values))
    return tuple(sorted(both, key=lambda word: word.place))


def all_words(pieces: Sequence[Piece]) -> tuple[Word, ...]:
    words = (piece for piece in pieces if piece.kind != "border" and piece.lower not in ARTICLES)
    return tuple(
        Word(base(piece.lower) if piece.kind in ("word", "label") else f"={piece.lower}", piece.text, place)
        for place, piece in enumerate(words)
    )
