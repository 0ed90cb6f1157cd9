"""Finds names in texts, and names that may mean the same person or thing."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import groupby

from nacre.text.grammar import AUXILIARIES, CLAUSE_WORDS, FUNCTION_WORDS, GRADABLE, VERBS, base, verb_words, word_groups
from nacre.text.tokens import UNFOLDED, WORD_LISTS, without_invisible

TITLES = WORD_LISTS["titles"]
MONTHS = WORD_LISTS["months"]
WEEKDAYS = WORD_LISTS["weekdays"]
MONTHS_LIKE_NAMES = WORD_LISTS["months like names"]
DATING = WORD_LISTS["words before dates"]
PARTICLES = WORD_LISTS["particles of names"]
INSTITUTIONS = WORD_LISTS["institutions"]
NAME_OPENERS = WORD_LISTS["name openers"]
GIVEN_NAMES = WORD_LISTS["given names"]
NAMES_AMONG_SYNONYMS = WORD_LISTS["names among synonyms"]
ORDINARY_IN_CAPITALS = WORD_LISTS["ordinary in capitals"]
LEGAL_FORMS = WORD_LISTS["legal forms"]
ACRONYMS_LIKE_WORDS = frozenset(("it", "us", "who"))
ABSTRACT = ("tion", "sion", "ment", "ness", "ity", "ship", "ware", "ism", "ology", "ance", "ence")


@cache
def known_words() -> frozenset[str]:
    """All listed words that may begin a sentence and are not names."""
    same = {word for group in word_groups()["synonyms"] for word in group} - NAMES_AMONG_SYNONYMS
    listed = WORD_LISTS["openers of sentences"] | WORD_LISTS["common nouns"] | GRADABLE | VERBS
    return FUNCTION_WORDS | AUXILIARIES | CLAUSE_WORDS | listed | same


def is_closed(lower: str) -> bool:
    """A function word, which is never a name."""
    return lower in FUNCTION_WORDS or lower in AUXILIARIES or lower in CLAUSE_WORDS


def is_ordinary(lower: str) -> bool:
    """A word that needs no name to begin a sentence with."""
    head = lower.partition("-")[0]
    if head in GIVEN_NAMES:
        return False
    known = lower in known_words() or head in known_words() or lower.endswith("n't")
    return known or (base(head) in verb_words() and head not in NAMES_AMONG_SYNONYMS) or head.endswith(ABSTRACT)


SPELLING = "the same but for case, accents and signs"
LEGAL_FORM = "the same but for the legal form"
TITLE = "the same but for a title"
INITIALS = "initials of the same name"
MIDDLE_NAMES = "the same but for middle names"
SURNAME = "the last part of the name alone"
FIRST_NAME = "the first part of the name alone"
REASONS = (SPELLING, LEGAL_FORM, TITLE, INITIALS, MIDDLE_NAMES, SURNAME, FIRST_NAME)  # the surest first

# A short form that fits more names than this is ignored: it is not clear which is meant.
MOST_MEANT = 3
# Names that share a surname and a first name or its initial; more of them than a short form could ever tell apart.
MOST_COMPARED = 100
POSSESSIVE = re.compile(r"['’]s?(?=\s|\Z)")
APOSTROPHE = re.compile(r"['’`´]")
PARTING = re.compile(r"(?:[^\w+#]|_)+")  # C++, C# and C are three names


@dataclass(frozen=True, slots=True)
class Pair:
    """Two names, as given, that may be one; the fuller one first where one is shorter."""

    a: str
    b: str
    reason: str


@lru_cache(maxsize=65536)
def normalized_name(name: str) -> str:
    """What is left when case, accents, 's and signs are not counted: «O’Briën's» is «obrien».

    A name of nothing but signs keeps them.
    """
    bare = unicodedata.normalize("NFKD", POSSESSIVE.sub("", name.strip()).casefold().translate(UNFOLDED))
    letters = "".join(sign for sign in bare if not unicodedata.combining(sign))
    words = PARTING.sub(" ", APOSTROPHE.sub("", letters)).split()
    return " ".join(words) or name.strip().casefold()


def parts(name: str) -> tuple[str, ...]:
    """The words of a name, without its titles: those of «Dr. Chen» are «chen»."""
    words = normalized_name(name).split()
    return tuple(words[titles(words) :])


def titles(words: Sequence[str]) -> int:
    """How many words at the beginning are titles; 0 if all are."""
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
    mine, theirs = normalized_name(a).split(), normalized_name(b).split()
    titled = mine[: titles(mine)], theirs[: titles(theirs)]
    if titled[0] == titled[1]:
        return LEGAL_FORM
    return TITLE if not all(titled) else ""


def short_for(short: Sequence[str], long: Sequence[str]) -> str:
    """Why the one may stand for the other: «J. Tolkien» and «Tolkien» for «John Ronald Reuel Tolkien»."""
    if len(long) < 2 or not short:
        return ""
    if len(short) == 1:
        # Only a person goes by the first word of a name: Google is not Google Meet.
        first_name = short[0] == long[0] and (short[0] in FIRST_NAMES or short[0] in GIVEN_NAMES)
        return SURNAME if short[0] == long[-1] else FIRST_NAME if first_name else ""
    if short[-1] != long[-1] or len(short) > len(long) or not begins(short[0], long[0]) or len(short[-1]) == 1:
        return ""
    middle_names = iter(long[1:-1])
    if not all(any(begins(mine, theirs) for theirs in middle_names) for mine in short[1:-1]):
        return ""
    abbreviated = any(len(word) == 1 for word in short[:-1])
    return INITIALS if abbreviated else MIDDLE_NAMES


def begins(short: str, long: str) -> bool:
    return short == long or (len(short) == 1 and long.startswith(short))


def similar_names(names: Iterable[str]) -> list[Pair]:
    """The pairs that may be one name, surest first, in time that grows with the names and not with their square.

    Names that differ only in spelling are tied to the first of them, which alone is compared with others. A short form
    that fits more than `MOST_MEANT` names is left out.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for name in filter(normalized_name, dict.fromkeys(names)):
        groups[normalized_name(name)].append(name)
    pairs = [Pair(first, other, SPELLING) for first, *others in groups.values() for other in others]
    heads = [group[0] for group in groups.values()]
    candidates = sorted((*pairs, *by_core(heads), *by_short_form(heads)), key=lambda pair: REASONS.index(pair.reason))
    surest: dict[frozenset[str], Pair] = {}
    for pair in candidates:
        surest.setdefault(frozenset((pair.a, pair.b)), pair)
    return list(surest.values())


