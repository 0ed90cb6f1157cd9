"""Makes stored text safe to print: what was remembered may be read, but must not act on a terminal."""

from __future__ import annotations

import re

ESCAPE_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor, modes
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # window titles, hyperlinks, the clipboard
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # device strings
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
# Whatever is left of an escape that did not end is harmless without its first character. The last two ranges turn the
# direction of writing, and could show a reader other words than those that are there.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
LINE_END = re.compile("\r\n?")
BREAK = re.compile("[\t\n\u2028\u2029]")


def printable(text: str) -> str:
    """Keeps line ends and tabs."""
    return CONTROL.sub("", ESCAPE_SEQUENCE.sub("", LINE_END.sub("\n", text)))


def one_field(text: str) -> str:
    """For one field of a TSV row."""
    return BREAK.sub(" ", printable(text))


def one_line(text: str) -> str:
    return " ".join(printable(text).split())


def shortened(text: str, characters: int = 60) -> str:
    line = one_line(text)
    return line if len(line) <= characters else line[: characters - 1] + "…"
