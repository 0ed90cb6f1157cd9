"""What a memory says of itself; records as JSON are in tests/property/test_records.py."""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, fields

import pytest

from nacre.model import Link, Memory
from nacre.model.instants import seconds
from nacre.model.memory import FIELDS


@pytest.mark.parametrize(
    ("at", "monday"),
    [
        ("2026-11-09T00:00:00Z", "2026-11-09"),
        ("2026-11-15T23:59:59.999Z", "2026-11-09"),
        ("1970-01-01", "1969-12-29"),
        ("0001-01-01", "0001-01-01"),
    ],
)
def test_a_week_is_named_by_its_monday(at: str, monday: str) -> None:
    assert Memory(id="m", text="tea", created_at=seconds(at)).week == monday


def test_a_memory_made_of_its_values_is_the_same() -> None:
    memory = Memory("m", "tea", space="s", tags=("hot",), metadata={"a": 1}, pinned=True, links=(Link("n"),), version=3)
    same = Memory.from_values(getattr(memory, name) for name in FIELDS)
    assert same == memory
    assert (same.version, repr(same)) == (3, repr(memory))
    with pytest.raises(FrozenInstanceError):
        same.text = "coffee"  # type: ignore[misc]
    with pytest.raises(TypeError, match="missing"):
        Memory.from_values(["m", "tea"])


def test_a_subclass_is_made_of_fields_too() -> None:
    class Annotated(Memory):
        pass

    made = Annotated.from_dict({"id": "m", "text": "tea", "tags": ["hot"]})
    assert type(made) is Annotated
    assert (made.text, made.tags) == ("tea", ("hot",))


def test_a_memory_made_of_some_fields_is_that_of_the_constructor() -> None:
    checked = {"id": "m", "text": "tea", "importance": 0.9}
    assert Memory.from_fields(checked) == Memory(id="m", text="tea", importance=0.9)
    some, other = (Memory.from_fields({**checked, "unknown": 1}) for _ in range(2))
    assert some == other and some.metadata is not other.metadata
    for missing in ("id", "text"):
        with pytest.raises(KeyError, match=missing):
            Memory.from_fields({name: value for name, value in checked.items() if name != missing})
    made_anew = [each.name for each in fields(Memory) if each.default_factory is not MISSING]
    assert made_anew == ["metadata"]  # `from_fields` makes an empty one of it for each memory, and of no other


def test_a_question_states_nothing() -> None:
    assert Memory("m", "Can Olga come? ").asks and Memory("m", "他来吗？").asks
    assert not Memory("m", "Olga asked 'why?' and left.").asks


def test_a_memory_made_of_its_fields_passes_over_what_it_does_not_know() -> None:
    memory = Memory("m", "tea", tags=("hot",), metadata={"a": [1]}, links=(Link("n", "about", 0.5),))
    again = Memory.from_dict({**memory.to_dict(), "colour": ["green"], "version": 7})
    assert (again, again.version, again.tags, again.metadata) == (memory, 0, ("hot",), {"a": [1]})
    one, other = (Memory.from_dict({"id": "n", "text": "milk"}) for _ in range(2))
    assert one.metadata is not other.metadata
