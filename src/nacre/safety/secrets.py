"""Finds secrets in texts and metadata and redacts them; a finding says where and of which kind, never what."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from nacre.files import data_sections
from nacre.model.memory import Json
from nacre.safety.secret_values import Span, entropy, find_in_values, is_about_a_secret, is_placeholder
from nacre.safety.token_rules import (
    HAS_LONG_WORD,
    RULES,
    Row,
    Rule,
    Where,
    branches,
    compiled,
    gate,
    lower,
    ordinary,
    ranked,
)

Entry = tuple[str, tuple[Row, ...]]  # a keyword and the rules that begin with it

PLACEHOLDER = re.compile(r"\[REDACTED(?::[a-z0-9_]+)?\]")
PATTERNS = {name: re.compile("|".join(lines)) for name, lines in data_sections("safety/secret_patterns.txt")}
HARMLESS = re.compile(rf"{PLACEHOLDER.pattern}|{PATTERNS['public block'].pattern}")
PASSES = 8  # removing a secret may uncover another; two passes are usual
LONGEST_LEAD = 80
SHORT = 200  # characters; results for shorter texts between two secrets are cached
BEHIND, AHEAD = 32, 600  # characters around a keyword that decide whether there is a secret
MANY = 100  # places of one keyword from which on results for equal surroundings are cached
ESCAPE = re.compile(r"\\(?=[_-])")  # of Markdown, before what tokens hold
COLUMN_WORDS = ("passw", "passp", "passc", "pwd", "kennwort")  # one of them is in every name of a column of passwords
CELL = re.compile(r"(?=[^0-9!@#$%^+?~]{0,60}[0-9!@#$%^+?~])(?=[^A-Za-z]{0,60}[A-Za-z])\S{6,128}")
PHONE_DIGITS = range(8, 16)  # E.164 allows fifteen
CARD_DIGITS = range(13, 20)


@dataclass(frozen=True, slots=True)
class Finding:
    """Where a secret is in the original text; never the secret itself."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Policy:
    """What counts as a secret. `allow` holds exact strings and patterns of whole secrets that stay."""

    personal: bool = False  # also e-mail addresses, telephone, card and account numbers
    allow: tuple[str | re.Pattern[str], ...] = ()

    def allows(self, secret: str) -> bool:
        return any(secret == each if isinstance(each, str) else each.fullmatch(secret) for each in self.allow)


def findings(text: str, policy: Policy) -> list[Finding]:
    """In order and without overlap; the text between two of them holds no further secret."""
    if not policy.personal and ordinary(text.lower()):
        return []
    result = search(text, policy)
    if ESCAPE.search(text):
        both = ((each.start, each.end, 0, each.kind) for each in (*result, *search_unescaped(text, policy)))
        result = [Finding(kind, start, end) for start, end, _, kind in merge_spans(both)]
    return result


def search_unescaped(text: str, policy: Policy) -> Iterator[Finding]:
    """As Markdown shows it, where a token is written as gh\\_abc; the places are those in the text."""
    cuts = [match.start() - number for number, match in enumerate(ESCAPE.finditer(text))]
    for each in search(ESCAPE.sub("", text), policy):
        start, last = (place + bisect_right(cuts, place) for place in (each.start, each.end - 1))
        yield Finding(each.kind, start, last + 1)


def search(text: str, policy: Policy) -> list[Finding]:
    result = list(find_in_tables(text, policy))
    taken = [(each.start, each.end) for each in result]
    if "[REDACTED" in text or "-----BEGIN" in text:
        taken = sorted([*taken, *(match.span() for match in HARMLESS.finditer(text))])
    pending = list(gaps(0, len(text), taken))
    known: dict[str, list[Span]] = {}
    for _ in range(PASSES):
        fresh: list[tuple[int, int]] = []
        for start, end in pending:
            here = [
                Finding(kind, start + a, start + b) for a, b, _, kind in search_cached(text[start:end], policy, known)
            ]
            if here:
                result += here
                fresh += gaps(start, end, ((each.start, each.end) for each in here))
        if not fresh:
            break
        pending = fresh
    return sorted(result, key=lambda each: each.start)


