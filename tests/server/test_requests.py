"""Every number that a request can give: none, zero, negative and huge are answered or refused, and answers end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput
from nacre.rest.endpoints import Endpoint, Parameter
from nacre.rest.wire import alternatives
from nacre.server.api import all_endpoints
from nacre.server.requests import MANY_IDS, MOST, MOST_LISTED, Route, check_bounds, find_route, read_values
from tests.server.running import Caller, serving, tokens
from tests.server.samples import filled, request, values_of

SPACE = "harbour"
ODD = (None, 0, -1, 2**63, 10**30, 1e308, -1e308)
# What ends the store or the space that the others are tried in, and what waits for changes.
LEFT_OUT = ("backup_to_restore", "delete_space", "rename_space", "start_reindex", "changes")


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
