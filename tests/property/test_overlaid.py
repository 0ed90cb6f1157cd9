"""A store overlaid with how some memories stood answers as a store that holds just that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.model import Filter, Link, Memory
from nacre.protocols import Backend, Derived, Keys, Order
from nacre.storage.in_memory import ORDERS, InMemoryBackend
from nacre.storage.overlay import OverlaidBackend
from nacre.storage.sqlite import SQLiteBackend
from tests.property.strategies import filters, memories
from tests.samples import SPACE, derived, put, unit

ELSEWHERE = "there"
NAMES = tuple(f"m{number}" for number in range(7))
WORDS = ("tea", "cup", "port", "disk")
EVERYTHING = Filter()
SOME = settings().max_examples // 2  # drawing two whole stores takes longer than asking them
ROUGHLY = 3e-3  # vectors are kept in half precision
ORDER_NAMES: tuple[Order, ...] = ("newest", "oldest", "importance", "updated", "accessed")

few = st.sampled_from([0.0, 1.0, 2.0, -1.0, 0.5])
vectors = st.tuples(few, few, few).map(lambda given: unit(*given, 0.1))
indexed = st.builds(
    lambda words, rows: derived(" ".join(words), *rows),
    st.lists(st.sampled_from(WORDS), max_size=4),
    st.lists(vectors, max_size=2),
)
ties = st.lists(
    st.builds(
        Link, st.sampled_from([*NAMES, "nobody"]), st.sampled_from(["related", "needs"]), st.sampled_from([1.0, 0.5])
    ),
    max_size=3,
    unique_by=lambda link: (link.to, link.rel),
).map(tuple)


@st.composite
def standing(draw: st.DrawFn, id: str, space: str = SPACE) -> tuple[Memory, Derived]:
    stood = draw(memories(id, space))
    tried = replace(
        stood,
        tags=tuple(dict.fromkeys(stood.tags)),
        session=draw(st.sampled_from(["", "s"])),
        position=draw(st.none() | st.integers(0, 4)),
        superseded_by=draw(st.sampled_from(["", "", *NAMES])),
        links=draw(ties),
    )
    return tried, draw(indexed)


Standing = tuple[Memory, Derived]
now = st.dictionaries(st.sampled_from(NAMES), st.none(), max_size=5).flatmap(
    lambda names: st.fixed_dictionaries({name: standing(name) for name in names})
)
then = st.dictionaries(st.sampled_from(NAMES), st.booleans(), max_size=5).flatmap(
    lambda names: st.fixed_dictionaries({name: standing(name) if there else st.none() for name, there in names.items()})
)


@dataclass(frozen=True, slots=True)
class Pair:
    overlaid: Backend
    plain: Backend


@pytest.fixture(scope="module", params=["sqlite", "in_memory"])
def below(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    folder = tmp_path_factory.mktemp("overlaid")
    opened: Backend = SQLiteBackend(folder / Path("s.db")) if request.param == "sqlite" else InMemoryBackend()
    with opened.transaction() as transaction:
        transaction.claim_embedder("samples", 8)
    yield opened
    opened.close()


def paired(
    below: Backend, now: Mapping[str, Standing], then: Mapping[str, Standing | None], other: Sequence[Standing]
) -> Pair:
    with below.transaction() as transaction:
        for space in (SPACE, ELSEWHERE):
            for stood in below.select(space, EVERYTHING):
                transaction.remove(space, stood.id)
    put(below, *now.values(), *other)
    plain = InMemoryBackend()
    with plain.transaction() as transaction:
        transaction.claim_embedder("samples", 8)
    put(plain, *(found for found in {**now, **then}.values() if found is not None), *other)
    changed = {id: None if found is None else found[0] for id, found in then.items()}
    words = {id: found[1] for id, found in then.items() if found is not None}
    return Pair(OverlaidBackend(below, SPACE, changed, words), plain)


pairs = {"now": now, "then": then, "other": st.lists(standing("m1", ELSEWHERE), max_size=1)}


def named(store: Backend, keys: Keys) -> list[str]:
    """Keys are each backend's own: `space/id` names what is meant."""
    found = {
        place.key: f"{space}/{place.id}"
        for space in (SPACE, ELSEWHERE)
        for place in store.places(space, np.unique(keys), EVERYTHING)
    }
    return [found[key] for key in keys.tolist()]


