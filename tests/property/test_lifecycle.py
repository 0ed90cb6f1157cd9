"""Whatever the lifecycle plans for a random store, planning changes nothing and undoing takes all of it back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre import MemoryStore
from nacre.lifecycle.consolidation import ConsolidationConfig, Consolidator
from nacre.lifecycle.decay import ConfidenceDecay, DecayEngine
from nacre.lifecycle.reflection import Consolidate, ReflectionEngine
from nacre.lifecycle.retention import Bounds, Retention, compress_old
from tests import postgres_server
from tests.embedders import WordBag
from tests.property.acting import TEXTS, Choice, Rising, choices, perform, told

Place = Callable[[], Path | str]
Planning = Callable[[], Sequence[object]]
Doing = Callable[[], object]  # carries out a plan that was made when this was made

SOME = settings().max_examples // 2  # each example is a whole life
DAY = 86_400.0
numbers = st.integers(0, 999)


@pytest.fixture(params=["sqlite", "in_memory", pytest.param("postgres", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    files = count()
    places: dict[str, Place] = {
        "sqlite": lambda: tmp_path / f"{next(files)}.db",
        "in_memory": lambda: ":memory:",
        "postgres": postgres_server.empty_database,
    }
    return places[request.param]


def fading(store: MemoryStore, now: float, choice: int) -> Doing:
    engine = DecayEngine(
        store, 0.1, (0.05, 0.4, 0.9)[choice % 3], model=("simple", "strength")[choice % 2], protect_linked=choice > 500
    )
    plan = engine.plan(now + choice % 60 * DAY)
    return lambda: engine.apply(plan)


def reflecting(store: MemoryStore, now: float, choice: int) -> Doing:
    ways: tuple[Consolidate, ...] = (False, True, "hard")
    engine = ReflectionEngine(store, (0.2, 0.5, 0.9)[choice % 3], summarizer=("central", "extractive")[choice % 2])
    plan = engine.plan(now)
    return lambda: engine.apply(plan, ways[choice // 3 % 3])


def consolidating(store: MemoryStore, now: float, choice: int) -> Doing:
    config = ConsolidationConfig(0.3, 0.0, 50, similarity_threshold=(0.2, 0.6, 0.85)[choice % 3])
    engine = Consolidator(store, config, hard=choice % 2 == 0)
    plan = engine.plan(now)
    return lambda: engine.apply(plan)


def retaining(store: MemoryStore, now: float, choice: int) -> Doing:
    outcome = ("archive", "trash")[choice % 2]
    bounds = (Bounds(1.0, outcome=outcome), Bounds(max_count=choice % 5, outcome=outcome), Bounds(max_megabytes=5e-5))
    retention = Retention(store, bounds[choice % 3], types=("episodic",) if choice % 7 == 0 else ())
    plan = retention.plan(now + choice % 4 * DAY)
    return lambda: retention.apply(plan)


def doubting(store: MemoryStore, now: float, choice: int) -> Doing:
    engine = ConfidenceDecay(store, 1.0 + choice % 400)
    plan = engine.plan(now + choice * DAY)
    return lambda: engine.apply(plan)


KINDS = {
    "decay": fading, "reflection": reflecting, "consolidation": consolidating, "retention": retaining,
    "confidence": doubting,
}  # fmt: skip
plans = st.lists(st.tuples(st.sampled_from(sorted(KINDS)), numbers), min_size=1, max_size=4)


def content(store: MemoryStore) -> dict[str, str]:
    found = store.iterate(include_trashed=True, include_archived=True, include_superseded=True, include_expired=True)
    return {memory.id: told(memory) for memory in found}


def batches(store: MemoryStore) -> list[str]:
    return list(dict.fromkeys(entry.operation.batch for entry in store.journal(limit=None, newest_first=False)))


@contextmanager
def make_experience(place: Place, lives: list[Choice]) -> Iterator[tuple[MemoryStore, Rising]]:
    """A store in which random acts have been done, to some episodes among others."""
    clock = Rising()
    episodes = [{"text": text, "id": f"m{900 + at}", "type": "episodic"} for at, text in enumerate(TEXTS[:6])]
    with MemoryStore(place(), embedder=WordBag(16), clock=clock) as store:
        store.remember_many(episodes)
        for choice in lives:
            perform(store, choice)
        clock.at += 60
        yield store, clock


@pytest.mark.slow
@settings(max_examples=SOME)
@given(lives=choices, wanted=plans)
def test_plans_that_are_carried_out_and_undone_leave_the_store_as_it_was(
    place: Place, lives: list[Choice], wanted: list[tuple[str, int]]
) -> None:
    with make_experience(place, lives) as (store, clock):
        words = dict(store.backend.terms("relation"))
        moments = [content(store)]
        for kind, number in wanted:
            before = batches(store)
            carry_out = KINDS[kind](store, clock(), number)
            assert content(store) == moments[-1]
            carry_out()
            done = batches(store)
            assert len(done) - len(before) == (content(store) != moments[-1])
            if len(done) > len(before):
                moments.append(content(store))
        for moment in reversed(moments[:-1]):
            store.undo()
            assert content(store) == moment
        assert dict(store.backend.terms("relation")) == words
        health = store.health(thorough=True)
        assert (health.problems, health.pending) == ((), 0)


@pytest.mark.slow
@settings(max_examples=SOME)
@given(lives=choices, between=choices, kind=st.sampled_from(sorted(KINDS)), number=numbers)
def test_a_plan_that_others_overtake_touches_nothing_of_theirs_and_can_be_undone(
    place: Place, lives: list[Choice], between: list[Choice], kind: str, number: int
) -> None:
    with make_experience(place, lives) as (store, clock):
        carry_out = KINDS[kind](store, clock(), number)
        planned = content(store)
        for choice in between:
            perform(store, choice)
        overtaken = content(store)
        before = batches(store)
        carry_out()
        if kind in ("decay", "retention", "confidence"):
            changed = {id for id, record in content(store).items() if record != overtaken[id]}
            assert all(planned[id] == overtaken[id] for id in changed)
        if len(batches(store)) > len(before):
            store.undo()
        assert content(store) == overtaken
        assert store.health(thorough=True).problems == ()


@pytest.mark.slow
@settings(max_examples=SOME)
@given(lives=choices, later=choices)
def test_a_store_whose_texts_are_compressed_goes_on_as_one_whose_are_not(
    tmp_path: Path, lives: list[Choice], later: list[Choice]
) -> None:
    def place() -> Path:  # only a file has texts to compress
        return Path(mkdtemp(dir=tmp_path)) / "store.db"

    with (
        pytest.MonkeyPatch.context() as patch,
        make_experience(place, lives) as (plain, _),
        make_experience(place, lives) as (packed, clock),
    ):
        patch.setattr("nacre.storage.sqlite.rows.LEAST", 1)
        patch.setattr("nacre.storage.sqlite.rows.WORTH_IT", 9.0)
        for choice in later:
            at = clock.at
            compress_old(packed, 0.0, at + 1)
            clock.at = at  # both stores tell the same time
            assert content(packed) == content(plain)
            perform(plain, choice)
            perform(packed, choice)
        assert content(packed) == content(plain)
        assert packed.health(thorough=True).problems == ()
