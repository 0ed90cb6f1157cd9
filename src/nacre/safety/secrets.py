"""Finds the secrets in a text, each of them once, and never keeps one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from nacre.model.memory import Json
from nacre.safety.personal import personal_data
from nacre.safety.secret_values import Span, entropy, in_values, speaks_about, stands_in
from nacre.safety.token_rules import HAS_LONG_WORD, RULES, Row, Rule, heads, lower, ordinary, places, present

Mode = Literal["redact", "refuse", "allow"]

PLACEHOLDER = re.compile(r"\[REDACTED(?::[a-z0-9_]+)?\]")
# A certificate or a public key is random and no secret; only base64 is accepted in it, so that nothing hides there.
PUBLIC_BLOCK = (
    r"-----BEGIN (?:[A-Z0-9 ]{0,30}PUBLIC KEY(?: BLOCK)?|[A-Z0-9 ]{0,20}CERTIFICATE(?: REQUEST)?|X509 CRL|"
    r"PGP SIGNATURE)-----(?:\s{1,4}(?:Version|Comment|Hash): [^\n]{0,100})*+(?:[A-Za-z0-9+/=\s]|\\[nr])*+-----END"
)
HARMLESS = re.compile(rf"{PLACEHOLDER.pattern}|{PUBLIC_BLOCK}")
PASSES = 8  # what a found secret had hidden is looked for again; two passes are the rule
LONGEST_LEAD = 80
SHORT = 200  # characters of a text between two secrets that is looked up before it is searched again
BEHIND, AHEAD = 32, 600  # of a keyword: all that decides whether a secret stands there
MANY = 100  # places of one keyword from which on equal surroundings are looked up


@dataclass(frozen=True, slots=True)
class Finding:
    """Where a secret stood, in the text as it was given; never the secret itself."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Policy:
    """What becomes of secrets. `allow` holds exact strings and patterns that fit a whole secret; they are let be."""

    mode: Mode = "redact"
    personal: bool = False  # also e-mail addresses, telephone, card and account numbers
    allow: tuple[str | re.Pattern[str], ...] = ()

    def allows(self, secret: str) -> bool:
        return any(secret == each if isinstance(each, str) else each.fullmatch(secret) for each in self.allow)


def findings(text: str, policy: Policy) -> list[Finding]:
    """In order and without overlap; what lies between two of them, read alone, holds no further one."""
    if not policy.personal and ordinary(text.lower()):
        return []
    found: list[Finding] = []
    pending = [(0, len(text))]
    if "[REDACTED" in text or "-----BEGIN" in text:
        pending = list(gaps(0, len(text), (match.span() for match in HARMLESS.finditer(text))))
    known: dict[str, list[Span]] = {}
    for _ in range(PASSES):
        fresh: list[tuple[int, int]] = []
        for start, end in pending:
            here = [Finding(kind, start + a, start + b) for a, b, _, kind in searched(text[start:end], policy, known)]
            if here:
                found += here
                fresh += gaps(start, end, ((each.start, each.end) for each in here))
        if not fresh:
            break
        pending = fresh
    return sorted(found, key=lambda each: each.start)


def searched(text: str, policy: Policy, known: dict[str, list[Span]]) -> list[Span]:
    """Between many secrets stands mostly the same: it is searched once."""
    if len(text) > SHORT:
        return merged(spans(text, policy))
    if text not in known:
        known[text] = merged(spans(text, policy))
    return known[text]


