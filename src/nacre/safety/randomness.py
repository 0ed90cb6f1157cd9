"""Tells characters drawn by chance from words, names, paths and hashes: a random value needs no name to be a secret."""

from __future__ import annotations

import re
from collections import Counter
from math import log2

# Which letters commonly follow which in English and in names of code: 93 % of all pairs, and a third of those possible.
FOLLOWERS = {
    "a": "bcdgiklmnprstuvy",
    "b": "aeilosu",
    "c": "aehiklortu",
    "d": "adeiosu",
    "e": "acdefgilmnpqrstvxy",
    "f": "aefioru",
    "g": "ehinrsu",
    "h": "aeiot",
    "i": "abcdefglmnoprstvz",
    "k": "ei",
    "l": "adeilostuy",
    "m": "abeimopsu",
    "n": "acdefginostuv",
    "o": "bcdfglmnoprstuvw",
    "p": "aeiloprstuy",
    "q": "u",
    "r": "acdegimnorstuy",
    "s": "acehiopstuy",
    "t": "acehiloprstuy",
    "u": "abceilmnprst",
    "v": "aei",
    "w": "aehior",
    "x": "cpt",
    "y": "ps",
    "z": "e",
}
COMMON = frozenset(first + second for first, following in FOLLOWERS.items() for second in following)
PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
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
        common += sum(letters[at : at + 2] in COMMON for at in range(len(letters) - 1))
    return common / pairs if pairs else 0.0


def spelled_share(value: str) -> float:
    """The share of characters in pieces that read like words: of three letters and more, each pair a common one."""
    words = [piece for piece in PIECE.findall(value) if len(piece) > 2 and word_like(piece.lower())]
    return sum(map(len, words)) / len(value)


def word_like(letters: str) -> bool:
    return all(letters[at : at + 2] in COMMON for at in range(len(letters) - 1))


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
