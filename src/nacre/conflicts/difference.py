"""In which words two texts differ, and whether these show that they speak of two things; in any language."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from itertools import product
from typing import NamedTuple

from nacre.text.grammar import NEGATION_WORDS, word_groups
from nacre.text.tokens import WORD_LISTS, stem

# A word with what belongs to it (3.12, 8:05, don't, feature/x, #412, 20 %); an ideograph stands by itself.
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[#@$€£]?\w+(?:[.,:'’/_-]\w+)*\+*%?")
# Of a ticket, a pull request, an invoice; not of an encoding, a digest, a standard or a graphics card.
LABEL = re.compile(r"#\d+|\b(?!UTF|SHA|AES|RSA|ISO|RFC|DIN|USB|RTX|GTX)[A-Z][A-Z]+-\d+\b|\b\d+/(?:19|20)\d\d\b")
KEYED = re.compile(r"\s*([A-Za-z][\w./-]*)\s*(?:=|:(?!\S))\s*(\S+|\d\S* \w+)\s*", re.ASCII)  # one word, or an amount
NO_KEYS = frozenset("note todo idea reminder fixme warning update info fact re fyi see tip question answer ps".split())
VALUE = re.compile(r"\d")
WEEKDAY = re.compile(
    r"^(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?"
    r"|(?:lun|mar|mercre|jeu|vendre|same)dis?|dimanches?|lunes|martes|miércoles|jueves|viernes|(?:sábado|domingo)s?"
    r"|(?:lune|marte|mercole|giove|vener)dì|sabato|domenica)$",
    re.IGNORECASE,
)
EACH_WEEK = re.compile(r"^(?:\w+days|\w+tags|mittwochs)$", re.IGNORECASE)
UNITS_BESIDES = frozenset("am pm c f".split())  # words that are other things elsewhere
PER = frozenset("per pro par por each every je".split())
YEAR = re.compile(r"(?:19|20)\d\d")
ASSIGNING = re.compile(r"(?:[:=]|\b(?:is|are|ist|sind|est|sont|es|son|è|é|jest))\s*$", re.IGNORECASE)
# «is at https://», «are in»: what follows is where a thing is.
PLACING = re.compile(
    r"\b(?:is|are|lives|runs|moved|ist|liegt|sind|est|sont|es|está|son|è)\s+(?:now\s+)?"
    r"(?:(?:at|in|on|under|to|bei|auf|unter|à|dans|en|a)\s+)?[\"'`(]?(?:\w+://|~?/)?$",
    re.IGNORECASE,
)
ADDRESS = re.compile(r"\w\.[a-z]{2,}|\w/\w", re.IGNORECASE)  # a host, a path, a mail address
LISTING = frozenset("and or nor plus und oder sowie et ou y e o u i lub".split())
NUMBERED = WORD_LISTS["numbered"]
NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
DIGITS, NOT_DIGIT = re.compile(r"\d+"), re.compile(r"\D")
LONGEST_NUMBER = 9  # digits of what is counted; longer ones are names
HALF_A_DAY = 12  # hours, by which two ways to write a time differ
CONVERSIONS = (7, 12, 24, 30, 52, 60, 100, 365, 1000, 1024, 3600)  # of one unit to the next
NEARLY = 0.05  # amounts that differ less are one: a rounded conversion
THOUSANDS = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
NEGATIONS = NEGATION_WORDS | WORD_LISTS["negations of other languages"]
# Inside words, and in scripts without blanks between them.
INNER_NEGATION = re.compile("ありません|ません|なかった|ない|不(?![仅僅但错錯同少动動过過])|[没沒](?!收)|않|없|아니|ไม่")
# With a negation in them, and denying nothing; «no. 12» is a number.
NO_NEGATIONS = re.compile(
    r"\bno\.\s+(?=\w)|\bno\s+(?=\d)|\bnot only\b|\bnicht nur\b|\bnon solo\b|\bno s[oó]lo\b"
    r"|\bno (?:more|less|later) than\b|\bnobody but\b|\bno (?:problem|exceptions?|worries)\b",
    re.IGNORECASE,
)
TURKISH_LETTER = re.compile("[ığşİ]")
# «imzalan-ma-dı», «çalış-m-ıyor»: what is left without it is the same verb without the negation.
TURKISH_NEGATION = re.compile(r"(\w{2,})m(?:[ae](?=d[ıi]|m[ıi]ş|z)|[ae]y(?=[ae]c)|(?=[ıiuü]yor))(\w{1,9})")
# «ne … plus»: neither word denies alone, «ne» is also Italian and «plus» also means more.
NO_LONGER = re.compile(r"\b(?:ne\s|n['’])([^.!?\n]{0,80}?)\bplus\b", re.IGNORECASE)
PORTUGUESE = frozenset("em uma não são ao às é".split())  # beside these, «no» means «in the»
# What a negation brings along or stands for: «he does not», «n'a pas de», «kein» for «ein», «нет» for «есть».
BESIDE_NEGATIONS = frozenset("do does did can will ne n de du des d un une ein eine einen einem einer var есть".split())
LONGEST_WORDS = 6  # that are shown of each text
LONGEST = 400  # words; beyond them a text is a document, and its head says what it is about


class Token(NamedTuple):
    key: str
    start: int
    end: int


@lru_cache(maxsize=256)
def tokens(text: str) -> tuple[Token, ...]:
    matches = list(WORD.finditer(text))[:LONGEST]
    return tuple(Token(folded(match.group()), match.start(), match.end()) for match in matches)


def folded(text: str) -> str:
    """Without what does not change the meaning: capitals, forms of one character, space, the full stop."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".!;, ")


