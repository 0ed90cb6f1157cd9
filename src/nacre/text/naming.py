"""Whether two names may be one: the same but for spelling, initials, or a part of it; many at once without comparing
each with each."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from nacre.text.name_words import TITLES

SPELLING = "the same but for case, accents and signs"
LEGAL_FORM = "the same but for the legal form"
TITLE = "the same but for a title"
INITIALS = "initials of the same name"
MIDDLE_NAMES = "the same but for middle names"
SURNAME = "the surname alone"
FIRST_NAME = "the first name alone"
REASONS = (SPELLING, LEGAL_FORM, TITLE, INITIALS, MIDDLE_NAMES, SURNAME, FIRST_NAME)  # the surest first
HINTS = frozenset((SURNAME, FIRST_NAME))  # many may bear it: worth asking, not worth believing

LEGAL_FORMS = frozenset(
    "inc incorporated ltd limited llc llp plc corp corporation co company gmbh ag sa sas bv ab oy".split()
)
# A short form that fits more names than these tells nothing about which of them is meant.
MOST_MEANT = 3
# Names that share a surname and a first name or its initial; more of them than a short form could ever tell apart.
MOST_COMPARED = 100
# Letters that are no plain letter with a sign on it, so that taking signs away does not fold them.
UNFOLDED = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"})
POSSESSIVE = re.compile(r"['’]s?(?=\s|\Z)")
APOSTROPHE = re.compile(r"['’`´]")
PARTING = re.compile(r"(?:[^\w+#]|_)+")  # C++, C# and C are three names


@dataclass(frozen=True, slots=True)
class Pair:
    """Two names, as given, that may be one; the fuller one first where one is shorter."""

    a: str
    b: str
    reason: str


def same_name(a: str, b: str) -> str:
    """The reason why the two may be one name, empty where there is none; those of `HINTS` are weak."""
    if normal(a) == normal(b):
        return SPELLING if normal(a) or a == b else ""
    if core(a) == core(b):
        return same_core(a, b)
    return short_for(parts(a), parts(b)) or short_for(parts(b), parts(a))


@lru_cache(maxsize=65536)
def normal(name: str) -> str:
    """What is left when case, accents, 's and signs are not counted: «O’Briën's» is «obrien».

    A name of nothing but signs keeps them.
    """
    bare = unicodedata.normalize("NFKD", POSSESSIVE.sub("", name.strip()).casefold().translate(UNFOLDED))
    letters = "".join(sign for sign in bare if not unicodedata.combining(sign))
    words = PARTING.sub(" ", APOSTROPHE.sub("", letters)).split()
    return " ".join(words) or name.strip().casefold()


def parts(name: str) -> tuple[str, ...]:
    """The words of a name, without its titles: those of «Dr. Chen» are «chen»."""
    words = normal(name).split()
    return tuple(words[titles(words) :])


def titles(words: Sequence[str]) -> int:
    """How many words at the beginning are titles; where all are, none."""
    return next((at for at, word in enumerate(words) if word not in TITLES), 0)


def core(name: str) -> tuple[str, ...]:
    """Without titles and the legal forms at the end: Acme Co. Ltd. is Acme."""
    words = parts(name)
    end = len(words)
    while end > 1 and words[end - 1] in LEGAL_FORMS:
        end -= 1
    return words[:end]


def same_core(a: str, b: str) -> str:
    """Mr. Chen and Mrs. Chen are two."""
    mine, theirs = normal(a).split(), normal(b).split()
    titled = mine[: titles(mine)], theirs[: titles(theirs)]
    if titled[0] == titled[1]:
        return LEGAL_FORM
    return TITLE if not all(titled) else ""


def short_for(short: Sequence[str], long: Sequence[str]) -> str:
    """Why the one may stand for the other: «J. Tolkien» and «Tolkien» for «John Ronald Reuel Tolkien»."""
    if len(long) < 2 or not short:
        return ""
    if len(short) == 1:
        return SURNAME if short[0] == long[-1] else FIRST_NAME if short[0] == long[0] else ""
    if short[-1] != long[-1] or len(short) > len(long) or not begins(short[0], long[0]) or len(short[-1]) == 1:
        return ""
    given = iter(long[1:-1])
    if not all(any(begins(mine, theirs) for theirs in given) for mine in short[1:-1]):
        return ""
    abbreviated = any(len(word) == 1 for word in short[:-1])
    return INITIALS if abbreviated else MIDDLE_NAMES


def begins(short: str, long: str) -> bool:
    return short == long or (len(short) == 1 and long.startswith(short))


def alike(names: Iterable[str]) -> list[Pair]:
    """The pairs that may be one name, surest first, in time that grows with the names and not with their square.

    Names that differ only in spelling are tied to the first of them, which alone is compared with others. A short form
    that fits more than `MOST_MEANT` names is left out.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for name in filter(normal, dict.fromkeys(names)):
        groups[normal(name)].append(name)
    pairs = [Pair(first, other, SPELLING) for first, *others in groups.values() for other in others]
    heads = [group[0] for group in groups.values()]
    found = sorted((*pairs, *by_core(heads), *by_short_form(heads)), key=lambda pair: REASONS.index(pair.reason))
    surest: dict[frozenset[str], Pair] = {}
    for pair in found:
        surest.setdefault(frozenset((pair.a, pair.b)), pair)
    return list(surest.values())


def by_core(names: Sequence[str]) -> Iterator[Pair]:
    for first, *others in keyed(names, lambda name: [core(name)]).values():
        pairs = (Pair(first, other, same_core(first, other)) for other in others)
        yield from (pair for pair in pairs if pair.reason)


def by_short_form(names: Sequence[str]) -> Iterator[Pair]:
    """Each short form against those names only that share its surname and what it has of the first name."""
    full = keyed(names, long_keys)
    for name in names:
        others = full.get(short_key(parts(name)), [])
        found = [pair for pair in shortened(name, others) if pair.reason] if len(others) <= MOST_COMPARED else []
        if len(found) <= MOST_MEANT:
            yield from found


def shortened(name: str, others: Sequence[str]) -> Iterator[Pair]:
    return (Pair(other, name, short_for(parts(name), parts(other))) for other in others if other != name)


def short_key(words: Sequence[str]) -> tuple[str, ...]:
    return (words[0],) if len(words) == 1 else (words[0], words[-1])


def long_keys(name: str) -> list[tuple[str, ...]]:
    """Every key under which a shorter form of the name would look for it."""
    words = parts(name)
    if len(words) < 2:
        return []
    first, last = words[0], words[-1]
    return list(dict.fromkeys([(first,), (last,), (first, last), (first[0], last)]))


def keyed(names: Sequence[str], keys: Callable[[str], list[tuple[str, ...]]]) -> dict[tuple[str, ...], list[str]]:
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in names:
        for key in keys(name):
            groups[key].append(name)
    return groups