@settings(max_examples=SOME)
@given(**pairs, where=filters, prefix=st.sampled_from(["", "m", "m1", "x"]), limit=st.integers(0, 4))
def test_records_are_read_counted_and_listed_alike(
    below: Backend, where: Filter, prefix: str, limit: int, **given: Any
) -> None:
    pair = paired(below, **given)
    asked = [*reversed(NAMES), "nobody", *NAMES]
    for space in (SPACE, ELSEWHERE):
        for narrowed in (EVERYTHING, where):
            found, expected = (list(s.iterate(space, narrowed)) for s in (pair.overlaid, pair.plain))
            assert sorted(found, key=lambda m: m.id) == sorted(expected, key=lambda m: m.id)
            assert pair.overlaid.count(space, narrowed) == pair.plain.count(space, narrowed)
            for field in ("type", "status", "tags", "entities"):
                one, other = (s.tally(space, field, narrowed) for s in (pair.overlaid, pair.plain))
                assert list(one.items()) == list(other.items())
        assert pair.overlaid.get(space, asked) == pair.plain.get(space, asked)
        assert pair.overlaid.ids_like(space, prefix, limit) == pair.plain.ids_like(space, prefix, limit)
    assert pair.overlaid.size() == pair.plain.size()


@settings(max_examples=SOME)
@given(**pairs, where=filters, limit=st.none() | st.integers(0, 4), offset=st.integers(0, 3))
def test_every_order_is_kept_and_cut_alike(
    below: Backend, where: Filter, limit: int | None, offset: int, **given: Any
) -> None:
    """Among equals either may come first."""
    pair = paired(below, **given)
    for order in ORDER_NAMES:
        for narrowed in (EVERYTHING, where):
            found, expected = (
                [ORDERS[order](0, m)[:-1] for m in s.select(SPACE, narrowed, order=order, limit=limit, offset=offset)]
                for s in (pair.overlaid, pair.plain)
            )
            assert found == expected


@settings(max_examples=SOME)
@given(**pairs, where=filters, asked=vectors, limit=st.integers(1, 4))
def test_nearness_is_measured_alike(below: Backend, where: Filter, asked: Any, limit: int, **given: Any) -> None:
    pair = paired(below, **given)
    for narrowed in (EVERYTHING, where):
        whole, expected = (
            {match.id: (match.score, match.span) for match in s.by_vector(SPACE, asked, narrowed, 99)}
            for s in (pair.overlaid, pair.plain)
        )
        assert {id: score for id, (score, _) in whole.items()} == pytest.approx(
            {id: score for id, (score, _) in expected.items()}, abs=ROUGHLY
        )
        few, some = ([m.score for m in s.by_vector(SPACE, asked, narrowed, limit)] for s in (pair.overlaid, pair.plain))
        assert few == pytest.approx(some, abs=ROUGHLY)
    for only in (None, where):
        near, expected_near = (nearest(s, asked, only, 99) for s in (pair.overlaid, pair.plain))
        assert near == pytest.approx(expected_near, abs=ROUGHLY)
        few, some = (list(nearest(s, asked, only, limit).values()) for s in (pair.overlaid, pair.plain))
        assert few == pytest.approx(some, abs=ROUGHLY)
    measured, expected_measures = (cosines(s, asked) for s in (pair.overlaid, pair.plain))
    assert measured == pytest.approx(expected_measures, abs=ROUGHLY)


def nearest(store: Backend, asked: Any, only: Filter | None, limit: int) -> dict[str, float]:
    keys, found = store.near(SPACE, asked, limit, None if only is None else store.allowed(SPACE, only))
    assert found.tolist() == sorted(found.tolist(), reverse=True)
    return dict(zip(named(store, keys), found.tolist(), strict=True))


