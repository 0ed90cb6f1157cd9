"""The rules that find secrets: token formats, names, sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from string import ascii_letters, digits
from typing import Literal

Where = Literal["head", "inside", "near", "anywhere"]

LAST = -1  # the group that matched last: of several ways to write a value, one fits
RUN_START = r"(?<![A-Za-z0-9])"  # a token begins a word; «_» may stand before it, as in a name made of it
NAME_ENDS = r"(?=[\w-]{0,40}+[\"'`\]\\:=>\s,’}-])"  # of a name: what may stand between it and its value


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret and how it is found, by `where`:

    - head: `pattern` begins with one of the `keywords`, in their own case, at the start of a word;
    - inside: `pattern` is searched in any text that holds a keyword and a long word;
    - near: `pattern` fits a whole random-looking value, and `name` is before it on the same line;
    - anywhere: `pattern` is tried at every keyword, and begins there.

    `entropy` is the least bits per character of the secret. Every pattern is bounded: the cost of one try does not
    depend on the length of the text.
    """

    kind: str
    pattern: str
    keywords: tuple[str, ...]
    group: int = 0
    entropy: float = 0.0
    lead: str = ""  # signs before the keyword that belong to the secret too
    where: Where = "head"
    also: str = ""  # another text without which the keyword means nothing
    loose: bool = False  # known by its name alone, so that references to a secret must be excluded
    name: str = ""
    follow: str = ""  # what must come after the keyword, in lower case


def token(kind: str, body: str, *prefixes: str, entropy: float = 2.5) -> Rule:
    """A secret that says by its first characters what it is; it reaches to the end of its word."""
    heads = "|".join(prefix.replace(".", r"\.").replace("$", r"\$") for prefix in prefixes)
    return Rule(kind, rf"{RUN_START}(?:{heads}){body}", prefixes, entropy=entropy)


def near(kind: str, keywords: tuple[str, ...], value: str, *, named: str = "", entropy: float = 3.0) -> Rule:
    """A secret without a mark of its own, known by the service that is named before it (and by `named` after that)."""
    between = rf"[^\n]{{0,40}}?{named}" if named else ""
    name = rf"(?:{'|'.join(keywords)}){between}[^\n]{{0,60}}\Z"
    return Rule(kind, value, keywords, entropy=entropy, where="near", name=name)


