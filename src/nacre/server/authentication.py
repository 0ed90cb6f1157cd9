"""Checks where a request comes from, and finds out who sends it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response

from nacre import __version__
from nacre.access.capabilities import Role
from nacre.errors import AccessDenied, IssuerUnreachable
from nacre.mcp.http import LOOPBACK
from nacre.server.metrics import METRICS
from nacre.server.refusals import Refusal, no_route, not_own_page, refusal, too_many
from nacre.server.requests import parsed_body
from nacre.server.sessions import is_own_request, session_cookie, set_cookie
from nacre.server.users import Identity

if TYPE_CHECKING:
    from nacre.server.app import Request

SESSION = "/session"
LONGEST_LOGIN = 10_000  # bytes
SCHEME = "bearer "


def check_origin(request: Request) -> None:
    """Against pages that let their name lead here (DNS rebinding), and against those of other sites."""
    names = {name.lower() for name in (*LOOPBACK, *request.app.options.hosts)}
    host = request.headers.get("host", "").lower()
    if without_port(host) not in names:
        raise refusal(
            "WrongHost", 421, "This is another machine",
            "The request names a machine that this server does not answer for; add it with --allow-host.",
        )  # fmt: skip
    origin = request.headers.get("origin", "").lower()
    if origin and without_port(origin.partition("://")[2]) not in names:
        raise refusal(
            "WrongOrigin", 403, "The request comes from another site",
            "Pages of other sites may not use this server; open its own page.",
        )  # fmt: skip


def without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host


async def answer_session(request: Request) -> Response:
    """Lets the page in, says who uses it, and lets it out."""
    request.route_name = SESSION
    if request.verb not in ("GET", "HEAD", "POST", "DELETE"):
        raise no_route({"GET", "POST", "DELETE"})
    if not is_own_request(request.verb, request.headers):
        raise not_own_page()
    secure = request.scope.get("scheme") == "https"
    if request.verb == "DELETE":
        await request.app.in_thread(partial(request.app.sessions.log_out, session_cookie(request.headers)))
        return JSONResponse({"user": None}, headers={"set-cookie": set_cookie(request.headers, "", secure=secure)})
    headers = {"cache-control": "no-store"}
    if request.verb == "POST":
        value, identity = await logged_in(request)
        headers["set-cookie"] = set_cookie(request.headers, value, secure=secure)
    else:
        value = session_cookie(request.headers)
        try:
            identity = await request.app.in_thread(partial(request.app.sessions.identity, value))
        except AccessDenied:
            return JSONResponse({"user": None}, headers=headers)
    request.user, request.token = identity.user, identity.token
    about = {
        "user": identity.user, "role": str(identity.role), "spaces": list(identity.spaces),
        "space": request.app.stores.usual_space(identity), "version": __version__,
    }  # fmt: skip
    return JSONResponse(about, headers=headers)


async def logged_in(request: Request) -> tuple[str, Identity]:
    client = request.scope.get("client")
    wait = request.app.sessions.attempts.take(client[0] if client else "")
    if wait:
        raise too_many("There were too many attempts to sign in; try again", wait)
    sent = parsed_body(await request.body(LONGEST_LOGIN))
    code, token = (str(sent.get(name, "")) for name in ("code", "token"))
    try:
        return await request.app.in_thread(partial(request.app.sessions.log_in, code.strip(), token.strip()))
    except AccessDenied as error:
        raise unauthorized(request, str(error)) from error


async def identity_of(request: Request) -> Identity:
    header = request.headers.get("authorization", "")
    if not header and (value := session_cookie(request.headers)):
        return await identity_of_page(request, value)
    if header[: len(SCHEME)].lower() != SCHEME:
        local = request.path == METRICS and request.app.options.local
        if local and not await request.app.in_thread(request.app.registry.has_tokens):
            return Identity("", Role.ADMIN, (), "")
        raise unauthorized(request, "This server needs a token; send it as Authorization: Bearer TOKEN.")
    token = header[len(SCHEME) :].strip()
    try:
        if request.app.must_ask(token):
            return await identity_by_asking(request, token)
        return await request.app.in_thread(partial(request.app.identify, token))
    except AccessDenied as error:
        raise unauthorized(request, str(error)) from error


async def identity_by_asking(request: Request, token: str) -> Identity:
    """By a request to the issuer: only tokens that it does not know are counted, by the address they come from."""
    client = request.scope.get("client")
    address = client[0] if client else ""
    wait = request.app.unknown_tokens.take(address)
    if wait:
        raise too_many("There were too many tokens that are not known; try again", wait)
    try:
        identity = await request.app.in_issuer_thread(partial(request.app.identify, token))
    except IssuerUnreachable:
        request.app.unknown_tokens.give_back(address)
        raise
    request.app.unknown_tokens.give_back(address)
    return identity


async def identity_of_page(request: Request, value: str) -> Identity:
    if not is_own_request(request.verb, request.headers):
        raise not_own_page()
    try:
        return await request.app.in_thread(partial(request.app.sessions.identity, value))
    except AccessDenied as error:
        raise unauthorized(request, str(error)) from error


def unauthorized(request: Request, sentence: str) -> Refusal:
    challenge = "Bearer"
    if request.app.oauth is not None:
        challenge = request.app.oauth.challenge(f"/{request.path.split('/')[1]}")
        challenge += ', error="invalid_token"' if "authorization" in request.headers else ""
    return refusal("Unauthorized", 401, "A token is needed", sentence, www_authenticate=challenge)
