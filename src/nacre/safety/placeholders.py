"""Tells a secret from what merely stands in its place: an example, a variable, a word that says «fill me in»."""

from __future__ import annotations

import re

from nacre.safety.randomness import looks_random, slug
from nacre.safety.rule import Rule

# Of any kind of secret. AWS and others end their published examples so; a row of one sign is nobody's key.
ROWS = ("xxxxxx", "XXXXXX", "***", "...", "…", "•••", "####", "____", "0000000000", "EXAMPLE")
# Without the signs between the words.
SAID = (
    *("changeme", "replaceme", "fillme", "placeholder", "redacted", "notareal", "insertyour", "inserthere", "dummy"),
    *("yourown", "yourreal", "yourapi", "yourpass", "yourkey", "yourtoken", "yoursecret", "yourapp", "yourdb"),
)
BEGINS = ("example", "mypass", "mysecret", "mytoken", "mykey", "myapi")
BETWEEN_WORDS = str.maketrans("", "", "-_ ")
TAGGED = re.compile(r"<[\w -]{1,40}>")
# A variable, or a word that stands for any value.
VARIABLE = re.compile(
    r"\$\{.*|\$\(.*|\$[A-Z_][A-Z0-9_]*|\$[a-z_]+|\$\d|%[A-Za-z_]\w*%|%\([A-Za-z_]\w*\)[sdr]|(?:%[sdr][:@/]?)+|\{[^}]*\}.*|"
    r"\[[^\]]*\].*|<.*|"
    r"[xX]{3,}|@[A-Z_]+@|!(?:vault|ref|sub|env|secret|include|getatt)\b.*|"
    r"(?i:pass(?:word|wd|phrase)?\d?|pwd|pw|secret|token|api_?key|none|null|nil|true|false|undefined|unset|"
    r"unknown|empty|"
    r"default|string|str|bytes|int|text|required|optional|yes|no|foo|bar|baz|foobar|spam|eggs|test|testing|tbd|todo|"
    r"n/?a|prompt|stdin|user(?:name)?|admin|value|hidden|masked|disabled|enabled|invalid|missing|basic|bearer|digest)"
)
# Of what is known by its name alone, a piece of code that fetches the secret from elsewhere.
CODE = re.compile(
    r"(?i:os\.|process\.env|import\.meta|getenv|environ|env[.:\[]|config\.|settings\.|self\.|this\.|args\.|secrets\.|"
    r"getpass|input\(|vault:|op://|arn:|file:|ref:|ssm:|keyring|data:).*|"
    r"[A-Za-z_][\w.]*(?:\(.*|\[.*\])[,;:)}]*|"  # read(2), codes[1]
    r"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+|"  # user.password, Vault::read
    r"(?:~|\.{1,2})?/(?:[\w.@-]+/)*[\w.@-]*|[A-Za-z]:\\.*|https?://[^@]*|"
    r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"  # the name of a constant
)
# What a name goes on with when it speaks about a secret and does not hold it: password_length, tokenizer.
ABOUT = re.compile(
    r"(?i:pass|pwd|token|secret|credential|key)[\w-]*?(?i:len|size|min|max|file|path|dir|polic|expir|reset|"
    r"prompt|name|_?id(?![a-z])|ids(?![a-z])|type|count|url|uri|format|"
    r"hint|label|manager|store|callback|column|limit|ttl|timeout|index|pattern|regex|field|error|class|func|generat|"
    r"provider|endpoint|required|list|set(?![a-z])|map|_re(?![a-z])|kind|iz|ring|board|word_?s|usage|cost|"
    r"budget|window|less|able|"
    r"algo|scheme|version|environ|env(?![a-z])|var(?![a-z])|ref(?!resh)|header|param|arg|option|flag|handler|"
    r"status|state|scope|"
    r"chars)"
)


KEY_DATA = re.compile(r"[A-Za-z0-9+/]{24}|Proc-Type|DEK-Info")


def speaks_about(name: str) -> bool:
    return ABOUT.match(name) is not None


def stands_in(secret: str, rule: Rule) -> bool:
    if secret.startswith("-----"):  # a whole block: what a key holds by chance says nothing
        return KEY_DATA.search(secret, 0, 1200) is None
    if example(secret) or VARIABLE.fullmatch(secret):
        return True
    if not rule.loose:
        return False
    if rule.kind == "secret" and rule.keywords and slug(secret):  # in metadata the name alone decides
        return True
    return CODE.fullmatch(secret) is not None and not random_parts(secret)


def example(secret: str) -> bool:
    """Says itself that it is none."""
    if any(row in secret for row in ROWS) or ("<" in secret and TAGGED.search(secret)):
        return True
    words = secret.lower()
    if words.startswith(("your-", "your_")) or words.endswith("example"):
        return True
    words = words.translate(BETWEEN_WORDS)
    return words.startswith(BEGINS) or any(said in words for said in SAID)


def random_parts(secret: str) -> bool:
    """A token of several parts with dots between them is no name of an attribute."""
    return any(looks_random(part) for part in secret.split("."))
