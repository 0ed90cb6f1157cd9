"""Checks access tokens of an OAuth 2.1 issuer; this server issues none.

A token is checked by the issuer's public keys (JWT access tokens) or by asking the issuer (introspection). Scopes give
the role, a claim the spaces.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import time
import urllib.error
import urllib.request
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from nacre.access.capabilities import Role
from nacre.errors import AccessDenied, ConfigError, InvalidInput, IssuerUnreachable
from nacre.files import ThreadLock
from nacre.mcp.http import Address
from nacre.model.validate import label
from nacre.server.users import Identity

log = logging.getLogger("nacre")

METADATA = "/.well-known/oauth-protected-resource"
RESOURCES = ("", "/mcp", "/v1")  # below the server's address: what a token may be made for
SCOPE_PREFIX = "nacre:"  # of the scopes, which are named for the roles
SPACES_CLAIM = "nacre_spaces"
EVERY_SPACE = "*"
USER_PREFIX = "oauth:"  # no user of `nacre user add` has a colon in its name, so that nobody is taken for another
# Signatures that only the issuer can make. Those with a shared secret (HS256) would let a public key be used as one.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY_SECONDS = 30  # by which two clocks may differ
TIMEOUT_SECONDS = 10.0
LARGEST_ANSWER = 1_000_000  # bytes; a set of keys has some thousands
REFETCH_SECONDS = 60.0  # at least, between two requests for the keys: anybody can send tokens with unknown keys
RETRY_SECONDS = 5.0  # at least, between two requests for the keys while there are none: nobody gets in meanwhile
KEYS_SECONDS = 3600.0  # after which the keys are asked for again, so that a withdrawn one is not used for ever
LONGEST_KEYS_SECONDS = 2 * KEYS_SECONDS  # for which keys hold while the issuer cannot be asked for them again
ANSWER_SECONDS = 30.0  # for which the issuer's answer holds: a revoked token is let in no longer than that
MOST_ANSWERS = 10_000  # of the issuer that are kept
LONGEST_TOKEN = 16_384


@dataclass(frozen=True, slots=True)
class OAuthOptions:
    """`keys` is a file or an address with the issuer's keys (JWKS). `introspection` is the address that says about a
    token; `client` is a file with ID:SECRET, by which this server signs in there. `resource` is this server's own
    address as tokens name it. `spaces` are opened by tokens that name none."""

    issuer: str
    resource: str
    keys: str = ""
    introspection: str = ""
    client: Path | None = None
    spaces: Sequence[str] = ()

    def check(self) -> None:
        """Raises `InvalidInput`."""
        if bool(self.keys) == bool(self.introspection):
            raise InvalidInput(
                "--oauth-issuer needs a way to check its tokens. Give either --oauth-keys with its JWKS, or "
                "--oauth-introspection with its address for asking about a token."
            )
        if self.introspection and self.client is None:
            raise InvalidInput("The issuer answers only who it knows; give --oauth-client with a file of ID:SECRET.")
        for url in (self.issuer, self.resource, self.introspection, self.keys if is_url(self.keys) else ""):
            check_url(url)
        for file in (self.client, Path(self.keys) if self.keys and not is_url(self.keys) else None):
            if file is not None and not file.is_file():
                raise InvalidInput(f"There is no file {file}; name the right one.")


def is_url(text: str) -> bool:
    return text.startswith(("https://", "http://"))


def check_url(url: str) -> None:
    """Raises `InvalidInput` where tokens or keys could be read or changed on the way."""
    parts = urlsplit(url)
    if not url or (parts.scheme == "https" and parts.hostname):
        return
    if parts.scheme != "http" or not Address(parts.hostname or "", 0).local:
        raise InvalidInput(f"{url} is not an address with TLS; write it as https://HOST/….")


class OAuth:
    """Says who shows a token. Safe to use from several threads."""

    def __init__(self, options: OAuthOptions, clock: Callable[[], float] = time.time) -> None:
        options.check()
        self.options = options
        self._clock = clock
        self._base = options.resource.rstrip("/")
        self.audiences = (*(f"{self._base}{path}" for path in RESOURCES), f"{self._base}/")
        self._source: Keys | Introspection = Keys(options, clock) if options.keys else Introspection(options, clock)

    def identify(self, token: str) -> Identity:
        """Raises `AccessDenied`, whatever is wrong with the token, and `IssuerUnreachable`."""
        if not token or len(token) > LONGEST_TOKEN or not token.isascii():
            raise AccessDenied("This token cannot be read; sign in again to get another one.")
        claims = self._source.claims(token, self.audiences)
        self._check(claims)
        scopes = scopes_of(claims)
        roles = [role for role in Role if f"{SCOPE_PREFIX}{role}" in scopes]
        if not roles:
            wanted = ", ".join(f"{SCOPE_PREFIX}{role}" for role in Role)
            raise AccessDenied(f"This token has no scope for this server; sign in again with one of {wanted}.")
        return Identity(user_of(claims), roles[-1], self._spaces(claims), "")

    def must_ask(self, token: str) -> bool:
        """Whether `identify` would send a request to the issuer, which takes long and which anybody can cause."""
        return self._source.must_ask(token)

    def metadata(self, path: str) -> dict[str, object]:
        """What a client learns about how to get a token (RFC 9728); `path` is that of the resource."""
        return {
            "resource": f"{self._base}{path}",
            "authorization_servers": [self.options.issuer],
            "scopes_supported": [f"{SCOPE_PREFIX}{role}" for role in Role],
            "bearer_methods_supported": ["header"],
            "resource_name": "Nacre",
        }

    def challenge(self, path: str) -> str:
        """The header of an answer without a token, which leads a client to the metadata."""
        known = path if path in RESOURCES else ""
        return f'Bearer resource_metadata="{self._base}{METADATA}{known}", scope="{SCOPE_PREFIX}{Role.WRITER}"'

    def _check(self, claims: Mapping[str, Any]) -> None:
        """Once more, in one place for both ways: a library or an issuer may leave something out."""
        now, ends, begins = self._clock(), time_of(claims.get("exp")), time_of(claims.get("nbf", 0))
        if ends is None or ends + LEEWAY_SECONDS <= now:
            raise AccessDenied("This token has expired; sign in again.")
        if begins is None or begins - LEEWAY_SECONDS > now:
            raise AccessDenied("This token is not valid yet; compare the clocks of the two servers.")
        if claims.get("iss", self.options.issuer) != self.options.issuer:
            raise AccessDenied("This token comes from another issuer; sign in where this server says.")
        audience = claims.get("aud", ())
        if not {*([audience] if isinstance(audience, str) else audience)} & {*self.audiences}:
            raise AccessDenied(f"This token was made for another server; ask for one for {self._base}/mcp.")

    def _spaces(self, claims: Mapping[str, Any]) -> tuple[str, ...]:
        """Those of the claim, else those of the options; none is never taken for all."""
        named = claims.get(SPACES_CLAIM, list(self.options.spaces))
        names = named.split() if isinstance(named, str) else named
        if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
            raise AccessDenied(
                f"This token opens no space; have the issuer name them in the claim {SPACES_CLAIM}, or start the "
                "server with --oauth-space."
            )
        return () if EVERY_SPACE in names else tuple(dict.fromkeys(names))


def time_of(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def scopes_of(claims: Mapping[str, Any]) -> set[str]:
    """By the standard one text with spaces; some issuers write a list, or call it `scp`."""
    named = claims.get("scope", claims.get("scp", ""))
    names = named.split() if isinstance(named, str) else named
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()


def user_of(claims: Mapping[str, Any]) -> str:
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject.strip() or not subject.isprintable():
        raise AccessDenied("This token names no user; ask the issuer for one with the claim sub.")
    try:
        return label("user", f"{USER_PREFIX}{subject}")
    except InvalidInput as error:
        raise AccessDenied("The user in this token has too long a name; ask the issuer for another one.") from error


class Keys:
    """Checks tokens by the keys of the issuer, from a file or an address."""

    def __init__(self, options: OAuthOptions, clock: Callable[[], float]) -> None:
        self._options, self._clock = options, clock
        self._lock = ThreadLock()
        self._fetching = ThreadLock()  # one request to the issuer at a time
        self._known: Mapping[str, Any] = {}
        self._read_at = self._tried_at = float("-inf")
        self._failure = ""  # why the last attempt failed
        self._changed_at = 0.0
        if not is_url(options.keys):
            self._known = self._read_file()  # a file that cannot be read is said at the start

    def claims(self, token: str, audiences: Sequence[str]) -> Mapping[str, Any]:
        import jwt

        try:
            header = jwt.get_unverified_header(token)
            algorithm = str(header.get("alg"))
            key = self._key(str(header.get("kid", "")))
            if key is None or algorithm not in ALGORITHMS:
                raise AccessDenied("This token was not signed by the issuer that this server trusts; sign in again.")
            required = ["exp", "iss", "aud", "sub"]
            claims: Mapping[str, Any] = jwt.decode(
                token, key, algorithms=[algorithm], audience=list(audiences), issuer=self._options.issuer,
                leeway=LEEWAY_SECONDS, options={"require": required, "verify_iat": False},
            )  # fmt: skip
        except jwt.ExpiredSignatureError as error:
            raise AccessDenied("This token has expired; sign in again.") from error
        except jwt.InvalidAudienceError as error:
            raise AccessDenied(
                f"This token was made for another server; ask for one for {self._options.resource.rstrip('/')}/mcp."
            ) from error
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            raise AccessDenied("This token is not one that this server can trust; sign in again.") from error
        return claims

    def must_ask(self, token: str) -> bool:
        import jwt

        if not is_url(self._options.keys):
            return False
        try:
            name = str(jwt.get_unverified_header(token).get("kid", ""))
        except (jwt.PyJWTError, ValueError, TypeError):
            return False
        return self._is_missing(name) or self._is_due(name)

    def _key(self, name: str) -> Any:
        """The one of this name; where the token names none, the only one. Raises `IssuerUnreachable` where the issuer
        could not be asked whether there is such a key."""
        if not is_url(self._options.keys):
            self._read_changed_file()
            return self._find(name)
        if self._is_missing(name):
            with self._fetching:  # waits for a request that is under way
                if self._claim(name):
                    self._ask()
        elif self._claim(name):
            with self._fetching:
                self._ask()
        if self._failure and self._is_missing(name):
            raise IssuerUnreachable(self._options.issuer, self._failure)
        return self._find(name)

    def _is_missing(self, name: str) -> bool:
        return self._find(name) is None or self._clock() - self._read_at > LONGEST_KEYS_SECONDS

    def _is_due(self, name: str) -> bool:
        """Whether the issuer has to be asked, and may be asked again already."""
        now = self._clock()
        since_read, since_tried = now - self._read_at, now - self._tried_at
        if not self._known or since_read > LONGEST_KEYS_SECONDS:
            return since_tried > RETRY_SECONDS
        return since_tried > REFETCH_SECONDS and (since_read > KEYS_SECONDS or self._find(name) is None)

    def _claim(self, name: str) -> bool:
        """True for one of those who find that it is due: the others go on with the keys that are known."""
        with self._lock:
            due = self._is_due(name)
            if due:
                self._tried_at = self._clock()
            return due

    def _ask(self) -> None:
        place = self._options.keys
        try:
            data = fetch(urllib.request.Request(place, headers={"Accept": "application/json"}), self._options.issuer)
            self._known, self._read_at, self._failure = signing_keys(data, place), self._clock(), ""
        except IssuerUnreachable as error:
            self._failure = error.reason
        except ConfigError:
            self._failure = "what it publishes is not a set of keys"

    def _find(self, name: str) -> Any:
        known = self._known
        if not name and len(known) == 1:
            return next(iter(known.values()))
        return known.get(name)

    def _read_changed_file(self) -> None:
        """What was read holds while the file is being replaced."""
        try:
            if Path(self._options.keys).stat().st_mtime != self._changed_at:
                self._known = self._read_file()
        except (OSError, ConfigError) as error:
            log.warning("The keys that were read before are used on: %s", error)

    def _read_file(self) -> Mapping[str, Any]:
        """Raises `ConfigError`."""
        place = self._options.keys
        try:
            self._changed_at = Path(place).stat().st_mtime
            data = Path(place).read_bytes()
        except OSError as error:
            raise ConfigError(f"{place} cannot be read ({error.strerror}); name the file with the keys.") from error
        return signing_keys(data, place)


def signing_keys(data: bytes, place: str) -> Mapping[str, Any]:
    """Those of a JWKS by their ids. Raises `ConfigError`; `place` is where the data is from."""
    import jwt

    try:
        keys = jwt.PyJWKSet.from_dict(json.loads(data)).keys
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(f"{place} holds no set of keys (JWKS); name what the issuer publishes.") from error
    signing = [key for key in keys if key.public_key_use in (None, "sig") and key.algorithm_name in ALGORITHMS]
    return {key.key_id or "": key for key in signing}


class Introspection:
    """Asks the issuer about a token (RFC 7662)."""

    def __init__(self, options: OAuthOptions, clock: Callable[[], float]) -> None:
        assert options.client is not None
        self._options, self._clock = options, clock
        self._lock = ThreadLock()
        self._answers: OrderedDict[bytes, tuple[float, Mapping[str, Any]]] = OrderedDict()
        try:
            id, colon, secret = options.client.read_text("utf-8").strip().partition(":")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{options.client} cannot be read ({error}); name a file with ID:SECRET.") from error
        if not id or not colon or not secret:
            raise ConfigError(f"{options.client} does not hold ID:SECRET in one line; write what the issuer gave.")
        self._login = "Basic " + base64.b64encode(f"{id}:{secret}".encode()).decode()

    def claims(self, token: str, audiences: Sequence[str]) -> Mapping[str, Any]:  # noqa: ARG002 (checked by who asks)
        answer = self._recent(token)
        if answer is None:
            asked_at, answer = self._clock(), self._ask(token)
            with self._lock:
                name = name_of(token)
                self._answers[name] = (asked_at, answer)
                self._answers.move_to_end(name)
                while len(self._answers) > MOST_ANSWERS:
                    self._answers.popitem(last=False)
        if answer.get("active") is not True:
            raise AccessDenied("The issuer does not know this token, or has revoked it; sign in again.")
        return answer

    def must_ask(self, token: str) -> bool:
        return self._recent(token) is None

    def _recent(self, token: str) -> Mapping[str, Any] | None:
        """An answer of the issuer that still holds."""
        with self._lock:
            asked_at, answer = self._answers.get(name_of(token), (float("-inf"), {}))
        return answer if self._clock() - asked_at <= ANSWER_SECONDS else None

    def _ask(self, token: str) -> Mapping[str, Any]:
        body = urlencode({"token": token, "token_type_hint": "access_token"}).encode()
        headers = {
            "Authorization": self._login, "Accept": "application/json",
            "Content-Type": "application/x-www-form-urlencoded",
        }  # fmt: skip
        request = urllib.request.Request(self._options.introspection, body, headers, method="POST")
        try:
            answer = json.loads(fetch(request, self._options.issuer))
        except ValueError as error:
            raise IssuerUnreachable(self._options.issuer, "its answer is not JSON") from error
        if not isinstance(answer, dict):
            raise IssuerUnreachable(self._options.issuer, "its answer is not an object")
        return answer


def name_of(token: str) -> bytes:
    """The token itself is not kept."""
    return hashlib.sha256(token.encode()).digest()


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Neither a token nor the trust in keys may be led elsewhere."""

    def redirect_request(self, *args: Any, **options: Any) -> None:  # noqa: ARG002
        return None


def fetch(request: urllib.request.Request, issuer: str) -> bytes:
    """Raises `IssuerUnreachable`."""
    try:
        with urllib.request.build_opener(NoRedirects).open(request, timeout=TIMEOUT_SECONDS) as response:
            data: bytes = response.read(LARGEST_ANSWER + 1)
    except urllib.error.HTTPError as error:
        raise IssuerUnreachable(issuer, f"it answered {error.code}") from error
    except (OSError, HTTPException) as error:
        raise IssuerUnreachable(issuer, str(getattr(error, "reason", error)) or type(error).__name__) from error
    if len(data) > LARGEST_ANSWER:
        raise IssuerUnreachable(issuer, f"its answer has more than {LARGEST_ANSWER:,} bytes")
    return data