def by_core(names: Sequence[str]) -> Iterator[Pair]:
    for first, *others in keyed(names, lambda name: [core(name)]).values():
        yield from (Pair(first, other, why) for other in others if (why := same_core(first, other)))


def by_short_form(names: Sequence[str]) -> Iterator[Pair]:
    """Each short form against those names only that share its surname and what it has of the first name."""
    full = keyed(names, long_keys)
    for name in names:
        words = parts(name)
        others = full.get((words[0],) if len(words) == 1 else (words[0], words[-1]), [])
        others = [other for other in others if other != name] if len(others) <= MOST_COMPARED else []
        others = [other for other in others if may_be_shortened(other)]
        pairs = [Pair(other, name, why) for other in others if (why := short_for(words, parts(other)))]
        if len(pairs) <= MOST_MEANT:
            yield from pairs


def may_be_shortened(name: str) -> bool:
    """Not «Lumen's SLA», which is something of Lumen's, and no host or path."""
    # An 's at the end does not count: «Ada Lovelace's» is a name in the possessive, and nothing of hers.
    return not POSSESSIVE.search(name.strip()[:-2]) and not PLACE.fullmatch(name.strip())


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


LONGEST = 20_000  # characters; a text is not about a name that comes later
# Addresses, paths and code: their capitals mean nothing.
NO_PROSE = re.compile(r"`[^`\n]{0,200}`|(?<!\S)\S*(?:://|@|\\|[^\W_]/[^\W_]|[^\W_]_[^\W_]|[^\W_]\.[^\W\d_]{2}|\(\))\S*")
# Letters and digits, joined by an apostrophe, a hyphen or an ampersand: O'Brien, Al-Hassan, AT&T.
WORD = re.compile(r"[^\W_]++(?:['’&-][^\W_]++)*+")
CONTRACTION = re.compile(r"['’](?:s|ll|d|re|ve|m)\Z", re.IGNORECASE)
SENTENCE_ENDS = re.compile(r"[.!?…;\n\"“”«»•*#>|]")
SPACE = re.compile(r"[ \t]+(?:&[ \t]+)?")
FULL_STOP = re.compile(r"\.[ \t]*")
SIGNED = re.compile(r"['’-]")
LONGEST_ACRONYM = 6  # letters; «UNICEF» is one, «IMPORTANT» is loud
MOST_SHOUTED = 0.6  # of a sentence's words in capitals
SHORTEST = 3  # letters of a single name that a fact is about