def differing_words(newer: str, older: str) -> tuple[str, str]:
    """What stands in one text and not in the other: the place that differs, or else the first words of each alone."""
    a, b = tokens(newer), tokens(older)
    begin, end = common_ends(a, b)
    if begin + end == min(len(a), len(b)) < max(len(a), len(b)):  # one has words more: «not allowed», «allowed»
        begin, end = (begin, end - 1) if end else (max(0, begin - 1), 0)
    elif 1 < begin < min(len(a), len(b)) and all(is_name(newer, each) for each in a[begin - 1 : begin + 1]):
        begin -= 1  # «New York», «New Jersey»
    mine, theirs = a[begin : len(a) - end], b[begin : len(b) - end]
    if max(len(mine), len(theirs)) <= LONGEST_WORDS:
        return piece(newer, mine), piece(older, theirs)
    return alone(newer, a, b), alone(older, b, a)


def common_ends(a: tuple[Token, ...], b: tuple[Token, ...]) -> tuple[int, int]:
    """How many words both begin with, and how many of the rest they end with."""
    least = min(len(a), len(b))
    begin = next((at for at in range(least) if a[at].key != b[at].key), least)
    end = next((at for at in range(least - begin) if a[-1 - at].key != b[-1 - at].key), least - begin)
    return begin, end


def piece(text: str, words: tuple[Token, ...]) -> str:
    return text[words[0].start : words[-1].end] if words else ""


def alone(text: str, own: tuple[Token, ...], others: tuple[Token, ...]) -> str:
    """The words that the other text lacks; short words are left out, unless there are no others. Other forms of a word
    («Mira's», «hourly») are the same word, unless nothing else differs."""
    known, roots = {token.key for token in others}, {root(token) for token in others}
    inflected = [token for token in own if token.key not in known]
    lacking = [token for token in inflected if root(token) not in roots] or inflected
    clear = [token for token in lacking if len(token.key) > 3 or VALUE.search(token.key)] or lacking
    return " ".join(text[token.start : token.end] for token in clear[:LONGEST_WORDS])


def root(token: Token) -> str:
    return stem(token.key.replace("’", "'"))


def is_name(text: str, token: Token) -> bool:
    return text[token.start].isupper()


def identical(newer: str, older: str) -> bool:
    return folded(newer) == folded(older)


def other_labels(newer: str, older: str) -> bool:
    """Two tickets, two pull requests, two invoices."""
    mine, theirs = set(LABEL.findall(newer)), set(LABEL.findall(older))
    return bool(mine and theirs) and not mine & theirs


def other_sides(newer: str, older: str) -> bool:
    """«The staging database» and «the production database»; but where nothing else differs and the word ends the
    text, it is the value: «Deploy to staging», «Deploy to production»."""
    a, b = tokens(newer), tokens(older)
    here, there = {token.key for token in a}, {token.key for token in b}
    for key in here - there:
        rivals = (sides().get(key, frozenset()) & there) - here
        if rivals and not (a[-1].key == key and b[-1].key in rivals and len(here - there) == len(there - here) == 1):
            return True
    return False


@cache
def sides(heading: str = "sides") -> dict[str, frozenset[str]]:
    known: dict[str, frozenset[str]] = {}
    for group in map(frozenset, word_groups()[heading]):
        known |= {word: known.get(word, frozenset()) | group - {word} for word in group}
    return known


def other_amounts(newer: str, older: str) -> tuple[str, str] | None:
    """Two amounts of one kind, where the texts have none in common: «10 MB» and «up to 50 MB», «one hour» and «15
    minutes», but not «one hour» and «60 minutes»."""
    mine, theirs = amounts(newer), amounts(older)
    for measured in mine:
        pairs = list(product(mine[measured], theirs.get(measured, ())))
        if pairs and not any(abs(a - b) <= NEARLY * max(a, b) for a, b in pairs):
            a, b = pairs[0]
            return mine[measured][a], theirs[measured][b]
    return None


