"""Pickles are read without running anything in them."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nacre.errors import InvalidInput
from nacre.transfer.foreign import inert_pickle
from nacre.transfer.foreign.inert_pickle import Thing

PLAIN: dict[str, Any] = {
    "text": "Käse", "number": 3, "large": 2**70, "share": 0.5, "none": None, "yes": True, "no": False,
    "list": [1, [2, "x"]], "raw": b"\x00\x01", "empty": [], "nested": {"a": {}},
}  # fmt: skip


@dataclass
class Point:
    id: str
    payload: dict[str, Any]


@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
def test_plain_data_is_read_from_every_protocol(protocol: int) -> None:
    wanted = {key: value for key, value in PLAIN.items() if key != "raw" or protocol >= 3}
    assert inert_pickle.read(pickle.dumps(wanted, protocol)) == wanted


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_an_object_is_its_state_and_its_class_only_a_name(protocol: int) -> None:
    thing = inert_pickle.read(pickle.dumps(Point("p", PLAIN), protocol))
    assert isinstance(thing, Thing) and thing.state == {"id": "p", "payload": PLAIN}


def test_nothing_that_a_pickle_asks_for_is_done(tmp_path: Path) -> None:
    victim = tmp_path / "victim"

    class Hostile:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (victim,))

    data = pickle.dumps(Hostile())
    inert_pickle.read(data)
    assert not victim.exists()
    pickle.loads(data)
    assert victim.exists()  # the data is hostile indeed


def test_what_would_unfold_to_a_giant_is_refused() -> None:
    value: list[Any] = ["x"]
    for _ in range(60):
        value = [value, value]
    with pytest.raises(InvalidInput, match="twice"):
        inert_pickle.read(pickle.dumps(value))


def reference(number: int) -> bytes:
    return b"h" + bytes([number])


def filled_later(depth: int) -> bytes:
    """Lists that are referred to while they are empty: each then holds the next one twice."""
    made = b"".join(b"]q" + bytes([number]) for number in range(depth + 1))
    filled = b"".join(reference(each) + b"(" + 2 * reference(each + 1) + b"e" for each in range(depth))
    return b"\x80\x02(" + made + filled + reference(depth) + b"(K\x01el."


def holding_each_other(depth: int) -> bytes:
    """Objects, each of which has the one before it as its state, twice."""
    objects = (b"cx\ny\n(" + 2 * reference(each) + b"tbq" + bytes([each + 1]) for each in range(depth))
    return b"\x80\x02cx\ny\nq\x00" + b"".join(objects) + b"."


@pytest.mark.parametrize("data", [filled_later(30), holding_each_other(30), b"\x80\x02]q\x00h\x00h\x00a."])
def test_what_refers_to_the_same_values_often_is_counted_that_often(data: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"unfolds to too much|twice"):
        inert_pickle.read(data)


@pytest.mark.parametrize("data", [b"", b"\x80\x04", b"not a pickle", b"]a.", b"(u.", pickle.dumps(PLAIN)[:-9]])
def test_damage_is_an_error_of_ours(data: bytes) -> None:
    with pytest.raises(InvalidInput):
        inert_pickle.read(data)
