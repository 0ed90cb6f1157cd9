"""Secrets in the forms in which other scanners' users meet them, and everyday text that must not be taken for one."""

from __future__ import annotations

import base64
from random import Random

import pytest

from nacre.safety.secrets import scrub
from tests.safety.factories import ALNUM, BASE64, DIGITS, HEX, LOWER, UPPER, joined, pem, run

BASE32 = UPPER + "234567"
WORD = "moon" + "beams"
WEAK = WORD + "42"
SIGNED = "P@ss" + "w0rd!"


def made(*parts: str | tuple[str, int]) -> str:
    random = Random(11)
    return joined(*(part if isinstance(part, str) else run(*part) for part in parts))(random)


RANDOM = made((ALNUM, 28), "4x")
FORMS = {
    "a quoted token of several parts": ('token = "{}"', made("dt0" + "c01.", (BASE32, 24), ".", (BASE32, 64))),
    "a quoted token of unknown parts": ('token = "{}"', made((ALNUM, 24), "3.", (ALNUM, 30))),
    "a header without a scheme": ("Authorization: {}", RANDOM),
    "a quoted header without a scheme": ("{{'authorization': '{}'}}", RANDOM),
    "a header with a hash": ("Authorization: {}", made((HEX, 40))),
    "aligned with blanks": ("username:       lena\npassword:       {}", WEAK),
    "aligned with tabs": ("password:\t\t\t{}", WEAK),
    "on the next line": ("password:\n    {}", WEAK),
    "a key on the next line": ("api_key:\n      {}", RANDOM),
    "curl with an at sign": ("curl -u lena:{} https://api.service.test", SIGNED),
    "netrc on one line": ("machine api.service.test login lena password {}", WORD),
    "netrc on three lines": ("machine api.service.test\n  login lena\n  password {}\n", WORD),
    "SQL": ("CREATE USER 'app'@'%' IDENTIFIED BY '{}';", WORD),
    "SQL with a method": ("ALTER USER app IDENTIFIED WITH mysql_native_password BY '{}'", WORD),
    "SQL of another server": ("CREATE ROLE app LOGIN WITH PASSWORD '{}'", WORD),
    "a fallback after or": ('password = os.environ.get("DB_PASSWORD") or "{}"', WORD),
    "a fallback as an argument": ('password = os.environ.get("DB_PASSWORD", "{}")', WORD),
    "a fallback in JavaScript": ("const secret = process.env.SECRET || '{}'", made((LOWER, 8), (DIGITS, 4))),
    "a fallback in a shell": ("PGPASSWORD=${{DB_PASSWORD:-{}}}", WEAK),
    "an arrow": ("password -> {}", WEAK),
    "a full-width colon": ("password：{}", WEAK),
    "a name in brackets": ("Password (lena): {}", WEAK),
    "a Markdown table": ("| user | password |\n|---|---|\n| lena | {} |\n", WEAK),
    "a Markdown table without an edge": ("user | **Password** | note\n--- | :---: | ---\nlena | `{}` | old", WEAK),
    "the code of a network": ("WIFI:T:WPA;S:home;P:{};;", WORD),
    "the code of a network in another order": ("WIFI:S:home;P:{};T:WPA;H:true;;", WORD),
    "a line of pgpass": ("db.service.test:5432:shop:lena:{}", WORD),
    "the settings of Docker": ('{{"auth": "{}"}}', base64.b64encode(f"lena:{WEAK}".encode()).decode()),
    "a line of shadow": ("root:{}:19000:0:99999:7:::", made("$6$", (ALNUM, 16), "$", (ALNUM + "./", 86))),
    "a line of htpasswd": ("lena:{}", made("$2y$10$", (ALNUM + "./", 53))),
    "an Argon2 hash": ("hash {}", made("$argon2id$v=19$m=65536,t=3,p=4$", (ALNUM, 22), "$", (BASE64, 43))),
    "a token as the user of an address": ("https://{}@git.service.test/acme/app.git", made((HEX, 39), "7")),
    "a slash in the password of a database": ("postgres://app:{}@db.service.test:5432/app", "Tr0ub" + "/4dor"),
    "a slash and an at sign": ("mysql://app:{}@db.service.test/app", "p@ss" + "/w0rd"),
    "escaped by Markdown": ("use {} today", made("gh" + "p\\_", (ALNUM, 36))),
    "escaped by Markdown twice": ("use sk\\_{} today", made("live\\_", (ALNUM, 24))),
    "escaped by Markdown, of parts": ("{}", made("github\\_" + "pat\\_", (ALNUM, 22), "\\_", (ALNUM, 59))),
    "a bare token": ("please use {} from now on", RANDOM),
    "a bare token in small letters": ("please use {} from now on", made((LOWER + DIGITS, 40))),
    "a bare token in base64": ("got {} from the queue", made((BASE64, 50), "7a=")),
    "a bare token with a worded prefix": ("got {} from the queue", made("acme_live_", (HEX, 40))),
    "a UUID under a name": ("Remember the Acme access token {}", made((HEX, 8), "-1234-4321-8765-", (HEX, 12))),
    **{
        f"the prefix {prefix}": ("I pasted {} here", made(prefix, signs))
        for prefix, signs in {
            "ph" + "c_": (ALNUM, 43),
            "tv" + "ly-": (ALNUM, 32),
            "sq" + "u_": (HEX, 40),
            "sg" + "p_": (HEX, 40),
            "od" + "t_": (ALNUM, 40),
            "ll" + "x-": (ALNUM, 48),
            "tgp" + "_v1_": (ALNUM, 43),
            "cf" + "at_": (ALNUM, 48),
            "ops_" + "ey" + "J": (ALNUM, 250),
            "tskey-" + "auth-": (ALNUM, 16),
            "shippo_" + "live_": (HEX, 40),
            "bedrock-" + "api-key-": (BASE64, 132),
        }.items()
        if prefix != "tskey-" + "auth-"
    },
    "the prefix of Tailscale": ("I pasted {}", made("tskey-" + "auth-", (ALNUM, 16), "-", (ALNUM, 32))),
}