@dataclass(frozen=True, slots=True)
class Word:
    text: str  # without 's and its like
    gap: str  # the text between the previous word and this one
    begins: bool  # a sentence
    owns: bool  # had an 's
    shouted: bool = False

    @property
    def lower(self) -> str:
        return self.text.lower()

    @property
    def capital(self) -> bool:
        return self.text[0].isupper()

    @property
    def initial(self) -> bool:
        return len(self.text) == 1 and self.capital

    @property
    def all_capital(self) -> bool:
        return len(self.text) > 1 and self.text.isupper()

    @property
    def marked(self) -> bool:
        """Spelled as no ordinary word is: GitHub, NASA, O'Brien."""
        return any(sign.isupper() or sign.isdigit() for sign in self.text[1:])


def extract_entity_name(content: str, concept: str = "") -> str:
    """The name that a fact is about, in lower case, or an empty string. The concept is searched first.

    The longest name of several words (or with an apostrophe or a hyphen) wins; else the first single one inside a
    sentence, where a capital letter shows a name.
    """
    for text in (concept, content):
        runs = list(capital_runs(prose(text)))
        long = [spelled(run) for run in runs if len(run) > 1 or (SIGNED.search(run[0].text) and run[0].marked)]
        single = (run[0].text for run in runs if not run[0].begins and len(run[0].text) >= SHORTEST)
        if name := max(long, key=len, default="") or next(single, ""):
            return name.replace("’", "'").lower()
    return ""


def prose(text: str) -> list[Word]:
    words: list[Word] = []
    text, end = NO_PROSE.sub(" , ", text[:LONGEST]), 0
    for match in WORD.finditer(text):
        matched, gap = match.group(), text[end : match.start()]
        bare = CONTRACTION.sub("", matched)
        begins = not words or (SENTENCE_ENDS.search(gap) is not None and not abbreviated(words[-1], gap))
        words.append(Word(bare, gap, begins, owns=matched[len(bare) :].lower() in ("'s", "’s")))
        end = match.end()
    return [word for sentence in sentences(words) for word in sentence]


def abbreviated(word: Word, gap: str) -> bool:
    """The full stop after an initial or a title ends no sentence."""
    return FULL_STOP.fullmatch(gap) is not None and (word.initial or word.lower in TITLES | {"st"})


def sentences(words: Sequence[Word]) -> Iterator[list[Word]]:
    """Marks the words of sentences in capitals, where a capital letter does not show a name."""
    number = 0
    numbered = [(number := number + word.begins, word) for word in words]
    for _, group in groupby(numbered, key=lambda each: each[0]):
        sentence = [word for _, word in group]
        loud = [word for word in sentence if word.all_capital]
        ordinary = any(is_ordinary(word.lower) or len(word.text) > LONGEST_ACRONYM for word in loud)
        shouted = len(loud) > 1 and ordinary and len(loud) >= MOST_SHOUTED * len(sentence)
        yield [replace(word, shouted=True) for word in sentence] if shouted else sentence


def capital_runs(words: Sequence[Word]) -> Iterator[list[Word]]:
    """Neighbouring capitalized words that may be one name."""
    run: list[Word] = []
    for place, word in enumerate(words):
        joined = bool(run) and not run[-1].owns and joins(run[-1], word)
        if joined and inner(run, words, place):
            run.append(word)
        elif may_name(words, place, run if joined else []):
            if run and not joined:
                yield from complete_run(run, word)
                run = []
            run.append(word)
        else:
            yield from complete_run(run, word)
            run = []
    yield from complete_run(run, None)


def joins(before: Word, word: Word) -> bool:
    if SPACE.fullmatch(word.gap):
        return True
    return FULL_STOP.fullmatch(word.gap) is not None and (before.initial or before.lower == "st")