# Words for a password in several languages; a name may continue after them: password_prod, passwordText.
PASSWORD_KEYWORDS = (
    *("pass", "pw", "kennwort", "contrase", "senha", "wachtwoord", "haslo", "hasło", "heslo", "парол"),
    *("密码", "密碼", "パスワード", "비밀번호"),
)
OWNERS = (
    "user wifi wi-fi db my admin root the login and test mail sudo guest vpn ssh ftp new old database temp our".split()
)
PASS_START = rf"(?<![A-Za-z])(?:(?<![A-Za-z][ -])|{'|'.join(rf'(?<={owner} )' for owner in OWNERS)})"
NOT_COUNTED = r"(?!\s?[=:]\s{0,4}\d{1,12}[\s,;/|]{1,3}\w{1,20}\s?[=:]\s?\d)"  # pass=200000 fail=3
NAME_PART = r"(?![A-Za-z])[A-Z0-9_]{0,16}"
PASSWORD = (
    r"(?:(?i:pass(?:words?|wd|phrase|code|wort)|pwd|kennwort|contrase(?:ñ|n)a|senha|(?<=mot de )passe|"
    r"wachtwoord|has(?:ł|l)o|heslo|парол[ьяюе]|密码|密碼|パスワード|비밀번호)|"
    # The bare word is mostly a verb, a ticket, or the result of a test.
    rf"(?:{PASS_START}(?:pass|Pass|PASS(?!: )|pw|PW)|(?<=[a-z])Pass){NOT_COUNTED}(?=_?\d?[\"'\]]{{0,2}}(?::|[ \t]?=)))"
)
# Not COMPASS, PASSENGERS, PASSED or SECRETARY: the bare word must be a whole part of the name.
CAPITAL_NAME = (
    rf"(?:PASS(?:WORD|WD|PHRASE)[A-Z0-9_]{{0,16}}|"
    rf"(?:(?<![A-Z])|(?<=DB)|(?<=SQL)|(?<=USER)|(?<=ROOT)|(?<=ADMIN)|(?<=MAIL)|(?<=SMTP))PASS{NOT_COUNTED}{NAME_PART}|"
    rf"SECRET(?:S|KEY|TOKEN)?{NAME_PART})"
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
# «password for Jenkins»
PURPOSE = r"\s{1,4}(?:for|of|to|on|from|in|für|fuer|zum|voor|pour|para|per|do|dla)\s[^\n.:;=]{1,40}?"
IS = (
    rf"(?:['’]s\s{{1,4}}|{PURPOSE}\s{{0,2}}[:=]\s{{0,4}}|(?:{PURPOSE})?,?\s{{1,4}}"
    r"(?:is|was|are|equals|ist|lautet|war|est|es|é|è|je|была?|now|to|be|as|reads?|changed to|set to)"
    r"(?:\s{1,4}(?:now|still|set to|just))?:?\s{1,4})"
)
OPENED, WORD_CHARACTER, SHUT = r"[\"'`«“]", r"[^\s\"'`»”<>(){}]", r"[\"'`»”]"
VALUE_IN_SENTENCE = rf"{OPENED}?({WORD_CHARACTER}{{6,128}}(?<![.,;:]))"
# Chinese, Japanese and Korean put no blank between the word, the verb and the value.
EAST_ASIAN_PASSWORDS = ("密码", "密碼", "口令", "パスワード", "비밀번호", "암호")
ASCII_VALUE = (
    r"(?=[!-~]{0,60}?[0-9!@#$%^*+?~])(?=[!-~]{0,60}?[A-Za-z])"
    r"((?![\"'`<({\[])[!-~]{5,127}[^\s.,;:\"'`)\]}\x7f-\U0010ffff])"
)
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
    named("authorization_header", ("authorization",),
        rf"(?i:authorization){CLOSED}\s{{0,4}}[:=]\s{{0,4}}\\?[\"']?(?i:bearer|basic|token|apikey|digest|negotiate)"
        r"\s{1,4}([\w.~+/=:-]{8,4096})"),
    # Without a scheme: the token itself, which holds a digit.
    named("authorization_header", ("authorization",),
        rf"(?i:authorization){CLOSED}\s{{0,4}}[:=]\s{{0,4}}\\?[\"']?"
        rf"(?!(?i:bearer|basic|token|apikey|digest|negotiate)\b){DIGIT}([\w.~+/=:!$%-]{{16,4096}}+)", entropy=2.9),
    named("authorization_header", ("bearer",), rf"(?i:bearer)\s{{1,4}}{DIGIT}{LETTER}([\w.~+/=-]{{16,4096}})",
        entropy=3.0),
)  # fmt: skip
COOKIES = (
    named("cookie", ("cookie",),
        rf"(?i:cookie){CLOSED}\s{{0,2}}:\s{{0,2}}[\"']?[\w.-]{{1,40}}={DIGIT}{LETTER}([\w.%+/=~-]{{16,4096}})",
        entropy=3.0),
)  # fmt: skip
SHELL = (
    named("shell_password", ("curl ", "wget ", "http "),
        r"(?i:curl|wget|http)(?=\s)[^\n]{0,200}?\s(?:-u|--user|-a)[ =]?[\"']?[^\s:\"'$]{1,64}:"
        r"([^\s\"'/][^\s\"']{2,128}+)", also=" -"),
    named("shell_password", ("sshpass",), r"(?i:sshpass)\s{1,4}-p\s?[\"']?([^\s\"']{3,128})", also=" -p"),
    named("shell_password", ("mysql", "mariadb"),
        r"(?i:mysql(?:dump|admin)?|mariadb)\s[^\n]{0,100}?\s-p(?![a-z-]{2,20}=)([^\s\"'-][^\s\"']{3,64})", also=" -p"),
    named("shell_password", ("--pass", "--pwd"),
        rf"--(?i:pass\w{{0,10}}|pwd)(?:=[\"']?| [\"']?{DIGIT_OR_SIGN})([^\s\"'<\[-][^\s\"']{{3,128}})"),
    named("shell_password", ("redis-cli", "valkey-cli"),
        r"(?i:redis|valkey)-cli\s(?:[^\n]{0,100}?\s)?(?:-a|--pass)[ \t]{1,4}[\"']?([^\s\"'$-][^\s\"']{3,128})",
        also="-cli"),
    # machine HOST login NAME password VALUE, on one line or on three.
    named("shell_password", ("login", "machine"),
        r"(?i:machine[ \t]{1,40}\S{1,200}\s{1,8}(?:login|user)|(?<![^\n\t])login)[ \t]{1,40}[^\s\"']{1,64}\s{1,8}"
        r"(?i:password)[ \t]{1,40}([^\s\"'<(\[]{3,128}+)(?=\s|\Z)", also="password"),
    named("database_password", ("identified by", "identified with", "with password", "encrypted password"),
        r"(?:(?i:identified\s{1,4}(?:with\s{1,4}[\"']?\w{1,32}[\"']?\s{1,4})?by|(?:with|encrypted)\s{1,4}password)"
        r"(?i:\s{1,4}password)?\s{1,4}'([^'\n]{3,128})'|"
        r"(?:IDENTIFIED BY|WITH PASSWORD|ENCRYPTED PASSWORD) \"([^\"\n]{3,128})\")"),
    named("secret", ("--token", "--secret", "--api", "--auth"),
        rf"--(?i:(?:api|auth|access)?[-_]?(?:token|secret|key)[\w-]{{0,16}})[ =][\"']?{DIGIT}([\w.~+/=-]{{12,512}})",
        entropy=3.0),
)  # fmt: skip
# The default of an unset variable: os.environ.get("DB_PASSWORD") or "…", ${TOKEN:-…}, env.KEY || '…'.
FALLBACK = r"(?:\s{1,4}or\s{1,4}|\s{0,4}(?:\|\||\?\?|\?:)\s{0,4}|[\"'],\s{0,4}(?:default\s?=\s?)?)"
FALLBACKS = (
    named("password", PASSWORD_KEYWORDS,
        rf"{PASSWORD}{TAIL}(?=[^\n]{{0,80}}(?i:env|config))[^\n]{{0,80}}?{FALLBACK}(?P<quote>[\"'])"
        rf"((?:{INSIDE}){{4,128}}+)(?P=quote)", also="env", follow=NAME_ENDS),
    named("secret", SECRET_KEYWORDS,
        rf"{SECRET}{TAIL}(?=[^\n]{{0,80}}(?i:env|config))[^\n]{{0,80}}?{FALLBACK}(?P<quote>[\"']){DIGIT}{LETTER}"
        rf"((?:{INSIDE}){{8,512}}+)(?P=quote)", entropy=2.5, also="env", follow=NAME_ENDS),
    named("password", PASSWORD_KEYWORDS, r"(?i:pass\w{0,12}|pwd|secret\w{0,12}|token):?-([^\s}\"'$]{6,128}+)\}",
        also=":-", follow=NAME_ENDS),
)  # fmt: skip
SENTENCES = (
    named("password", EAST_ASIAN_PASSWORDS,
        rf"(?:{'|'.join(EAST_ASIAN_PASSWORDS)})\s{{0,2}}(?:[:：=＝]|是|为|為|は|が|는|은|이|가|\s)\s{{0,4}}[\"'「『“]?{ALGORITHMS}{ASCII_VALUE}"),
    # The short words are mostly a verb or a ticket, so the value must look like a password.
    named("password", ("pass ", "pw "),
        rf"{PASS_START}(?i:pass|pw)(?:{PURPOSE})?(?:\s{{0,2}}[:=]|\s(?:is|was))\s{{1,4}}{ALGORITHMS}{THREE_CLASSES}"
        rf"{VALUE_IN_SENTENCE}"),
    # A name and a password side by side.
    named("password", ("user", "login"),
        rf"(?i:user(?:name)?|login)\s{{0,2}}[:=]?\s{{1,3}}[^\s,;:\"']{{1,64}}(?:,|;| and| with|\s/)\s{{1,3}}"
        rf"(?i:password|passwd|passwort|pass)\s{{0,2}}[:=]?\s{{1,3}}{ALGORITHMS}{DIGIT_OR_SIGN}{VALUE_IN_SENTENCE}",
        also="pass"),
    named("password", ("creds", "credentials", "login:", "login for", "login is"),
        rf"(?i:creds|credentials|login)(?:{PURPOSE})?(?:\s{{0,2}}[:=]|\s(?:is|are|were))\s{{1,4}}(?!\w{{2,12}}://)"
        rf"[\w.@+-]{{2,64}}(?::|\s/\s){THREE_CLASSES}((?![/\"'`])[^\s\"'`»”<>(){{}}]{{6,128}}(?<![.,;:]))"),
    named("secret", ("totp", "2fa", "otp", "mfa", "authenticator"),
        r"(?i:totp|2fa|otp|mfa|authenticator)[ _-](?i:secret|seed|key)(?:\s(?:is|was)|\s?[:=])?\s{1,3}[\"'`]?"
        r"((?=[A-Z]{0,64}[2-7])[A-Z2-7]{16,64}={0,6}|(?:[A-Z2-7]{4} ){3,15}[A-Z2-7]{4})(?![A-Za-z0-9])", entropy=2.5),
)  # fmt: skip
NAMES = (
    named("password", ("<pass",), r"(?i:<pass(?:word|wd|phrase)?>)([^<\s]{4,128})</"),
    # In capitals and without blanks, as in a .env file, any word is a value.
    named("password", ("pass", "secret"), rf"{CAPITAL_NAME}=[\"']?([^\s\"'`$<({{\[%\\/~][^\s\"'`]{{5,128}})",
        follow=NAME_ENDS),
    named("password", PASSWORD_KEYWORDS,
        rf"{PASSWORD}(?:{TAIL}{SET_TO}(?:{QUOTE}((?:{INSIDE}){{4,128}}+)(?P=quote)|"
        rf"{DIGIT_OR_SIGN}({BARE}{{6,128}}+{NO_CALL})|"
        rf"(?<=[:\s]){THREE_CLASSES}([^\s\"'`<>]{{8,128}}(?<![.,;:])))|"
        rf"{IS}(?:{OPENED}?{ALGORITHMS}{DIGIT_OR_SIGN}({WORD_CHARACTER}{{6,128}}(?<![.,;:]))|"
        rf"{OPENED}({WORD_CHARACTER}{{4,128}}){SHUT})|"
        rf"\s{OPENED}?{ALGORITHMS}{THREE_CLASSES}({WORD_CHARACTER}{{8,128}}(?<![.,;:])))", follow=NAME_ENDS),
    named("secret", SECRET_KEYWORDS,
        rf"{SECRET}(?:{TAIL}{SET_TO}{QUOTE}?{DIGIT}{LETTER}(?(quote)((?:{INSIDE}){{8,512}}+)(?P=quote)|"
        rf"({BARE}{{12,512}}+{NO_CALL}))|"
        rf"{IS}{OPENED}?{ALGORITHMS}{DIGIT}{LETTER}({WORD_CHARACTER}{{12,512}}(?<![.,;:]))|"
        rf">{DIGIT}{LETTER}([^<\s]{{8,512}})</)", entropy=2.9, follow=NAME_ENDS),
)  # fmt: skip
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
ASSIGNMENTS = (*HEADERS, *COOKIES, *SHELL, *FALLBACKS, *SENTENCES, *NAMES, *ENTROPIES)


