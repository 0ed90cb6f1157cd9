"""Values survive JSON unchanged; what is not of its type is refused by name."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest

from nacre import ExpandSpec, Filter, Link, Memory, MemoryStore
from nacre.errors import InvalidInput, NacreError, UnknownName, WrongType
from nacre.model import Edge, Listing, RememberResult
from nacre.rest.endpoints import Endpoint, arguments_of, endpoints
from nacre.rest.wire import NO, Reading, is_object, to_json
from tests.server.samples import filled, values_of

LENIENT, STRICT, TEXTUAL = Reading(strict=False), Reading(strict=True), Reading(strict=True, textual=True)


@pytest.fixture(scope="module")
def store() -> MemoryStore:
    opened = MemoryStore(":memory:", space="team", embedder="hashing", clock=lambda: 1_800_000_000.0)
    filled(opened)
    opened.edit("m1", links=[Link("m2", "refines", 0.5, {"kind": "x"})], metadata={"page": [1, None]})
    return opened


READ = [each for each in endpoints() if each.reads and each.method != "vectors"]


@pytest.mark.parametrize("endpoint", READ, ids=lambda each: each.path)
def test_the_result_of_every_method_that_reads_survives_json(endpoint: Endpoint, store: MemoryStore) -> None:
    batch = store.journal("m1")[0].operation.batch
    hints = {each.name: each.hint for each in endpoint.parameters}
    given = values_of(endpoint, "team", batch)
    values = {name: STRICT.read(name, hints[name], value) for name, value in given.items()}
    arguments, options = arguments_of(endpoint, values)
    result = getattr(store, endpoint.method)(*arguments, **options)
    sent = json.loads(json.dumps(to_json(result)))
    assert LENIENT.read("result", endpoint.returns, sent) == result
    assert is_object(endpoint.returns) == isinstance(sent, dict)
    if isinstance(result, Memory):
        assert LENIENT.read("result", Memory, sent).version == result.version > 0


def test_all_fields_are_written_and_some_computed_ones_beside() -> None:
    sent: Any = to_json(Memory("m", "text", links=(Link("n"),)))
    assert sent["links"] == [{"to": "n", "rel": "related", "weight": 1.0, "data": {}}]
    assert {"valid_from", "superseded_by", "version", "date"} <= sent.keys()
    assert to_json(Listing([Memory("m", "t")], "c")).keys() == {"memories", "cursor"}  # type: ignore[union-attr]
    assert to_json([float("nan"), Edge("a", "b", "r")])[0] is None  # type: ignore[index]


@pytest.mark.parametrize(
    ("hint", "value", "read"),
    [
        (int, 3, 3), (float, 3, 3), (str | None, None, None), (list[str], ["a"], ["a"]),
        (tuple[float, float] | None, [0.1, 0.2], (0.1, 0.2)), (Literal["a", "b"], "a", "a"),
        (ExpandSpec | None, {"depth": 2, "rels": ["x"]}, ExpandSpec(rels=("x",), depth=2)),
        (Filter | None, [{"field": "type", "op": "in", "value": ["a"]}], Filter.where(type__in=["a"])),
    ],
)  # fmt: skip
def test_json_is_read_by_its_type(hint: Any, value: Any, read: Any) -> None:
    assert STRICT.read("x", hint, value) == read


@pytest.mark.parametrize(
    ("hint", "value", "error"),
    [
        (int, "3", WrongType), (int, True, WrongType), (bool, 1, WrongType), (str, None, WrongType),
        (list[str], "a", WrongType), (list[str], [1], WrongType), (Literal["day", "week"], "dya", UnknownName),
        (ExpandSpec, {"dpeth": 2}, UnknownName), (tuple[float, float], [1], InvalidInput),
        (Filter, [{"field": "type"}], InvalidInput), (Filter, {"type": "x"}, WrongType),
        (Memory, {"id": "m"}, InvalidInput),
    ],
)  # fmt: skip
def test_what_is_of_another_type_is_refused(hint: Any, value: Any, error: type[NacreError]) -> None:
    with pytest.raises(error, match=r"\bx\b|dpeth|dya"):
        STRICT.read("x", hint, value)


@pytest.mark.parametrize(
    ("hint", "value", "read"),
    [
        (int | None, "3", 3), (float, "0.5", 0.5), (bool, "true", True), (bool, "0", False), (str, "3", "3"),
        (str | tuple[str, ...] | None, "a", ("a",)), (str | tuple[str, ...] | None, ["a", "b"], ("a", "b")),
        (float | int | str, "yesterday", "yesterday"), (float | int | str, "1700000000", 1_700_000_000.0),
        (Filter | None, '[{"field": "pinned", "op": "eq", "value": true}]', Filter.where(pinned=True)),
    ],
)  # fmt: skip
def test_a_url_has_only_text(hint: Any, value: Any, read: Any) -> None:
    assert TEXTUAL.read("x", hint, value) == read


@pytest.mark.parametrize(("hint", "value"), [(int, "3.5"), (float, "nan"), (bool, "maybe"), (Filter, "{")])
def test_text_that_means_nothing_is_refused(hint: Any, value: str) -> None:
    with pytest.raises(InvalidInput, match="x"):
        TEXTUAL.read("x", hint, value)


def test_what_a_newer_server_adds_is_passed_over_and_a_client_must_not_add_anything() -> None:
    sent = {**to_json(RememberResult(Memory("m", "t"))), "added": 1}  # type: ignore[dict-item]
    assert LENIENT.read("x", RememberResult, sent).memory.id == "m"
    with pytest.raises(UnknownName, match="added"):
        STRICT.read("x", RememberResult, sent)
    assert NO is not None


def test_json_inside_of_a_parameter_may_be_any_json() -> None:
    link = next(each for each in endpoints() if each.method == "link")
    hint = next(each.hint for each in link.parameters if each.name == "data")
    for value in ({"kind": "y", "n": None, "deep": [{"x": 1}]}, None):
        assert STRICT.read("data", hint, value) == value


def test_each_of_many_memories_is_read_as_one_is() -> None:
    many = next(each for each in endpoints() if each.method == "remember_many")
    hint = next(each.hint for each in many.parameters if each.name == "items")
    sent = ["A text", {"text": "Another", "links": [{"to": "m1", "rel": "refines"}], "title": None}]
    read = STRICT.read("items", hint, sent)
    assert read == ["A text", {"text": "Another", "links": (Link("m1", "refines"),), "title": None}]
    with pytest.raises(UnknownName, match="did you mean 'tags'"):
        STRICT.read("items", hint, [{"text": "A text", "tgs": []}])
    for wrong in (3, {"text": 1}, {"text": "A text", "links": ["m1"]}):
        with pytest.raises(WrongType):
            STRICT.read("items", hint, [wrong])
