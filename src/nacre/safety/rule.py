"""One row of the table of secrets, and the two usual ways to write one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Where = Literal["head", "inside", "near", "anywhere"]

LAST = -1  # the group that matched last: of several ways to write a value, one fits
RUN_START = r"(?<![A-Za-z0-9])"  # a token begins a word; «_» may stand before it, as in a name made of it
NAME_ENDS = r"(?=[\w-]{0,40}+[\"'`\]\\:=>\s,’}-])"  # of a name: what may stand between it and its value


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret and how it is found, by `where`:

    - head: `pattern` begins with one of the `keywords`, in their own case, at the start of a word;
    - inside: `pattern` is searched in any text that holds a keyword and a long word;
    - near: `pattern` fits a whole random-looking value, and `name` stands on the same line before it;
    - anywhere: `pattern` is tried wherever a keyword stands, and begins there.

    `entropy` is the least bits per character of the secret. Every pattern is bounded: the cost of one try does not
    depend on the length of the text.
    """

    kind: str
    pattern: str
    keywords: tuple[str, ...]
    group: int = 0
    entropy: float = 0.0
    lead: str = ""  # signs before the keyword that belong to the secret too
    where: Where = "head"
    also: str = ""  # another text without which the keyword means nothing
    loose: bool = False  # known by its name alone, so that a mere reference to a secret must be told apart
    name: str = ""
    follow: str = ""  # what must come after the keyword, in lower case


def token(kind: str, body: str, *prefixes: str, entropy: float = 2.5) -> Rule:
    """A secret that says by its first characters what it is; it reaches to the end of its word."""
    heads = "|".join(prefix.replace(".", r"\.").replace("$", r"\$") for prefix in prefixes)
    return Rule(kind, rf"{RUN_START}(?:{heads}){body}", prefixes, entropy=entropy)


def near(kind: str, keywords: tuple[str, ...], value: str, *, named: str = "", entropy: float = 3.0) -> Rule:
    """A secret without a mark of its own, known by the service that is named before it (and by `named` after that)."""
    between = rf"[^\n]{{0,40}}?{named}" if named else ""
    name = rf"(?:{'|'.join(keywords)}){between}[^\n]{{0,60}}\Z"
    return Rule(kind, value, keywords, entropy=entropy, where="near", name=name)
