"""The vectors of memories, as they were put."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.protocols import Backend, EmbedderIdentity, Vectors
from tests.samples import SPACE, derived, memory, put, unit, writing


def rows(found: dict[str, Vectors]) -> dict[str, list[list[float]]]:
    return {id: np.round(each.astype(float), 2).tolist() for id, each in found.items()}


def expected(*given: Vectors) -> list[list[float]]:
    return np.round(np.stack(given).astype(float), 2).tolist()  # type: ignore[no-any-return]


@pytest.fixture
def filled(store: Backend) -> Backend:
    with writing(store) as transaction:
        transaction.bind_embedder(EmbedderIdentity("first", 8))
    put(
        store,
        (memory("one"), derived("one", unit(1))),
        (memory("three"), derived("three", unit(0, 1), unit(1), unit(0, 0, 1))),
        (memory("waits"), derived("waits")),
        memory("bare"),
        (memory("one", space="there"), derived("theirs", unit(0, 0, 0, 1))),
    )
    return store


def test_each_memory_gives_its_vectors_in_the_order_of_its_chunks(filled: Backend) -> None:
    assert rows(filled.vectors(SPACE, ["three", "one"])) == {
        "one": expected(unit(1)),
        "three": expected(unit(0, 1), unit(1), unit(0, 0, 1)),
    }


def test_what_has_no_vector_is_left_out(filled: Backend) -> None:
    assert sorted(filled.vectors(SPACE, ["waits", "bare", "nobody", "one"])) == ["one"]
    assert filled.vectors(SPACE, []) == filled.vectors("none", ["one"]) == {}


def test_a_store_that_never_met_a_model_has_no_vectors(store: Backend) -> None:
    put(store, memory("a"))
    assert store.vectors(SPACE, ["a"]) == {}


def test_each_space_has_its_own(filled: Backend) -> None:
    assert rows(filled.vectors("there", ["one", "three"])) == {"one": expected(unit(0, 0, 0, 1))}


def test_vectors_follow_what_is_put_and_go_with_what_is_removed(filled: Backend) -> None:
    assert filled.vectors(SPACE, ["one"])  # whatever is kept in memory must learn of the change
    put(filled, (memory("one"), derived("other", unit(0, 1), unit(0, 0, 1))), (memory("late"), derived("l", unit(1))))
    put(filled, memory("three", "otherwise"))
    found = rows(filled.vectors(SPACE, ["one", "late", "three"]))
    assert found["one"] == expected(unit(0, 1), unit(0, 0, 1))
    assert found["late"] == expected(unit(1))
    assert len(found["three"]) == 3
    with writing(filled) as transaction:
        transaction.remove(SPACE, "one")
    assert sorted(filled.vectors(SPACE, ["one", "late"])) == ["late"]
    with writing(filled) as transaction:
        transaction.change_embedder(EmbedderIdentity("second", 8))
    assert filled.vectors(SPACE, ["one", "late", "three"]) == {}


def test_thousands_of_memories_give_theirs_at_once(store: Backend) -> None:
    names = [f"m{number}" for number in range(1200)]
    with writing(store) as transaction:
        transaction.bind_embedder(EmbedderIdentity("first", 8))
        for number, name in enumerate(names):
            transaction.put(memory(name), derived(name, unit(1, number)))
    found = store.vectors(SPACE, [*names, *(f"nobody{number}" for number in range(3000))])
    assert len(found) == 1200
    assert np.allclose(found["m700"][0], unit(1, 700), atol=2e-3)
