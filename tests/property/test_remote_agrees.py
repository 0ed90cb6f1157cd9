"""Whatever a program asks, a store behind a server answers as the same store in a file does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from typing import Any, Literal, NamedTuple, get_args, get_origin

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nacre import Filter, Link, MemoryStore
from nacre.client import RemoteStore
from nacre.errors import InvalidInput, NacreError
from nacre.model import Recollection
from nacre.model.instants import Instant
from nacre.model.validate import CHECKS, alternatives, required_label
from nacre.recall_options import Scope
from nacre.rest.endpoints import READ_AS, Endpoint, Parameter, endpoints
from nacre.rest.wire import to_json
from nacre.settings import Settings
from tests.server.running import serving, tokens
from tests.server.samples import filled

SPACE = "team"
# Answers that depend on who asks or on what the process has done; a touch is written.
LEFT_OUT = ("health", "stats", "touch", "recall_pack", "changes")
OF_RECALL = (*Scope.__annotations__, "query", "k", "contexts", "also", "min_relevance", "asked_at")
NAMES = ("m1", "m9", "", " ", ".", "..", "-", "2024", "true", "null", "resolve", "a/b?c#d", "ü", "nobody", "Harbour")
TIMES: tuple[Any, ...] = (
    "2024", "2025", "20250501", "2025-05", "2025-05-01T09:30:00Z", "last week", "yesterday", "1780000000", "",
    "nonsense", 0, 2025, 1_780_000_000, -1, 1_780_000_000.5, float("nan"), 1e300, 10**400, date(2025, 5, 1),
    datetime(2025, 5, 1, 9, 30, tzinfo=UTC), datetime(2027, 1, 1), True,
)  # fmt: skip
LISTS: tuple[Any, ...] = (
    [], (), ["x"], ("x", "y"), ["2024", "nobody"], "x", "", [""], {"y"}, ["m1", "m2"], ["semantic"],
    ["related", "refines"],
)  # fmt: skip
FILTERS = (
    Filter(), Filter.where(tags__any=["x", "2024"]), Filter.where(type__in=[]), Filter.where(importance__ge=0.5),
    Filter.where(session="7"), Filter.where(created_at__lt=1.75e9, text__contains="ferry"),
)  # fmt: skip
WHOLE = (None, -1, 0, 1, 3, 10**30)
TERM_KINDS = get_args(READ_AS["vocabulary", "kind"])
FRACTIONS = (None, 0.0, 0.5, 1, -1.0, float("nan"), float("inf"), 10**400)


WALKS = re.compile(r'"walks": \d+')  # whoever follows a link counts that


class Pair(NamedTuple):
    local: MemoryStore
    remote: RemoteStore


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    home = tmp_path_factory.mktemp("agrees")
    file = home / "s.db"
    (token,) = tokens(file, ("ada", "admin", ()))
    quick = Settings(conflict_judge="rules", rerank_ms=0.0)
    with MemoryStore(file, space=SPACE, embedder="hashing", settings=quick) as local:
        filled(local)
        with pytest.MonkeyPatch.context() as before:  # `..` was an id once, and may be in a store
            before.setitem(CHECKS, "id", required_label)
            fill_further(local)
        with (
            serving(file, home, "--limit-requests", "0") as served,
            RemoteStore(served.url, token=token, space=SPACE) as remote,
        ):
            yield Pair(local, remote)


def fill_further(store: MemoryStore) -> None:
    """With names that look like something else, and times of several years."""
    for number, id in enumerate(("2024", "true", "null", "resolve", "a/b?c#d", "ü", "-", "..")):
        store.remember(
            f"Note {number} of the lighthouse keeper", id=id, tags=["x", id] if number % 2 else ["y"], session="7",
            source=id, role="user", type="episodic" if number % 3 else "semantic", importance=number / 10,
            created_at=f"{2021 + number}-05-01", valid_from=f"{2021 + number}", valid_until=f"{2023 + number}",
            on_conflict="ignore", links=[Link("m1", "refines")], agent="true", contexts=["null"],
        )  # fmt: skip


def choices(parameter: Parameter) -> tuple[Any, ...]:
    kinds = set(alternatives(parameter.hint))
    if Filter in kinds:
        return (None, *FILTERS)
    if set(get_args(Instant)) <= kinds:
        return (None, *TIMES)
    if words := [each for kind in kinds if get_origin(kind) is Literal for each in get_args(kind)]:
        return (*words, "neither", "")
    if any(get_origin(kind) is not None for kind in kinds):
        return (None, *LISTS)
    if bool in kinds:
        return (True, False)
    if int in kinds or float in kinds:
        return WHOLE if int in kinds else FRACTIONS
    return NAMES if parameter.required else (None, *NAMES)


READS = [each for each in endpoints() if each.reads and each.method not in LEFT_OUT]


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A method, and values for some of its parameters."""
    endpoint: Endpoint = draw(st.sampled_from(READS))
    recalls = endpoint.method == "recall"
    known = [each for each in endpoint.parameters if not recalls or each.name in OF_RECALL]
    optional = [each for each in known if not each.required]
    chosen = draw(st.lists(st.sampled_from(optional), max_size=3, unique_by=lambda each: each.name)) if optional else []
    wanted = [*(each for each in known if each.required), *chosen]
    if endpoint.method == "vocabulary":  # a server refuses kinds that a program has made up for itself
        return endpoint.method, {"kind": draw(st.sampled_from(TERM_KINDS))}
    values = {each.name: draw(st.sampled_from(choices(each))) for each in wanted}
    return endpoint.method, {**values, "touch": False} if recalls else values


def outcome(work: Callable[..., Any], values: dict[str, Any]) -> Any:
    """A wrong value may be refused in other words: a server reads it before the store does."""
    try:
        result = work(**values)
    except InvalidInput:
        return "refused"
    except NacreError as error:
        return f"{type(error).__name__}: {error}"
    if isinstance(result, Recollection):  # the time is in its scores
        return [hit.memory.id for hit in result.hits]
    return WALKS.sub("", json.dumps(to_json(result)))


@given(call=calls())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_server_answers_as_the_store_itself_does(pair: Pair, call: tuple[str, dict[str, Any]]) -> None:
    method, values = call
    local, remote = (outcome(getattr(store, method), dict(values)) for store in pair)
    assert remote == local
