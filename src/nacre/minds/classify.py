"""Chooses a memory type by the words of a text: procedural, prospective, episodic, or else semantic."""

from __future__ import annotations

import re

from nacre.text.grammar import ARTICLES, VERBS

# Here the words that decide mean something else: a plan that one pays for, the events of a program, a testament.
OTHER_MEANINGS = re.compile(
    r"""\b(?:
      out\ of\ steps?
    | steps?\W+(?:with|down|aside|away|forward|outside|(?:mother|father|brother|sister|son|daughter)s?)
    | stored\ procedures?
    | (?:floor|seating|health|insurance|pension|data|phone|mobile|pricing|payment|subscription|free|pro|premium|basic
      |starter|enterprise|family|query|execution)\ plans?
    | scor(?:e|ed|es|ing)\b[^.!?\n]*\bgoals?
    | own\ goals?
    | remind\ \w+\ of
    | in\ (?:the|any)\ events?
    | (?:click|mouse|keyboard|key|touch|dom|change|input|webhook|domain)\ events?
    | events?\W+(?:loops?|handlers?|handling|listeners?|bus|queues?|sourcing|stores?|emitters?|streams?|types?|names?)
    | (?:a|the|his|her|my|your|our|their|its|last|living|free|good|ill|own|strong|iron|sheer|political|at|of|by)\ will
    )\b | ['’]s\ will\b""",
    re.IGNORECASE | re.VERBOSE,
)
# What follows a «Will» at the start of a sentence that is not a person: «Will it rain?», «Will never do».
AFTER_WILL = ARTICLES.union(
    VERBS, "I you he she it we they there these those be not never also probably soon all any some each".split()
)
WILL = re.compile(
    r"(?<![\w.])(?<!\w[-'’/])(?:will|WILL)(?![\w/'’]|[-.]\w)|(?<=\w)['’]ll\b"
    rf"|(?:\A|[.!?:;…\n\"“«(])[\s*•-]*Will\s+(?:{'|'.join(AFTER_WILL)})\b"
)


def whole_words(words: str) -> re.Pattern[str]:
    """Not parts of words, names or compounds («plants», asyncio.Future, «event-driven»)."""
    return re.compile(rf"(?<![\w.])(?<!\w[-'’/])(?:{words})(?![\w/]|[-.]\w)", re.IGNORECASE)


# In the order in which they decide.
CUES = (
    ("procedural", whole_words(r"steps?|procedures?|how[ -]tos?|step-by-step|instructions?|recipes?|tutorials?")),
    ("prospective", whole_words(
        r"plans?|goals?|remind|future|to-?dos?|to do lists?|tomorrow|upcoming|reminders?|remember to|deadlines?"
        r"|intends? to|(?:is|are|am) (?:planned|scheduled|planning to|going to)"
    )),
    ("prospective", WILL),
    ("episodic", whole_words(r"events?|happened|occurred|observed|witnessed|took place|incidents?|yesterday")),
)  # fmt: skip


def classify(text: str, concept: str = "") -> str:
    """A type of `nacre.model.memory.TYPES`: the first of procedural, prospective, episodic; else semantic."""
    subject = OTHER_MEANINGS.sub(" ", f"{concept}\n{text}" if concept else text)
    return next((type for type, cue in CUES if cue.search(subject)), "semantic")
