"""What a new memory may be a newer version of: the link that remembers it, and what becomes of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from nacre import Memory, MemoryStore
from nacre.model import Link
from nacre.protocols import Vectors
from nacre.settings import Settings
from tests.embedders import Moody
from tests.engine.conftest import Ticking
from tests.prepared_stores import empty_store
from tests.samples import existing

SHIPPED = "nacre-english-3"
TUESDAY = "The weekly sync is on Tuesday at ten in the small room"
THURSDAY = "We meet on Thursdays now because of the customer calls"
VANS, AGENCY = "Rosa books the vans for the tour", "Vans are booked by the agency this season"
BACKUP, PARROT = "The staging database is refreshed every night", "The parrot of the neighbours sings at noon"


class Paired(Moody):
    """Two texts of one group have the cosine that `alike` gives the second."""

    alike: Mapping[str, float] = {THURSDAY: 0.6, AGENCY: 0.5, PARROT: 0.5}
    groups: Sequence[Sequence[str]] = ((TUESDAY, THURSDAY), (VANS, AGENCY), (BACKUP, PARROT))

    def _row(self, text: str) -> Vectors:
        row = np.zeros(self.dimensions, np.float32)
        for number, group in enumerate(self.groups):
            if text.rstrip("!") in group:
                cosine = self.alike.get(text, 1.0)
                row[2 * number : 2 * number + 2] = cosine, math.sqrt(1 - cosine**2)
                return row
        return super()._row(text)


@pytest.fixture
def embedder() -> Paired:
    return Paired(identity=SHIPPED)


@pytest.fixture(params=["sqlite", pytest.param("in_memory", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Ticking, embedder: Paired) -> Iterator[MemoryStore]:
    place = empty_store(tmp_path / "s.db") if request.param == "sqlite" else ":memory:"
    with MemoryStore(place, embedder=embedder, clock=clock) as opened:
        yield opened


def versions(memory: Memory) -> list[Link]:
    return [link for link in memory.links if link.rel == "may_replace"]


def replaceable(store: MemoryStore, id: str) -> list[str]:
    """The ids of what it may be a newer version of, by the present texts."""
    memory = existing(store, id)
    return [link.to for link in versions(memory) if memory.version_link(existing(store, link.to)) == link]


def test_a_memory_is_linked_with_what_it_may_be_a_newer_version_of(store: MemoryStore) -> None:
    store.remember(TUESDAY, id="tuesday")
    store.remember(THURSDAY, id="thursday")
    ((to, weight),) = [(link.to, link.weight) for link in versions(existing(store, "thursday"))]
    assert to == "tuesday" and 0.15 <= weight <= 0.9
    assert not versions(existing(store, "tuesday"))
    assert store.review(kinds="word") == []  # the relation is known
    store.undo()
    assert store.get("thursday") is None


def test_what_is_unlike_or_unrelated_gets_no_link(store: MemoryStore, embedder: Paired) -> None:
    store.remember(BACKUP)
    assert not versions(store.remember(PARROT))
    embedder.alike = {THURSDAY: 0.2}
    store.remember(TUESDAY)
    assert not versions(store.remember(THURSDAY))


def test_a_conflict_that_is_noted_needs_no_second_link(store: MemoryStore) -> None:
    store.remember(VANS, id="rosa")
    memory = store.remember(AGENCY, id="agency")
    assert [(link.to, link.rel) for link in memory.links] == [("rosa", "conflicts")]


def test_only_what_is_newer_is_linked(store: MemoryStore) -> None:
    store.remember(TUESDAY, id="tuesday")
    assert not versions(store.remember(THURSDAY, id="thursday", created_at="1969-01-01"))


@pytest.mark.parametrize("policy", ["ignore", "warn", "raise"])
def test_policies_that_note_nothing_link_nothing(store: MemoryStore, policy: str) -> None:
    store.remember(TUESDAY)
    assert not versions(store.remember(THURSDAY, on_conflict=policy))


def test_what_was_settled_is_not_linked_again(store: MemoryStore) -> None:
    store.remember(TUESDAY, id="tuesday")
    linked = store.remember(THURSDAY, id="thursday", links=[Link("tuesday", "distinct_from")])
    assert not versions(linked)


def test_cosines_of_another_embedder_say_nothing_of_versions(tmp_path: Path, clock: Ticking) -> None:
    with MemoryStore(tmp_path / "s.db", embedder=Paired(), clock=clock) as store:
        store.remember(TUESDAY)
        assert not versions(store.remember(THURSDAY))


def test_without_a_model_that_reads_nothing_is_linked(tmp_path: Path, clock: Ticking) -> None:
    settings = Settings(conflict_judge="rules")
    with MemoryStore(tmp_path / "s.db", embedder=Paired(identity=SHIPPED), clock=clock, settings=settings) as store:
        store.remember(TUESDAY)
        assert not versions(store.remember(THURSDAY))


def test_an_edit_takes_the_link_away_where_the_texts_are_no_versions_any_more(store: MemoryStore) -> None:
    store.remember(TUESDAY, id="tuesday")
    store.remember(THURSDAY, id="thursday")
    assert versions(existing(store, "thursday"))
    store.edit("thursday", text=PARROT)
    assert not versions(existing(store, "thursday"))
    store.edit("thursday", text=THURSDAY)
    assert [link.to for link in versions(existing(store, "thursday"))] == ["tuesday"]
    assert replaceable(store, "thursday") == ["tuesday"]
    store.edit("tuesday", text=BACKUP)
    assert not replaceable(store, "thursday")


@pytest.mark.parametrize("text", [TUESDAY.upper(), f" {TUESDAY} "])
def test_an_edit_of_the_older_text_that_leaves_its_words_leaves_the_link(store: MemoryStore, text: str) -> None:
    store.remember(TUESDAY, id="tuesday")
    before = store.remember(THURSDAY, id="thursday")
    store.edit("tuesday", text=text)
    assert existing(store, "thursday") == before and replaceable(store, "thursday") == ["tuesday"]


def test_an_edit_of_one_memory_writes_to_no_other_for_its_versions(store: MemoryStore) -> None:
    """So that later changes of the other do not prevent its undo."""
    store.remember(TUESDAY, id="tuesday")
    store.remember(THURSDAY, id="thursday")
    store.edit("tuesday", text=BACKUP)
    edited = store.operations()[0].operation
    store.tag("thursday", add=["x"])
    store.undo(edited.batch)
    assert existing(store, "tuesday").text == TUESDAY and replaceable(store, "thursday") == ["tuesday"]


def test_a_text_that_is_edited_in_the_trash_has_no_newer_version_any_more(store: MemoryStore) -> None:
    store.remember(TUESDAY, id="tuesday")
    store.remember(THURSDAY, id="thursday")
    store.forget("tuesday")
    store.edit("tuesday", text=BACKUP)
    store.restore("tuesday")
    assert not replaceable(store, "thursday")


def test_a_text_that_is_edited_while_nothing_can_be_compared_replaces_nothing(
    store: MemoryStore, embedder: Paired
) -> None:
    store.remember(TUESDAY, id="tuesday")
    store.remember(THURSDAY, id="thursday")
    embedder.well = False
    store.edit("thursday", text=PARROT)
    embedder.well = True
    store.catch_up()
    assert not replaceable(store, "thursday")
    store.edit("thursday", text=THURSDAY)
    assert replaceable(store, "thursday") == ["tuesday"]


def test_a_link_that_a_person_made_outlives_edits(store: MemoryStore) -> None:
    store.remember(BACKUP, id="backup")
    store.remember(TUESDAY, id="tuesday")
    store.link("tuesday", "backup", "may_replace")
    store.edit("tuesday", text=PARROT)
    store.edit("backup", text=VANS)
    assert [(link.to, link.weight) for link in versions(existing(store, "tuesday"))] == [("backup", 1.0)]


def test_pruning_weak_links_leaves_it(store: MemoryStore) -> None:
    store.remember(TUESDAY, id="tuesday")
    store.remember("Somebody writes code", id="thursday")
    store.link("thursday", "tuesday", "may_replace", weight=0.2)
    assert store.weak_links() == []


def test_a_turn_that_is_more_alike_does_not_prevent_the_link(store: MemoryStore, embedder: Paired) -> None:
    said = "so we meet on Thursdays now?"
    embedder.groups = ((TUESDAY, THURSDAY, said),)
    embedder.alike = {THURSDAY: 0.6, said: 0.65}
    store.remember(TUESDAY, id="tuesday")
    store.remember(said, session="s", role="user", position=1)
    assert [link.to for link in versions(store.remember(THURSDAY, id="thursday"))] == ["tuesday"]


def test_a_link_that_nobody_asked_for_does_not_prevent_an_undo(store: MemoryStore) -> None:
    store.remember(TUESDAY, id="tuesday")
    stored = store.operations()[0].operation
    store.remember(THURSDAY, id="thursday")
    store.undo(stored.batch)
    assert store.get("tuesday") is None
    assert [hit.memory.id for hit in store.recall(THURSDAY, min_relevance=0.0)] == ["thursday"]
    store.undo(store.operations()[0].operation.batch)
    assert [link.to for link in versions(existing(store, "thursday"))] == ["tuesday"]
    assert existing(store, "tuesday")
