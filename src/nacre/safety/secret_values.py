"""Judges values: random ones are secrets without a mark; placeholders, examples, names and hashes are not."""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from math import log2

from nacre.files import data_sections
from nacre.safety.token_rules import RULES, Rule, branches, compiled, ranked

TABLES = dict(data_sections("safety/secret_values.txt"))
COMMON = frozenset(first + second for first, following in map(str.split, TABLES["letters"]) for second in following)
PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
CAPITALIZED = re.compile(r"[A-Z](?=[a-z]*[aeiou])[a-z]{3,}(?![a-z])")
LETTERS = re.compile(r"[a-z]{2,}")
SLUG = re.compile(r"[-_.:/+~=]+")
UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
VERSION = re.compile(r"[a-z]{0,4}\d[\d.]*[a-z]{0,3}\d*")
HASH_INSIDE = re.compile(r"(?<![A-Za-z0-9])(?=[a-fA-F]*\d)(?:[0-9a-f]{7,}|[0-9A-F]{7,})(?![A-Za-z0-9])")
HEX = re.compile(r"(?:0x|[a-z]{0,12}[-_:])?(?:[0-9a-f]+|[0-9A-F]+)")
SEEN = 128  # characters that are looked at: a longer value is judged by its beginning
LEAST_RANDOM = 16  # characters that must be left when prefix and hashes are taken off


def entropy(secret: str) -> float:
    """Bits per character, as Shannon counts them."""
    if not secret:
        return 0.0
    counts = Counter(secret[:SEEN]).values()
    size = sum(counts)
    return -sum(count / size * log2(count / size) for count in counts)


def word_share(value: str) -> float:
    """The share of neighbouring letters that commonly follow each other: about .3 by chance, .8 and more in words."""
    common = pairs = 0
    for letters in LETTERS.findall(value.lower()):
        pairs += len(letters) - 1
        common += sum(first + second in COMMON for first, second in pairwise(letters))
    return common / pairs if pairs else 0.0


def spelled_share(value: str) -> float:
    """The share of characters in pieces that read like words: of three letters and more, each pair a common one."""
    pieces = [piece.lower() for piece in PIECE.findall(value) if len(piece) > 2]
    words = [piece for piece in pieces if all(first + second in COMMON for first, second in pairwise(piece))]
    return sum(map(len, words)) / len(value)


def camel_case(value: str) -> bool:
    """Whether most of it are capitalized words, as in the name of a class: by chance three of them are rare."""
    words = CAPITALIZED.findall(value)
    return len(words) > 1 and 2 * sum(map(len, words)) > len(value)


def piece_density(value: str) -> float:
    """Words and numbers per character: a name has one in four or five characters, a random value one in two."""
    return len(PIECE.findall(value)) / len(value)


def slug(value: str) -> bool:
    """Words and numbers with signs between them: the name of a thing, and no random value."""
    return UUID.fullmatch(value) is None and all(
        part.isdigit()
        or len(part) < 3
        or (len(part) < 5 and part.isalpha())
        or spelled_share(part) > 0.6
        or VERSION.fullmatch(part)
        for part in SLUG.split(value)
        if part
    )


def looks_random(value: str) -> bool:
    """Drawn by chance from letters and digits, of one case or of both. A hash, a UUID, a name or a path does not."""
    seen = value[:SEEN].rstrip("=")
    if len(seen) < LEAST_RANDOM or not any(sign.isdigit() for sign in seen) or HEX.fullmatch(seen):
        return False
    bare = HASH_INSIDE.sub("", seen)
    if len(bare) < LEAST_RANDOM and len(bare) < len(seen):
        return False
    mixed = seen != seen.lower() and seen != seen.upper()
    if mixed:
        return (
            piece_density(seen) >= 0.36
            and word_share(seen) <= 0.6
            and spelled_share(seen) <= 0.25
            and not camel_case(seen)
            and entropy(seen) >= 3.6
        )
    longest = max(SLUG.split(seen), key=len)
    return (
        len(longest) >= LEAST_RANDOM
        and not HEX.fullmatch(longest)
        and piece_density(longest) >= 0.25
        and word_share(longest) <= 0.55
        and entropy(longest) >= 3.4
        and any(sign.isalpha() for sign in longest)
    )


ROWS, SAID, BEGINNINGS = (tuple(" ".join(TABLES[name]).split()) for name in ("rows", "said", "beginnings"))
BETWEEN_WORDS = str.maketrans("", "", "-_ ")
TAGGED = re.compile(r"<[\w -]{1,40}>")
VARIABLE = re.compile("|".join(TABLES["variables"]))
CODE = re.compile("|".join(TABLES["code"]))
ABOUT = re.compile(rf"(?i:pass|pwd|token|secret|credential|key)[\w-]*?(?i:{TABLES['about'][0]})")
KEY_DATA = re.compile(r"[A-Za-z0-9+/]{24}|Proc-Type|DEK-Info")