LONGEST = 512  # of a token; what is longer is data, and its head makes it worthless
KEYISH = r"(?:key|token|secret|auth|passw|credential)"
PEM_BODY = r"[^-]*+(?:-(?!----)[^-]*+)*+"  # ends at the next five dashes, so that a row of headers costs one pass
QUOTED_BODY = r"[^\"'-]*+(?:-(?!----)[^\"'-]*+)*+"
# Of a block that was cut off before its end, also behind the timestamps of a log.
PEM_LINES = (
    r"(?:(?:(?:\s|\\[nr]|[\"'+])*+[A-Za-z0-9+/=]{16,}+)++|"
    r"(?:[ \t]{0,8}\r?\n[^\n]{0,60}?(?<![A-Za-z0-9+/])[A-Za-z0-9+/=]{32,}+(?=\s|\Z))++)"
)
USER = r"[^\s/:@\"'<>\[\]{}()?#,|;]{0,64}"
HOST_FOLLOWS = r"@(?=[\w\[.%$-])"
# `http://host:3000?mail=bob@example.com` has a port and a query, no password.
URL_PASSWORD = rf"{USER}:([^\s/\"'<>?#,|;]{{1,256}}){HOST_FOLLOWS}"
# People write the password of a database without escaping it, so only a port rules it out.
DATABASE_PASSWORD = rf"{USER}:(?!\d{{1,5}}[?#,|;])([^\s/\"'<>]{{1,256}}){HOST_FOLLOWS}"
DATABASES = (
    "postgres", "mysql", "mariadb", "mongodb", "redis", "rediss", "valkey", "amqp", "mssql", "sqlserver", "oracle",
    "clickhouse", "cockroachdb", "couchbase", "cassandra", "neo4j", "bolt", "nats", "snowflake", "influxdb",
)  # fmt: skip
WORD_SIGNS = ascii_letters + digits + "_-"
ALNUM, WORD = "[A-Za-z0-9]", r"[\w-]"
UUID_OR_HEX = rf"(?:{UUID}|[0-9a-f]{{32}})"

