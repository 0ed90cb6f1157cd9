"""Chooses a memory type by the words of a text: procedural, prospective, episodic, or else semantic."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nacre.text.grammar import ARTICLES, VERBS


@dataclass(frozen=True, slots=True)
class Classification:
    """`word` is the word that decided, as written; empty for the default type."""

    type: str
    reason: str
    word: str = ""


@dataclass(frozen=True, slots=True)
class Cue:
    """Words that indicate a type, unless the words before or after them give them another meaning."""

    type: str
    words: re.Pattern[str]
    not_after: re.Pattern[str]
    not_before: re.Pattern[str]

    def match(self, text: str) -> str:
        return next((match.group() for match in self.words.finditer(text) if self.is_meant(text, match)), "")

    def is_meant(self, text: str, match: re.Match[str]) -> bool:
        before = text[max(0, match.start() - LOOKED_BACK) : match.start()]
        return not self.not_after.search(before) and not self.not_before.match(text, match.end())


LOOKED_BACK = 60  # characters; what changes a word's meaning is close to it
NEVER = r"(?!)"
REASONS = {
    "procedural": "describes how to do something",
    "prospective": "is about the future",
    "episodic": "reports an event",
}


def make_cue(type: str, words: str, *, not_after: str = NEVER, not_before: str = NEVER) -> Cue:
    """Matches whole words, not parts of words, names or compounds («plants», asyncio.Future, «event-driven»)."""
    whole_words = rf"(?<![\w.])(?<!\w[-'’/])(?:{words})(?![\w/]|[-.]\w)"
    before, after = rf"(?:{not_after})\W*\Z", rf"\W*(?:{not_before})\b"
    return Cue(type, *(re.compile(pattern, re.IGNORECASE) for pattern in (whole_words, before, after)))


WILL = re.compile(r"(?<![\w.])(?<!\w[-'’/])will(?![\w/]|[-.]\w|['’])|(?<=\w)['’]ll\b", re.IGNORECASE)
# Before «will» they make it a testament or a resolve: «his last will», «at will», «Anna's will».
BEFORE_THE_NOUN = re.compile(
    r"(?:\b(?:a|the|his|her|my|your|our|their|its|last|living|free|good|ill|own|strong|iron|sheer|political|at|of|by)"
    r"|['’]s)\s+\Z",
    re.IGNORECASE,
)
SENTENCE_BEGINS = re.compile(r"(?:\A|[.!?:;…\n\"“«(])[\s*•-]*\Z")
WORD_AFTER = re.compile(r"\s+([^\W\d_]+)")
# What follows a «Will» at the start of a sentence that is not a person: «Will it rain?», «Will never do».
AFTER_THE_VERB = (
    ARTICLES
    | VERBS
    | frozenset("I you he she it we they there these those be not never also probably soon all any some each".split())
)


class Will(Cue):
    """The «will» of the future, but not Will Smith, a last will or the will to live."""

    def is_meant(self, text: str, match: re.Match[str]) -> bool:
        before = text[max(0, match.start() - LOOKED_BACK) : match.start()]
        if match.group()[0] in "'’" or match.group().isupper():
            return True
        if match.group()[0].islower():
            return not BEFORE_THE_NOUN.search(before)
        after = WORD_AFTER.match(text, match.end())
        return bool(SENTENCE_BEGINS.search(before)) and after is not None and after[1] in AFTER_THE_VERB


# In the order in which they decide.
CUES = (
    make_cue("procedural", r"steps?", not_after=r"\bout of",
             not_before=r"with|down|aside|away|forward|outside|(?:mother|father|brother|sister|son|daughter)s?"),
    make_cue("procedural", r"procedures?", not_after=r"\bstored"),
    make_cue("procedural", r"how[ -]tos?|step-by-step|instructions?|recipes?|tutorials?"),
    # A plan that one pays for, lives in or runs a query by is not an intention.
    make_cue("prospective", r"plans?",
             not_after=r"\b(?:floor|seating|health|insurance|pension|data|phone|mobile|pricing|payment|subscription|free"
             r"|pro|premium|basic|starter|enterprise|family|query|execution)"),
    make_cue("prospective", r"goals?", not_after=r"\bscor(?:e|ed|es|ing)\b[^.!?\n]*|\bown"),
    make_cue("prospective", r"remind", not_before=r"\w+\s+of"),
    make_cue("prospective", r"future|to-?dos?|to do lists?|tomorrow|upcoming|reminders?|remember to|deadlines?"
             r"|intends? to|(?:is|are|am) (?:planned|scheduled|planning to|going to)"),
    Will("prospective", WILL, re.compile(NEVER), re.compile(NEVER)),
    # But not those of a program, and «in the event of».
    make_cue("episodic", r"events?",
             not_after=r"\bin the|\bin any|\b(?:click|mouse|keyboard|key|touch|dom|change|input|webhook|domain)",
             not_before=r"loops?|handlers?|handling|listeners?|bus|queues?|sourcing|stores?|emitters?|streams?|types?"
             r"|names?"),
    make_cue("episodic", r"happened|occurred|observed|witnessed|took place|incidents?|yesterday"),
)  # fmt: skip


def classify(text: str, concept: str = "") -> Classification:
    """Returns a type of `nacre.model.memory.TYPES`: the first of procedural, prospective, episodic; else semantic."""
    subject = f"{concept}\n{text}" if concept else text
    for each in CUES:
        if word := each.match(subject):
            return Classification(each.type, f"«{word}» {REASONS[each.type]}", word)
    return Classification("semantic", "no word for a procedure, a plan or an event")