def inner(run: Sequence[Word], words: Sequence[Word], place: int) -> bool:
    """The small words inside a name, with a capital one to come: Ludwig van Beethoven, the Bank of England."""
    word, rest = words[place], words[place + 1 : place + 3]
    ahead = bool(rest) and SPACE.fullmatch(rest[0].gap) is not None
    if word.lower in PARTICLES and not word.capital:
        small = ahead and rest[0].lower in PARTICLES
        return ahead and (rest[0].capital or (small and len(rest) > 1 and rest[1].capital))
    of = word.text == "of" and run[-1].lower in INSTITUTIONS
    article = word.text == "the" and run[-1].text == "of"
    return ahead and ((of and (rest[0].capital or rest[0].text == "the")) or (article and rest[0].capital))


def may_name(words: Sequence[Word], place: int, run: Sequence[Word]) -> bool:
    word = words[place]
    after = words[place + 1] if place + 1 < len(words) else None
    leads = after is not None and after.capital and not after.begins and joins(word, after)
    if not word.capital or word.shouted or word.lower in TITLES:
        return False
    if word.initial:
        return bool(run) or (leads and after is not None and after.gap.startswith("."))
    if word.lower in WEEKDAYS or word.lower in MONTHS:
        dated = place > 0 and not word.begins and words[place - 1].lower in DATING
        return leads and word.lower in MONTHS_LIKE_NAMES and not dated
    if word.all_capital:
        return acronym(word.text) or (bool(run) and not is_closed(word.lower))
    if word.lower in NAME_OPENERS and leads:
        return True
    if word.lower in GIVEN_NAMES:
        return leads or not word.begins or not is_closed(word.lower)
    return not is_closed(word.lower) and not (word.begins and leads and is_ordinary(word.lower))


def acronym(text: str) -> bool:
    lower = text.lower()
    if lower in ACRONYMS_LIKE_WORDS:
        return True
    return len(text) <= LONGEST_ACRONYM and lower not in ORDINARY_IN_CAPITALS and not is_ordinary(lower)


def complete_run(run: Sequence[Word], after: Word | None) -> Iterator[list[Word]]:
    """«Will Sarah come» asks about Sarah, «Will Smith came» is about Will Smith."""
    question = len(run) > 1 and run[0].begins and run[0].lower in AUXILIARIES
    named = list(run[1:] if question and after is not None and after.lower in VERBS else run)
    if named and not (len(named) == 1 and named[0].initial):
        yield named


def spelled(run: Sequence[Word]) -> str:
    return run[0].text + "".join(f"{' '.join(word.gap.split(' '))}{word.text}" for word in run[1:])


# Names in a text of any kind, quickly: for every record that is written.

FIRST_NAMES = WORD_LISTS["first names"]
TOOLS = WORD_LISTS["tools"]
CAPITAL_NO_NAME = WORD_LISTS["capital and no name"]
GERMAN = WORD_LISTS["german"]
MOST_NAMES = 16  # of one text: what names more is a list, and about none of them
CHARACTERS_A_NAME = 60  # what is longer is a heading or a sentence
CHARACTERS_NAMED = 4_000  # a text is not about what comes later
UPPER = "".join(sign for code in range(0x41, 0x530) if (sign := chr(code)).isupper())
SMALL = "|".join(sorted(PARTICLES)) + "|of|of the|d'|and the"
LETTER_CASE = re.compile(rf"[{UPPER}]")
# A ticket, a pull request and their like.
NUMBERED_THING = re.compile(
    r"\b(?:PR|MR|[Ii]ssue|[Tt]icket|[Bb]ug|RFC|CVE)[ -](?:#?\d[\d-]*\b|[A-Z][A-Z0-9]+-\d+\b)"
    r"|\b(?!UTF|SHA|AES|RSA|ISO|DIN|USB|MD5|GPT|COVID|TOP|Q\d)[A-Z][A-Z0-9]+-\d+\b"
)
DOMAINS = "com|org|net|io|dev|internal|local|lan|de|eu|app|ai|fr|es|it|pl|uk|ch|at|nl|co|info|cloud"
ENDINGS = (
    "md|txt|py|rs|go|js|ts|tsx|jsx|c|h|cpp|java|rb|php|sh|sql|json|ya?ml|toml|ini|cfg|conf|csv|tsv|xlsx?|docx?|pdf|html|"
    "css|xml|lock|log|db|zip|gz|env|ipynb"
)
# A host, a path, a file, a numbered machine.
PLACE = re.compile(
    rf"(?:https?://)?(?:[\w-]+\.)+(?:{DOMAINS})|(?:~|\.{{1,2}})?(?:/[\w.-]*[\w-])+/?"
    rf"|(?:[\w.-]+/)*[\w-][\w.-]*\.(?:{ENDINGS})|[a-z]+(?:-[a-z]+)*-0\d"
)
AROUND = "\"“”«»‘’'`()[]{}<>,;:!?。，、；：！？（）「」"
ENDS_OF_SENTENCES = frozenset(".!?…:;\n•>|*-")
OWNER = re.compile(r"['’]s\Z")
GERMAN_TITLES = frozenset(("frau", "herr", "herrn"))
ALONE = re.compile(r"(?<![\w-])[^\W\d_]+(?![\w-])")  # a word that is no part of another: «Kick-off» is not English
ENGLISH = FUNCTION_WORDS - GERMAN - {"in", "an", "so", "was", "also", "will", "all", "do", "or", "me", "a", "no"}


