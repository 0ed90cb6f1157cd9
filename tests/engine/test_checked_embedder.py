"""A store refuses an embedder that gives other vectors than those it was filled with, whatever its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from nacre import MemoryStore
from nacre.engine.checked_embedder import PROBE, CheckedEmbedder, check_same, checked
from nacre.errors import EmbeddingError, EmbeddingMismatch
from nacre.models.background import BackgroundEmbedder
from nacre.models.embedders import Hashing
from nacre.models.shipped_embedder import ENGLISH, MULTILINGUAL, ShippedEmbedder
from nacre.protocols import EmbedderBound, EmbedderIdentity, Expected, Vectors
from nacre.storage.in_memory import InMemoryBackend
from tests.embedders import Moody, WordBag

Embed = Callable[[Sequence[str]], Vectors]


def as_lambda(dimensions: int, turned: int = 0) -> Embed:
    """Every one has the same name; `turned` ones give the same numbers in other places."""
    return lambda texts: np.roll(WordBag(dimensions).embed(texts), turned, axis=1)


USES: tuple[Callable[[MemoryStore], object], ...] = (
    lambda store: store.remember("an iron kettle"),
    lambda store: store.recall("kettle"),
    lambda store: store.recall("kettle", strategy="semantic"),
    lambda store: store.edit("m1", text="an iron kettle"),
)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("other", "difference"),
    [(as_lambda(32), "has 32 dimensions instead of 64"), (as_lambda(64, turned=1), "other vectors to the same text")],
)
def test_another_lambda_is_refused_with_the_remedy_and_changes_nothing(
    tmp_path: Path, use: Callable[[MemoryStore], object], other: Embed, difference: str
) -> None:
    with MemoryStore(tmp_path / "s.db", embedder=as_lambda(64)) as store:
        store.remember("a copper kettle", id="m1", on_conflict="ignore")
    with MemoryStore(tmp_path / "s.db", embedder=other) as store:
        for _ in range(2):
            with pytest.raises(EmbeddingMismatch, match=rf"{difference}.*nacre store reindex"):
                use(store)
        assert [memory.text for memory in store.list_recent()] == ["a copper kettle"]


def test_the_same_function_is_accepted_again_and_in_every_view(tmp_path: Path) -> None:
    for turn in range(2):
        with MemoryStore(tmp_path / "s.db", embedder=as_lambda(64)) as store:
            store.remember(f"kettle {turn}", on_conflict="ignore")
            store.in_space("other").remember(f"kettle {turn}", on_conflict="ignore")
            assert store.recall("kettle")


def test_after_a_reindexing_the_other_lambda_is_the_right_one(tmp_path: Path) -> None:
    first, second = as_lambda(64), as_lambda(64, turned=1)
    with MemoryStore(tmp_path / "s.db", embedder=first) as old, MemoryStore(tmp_path / "s.db", embedder=second) as new:
        old.remember("a copper kettle", on_conflict="ignore")
        assert new.reindex() == 1
        assert new.recall("a copper kettle", strategy="semantic")[0].score == pytest.approx(1, abs=0.01)
        with pytest.raises(EmbeddingMismatch):
            old.recall("kettle")


@pytest.mark.slow
def test_an_interrupted_reindexing_is_not_gone_on_with_by_another_function_of_the_same_name(tmp_path: Path) -> None:
    calls = 0

    def stopping(texts: Sequence[str]) -> Vectors:
        nonlocal calls
        calls += 1
        if calls > 2:
            raise KeyboardInterrupt
        return WordBag(64).embed(texts)

    stopping.__name__ = "<lambda>"
    with MemoryStore(tmp_path / "s.db", embedder=as_lambda(32)) as store:
        store.remember_many(f"kettle {number}" for number in range(300))
    with MemoryStore(tmp_path / "s.db", embedder=stopping) as store, pytest.raises(KeyboardInterrupt):
        store.reindex()
    with MemoryStore(tmp_path / "s.db", embedder=as_lambda(64, turned=1)) as store:
        assert store.reindex() == 300
        assert store.recall("kettle 7", k=1, strategy="semantic")[0].score == pytest.approx(1, abs=0.01)


class Slow(WordBag):
    """Is loaded by its first text."""

    def __init__(self) -> None:
        super().__init__()
        self.ready = False

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.ready = True
        return super().embed(texts)


def test_nothing_is_loaded_only_to_compare(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as store:
        store.remember("a copper kettle", id="m1", on_conflict="ignore")
    slow = Slow()
    with MemoryStore(tmp_path / "s.db", embedder=BackgroundEmbedder(slow, load=False)) as store:
        assert store.recall("kettle")
        store.edit("m1", tags=["kitchen"])
        assert store.get("m1")
    assert slow.asked == []
    assert not slow.ready


def test_the_fixed_text_is_embedded_once_with_the_first_texts() -> None:
    asked: list[str] = []

    class Listing(WordBag):
        def embed(self, texts: Sequence[str]) -> Vectors:
            asked.extend(texts)
            return super().embed(texts)

    embedder = CheckedEmbedder(Listing(), InMemoryBackend())
    assert embedder.embed([]).shape == (0, 64)
    assert asked == []
    assert np.array_equal(embedder.embed(["one", "two"]), WordBag().embed(["one", "two"]))
    embedder.embed(["three"])
    assert asked == ["one", "two", PROBE, "three"]


def test_a_model_that_fails_is_compared_when_it_answers() -> None:
    moody = Moody()
    moody.well = False
    embedder = CheckedEmbedder(moody, InMemoryBackend())
    with pytest.raises(EmbeddingError):
        embedder.embed(["one"])
    assert embedder.probe == b""
    assert embedder.current() == EmbedderIdentity("wordbag-64")


def test_a_checked_embedder_of_another_store_is_checked_against_this_one() -> None:
    one, other = InMemoryBackend(), InMemoryBackend()
    first = checked(Hashing(), one)
    first.embed(["a"])
    assert checked(first, one) is first
    second = checked(first, other)
    assert (second.inner, second.store, second.probe) == (first.inner, other, first.probe)


def probe(*numbers: float) -> bytes:
    return np.array(numbers, "<f2").tobytes()


def test_the_first_claim_binds_the_store_and_another_embedder_is_refused() -> None:
    store, bag = InMemoryBackend(), WordBag(2)
    store.commit(CheckedEmbedder(bag, store).claim(Expected()))
    assert store.embedder() == EmbedderIdentity(bag.identity, 2)
    store.commit(CheckedEmbedder(bag, store, probe(1, 0)).claim(Expected()))
    assert CheckedEmbedder(bag, store).claim(Expected()) == []
    assert store.embedder() == EmbedderIdentity(bag.identity, 2, probe(1, 0))
    for other in (CheckedEmbedder(bag, store, probe(0, 1)), CheckedEmbedder(WordBag(3), store)):
        with pytest.raises(EmbeddingMismatch, match="nacre store reindex"):
            other.claim(Expected())
    assert store.embedder() == EmbedderIdentity(bag.identity, 2, probe(1, 0))


def test_rounding_makes_no_other_identity() -> None:
    row = np.random.default_rng(1).normal(size=384)
    row /= np.linalg.norm(row)
    rough = np.round(row * 40) / 40
    stored = EmbedderIdentity("m", 384, probe(*row))
    check_same(stored, EmbedderIdentity("m", 384, probe(*rough)))
    with pytest.raises(EmbeddingMismatch):
        check_same(stored, EmbedderIdentity("m", 384, probe(*np.roll(row, 1))))


@pytest.mark.parametrize(
    "other", [EmbedderIdentity("m"), EmbedderIdentity("m", 2), EmbedderIdentity("m", 2, probe(1, 0))]
)
def test_what_is_not_known_is_not_compared(other: EmbedderIdentity) -> None:
    check_same(EmbedderIdentity("m", 2, probe(1, 0)), other)
    check_same(other, EmbedderIdentity("m", 2, probe(1, 0)))
    check_same(EmbedderIdentity(), other)


@pytest.mark.parametrize(
    "other", [EmbedderIdentity("n"), EmbedderIdentity("m", 3), EmbedderIdentity("m", 2, probe(0, 1))]
)
def test_what_differs_is_refused(other: EmbedderIdentity) -> None:
    with pytest.raises(EmbeddingMismatch, match="nacre store reindex"):
        check_same(EmbedderIdentity("m", 2, probe(1, 0)), other)


def test_the_embedder_that_follows_the_store_does_so_when_another_process_has_filled_it() -> None:
    store = InMemoryBackend()
    following = CheckedEmbedder(ShippedEmbedder(follows_store=True), store, probe(1, 0))
    following.check()
    assert following.identity == MULTILINGUAL.identity
    for filled_with in (ENGLISH, MULTILINGUAL):
        store.commit([EmbedderBound(EmbedderIdentity(filled_with.identity), anew=True)])
        assert following.check().name == following.identity == filled_with.identity
        assert following.probe == b""
    for kind in (ENGLISH, MULTILINGUAL):
        store.commit([EmbedderBound(EmbedderIdentity(kind.replaces[0]), anew=True)])
        following.check()
        assert following.identity == kind.identity and following.outdated, "what replaces the former one"
    store.commit([EmbedderBound(EmbedderIdentity("of another maker"), anew=True)])
    with pytest.raises(EmbeddingMismatch):
        following.check()
