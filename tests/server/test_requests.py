"""Every number that a request can give: none, zero, negative and huge are answered or refused, and answers end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput
from nacre.model.validate import alternatives
from nacre.rest.endpoints import MANY_IDS, MOST, MOST_LISTED, Endpoint, Parameter
from nacre.server.api import all_endpoints
from nacre.server.requests import Route, check_bounds, find_route, read_values
from tests.server.running import Caller, serving, tokens
from tests.server.samples import filled, request, values_of

SPACE = "harbour"
QUIET = "pier"  # which the many requests with odd numbers do not change
ODD = (None, 0, -1, 2**63, 10**30, 1e308, -1e308)
# What ends the store or the space that the others are tried in, and what waits for changes.
LEFT_OUT = ("backup_to_restore", "delete_space", "rename_space", "changes")


def numbers_of(endpoint: Endpoint) -> list[Parameter]:
    return [
        each for each in endpoint.parameters if each.place != "path" and {int, float} & set(alternatives(each.hint))
    ]


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Caller, str]]:
    home = tmp_path_factory.mktemp("requests")
    file = home / "s.db"
    with MemoryStore(file, space=SPACE, embedder="hashing") as store:
        filled(store)
        filled(store.in_space(QUIET))
        batch = store.journal(limit=1)[0].operation.batch
    (token,) = tokens(file, ("root", "admin", ()))
    with serving(file, home, "--limit-requests", "0", "--limit-writes", "0") as served:
        yield served.caller(token), batch


@pytest.mark.slow  # some hundred requests
def test_every_number_of_every_endpoint_is_answered_or_refused_in_a_sentence(admin: tuple[Caller, str]) -> None:
    caller, batch = admin
    tried = 0
    for endpoint in all_endpoints():
        if endpoint.method in LEFT_OUT or endpoint.upload or endpoint.download:
            continue
        for parameter in numbers_of(endpoint):
            for value in ODD:
                values = {**values_of(endpoint, SPACE, batch), parameter.name: value}
                reply = caller(*request(endpoint, SPACE, values))
                tried += 1
                about = (endpoint.name, parameter.name, value, reply.body[:200])
                assert reply.status < 500, about
                assert reply.status < 400 or reply.json["message"].endswith((".", "…")), about
    assert tried > 500


def test_no_endpoint_lists_without_an_end() -> None:
    for endpoint in all_endpoints():
        for parameter in endpoint.parameters:
            if parameter.name not in MOST:
                continue
            with pytest.raises(InvalidInput, match="several times"):
                check_bounds(endpoint, {**needed(endpoint), parameter.name: MOST[parameter.name] + 1})
            if parameter.name == "limit":
                with pytest.raises(InvalidInput, match="at most 1,000"):
                    check_bounds(endpoint, {**needed(endpoint), "limit": None})
                values = needed(endpoint)
                check_bounds(endpoint, values)
                assert values.get("limit", parameter.default) is not None, endpoint.name
        if endpoint.method in MANY_IDS:
            check_bounds(endpoint, {"ids": ["m"] * MOST_LISTED})
            with pytest.raises(InvalidInput, match="too many"):
                check_bounds(endpoint, {"ids": ["m"] * (MOST_LISTED + 1)})


def needed(endpoint: Endpoint) -> dict[str, object]:
    return {"ids": []} if any(each.name == "ids" for each in endpoint.parameters) else {}


def test_a_review_and_its_names_end_where_no_limit_is_given() -> None:
    for path in ("review", "entities", "entities/suggestions"):
        route = find_route("GET", f"/v1/spaces/x/{path}")
        assert isinstance(route, Route)
        assert read_values(route, [], b"").get("limit", 50) is not None
        with pytest.raises(InvalidInput):
            read_values(route, [("limit", "null")], b"")


def test_text_of_digits_in_a_query_is_the_year_or_the_day_that_a_store_reads(admin: tuple[Caller, str]) -> None:
    caller, _ = admin
    caller.remember("An old note", QUIET, id="old", created_at="2024-03-05", on_conflict="ignore")

    def ids(**query: str) -> set[str]:
        reply = caller("GET", f"/v1/spaces/{QUIET}/memories", query={"limit": "100", **query})
        return {each["id"] for each in reply.json["memories"]}

    assert "m1" in ids() and "old" in ids()
    assert ids(until="2024") == ids(until="20240331") == ids(until="1710000000") == {"old"}
    assert "old" not in ids(since="2025") and "m1" in ids(since="2025")
    assert ids(since="2024-03-05", until="2024-03-05") == ids(until="2024-03-05") == {"old"}
    assert ids(until="2024-03-04") == set()
    assert ids(as_of=datetime.now(UTC).strftime("%Y")) == ids()
    assert caller("GET", f"/v1/spaces/{QUIET}/memories", query={"as_of": "2199"}).status == 400  # nobody knows it yet
    assert ids(arguments='{"tags": []}') == set() and ids(arguments='{"until": "2024"}') == {"old"}
    for wrong in ('{"until": 2024.5, "unknown": 1}', "[]", "{", '{"limit": "3"}'):
        assert caller("GET", f"/v1/spaces/{QUIET}/memories", query={"arguments": wrong}).status == 400, wrong


def test_what_is_no_object_is_refused_with_an_example_of_one(admin: tuple[Caller, str]) -> None:
    caller, _ = admin
    root = f"/v1/spaces/{SPACE}/memories"
    refused = (
        (caller("GET", root, query={"arguments": "3"}), '{"limit": 20}'),
        (caller("PATCH", f"{root}/m1", {"title": "x"}, nacre_expect="3"), '{"ID": 3}'),
        (caller("PATCH", f"{root}/m1", {"title": "x"}, nacre_expect="{"), '{"ID": 3}'),
        (caller("PATCH", f"{root}/m1", [3]), '{"text": "…"}'),
    )
    for reply, example in refused:
        assert reply.status == 400 and f"such as {example}." in reply.json["message"]


def test_what_no_path_can_hold_is_named_in_the_arguments(admin: tuple[Caller, str]) -> None:
    caller, _ = admin
    caller.remember("Called like a word of the paths", QUIET, id="resolve", on_conflict="ignore")
    root = f"/v1/spaces/{QUIET}/memories"
    reply = caller("GET", f"{root}/-/history", query={"arguments": '{"id": "resolve"}'})
    assert reply.json["versions"][0]["id"] == "resolve"
    assert caller("GET", f"{root}/-", query={"arguments": '{"id": ""}'}).json["type"].endswith("MemoryNotFound")
    assert caller("PATCH", f"{root}/-", {"id": "resolve", "title": "By its body"}).json["title"] == "By its body"
    for path, query, body in ((f"{root}/m1", {"arguments": '{"id": "m2"}'}, None), (f"{root}/m1", {}, {"id": "m2"})):
        assert caller("GET" if body is None else "PATCH", path, body, query).status == 400


def test_a_number_with_hundreds_of_digits_and_a_path_without_a_space_are_refused(admin: tuple[Caller, str]) -> None:
    caller, _ = admin
    digits = "9" * 400
    for query in ({"valid_at": digits}, {"as_of": digits}, {"limit": digits}, {"offset": digits}):
        assert caller("GET", f"/v1/spaces/{QUIET}/memories", query=query).status == 400, query
    assert caller("GET", f"/v1/spaces/{QUIET}/review", query={"stale_days": digits}).status == 400
    assert caller("POST", f"/v1/spaces/{QUIET}/recall", {"query": "x", "min_relevance": 10**400}).status == 400
    assert caller("GET", "/v1/spaces//memories").status == 400
    assert caller("DELETE", "/v1/spaces/%20").status == 400


def test_a_space_with_blanks_around_its_name_is_as_closed_as_without(admin: tuple[Caller, str]) -> None:
    caller, _ = admin
    caller.remember("Nobody else's", "personal@root")
    made = caller("POST", "/v1/users", {"name": "guest"})
    assert made.status == 201
    token = caller("POST", "/v1/tokens", {"user": "guest", "role": "reader"}).json["secret"]
    guest = Caller(caller.url, token)
    replies = [guest("GET", f"/v1/spaces/{name}/memories") for name in ("personal@root", "%20personal@root")]
    assert [reply.status for reply in replies] == [404, 404] and replies[0].json == replies[1].json
    assert caller("GET", f"/v1/spaces/%20{QUIET}%20/count").result == caller("GET", f"/v1/spaces/{QUIET}/count").result


def test_versions_are_expected_of_memories_that_no_path_names(admin: tuple[Caller, str]) -> None:
    caller, _ = admin
    root = f"/v1/spaces/{QUIET}"
    version = caller("GET", f"{root}/memories/m1").json["version"]
    link = {"source": "m1", "target": "m5", "rel": "refines"}
    assert caller("POST", f"{root}/links", link, nacre_expect=f'{{"m1": {version - 1}}}').status == 412
    assert caller("POST", f"{root}/links", link, if_match='"77"').status == 400
    assert caller("POST", f"{root}/links", link, nacre_expect='{"m1": "x"}').status == 400
    assert caller("POST", f"{root}/links", link, nacre_expect=f'{{"m1": {version}}}').status == 201


def test_whoever_follows_a_journal_learns_that_an_older_one_took_its_place(admin: tuple[Caller, str]) -> None:
    caller, _ = admin
    root = f"/v1/spaces/{QUIET}"
    last = caller("GET", root).json["seq"]
    assert caller("GET", f"{root}/changes", query={"since": last}).result == []
    lost = caller("GET", f"{root}/changes", query={"since": last + 1})
    assert lost.status == 410 and "anew" in lost.json["message"]
    stream = caller("GET", f"{root}/changes", query={"since": last + 1}, accept="text/event-stream")
    assert b"event: lost" in stream.body and b"anew" in stream.body


def test_a_limit_below_none_is_refused_everywhere_and_0_asks_for_none() -> None:
    limited = [endpoint for endpoint in all_endpoints() if "limit" in {each.name for each in endpoint.parameters}]
    assert len(limited) > 8
    for endpoint in limited:
        with pytest.raises(InvalidInput, match="limit is -1; give a number from 0 to 1,000"):
            check_bounds(endpoint, {**needed(endpoint), "limit": -1})
        values = {**needed(endpoint), "limit": 0}
        check_bounds(endpoint, values)
        assert values["limit"] == 0


def test_lists_of_0_are_empty_and_of_fewer_are_refused(admin: tuple[Caller, str]) -> None:
    caller, _ = admin
    for place in ("memories", "journal", "changes", "operations", "review", "entities"):
        path = f"/v1/spaces/{QUIET}/{place}"
        none = caller("GET", path, query={"limit": 0}).json
        assert none.get("result", none.get("memories")) == [], place
        refused = caller("GET", path, query={"limit": -1})
        assert (refused.status, refused.json["remedy"]) == (400, "Give a number from 0 to 1,000."), place


@pytest.mark.parametrize("verb", ["GET", "DELETE"])
def test_a_slash_at_the_end_of_an_address_is_not_left_out(verb: str) -> None:
    assert isinstance(find_route(verb, f"/v1/spaces/{SPACE}/memories/m1"), Route)
    assert find_route(verb, f"/v1/spaces/{SPACE}/") == find_route(verb, f"/v1/spaces/{SPACE}/memories/") == set()


def test_a_client_that_resolves_dots_deletes_no_space(admin: tuple[Caller, str]) -> None:
    caller, _ = admin
    caller.remember("Here since the spring", "victim", id="spring", on_conflict="ignore")
    resolved = caller("DELETE", "/v1/spaces/victim/")  # of /v1/spaces/victim/memories/..
    assert resolved.status == 404
    assert caller("GET", "/v1/spaces/victim/memories/spring").json["status"] != "trashed"
