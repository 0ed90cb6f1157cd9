"""Tokens of another issuer: who gets in, with which role, in which spaces, and how a client learns where to sign in."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization

from nacre.access.capabilities import Role
from nacre.errors import AccessDenied, ConfigError, InvalidInput, IssuerUnreachable
from nacre.server.app import UNKNOWN_TOKENS_A_MINUTE
from nacre.server.oauth import (
    ANSWER_SECONDS,
    KEYS_SECONDS,
    LONGEST_KEYS_SECONDS,
    REFETCH_SECONDS,
    RETRY_SECONDS,
    OAuth,
    OAuthOptions,
)
from tests.command_line import CommandLine
from tests.server.issuer import Issuer, issuing
from tests.server.running import Reply, serving, tokens
from tests.waiting import wait_for

HERE = "https://memory.example.org"


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuing() as made:
        yield made


class Clock:
    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


def by_keys(issuer: Issuer, clock: Callable[[], float] = time.time, **options: Any) -> OAuth:
    return OAuth(OAuthOptions(issuer.url, HERE, **{"keys": f"{issuer.url}/keys", "spaces": ["team"], **options}), clock)


@pytest.mark.slow
def test_scopes_give_the_role_and_the_claim_gives_the_spaces(issuer: Issuer) -> None:
    oauth = by_keys(issuer)
    found = oauth.identify(issuer.token(f"{HERE}/mcp", scope="openid nacre:reader nacre:reviewer"))
    assert (found.user, found.role, found.spaces) == ("oauth:ada", Role.REVIEWER, ("team",))
    listed = oauth.identify(issuer.token(HERE, scope=None, scp=["nacre:admin"], nacre_spaces=["a", "b", "a"]))
    assert (listed.role, listed.spaces) == (Role.ADMIN, ("a", "b"))
    assert oauth.identify(issuer.token(f"{HERE}/v1", nacre_spaces="a b")).spaces == ("a", "b")
    assert oauth.identify(issuer.token(["other", f"{HERE}/mcp"], nacre_spaces=["*"])).spaces == ()


WRONG: list[dict[str, Any]] = [
    {"aud": "https://other.example.org/mcp"}, {"aud": None}, {"aud": f"{HERE}/mcp/more"}, {"aud": []},
    {"iss": "https://other.example.org"},
    {"exp": 1_000}, {"exp": None}, {"exp": True}, {"nbf": 4_000_000_000},
    {"scope": "openid"}, {"scope": "nacre"}, {"scope": "xnacre:admin"}, {"scope": None}, {"scope": {"nacre:admin": 1}},
    {"sub": None}, {"sub": ""}, {"sub": " "}, {"sub": "a\nb"}, {"sub": "x" * 5_000},
    {"nacre_spaces": []}, {"nacre_spaces": ""}, {"nacre_spaces": [1]}, {"nacre_spaces": {"a": 1}},
]  # fmt: skip


@pytest.mark.parametrize("changes", [*WRONG, {"iss": None}], ids=str)
def test_a_signed_token_with_one_thing_wrong_is_refused(issuer: Issuer, changes: dict[str, Any]) -> None:
    with pytest.raises(AccessDenied, match=r"[;.] ?"):
        by_keys(issuer).identify(made(issuer, changes))


@pytest.mark.parametrize("changes", WRONG, ids=str)
def test_an_answer_of_the_issuer_with_one_thing_wrong_is_refused(
    issuer: Issuer, changes: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(AccessDenied, match=r"[;.] ?"):
        asking(issuer, tmp_path).identify(issuer.opaque_token(HERE, **changes))


def test_no_space_named_anywhere_opens_none(issuer: Issuer, tmp_path: Path) -> None:
    for oauth, token in (
        (by_keys(issuer, spaces=()), issuer.token(HERE)),
        (asking(issuer, tmp_path, spaces=()), issuer.opaque_token(HERE)),
    ):
        with pytest.raises(AccessDenied, match="--oauth-space"):
            oauth.identify(token)


def made(issuer: Issuer, changes: dict[str, Any]) -> str:
    """PyJWT refuses to sign some of them."""
    kind, private = issuer.keys["first"]
    signer = jwt.get_algorithm_by_name(kind)
    parts = [{"alg": kind, "kid": "first"}, issuer.claims(HERE, **changes)]
    text = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts)
    signature = signer.sign(text.encode(), private)
    return f"{text}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def test_only_signatures_of_the_issuer_count(issuer: Issuer) -> None:
    oauth, claims = by_keys(issuer), issuer.claims(HERE)
    good = issuer.token(HERE)
    assert oauth.identify(good).user == "oauth:ada"
    public = issuer.keys["first"][1].public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    head = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "kid": "first"}).encode()).rstrip(b"=")
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=")
    confused = hmac.new(pem, head + b"." + body, hashlib.sha256).digest()
    with issuing() as stranger:
        foreign = stranger.token(HERE, iss=issuer.url)
    wrong = [
        foreign,
        jwt.encode(claims, "", "none", headers={"kid": "first"}),
        (head + b"." + body + b"." + base64.urlsafe_b64encode(confused).rstrip(b"=")).decode(),
        good[:-6] + ("A" * 6 if not good.endswith("A" * 6) else "B" * 6),
        good.replace(".", "..", 1),
        "", "nonsense", "a.b.c", "x" * 20_000, "ä" + good,
    ]  # fmt: skip
    for token in wrong:
        with pytest.raises(AccessDenied):
            oauth.identify(token)


def test_keys_are_fetched_once_and_again_when_they_change(issuer: Issuer) -> None:
    clock = Clock()
    oauth = by_keys(issuer, clock)
    begun = issuer.asked.get("/keys", 0)
    for _ in range(5):
        oauth.identify(issuer.token(HERE))
    assert issuer.asked["/keys"] == begun + 1
    issuer.add_key("second", "ES256")
    token = issuer.token(HERE, key="second")
    for _ in range(5):  # unknown keys do not make it ask again and again
        with pytest.raises(AccessDenied):
            oauth.identify(token)
    assert issuer.asked["/keys"] == begun + 1
    clock.ahead += 61
    assert oauth.identify(token).user == "oauth:ada"
    del issuer.keys["second"]
    clock.ahead += KEYS_SECONDS + 1
    with pytest.raises(AccessDenied):
        oauth.identify(jwt.encode(issuer.claims(HERE, exp=time.time() + 9_999), *issuer_key(token)))


def test_an_issuer_that_cannot_be_asked_is_no_fault_of_the_token(issuer: Issuer) -> None:
    clock, begun = Clock(), issuer.asked.get("/keys", 0)
    oauth, token = by_keys(issuer, clock), issuer.token(HERE, exp=time.time() + 99_999)
    issuer.broken = True
    try:
        for _ in range(3):
            with pytest.raises(IssuerUnreachable, match="500"):
                oauth.identify(token)
        assert issuer.asked["/keys"] == begun + 1
        clock.ahead += RETRY_SECONDS + 1
        issuer.broken = False
        assert oauth.identify(token).user == "oauth:ada"  # soon after the issuer is back
        issuer.broken = True
        clock.ahead += KEYS_SECONDS + 1
        for _ in range(3):  # the known keys hold on, and the issuer is asked again and again
            assert oauth.identify(token).user == "oauth:ada"
            clock.ahead += REFETCH_SECONDS + 1
        assert issuer.asked["/keys"] == begun + 5
        issuer.add_key("third", "ES256")
        with pytest.raises(IssuerUnreachable):
            oauth.identify(issuer.token(HERE, key="third"))
        clock.ahead += LONGEST_KEYS_SECONDS
        with pytest.raises(IssuerUnreachable):
            oauth.identify(token)
    finally:
        issuer.broken = False
        issuer.keys.pop("third", None)


def test_who_has_a_known_key_does_not_wait_for_the_issuer(issuer: Issuer) -> None:
    clock = Clock()
    oauth, token = by_keys(issuer, clock), issuer.token(HERE, exp=time.time() + 99_999)
    oauth.identify(token)
    clock.ahead += KEYS_SECONDS + 1
    issuer.held.clear()
    begun = issuer.asked["/keys"]
    try:
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(oauth.identify, token)
            wait_for(lambda: issuer.asked["/keys"] > begun)  # the issuer has the question, and does not answer
            assert oauth.identify(token).user == "oauth:ada" and not first.done()
            issuer.held.set()
            assert first.result(60).user == "oauth:ada"
    finally:
        issuer.held.set()


def test_what_is_no_set_of_keys_is_no_fault_of_the_token_either(issuer: Issuer, tmp_path: Path) -> None:
    with pytest.raises(IssuerUnreachable, match="not a set of keys"):
        by_keys(issuer, keys=f"{issuer.url}/nonsense").identify(issuer.token(HERE))
    file = tmp_path / "keys.json"
    file.write_text(json.dumps(issuer.jwks()))
    oauth = by_keys(issuer, keys=str(file))
    file.write_text("half of")
    os.utime(file, (1, 1))
    assert oauth.identify(issuer.token(HERE)).role is Role.WRITER  # it is being replaced


@pytest.mark.slow
def test_tokens_that_the_issuer_does_not_know_are_limited_by_address(issuer: Issuer, tmp_path: Path) -> None:
    (tmp_path / "client").write_text(f"{issuer.login}\n")
    (own,) = tokens(tmp_path / "s.db", ("ada", "admin", ()))
    words = ("--oauth-issuer", issuer.url, "--oauth-introspection", f"{issuer.url}/ask", "--oauth-client",
             str(tmp_path / "client"), "--oauth-space", "team")  # fmt: skip
    with serving(tmp_path / "s.db", tmp_path, *words) as served:
        known = issuer.opaque_token(f"{served.url}/mcp")
        assert served.caller(known)("GET", "/v1/me").status == 200
        begun = issuer.asked["/ask"]
        statuses = [served.caller(f"guess-{n}")("GET", "/v1/me").status for n in range(UNKNOWN_TOKENS_A_MINUTE + 40)]
        assert set(statuses[:UNKNOWN_TOKENS_A_MINUTE]) == {401} and 429 in statuses
        assert issuer.asked["/ask"] - begun == statuses.count(401)
        refused = served.caller("one-more")("GET", "/v1/me")
        if refused.status == 429:  # on a slow machine there may be one again
            assert refused.headers["retry-after"] and "not known" in refused.json["detail"]
        assert served.caller(known)("GET", "/v1/me").status == 200  # its answer is known
        assert served.caller(own)("GET", "/v1/me").status == 200


def issuer_key(token: str) -> tuple[str, str]:
    """A signature by something that is no key of the issuer's any more."""
    return base64.b64encode(token.encode()).decode()[:64], "HS256"


