"""What a pattern cannot do without: to look for its letters first takes a fraction of the time of a search for it."""

from __future__ import annotations

import re
from collections.abc import Iterable

REPEAT = r"[?*+]|\{\d*,?\d*\}"
LETTERS = "[A-Za-z0-9',:;@/_-]"
TOKEN = re.compile(
    rf"{LETTERS}++(?!{REPEAT})|{LETTERS}+(?={LETTERS}(?:{REPEAT}))|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?(?::|<?[=!])"
    rf"|(?:{REPEAT})[?+]?|.",
    re.DOTALL,
)
GROUPS, LOOKS = ("(", "(?:"), ("(?=", "(?!", "(?<=", "(?<!")
FIRST_OF_REPEAT = "?*+{"
MAY_LACK = ("?", "*", "{0", "{,")  # repeats that admit nothing
LETTER = re.compile(LETTERS)
Literals = frozenset[str]
NONE: Literals = frozenset()


def required_literals(pattern: str) -> Literals:
    """Runs of small letters and signs, one of which is in every text of ASCII alone, in small letters, that the pattern
    matches whether or not capitals matter; none where that cannot be said. Raises `ValueError` for a group with flags
    or a name."""
    return _of_branches(TOKEN.findall(f"{pattern})"), 0)[0]


def _of_branches(tokens: list[str], at: int) -> tuple[Literals, int]:
    """Of a group from its first token on, with the place of its end."""
    branches: list[Literals] = []
    in_sequence: list[Literals] = []
    while True:
        token, at = tokens[at], at + 1
        if token == "|" or token == ")":
            branches.append(_least_likely(in_sequence))
            in_sequence = []
            if token == ")":
                return (NONE.union(*branches) if all(branches) else NONE), at
            continue
        literals = NONE
        if token in GROUPS:
            literals, at = _of_branches(tokens, at)
        elif token in LOOKS:
            _, at = _of_branches(tokens, at)  # what stands beside a match is no part of it
        elif token[0] == "(" or token[0] in FIRST_OF_REPEAT:
            raise ValueError(f"{token!r} cannot be read here")
        elif LETTER.match(token):
            literals = frozenset((token.lower(),))
        if tokens[at][0] in FIRST_OF_REPEAT:
            literals = NONE if tokens[at].startswith(MAY_LACK) else literals
            at += 1
        if literals:
            in_sequence.append(literals)


def _least_likely(choices: Iterable[Literals]) -> Literals:
    """Those that the fewest texts have: the longest."""
    return max(choices, key=lambda each: (min(map(len, each)), -len(each)), default=NONE)
