"""Options of a recall at their bounds, and what relevance and links mean without a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput
from nacre.model import Link
from tests.embedders import Moody


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore(":memory:", embedder=Moody(256), clock=lambda: 1_000.0) as opened:
        yield opened


@pytest.mark.parametrize(
    "options",
    [
        {"emotion": (1.0,)},
        {"emotion": (0.0, 0.0, 0.0)},
        {"emotion": (1.1, 0.0)},
        {"emotion": (0.0, -1.1)},
        {"min_relevance": 1.1},
        {"emotion": (0.0, 0.0), "emotion_weight": -0.1},
    ],
)
def test_an_option_outside_of_its_range_is_refused_by_its_name(store: MemoryStore, options: dict[str, Any]) -> None:
    store.remember("green tea")
    with pytest.raises(InvalidInput, match=list(options)[-1]):
        store.recall("tea", **options)


@pytest.mark.parametrize(
    "options",
    [
        {"emotion": (1.0, -1.0)},
        {"emotion": (-1.0, 1.0), "emotion_weight": 1},
        {"min_relevance": 0},
    ],
)
def test_an_option_at_the_end_of_its_range_is_taken(store: MemoryStore, options: dict[str, Any]) -> None:
    store.remember("green tea")
    assert len(store.recall("tea", **options)) == 1


def test_without_a_model_relevance_rises_with_the_share_of_the_words_that_are_found(store: MemoryStore) -> None:
    embedder = store.embedder
    assert isinstance(embedder, Moody)
    embedder.well = False
    store.remember("copper kettle whistle", id="half")
    store.remember("copper kettle whistle kitchen stove morning", id="whole", on_conflict="ignore")
    hits = store.recall("copper kettle whistle kitchen stove morning")
    relevance = {hit.memory.id: hit.relevance for hit in hits}
    assert relevance["whole"] > 1.5 * relevance["half"] > 0


def test_a_link_of_a_strong_answer_lifts_a_weak_one_and_a_weak_link_lowers_nothing(store: MemoryStore) -> None:
    question = "copper kettle whistle kitchen stove"
    store.remember("morning in the old kitchen garden by the long wall", id="weak")
    store.remember("copper kettle whistle kitchen stove", id="strong", on_conflict="ignore")
    plain = {hit.memory.id: hit.score for hit in store.recall(question, strategy="graph")}
    store.link("strong", "weak", "related")
    linked = {hit.memory.id: hit for hit in store.recall(question, strategy="graph")}
    assert linked["strong"].score == pytest.approx(plain["strong"])
    assert linked["weak"].score == pytest.approx(0.6 * plain["strong"])
    assert linked["weak"].score > plain["weak"]
    assert [reason.signal for reason in linked["weak"].why] == ["link"]


def test_a_link_gives_on_a_part_of_its_weight_and_two_hops_a_part_of_the_part(store: MemoryStore) -> None:
    store.remember("copper kettle whistle", id="found")
    store.remember("red barn", id="near", links=[Link("far", "related")], on_conflict="ignore")
    store.remember("blue boat", id="far", on_conflict="ignore")
    for other in ("drum", "lamp", "gate", "wire"):  # the walk begins at the five best, which the linked ones are not
        store.remember(f"copper kettle {other}", on_conflict="ignore")
    store.link("found", "near", "related", weight=0.5)
    scores = {hit.memory.id: hit.score for hit in store.recall("copper kettle whistle", k=9, strategy="graph")}
    assert scores["near"] == pytest.approx(0.6 * 0.5 * scores["found"])
    assert scores["far"] == pytest.approx(0.6 * scores["near"])
