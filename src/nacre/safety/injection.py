"""Marks text that tries to give orders to a model: it is still stored and recalled as data, but with a warning."""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import prod

from nacre.safety.hidden import hidden_signs, visible

SUSPICIOUS = 0.5  # from this score on a text should be shown to a person before it is trusted
BLOB = re.compile(r"(?<![\w+/])[A-Za-z0-9+/]{32,8192}+={0,2}")
BLOBS = 20  # of a text that are looked into
SPACED_OUT = re.compile(r"(?<!\w)(?:\w[ .*_-]){5,60}\w(?!\w)")  # i g n o r e, i.g.n.o.r.e
RESTS = re.compile(r"[ .*_-]")

OLD = r"(?:previous|prior|above|earlier|preceding|foregoing|existing|original|initial|former|your|system)"
ORDERS = (
    r"(?:instructions?|prompts?|rules?|guidelines?|directives?|commands?|programming|training|constraints?|orders?)"
)
DROP = r"(?:ignore|disregard|forget|override|bypass|overlook|neglect|discard|do not (?:follow|obey)|stop following)"
WHOSE = r"(?: (?:system|safety|security|core|own|developer|hidden|internal|user))"
NOT_DENIED = r"(?<!never )(?<!not )(?<!n't )(?<!always )"  # «never ignore your instructions» is none
PRIVATE = (
    r"(?:passwords?|secrets?|credentials?|api[- ]?keys?|tokens?|private keys?|conversations?|chat history|"
    r"memor(?:y|ies)|environment variables?|env vars?|\.env|ssh keys?|cookies?)"
)
SEND = r"(?:send|post|upload|forward|exfiltrate|transmit|e-?mail|leak|submit|append|encode|copy)"


@dataclass(frozen=True, slots=True)
class Suspicion:
    """`score` in 0..1, nothing to certain; each reason names a sign once."""

    score: float = 0.0
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sign:
    reason: str
    weight: float
    keywords: tuple[str, ...]  # one of them must be there, in lower case
    pattern: str


def sign(reason: str, weight: float, keywords: str, *patterns: str) -> Sign:
    return Sign(reason, weight, tuple(keywords.split("|")), "|".join(patterns))


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """When a keyword is there for the first time: most texts have none, and all together cost a command 20 ms."""
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


