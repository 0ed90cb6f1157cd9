"""Finds that a task or a post passed from one person to another, which the model does not see where the person's name
begins the text: «Ana leads the payments team», «Ben leads payments now»."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from nacre.text.grammar import word_groups
from nacre.text.tokens import content_stems

TITLE = r"(?:(?:Dr|Mr|Mrs|Ms|Prof|Herr|Frau|Mme|Sr|Sra)\.?\s+)"
NAME = (
    rf"{TITLE}*[^\W\d_a-zß-öø-ÿ][\w'’-]+(?:\s+(?:(?:van|von|de|da|den|der|di|la)\s+)*[^\W\d_a-zß-öø-ÿ][\w'’-]+){{0,2}}"
)
NOW = r"(?:now|currently|again|jetzt|nun|inzwischen|wieder|maintenant|désormais|ahora|ora|adesso)"
IS = r"(?:is|ist|est|es|è)"
ARTICLE = (
    r"(?:the|our|my|your|der|die|das|den|dem|unsere?[nrms]?|meine?[nrms]?|le|la|les|notre|mon|ma|el|los|las|nuestr[oa]|mi"
    r"|il|lo|gli|i|nostr[oa]|mio|mia)"
)
# «Owns a bike», «runs every morning» and «handles two of them» are no task of one person.
NO_TASK = re.compile(
    r"(?:an?|some|any|many|most|every|each|all|both|no|his|her|their|one|two|three|it|up|out|away|\d\S*|eine?[nrms]?|sein"
    r"\w*|ihr\w*|kein\w*|jede\w*|une?|des|son|sa|ses|un[oa]?|su|sus)\b",
    re.IGNORECASE,
)
# Since when it is so, or until when: no part of what is done.
TIME_BEHIND = re.compile(
    rf"\b(?:since|from|as\s+of|until|till|starting|effective|instead|for\s+now|this\s+\w+|these\s+days|seit|ab|bis|statt"
    rf"|diese[nrs]?\s+\w+|depuis|jusqu\S*|à\s+partir|cette\s+\w+|desde|hasta|a\s+partir|est[ae]\s+\w+|dal?|fino)\b.*$"
    rf"|\b{NOW}\b",
    re.IGNORECASE,
)
SINCE = re.compile(
    rf"\b(?:since|from|as\s+of|starting|effective|instead|new|seit|ab|neue[nrs]?|depuis|à\s+partir|nouve\w+|nouvel|desde|a\s+partir"
    rf"|nuev[oa]|dal?|nuov[oa]|{NOW})\b",
    re.IGNORECASE,
)
NEW = r"(?:(?:new|next|neue[nrs]?|nouvel(?:le)?|nouveau|nuev[oa]|nuov[oa])\s+)?"
OF_PEOPLE = frozenset(
    "team group squad crew department service project".split()
)  # «leads payments» is «the payments team»
LONGEST = 200  # characters: such a text says more than that
GERMAN_TASK = rf"(?P<for>ist\s+(?:{NOW}\s+)?für\s+(?P<task>.+?)\s+(?:zuständig|verantwortlich))"


class Holding(NamedTuple):
    name: str
    task: frozenset[str]  # stems, with one word for all verbs of a task


def changed_holder(newer: str, older: str) -> tuple[str, str] | None:
    """Who has a task or a post in each text, where it is the same one and has one holder at a time."""
    mine, theirs = holding(newer), holding(older)
    if mine is None or theirs is None or mine.task != theirs.task:
        return None
    names = {frozenset(each.casefold().split()) for each in (mine.name, theirs.name)}
    same = len(names) == 1 or frozenset.intersection(*names)  # «Priya» is «Priya Nair»
    return None if same else (mine.name, theirs.name)


def says_since_when(newer: str) -> bool:
    """Whether the text itself says that it was otherwise before."""
    return SINCE.search(newer) is not None


@lru_cache(maxsize=256)  # a new text is compared with many
def holding(text: str) -> Holding | None:
    text = " ".join(text.split()).rstrip(".! ")
    if len(text) > LONGEST or re.search(r"[.!?;:]\s", re.sub(TITLE, "", text)):
        return None
    match = pattern().match(text)
    if match is None:
        return None
    if match["post"]:
        task = content_stems(f"{match['post']} {TIME_BEHIND.sub('', match['of'])}")
        return Holding(match["name"], frozenset(task))
    done = TIME_BEHIND.sub("", match["task"] or match["done"] or "").strip(" ,")
    verb = tasks()["ist" if match["for"] else " ".join(match["verb"].split()).casefold()]
    if NO_TASK.match(done) or (not done and verb not in NEED_NO_OBJECT):
        return None
    if verb == "runs" and not re.match(ARTICLE + r"\s", done, re.IGNORECASE):
        return None  # «runs marathons»
    named = frozenset(content_stems(done))
    return Holding(match["name"], (named - OF_PEOPLE or named) | {verb})


NEED_NO_OBJECT = frozenset(("is on call",))


@cache
def tasks() -> dict[str, str]:
    """The first verb of its line by each verb."""
    lines = [[verb.replace("_", " ") for verb in line] for line in word_groups()["tasks of one"]]
    known = {verb: line[0] for line in lines for verb in line}
    return known | {"ist": known["handles"]}


@cache
def pattern() -> re.Pattern[str]:
    known = sorted(tasks().keys() - {"ist"}, key=len, reverse=True)
    verbs = "|".join(re.escape(each).replace(r"\ ", r"\s+") for each in known)
    posts = "|".join(each for line in word_groups()["posts of one"] for each in line)
    return re.compile(
        rf"(?P<name>{NAME})\s+(?:{NOW}\s+)?(?i:{GERMAN_TASK}"
        rf"|{IS}\s+(?:{NOW}\s+)?(?:(?:{ARTICLE})\s+)?{NEW}(?P<post>{posts})\b(?P<of>.*)"
        rf"|(?P<verb>{verbs})\b\s*(?P<done>.*))",
    )
