"""Finds secrets without a mark: random-looking values, judged by the names before them and by their own characters."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from functools import cache

from nacre.safety.keywords import branches, rows
from nacre.safety.placeholders import example, speaks_about
from nacre.safety.randomness import entropy, looks_random, slug, spelled_share
from nacre.safety.rules import RULES

Span = tuple[int, int, int, str]  # start, end, rank of the rule, kind

BARE = "high_entropy"
LAST_RANK = len(RULES)
# A value, of letters, digits and the signs of base64; dots join its parts, and «=» fills it up.
VALUE = re.compile(r"(?<![A-Za-z0-9_+/~.-])[A-Za-z0-9_+/~.-]{20,}+={0,2}")
REACH = 100  # how far before a value its name may stand, on the same line
LONGEST = 300  # of a value without a name: what is longer is data
SHORTEST = 20
MOSTLY_WORDS = 0.4  # of a value beside the name of a secret; a constant such as OSSL_PARAM_KEY

# A worded prefix that says what follows: acme_live_…, acme-api-key-….
WORDED = re.compile(
    r"(?:[a-z][a-z0-9]{0,11}[_.-]){0,3}?"
    r"(?:live|prod|production|test|sandbox|secret|sk|pat|api|apikey|key|token|auth|access|rw|sat|uat|oauth|v1|v2)[_.-]"
    r"(?:[a-z][a-z0-9]{0,11}[_-]){0,2}(?P<body>[A-Za-z0-9_=+/-]{20,})"
)
PREFIX = re.compile(r"[a-z][a-z0-9]{0,11}[_-]|[A-Z][A-Z0-9]{1,7}[_-]")
HEX_BODY = re.compile(r"[0-9a-f]{32,}")
# Names of things that everybody may know.
PUBLIC = re.compile(
    r"(?:sha\d{1,3}|md5|h1|id|msg|req|res|resp|run|call|toolu|chatcmpl|cmpl|thread|asst|file|cus|pi|ch|evt|prod|price|sub|in|"
    r"acct|pk|org|user|usr|proj|wrkspc|batch|sess|session|trace|span|job|task|build|layer|commit|rev|v\d+)[-_=]|"
    r"_[ZDR]\w|MII|AAAA[BCE][23]|xn--|XN--|Qm[1-9A-HJ-NP-Za-km-z]{44}\Z|bafy|"
    r"[01][0-9A-HJKMNP-TV-Z]{25}\Z|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-|\d{4}-\d\d-\d\dT|cp3\d|py[23]"
)
DESCRIBED = re.compile(
    r"(?i:sha-?\d|md5|integrity|digest|checksum|fingerprint|etag|commit|revision|hash|h1:|signature|certificate|base64|"
    r"public[ _-]?key|pubkey|ssh-(?:rsa|ed25519)|(?<![a-z])u?u?ids?(?![a-z]))|[a-z]I[dD](?![a-z])"
)
ADDRESS = re.compile(r"(?:://|www\.|/)[^\s\"'<>]{0,100}\Z")
DIGIT = re.compile(r"[0-9]")
FILE_ENDING = re.compile(r"\.[a-z]{1,5}\d?\Z")
NOT_BEFORE = tuple("\\[^%&#$.@")
DATA_LINES = range(56, 81)  # characters of a line of base64 data
ONLY_LINE = re.compile(r"[ \t>\"'|*#]*")


def in_values(text: str) -> Iterator[Span]:
    known: dict[tuple[str, str], tuple[int, str] | None] = {}  # for this text only: no secret is kept
    for match in VALUE.finditer(text):
        value, start = match[0].rstrip(".-"), match.start()
        if DIGIT.search(value, 0, REACH) is None:
            continue
        line = text[max(0, start - REACH) : start]
        line = line[line.rfind("\n") + 1 :]
        asked = (value, line)
        if asked not in known:
            known[asked] = named(value, line) or bare(value, line)
        found = known[asked]
        if found and not (found[0] == LAST_RANK and data_line(text, value, start)):
            yield start, start + len(value), *found


def named(value: str, line: str) -> tuple[int, str] | None:
    """By a service or the name of a secret on the same line before it."""
    if not line or near_words().search(line.lower()) is None or example(value):
        return None
    for rank, rule, pattern in rows("near"):
        if not pattern.fullmatch(value):
            continue
        match = name_pattern(rule.name).search(line)
        if match is None or (rule.loose and (speaks_about(match[0]) or names_a_thing(value))):
            continue
        if entropy(value) >= rule.entropy:
            return rank, rule.kind
    return None


def names_a_thing(value: str) -> bool:
    return slug(value) or spelled_share(value) > MOSTLY_WORDS


@cache
def near_words() -> re.Pattern[str]:
    return re.compile(branches(sorted({keyword for _, rule, _ in rows("near") for keyword in rule.keywords})))


@cache
def name_pattern(name: str) -> re.Pattern[str]:
    return re.compile(name, re.IGNORECASE)


def bare(value: str, line: str) -> tuple[int, str] | None:
    if not SHORTEST <= len(value) <= LONGEST or line[-1:] in NOT_BEFORE or PUBLIC.match(value):
        return None
    if DESCRIBED.search(line[-32:]) or ADDRESS.search(line) or example(value) or not random_value(value):
        return None
    return LAST_RANK, BARE


def random_value(value: str) -> bool:
    if FILE_ENDING.search(value) or value[0] == "/" or spells_text(value):
        return False
    worded = WORDED.fullmatch(value)
    if worded and (looks_random(worded["body"]) or HEX_BODY.fullmatch(worded["body"])):
        return True
    parts = value.split(".")
    if "/" in value and path_like(value):
        return False
    return any(len(part) >= SHORTEST and looks_random(unprefixed(part)) for part in parts)


def unprefixed(part: str) -> str:
    match = PREFIX.match(part)
    return part[match.end() :] if match else part


def path_like(value: str) -> bool:
    """Of one case throughout, or with two parts and more that are words: base64 is neither."""
    if value == value.lower() or value == value.upper() or value.endswith("/"):
        return True
    parts = value.split("/")
    return "" in parts or sum(part.isalpha() and (part.islower() or part.istitle()) for part in parts) > 1


def spells_text(value: str) -> bool:
    """Base64 of plain text, such as an example in a manual."""
    if not value.isascii() or "-" in value or "_" in value or len(value) % 4 == 1:
        return False
    try:
        return base64.b64decode(value[: len(value) // 4 * 4]).decode("ascii").isprintable()
    except (binascii.Error, UnicodeDecodeError):
        return False


def data_line(text: str, value: str, start: int) -> bool:
    """One of many lines of base64: a certificate, a picture."""
    if len(value) not in DATA_LINES:
        return False
    first = text.rfind("\n", 0, start) + 1 if start < REACH else text.rfind("\n", start - REACH, start) + 1
    last = text.find("\n", start + len(value), start + len(value) + 8)
    after = text[start + len(value) : last if last >= 0 else start + len(value) + 8]
    alone = ONLY_LINE.fullmatch(text[first:start]) and ONLY_LINE.fullmatch(after.rstrip("\r\\n;,"))
    return bool(alone) and ("/" in value or "+" in value)