def other_numbers(newer: str, older: str) -> tuple[str, str] | None:
    """The one number that differs, where the texts have as many, in whatever language: «kept for 30 days» and «90 Tage
    aufbewahrt». Not where one may be the other in another form or unit, as «5 pm» and «17 Uhr»."""
    mine, theirs = NUMBER.findall(newer), NUMBER.findall(older)
    only_mine, only_theirs = (list((Counter(a) - Counter(b)).elements()) for a, b in ((mine, theirs), (theirs, mine)))
    if len(only_mine) != 1 or len(only_theirs) != 1 or may_be_equal(only_mine[0], only_theirs[0]):
        return None
    return only_mine[0], only_theirs[0]


def only_number(text: str) -> bool:
    """Whether the text has one number and no more, written in digits alone."""
    return len(DIGITS.findall(text)) == 1


def may_be_equal(one: str, other: str) -> bool:
    (a, *after), (b, *behind) = (NOT_DIGIT.split(each) for each in (one, other))
    if "".join((a, *after)) == "".join((b, *behind)):  # 1,000 and 1000
        return True
    if max(len(a), len(b)) > LONGEST_NUMBER or after != behind:
        return False
    low, high = sorted((int(a), int(b)))
    return high - low == HALF_A_DAY or (not after and any(low * factor == high for factor in CONVERSIONS))


def amounts(text: str) -> dict[str, dict[float, str]]:
    """By what is measured, and for each («9 euros a month»): the amount in the first unit, with its words."""
    measured: dict[str, dict[float, str]] = {}
    for match in amount_pattern().finditer(text):
        unit = units().get((match[1] or match[3] or "").lower())
        if unit is not None:
            kind = unit[0] if match[4] is None else f"{unit[0]} for {match[4].lower()}"
            measured.setdefault(kind, {})[number(match[2].lower()) * unit[1]] = match[0]
    return measured


def changed_unit(newer: str, older: str) -> tuple[str, str] | None:
    """What follows the same number, or «per», in texts that are else the same: «5 mg», «5 g»; «per day», «per week»."""
    at = only_change(newer, older)
    a, b = tokens(newer), tokens(older)
    if not at or not (VALUE.search(a[at - 1].key) or a[at - 1].key in PER):
        return None
    mine, theirs = (units().get(each[at].key) for each in (a, b))
    if mine is not None and mine == theirs:  # «5 kg», «5 kilos»
        return None
    return newer[a[at - 1].start : a[at].end], older[b[at - 1].start : b[at].end]


def is_unit(measured: str) -> bool:
    """Whether it ends with the name of a unit."""
    word = tokens(measured)[-1].key
    return word in units() or word in UNITS_BESIDES


def only_change(newer: str, older: str) -> int | None:
    """The place of the one word that differs, in texts of as many words."""
    changed = changed_places(tokens(newer), tokens(older))
    return changed[0] if len(changed) == 1 else None


def changed_places(a: tuple[Token, ...], b: tuple[Token, ...]) -> list[int]:
    """Where two texts of as many words differ; none where they have more or fewer."""
    pairs = enumerate(zip(a, b, strict=True)) if len(a) == len(b) else ()
    return [at for at, (one, other) in pairs if one.key != other.key]


def moved_weekly(newer: str, older: str) -> tuple[str, str] | None:
    """The other weekday and time of what is each week, in texts that are else the same: «Wednesdays at 16:30», «Fridays
    at 17:00»."""
    a, b = tokens(newer), tokens(older)
    changed = changed_places(a, b)
    if len(changed) != 2:
        return None
    day, time = changed
    days = all(WEEKDAY.search(each[day].key) and EACH_WEEK.search(each[day].key) for each in (a, b))
    if not days or not all(VALUE.search(each[time].key) for each in (a, b)):
        return None
    return newer[a[day].start : a[time].end], older[b[day].start : b[time].end]


@cache
def units() -> dict[str, tuple[str, float]]:
    return {name: (measured, float(factor)) for measured, factor, *names in word_groups()["units"] for name in names}


@cache
def number_words() -> dict[str, float]:
    return {word: float(value) for word, value in word_groups()["numbers"]}


@cache
def amount_pattern() -> re.Pattern[str]:
    words, names = "|".join(number_words()), "|".join(sorted(map(re.escape, units()), key=len, reverse=True))
    value = rf"(?<![\w.,])(?:([€$£])\s?)?(\d+(?:[.,]\d+)*|{words})(?:\s?-?(?:an?\s)?({names})(?!\w))?"
    return re.compile(value + r"(?:\s?(?:/|an?\s|per\s|each\b\s?|every\s)(\w*))?", re.IGNORECASE)


def number(text: str) -> float:
    if text in number_words():
        return number_words()[text]
    plain = re.sub(r"[.,]", "", text) if THOUSANDS.fullmatch(text) else text.replace(",", ".")
    integer, *rest = plain.split(".")
    return float(f"{integer}.{rest[0]}" if len(rest) == 1 else integer + "".join(rest))