def test_keys_may_lie_in_a_file_that_is_replaced(issuer: Issuer, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    with pytest.raises(InvalidInput, match="There is no file"):
        by_keys(issuer, keys=str(file))
    file.write_text("{}")
    with pytest.raises(ConfigError, match="JWKS"):
        by_keys(issuer, keys=str(file))
    file.write_text(json.dumps(issuer.jwks()))
    oauth = by_keys(issuer, keys=str(file))
    assert oauth.identify(issuer.token(HERE)).role is Role.WRITER
    with issuing() as other:
        token = other.token(HERE, iss=issuer.url)
        with pytest.raises(AccessDenied):
            oauth.identify(token)
        file.write_text(json.dumps(other.jwks()))
    os.utime(file, (1, 1))
    assert oauth.identify(token).role is Role.WRITER
    with pytest.raises(AccessDenied):
        oauth.identify(issuer.token(HERE))


def asking(issuer: Issuer, folder: Path, clock: Callable[[], float] = time.time, **options: Any) -> OAuth:
    (folder / "client").write_text(f"{issuer.login}\n")
    usual = {"introspection": f"{issuer.url}/ask", "client": folder / "client", "spaces": ["team"]}
    return OAuth(OAuthOptions(issuer.url, HERE, **{**usual, **options}), clock)


def test_the_issuer_is_asked_about_tokens_and_a_revoked_one_is_refused_soon(issuer: Issuer, tmp_path: Path) -> None:
    clock = Clock()
    oauth, token = asking(issuer, tmp_path, clock), issuer.opaque_token(HERE, scope="nacre:reader")
    begun = issuer.asked.get("/ask", 0)
    for _ in range(5):
        assert oauth.identify(token).role is Role.READER
    assert issuer.asked["/ask"] == begun + 1
    del issuer.opaque[token]
    clock.ahead = ANSWER_SECONDS + 1
    with pytest.raises(AccessDenied, match="revoked"):
        oauth.identify(token)
    issuer.broken = True
    try:
        with pytest.raises(IssuerUnreachable, match="500"):
            oauth.identify("another")
    finally:
        issuer.broken = False
    (tmp_path / "client").write_text("nacre:other\n")
    stranger = OAuth(oauth.options)
    with pytest.raises(IssuerUnreachable, match="401"):
        stranger.identify(token)
    (tmp_path / "client").write_text("nothing\n")
    with pytest.raises(ConfigError, match="ID:SECRET"):
        OAuth(oauth.options)


def test_options_that_do_not_fit_are_refused(nacre: CommandLine) -> None:
    issuer, ask = "https://id.example.org", "https://id.example.org/ask"
    for words, sentence in (
        (["--oauth-keys", "keys.json"], "--oauth-issuer"),
        (["--oauth-issuer", issuer], "--oauth-keys"),
        (["--oauth-issuer", "http://id.example.org", "--oauth-keys", f"{issuer}/keys"], "https://HOST"),
        (["--oauth-issuer", issuer, "--oauth-introspection", ask], "--oauth-client"),
        (["--oauth-issuer", issuer, "--oauth-keys", "absent.json"], "There is no file"),
    ):
        result = nacre("serve", "--http", "127.0.0.1:0", *words)
        assert result.exit_code == 2 and sentence in result.stderr, result.output


@pytest.mark.slow
def test_a_client_learns_where_to_sign_in_and_gets_in_with_its_role(issuer: Issuer, tmp_path: Path) -> None:
    (own,) = tokens(tmp_path / "s.db", ("ada", "admin", ()))
    words = ("--oauth-issuer", issuer.url, "--oauth-keys", f"{issuer.url}/keys", "--oauth-space", "team")
    with serving(tmp_path / "s.db", tmp_path, *words) as served:
        nobody = served.caller()
        for path in ("/mcp", "/v1/me"):
            refused = nobody("POST" if path == "/mcp" else "GET", path)
            place = refused.headers["www-authenticate"].partition('resource_metadata="')[2].partition('"')[0]
            assert refused.status == 401 and place.startswith(served.url)
            about = nobody("GET", place.removeprefix(served.url)).json
            assert about["authorization_servers"] == [issuer.url]
            assert about["resource"] == served.url + ("/mcp" if path == "/mcp" else "/v1")
            assert "nacre:reader" in about["scopes_supported"]
        writer = served.caller(issuer.token(f"{served.url}/mcp"))
        assert writer("GET", "/v1/me").json == {"user": "oauth:ada", "role": "writer", "spaces": ["team"]}
        kept = writer.remember("The pier opens at nine")
        assert writer("GET", "/v1/spaces/other/memories").status == 404
        assert writer("GET", "/v1/users").status == 403
        reader = served.caller(issuer.token(f"{served.url}/mcp", scope="nacre:reader"))
        assert reader("GET", f"/v1/spaces/team/memories/{kept['id']}").status == 200
        assert reader("POST", "/v1/spaces/team/memories", {"text": "No"}).status == 403
        assert initialized(reader).status == 200
        expired = served.caller(issuer.token(f"{served.url}/mcp", exp=1))("GET", "/v1/me")
        assert expired.status == 401 and 'error="invalid_token"' in expired.headers["www-authenticate"]
        entries = served.caller(own)("GET", "/v1/spaces/team/journal").json["result"]
        assert entries[0]["operation"]["actor"] == "oauth:ada"  # and not the server's own user of that name
        issuer.broken = True
        try:
            with issuing() as stranger:
                assert served.caller(stranger.token(served.url, iss=issuer.url))("GET", "/v1/me").status == 401
        finally:
            issuer.broken = False
        assert "eyJ" not in served.log.read_text()


def initialized(caller: Callable[..., Reply]) -> Reply:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    accept = "application/json, text/event-stream"
    return caller("POST", "/mcp", message, Content_Type="application/json", Accept=accept)
