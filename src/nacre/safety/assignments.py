"""Secrets that carry no mark of their own and are known by the name they are given: headers, settings, sentences."""

from __future__ import annotations

from nacre.safety.rule import LAST, NAME_ENDS, Rule

# Words for a password in the larger languages; a name may go on after them: password_prod, passwordText.
PASSWORD_KEYWORDS = ("pass", "pw", "kennwort", "contrase", "senha", "парол", "密码", "密碼", "パスワード", "비밀번호")
OWNERS = (
    "user wifi wi-fi db my admin root the login and test mail sudo guest vpn ssh ftp new old database temp our".split()
)
PASS_START = rf"(?<![A-Za-z])(?:(?<![A-Za-z][ -])|{'|'.join(rf'(?<={owner} )' for owner in OWNERS)})"
PASSWORD = (
    r"(?:(?i:pass(?:words?|wd|phrase|code|wort)|pwd|kennwort|contrase(?:ñ|n)a|senha|(?<=mot de )passe|парол[ьяюе]|"
    r"密码|密碼|パスワード|비밀번호)|"
    # The bare word is mostly a verb, a ticket, or what a test says that has passed.
    rf"(?:{PASS_START}(?:pass|Pass|PASS(?!: )|pw|PW)|(?<=[a-z])Pass)(?=_?\d?[\"'\]]{{0,2}}(?::|[ \t]?=)))"
)
SECRET_KEYWORDS = ("token", "secret", "credential", "key")
BEFORE_KEY = (
    "api access auth private signing encryption master account shared service app admin deploy client session "
    "webhook storage subscription write read license"
).split()
KEY = "|".join(rf"(?<={word})|(?<={word}[ _.-])" for word in BEFORE_KEY)
SECRET = rf"(?i:(?<!publickey)token|secret|credentials?|(?:{KEY})key)"
TAIL = r"[\w-]{0,24}+"
CLOSED = r"(?:\\{0,2}[\"'`\]]){0,3}+"
TYPED = r"(?::\s{0,2}[A-Za-z][\w.\[\]| ]{0,24}?\s{0,2})?"  # password: str = …
# Aligned in columns, or on the next line, as YAML and people write it.
GAP = r"[ \t]{0,40}+(?:\r?\n[ \t]{0,40}+)?"
SET_TO = rf"{CLOSED}[ \t]{{0,40}}+{TYPED}(?:={{1,3}}|:=|=>|:){GAP}"
QUOTE = r"[bruf]{0,2}(?P<quote>\\{0,3}[\"'`])"
INSIDE = r"(?!(?P=quote))(?:\\\S|[^\s\\])"
# A value without quotes ends where the next field begins: a=1;b=2, a=1&b=2, {a: 1, b: 2}.
BARE = r"(?:[^\s\"'`<>(){}\[\],;&|]|[,;&](?![\w. -]{0,30}[=:]|\s|$))"
NO_CALL = r"(?![(\[{.])(?<![.,;:])"
DIGIT_OR_SIGN = r"(?=[^\s\"'`(){}\[\]]{0,60}?[0-9!@#$%^*+?~])"
DIGIT, LETTER = r"(?=[^\s\"'`]{0,120}?[0-9])", r"(?=[^\s\"'`]{0,120}?[A-Za-z])"
THREE_CLASSES = r"(?=\S{0,40}[0-9])(?=\S{0,40}[a-z])(?=\S{0,40}[A-Z!@#$%^*+?~_])"
IS = (
    r"(?:['’]s\s{1,4}|(?:\s{1,4}(?:for|of|to|on|from|in)\s[^\n.:;=]{1,40}?)?,?\s{1,4}"
    r"(?:is|was|are|equals|ist|lautet|war|est|es|é|была?|now|to|be|as|reads?|changed to|set to)"
    r"(?:\s{1,4}(?:now|still|set to|just))?:?\s{1,4})"
)
OPENED, SPOKEN, SHUT = r"[\"'`«“]", r"[^\s\"'`»”<>(){}]", r"[\"'`»”]"
ALGORITHMS = (
    r"(?!(?i:base\d|sha|md5|utf|bcrypt|pbkdf|scrypt|argon|rfc|iso|latin|ascii|aes|hmac|http|x\.?509|oauth|"
    r"\d{1,20}[ -]))"
)


def named(
    kind: str, keywords: tuple[str, ...], pattern: str, *, entropy: float = 0.0, also: str = "", follow: str = ""
) -> Rule:
    return Rule(kind, pattern, keywords, LAST, entropy, where="anywhere", also=also, loose=True, follow=follow)