@cache
def word_pattern(*, ascii_only: bool) -> re.Pattern[str]:
    """Words of letters, each perhaps with a digit. Most texts are plain ASCII, whose classes take half the time."""
    return re.compile(r"[A-Za-z]+[0-9]?" if ascii_only else r"[^\W\d_]+\d?")


@cache
def capital_run(*, ascii_only: bool) -> re.Pattern[str]:
    """Capitalized words in a row; the small words of names and a title's full stop may be between them. It begins with
    the capital, which a search finds quickly, and looks back from there."""
    upper, rest = "A-Z" if ascii_only else UPPER, r"[^\W_]*(?:[.'’&-][^\W_]+)*\+*"
    return re.compile(
        rf"[{upper}](?<![\w/.@#'’&-].){rest}(?:(?:(?<=\b[{upper}][a-z])\.|(?<=\b[{upper}])\.)?"
        rf"(?: (?:(?:{SMALL}) ){{0,2}}|(?<=\.))(?:d['’])?[{upper}]{rest})*(?![/@\w])",
        re.ASCII if ascii_only else re.NOFLAG,
    )


def names_in(text: str) -> tuple[str, ...]:
    """Names of people, organisations, places, products and tools, tickets, hosts and paths, in the order of the text.

    A capital letter shows a name only where no sentence begins; there, a known first name, a known product, an unusual
    spelling or a second capitalized word does. In German, where nouns have one, only these do. Precise before complete.
    """
    original = text = without_invisible(text[:CHARACTERS_NAMED])
    matches = things(text)
    for thing in matches:
        text = text.replace(thing, "#")
    ascii_only = text.isascii()
    words = word_pattern(ascii_only=ascii_only).findall(text)
    german = not GERMAN.isdisjoint(words) and ENGLISH.isdisjoint(ALONE.findall(text))
    for match in capital_run(ascii_only=ascii_only).finditer(text):
        matches += run_names(match[0], begins_sentence(text, match.start()), german)
    matches += (word for word in words if word in TOOLS)
    names = [name for name in dict.fromkeys(matches) if len(name) <= CHARACTERS_A_NAME]
    if len(names) > 1:  # «Nair» after «Priya Nair» adds nothing
        names = [each for each in names if not any(each != other and each in other.split() for other in names)]
    return tuple(sorted(names[:MOST_NAMES], key=original.find))


def things(text: str) -> list[str]:
    """What has a name by its form."""
    matches: list[str] = []
    if "#" in text or "-" in text:
        matches += NUMBERED_THING.findall(text)
    if "/" in text or "." in text or "-0" in text:
        for piece in text.split():
            if not piece.isalpha():
                bare = piece.strip(AROUND).rstrip(".")
                if PLACE.fullmatch(bare) and is_thing(bare):
                    matches.append(bare)
    return matches


def is_thing(text: str) -> bool:
    """Not a date, a ratio or an abbreviation."""
    return any(sign.isalpha() for sign in text) and not (text.count("/") == 1 and text[0] == "/" and len(text) < 4)