def cosines(store: Backend, asked: Any) -> dict[str, float]:
    keys = store.allowed(SPACE, EVERYTHING)[::-1]
    return dict(zip(named(store, keys), store.cosines(SPACE, asked, keys).tolist(), strict=True))


@settings(max_examples=SOME)
@given(
    **pairs,
    where=filters,
    spots=st.lists(st.tuples(st.just("s"), st.integers(0, 4)), max_size=3),
    reach=st.integers(0, 2),
)
def test_places_and_postings_are_told_alike(
    below: Backend, where: Filter, spots: list[tuple[str, int]], reach: int, **given: Any
) -> None:
    pair = paired(below, **given)
    for narrowed in (EVERYTHING, where):
        for asked in (placed, lambda s, w: s.around(SPACE, spots, reach, w)):
            found, expected = (asked(s, narrowed) for s in (pair.overlaid, pair.plain))
            assert [place.key for place in found] == sorted(place.key for place in found)
            assert {place._replace(key=0) for place in found} == {place._replace(key=0) for place in expected}
        terms = [*WORDS, "nothing"]
        matched, expected_matches = (
            {match.id for match in s.by_words(SPACE, terms, narrowed, 99)} for s in (pair.overlaid, pair.plain)
        )
        assert matched == expected_matches
    assert posted(pair.overlaid, terms) == posted(pair.plain, terms)


def placed(store: Backend, where: Filter) -> list[Any]:
    return store.places(SPACE, store.allowed(SPACE, where), EVERYTHING)


def posted(store: Backend, terms: Sequence[str]) -> dict[str, list[str]]:
    found = store.postings(terms)
    for posting in found.values():
        assert posting.keys.tolist() == sorted(posting.keys.tolist())
        assert len(posting.weights) == len(posting.keys)
    return {term: sorted(named(store, posting.keys)) for term, posting in found.items() if len(posting.keys)}


@settings(max_examples=SOME)
@given(
    **pairs,
    out_of=st.none() | st.lists(st.sampled_from(NAMES), max_size=4),
    into=st.none() | st.lists(st.sampled_from([*NAMES, "nobody"]), max_size=4),
    rels=st.none() | st.lists(st.sampled_from(["related", "needs"]), max_size=2),
)
def test_ties_and_chains_are_told_alike(
    below: Backend, out_of: list[str] | None, into: list[str] | None, rels: list[str] | None, **given: Any
) -> None:
    pair = paired(below, **given)
    for space in (SPACE, ELSEWHERE):
        found, expected = (
            sorted(s.edges(space, out_of=out_of, into=into, rels=rels)) for s in (pair.overlaid, pair.plain)
        )
        assert found == expected
        for id in (*NAMES, "", "nobody"):
            one, other = (s.replaced_by(space, id) for s in (pair.overlaid, pair.plain))
            assert [memory.created_at for memory in one] == [memory.created_at for memory in other]
            assert {memory.id for memory in one} == {memory.id for memory in other}
        rows, expected_rows = (s.vectors(space, NAMES) for s in (pair.overlaid, pair.plain))
        assert rows.keys() == expected_rows.keys()
        assert all(np.allclose(rows[id], expected_rows[id], atol=ROUGHLY) for id in rows)


@settings(max_examples=SOME)
@given(**pairs)
def test_what_is_overlaid_can_only_be_read(below: Backend, **given: Any) -> None:
    overlaid = paired(below, **given).overlaid
    before = below.select(SPACE, EVERYTHING, order="oldest"), below.edges(SPACE)
    with pytest.raises(OSError, match="not changed"):
        overlaid.transaction()
    overlaid.touch(SPACE, NAMES, 9e9)
    overlaid.walked(SPACE, overlaid.edges(SPACE))
    assert (below.select(SPACE, EVERYTHING, order="oldest"), below.edges(SPACE)) == before
