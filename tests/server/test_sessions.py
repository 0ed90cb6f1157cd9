"""A browser's cookie: who gets one, and from where it counts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.access.capabilities import Role
from nacre.access.view import SESSION_KIND
from nacre.errors import AccessDenied
from nacre.server.sessions import (
    LOGINS_A_MINUTE,
    SESSION_SECONDS,
    Sessions,
    cookie_name,
    is_own_request,
    session_cookie,
    set_cookie,
)
from nacre.server.users import Identity
from tests.samples import Clock
from tests.server.running import Served, serving, tokens

OWN = {"x-nacre-page": "1"}


def nobody(_: str) -> Identity:
    raise AccessDenied("unknown")


@pytest.fixture
def sessions() -> Iterator[Sessions]:
    with MemoryStore(":memory:", embedder="hashing") as store:
        yield Sessions(nobody, store.acting_as("server").store, time.time)


def test_the_code_of_a_link_lets_in_once(sessions: Sessions) -> None:
    code = sessions.make_code()
    value, identity = sessions.log_in(code, "")
    assert identity.role is Role.ADMIN and sessions.identity(value) == identity
    assert value != code
    for wrong in (code, "", "é"):
        with pytest.raises(AccessDenied):
            sessions.log_in(wrong, "")


def test_without_a_link_no_code_and_no_empty_cookie_lets_in(sessions: Sessions) -> None:
    for code in ("", "x"):
        with pytest.raises(AccessDenied):
            sessions.log_in(code, "")
    with pytest.raises(AccessDenied):
        sessions.identity("")


def test_a_session_ends_by_time_by_signing_out_and_with_its_token() -> None:
    clock, known = Clock(1_800_000_000.0), {"token of ada"}

    def identify(token: str) -> Identity:
        if token not in known:
            raise AccessDenied("unknown")
        return Identity("ada", Role.WRITER, ("team",), "0")

    with MemoryStore(":memory:", embedder="hashing") as store:
        backend = store.acting_as("server").store
        sessions = Sessions(identify, backend, clock)
        first, second, third = (sessions.log_in("", "token of ada")[0] for _ in range(3))
        assert len({first, second, third}) == 3 and "token" not in first
        kept = repr(backend.terms(SESSION_KIND))
        assert "token of ada" not in kept and first not in kept
        sessions.log_out(first)
        with pytest.raises(AccessDenied, match="sign in again"):
            sessions.identity(first)
        assert Sessions(identify, backend, clock).identity(second).user == "ada"  # another instance over the store
        known.clear()
        with pytest.raises(AccessDenied):
            sessions.identity(second)
        known.add("token of ada")
        clock.now += SESSION_SECONDS
        with pytest.raises(AccessDenied, match="sign in again"):
            sessions.identity(third)
        sessions.log_in("", "token of ada")
        assert len(backend.terms(SESSION_KIND)) == 1


@pytest.mark.parametrize(
    ("verb", "headers", "own"),
    [
        ("GET", {}, True),
        ("POST", {}, False),
        ("POST", OWN, True),
        ("POST", {**OWN, "origin": "http://127.0.0.1:8790"}, True),
        ("POST", {**OWN, "origin": "http://127.0.0.1:9000"}, False),
        ("GET", {"origin": "null"}, False),
        ("GET", {"sec-fetch-site": "same-site"}, False),
        ("GET", {"sec-fetch-site": "cross-site"}, False),
        ("GET", {"sec-fetch-site": "none"}, True),
    ],
)
def test_a_cookie_counts_only_from_the_own_page(verb: str, headers: dict[str, str], own: bool) -> None:
    assert is_own_request(verb, {"host": "127.0.0.1:8790", **headers}) is own


def test_servers_on_one_machine_have_cookies_of_their_own() -> None:
    assert cookie_name("localhost:1") != cookie_name("localhost:2")
    header = set_cookie({"host": "localhost:1"}, "abc", secure=False)
    assert "HttpOnly" in header and "SameSite=Strict" in header and "Secure" not in header
    assert session_cookie({"host": "localhost:1", "cookie": header.partition(";")[0]}) == "abc"
    assert session_cookie({"host": "localhost:2", "cookie": header.partition(";")[0]}) == ""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sessions")


@pytest.fixture(scope="module")
def token(place: Path) -> str:
    return tokens(place / "memory.db", ("ada", "writer", ("team",)))[0]


@pytest.fixture(scope="module")
def served(place: Path, token: str) -> Iterator[Served]:
    assert token
    with serving(place / "memory.db", place, NACRE_EMBEDDER="hashing") as served:
        yield served


@pytest.mark.parametrize(
    ("name", "spaces", "shown"),
    [
        ("neu", (), "personal@neu"),
        ("one", ("team",), "team"),
        ("two", ("team", "dock"), "team"),
        ("own", ("team", "personal@own"), "personal@own"),
    ],
)
@pytest.mark.slow
def test_a_page_opens_the_space_that_a_command_would(
    served: Served, place: Path, name: str, spaces: tuple[str, ...], shown: str
) -> None:
    (token,) = tokens(place / "memory.db", (name, "writer", spaces))
    assert served.caller()("POST", "/session", {"token": token}, **OWN).json["space"] == shown


@pytest.mark.slow
def test_a_page_signs_in_writes_and_learns_which_operation_it_was(served: Served, token: str) -> None:
    call = served.caller()
    assert call("GET", "/session").json == {"user": None}
    reply = call("POST", "/session", {"token": token}, **OWN)
    assert (reply.json["user"], reply.json["role"], reply.json["space"]) == ("ada", "writer", "team")
    cookie = {"cookie": reply.headers["set-cookie"].partition(";")[0]}
    assert token not in reply.headers["set-cookie"] and "Max-Age=" in reply.headers["set-cookie"]
    assert call("GET", "/session", **cookie).json["user"] == "ada"
    text = {"text": "The spare key hangs behind the clock."}
    assert call("POST", "/v1/spaces/team/memories", text, **cookie).status == 403
    elsewhere = {**cookie, **OWN, "origin": "http://localhost:1"}
    assert call("POST", "/v1/spaces/team/memories", text, **elsewhere).status == 403
    written = call("POST", "/v1/spaces/team/memories", text, **cookie, **OWN)
    assert written.status == 201
    operation = written.headers["nacre-operation"]
    assert call("POST", f"/v1/spaces/team/operations/{operation}/undo", {}, **cookie, **OWN).status == 200
    assert call("GET", f"/v1/spaces/team/memories/{written.json['memory']['id']}", **cookie).status == 404
    assert "nacre-operation" not in call("GET", "/v1/spaces/team/memories", **cookie).headers
    assert call("DELETE", "/session", **cookie, **OWN).status == 200
    assert call("GET", "/v1/spaces/team/memories", **cookie).status == 401
    assert token not in served.log.read_text() and "spare key" not in served.log.read_text()


@pytest.mark.slow
def test_signing_in_has_a_limit(served: Served) -> None:
    call = served.caller()
    statuses = [call("POST", "/session", {"token": "x"}, **OWN).status for _ in range(LOGINS_A_MINUTE + 1)]
    assert statuses[0] == 401 and statuses[-1] == 429
