"""Judges a question in SQL before it is asked: whether it only reads, and what it would cost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from nacre.access.view import BASE, FULL_SCAN, JOIN, NO_LIMIT, ORDERED, SUBQUERY
from nacre.errors import AccessDenied, InvalidInput, QueryCostExceeded

LONGEST = 100_000  # characters; no question that somebody wrote is so long

# As SQLite reads it. Unquoted words come out as `word`, whatever is quoted as `text`. What is `odd` is never allowed: a
# quote or comment that is left open, a comment that one database carries out, a quoting that another does not know.
TOKEN = re.compile(
    r"""
    (?P<space>\s+|--[^\n]*|/\*(?!!).*?\*/)
  | (?P<text>'(?:[^']|'')*+'|"(?:[^"]|"")*+"|`(?:[^`]|``)*+`|\[[^\]]*\])
  | (?P<number>0[xX][0-9a-fA-F]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<word>[^\W\d][\w$]*)
  | (?P<end>;)
  | (?P<odd>/\*|\*/|[^(),*.+\-/%=<>!&|~?:@#^])
  | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
# What changes something may also stand inside a statement (WITH … DELETE, SELECT … INTO); the rest begins one, and is
# refused anywhere to be sure.
WRITING = frozenset(
    "ALTER ATTACH CREATE DELETE DETACH DROP GRANT INSERT INTO MERGE PRAGMA REVOKE TRUNCATE UPDATE VACUUM".split()
)
# Functions that leave the database, or wait in it.
REACHING = frozenset(
    "LOAD_EXTENSION READFILE WRITEFILE EDIT FTS3_TOKENIZER FSDIR LO_IMPORT LO_EXPORT PG_READ_FILE PG_READ_BINARY_FILE"
    " PG_LS_DIR PG_SLEEP DBLINK".split()
)
REPLACE = "REPLACE"  # a statement, and a harmless function
PRAGMA_TABLE = "PRAGMA_"
SOURCES_END = frozenset("WHERE GROUP HAVING ORDER LIMIT UNION INTERSECT EXCEPT WINDOW SELECT OFFSET".split())


@dataclass(frozen=True, slots=True)
class Token:
    """`depth` counts the parentheses around it; a word is in capitals."""

    kind: str
    text: str
    depth: int


class QueryValidator:
    """Allows one SELECT and nothing else; what stands in quotes or comments is never taken for a command."""

    def is_safe_query(self, sql: str) -> bool:
        tokens = read(sql)
        return tokens is not None and only_reads(tokens)

    def estimate_cost(self, sql: str) -> int:
        """A base of 1; 10 where all columns are read, 5 for each join, 3 for each query within, 2 for each order, 20
        without a limit. Raises `InvalidInput` for what is no SQL."""
        tokens = read(sql)
        if tokens is None:
            raise InvalidInput("The query cannot be read: a quote, comment or parenthesis is left open; close it.")
        words = [token.text if token.kind != "text" else "''" for token in tokens]
        selects = words.count("SELECT")
        limited = any(token.text == "LIMIT" and token.depth == 0 for token in tokens if token.kind == "word")
        return (
            BASE
            + FULL_SCAN * reads_all(words)
            + JOIN * (words.count("JOIN") + commas_in_sources(tokens))
            + SUBQUERY * max(0, selects - 1)
            + ORDERED * sum(pair == ("ORDER", "BY") for pair in pairwise(words))
            + NO_LIMIT * (selects > 0 and not limited)
        )

    def validate_query(self, sql: str, max_cost: float) -> int:
        """Returns the cost. Raises `AccessDenied` for anything but one SELECT, and `QueryCostExceeded`."""
        if not self.is_safe_query(sql):
            raise AccessDenied("Only SELECT queries are allowed, one at a time; ask without changing anything.")
        cost = self.estimate_cost(sql)
        if cost > max_cost:
            raise QueryCostExceeded(cost, max_cost)
        return cost


def read(sql: str) -> list[Token] | None:
    """None when something is left open, or reads one way in one database and another way in the next."""
    if not isinstance(sql, str):
        raise InvalidInput(f"A query is text, not {type(sql).__name__}.")
    return None if len(sql) > LONGEST or "\0" in sql else balanced(list(tokens_of(sql)))


def tokens_of(sql: str) -> Iterator[Token]:
    depth = 0
    for match in TOKEN.finditer(sql):
        kind, text = str(match.lastgroup), match.group()
        if kind == "space":
            continue
        depth -= text == ")"
        # A quote after a backslash ends the text here, and goes on with it elsewhere.
        doubtful = kind == "text" and f"\\{text[-1]}" in text
        yield Token("odd" if doubtful else kind, text.upper() if kind == "word" else text, depth)
        depth += text == "("


def balanced(tokens: list[Token]) -> list[Token] | None:
    if any(token.kind == "odd" or token.depth < 0 for token in tokens):
        return None
    signs = [token.text for token in tokens if token.kind == "sign"]
    return tokens if signs.count("(") == signs.count(")") else None


def only_reads(tokens: Sequence[Token]) -> bool:
    body = list(tokens)
    while body and body[-1].kind == "end":
        body.pop()
    words = [token.text for token in body if token.kind == "word"]
    if not body or any(token.kind == "end" for token in body) or body[0].text not in ("SELECT", "WITH"):
        return False
    if "SELECT" not in words or any(word in WRITING or word.startswith(PRAGMA_TABLE) for word in words):
        return False
    calls = [(token.text, following.text == "(") for token, following in pairwise(body) if token.kind == "word"]
    return not any((name in REACHING and called) or (name == REPLACE and not called) for name, called in calls)


def reads_all(words: Sequence[str]) -> bool:
    """SELECT *, SELECT DISTINCT * or SELECT t.*; count(*) is none."""
    for at, word in enumerate(words):
        if word == "SELECT":
            listed = words[at + 1 :]
            listed = listed[1:] if listed[:1] in (["DISTINCT"], ["ALL"]) else listed
            if listed[:1] == ["*"] or listed[1:3] == [".", "*"]:
                return True
    return False


def commas_in_sources(tokens: Sequence[Token]) -> int:
    """FROM a, b is a join by another name."""
    found, sources = 0, set[int]()
    for token in tokens:
        if token.kind == "word" and token.text == "FROM":
            sources.add(token.depth)
        elif (token.kind == "word" and token.text in SOURCES_END) or token.text == ")":
            sources.discard(token.depth if token.text != ")" else token.depth + 1)
        found += token.text == "," and token.depth in sources
    return found