SIGNS = (
    sign(
        "overrides earlier instructions",
        0.9,
        "ignor|disregard|forget|override|bypass|overlook|neglect|discard|do not |stop following|игнорируй|"
        "забудь|忽略|無視|무시",
        rf"{NOT_DENIED}\b{DROP}(?: (?!my\b)[\w']{{1,20}}){{0,3}} {OLD}{WHOSE}? {ORDERS}\b",
        rf"{NOT_DENIED}\b{DROP} (?:all|any|every|the)(?: of)?(?: the| your)? {ORDERS} "
        r"(?:above|before|you (?:were|have been)|so far|that came)",
        rf"{NOT_DENIED}\b{DROP} (?:everything|anything|all)(?: that)? "
        r"(?:above|before this|you (?:were|have been|know|learned)|said so far)",
        r"\bignorier\w* (?:\w+ ){0,2}(?:vorherigen?|bisherigen?|obigen?|früheren?) (?:anweisungen|befehle|regeln)",
        r"\bignor\w+ (?:\w+ ){0,3}instructions (?:précédentes|antérieures|ci-dessus)",
        r"\bignora\w* (?:\w+ ){0,3}(?:instrucciones|instruções|istruzioni) (?:anteriores|previas|precedenti|prévias)",
        r"(?:игнорируй|забудь)\w* (?:\w+ ){0,2}(?:предыдущие|прежние|прошлые) (?:инструкции|указания|команды)",
        r"忽略.{0,6}(?:之前|以上|先前|前面|上述).{0,6}(?:指令|指示|说明|提示)",
        r"(?:以前|これまで|上記|前).{0,4}(?:指示|命令).{0,4}無視|이전.{0,6}(?:지시|명령).{0,6}무시",
    ),
    sign(
        "gives the model a new role",
        0.6,
        "you are n|henceforth|from now on|act as|pretend|roleplay|jailbreak|do anything now|developer mode|"
        "god mode|dan mode",
        r"\byou are (?:now|henceforth) (?:dan\b|an? (?:\w+ ){0,2}(?:ai|assistant|model|bot|agent|hacker|pirate)\b|"
        r"in (?:developer|god|debug|admin|jailbreak|unrestricted|dan|root) mode|unrestricted|free from|"
        r"no longer bound|the (?:system|root|administrator))",
        r"\byou are no longer (?:an? |the )?(?:\w+ ){0,2}(?:ai|assistant|model|bot|bound|restricted)\b",
        r"\bfrom now on,? you (?:will |must |shall )?(?:act as|pretend|obey|ignore|respond as|"
        r"are an? (?:\w+ ){0,2}(?:ai|assistant|model|bot|hacker|pirate)\b)",
        r"\b(?:act as|pretend (?:to be|you are|that you are)|roleplay as) (?:an? )?(?:\w+ )?(?:unrestricted|"
        r"unfiltered|"
        r"uncensored|jailbroken|evil|dan\b|root|system administrator)",
        r"\b(?:jailbreak mode|do anything now|developer mode (?:enabled|is on|activated)|god mode enabled|"
        r"dan mode)\b",
    ),
    sign(
        "asks for the system prompt",
        0.8,
        " prompt| instruction| message| above",
        r"\b(?:reveal|print|show|repeat|output|leak|display|tell me|give me|send|expose|dump|write out|"
        r"what (?:is|are|were))\b(?: [\w']{1,20}){0,4} (?:(?:system|hidden|initial|secret|developer|original) prompt|"
        r"(?:system|hidden|developer) instructions|your (?:initial|secret|original|hidden|"
        r"system) (?:instructions|message))\b",
        r"\brepeat (?:everything|all|the words|the text) above\b",
    ),
    sign("speaks of a system prompt", 0.15, " prompt", r"\b(?:system|developer) prompts?\b"),
    sign(
        "announces new instructions",
        0.6,
        "instruction|prompt|directive| override|[system|[admin|end of ",
        r"\b(?:new|updated|revised|real|actual|hidden|secret) (?:system )?(?:instructions?|prompt|directives?) ?"
        r"(?::|from (?:the )?(?:system|admin|developers?|openai|anthropic))",
        r"\b(?:admin|system|root|developer)(?:istrator)? override\b|\[(?:system|admin) (?:message|note|prompt)\]",
        r"\bend of (?:the )?(?:system|user) (?:prompt|message|input)\b",
    ),
    sign(
        "carries role markers",
        0.7,
        "<|</|[inst|[/inst|<<|##|<system|<assistant|<admin|<instructions|system|developer",
        r"<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|eot_id|start_header_id|"
        r"begin_of_text)\b[^|\n]{0,24}\|>",
        r"\[/?INST\]|<</?SYS>>|^#{2,4} ?(?:system|instructions?) ?:",
        r"</?(?:system|system[-_ ]?prompt|system[-_]message|assistant|admin|instructions)>",
        r"^[ \t]*(?:system|developer) ?(?:prompt|message)? ?: ?(?:you|ignore|always|never|the (?:assistant|model|"
        r"user)|do not)\b",
    ),
    sign(
        "carries the syntax of a tool call",
        0.6,
        "<|tool_call|function_call|to=functions|arguments|parameters|input",
        r"</?(?:tool_call|tool_use|function_calls?|invoke|tool_response|function_results?)\b[^>\n]{0,100}>",
        r"<\|?(?:tool|python)[_ ]?(?:call|tag|calls_begin)\|?>|\bto=functions\.\w+",
        r"\"(?:tool_calls?|function_call)\" ?: ?[\[{]|\{ ?\"(?:tool|function|"
        r"name)\" ?: ?\"\w+\", ?\"(?:arguments|parameters|input)\" ?:",
    ),
    sign(
        "sends private data elsewhere",
        0.8,
        "http|webhook|curl|.env|/etc/|wget|fetch|nc ",
        rf"\b{SEND}\b[^.\n]{{0,60}}\b{PRIVATE}\b[^\n]{{0,60}}(?:https?://|webhook)",
        rf"\b{SEND}\b[^.\n]{{0,40}}\b(?:to|at) https?://[^\s]{{1,200}}[^\n]{{0,60}}\b{PRIVATE}\b",
        r"!\[[^\]\n]{0,100}\]\(https?://[^)\s]{1,200}[?&][\w.-]{1,30}=(?:[{<$%]|[^)\s]{0,60}(?:data|secret|"
        r"history|summary))",
        r"\b(?:curl|wget|fetch|nc)\b[^\n]{0,200}(?:\$\((?:cat|env|printenv)|@?~?/?\.(?:env|ssh|aws)\b|/etc/passwd)",
        r"\b(?:cat|printenv|env)\b[^\n|]{0,80}\| ?(?:curl|nc|wget)\b",
    ),
    sign(
        "hides from the user",
        0.6,
        "the user|to anyone",
        r"\b(?:without|avoid) (?:telling|informing|notifying|alerting|asking) the user\b|"
        r"\bwithout the user(?:'s)? (?:knowing|noticing|knowledge|consent)",
        r"\b(?:do not|don't|never) (?:tell|inform|alert|reveal (?:this|it) to|mention (?:this|it|"
        r"that) to) the user (?:about (?:this|it|these)|"
        r"that you|of this|what you)",
        r"\b(?:do not|don't|never) (?:reveal|mention|disclose) (?:this|these|it|"
        r"that)(?: \w+){0,2} to (?:the user|anyone)\b",
        r"\b(?:keep|hide|conceal) (?:this|it|these)(?: \w+){0,2} (?:secret|hidden)? ?from the user\b",
    ),
    sign("pipes a download into a shell", 0.4, "curl|wget", r"\b(?:curl|wget)\b[^\n|]{0,200}\| ?(?:sudo )?\w?\w?sh\b"),
    sign(
        "plants a reply",
        0.45,
        "when",
        r"\bwhen(?:ever)? (?:the user|anyone|someone|asked)\b[^.\n]{0,80}\b(?:always )?(?:reply|respond|answer|"
        r"say|recommend|claim)"
        r"(?: only)? (?:with|that|exactly|:|\")",
    ),
)  # fmt: skip
STRONG = tuple(each for each in SIGNS if each.weight >= SUSPICIOUS)


