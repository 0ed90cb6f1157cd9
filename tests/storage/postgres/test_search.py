"""What a search asks for ahead is what it would read step by step, in fewer round trips."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nacre.model import Filter, Link
from nacre.protocols import ALL, Candidates, Search
from tests.samples import SPACE, derived, memory, unit, written

if TYPE_CHECKING:
    from nacre.storage.postgres import PostgresBackend

SUPERSEDED = Filter.where(superseded_by__ne="")
SEARCHES = (
    Search(terms=("tea", "cup"), vector=unit(1, 2)),
    Search(terms=("tea", "tea cup", "own3"), vector=unit(1, 2), pool=4, records=True),
    Search(terms=("tea",), vector=unit(1, 2), where=Filter.where(type="episodic"), replaced=SUPERSEDED, records=True),
    Search(terms=("own7",), vector=unit(1, 5), reach=2, linked_by=("contradicts",), replaced=ALL, records=True),
    Search(terms=("tea",), visible=Filter.where(type="semantic")),
    Search(vector=unit(1, 3), pool=3),
    Search(),
)


@contextmanager
def counted_trips(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The name of each call that waits for the server."""
    from nacre.storage.postgres.connection import Session

    trips: list[str] = []

    def noted(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any, **options: Any) -> Any:
            trips.append(name)
            return work(*values, **options)

        return call

    with monkeypatch.context() as patch:
        for name in ("fetch", "execute", "together"):
            patch.setattr(Session, name, noted(name, getattr(Session, name)))
        yield trips


def fill(store: PostgresBackend) -> int:
    return written(store, *(
        (
            memory(f"m{n}", f"tea cup own{n}", type="episodic" if n % 3 else "semantic",
                   session="talk" if n % 2 else "", position=n if n % 2 else None,
                   superseded_by=f"m{n + 1}" if n % 5 == 0 else "",
                   links=(Link(f"m{n + 4}", "contradicts"),) if n % 7 == 0 and n < 30 else ()),
            derived(f"tea cup own{n}" if n % 4 else f"own{n}", unit(1, n)),
        )
        for n in range(40)
    ))  # fmt: skip


def same(one: Candidates, other: Candidates) -> bool:
    return all(
        np.allclose(getattr(one, field.name), getattr(other, field.name))
        if isinstance(getattr(one, field.name), np.ndarray)
        else getattr(one, field.name) == getattr(other, field.name)
        for field in fields(Candidates)
    )


@pytest.mark.parametrize("past", [False, True])
def test_what_is_asked_ahead_is_what_is_read_step_by_step(
    store: PostgresBackend, monkeypatch: pytest.MonkeyPatch, past: bool
) -> None:
    from nacre.storage.postgres.search import PostgresIndex

    before = fill(store)
    written(store, (memory("late", "tea own7"), derived("tea own7", unit(1, 2))))
    reader = store.at(SPACE, before) if past else store
    for search in SEARCHES:
        ahead = reader.gather(SPACE, search)
        with monkeypatch.context() as patch:
            patch.setattr(PostgresIndex, "ask_ahead", lambda *_: None)
            patch.setattr(PostgresIndex, "_with_cosines", lambda self, _, *asked: self._session.together(*asked))
            stepwise = reader.gather(SPACE, search)
        assert same(ahead, stepwise), search
        assert not (past and "late" in {place.id for place in ahead.places}), search


def test_a_search_waits_for_the_server_five_times(store: PostgresBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its choice of the space with the counters; words and vectors; places, cosines and records; cosines of what is
    linked to them; the end. Turns around the best ones take one more."""
    fill(store)
    store.gather(SPACE, SEARCHES[3])  # knows the number of the space from now on
    with counted_trips(monkeypatch) as trips:
        store.gather(SPACE, SEARCHES[0])
    assert len(trips) <= 4
    with counted_trips(monkeypatch) as trips:
        store.gather(SPACE, SEARCHES[3])
    assert len(trips) <= 6


def test_rows_read_ahead_are_not_taken_for_those_of_a_narrower_question(
    store: PostgresBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a common word the newest contents are read, first of all memories, then of those that the filter admits; the
    same holds for the nearest."""
    from nacre.storage import candidates

    monkeypatch.setattr(candidates, "WEIGHED", 2)
    monkeypatch.setattr(candidates, "POSTINGS_READ", 3)
    written(store, *(
        (memory(f"m{n}", tags=("old",) if n < 2 else ()), derived("tea", unit(1, 20 - n))) for n in range(12)
    ))  # fmt: skip
    where = Filter.where(tags__any=["old"])
    for search in (Search(terms=("tea",), pool=2, where=where), Search(vector=unit(1), pool=2, where=where)):
        assert {place.id for place in store.gather(SPACE, search).places} == {"m0", "m1"}
