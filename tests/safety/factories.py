"""Secrets of every kind, made when they are needed and never written down, in the places where people leave them."""

from __future__ import annotations

import base64
import string
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM = LOWER + UPPER + DIGITS
WORD = ALNUM + "_-"
HEX = DIGITS + "abcdef"
BASE64 = ALNUM + "+/"
SIGNS = "!@#$%^*+?~-_."
Maker = Callable[[Random], str]


@dataclass(frozen=True, slots=True)
class Made:
    kind: str
    secret: str
    text: str


def run(signs: str, *lengths: int) -> Maker:
    return lambda random: "".join(random.choices(signs, k=random.choice(lengths)))


def after(prefix: str, signs: str, *lengths: int) -> Maker:
    body = run(signs, *lengths)
    return lambda random: prefix + body(random)


def joined(*parts: str | Maker) -> Maker:
    return lambda random: "".join(part if isinstance(part, str) else part(random) for part in parts)


def each(makers: list[Maker]) -> Maker:
    return lambda random: random.choice(makers)(random)


def prefixed(prefixes: str, signs: str, *lengths: int) -> Maker:
    return each([after(prefix, signs, *lengths) for prefix in prefixes.split()])


def uuid(random: Random) -> str:
    return "-".join("".join(random.choices(HEX, k=size)) for size in (8, 4, 4, 4, 12))


def part_of_jwt(size: int) -> Maker:
    return lambda random: "ey" + "J" + "".join(random.choices(WORD, k=size))


def pem(label: str, newline: str = "\n") -> Maker:
    def make(random: Random) -> str:
        rows = ["".join(random.choices(BASE64, k=64)) for _ in range(random.randint(3, 40))]
        dashes = "-" * 5
        return newline.join([f"{dashes}BEGIN {label}{dashes}", *rows, f"{dashes}END {label}{dashes}"])

    return make