def beside(name: str, keywords: tuple[str, ...], value: str, *, entropy: float) -> Rule:
    """A random value on the line of a word that announces a secret."""
    return Rule("high_entropy", value, keywords, 0, entropy, where="near", loose=True, name=rf"{name}[^\n]{{0,60}}\Z")


HEADERS = (
    named(
        "authorization_header",
        ("authorization",),
        rf"(?i:authorization){CLOSED}\s{{0,4}}[:=]\s{{0,4}}\\?[\"']?(?i:bearer|basic|token|apikey|digest|negotiate)"
        r"\s{1,4}([\w.~+/=:-]{8,4096})",
    ),
    # Without a scheme: the token itself, which holds a digit.
    named(
        "authorization_header",
        ("authorization",),
        rf"(?i:authorization){CLOSED}\s{{0,4}}[:=]\s{{0,4}}\\?[\"']?"
        rf"(?!(?i:bearer|basic|token|apikey|digest|negotiate)\b){DIGIT}([\w.~+/=:!$%-]{{16,4096}}+)",
        entropy=2.9,
    ),
    named(
        "authorization_header", ("bearer",), rf"(?i:bearer)\s{{1,4}}{DIGIT}{LETTER}([\w.~+/=-]{{16,4096}})", entropy=3.0
    ),
)
COOKIES = (
    named(
        "cookie",
        ("cookie",),
        rf"(?i:cookie){CLOSED}\s{{0,2}}:\s{{0,2}}[\"']?[\w.-]{{1,40}}={DIGIT}{LETTER}([\w.%+/=~-]{{16,4096}})",
        entropy=3.0,
    ),
)
SHELL = (
    named(
        "shell_password",
        ("curl ", "wget ", "http "),
        r"(?i:curl|wget|http)(?=\s)[^\n]{0,200}?\s(?:-u|--user|-a)[ =]?[\"']?[^\s:\"'$]{1,64}:"
        r"([^\s\"'/][^\s\"']{2,128}+)",
        also=" -",
    ),
    named("shell_password", ("sshpass",), r"(?i:sshpass)\s{1,4}-p\s?[\"']?([^\s\"']{3,128})", also=" -p"),
    named(
        "shell_password",
        ("mysql", "mariadb"),
        r"(?i:mysql(?:dump|admin)?|mariadb)\s[^\n]{0,100}?\s-p([^\s\"'-][^\s\"']{3,64})",
        also=" -p",
    ),
    named(
        "shell_password",
        ("--pass", "--pwd"),
        rf"--(?i:pass\w{{0,10}}|pwd)(?:=[\"']?| [\"']?{DIGIT_OR_SIGN})([^\s\"'<\[-][^\s\"']{{3,128}})",
    ),
    # machine HOST login NAME password VALUE, on one line or on three.
    named(
        "shell_password",
        ("login", "machine"),
        r"(?i:machine[ \t]{1,40}\S{1,200}\s{1,8}(?:login|user)|(?<![^\n\t])login)[ \t]{1,40}[^\s\"']{1,64}\s{1,8}"
        r"(?i:password)[ \t]{1,40}([^\s\"'<(\[]{3,128}+)(?=\s|\Z)",
        also="password",
    ),
    named(
        "database_password",
        ("identified by", "identified with", "with password", "encrypted password"),
        r"(?:(?i:identified\s{1,4}(?:with\s{1,4}[\"']?\w{1,32}[\"']?\s{1,4})?by|(?:with|encrypted)\s{1,4}password)"
        r"(?i:\s{1,4}password)?\s{1,4}'([^'\n]{3,128})'|"
        r"(?:IDENTIFIED BY|WITH PASSWORD|ENCRYPTED PASSWORD) \"([^\"\n]{3,128})\")",
    ),
    named(
        "secret",
        ("--token", "--secret", "--api", "--auth"),
        rf"--(?i:(?:api|auth|access)?[-_]?(?:token|secret|key)[\w-]{{0,16}})[ =][\"']?{DIGIT}([\w.~+/=-]{{12,512}})",
        entropy=3.0,
    ),
)
# What stands in when the variable is not set: os.environ.get("DB_PASSWORD") or "…", ${TOKEN:-…}, env.KEY || '…'.
FALLBACK = r"(?:\s{1,4}or\s{1,4}|\s{0,4}(?:\|\||\?\?|\?:)\s{0,4}|[\"'],\s{0,4}(?:default\s?=\s?)?)"
FALLBACKS = (
    named(
        "password",
        PASSWORD_KEYWORDS,
        rf"{PASSWORD}{TAIL}(?=[^\n]{{0,80}}(?i:env|config))[^\n]{{0,80}}?{FALLBACK}(?P<quote>[\"'])"
        rf"((?:{INSIDE}){{4,128}}+)(?P=quote)",
        also="env",
        follow=NAME_ENDS,
    ),
    named(
        "secret",
        SECRET_KEYWORDS,
        rf"{SECRET}{TAIL}(?=[^\n]{{0,80}}(?i:env|config))[^\n]{{0,80}}?{FALLBACK}(?P<quote>[\"']){DIGIT}{LETTER}"
        rf"((?:{INSIDE}){{8,512}}+)(?P=quote)",
        entropy=2.5,
        also="env",
        follow=NAME_ENDS,
    ),
    named(
        "password",
        PASSWORD_KEYWORDS,
        r"(?i:pass\w{0,12}|pwd|secret\w{0,12}|token):?-([^\s}\"'$]{6,128}+)\}",
        also=":-",
        follow=NAME_ENDS,
    ),
)
NAMES = (
    named("password", ("<pass",), r"(?i:<pass(?:word|wd|phrase)?>)([^<\s]{4,128})</"),
    # In capitals and without blanks, as in a .env file, any word is a value.
    named(
        "password",
        ("pass", "secret"),
        r"(?:PASS(?:WORD|WD|PHRASE)?|SECRET)[A-Z0-9_]{0,16}=[\"']?([^\s\"'`$<({\[%\\/~][^\s\"'`]{5,128})",
        follow=NAME_ENDS,
    ),
    named(
        "password",
        PASSWORD_KEYWORDS,
        rf"{PASSWORD}(?:{TAIL}{SET_TO}(?:{QUOTE}((?:{INSIDE}){{4,128}}+)(?P=quote)|"
        rf"{DIGIT_OR_SIGN}({BARE}{{6,128}}+{NO_CALL})|"
        rf"(?<=[:\s]){THREE_CLASSES}([^\s\"'`<>]{{8,128}}(?<![.,;:])))|"
        rf"{IS}(?:{OPENED}?{ALGORITHMS}{DIGIT_OR_SIGN}({SPOKEN}{{6,128}}(?<![.,;:]))|"
        rf"{OPENED}({SPOKEN}{{4,128}}){SHUT})|"
        rf"\s{OPENED}?{ALGORITHMS}{THREE_CLASSES}({SPOKEN}{{8,128}}(?<![.,;:])))",
        follow=NAME_ENDS,
    ),
    named(
        "secret",
        SECRET_KEYWORDS,
        rf"{SECRET}(?:{TAIL}{SET_TO}{QUOTE}?{DIGIT}{LETTER}(?(quote)((?:{INSIDE}){{8,512}}+)(?P=quote)|"
        rf"({BARE}{{12,512}}+{NO_CALL}))|"
        rf"{IS}{OPENED}?{ALGORITHMS}{DIGIT}{LETTER}({SPOKEN}{{12,512}}(?<![.,;:]))|"
        rf">{DIGIT}{LETTER}([^<\s]{{8,512}})</)",
        entropy=2.9,
        follow=NAME_ENDS,
    ),
)
MIXED = r"(?=[\w+/=~-]{0,60}?[0-9])(?=[\w+/=~-]{0,60}?[a-z])(?=[\w+/=~-]{0,60}?[A-Z])[\w+/=~-]{20,512}"
HEX = r"(?=[a-f]{0,31}\d)[0-9a-f]{32,128}"
SMALL = r"(?=[a-z]{0,60}\d)(?=\d{0,60}[a-z])[a-z0-9]{24,128}|(?=[A-Z]{0,60}\d)(?=\d{0,60}[A-Z])[A-Z0-9]{24,128}"
UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
ENTROPIES = (
    beside(rf"(?:{SECRET}|{PASSWORD}|auth|key\b)", (*SECRET_KEYWORDS, "pass", "pwd", "auth"), MIXED, entropy=3.7),
    beside(rf"(?:{SECRET}|{PASSWORD})", (*SECRET_KEYWORDS, "pass", "pwd"), HEX, entropy=3.0),
    beside(rf"(?:{SECRET}|{PASSWORD})", (*SECRET_KEYWORDS, "pass", "pwd"), SMALL, entropy=3.4),
    beside(SECRET, SECRET_KEYWORDS, UUID, entropy=2.5),
)
ASSIGNMENTS = (*HEADERS, *COOKIES, *SHELL, *FALLBACKS, *NAMES, *ENTROPIES)
