"""What cannot be kept is refused in one sentence, and nothing changes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput
from nacre.model import Link
from nacre.model.instants import seconds
from nacre.model.validate import CHECKS, LONGEST_TEXT, RANGES, TIME_FIELDS, validate_fields, with_moments
from tests.embedders import WordBag

DEEP: list[Any] = []
for _ in range(500):
    DEEP = [DEEP]
DEEPER: list[Any] = []
for _ in range(100_000):
    DEEPER = [DEEPER]

BAD_FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"text": ""}, "empty"),
    ({"text": " \n\t\u3000"}, "empty"),
    ({"text": "x" * (LONGEST_TEXT + 1)}, "1,000,001 characters"),
    ({"text": "a\x00b"}, "NUL character at position 1"),
    ({"text": "ab\ud800"}, "half of a surrogate pair"),
    ({"text": 5}, "must be text, not int"),
    ({"text": None}, "must be text"),
    ({"text": b"bytes"}, "must be text"),
    ({"type": "epsodic"}, "did you mean 'episodic'"),
    ({"type": ""}, "type is empty"),
    ({"id": ".."}, "id is '..', which means a folder in an address; give another name."),
    ({"id": " . "}, "id is '.'"),
    ({"importance": float("nan")}, "from 0 to 1, not nan"),
    ({"importance": float("inf")}, "not inf"),
    ({"importance": 1.01}, "from 0 to 1, not 1.01"),
    ({"importance": -0.1}, "from 0 to 1"),
    ({"importance": 10**400}, "too large a number"),
    ({"importance": "high"}, "not 'high'"),
    ({"importance": True}, "not True"),
    ({"importance": None}, "not None"),
    ({"confidence": 2}, "confidence"),
    ({"valence": -1.5}, "from -1 to 1"),
    ({"polarity": 2}, "-1, 0 or 1"),
    ({"polarity": "positive"}, "-1, 0 or 1"),
    ({"polarity": float("nan")}, "-1, 0 or 1"),
    ({"pinned": "yes"}, "true or false"),
    ({"occurred_at": "some day"}, "occurred_at: 'some day' is not a time"),
    ({"created_at": float("nan")}, "not a time"),
    ({"created_at": None}, "not a time"),
    ({"created_at": 10**400}, "too large a number"),
    ({"expires_at": 1e300}, "not a time"),
    ({"valid_until": []}, "not a time"),
    ({"metadata": {"a": object()}}, "cannot be written as JSON"),
    ({"metadata": {"a": float("nan")}}, "cannot be written as JSON"),
    ({"metadata": {"a": {1, 2}}}, "cannot be written as JSON"),
    ({"metadata": {("a", "b"): 1}}, "cannot be written as JSON"),
    ({"metadata": [1]}, "must be a JSON object"),
    ({"metadata": {"a": "x" * 200_000}}, "characters"),
    ({"tags": [*map(str, range(1_001))]}, "tags has 1,001 entries; 1,000 are the most"),
    ({"entities": [*map(str, range(1_001))]}, "leave some out"),
    ({"links": [Link(to=str(number)) for number in range(10_001)]}, "links has 10,001 entries"),
    ({"metadata": {"a": "\x00"}}, "NUL"),
    ({"metadata": {"a\ud800": 1}}, "surrogate"),
    ({"metadata": {"a": DEEP}}, "nested"),
    ({"metadata": {"a": DEEPER}}, "metadata"),
    ({"tags": "work"}, "must be a list of words"),
    ({"tags": 5}, "must be a list of words"),
    ({"tags": ["ok", 5]}, "must be text"),
    ({"tags": ["x" * 2000]}, "2,000 characters"),
    ({"title": "x" * 2000}, "2,000 characters"),
    ({"title": "a\x00"}, "NUL"),
    ({"status": "gone"}, "Unknown status"),
    ({"position": -1}, "from 0 to 9007199254740991"),
    ({"position": 1.5}, "a whole number from 0 to"),
    ({"access_count": 2**53}, "from 0 to 9007199254740991, not 9007199254740992"),
    ({"links": ["a"]}, "must hold links"),
    ({"links": "a"}, "must be a list of links"),
    ({"links": [Link("")]}, "target is empty"),
    ({"links": [Link("a", weight=float("nan"))]}, "weight"),
    ({"id": " "}, "id is empty"),
    ({"importence": 0.5}, "did you mean 'importance'"),
    ({"space": "other"}, "Unknown field 'space'"),
    ({"updated_at": 5.0}, "Unknown field"),
    ({"superseded_by": "x"}, "Unknown field"),
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as opened:
        opened.remember("what stood before", id="first")
        yield opened


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    """For tests that show that they change nothing."""
    with MemoryStore(tmp_path_factory.mktemp("unchanged") / "s.db", embedder=WordBag()) as opened:
        opened.remember("what stood before", id="first")
        yield opened


@pytest.mark.parametrize(
    ("fields", "said"), BAD_FIELDS, ids=lambda value: next(iter(value)) if isinstance(value, dict) else ""
)
def test_a_bad_field_is_refused_in_one_sentence_and_changes_nothing(
    unchanged: MemoryStore, fields: dict[str, Any], said: str
) -> None:
    store = unchanged
    before = (store.list_recent(), store.journal(), store.health().bytes_on_disk)
    with pytest.raises(InvalidInput) as caught:
        store.remember(**{"text": "good", **fields})
    message = str(caught.value)
    assert said in message
    assert "\n" not in message
    assert len(message) < 500
    with pytest.raises(InvalidInput):
        store.remember_many(["fine", {"text": "good", **fields}])
    if "id" not in fields and fields.get("text", "") is not None:
        with pytest.raises(InvalidInput):
            store.edit("first", **fields)
    assert (store.list_recent(), store.journal(), store.health().bytes_on_disk) == before


@pytest.mark.parametrize("item", [None, 5, {}, {"title": "no text"}, ["text"]])
def test_an_item_without_a_text_is_refused(store: MemoryStore, item: Any) -> None:
    with pytest.raises(InvalidInput, match=r"needs a text|items must be"):
        store.remember_many([item])


@pytest.mark.slow
def test_a_text_of_exactly_the_longest_length_is_kept(store: MemoryStore) -> None:
    text = "word " * (LONGEST_TEXT // 5 - 1) + "words"
    assert len(text) == LONGEST_TEXT
    kept = store.get(store.remember(text).id)
    assert kept is not None
    assert kept.text == text


def test_lists_that_grew_in_a_store_are_imported_whole() -> None:
    assert len(validate_fields({"tags": ["a"] * 2_000}, ())["tags"]) == 1  # type: ignore[arg-type]
    many = [str(number) for number in range(2_000)]
    assert validate_fields({"tags": many}, (), limit_lists=False)["tags"] == tuple(many)


def test_values_take_the_record_s_own_form() -> None:
    found = validate_fields(
        {"text": "  x ", "tags": ["b", " a ", "b", ""], "importance": 1, "created_at": "2026-03-31", "source": None,
         "metadata": {1: (1, 2)}, "polarity": 1.0, "links": (Link("a", "r", 1), Link("a", "r", 2))},
        types=(),
    )  # fmt: skip
    assert found == {
        "text": "x", "tags": ("b", "a"), "importance": 1.0, "created_at": 1774915200.0, "source": "",
        "metadata": {"1": [1, 2]}, "polarity": 1, "links": (Link("a", "r", 2.0),),
    }  # fmt: skip


def test_metadata_may_speak_of_the_escape_of_nul(store: MemoryStore) -> None:
    kept = store.remember("x", metadata={"a": "\\u0000 and \\ud800", "b": "😀"})
    assert store.get(kept.id) == kept
    assert kept.metadata == {"a": "\\u0000 and \\ud800", "b": "😀"}


def test_an_id_that_is_taken_is_refused_and_the_memory_stays(store: MemoryStore) -> None:
    for again in (
        lambda: store.remember("usurper", id="first"),
        lambda: store.remember_many([{"text": "a", "id": "x"}, {"text": "b", "id": "x"}]),
    ):
        with pytest.raises(InvalidInput, match="exists already"):
            again()
    first = store.get("first")
    assert first is not None
    assert first.text == "what stood before"
    assert store.count() == 1


def test_times_in_words_become_seconds_and_the_rest_stays() -> None:
    def named_span(text: str, now: float, **_: bool) -> tuple[float, float] | None:
        return (now - 2, now - 1) if text == "last week" else None

    fields = {"text": "last week", "occurred_at": "last week", "expires_at": "last week", "created_at": "2023-05-01"}
    read = with_moments(fields, lambda: 10.0, named_span)
    assert read == {"text": "last week", "occurred_at": 8.0, "expires_at": 9.0, "created_at": "2023-05-01"}
    assert with_moments({"occurred_at": "some day"}, lambda: 10.0, named_span) == {"occurred_at": "some day"}


@pytest.mark.parametrize("written", ["2026-11-18", date(2026, 11, 18)])
def test_what_is_true_until_a_date_is_true_on_it(written: str | date) -> None:
    times: dict[str, object] = {"valid_from": written, "valid_until": written, "expires_at": written}
    start, end = seconds("2026-11-18"), seconds("2026-11-19")
    assert validate_fields(times, ()) == {"valid_from": start, "valid_until": end, "expires_at": end}
    assert validate_fields({"valid_until": "2026-11-18T00:00:00Z"}, ()) == {"valid_until": start}


def test_the_ranges_of_numbers_are_those_that_are_checked() -> None:
    def takes(name: str, value: object) -> bool:
        try:
            validate_fields({name: value}, ())
        except InvalidInput:
            return False
        return True

    numbers = {name for name in CHECKS if takes(name, 1) and name not in TIME_FIELDS} - {"pinned"}
    assert numbers == RANGES.keys()
    for name, (low, high) in RANGES.items():
        assert [takes(name, value) for value in (low - 1, low, high, high + 1)] == [False, True, True, False]


def test_numbers_of_other_libraries_are_taken_as_numbers(tmp_path: Path) -> None:
    one, half = cast("tuple[int, float]", (np.int64(1), np.float32(0.5)))
    with MemoryStore(tmp_path / "s.db", embedder="hashing") as store:
        store.remember_many([{"text": f"Gull {number}", "importance": half, "position": one} for number in range(3)])
        first = store.list_recent(one, offset=one, min_importance=half)[0]
        assert (type(first.position), first.position, first.importance) == (int, 1, 0.5)
        answers = (store.journal(limit=one), store.recall("gull", k=one).hits, store.changes(one, limit=one))
        assert list(map(len, answers)) == [1, 1, 1]
        assert store.edit(first.id, importance=Fraction(1, 4)).importance == 0.25  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="from 0 to 1"):
            store.edit(first.id, importance=cast("float", np.float32(1.5)))