def opposite_words(newer: str, older: str) -> bool:
    """«The big machine» and «the small machine», each in one of the texts alone."""
    here, there = ({token.key for token in tokens(text)} for text in (newer, older))
    return any(sides("opposites").get(word, frozenset()) & (there - here) for word in here - there)


def denial(newer: str, older: str) -> float | None:
    """Where exactly one of the texts has a negation, in any language with a list of them: the
    share of the other words that both have, 1 where one text is the other with a negation."""
    both = f"{newer} {older}"
    turkish = TURKISH_LETTER.search(both) is not None
    portuguese = not PORTUGUESE.isdisjoint(token.key for token in tokens(both))
    (denied, rest), (other_denied, other_rest) = (
        without_negations(text, turkish=turkish, portuguese=portuguese) for text in (newer, older)
    )
    if bool(+denied) == bool(+other_denied):
        return None  # in many languages two negations are one: «никогда не»
    here, there = Counter(rest), Counter(other_rest)
    return 1.0 if rest == other_rest else min(0.99, (here & there).total() / max(1, (here | there).total()))


@lru_cache(maxsize=256)
def without_negations(text: str, *, turkish: bool, portuguese: bool) -> tuple[Counter[str], tuple[str, ...]]:
    """The negations of a text, and the stems of its other words."""
    text = NO_NEGATIONS.sub(" ", text)
    text, no_longer = NO_LONGER.subn(r" \1", text)
    text, inner = INNER_NEGATION.subn(" ", text)
    negations, rest = Counter({"no longer": no_longer, "inner": inner}), []
    words = [part for token in tokens(text) for part in split_negations(token.key)]
    for word in words:
        within = TURKISH_NEGATION.fullmatch(word) if turkish else None
        if within or (word in NEGATIONS and not (word == "no" and portuguese)):
            negations[word] += 1
        if within:
            rest.append(stem(within[1] + within[2]))
        elif word not in NEGATIONS and word not in BESIDE_NEGATIONS:
            rest.append(stem(word))
    return negations, tuple(rest)


def split_negations(word: str) -> list[str]:
    """«don't» and «n'est», as the lists have them; other words as they are."""
    plain = word.replace("’", "'")
    joined = plain.replace("'", "")
    if joined in NEGATIONS:
        return [joined]
    return plain.split("'") if plain.startswith("n'") else [plain]


def swapped_words(newer: str, older: str) -> tuple[str, str] | None:
    """The two words that have changed places in an else equal text: «tabs over spaces», «spaces over tabs»; but not
    where they are only listed («Ann and Ben», «Ben and Ann»)."""
    a, b = tokens(newer), tokens(older)
    moved = changed_places(a, b)
    if len(moved) != 2:
        return None
    first, last = moved
    between = {token.key for token in a[first + 1 : last]}
    if a[first].key != b[last].key or a[last].key != b[first].key or between <= LISTING:
        return None
    return newer[a[first].start : a[first].end], older[b[first].start : b[first].end]


def changed_address(newer: str, older: str) -> tuple[str, str] | None:
    """The two hosts or paths of texts that are else the same and say where a thing is."""
    addresses = changed_value(newer, older, ADDRESS)
    placed = addresses is not None and PLACING.search(newer[: newer.rindex(addresses[0])])
    return addresses if placed else None


def keyed_values(newer: str, older: str) -> tuple[str, str] | None:
    """The two values of one key: `timeout: 30`, `timeout = 60`."""
    mine, theirs = KEYED.fullmatch(newer), KEYED.fullmatch(older)
    if not mine or not theirs or mine[1] != theirs[1] or mine[1].lower() in NO_KEYS:
        return None
    return (mine[2], theirs[2]) if folded(mine[2]) != folded(theirs[2]) else None


def changed_value(newer: str, older: str, value: re.Pattern[str] = VALUE) -> tuple[str, str] | None:
    """The two numbers, dates or versions of texts that are else the same, or what else is a `value`, where they are not
    what tells two things apart («Bus 12», «on floor 3») or two years («in 2019», «in 2021»)."""
    at = only_change(newer, older)
    if at is None:
        return None
    a, b = tokens(newer), tokens(older)
    mine, theirs = newer[a[at].start : a[at].end], older[b[at].start : b[at].end]
    if not value.search(mine) or not value.search(theirs) or (at < 2 and at + 1 < len(a)):
        return None
    assigned = at + 1 == len(a) and bool(ASSIGNING.search(newer[: a[at].start]))
    named = a[at - 1].key in NUMBERED or (YEAR.fullmatch(mine) and YEAR.fullmatch(theirs))
    return (mine, theirs) if assigned or not named else None
