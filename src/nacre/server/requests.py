"""Finds the endpoint of a request, and reads its parameters; an unknown or wrong one is refused with a suggestion."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType
from typing import Any
from urllib.parse import unquote

from nacre.errors import InvalidInput, UnknownName
from nacre.model.validate import alternatives
from nacre.rest.endpoints import ARGUMENTS, ELSEWHERE, MANY_IDS, MOST, MOST_LISTED, Endpoint
from nacre.rest.wire import Reading
from nacre.server.api import all_endpoints

LONGEST_NUMBER = 18  # characters of a version or of an event: what fits into 64 bits
NULL = "null"  # in a URL: no value, where the default is one
DEEPEST_GRAPH, MOST_STARTS = 4, 200  # of a subgraph: further links lead to most of a space
MAY_BE_ZERO = ("limit", "with_context", "overfetch")  # 0 asks for none; the others are at least 1
IN_PATH = Reading(strict=True, textual=True)
IN_BODY = Reading(strict=True)


@dataclass(frozen=True, slots=True)
class Route:
    """An endpoint, with what its path names."""

    endpoint: Endpoint
    names: Mapping[str, str]


@cache
def patterns() -> dict[int, list[tuple[str, list[str], Endpoint]]]:
    """The endpoints by the number of segments in their paths."""
    by_length: dict[int, list[tuple[str, list[str], Endpoint]]] = {}
    for endpoint in all_endpoints():
        segments = endpoint.path.strip("/").split("/")
        by_length.setdefault(len(segments), []).append((endpoint.verb, segments, endpoint))
    return by_length


def find_route(verb: str, path: str) -> Route | set[str]:
    """`path` is as it was sent: a name may have a slash, which is escaped. Without a route, the HTTP methods that the
    path has."""
    if path.endswith("/"):  # a client makes `x/` of `x/memories/..`, which must not mean the space
        return set()
    segments = [unquote(each) for each in path.strip("/").split("/")]
    allowed: set[str] = set()
    for wanted_verb, pattern, endpoint in patterns().get(len(segments), ()):
        names: dict[str, str] = {}
        for part, segment in zip(pattern, segments, strict=True):
            if part.startswith("{"):
                names[part[1:-1]] = segment
            elif part != segment:
                break
        else:
            if wanted_verb == verb:
                return Route(endpoint, names)
            allowed.add(wanted_verb)
    return allowed


def read_values(route: Route, query: Iterable[tuple[str, str]], body: bytes) -> dict[str, Any]:
    """The values by their names. Raises `InvalidInput`."""
    endpoint, values = route.endpoint, dict[str, Any]()
    known = {each.name: each for each in endpoint.parameters}
    in_query = collected(query)
    in_body = parsed_object(ARGUMENTS, in_query.pop(ARGUMENTS), '{"limit": 20}') if ARGUMENTS in in_query else {}
    if not endpoint.upload:  # what is too long for a URL is in the body of a GET, too
        in_body |= parsed_body(body)
    expected = [each.name for each in known.values() if each.place != "path" or route.names[each.name] == ELSEWHERE]
    for name in (*in_query, *in_body):
        UnknownName.check("parameter", name, expected)
    for name, parameter in known.items():
        if name in in_body:
            values[name] = IN_BODY.read(name, parameter.hint, in_body[name])
        elif parameter.place == "path":
            values[name] = IN_PATH.read(name, parameter.hint, route.names[name])
        elif name in in_query:
            value = in_query[name]
            null = value == NULL and NoneType in alternatives(parameter.hint) and parameter.default is not None
            values[name] = None if null else IN_PATH.read(name, parameter.hint, value)
        elif parameter.required:
            raise InvalidInput(f"{name} is missing: {parameter.about} Give it in the {parameter.place}.")
    check_bounds(endpoint, values)
    return values


def check_bounds(endpoint: Endpoint, values: dict[str, Any]) -> None:
    """An answer must end: what reads much is asked for page by page. No limit is the most that there is."""
    for parameter in endpoint.parameters:
        name, most = parameter.name, MOST.get(parameter.name)
        if most is None:
            continue
        value = values.get(name)
        if isinstance(value, int) and value > most:
            raise InvalidInput(f"{name} is {value:,}, and {most:,} are the most of one request; ask several times.")
        if name in MAY_BE_ZERO and isinstance(value, int) and value < 0:
            raise InvalidInput(f"{name} is {value:,}; give a number from 0 to {most:,}.")
        if name != "limit" or value is not None:
            continue
        if name in values:
            journal = ", or read /changes in pages" if endpoint.method == "journal" else ""
            raise InvalidInput(f"An answer without a limit may be long; give a limit of at most {most:,}{journal}.")
        if parameter.default is None:
            values[name] = most
    if endpoint.method in ("subgraph", "neighbors") and values.get("depth", 1) > DEEPEST_GRAPH:
        raise InvalidInput(
            f"depth is {values['depth']}, and {DEEPEST_GRAPH} is the most here; ask from other memories."
        )
    most_ids = MOST_STARTS if endpoint.method == "subgraph" else MOST_LISTED
    if endpoint.method in ("subgraph", *MANY_IDS) and len(values["ids"]) > most_ids:
        raise InvalidInput(f"{len(values['ids']):,} ids are too many for one answer; give at most {most_ids:,}.")


def collected(query: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """A name that is there several times has a list."""
    values: dict[str, Any] = {}
    for name, value in query:
        if name not in values:
            values[name] = value
        else:
            values[name] = [*values[name], value] if isinstance(values[name], list) else [values[name], value]
    return values


def parsed_body(body: bytes) -> dict[str, Any]:
    return parsed_object("The body", body, '{"text": "…"}') if body.strip() else {}


def parsed_object(name: str, written: Any, example: str) -> dict[str, Any]:
    """`written` is a list where a query has the name twice. Raises `InvalidInput`, with the example."""
    try:
        parsed = json.loads(written) if isinstance(written, str | bytes) else written
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{name} cannot be read as JSON ({error}); send an object, such as {example}.") from error
    if not isinstance(parsed, dict):
        raise InvalidInput(f"{name} is not an object; send one, such as {example}.")
    return parsed
