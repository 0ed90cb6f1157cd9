"""Whatever a record holds comes back as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given

from nacre.model import Memory
from nacre.model.memory import difference, has_values, reverted
from nacre.storage.sqlite import SQLiteBackend
from tests.property.strategies import memories
from tests.samples import put


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SQLiteBackend]:
    opened = SQLiteBackend(tmp_path_factory.mktemp("records") / "store.db")
    yield opened
    opened.close()


@pytest.mark.slow
@given(memory=memories())
def test_a_record_survives_its_dictionary_and_json(memory: Memory) -> None:
    assert Memory.from_dict(memory.to_dict()) == memory
    assert Memory.from_dict(json.loads(json.dumps(memory.to_dict()))) == memory


@pytest.mark.slow
@given(memory=memories())
def test_a_record_survives_the_file(store: SQLiteBackend, memory: Memory) -> None:
    put(store, memory)
    assert store.get_many("here", ["m"]) == [memory]


@pytest.mark.slow
@given(one=memories(), other=memories())
def test_a_difference_says_all_that_differs(one: Memory, other: Memory) -> None:
    assert has_values(one, difference(one, other))
    assert bool(difference(one, other)) == bool(difference(other, one))
    if (one.links == other.links) and difference(one, other):
        assert not has_values(other, difference(one, other))


@pytest.mark.slow
@given(one=memories(), other=memories())
def test_a_change_told_by_its_differences_can_be_taken_back(one: Memory, other: Memory) -> None:
    back = reverted(other, difference(one, other), difference(other, one))
    assert difference(back, one) == {}
    assert back.links == one.links