PRIVATE = "PRI" + "VATE KEY"
TOKENS: dict[str, Maker] = {
    "aws_access_key_id": prefixed("AK" + "IA AS" + "IA AB" + "IA", UPPER + "234567", 16),
    "google_api_key": after("AI" + "za", WORD, 35),
    "google_oauth_token": each([after("ya29" + ".", WORD, 80, 140), after("GOC" + "SPX-", WORD, 28)]),
    "anthropic_key": joined("sk-" + "ant-", each([after("api03-", WORD, 93), after("admin01-", WORD, 93)]), "AA"),
    "openai_key": each(
        [
            joined("sk-", run(ALNUM, 20), "T3Blbk" + "FJ", run(ALNUM, 20)),
            after("sk-" + "proj-", WORD, 124, 156),
            after("sk-" + "svcacct-", WORD, 124),
            joined("sk-", run(ALNUM, 47), "7"),
        ]
    ),
    "github_token": each(
        [
            prefixed("gh" + "p_ gh" + "o_ gh" + "u_ gh" + "s_ gh" + "r_", ALNUM, 36),
            joined("github_" + "pat_", run(ALNUM, 22), "_", run(ALNUM, 59)),
        ]
    ),
    "gitlab_token": prefixed("gl" + "pat- gl" + "dt- gl" + "ptt- gl" + "rt-", WORD, 20),
    "slack_token": each(
        [
            joined("xox" + "b-", run(DIGITS, 11), "-", run(DIGITS, 12), "-", run(ALNUM, 24)),
            joined("xox" + "p-", run(DIGITS, 11), "-", run(DIGITS, 12), "-", run(DIGITS, 12), "-", run(HEX, 32)),
            joined("xa" + "pp-1-A", run(UPPER + DIGITS, 10), "-", run(DIGITS, 13), "-", run(HEX, 64)),
        ]
    ),
    "stripe_key": prefixed("sk_" + "live_ sk_" + "test_ rk_" + "live_ whs" + "ec_", ALNUM, 24, 99),
    "sendgrid_key": joined("S" + "G.", run(WORD, 22), ".", run(WORD, 43)),
    "npm_token": after("np" + "m_", ALNUM, 36),
    "pypi_token": joined("py" + "pi-", "AgEIcHlwaS5vcmc", run(WORD, 120, 160)),
    "docker_token": prefixed("dckr_" + "pat_ dckr_" + "oat_", WORD, 27, 32),
    "huggingface_token": after("h" + "f_", LOWER + UPPER, 34),
    "digitalocean_token": prefixed("do" + "p_v1_ do" + "o_v1_ do" + "r_v1_", HEX, 64),
    "discord_token": joined(each([run("MNO", 1)]), run(WORD, 23, 25), ".", run(WORD, 6), ".", run(WORD, 27, 38)),
    "telegram_token": joined(run("123456789", 9, 10), ":A" + "A", run(WORD, 33)),
    "shopify_token": prefixed("shp" + "at_ shp" + "ca_ shp" + "pa_ shp" + "ss_", HEX, 32),
    "square_token": each(
        [after("sq0" + "atp-", WORD, 22), after("sq0" + "csp-", WORD, 43), after("EA" + "AA", WORD, 60)]
    ),
    "atlassian_token": each([joined("ATA" + "TT3", run(WORD, 178), "=", run(HEX, 8)), after("AT" + "BB", ALNUM, 32)]),
    "linear_key": prefixed("lin_" + "api_ lin_" + "oauth_", ALNUM, 40),
    "notion_token": each([after("nt" + "n_", ALNUM, 46), after("secr" + "et_", ALNUM, 43)]),
    "vault_token": prefixed("hv" + "s. hv" + "b.", WORD, 24, 90),
    "terraform_token": joined(run(ALNUM, 14), ".atlas" + "v1.", run(WORD, 60, 67)),
    "databricks_token": each([after("da" + "pi", HEX, 32), joined("da" + "pi", run(HEX, 32), "-2")]),
    "azure_client_secret": joined(run(ALNUM, 3), run(DIGITS, 1), "Q" + "~", run(ALNUM + "_~.-", 30), run(ALNUM, 4)),
    "jwt": joined(part_of_jwt(17), ".", part_of_jwt(80), ".", run(WORD, 43)),
    "grafana_token": joined("gl" + "sa_", run(ALNUM, 32), "_", run(HEX, 8)),
    "newrelic_key": after("NR" + "AK-", UPPER + DIGITS, 27),
    "planetscale_token": prefixed("pscale_" + "tkn_ pscale_" + "pw_", WORD, 43),
    "postman_key": joined("PM" + "AK-", run(HEX, 24), "-", run(HEX, 34)),
    "doppler_token": prefixed("dp." + "pt. dp." + "st.", ALNUM, 43),
    "supabase_key": each([after("sb" + "p_", HEX, 40), after("sb_" + "secret_", WORD, 31)]),
    "netlify_token": after("nf" + "p_", ALNUM, 36),
    "groq_key": after("gs" + "k_", ALNUM, 52),
    "perplexity_key": after("pp" + "lx-", ALNUM, 48),
    "xai_key": after("xa" + "i-", ALNUM, 80),
    "replicate_token": after("r" + "8_", ALNUM, 37),
    "pinecone_key": joined("pc" + "sk_", run(ALNUM, 6), "_", run(ALNUM, 63)),
    "langsmith_key": joined("lsv2_" + "pt_", run(HEX, 32), "_", run(HEX, 10)),
    "pulumi_token": after("pu" + "l-", HEX, 40),
    "rubygems_key": after("ruby" + "gems_", HEX, 48),
    "age_key": after("AGE-SECRET-" + "KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "sentry_token": prefixed("snt" + "rys_ snt" + "ryu_", ALNUM, 64, 120),
    "figma_token": after("fi" + "gd_", WORD, 40),
    "brevo_key": joined("xkey" + "sib-", run(HEX, 64), "-", run(ALNUM, 16)),
    "artifactory_key": after("AK" + "Cp", ALNUM, 69),
    "alibaba_key": after("LT" + "AI", ALNUM, 20),
    "buildkite_token": after("bk" + "ua_", HEX, 40),
    "contentful_token": after("CF" + "PAT-", WORD, 43),
    "typeform_token": joined("tf" + "p_", run(ALNUM, 44), "_", run(ALNUM, 14)),
    "api_token": each(
        [
            prefixed("tv" + "ly- ll" + "x- ph" + "c_ tgp" + "_v1_ cf" + "at_ od" + "t_", ALNUM, 40),
            prefixed("shippo_" + "live_ sq" + "u_ sg" + "p_", HEX, 40),
            joined("dt0" + "c01.", run(UPPER + "234567", 24), ".", run(UPPER + "234567", 64)),
            joined("tskey-" + "auth-", run(ALNUM, 16), "-", run(ALNUM, 32)),
            joined("ops_" + "ey" + "J", run(ALNUM, 200)),
            after("bedrock-" + "api-key-", ALNUM, 132),
        ]
    ),
    "mailchimp_key": joined(run(HEX, 32), "-us", run("123456789", 1)),
}
TOKEN_FRAMES = (
    "Remember that we use {} for the nightly deployment.",
    "I pasted {}, please rotate it",
    "export DEPLOY={}",
    "DEPLOY={}\nREGION=eu-west-1",
    '{{"name": "prod", "value": "{}"}}',
    "deploy:\n  value: {}\n  retries: 3",
    "client = Client('{}')",
    'const client = new Client("{}");',
    "curl -H 'X-Service: {}' https://api.service.test/v1",
    "https://api.service.test/v1/items?limit=5&k={}&page=2",
    "`{}` worked for Priya, the old one did not",
    "value={}; path=/",
    "[section]\nvalue = {}\n",
    "<value>{}</value>",
    "({})",
    "Log: sent {} to the server.\nNext line.",
)

# Without a mark of their own: the name of the service stands before them.
BESIDE_A_NAME: dict[str, tuple[str, Maker]] = {
    "aws_secret_key": ("aws", run(BASE64, 40)),
    "heroku_key": ("heroku", uuid),
    "cloudflare_key": ("cloudflare", run(WORD.rstrip("-"), 40)),
    "datadog_key": ("datadog", run(HEX, 32, 40)),
    "twilio_key": ("twilio", run(HEX, 32)),
    "mailgun_key": ("mailgun", joined(run(HEX, 32), "-", run(HEX, 8), "-", run(HEX, 8))),
}
NAME_FRAMES = (
    "{NAME}_API_KEY={}",
    "export {NAME}_SECRET_TOKEN='{}'",
    "the {name} api key is {}",
    "{name} token: {}",
    '{{"{name}_auth_token": "{}", "region": "eu"}}',
    "{name}_secret_key: {}",
    '{name}_secret = "{}"',
    "Our {name} auth token for the billing service is now {}, Lena set it.",
    "--{name}-token={} --verbose",
    "{name}:\n  region: eu\n{name}_key: '{}'",
    "{name}.configure(api_key='{}')",
)


def password(random: Random) -> str:
    shapes: list[Maker] = [
        joined(run(LOWER, 5, 8), run(DIGITS, 1, 2, 4)),
        joined(run(UPPER, 1), run(LOWER, 4, 7), run(DIGITS, 2, 3), run("!@#$*?", 1)),
        joined(run(ALNUM, 6, 10), run(SIGNS.rstrip("-_."), 1, 2), run(ALNUM, 2, 4)),
        joined(run(LOWER, 4, 5), "-", run(LOWER, 5, 6), "-", run(LOWER, 5), "-", run(DIGITS, 2)),
        run(ALNUM, 16, 24),
    ]
    made = random.choice(shapes)(random)
    return made if any(sign.isdigit() for sign in made) else made + str(random.randint(0, 9))


PASSWORD_FRAMES = (
    "DB_PASSWORD={}",
    "PASSWORD='{}'",
    "export PGPASSWORD={}\npsql -h db",
    'password = "{}"',
    "db.connect(user='app', password='{}')",
    '{{"username": "lena", "password": "{}"}}',
    '{{\\"password\\": \\"{}\\"}}',
    "database:\n  user: app\n  password: {}\n  port: 5432",
    "user: admin, pass: {}",
    "The password is {}",
    "The wifi password for the office in Riga is {}.",
    "my password: {}",
    "I changed the password to {} yesterday",
    "Das Passwort lautet {}",
    "La contraseña es {}",
    "密码: {}",
    "Пароль: {}",
    "passphrase: '{}'",
    "<password>{}</password>",
    "admin_pwd: {}",
    "https://old.service.test/login?user=lena&password={}&next=home",
    'os.environ["DB_PASSWORD"] = "{}"',
    'password: str = "{}"',
    "[mysql]\npassword = {}\n",
)
SECRET_FRAMES = (
    "API_KEY={}",
    "SECRET_KEY = '{}'",
    'api_key="{}"',
    '{{"client_secret": "{}"}}',
    "auth:\n  access_token: {}\n",
    "The API key is {}",
    "our api key for the staging cluster is {}.",
    "token = '{}'",
    "X-Api-Key: {}",
    "https://api.service.test/v1?api_key={}&page=2",
    "refreshToken: '{}',",
    "export SERVICE_TOKEN={}",
    'headers["X-Auth-Token"] = "{}"',
    "--token {} --verbose",
    "<apiKey>{}</apiKey>",
    "credentials: {}",
)
ENTROPY_FRAMES = (
    "the key that Oskar uses in Riga starts with nothing special: {}",
    "For the secret store, take {} and keep it",
    "auth with {} when the gateway asks",
    "Token of the backup job (staging) {}",
    "password of the old router, as printed below it: {}",
    "tokens: [{}]",
)
SHELL_FRAMES = (
    "curl -s -u admin:{} https://api.service.test/v1",
    "sshpass -p '{}' ssh root@10.0.0.4",
    "mysql -h db -u root -p{} app",
    "tool login --user app --password {}",
    "deploy --password={} --force",
)
DATABASE_FRAMES = (
    "postgres://app:{}@db.internal:5432/app",
    "DATABASE_URL=postgresql+psycopg://app:{}@localhost/app",
    "mysql://root:{}@10.0.0.4/shop",
    "mongodb+srv://admin:{}@cluster0.abcde.mongodb.net/test?retryWrites=true",
    "redis://:{}@cache:6379/0",
    'broker = "amqps://worker:{}@queue.internal/vhost"',
    "mssql+pyodbc://sa:{}@server/db",
    "jdbc:postgresql://db:5432/app?user=app&password={}&ssl=true",
    "jdbc:sqlserver://db:1433;databaseName=app;user=sa;password={};encrypt=true",
    "Server=db;Database=app;User Id=sa;Password={};TrustServerCertificate=true",
)
URL_FRAMES = (
    "https://lena:{}@git.service.test/team/repo.git",
    "git clone http://bot:{}@10.0.0.4:8080/repo",
    "ftp://upload:{}@files.service.test",
    "proxy=http://user:{}@proxy.internal:3128",
    "the feed is at https://me:{}@feeds.service.test/all.xml now",
    "smtp://mailer:{}@mail.service.test:587",
)
HEADER_FRAMES = (
    "Authorization: Bearer {}",
    "curl -H 'Authorization: Bearer {}' https://api.service.test",
    '{{"Authorization": "Bearer {}"}}',
    "headers = {{'Authorization': 'Token {}'}}",
    "authorization: Basic {}",
    "send it as Bearer {} in the header",
)


COOKIE_FRAMES = (
    "Cookie: session={}",
    "curl -H 'Cookie: sessionid={}; theme=dark' https://app.service.test",
    "Set-Cookie: auth={}; Path=/; HttpOnly",
    '{{"cookie": "sid={}"}}',
)


def url_password(random: Random) -> str:
    return run(ALNUM + "-_.~!*", 8, 16, 24)(random) + "%40" * random.randint(0, 1) + random.choice(ALNUM)


def basic(random: Random) -> str:
    return base64.b64encode(b"user:" + run(ALNUM, 12, 20)(random).encode()).decode().rstrip("=") + "7a"


def framed(kind: str, frames: tuple[str, ...], maker: Maker, name: str = "") -> Callable[[Random, int], Made]:
    def make(random: Random, number: int) -> Made:
        secret = maker(random)
        text = frames[number % len(frames)].format(secret, name=name, NAME=name.upper())
        return Made(kind, secret, text)

    return make


def azure(random: Random, number: int) -> Made:
    secret = run(BASE64, 86)(random) + "=="
    frames = (
        "DefaultEndpointsProtocol=https;AccountName=shop;Account" + "Key={};EndpointSuffix=core.windows.net",
        "AZURE_STORAGE='AccountName=shop;Account" + "Key={}'",
        '{{"connection": "AccountName=shop;Account' + 'Key={}"}}',
    )
    return Made("azure_storage_key", secret, frames[number % len(frames)].format(secret))


RANDOM_VALUE = joined(run(ALNUM, 18, 24, 40), run(DIGITS, 1), run(LOWER, 1))
HOOK = joined("T", run(UPPER + DIGITS, 8, 10), "/B", run(UPPER + DIGITS, 8, 10), "/", run(ALNUM, 24))
MIXED = joined(run(UPPER, 1), run(LOWER, 1), run(DIGITS, 1), run(BASE64, 24, 37, 61), "x")
MAKERS: dict[str, list[Callable[[Random, int], Made]]] = {
    **{kind: [framed(kind, TOKEN_FRAMES, maker)] for kind, maker in TOKENS.items()},
    **{kind: [framed(kind, NAME_FRAMES, maker, name)] for kind, (name, maker) in BESIDE_A_NAME.items()},
    "private_key": [
        framed("private_key", ("{}", "key: |\n{}\nother: 1", "my key:\n{}\nkeep it", 'KEY = """{}"""'), pem(label))
        for label in (f"RSA {PRIVATE}", f"OPENSSH {PRIVATE}", f"EC {PRIVATE}", PRIVATE, f"PGP {PRIVATE} BLOCK")
    ],
    "gcp_private_key": [
        framed(
            "gcp_private_key",
            ('{{"type": "service_account", "private_key": "{}\\n", "client_email": "a@b.test"}}',),
            pem(PRIVATE, "\\n"),
        )
    ],
    "azure_storage_key": [azure],
    "azure_sas": [
        framed(
            "azure_sas",
            ("https://shop.blob.core.windows.net/c/f?sv=2022-11-02&sr=b&sig={}&se=2027", "?sv=2022-11-02&sp=r&sig={}"),
            joined(run(ALNUM, 43), "%3D"),
        )
    ],
    "slack_webhook": [
        framed("slack_webhook", ("https://hooks.slack.com/" + "services/{}", "hooks.slack.com/" + "services/{}"), HOOK)
    ],
    "discord_webhook": [
        framed("discord_webhook", ("https://discord.com/api/webhooks/123456789012345678/{}",), run(WORD, 68))
    ],
    "password": [framed("password", PASSWORD_FRAMES, password)],
    "secret": [framed("secret", SECRET_FRAMES, RANDOM_VALUE)],
    "cookie": [framed("cookie", COOKIE_FRAMES, RANDOM_VALUE)],
    "high_entropy": [framed("high_entropy", ENTROPY_FRAMES, MIXED)],
    "shell_password": [framed("shell_password", SHELL_FRAMES, joined(run(ALNUM, 8, 14), run(DIGITS, 1)))],
    "database_password": [framed("database_password", DATABASE_FRAMES, url_password)],
    "url_password": [framed("url_password", URL_FRAMES, url_password)],
    "authorization_header": [
        framed("authorization_header", HEADER_FRAMES, RANDOM_VALUE),
        framed("authorization_header", HEADER_FRAMES, basic),
    ],
}  # fmt: skip


def secrets(kind: str, count: int, seed: int = 0) -> list[Made]:
    random = Random(f"{kind} {seed}")
    return [MAKERS[kind][number % len(MAKERS[kind])](random, number // len(MAKERS[kind])) for number in range(count)]


def leaked(made: Made, scrubbed: str) -> bool:
    """A half of a secret is as bad as the whole."""
    middle = len(made.secret) // 2
    return any(half in scrubbed for half in (made.secret[:middle], made.secret[middle:]) if len(half) >= 4)