def find_in_tables(text: str, policy: Policy) -> Iterator[Finding]:
    """The passwords in a column of a Markdown table that is named so."""
    if "|" not in text or not any(word in text.lower() for word in COLUMN_WORDS):
        return
    columns: list[int] = []
    above, at = "", 0
    for line in text.splitlines(keepends=True):
        if "|" not in line:
            columns = []
        elif "-" in line and not line.strip("|:- \t\r\n"):
            names = [above[start:end] for start, end in cells(above)]
            columns = [place for place, name in enumerate(names) if kind_of(name.strip("*_`")) == "password"]
        elif columns:
            places = cells(line)
            for start, end in (places[column] for column in columns if column < len(places)):
                if CELL.fullmatch(line, start, end) and is_withheld(line[start:end].strip("*`"), policy):
                    yield Finding("password", at + start, at + end)
        above, at = line, at + len(line)


def cells(line: str) -> list[tuple[int, int]]:
    """The place of each cell of a table's row, without the blanks around it."""
    places, at = [], 0
    for cell in line.split("|"):
        bare = cell.strip()
        start = at + cell.find(bare)
        places.append((start, start + len(bare)))
        at += len(cell) + 1
    return places[1:] if line.lstrip().startswith("|") else places


def present(lowered: str, where: Where) -> Iterator[Entry]:
    for sign, entries in gated(where, lowered.isascii()):
        if sign in lowered:
            yield from (entry for entry in entries if entry[0] in lowered)


@cache
def gated(where: Where, ascii_only: bool) -> tuple[tuple[str, tuple[Entry, ...]], ...]:
    gates: dict[str, dict[str, tuple[Row, ...]]] = {}
    for row in ranked(where):
        for keyword in row[1].keywords:
            if keyword.isascii() or not ascii_only:
                entries = gates.setdefault(gate(row[1], keyword), {})
                entries[keyword] = (*entries.get(keyword, ()), row)
    return tuple((sign, tuple(entries.items())) for sign, entries in gates.items())


def places(lowered: str, keyword: str, follow: str) -> Iterator[int]:
    """Where the keyword is followed by what it needs; one pattern search for both."""
    return (match.start() for match in followed(keyword, follow).finditer(lowered))


@cache
def followed(keyword: str, follow: str) -> re.Pattern[str]:
    """Not overlapping, as no keyword overlaps itself."""
    return re.compile(re.escape(keyword) + follow)


@cache
def heads() -> tuple[re.Pattern[str], dict[str, tuple[Row, ...]]]:
    """One pattern for the beginnings of all tokens, and the rules for each beginning, the longer ones included."""
    prefixes = sorted({keyword for _, rule in ranked("head") for keyword in rule.keywords})
    table = {
        prefix: tuple(row for row in ranked("head") if any(prefix.startswith(keyword) for keyword in row[1].keywords))
        for prefix in prefixes
    }
    return re.compile(rf"(?<![A-Za-z0-9])(?:{branches(prefixes)})(?=\S{{12}})"), table


def search_cached(text: str, policy: Policy, known: dict[str, list[Span]]) -> list[Span]:
    """Caches short texts: between many secrets there is mostly the same text."""
    if len(text) > SHORT:
        return merge_spans(find_spans(text, policy))
    if text not in known:
        known[text] = merge_spans(find_spans(text, policy))
    return known[text]