def gaps(start: int, end: int, taken: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for a, b in taken:
        if start < a:
            yield start, a
        start = b
    if start < end:
        yield start, end


def merged(found: Iterable[Span]) -> list[Span]:
    """Overlapping spans become one, so that no end of a secret is left over; the surest rule names it."""
    result: list[Span] = []
    for start, end, rank, kind in sorted(found):
        if result and start < result[-1][1]:
            first, last, known, name = result[-1]
            result[-1] = (first, max(last, end), *min((known, name), (rank, kind)))
        else:
            result.append((start, end, rank, kind))
    return result


def spans(text: str, policy: Policy) -> Iterator[Span]:
    lowered = lower(text)
    for keyword, rows in present(lowered, "anywhere"):
        follows = {row[1].follow for row in rows}
        follow = follows.pop() if len(follows) == 1 else ""
        yield from at_places(text, places(lowered, keyword, follow), rows, policy)
    if HAS_LONG_WORD.match(lowered):
        yield from in_long_words(text, lowered, policy)
    if policy.personal:
        for start, end, kind in personal_data(text):
            if not policy.allows(text[start:end]):
                yield start, end, len(RULES), kind


def in_long_words(text: str, lowered: str, policy: Policy) -> Iterator[Span]:
    pattern, table = heads()
    begun: dict[str, list[int]] = {}
    for match in pattern.finditer(text):
        begun.setdefault(match[0], []).append(match.start())
    for head, where in begun.items():
        yield from at_places(text, where, table[head], policy)
    for _, rows in present(lowered, "inside"):
        for row in rows:
            yield from inside(text, row, policy)
    for span in in_values(text):
        if not policy.allows(text[span[0] : span[1]]):
            yield span


def inside(text: str, row: Row, policy: Policy) -> Iterator[Span]:
    known: dict[str, list[Span]] = {}
    for match in row[2].finditer(text):
        at = match.start()
        around = text[max(0, at - LONGEST_LEAD) : match.end()]
        if around not in known:
            known[around] = [(a - at, b - at, rank, kind) for a, b, rank, kind in accepted(text, match, row, policy)]
        for a, b, rank, kind in known[around]:
            yield at + a, at + b, rank, kind


def at_places(text: str, where: Iterable[int], rows: tuple[Row, ...], policy: Policy) -> Iterator[Span]:
    """A place inside a secret already found by the same rules is not tried; of many places with equal surroundings
    one is tried, which bounds the cost of a text made of keywords."""
    done = 0
    known: dict[str, list[Span]] = {}
    for number, at in enumerate(where):
        if at < done:
            continue
        if number < MANY:
            here = list(tried(text, at, rows, policy))
        else:
            around = text[at - BEHIND if at > BEHIND else 0 : at + AHEAD]
            seen = known.get(around)
            if seen is None:
                here = list(tried(text, at, rows, policy))
                if all(span[1] <= at + AHEAD for span in here):
                    known[around] = [(a - at, b - at, rank, kind) for a, b, rank, kind in here]
            elif seen:
                here = [(at + a, at + b, rank, kind) for a, b, rank, kind in seen]
            else:
                continue
        for span in here:
            done = max(done, span[1])
            yield span


def tried(text: str, at: int, rows: tuple[Row, ...], policy: Policy) -> Iterator[Span]:
    for row in rows:
        match = row[2].match(text, at)
        if match is not None:
            yield from accepted(text, match, row, policy)


def accepted(text: str, match: re.Match[str], row: Row, policy: Policy) -> Iterator[Span]:
    rank, rule, _ = row
    start, end = match.span(rule.group if rule.group >= 0 else match.lastindex or 0)
    if rule.lead:
        before = text[max(0, start - LONGEST_LEAD) : start]
        start -= len(before) - len(before.rstrip(rule.lead))
    secret = text[start:end]
    if rule.loose and speaks_about(text[match.start() : start]):
        return
    if entropy(secret) >= rule.entropy and not stands_in(secret, rule) and not policy.allows(secret):
        yield start, end, rank, rule.kind


__all__ = ["DEFAULT", "Finding", "Policy", "Scrubbed", "ScrubbedJson", "contains_secret", "scrub", "scrub_json"]

DEFAULT = Policy()
PASSWORD_KEY = re.compile(
    r"(?i).*(?:pass(?:word|wd|phrase|code)|pwd|kennwort|passwort)s?(?:_?\d+|_?(?:prod|dev|test))?"
)
SECRET_KEY = re.compile(
    r"(?i)(?:.*[_ -])?(?:secret|token|credential|authorization|bearer|private_?key)s?(?:_?(?:key|value))?|"
    r".*(?:api|access|secret|auth|private|signing|encryption|account|master)[_ -]?keys?|"
    r".*(?:Token|Secret)s?|[a-z_]*(?:access|auth|bearer|refresh|client|session)(?:token|secret)s?"
)
# Tokens of a language model, of a page, of a grammar.
COUNTED = re.compile(
    r"(?i)(?:.*[_ -])?(?:max|min|num|n|total|input|output|prompt|completion|used|stop|special|eos|bos|pad|unk|sep|cls|"
    r"mask|next|page|cancel(?:lation)?|first|last)[_ -]?tokens?"
)
# Beside a secret, under a name such as «credentials», and none itself.
BESIDE = {
    "name",
    "user",
    "username",
    "id",
    "type",
    "host",
    "url",
    "port",
    "email",
    "scope",
    "region",
    "expires",
    "note",
}
NAMED = Rule("secret", "", (), loose=True)


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """`text` without its secrets, unless the policy allows them; the findings stand in either case."""

    text: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class ScrubbedJson:
    value: Json
    kinds: tuple[str, ...] = ()


def scrub(text: str, *, policy: Policy = DEFAULT) -> Scrubbed:
    """Scrubbing what was scrubbed changes nothing, and nothing outside the findings is touched."""
    found = tuple(findings(text, policy))
    if policy.mode == "allow" or not found:
        return Scrubbed(text, found)
    return Scrubbed("".join(redacted(text, found)), found)


def redacted(text: str, found: tuple[Finding, ...]) -> Iterator[str]:
    last = 0
    for each in found:
        yield text[last : each.start]
        yield placeholder(each.kind)
        last = each.end
    yield text[last:]


def placeholder(kind: str) -> str:
    return f"[REDACTED:{kind}]"


def contains_secret(text: str, *, policy: Policy = DEFAULT) -> bool:
    return bool(findings(text, policy))


def scrub_json(value: Json, *, policy: Policy = DEFAULT) -> ScrubbedJson:
    """A string under a key such as «password» is a secret whatever it looks like; names of keys are scrubbed too."""
    kinds: list[str] = []
    return ScrubbedJson(cleaned(value, "", policy, kinds), tuple(kinds))


def cleaned(value: Json, named: str, policy: Policy, kinds: list[str]) -> Json:
    if isinstance(value, str):
        return cleaned_text(value, named, policy, kinds)
    if isinstance(value, list):
        return [cleaned(each, named, policy, kinds) for each in value]
    if isinstance(value, dict):
        return cleaned_object(value, named, policy, kinds)
    return value


def cleaned_object(value: dict[str, Json], named: str, policy: Policy, kinds: list[str]) -> Json:
    result: dict[str, Json] = {}
    copies: Counter[str] = Counter()
    for key, each in value.items():
        inherited = "" if key.lower() in BESIDE else named
        name = unique_key(result, cleaned_text(key, "", policy, kinds), copies)
        result[name] = cleaned(each, kind_of(key) or inherited, policy, kinds)
    return result


def unique_key(taken: dict[str, Json], key: str, copies: Counter[str]) -> str:
    """Numbers a key that is taken, so that two redacted keys do not become one entry; `copies` counts them."""
    name = key
    while name in taken:
        copies[key] += 1
        name = f"{key} {copies[key] + 1}"
    return name


def cleaned_text(value: str, named: str, policy: Policy, kinds: list[str]) -> str:
    if named and withheld(value, policy):
        kinds.append(named)
        return value if policy.mode == "allow" else placeholder(named)
    result = scrub(value, policy=policy)
    kinds += (each.kind for each in result.findings)
    return result.text


def withheld(value: str, policy: Policy) -> bool:
    bare = value.strip()
    return bool(bare) and not (PLACEHOLDER.search(bare) or stands_in(bare, NAMED) or policy.allows(bare))


def kind_of(key: str) -> str:
    if PASSWORD_KEY.fullmatch(key):
        return "password"
    return "secret" if SECRET_KEY.fullmatch(key) and not COUNTED.fullmatch(key) else ""