BLOCKS = (
    Rule("gcp_private_key",
        r"(?i:private_key)\\?[\"']\s{0,4}:\s{0,4}\\?[\"']"
        rf"(-----BEGIN{QUOTED_BODY}-----{QUOTED_BODY}(?:-----END[^-]{{0,40}}-----)?)", ("private_key",), group=1,
        where="anywhere", also="-----"),
    Rule("private_key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        rf"(?:{PEM_BODY}-----END[^-]{{0,60}}-----|{PEM_LINES})", ("-----begin ",), where="anywhere", also="-----"),
    Rule("private_key", r"(?i:private-lines): \d{1,3}\s{1,4}((?:[A-Za-z0-9+/=]{8,64}+\s?){2,400}+)", ("private-lines",),
        1, where="anywhere", also="private-lines"),
)  # fmt: skip

TOKENS = (
    token("aws_access_key_id", r"[A-Z0-9]{16}(?![A-Za-z0-9])", "AKIA", "ASIA", "ABIA", "ACCA"),
    token("google_api_key", rf"{WORD}{{35,60}}", "AIza"),
    token("google_oauth_token", rf"{WORD}{{20,{LONGEST}}}", "ya29.", "GOCSPX-", "1//0"),
    token("anthropic_key", rf"{WORD}{{20,{LONGEST}}}", "sk-ant-"),
    token("openai_key", rf"{WORD}{{20,{LONGEST}}}", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"),
    token("openai_key", rf"(?=[A-Za-z0-9-]{{0,60}}\d){ALNUM}[A-Za-z0-9-]{{3}}{WORD}{{16,{LONGEST}}}", "sk-", entropy=3),
    token("github_token", rf"{ALNUM}{{30,255}}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    token("github_token", r"\w{22,255}", "github_pat_"),
    token("gitlab_token", rf"{WORD}{{20,{LONGEST}}}", "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-",
        "glagent-", "gloas-", "glsoat-", "glffct-"),
    Rule("slack_token", rf"{RUN_START}xox[abceoprs](?:\.xox[a-z])?-[\w-]{{10,{LONGEST}}}", ("xox",)),
    token("slack_token", rf"{WORD}{{20,{LONGEST}}}", "xapp-"),
    Rule("slack_webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/-]{20,256})", ("hooks.slack.com",),
        1, where="inside"),
    token("stripe_key", rf"{ALNUM}{{16,{LONGEST}}}", "sk_live_", "sk_test_", "rk_live_", "rk_test_"),
    token("stripe_key", r"[A-Za-z0-9+/=]{24,128}", "whsec_"),
    Rule("twilio_key", rf"{RUN_START}SK[0-9a-f]{{32}}(?![A-Za-z0-9])", ("SK",)),
    Rule("sendgrid_key", rf"{RUN_START}SG\.[\w-]{{16,32}}\.[\w-]{{16,64}}", ("SG.",)),
    Rule("mailgun_key", rf"{RUN_START}key-[0-9a-f]{{32}}(?![A-Za-z0-9])", ("key-",)),
    Rule("mailchimp_key", r"(?<=[0-9a-f]{32})-us\d{1,2}(?!\w)", ("-us",), lead="0123456789abcdef", where="inside"),
    token("npm_token", rf"{ALNUM}{{36,64}}", "npm_"),
    token("pypi_token", rf"{WORD}{{40,{LONGEST}}}", "pypi-AgE"),
    token("docker_token", rf"{WORD}{{24,64}}", "dckr_pat_", "dckr_oat_"),
    token("huggingface_token", rf"{ALNUM}{{30,64}}", "hf_", "api_org_"),
    token("digitalocean_token", r"[a-f0-9]{64}", "dop_v1_", "doo_v1_", "dor_v1_"),
    token("heroku_key", rf"{WORD}{{32,128}}", "HRKU-"),
    Rule("cloudflare_key", rf"{RUN_START}v1\.0-[a-f0-9]{{24}}-[a-f0-9]{{100,160}}", ("v1.0-",)),
    Rule("discord_token", r"(?<=[\w-]{23})\.[\w-]{6}\.[\w-]{27,45}(?![\w.])", (".",), entropy=3.5, lead=WORD_SIGNS,
        where="inside"),
    Rule("discord_token", rf"{RUN_START}mfa\.[\w-]{{80,100}}", ("mfa.",)),
    Rule("discord_webhook", r"/api/(?:v\d{1,2}/)?webhooks/\d{15,22}/([\w-]{50,128})", ("/api/webhooks/", "/api/v"), 1,
        where="inside"),
    Rule("telegram_token", r"(?<=\d{8}):AA[\w-]{32,36}(?![\w-])", (":aa",), lead="0123456789", where="inside"),
    token("shopify_token", r"[a-fA-F0-9]{32,64}", "shpat_", "shpca_", "shppa_", "shpss_"),
    token("square_token", rf"{WORD}{{22,64}}", "sq0atp-", "sq0csp-", "sq0idp-"),
    token("square_token", rf"{WORD}{{60,64}}(?!{WORD})", "EAAA"),
    token("atlassian_token", r"[\w=-]{60,512}", "ATATT3", "ATCTT3"),
    token("atlassian_token", r"[\w=]{28,64}", "ATBB"),
    token("linear_key", rf"{ALNUM}{{32,64}}", "lin_api_", "lin_oauth_", "lin_wh_"),
    token("notion_token", rf"{ALNUM}{{40,64}}", "ntn_", "secret_", entropy=3.5),
    token("vault_token", rf"{WORD}{{24,{LONGEST}}}", "hvs.", "hvb.", "hvr."),
    Rule("terraform_token", r"(?<=[A-Za-z0-9]{14})\.atlasv1\.[\w-]{50,80}", (".atlasv1.",), lead=WORD_SIGNS,
        where="inside"),
    Rule("databricks_token", rf"{RUN_START}dapi[a-f0-9]{{32}}(?:-\d)?(?![A-Za-z0-9])", ("dapi",)),
    Rule("azure_client_secret", r"(?<=[\w~.]{3}\d)Q~[\w~.-]{31,34}", ("q~",), lead=WORD_SIGNS + "~.", where="inside"),
    Rule("azure_storage_key", r"(?i:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,88}={0,2})",
        ("accountkey=", "sharedaccesskey="), 1, where="inside"),
    Rule("azure_sas", r"(?<=[?&;\"' ])sig=([A-Za-z0-9%+/]{40,128}=?)", ("sig=",), 1, entropy=3.5, where="inside"),
    Rule("jwt", rf"{RUN_START}eyJ[\w-]{{10,1024}}+\.eyJ[\w-]{{10,8192}}+(?:\.[\w-]{{10,4096}}+)?", ("eyJ",)),
    token("grafana_token", r"[\w=+/-]{32,256}", "glsa_", "glc_"),
    token("newrelic_key", r"[A-Z0-9]{27}", "NRAK-"),
    token("planetscale_token", r"[\w.=-]{32,64}", "pscale_tkn_", "pscale_pw_", "pscale_oauth_"),
    token("postman_key", r"[a-f0-9]{24}-[a-f0-9]{34}", "PMAK-"),
    token("doppler_token", rf"{ALNUM}{{40,44}}", "dp.pt.", "dp.st.", "dp.ct.", "dp.sa."),
    token("supabase_key", rf"{WORD}{{20,64}}", "sbp_", "sb_secret_"),
    token("netlify_token", rf"{ALNUM}{{36,40}}", "nfp_"),
    token("groq_key", rf"{ALNUM}{{48,64}}", "gsk_"),
    token("perplexity_key", rf"{ALNUM}{{40,64}}", "pplx-"),
    token("xai_key", rf"{ALNUM}{{70,90}}", "xai-"),
    token("replicate_token", rf"{ALNUM}{{37,40}}", "r8_"),
    token("pinecone_key", r"\w{40,128}", "pcsk_"),
    token("langsmith_key", r"\w{32,64}", "lsv2_pt_", "lsv2_sk_"),
    token("pulumi_token", r"[a-f0-9]{40}", "pul-"),
    token("rubygems_key", r"[a-f0-9]{48}", "rubygems_"),
    token("age_key", r"[0-9A-Z]{58}", "AGE-SECRET-KEY-1"),
    token("sentry_token", r"[\w=+/.-]{40,512}", "sntrys_", "sntryu_"),
    token("figma_token", rf"{WORD}{{40,64}}", "figd_"),
    token("brevo_key", rf"{WORD}{{64,90}}", "xkeysib-"),
    token("artifactory_key", rf"{ALNUM}{{60,90}}", "AKCp"),
    token("alibaba_key", rf"{ALNUM}{{20}}(?![A-Za-z0-9])", "LTAI"),
    token("buildkite_token", rf"{ALNUM}{{40}}", "bkua_"),
    token("contentful_token", rf"{WORD}{{43}}", "CFPAT-"),
    token("typeform_token", r"[\w.=-]{40,80}", "tfp_"),
)  # fmt: skip

API_TOKENS = (
    # name of the service in the prefix, so that the body may be anything
    token("api_token", rf"{WORD}{{20,{LONGEST}}}", "tgp_v1_", "cfat_", "phc_", "phx_", "tvly-", "llx-", "odt_"),
    token("api_token", rf"{WORD}{{24,{LONGEST}}}", "vercel_blob_rw_", "akab-", "apify_api_", "bb_live_", "ory_pat_"),
    token("api_token", r"[A-Za-z0-9+/=_-]{40,512}", "bedrock-api-key-", "fm2_", "ops_eyJ"),
    token("api_token", rf"{WORD}{{12,128}}", "rzp_live_", "rzp_test_", "FLWSECK-", "FLWSECK_TEST-"),
    token("api_token", r"[0-9a-z]{26}_[A-Za-z0-9]{22}_[A-Za-z0-9]{3}", "pdl_live_apikey_", "pdl_sdbx_apikey_"),
    token("api_token", r"[0-9a-f]{32,64}(?![A-Za-z0-9])", "shippo_live_", "shippo_test_", "rootly_", "fc-", "sk_"),
    token("api_token", r"[0-9a-f]{35}(?![A-Za-z0-9])", "live_", "test_"),
    token("api_token", r"[0-9a-f]{40}(?![A-Za-z0-9])", "sqp_", "squ_", "sqa_"),
    token("api_token", r"(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}(?![A-Za-z0-9])", "sgp_"),
    token("api_token", rf"{ALNUM}{{24,32}}(?![A-Za-z0-9_-])", "fw_", "aio_", entropy=3.5),
    token("api_token", r"[a-z0-9]{48}(?![A-Za-z0-9])", "csk-"),
    token("api_token", rf"{ALNUM}{{22}}(?![A-Za-z0-9_-])", "as-", "ak-", entropy=3.8),
    token("api_token", rf"{WORD}{{40,64}}(?!{WORD})", "sk_", entropy=4.2),
    token("api_token", r"[A-Z2-7]{24}\.[A-Z2-7]{64}", "dt0c01.", "dt0s01.", "dt0s02."),
    token("api_token", r"[a-z0-9]{50,60}", "hcaik_01", "hcalk_01", "hcxik_01"),
    token("api_token", r"[0-9a-f]{8}\.[\w-]{20,128}", "snyk_sat.", "snyk_uat."),
    token("api_token", rf"[a-z]{{2,12}}\.{ALNUM}{{40,44}}", "dp.st.", "dp.ct."),
    token("api_token", r"[0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32}", "st."),
    token("api_token", rf"(?:auth|api|client|scim|webhook|oauth)-[A-Za-z0-9]{{6,24}}-{ALNUM}{{16,64}}", "tskey-"),
    token("api_token", rf"{WORD}{{30,64}}", "secret-live-", "secret-test-", "fio-u-", "tk-us-"),
    token("api_token", r"[a-z0-9]{60,70}", "napi_"),
    token("api_token", r"\d{1,16}-[A-Za-z0-9+/=]{40,512}", "ver:1-hint:"),
    token("api_token", r"[\w-]{40,512}\.[\w-]{16,64}", "sk.eyJ"),
    token("api_token", rf"{ALNUM}{{14}}\.[0-9a-f]{{64}}", "pat"),
    token("api_token", r"\d{6,10}_[A-Z0-9]{32}(?![A-Za-z0-9])", "pk_"),
    token("api_token", r"[0-9a-f]{64}[0-9A-F]{8}", "ATTA"),
    token("api_token", r"[A-Za-z0-9+/=]{80,128}(?![A-Za-z0-9+/=])", "AQE", "MC5", entropy=4.5),
    token("api_token", rf"{ALNUM}{{12,15}}![\w.]{{60,128}}", "00D"),
    token("api_token", r"[a-z0-9]{43}(?![A-Za-z0-9])", "oy2"),
    token("api_token", rf"{WORD}{{35,38}}(?!{WORD})", "AQVN"),
    token("api_token", r"[\w-]{20,512}\.[\w-]{60,128}", "t1."),
    token("api_token", r"[A-Z0-9]{25,32}(?![A-Za-z0-9_-])", "API-"),
    token("api_token", rf"[a-z0-9]{{16}}\${UUID_OR_HEX}", "access_token$production$", "access_token$sandbox$"),
    token("api_token", UUID_OR_HEX, "access-production-", "access-sandbox-", "api-"),
    token("api_token", r"[\w-]{200,512}(?![\w.-])", "eyJ"),
    token("api_token", r"[A-Za-z0-9+/=]{90,140}(?![A-Za-z0-9+/=])", "ABSK", entropy=4.5),
    token("api_token", r"[0-9a-f]{40}(?![A-Za-z0-9])", "e2b_"),
    token("api_token", r"\d{12,20}:[0-9a-f]{32}(?![A-Za-z0-9])", "1/"),
    token("api_token", rf"[a-z]{{2}}\d-{UUID}", "pat-"),
    token("api_token", UUID, "sdk-", "mob-"),
    token("api_token", r"[0-9a-f]{60}(?![A-Za-z0-9])", "CLOJARS_"),
    token("api_token", r"[A-Za-z0-9%]{60,160}(?![A-Za-z0-9%])", "AAAAAAAAAAAAAAAAAAAAA", entropy=3.5),
    token("api_token", r"[A-Za-z0-9+/=:]{60,400}", "$aact_prod_", "aact_prod_"),
    token("api_token", r"[a-z0-9]{36}(?![A-Za-z0-9])", "pnu_", "pnb_"),
)

CONTEXTS = (
    near("aws_secret_key", ("aws", "secretaccesskey", "secret_access_key", "secret access key"), "[A-Za-z0-9/+]{40}",
        entropy=4.1),
    near("heroku_key", ("heroku",), UUID, named=KEYISH),
    near("cloudflare_key", ("cloudflare", "cf_api", "cf_token"), r"[\w-]{40}", entropy=4.1),
    near("cloudflare_key", ("cloudflare", "cf_api"), "[0-9a-f]{37}", named=KEYISH),
    near("datadog_key", ("datadog", "dd_"), "[0-9a-f]{32}|[0-9a-f]{40}", named=KEYISH),
    near("twilio_key", ("twilio",), "[0-9a-f]{32}", named=KEYISH),
    near("mailgun_key", ("mailgun",), "[0-9a-f]{32}(?:-[0-9a-f]{8}){2}"),
    near("atlassian_token", ("atlassian", "jira", "confluence"), r"(?=\w{0,23}\d)[A-Za-z0-9]{24}", entropy=3.7),
    near("discord_token", ("discord",), r"[\w-]{32}", named=KEYISH, entropy=4.0),
)  # fmt: skip

CONNECTIONS = (
    Rule("database_password", rf"(?i:{'|'.join(DATABASES)})(?:ql)?(?:\+\w{{1,24}})?s?://{DATABASE_PASSWORD}", DATABASES,
        1, where="anywhere", also="://"),
    Rule("database_password", r"(?i:jdbc):[^\s\"']{5,256}?[?;&](?i:password|pwd)=([^\s&;\"'<>]{1,128})", ("jdbc:",), 1,
        where="anywhere", also="jdbc:"),
    Rule("database_password", r"(?:(?<=;)|(?<=; ))(?i:password|pwd) ?= ?([^;\s\"']{4,128})(?=;|[\"']|\s|$)",
        ("password", "pwd"), 1, where="anywhere"),
    Rule("url_password", rf"://{URL_PASSWORD}", ("://",), 1, where="anywhere", also="@"),
)  # fmt: skip

RULES: tuple[Rule, ...] = (*BLOCKS, *TOKENS, *API_TOKENS, *CONTEXTS, *CONNECTIONS, *ASSIGNMENTS)


Row = tuple[int, Rule, re.Pattern[str]]  # rank, rule, its pattern


@cache
def compiled(where: Where) -> tuple[Row, ...]:
    return tuple((rank, rule, re.compile(rule.pattern)) for rank, rule in enumerate(RULES) if rule.where == where)


def branches(words: list[str]) -> str:
    """The words as a tree of alternatives, so that a text is compared with all of them in one pass."""
    following: dict[str, list[str]] = {}
    for word in words:
        if word:
            following.setdefault(word[0], []).append(word[1:])
    alternatives = [re.escape(first) + branches(rest) for first, rest in following.items()]
    if not alternatives:
        return ""
    joined = alternatives[0] if len(alternatives) == 1 else f"(?:{'|'.join(alternatives)})"
    return f"(?:{joined})?" if "" in words else joined
