"""The table: every method of a store is in it or is named with a reason, and every parameter is described."""

from __future__ import annotations

import inspect

from nacre import MemoryStore
from nacre.access.capabilities import Role
from nacre.rest.endpoints import LOCAL_ONLY, arguments_of, descriptions, endpoints
from nacre.server.api import all_endpoints
from nacre.server.requests import Route, find_route

NOT_SERVED = {
    "remember": "remember_result has its answer",
    "write": "takes functions of the caller", "editing": "returns a function", "reading": "takes a reader",
    "acting_as": "returns the engine", "as_actor": "the token decides", "as_user": "the token decides",
    "in_space": "the path names the space", "expecting": "the header If-Match does it",
    "clean": "every answer is clean", "now": "a clock", "close": "the server does it",
    "iterate": "list_recent with cursors", "iterate_journal": "changes with numbers",
    "backup": "writes a file on the server's machine", "check_records": "a part of backup",
    "reindex": "a job",
}  # fmt: skip


def test_every_method_is_served_or_named_with_a_reason() -> None:
    methods = {name for name, _ in inspect.getmembers(MemoryStore, inspect.isfunction) if not name.startswith("_")}
    served = {each.method for each in endpoints()}
    assert methods - served == set(NOT_SERVED)
    assert served <= methods


def test_every_description_is_used() -> None:
    known = {name for each in all_endpoints() for name in (p.name for p in each.parameters)}
    methods = {each.method for each in all_endpoints()}
    for described in descriptions():
        method, _, name = described.rpartition(".")
        assert name in known and (not method or method in methods), described
    assert not {*LOCAL_ONLY} & known


def test_no_two_endpoints_have_the_same_address_and_each_is_found_by_its_own() -> None:
    assert len({(each.verb, each.path) for each in all_endpoints()}) == len(all_endpoints())
    for endpoint in all_endpoints():
        path = endpoint.path
        for name in ("space", *endpoint.path_names):
            path = path.replace(f"{{{name}}}", f"a{name}")
        route = find_route(endpoint.verb, path)
        assert isinstance(route, Route) and route.endpoint is endpoint, endpoint.path


def test_what_writes_is_not_for_readers() -> None:
    reads = {each.method for each in endpoints() if each.role is Role.READER}
    writes = {"edit", "edit_result", "forget", "purge", "redact", "link", "undo", "merge", "decide", "remember_result"}
    assert not reads & writes
    assert {each.method for each in endpoints() if each.role is Role.ADMIN} >= {"purge", "redact", "compact"}


def test_values_become_the_arguments_of_a_method() -> None:
    by_path = {(each.verb, each.path.rpartition("}")[2], each.method): each for each in endpoints()}
    one = by_path["POST", "/pin", "pin"]
    assert arguments_of(one, {"id": "m", "why": "w"}) == (["m"], {"why": "w"})
    merge = next(each for each in endpoints() if each.method == "merge")
    assert arguments_of(merge, {"others": ["b", "c"], "keep": "a"}) == (["a", "b", "c"], {})
