"""The rules that find secrets: token formats, names, sentences. They are written in `token_rules.txt`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple, cast

from nacre.files import data_sections

Where = Literal["head", "inside", "near", "anywhere"]

LOOSE = {"named": "anywhere", "beside": "near"}
RUN_START = r"(?<![A-Za-z0-9])"  # a token begins a word; «_» may stand before it, as in a name made of it


class Rule(NamedTuple):
    """One kind of secret and how it is found, by `where`:

    - head: `pattern` begins with one of the `keywords`, in their own case, at the start of a word;
    - inside: `pattern` is searched in any text that holds a keyword and a long word;
    - near: `pattern` fits a whole random-looking value, and `name` is before it on the same line;
    - anywhere: `pattern` is tried at every keyword, and begins there.

    The secret is the last group that matched, or else the match. `entropy` is the least bits per character of the
    secret. Every pattern is bounded: the cost of one try does not depend on the length of the text.
    """

    kind: str
    pattern: str
    keywords: tuple[str, ...]
    entropy: float = 0.0
    lead: str = ""  # signs before the keyword that belong to the secret too
    where: Where = "head"
    also: str = ""  # another text without which the keyword means nothing
    loose: bool = False  # known by its name alone, so that references to a secret must be excluded
    name: str = ""
    follow: str = ""  # what must come after the keyword, in lower case


def read_rules() -> Iterator[Rule]:
    for heading, lines in data_sections("safety/token_rules.txt"):
        if heading == "tokens":
            yield from (read_token(*line.split()) for line in lines)
        else:
            yield read_rule(heading, dict(line.split(": ", 1) for line in lines))


def read_token(kind: str, entropy: str, body: str, *prefixes: str) -> Rule:
    """A secret that says by its first characters what it is; it reaches to the end of its word."""
    heads = "|".join(prefix.replace(".", r"\.").replace("$", r"\$") for prefix in prefixes)
    return Rule(kind, rf"{RUN_START}(?:{heads}){body}", prefixes, float(entropy))


def read_rule(heading: str, fields: dict[str, str]) -> Rule:
    way, kind = heading.split()
    where = cast("Where", LOOSE.get(way, way))
    keywords = tuple(word for word in fields.pop("keywords").split("|") if word)
    entropy = float(fields.pop("entropy", 0))
    if where == "near":
        fields["name"] = fields.get("name", f"(?:{'|'.join(keywords)})") + r"[^\n]{0,60}\Z"
    return Rule(kind, keywords=keywords, entropy=entropy, where=where, loose=way in LOOSE, **fields)


RULES = tuple(read_rules())
Row = tuple[int, Rule]  # its rank


@cache
def ranked(where: Where) -> tuple[Row, ...]:
    return tuple((rank, rule) for rank, rule in enumerate(RULES) if rule.where == where)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Of a rule. Compiled on first use: a text needs few of them, and all take 100 ms."""
    return re.compile(pattern)


# No token with a mark of its own is shorter. Written so that prose is read once, word by word.
HAS_LONG_WORD = re.compile(r"(?:\S{0,15}+\s++)*+\S{16}")
SIGNS = ("--", "_", "-", ".", "/")  # one look for a sign spares many for the keywords that hold it


def lower(text: str) -> str:
    """Every character stays in its place: İ, which is two in lower case, is left as it is."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := sign.lower()) == 1 else sign for sign in text)


def ordinary(lowered: str) -> bool:
    """Whether no rule can apply: the quick answer for nearly every text."""
    for sign in gates(lowered.isascii()):  # a plain loop: this is where the time of ordinary text goes
        if sign in lowered:
            return False
    return HAS_LONG_WORD.match(lowered) is None


@cache
def gates(ascii_only: bool) -> tuple[str, ...]:
    """Compiles no pattern: ordinary texts need none, and a command that recalls a few would wait for them."""
    signs = {
        gate(rule, keyword)
        for rule in RULES
        if rule.where == "anywhere"
        for keyword in rule.keywords
        if keyword.isascii() or not ascii_only
    }
    return tuple(sign for sign in signs if not any(other in sign for other in signs if other != sign))


def gate(rule: Rule, keyword: str) -> str:
    return rule.also or next((sign for sign in SIGNS if sign in keyword), keyword)


def branches(words: list[str]) -> str:
    """The words as a tree of alternatives, so that a text is compared with all of them in one pass."""
    following: dict[str, list[str]] = {}
    for word in words:
        if word:
            following.setdefault(word[0], []).append(word[1:])
    alternatives = [re.escape(first) + branches(rest) for first, rest in following.items()]
    if not alternatives:
        return ""
    joined = alternatives[0] if len(alternatives) == 1 else f"(?:{'|'.join(alternatives)})"
    return f"(?:{joined})?" if "" in words else joined
