"""How a text speaks, apart from what it speaks of: of the past or of news, without exception, by comparing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nacre.text.pieces import Piece

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
