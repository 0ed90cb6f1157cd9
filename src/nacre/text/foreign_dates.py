"""Finds the times in text of nine other languages (`text/times.txt`) and says them in English."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from nacre.files import data_sections

CHINESE = "chinese"
# Without a word of these there is no time.
NAMED = ("month", "weekday", "season", "unit", "part", "day", "weekend", "feast")
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")

NUMBER = r"(?<!\d)(?P<number>3[01]|[12]?\d)(?!\d)(?:\.|º|er\b)?"
UNTIL = NUMBER.replace("<number>", "<until>")
YEAR = r"(?P<year>(?:19|20)\d\d)(?!\d)"
# How a time is put together, the first that fits, and how it is said in English.
FORMS: tuple[tuple[str, str], ...] = (
    ("ago count unit", "{count} {unit}s ago"),
    ("count unit ago", "{count} {unit}s ago"),
    ("hence count unit", "in {count} {unit}s"),
    ("which count unit", "in the {which} {count} {unit}s"),
    ("count which unit", "in the {which} {count} {unit}s"),
    ("count unit which", "in the {which} {count} {unit}s"),
    ("weekday which part?", "{which} {weekday} {part}"),
    ("which weekday part?", "{which} {weekday} {part}"),
    ("season which", "{which} {season}"),
    ("which season", "{which} {season}"),
    ("month which", "{which} {month}"),
    ("which month", "{which} {month}"),
    ("unit which", "{which} {unit}"),
    ("which unit", "{which} {unit}"),
    ("weekend", "in the weekend"),
    ("section month year?", "in {section} {month} {year}"),
    ("section which month", "{section} {which} {month}"),
    ("section month which", "{section} {which} {month}"),
    ("section which unit", "{section} {which} {unit}"),
    ("section unit which", "{section} {which} {unit}"),
    ("section season year?", "in {section} {season} {year}"),
    ("which feast", "{which} {feast}"),
    ("feast which", "{which} {feast}"),
    ("feast year?", "{feast} {year}"),
    ("number range until month year?", "{number}-{until} {month} {year}"),
    ("number month year?", "{number} {month} {year}"),
    ("month year?", "{month} {year}"),
    ("season year?", "{season} {year}"),
    ("day part?", "{day} {part}"),
    ("which part", "{which} {part}"),
    ("weekday part?", "{weekday} {part}"),
)
CHINESE_FORMS: tuple[tuple[str, str], ...] = (
    ("year month number", "{number} {month} {year}"),
    ("year month", "in {month} {year}"),
    ("day month number", "{number} {month} {day}"),
    ("day month", "in {month} {day}"),
    ("day season", "in {season} {day}"),
    ("day weekday", "{weekday} of {day}"),
    ("which weekday", "{weekday} of {which} week"),
    ("count unit ago", "{count} {unit}s ago"),
    ("count unit hence", "in {count} {unit}s"),
    ("which count unit", "in the {which} {count} {unit}s"),
    ("month number", "{number} {month}"),
    ("month", "in {month}"),
    ("day part?", "{day} {part}"),
    ("season", "in {season}"),
    ("feast", "in {feast}"),
    ("weekend", "in the weekend"),
    ("year", "in {year}"),
)
CHINESE_DIGIT = "[一二三四五六七八九]"
CHINESE_NUMBER = rf"(?P<number>3[01]|[12]?\d|三十一?|二?十{CHINESE_DIGIT}?|{CHINESE_DIGIT})\s*[日号]"
CHINESE_YEAR = r"(?<!\d)(?P<year>(?:19|20)\d\d|(?:一九|二[〇零○])[〇零○一二三四五六七八九]{2})\s*年"
TEN = "十"
CHINESE_DIGITS = str.maketrans("〇零○一二三四五六七八九", "000123456789")


def has_han(text: str) -> bool:
    """Without a pattern, which takes milliseconds to build for so wide a range."""
    return any("\u4e00" <= character <= "\u9fff" for character in text)


class ForeignPhrase(NamedTuple):
    english: str
    words: str
    place: tuple[int, int]  # where it begins and ends in the text


class Language(NamedTuple):
    name: str
    english: Mapping[str, Mapping[str, str]]  # by kind and form
    hints: frozenset[str]  # every phrase for a time has one of these words, except in Chinese

    def is_hinted(self, text: str, words: frozenset[str]) -> bool:
        return has_han(text) if self.name == CHINESE else not words.isdisjoint(self.hints)


@cache
def languages() -> tuple[Language, ...]:
    result = []
    for name, lines in data_sections("text/times.txt"):
        english: dict[str, dict[str, str]] = {}
        for line in lines:
            meaning, forms = line.split(":")
            kind, meant = meaning.split(" ", 1)
            english.setdefault(kind, {}).update((form.replace("_", " "), meant) for form in forms.split())
        hints = frozenset(word for kind in NAMED for form in english[kind] for word in (form.split()[-1],))
        result.append(Language(name, english, hints))
    return tuple(result)


def fillers(text: str, ahead: bool = False) -> list[str]:
    """Words that ask for nothing but the time beside them («was habe ich … gemacht?»), of the text's languages; beside
    a time to come also those for what is planned («welche Termine habe ich …?»)."""
    known, kinds = known_words(text), ("filler", "planned") if ahead else ("filler",)
    hinted = [language.english for language in languages() if language.is_hinted(text, known)]
    return [each for english in hinted for kind in kinds for each in english.get(kind, ())]


def foreign_phrases(text: str) -> list[ForeignPhrase]:
    """In the order of the text; of two that overlap, the longer one: «depuis mai» is French, «mai» could be German."""
    known = known_words(text)
    candidates = (
        each for language in languages() if language.is_hinted(text, known) for each in phrases_of(language, text)
    )
    phrases: list[ForeignPhrase] = []
    for phrase in sorted(candidates, key=lambda each: -len(each.words)):
        start, end = phrase.place
        if all(end <= other.place[0] or start >= other.place[1] for other in phrases):
            phrases.append(phrase)
    return sorted(phrases, key=lambda each: each.place)


def known_words(text: str) -> frozenset[str]:
    words = [word.lower() for word in WORD.findall(text)]
    # An elided article is no part of the name: «l'été», «d'octobre».
    return frozenset(words) | {re.split("['’]", word)[-1] for word in words}


def phrases_of(language: Language, text: str) -> Iterator[ForeignPhrase]:
    for match in pattern(language.name).finditer(text):
        groups = {name: said for name, said in match.groupdict().items() if said}
        lead = english_word(language, "lead", groups.get("lead", ""))
        join = english_word(language, "join", groups.get("join", ""))
        first, second = (said_in_english(language, groups, side) for side in ("first", "second"))
        parts = [lead, first.removeprefix("in ") if lead else first, join, second.removeprefix("in ")]
        english = " ".join(" ".join(parts).split())
        if english.lower() != match.group().lower():  # «in April» is English, too
            yield ForeignPhrase(english, match.group(), match.span())


def said_in_english(language: Language, groups: Mapping[str, str], side: str) -> str:
    for number, (_, english) in enumerate(forms_of(language.name)):
        kinds = {name.split("_")[2]: said for name, said in groups.items() if name.startswith(f"{side}_{number}_")}
        if kinds:
            words = {kind: english_word(language, kind, said) for kind, said in kinds.items()}
            return english.format_map({"part": "", "year": "", **words})
    return ""


def english_word(language: Language, kind: str, said: str) -> str:
    if kind in ("number", "year") or said.isdigit():
        return in_digits(said)
    meant = language.english[kind].get(" ".join(said.lower().replace("’", "'").split()), "") if said else ""
    return meant.capitalize() if kind == "month" else meant


def in_digits(number: str) -> str:
    """«二十三» is 23, «二〇二五» is 2025."""
    tens, ten, ones = number.translate(CHINESE_DIGITS).rpartition(TEN)
    return str(int(tens or 1) * 10 + int(ones or 0)) if ten else ones


def forms_of(language: str) -> tuple[tuple[str, str], ...]:
    return CHINESE_FORMS if language == CHINESE else FORMS


@cache
def pattern(name: str) -> re.Pattern[str]:
    language = next(each for each in languages() if each.name == name)
    gap = r"\s*" if name == CHINESE else r"(?:\s+|(?<=['’]))"
    particles = alternatives(language, "of")
    between = rf"{gap}(?:(?:{particles})(?:['’]|\s+|{gap}))*"
    time = {side: one_time(language, between, side) for side in ("first", "second")}
    edge = "" if name == CHINESE else r"\b"
    day = rf"(?:{alternatives(language, 'day')}){edge}"  # «antes de ayer» is a day of its own, not before yesterday
    return re.compile(
        rf"{edge}(?:(?!{day})(?P<lead>{alternatives(language, 'lead')}){between})?(?:{time['first']}){edge}"
        rf"(?:{gap}(?P<join>{alternatives(language, 'join')}){between}(?:{time['second']}){edge})?",
        re.IGNORECASE,
    )


def one_time(language: Language, between: str, side: str) -> str:
    forms = []
    for number, (kinds, _) in enumerate(forms_of(language.name)):
        pieces = ""
        for at, kind in enumerate(kinds.split()):
            piece = (between if at else "") + one_word(language, kind.rstrip("?")).replace(
                "(?P<", f"(?P<{side}_{number}_"
            )
            pieces += f"(?:{piece})?" if kind.endswith("?") else piece
        forms.append(pieces)
    return "|".join(forms)


def one_word(language: Language, kind: str) -> str:
    chinese = language.name == CHINESE
    if kind == "number":
        return CHINESE_NUMBER if chinese else NUMBER
    if kind == "until":
        return UNTIL
    if kind == "range":
        return rf"(?:{alternatives(language, 'join')}|-|–)"
    if kind == "year":
        return CHINESE_YEAR if chinese else YEAR
    digits = r"|\d{1,3}" if kind == "count" else ""
    return rf"(?P<{kind}>{alternatives(language, kind)}{digits})"


def alternatives(language: Language, kind: str) -> str:
    forms = sorted(language.english.get(kind, ()), key=len, reverse=True)
    return "|".join(behind(language, kind, form) + re.escape(form).replace(r"\ ", r"\s+") for form in forms) or "(?!)"


def behind(language: Language, kind: str, form: str) -> str:
    """Keeps «am Morgen» from being tomorrow."""
    also_part = kind == "day" and form in language.english.get("part", ())
    return "".join(rf"(?<!\b{word}\s)" for word in language.english.get("unless", ())) if also_part else ""