@pytest.mark.parametrize("form", FORMS)
def test_no_half_of_the_secret_is_left(form: str) -> None:
    frame, secret = FORMS[form]
    clean, middle = scrub(frame.format(secret)).text, len(secret) // 2
    assert secret[:middle] not in clean
    assert secret[middle:] not in clean


@pytest.mark.parametrize("ended", [True, False])
def test_a_key_block_behind_the_timestamps_of_a_log_is_taken_out(ended: bool) -> None:
    rows = pem("RSA PRI" + "VATE KEY")(Random(5)).split("\n")
    logged = "\n".join(
        f"2026-03-01 10:00:0{at % 10} INFO app - {row}" for at, row in enumerate(rows[: None if ended else -1])
    )
    clean = scrub(f"start\n{logged}\n2026-03-01 10:00:09 INFO app - done").text
    assert not any(row in clean for row in rows[1:-1])
    assert clean.endswith("done")


@pytest.mark.parametrize(
    "text",
    [
        "PASS: test_login_2",
        "--- PASS: TestParse2024 (0.00s)",
        "    --- PASS: TestLogin/with_token_2 (0.01s)",
        "Boarding pass: Gate-B42",
        "Ski pass: 3-days-2026",
        "PASS: 100/100 checks",
        "pass rate: 98.5%",
        "Passport: X1234567 expires in 2030",
        "bypass: mode-2-fast",
        "compass: heading 270deg-N",
        "input_tokens: 128000, output_tokens=4096x2",
        "Secret Santa: budget-20-euros",
        "primary key: user_account_id_2",
        "foreign key: fk_orders_customer_2024",
        "session key: map-entry-2024-a",
        "service key: svc-main-2024-eu",
        "cache_key = 'user:1234:profile:v2'",
        "token: ERC-20-standard-v2",
        "password: required (min. 12 chars)",
        "the commit 3f786850e387550fdab836ed7e6dc881de23001b fixed it",
        "the run 123e4567-e89b-12d3-a456-426614174000 failed",
        '"integrity": "sha512-' + made((BASE64, 86)) + '=="',
        "golang.org/x/text v0.3.7 h1:" + made((BASE64, 43)) + "=",
        "image: nginx@sha256:" + made((HEX, 64)),
        "sha256:" + made((HEX, 64)),
        "data:image/png;base64," + made((BASE64, 90)),
        "SHA256:" + made((BASE64, 43)) + " lena@laptop (ED25519)",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA" + made((BASE64, 43)) + " lena",
        "https://docs.service.test/document/d/" + made((ALNUM, 44)) + "/edit",
        '"id": "msg_' + made((ALNUM, 24)) + '"',
        "Request ID: " + made((ALNUM, 21)),
        "src/main/java/com/acme/OrderService2Impl.java",
        "numpy-1.26.4-cp311-cp311-manylinux_2_17_x86_64.whl",
        "_ZNSt6vectorIiSaIiEE9push_backEOi",
        "llvm-toolchain-snapshot (1:14~++20211221121559+9e3ae8d296aa-1~exp1)",
        "V4L2_FMT_FLAG_CSC_XFER_FUNC and V4L2_PIX_FMT_RGBA555",
        "getHTTPResponseCode2XXForRequest",
        "ULID " + "01ARZ3NDEK" + "TSV4RRFFQ69G5FAV",
        "VGhpcyBpcyBhbiBleGFtcGxlIG9mIGJhc2U2NA",
        "passwd->pw_dir2entry and ctx->password->s6_addr32",
        "password -> a digest of 32 bytes",
        "password (at least 12 characters): required",
        "| Feature | Password |\n|---|---|\n| reset | yes |\n| expiry | 90 days |\n| length | 12 |",
        "| Password policy | since |\n|---|---|\n| strong2factor | release-2024 |",
        "user | password\nlena | see-the-vault-2",
        "WIFI:T:nopass;S:guests;;",
        "ports: 5432:5432, 127.0.0.1:5432:5432",
        "db.service.test:5432:shop is up",
        '{"auth": "required", "mode": "OAuth2Bearer"}',
        '"auth":"OAuth2Bearer"',
        "it costs $6$ or $5$, says the sign",
        "https://lena@git.service.test/acme/app.git",
        "postgres://db.service.test:5432/app?contact=lena@service.test",
        "postgres://db.service.test/app and mail to lena@service.test",
        r"the file C:\_build\_output\_2024\release and snake\_case\_name\_2",
    ],
)
def test_everyday_text_is_let_be(text: str) -> None:
    assert scrub(text).findings == ()
