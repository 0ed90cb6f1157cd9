"""One row of the table of secrets, and the two usual ways to write one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Where = Literal["token", "near", "anywhere"]

LAST = -1  # the group that matched last: of several ways to write a value, one fits
RUN_START = r"(?<![A-Za-z0-9])"  # a token begins a word; «_» may stand before it, as in a name made of it
VALUE_START, VALUE_END = r"(?<![A-Za-z0-9_+/-])", r"(?![A-Za-z0-9_+/-])"
CONTEXT = r"[^\n]{0,60}?"  # between the name of a service and its key, on one line


@dataclass(frozen=True, slots=True)
class Rule:
    """`pattern` is tried only where one of its `keywords` (in lower case) stands, and begins there.

    `where` says what must be there at all: a keyword inside a long word («token»), a long word anywhere beside the
    keyword («near»), or nothing but the keyword. `entropy` is the least bits per character of the secret.
    """

    kind: str
    pattern: str
    keywords: tuple[str, ...]
    group: int = 0
    entropy: float = 0.0
    lead: str = ""  # signs before the keyword that belong to the secret too
    where: Where = "token"
    also: str = ""  # another text without which the keyword means nothing
    loose: bool = False  # known by its name alone, so that a mere reference to a secret must be told apart


def token(kind: str, body: str, *prefixes: str, entropy: float = 2.5) -> Rule:
    """A secret that says by its first characters what it is; it reaches to the end of its word."""
    heads = "|".join(prefix.replace(".", r"\.") for prefix in prefixes)
    return Rule(kind, rf"{RUN_START}(?:{heads}){body}", tuple(p.lower() for p in prefixes), entropy=entropy)


def near(kind: str, keywords: tuple[str, ...], value: str, *, between: str = CONTEXT, entropy: float = 3.0) -> Rule:
    """A secret without a mark of its own, known by the name that stands before it."""
    names = "|".join(keywords)
    pattern = rf"(?i:{names}){between}{VALUE_START}({value}){VALUE_END}"
    return Rule(kind, pattern, keywords, group=1, entropy=entropy, where="near")