def begins_sentence(text: str, start: int) -> bool:
    if start == 0:
        return True
    before = text[max(0, start - 4) : start].rstrip(' \t"“«(')
    return before[-1:] in ENDS_OF_SENTENCES if before else "\n" in text[max(0, start - 4) : start]


@lru_cache(maxsize=16384)
def run_names(run: str, begins: bool, german: bool) -> list[str]:
    """The name in neighbouring capitalized words, if there is one."""
    words = OWNER.sub("", run).split(" ")
    if german and words[0].lower() not in FIRST_NAMES | GERMAN_TITLES:  # «die Rechnung von Carl Zeiss»
        small = next((at for at, word in enumerate(words) if not LETTER_CASE.match(word)), None)
        if small is not None:
            first, rest = " ".join(words[:small]), " ".join(words[small:]).lstrip("abcdefghijklmnopqrstuvwxyz ")
            return [*run_names(first, begins, german), *run_names(rest, False, german)]
    owner = next((at for at, word in enumerate(words[:-1], 1) if OWNER.search(word)), 0)
    if owner and OWNER.sub("", words[0]).lower() in FIRST_NAMES:  # «Maria's Geburtstag»; but «St. Joseph's Hospital»
        named, rest = " ".join(words[:owner]), " ".join(words[owner:]).lstrip("abcdefghijklmnopqrstuvwxyz ")
        return [*run_names(named, begins, german), *run_names(rest, True, german)]
    while (
        words
        and not opens_place(words)
        and is_no_name(words[0], opens=begins and len(words) > 1, alone=len(words) == 1)
    ):
        words, begins = words[1:], False
        while words and not LETTER_CASE.match(words[0]):
            words = words[1:]
    while words and (is_dated(words[-1]) or not LETTER_CASE.match(words[-1])):
        words = words[:-1]
    if begins and len(words) == 2 and words[1].lower() in TOOLS and words[0].lower() not in FIRST_NAMES:
        words = words[1:]  # «Usamos Redis»
    if len(words) > 1:
        return [" ".join(words)] if not german or likely_name(words) else []
    return words if words and single_name(words[0], doubtful=begins or german) else []


def opens_place(words: Sequence[str]) -> bool:
    """New York, but not «New Redis»."""
    follower = words[1].lower() if len(words) > 1 else ""
    known = follower in TOOLS or follower in FIRST_NAMES or is_ordinary(follower) or is_dated(follower)
    return bool(follower) and words[0].lower() in NAME_OPENERS and not known


def likely_name(words: Sequence[str]) -> bool:
    """In German: not «Guten Morgen», but «Thomas Meyer», «Frau Lindner», «Carl Zeiss»."""
    return not any(is_ordinary(word.lower()) or word.lower() in GERMAN for word in words[:1])


def is_dated(word: str) -> bool:
    return word.lower() in WEEKDAYS or word.lower() in MONTHS


def is_no_name(word: str, *, opens: bool, alone: bool) -> bool:
    """Whether a word at the beginning of a run is none of the name: an opener of the sentence, a day, an acronym."""
    lower = CONTRACTION.sub("", word).lower().rstrip(".")  # «I'm Nina»
    if lower in GERMAN_TITLES or (lower in TITLES and not alone):
        return False
    if is_dated(word) or is_closed(lower) or lower in CAPITAL_NO_NAME or lower in GERMAN:
        return True
    return opens and is_ordinary_opener(lower)


@lru_cache(maxsize=16384)
def is_ordinary_opener(lower: str) -> bool:
    return lower not in FIRST_NAMES and lower not in TOOLS and lower not in NAME_OPENERS and is_ordinary(lower)


def single_name(word: str, *, doubtful: bool) -> bool:
    lower = word.lower()
    if lower in FIRST_NAMES or lower in TOOLS:
        return True
    if len(word) < SHORTEST or lower in CAPITAL_NO_NAME or lower in ORDINARY_IN_CAPITALS or lower in TITLES:
        return False
    if word.isupper():
        return False  # an acronym may stand for anything
    marked = any(sign.isupper() for sign in word[1:]) and "-" not in word
    return marked or (not doubtful and not is_ordinary_noun(lower))


@lru_cache(maxsize=16384)
def is_ordinary_noun(lower: str) -> bool:
    return lower in WORD_LISTS["common nouns"] or lower in WORD_LISTS["openers of sentences"]