def suspicion(text: str) -> Suspicion:
    """Looks also behind invisible characters, letters set apart, and base64; a rule for work is no suspicion."""
    shown = plain(text)
    found = {**dict(hidden_signs(text)), **dict(told(shown, SIGNS)), **dict(encoded(shown))}
    return Suspicion(round(1 - prod(1 - weight for weight in found.values()), 3), tuple(found))


def plain(text: str) -> str:
    seen = unicodedata.normalize("NFKC", visible(text)).replace("’", "'")
    joined = SPACED_OUT.sub(lambda match: RESTS.sub("", match[0]), seen)
    return re.sub(r"[ \t]+", " ", joined)


def told(text: str, signs: tuple[Sign, ...]) -> Iterator[tuple[str, float]]:
    lowered = text.lower()
    for each in signs:
        if any(keyword in lowered for keyword in each.keywords) and compiled(each.pattern).search(text):
            yield each.reason, each.weight


def encoded(text: str) -> Iterator[tuple[str, float]]:
    for number, blob in enumerate(BLOB.finditer(text)):
        if number >= BLOBS:
            return
        inside = decoded(blob[0])
        if inside and any(told(inside, STRONG)):
            yield "hides orders in base64", 0.9


def decoded(blob: str) -> str:
    try:
        raw = base64.b64decode(blob.rstrip("=")[: len(blob.rstrip("=")) // 4 * 4], validate=True)
        return raw.decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return ""
