"""Takes secrets out of text and of metadata, and says what it took, never what it was."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from nacre.model.memory import Json
from nacre.safety.placeholders import stands_in
from nacre.safety.rule import Rule
from nacre.safety.search import PLACEHOLDER, Finding, Policy, findings

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
    for key, each in value.items():
        inherited = "" if key.lower() in BESIDE else named
        name = unlike(result, cleaned_text(key, "", policy, kinds))
        result[name] = cleaned(each, kind_of(key) or inherited, policy, kinds)
    return result


def unlike(taken: dict[str, Json], key: str) -> str:
    """Two keys that were secrets must not become one entry."""
    number = 2
    name = key
    while name in taken:
        name, number = f"{key} {number}", number + 1
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
