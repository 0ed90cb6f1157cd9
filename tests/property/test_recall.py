"""Whatever the filter, a recall finds what an exhaustive look over the admitted memories would."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre import Filter, MemoryStore
from nacre.protocols import Search
from nacre.recall.strategies import STRATEGIES
from nacre.text.tokens import content_stems, stems
from tests import postgres_server
from tests.embedders import WordBag
from tests.property.strategies import texts

WORDS = ("tea", "cup", "port", "disk", "anna", "ben", "rome", "trip", "green", "blue")
COUNT = 390  # more than a pool, and as many as the vector index looks through exactly
NOW = 1_750_000_000.0


@pytest.fixture(scope="module", params=["sqlite", "in_memory", pytest.param("postgres", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    place: Path | str = tmp_path_factory.mktemp("recall") / "store.db" if request.param == "sqlite" else ":memory:"
    if request.param == "postgres":
        place = postgres_server.empty_database()
    random = np.random.default_rng(3)
    with MemoryStore(place, embedder=WordBag(), clock=lambda: NOW) as opened:
        opened.remember_many(
            {
                "text": " ".join(random.choice(WORDS, random.integers(1, 6))) + f" number {n}", "id": f"m{n}",
                "importance": n / COUNT, "tags": [f"t{n % 7}"], "type": ("semantic", "episodic")[n % 2],
                "status": ("short_term", "long_term", "archived")[n % 3], "created_at": NOW - n,
                **({"session": f"s{n // 20}", "position": n % 20} if n % 3 else {}),
            }
            for n in range(COUNT)
        )  # fmt: skip
        yield opened


narrowings = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["semantic", "episodic"]), "tag": st.sampled_from([f"t{n}" for n in range(8)]),
        "min_importance": st.sampled_from([0.0, 0.5, 0.9, 0.98, 0.995, 1.0]),
        "status": st.sampled_from(["short_term", "long_term", "archived"]),
        "session": st.sampled_from([f"s{n}" for n in range(5)]),
    },
)  # fmt: skip
questions = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True).map(" ".join)


@pytest.mark.slow
@given(question=questions, narrowed=narrowings, strategy=st.sampled_from(sorted(STRATEGIES)), k=st.integers(1, 12))
def test_hits_are_admitted_and_as_many_as_there_are(
    store: MemoryStore, question: str, narrowed: dict[str, str], strategy: str, k: int
) -> None:
    admitted = {memory.id: memory for memory in store.list_recent(COUNT, **narrowed)}  # type: ignore[arg-type]
    holding = {id for id, memory in admitted.items() if set(content_stems(question)) & set(stems(memory.text))}
    hits = store.recall(question, k, strategy=strategy, touch=False, **narrowed)  # type: ignore[arg-type]
    assert {hit.memory.id for hit in hits} <= set(admitted)
    assert len(hits) >= min(k, len(holding))
    assert len({hit.memory.id for hit in hits}) == len(hits)


@pytest.mark.slow
@given(question=questions, narrowed=narrowings, k=st.integers(1, 12))
def test_meaning_and_words_find_what_an_exhaustive_look_finds(
    store: MemoryStore, question: str, narrowed: dict[str, str], k: int
) -> None:
    admitted = store.list_recent(COUNT, **narrowed)  # type: ignore[arg-type]
    asked = store.embedder.embed([question])[0]
    rows = store.embedder.embed([memory.text for memory in admitted]) if admitted else np.empty((0, len(asked)))
    expected = sorted((rows @ asked).tolist(), reverse=True)[:k]
    hits = store.recall(question, k, strategy="semantic", touch=False, **narrowed)  # type: ignore[arg-type]
    assert [hit.score for hit in hits] == pytest.approx(expected, abs=3e-3)
    whole = store.recall(question, COUNT, strategy="keyword", touch=False, **narrowed)  # type: ignore[arg-type]
    terms = set(content_stems(question))
    assert {hit.memory.id for hit in whole} == {memory.id for memory in admitted if terms & set(stems(memory.text))}


@pytest.mark.slow
@given(question=questions, narrowed=narrowings)
def test_the_default_ranks_a_narrow_choice_as_it_ranks_it_whole(
    store: MemoryStore, question: str, narrowed: dict[str, str]
) -> None:
    """With every admitted memory in the pool the order is the true one; a small k must not change its head."""
    few = store.recall(question, 3, touch=False, **narrowed)  # type: ignore[arg-type]
    many = store.recall(question, COUNT, touch=False, **narrowed)  # type: ignore[arg-type]
    if len(many) <= 100:
        assert [hit.memory.id for hit in few] == [hit.memory.id for hit in many][:3]


@pytest.mark.slow
@given(text=texts)
def test_candidates_by_words_and_a_search_for_words_agree(store: MemoryStore, text: str) -> None:
    kept = store.remember(text + " xyzzy")
    try:
        for term in stems(text):
            found = store.backend.by_words(store.space, [term], Filter(), COUNT + 1)
            gathered = store.backend.gather(store.space, Search((term,), pool=COUNT + 1))
            assert sorted(match.id for match in found) == sorted(place.id for place in gathered.places)
    finally:
        store.purge(kept.id)