def gaps(start: int, end: int, taken: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for a, b in taken:
        if start < a:
            yield start, a
        start = b
    if start < end:
        yield start, end


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Joins overlapping spans, so that no part of a secret stays; the most specific rule names the kind."""
    result: list[Span] = []
    for start, end, rank, kind in sorted(spans):
        if result and start < result[-1][1]:
            first, last, known, name = result[-1]
            result[-1] = (first, max(last, end), *min((known, name), (rank, kind)))
        else:
            result.append((start, end, rank, kind))
    return result


def find_spans(text: str, policy: Policy) -> Iterator[Span]:
    lowered = lower(text)
    for keyword, rows in present(lowered, "anywhere"):
        follows = {row[1].follow for row in rows}
        follow = follows.pop() if len(follows) == 1 else ""
        yield from find_at_places(text, places(lowered, keyword, follow), rows, policy)
    if HAS_LONG_WORD.match(lowered):
        yield from find_in_long_words(text, lowered, policy)
    if policy.personal:
        for start, end, kind in personal_data(text):
            if not policy.allows(text[start:end]):
                yield start, end, len(RULES), kind


def find_in_long_words(text: str, lowered: str, policy: Policy) -> Iterator[Span]:
    pattern, table = heads()
    begun: dict[str, list[int]] = {}
    for match in pattern.finditer(text):
        begun.setdefault(match[0], []).append(match.start())
    for head, where in begun.items():
        yield from find_at_places(text, where, table[head], policy)
    for _, rows in present(lowered, "inside"):
        for row in rows:
            yield from find_inside(text, row, policy)
    for span in find_in_values(text):
        if not policy.allows(text[span[0] : span[1]]):
            yield span


def find_inside(text: str, row: Row, policy: Policy) -> Iterator[Span]:
    known: dict[str, list[Span]] = {}
    for match in compiled(row[1].pattern).finditer(text):
        at = match.start()
        around = text[max(0, at - LONGEST_LEAD) : match.end()]
        if around not in known:
            known[around] = [
                (a - at, b - at, rank, kind) for a, b, rank, kind in accept_match(text, match, row, policy)
            ]
        for a, b, rank, kind in known[around]:
            yield at + a, at + b, rank, kind


def find_at_places(text: str, where: Iterable[int], rows: tuple[Row, ...], policy: Policy) -> Iterator[Span]:
    """Skips places inside a secret of the same rules. Of many places with equal surroundings one is tried, which
    bounds the cost of a text made of keywords."""
    done = 0
    known: dict[str, list[Span]] = {}
    for number, at in enumerate(where):
        if at < done:
            continue
        if number < MANY:
            here = list(try_rules(text, at, rows, policy))
        else:
            around = text[at - BEHIND if at > BEHIND else 0 : at + AHEAD]
            seen = known.get(around)
            if seen is None:
                here = list(try_rules(text, at, rows, policy))
                if all(span[1] <= at + AHEAD for span in here):
                    known[around] = [(a - at, b - at, rank, kind) for a, b, rank, kind in here]
            elif seen:
                here = [(at + a, at + b, rank, kind) for a, b, rank, kind in seen]
            else:
                continue
        for span in here:
            done = max(done, span[1])
            yield span


def try_rules(text: str, at: int, rows: tuple[Row, ...], policy: Policy) -> Iterator[Span]:
    for row in rows:
        match = compiled(row[1].pattern).match(text, at)
        if match is not None:
            yield from accept_match(text, match, row, policy)


def accept_match(text: str, match: re.Match[str], row: Row, policy: Policy) -> Iterator[Span]:
    rank, rule = row
    start, end = match.span(match.lastindex or 0)
    if rule.lead:
        before = text[max(0, start - LONGEST_LEAD) : start]
        start -= len(before) - len(before.rstrip(rule.lead))
    secret = text[start:end]
    if rule.loose and is_about_a_secret(text[match.start() : start]):
        return
    if entropy(secret) >= rule.entropy and not is_placeholder(secret, rule) and not policy.allows(secret):
        yield start, end, rank, rule.kind


def personal_data(text: str) -> Iterator[tuple[int, int, str]]:
    for kind, is_real in PERSONAL.items():
        for match in PATTERNS[kind].finditer(text):
            if is_real(match[0]):
                yield *match.span(), kind


def phone(number: str) -> bool:
    return sum(sign.isdigit() for sign in number) in PHONE_DIGITS


def luhn(card: str) -> bool:
    digits = [int(sign) for sign in card if sign.isdecimal()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return len(digits) in CARD_DIGITS and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def iban(account: str) -> bool:
    """ISO 7064: the country and the check digits go to the end, letters count from ten, and one is left over."""
    bare = "".join(filter(str.isalnum, account))
    turned = bare[4:] + bare[:4]
    return 15 <= len(bare) <= 34 and int("".join(str(int(sign, 36)) for sign in turned)) % 97 == 1


__all__ = ["DEFAULT", "Finding", "Policy", "Scrubbed", "ScrubbedJson", "contains_secret", "scrub", "scrub_json"]

DEFAULT = Policy()
PERSONAL: Mapping[str, Callable[[str], bool]] = {
    "email": bool, "card_number": luhn, "iban": iban, "ssn": bool, "phone": phone,
}  # fmt: skip
# Not secret, although under a name such as «credentials».
NOT_SECRET = frozenset("name user username id type host url port email scope region expires note".split())
NAMED = Rule("secret", "", (), loose=True)
LONGEST_KEY = 80
LEAST_SECRET_NUMBER = 100_000  # a smaller one counts something
BLANK = re.compile(r"\s")


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """`text` without its secrets, which the findings list."""

    text: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class ScrubbedJson:
    value: Json
    kinds: tuple[str, ...] = ()


def scrub(text: str, *, policy: Policy = DEFAULT) -> Scrubbed:
    """Changes only the findings; scrubbing the result again changes nothing."""
    secrets = tuple(findings(text, policy))
    if not secrets:
        return Scrubbed(text)
    return Scrubbed("".join(redact(text, secrets)), secrets)


def redact(text: str, secrets: tuple[Finding, ...]) -> Iterator[str]:
    last = 0
    for each in secrets:
        yield text[last : each.start]
        yield placeholder(each.kind)
        last = each.end
    yield text[last:]


def placeholder(kind: str) -> str:
    return f"[REDACTED:{kind}]"


def contains_secret(text: str, *, policy: Policy = DEFAULT) -> bool:
    return bool(findings(text, policy))


def scrub_json(value: Json, *, policy: Policy = DEFAULT) -> ScrubbedJson:
    """A string under a key such as «password» is always a secret; keys are scrubbed too."""
    kinds: list[str] = []
    return ScrubbedJson(clean_json(value, "", policy, kinds), tuple(kinds))


def clean_json(value: Json, named: str, policy: Policy, kinds: list[str], key: str = "") -> Json:
    """`named` is the kind of secret that the keys above tell, `key` the nearest of them."""
    if isinstance(value, str):
        return clean_text(value, named, policy, kinds, key)
    if isinstance(value, list):
        return [clean_json(each, named, policy, kinds, key) for each in value]
    if isinstance(value, dict):
        return clean_object(value, named, policy, kinds)
    if isinstance(value, int) and abs(value) >= LEAST_SECRET_NUMBER:
        return clean_number(value, policy, kinds, key)
    return value


def clean_object(value: dict[str, Json], named: str, policy: Policy, kinds: list[str]) -> Json:
    result: dict[str, Json] = {}
    copies: Counter[str] = Counter()
    for key, each in value.items():
        inherited = "" if key.lower() in NOT_SECRET else named
        name = unique_key(result, clean_text(key, "", policy, kinds), copies)
        result[name] = clean_json(each, kind_of(key) or inherited, policy, kinds, key)
    return result


def unique_key(taken: dict[str, Json], key: str, copies: Counter[str]) -> str:
    """Numbers a key that is taken, so that two redacted keys do not become one entry; `copies` counts them."""
    name = key
    while name in taken:
        copies[key] += 1
        name = f"{key} {copies[key] + 1}"
    return name


def clean_text(value: str, named: str, policy: Policy, kinds: list[str], key: str = "") -> str:
    if named and is_withheld(value, policy):
        kinds.append(named)
        return placeholder(named)
    result = scrub(value, policy=policy)
    secrets = result.findings or (tuple(findings_under(key, value, policy)) if key else ())
    kinds += (each.kind for each in secrets)
    return "".join(redact(value, secrets)) if secrets else value


def findings_under(key: str, value: str, policy: Policy) -> Iterator[Finding]:
    """What a text would lose that has the value under this key."""
    if len(key) > LONGEST_KEY or BLANK.search(value) or not naming_words().search(key.lower()):
        return
    lead = f'"{key}": "'
    for each in findings(f'{lead}{value}"', policy):
        start, end = each.start - len(lead), each.end - len(lead)
        if start >= 0 and end <= len(value):
            yield Finding(each.kind, start, end)


@cache
def naming_words() -> re.Pattern[str]:
    """What is in every key that makes its value a secret."""
    naming = (rule for rule in RULES if rule.loose or rule.where == "near")
    return re.compile(branches(sorted({keyword for rule in naming for keyword in rule.keywords})))


def clean_number(value: int, policy: Policy, kinds: list[str], key: str) -> Json:
    """As in a text, in which another number follows: «pass: 200000, fail: 3» has no password."""
    digits = str(value)
    lead = f"{key[:LONGEST_KEY]}: "
    for each in findings(f"{lead}{digits}, n: 1", policy):
        if each.start == len(lead) and each.end == len(lead) + len(digits):
            kinds.append(each.kind)
            return placeholder(each.kind)
    return value


def is_withheld(value: str, policy: Policy) -> bool:
    bare = value.strip()
    return bool(bare) and not (PLACEHOLDER.search(bare) or is_placeholder(bare, NAMED) or policy.allows(bare))


def kind_of(key: str) -> str:
    if PATTERNS["password key"].fullmatch(key):
        return "password"
    return "secret" if PATTERNS["secret key"].fullmatch(key) and not PATTERNS["counted"].fullmatch(key) else ""