def is_about_a_secret(name: str) -> bool:
    return ABOUT.match(name) is not None


def is_placeholder(secret: str, rule: Rule) -> bool:
    if secret.startswith("-----"):  # a whole block: what a key holds by chance says nothing
        return KEY_DATA.search(secret, 0, 1200) is None
    if is_example(secret) or VARIABLE.fullmatch(secret):
        return True
    if not rule.loose:
        return False
    if rule.kind == "secret" and rule.keywords and slug(secret):  # in metadata the name alone decides
        return True
    # A token of several parts with dots between them is not the name of an attribute.
    return CODE.fullmatch(secret) is not None and not any(looks_random(part) for part in secret.split("."))


def is_example(secret: str) -> bool:
    """Whether the value itself says that it is not a secret."""
    if any(row in secret for row in ROWS) or ("<" in secret and TAGGED.search(secret)):
        return True
    words = secret.lower()
    if words.startswith(("your-", "your_")) or words.endswith("example"):
        return True
    words = words.translate(BETWEEN_WORDS)
    return words.startswith(BEGINNINGS) or any(said in words for said in SAID)


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
PREFIX = re.compile(r"\A(?:[a-z][a-z0-9]{0,11}[_-]|[A-Z][A-Z0-9]{1,7}[_-])")
HEX_BODY = re.compile(r"[0-9a-f]{32,}")
PUBLIC = re.compile("|".join(TABLES["public"]))
DESCRIBED = re.compile("|".join(TABLES["described"]))
ADDRESS = re.compile(r"(?:://|www\.|/)[^\s\"'<>]{0,100}\Z")
DIGIT = re.compile(r"[0-9]")
FILE_ENDING = re.compile(r"\.[a-z]{1,5}\d?\Z")
NOT_BEFORE = tuple("\\[^%&#$.@")
DATA_LINES = range(56, 81)  # characters of a line of base64 data
ONLY_LINE = re.compile(r"[ \t>\"'|*#]*")


def find_in_values(text: str) -> Iterator[Span]:
    known: dict[tuple[str, str], tuple[int, str] | None] = {}  # for this text only, so that no secret stays in memory
    for match in VALUE.finditer(text):
        value, start = match[0].rstrip(".-"), match.start()
        if DIGIT.search(value, 0, REACH) is None:
            continue
        line = text[max(0, start - REACH) : start]
        line = line[line.rfind("\n") + 1 :]
        asked = (value, line)
        if asked not in known:
            known[asked] = find_by_name(value, line) or find_bare(value, line)
        verdict = known[asked]
        if verdict and not (verdict[0] == LAST_RANK and is_data_line(text, value, start)):
            yield start, start + len(value), *verdict


def find_by_name(value: str, line: str) -> tuple[int, str] | None:
    """By a service or the name of a secret on the same line before it."""
    if not line or near_words().search(line.lower()) is None or is_example(value):
        return None
    for rank, rule in ranked("near"):
        if not compiled(rule.pattern).fullmatch(value):
            continue
        match = name_pattern(rule.name).search(line)
        if match is None:
            continue
        if rule.loose and (is_about_a_secret(match[0]) or slug(value) or spelled_share(value) > MOSTLY_WORDS):
            continue
        if entropy(value) >= rule.entropy:
            return rank, rule.kind
    return None


@cache
def near_words() -> re.Pattern[str]:
    return re.compile(branches(sorted({keyword for _, rule in ranked("near") for keyword in rule.keywords})))


@cache
def name_pattern(name: str) -> re.Pattern[str]:
    return re.compile(name, re.IGNORECASE)


def find_bare(value: str, line: str) -> tuple[int, str] | None:
    if not SHORTEST <= len(value) <= LONGEST or line[-1:] in NOT_BEFORE or PUBLIC.match(value):
        return None
    if DESCRIBED.search(line[-32:]) or ADDRESS.search(line) or is_example(value) or not random_value(value):
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
    return any(len(part) >= SHORTEST and looks_random(PREFIX.sub("", part)) for part in parts)


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


def is_data_line(text: str, value: str, start: int) -> bool:
    """One of many lines of base64: a certificate, a picture."""
    if len(value) not in DATA_LINES:
        return False
    first = text.rfind("\n", 0, start) + 1 if start < REACH else text.rfind("\n", start - REACH, start) + 1
    last = text.find("\n", start + len(value), start + len(value) + 8)
    after = text[start + len(value) : last if last >= 0 else start + len(value) + 8]
    alone = ONLY_LINE.fullmatch(text[first:start]) and ONLY_LINE.fullmatch(after.rstrip("\r\\n;,"))
    return bool(alone) and ("/" in value or "+" in value)
