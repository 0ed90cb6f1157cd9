"""What a new memory may not be true beside, and what each policy does about it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre import Memory, MemoryStore
from nacre.errors import ConflictError, ConflictWarning, MemoryNotFound, UnknownName
from nacre.model import Conflict, Link
from nacre.protocols import Vectors
from nacre.settings import Settings
from tests.embedders import Moody
from tests.engine.conftest import Ticking
from tests.prepared_stores import empty_store
from tests.samples import existing

ON, OFF = "Kim was born in Oslo", "Kim was born in Lyon"
OFFICE, SAME_OFFICE = "The office is in Berlin", "Berlin is where the office is"
SHORT_OFFICE = "Office is in Berlin!"


class Likened(Moody):
    """Every text lies at the cosine from the first that `cosines` gives it; others lie where their words lead."""

    cosines: dict[str, float]

    def _row(self, text: str) -> Vectors:
        if text not in self.cosines:
            return super()._row(text)
        row = np.zeros(self.dimensions, np.float32)
        row[:2] = self.cosines[text], math.sqrt(1 - self.cosines[text] ** 2)
        return row


@pytest.fixture
def embedder() -> Likened:
    likened = Likened()
    likened.cosines = {ON: 1.0, OFF: 0.9, OFFICE: 1.0, SAME_OFFICE: 0.97, SHORT_OFFICE: 0.98}
    return likened


@pytest.fixture(params=["sqlite", pytest.param("in_memory", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Ticking, embedder: Likened) -> Iterator[MemoryStore]:
    place = empty_store(tmp_path / "s.db") if request.param == "sqlite" else ":memory:"
    with MemoryStore(place, embedder=embedder, clock=clock) as opened:
        yield opened


def test_what_ended_before_the_other_began_is_no_conflict(store: MemoryStore) -> None:
    store.remember(ON, id="before", valid_until="2026-04-01")
    assert store.remember_result(OFF, id="after", valid_from="2026-04-01").conflicts == ()
    store.link("after", "before", "conflicts", data={"kind": "update"})
    assert store.review(kinds="conflict") == []
    assert not any(hit.conflicts for hit in store.recall(ON, min_relevance=0.0))
    store.edit("before", valid_until="2026-05-01")
    assert len(store.review(kinds="conflict")) == 1
    assert any(hit.conflicts for hit in store.recall(ON, min_relevance=0.0))


def told(conflicts: tuple[Conflict, ...] | list[Conflict]) -> list[tuple[str, str, str]]:
    return [(each.b.id, each.kind, each.reason) for each in conflicts]


def acts(store: MemoryStore) -> list[str]:
    """Newest first, each once."""
    return [act.name for act in dict.fromkeys(entry.operation for entry in store.journal(limit=None))]


def test_by_default_both_are_kept_and_the_conflict_is_noted_and_told(store: MemoryStore) -> None:
    store.remember(ON, id="on")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = store.remember_result(OFF, id="off")
    assert (result.action, told(result.conflicts)) == ("stored", [("on", "contradiction", "conflict_model")])
    assert result.conflicts[0].a.id == "off"
    assert result.conflicts[0].similarity == pytest.approx(0.9, abs=2e-3)
    (tie,) = result.memory.links
    assert (tie.to, tie.rel) == ("on", "conflicts")
    assert tie.data == {"kind": "contradiction", "reason": "conflict_model", "similarity": 0.9, "sure": True}
    assert result.memory == existing(store, "off")
    assert [item.id for item in store.review(kinds="conflict")] == ["off:on"]
    assert acts(store) == ["remember", "remember"]
    assert sorted(memory.id for memory in store.list_recent()) == ["off", "on"]


def test_ignore_does_not_look(store: MemoryStore) -> None:
    store.remember(ON)
    result = store.remember_result(OFF, on_conflict="ignore")
    assert (result.conflicts, result.memory.links) == ((), ())
    assert store.review(kinds="conflict") == []


def test_warn_is_a_python_warning_that_lists_the_conflicts(store: MemoryStore) -> None:
    store.remember(ON, id="on")
    with pytest.warns(ConflictWarning, match="contradiction of on") as caught:
        result = store.remember_result(OFF, on_conflict="warn")
    (warned,) = caught
    assert isinstance(warned.message, ConflictWarning)
    assert warned.message.conflicts == result.conflicts
    assert result.memory.links == ()
    assert store.count() == 2


def test_a_warning_points_to_the_caller(store: MemoryStore) -> None:
    store.remember(ON)
    with pytest.warns(ConflictWarning) as caught:
        store.remember_result(OFF, on_conflict="warn")
        store.remember(OFF, on_conflict="warn")
    assert {warned.filename for warned in caught} == {__file__}


def test_raise_stores_nothing_at_all(store: MemoryStore) -> None:
    store.remember(ON, id="on")
    before = existing(store, "on"), store.journal(limit=None), store.health()
    with pytest.raises(ConflictError, match="Nothing was stored") as caught:
        store.remember(OFF, on_conflict="raise")
    (found,) = caught.value.conflicts
    assert isinstance(found, Conflict)
    assert found.b.id == "on"
    assert (existing(store, "on"), store.journal(limit=None), store.health()) == before
    assert store.remember("Something else entirely", on_conflict="raise")


def test_supersede_lets_the_new_one_take_the_place_in_the_same_act(store: MemoryStore) -> None:
    store.remember(ON, id="on")
    result = store.remember_result(OFF, id="off", on_conflict="supersede")
    assert (result.action, told(result.conflicts)) == ("superseded", [("on", "contradiction", "conflict_model")])
    assert result.memory == existing(store, "off")
    assert existing(store, "on").superseded_by == "off"
    assert [(link.to, link.rel) for link in result.memory.links] == [("on", "supersedes")]
    assert acts(store) == ["remember", "remember"]
    store.undo()
    assert store.get("off") is None
    assert existing(store, "on").superseded_by == ""


@pytest.mark.accepts("H11.10")
def test_supersede_merges_what_says_the_same_into_what_stood(store: MemoryStore) -> None:
    stood = store.remember(OFFICE, id="office", importance=0.5, tags=["a"])
    result = store.remember_result(SHORT_OFFICE, importance=0.8, tags=["a", "b"], on_conflict="supersede")
    assert (result.action, result.memory.id, result.memory.text) == ("merged", "office", OFFICE)
    assert result.memory.importance == pytest.approx(0.85)
    assert result.memory.tags == ("a", "b")
    assert result.memory.metadata == {"other_wordings": [SHORT_OFFICE]}  # what was told is not lost
    assert store.count() == 1
    assert acts(store) == ["merge", "remember"]
    store.undo()
    after = existing(store, "office")
    used = replace(stood, last_accessed=after.last_accessed, access_count=1, version=after.version)
    assert after == used  # the use stays counted


def test_what_differs_in_its_blanks_alone_is_no_other_wording(store: MemoryStore) -> None:
    store.remember(OFFICE, id="office", importance=0.5)
    result = store.remember_result(OFFICE.replace(" ", "  "), importance=0.5, on_conflict="supersede")
    assert (result.action, result.memory.id, result.memory.metadata) == ("merged", "office", {})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The meeting is at 8 am", "The meeting is at 8 pm"),
        ("Temperature must stay > 5", "Temperature must stay < 5"),
        ("My mood today is \U0001f622", "My mood today is \U0001f600"),
        (OFFICE, SAME_OFFICE),
        ("The temperature alarm triggers above 30 degrees", "The temperature alarm triggers below 30 degrees"),
        ("Parcels over 20 kilos go by train", "Parcels under 20 kilos go by train"),
        ("She pays his rent", "He pays her rent"),
        ("The dog of Ann follows the cat of Ben", "The cat of Ben follows the dog of Ann"),
    ],
)
def test_what_differs_in_a_sign_a_word_or_the_order_is_never_merged(
    store: MemoryStore, embedder: Likened, old: str, new: str
) -> None:
    embedder.cosines |= {old: 1.0, new: 0.999}
    store.remember(old)
    assert store.remember_result(new, on_conflict="supersede").action == "stored"
    assert {memory.text for memory in store.iterate()} == {old, new}


@pytest.mark.parametrize("fields", [{"expires_at": 9e9}, {"valid_until": 5.0}, {"occurred_at": 5.0}])
def test_the_same_text_of_another_time_is_not_merged(store: MemoryStore, fields: dict[str, Any]) -> None:
    store.remember(OFFICE, **fields)
    assert store.remember_result(OFFICE, on_conflict="supersede").action == "stored"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"pinned": True}, {}),
        ({"trust": 1.0}, {"trust": 0.1}),
        ({"valid_from": 200.0}, {"valid_from": 10.0, "valid_until": 100.0}),
        ({"session": "s", "role": "user"}, {}),
    ],
    ids=["pinned", "of more trust", "true later", "a turn of a conversation"],
)
def test_what_a_person_should_look_at_first_is_noted_and_not_superseded(
    store: MemoryStore, old: dict[str, Any], new: dict[str, Any]
) -> None:
    store.remember(ON, id="on", **old)
    result = store.remember_result(OFF, on_conflict="supersede", **new)
    assert result.action == "stored" and existing(store, "on").superseded_by == ""
    assert [item.conflict.sure for item in store.review() if item.conflict] == [
        conflict.sure for conflict in result.conflicts
    ]


def test_telling_the_same_again_never_raises_importance_beyond_one(store: MemoryStore) -> None:
    store.remember(OFFICE, id="office", importance=0.99)
    for _ in range(3):
        store.remember(OFFICE, on_conflict="supersede")
    assert (store.count(), existing(store, "office").importance) == (1, 1.0)


@pytest.mark.parametrize(("polarity", "cosine"), [(1, 0.97), (0, 0.94)])
def test_supersede_keeps_a_mere_likeness_beside_what_stood(
    store: MemoryStore, embedder: Likened, polarity: int, cosine: float
) -> None:
    embedder.cosines = {**embedder.cosines, SAME_OFFICE: cosine}
    store.remember(OFFICE, id="office")
    result = store.remember_result(SAME_OFFICE, on_conflict="supersede", polarity=polarity)
    assert (result.action, told(result.conflicts)) == ("stored", [("office", "duplicate", "conflict_model")])
    assert store.count() == 2
    assert existing(store, "office").superseded_by == ""


@pytest.mark.accepts("H11.10")
def test_supersede_takes_the_place_of_all_that_it_contradicts(store: MemoryStore, embedder: Likened) -> None:
    again = "Kim was born in Graz"
    embedder.cosines = {**embedder.cosines, again: 0.99}
    store.remember(ON, id="on")
    store.remember(again, id="again", on_conflict="ignore")
    before = [existing(store, id) for id in ("on", "again")]
    result = store.remember_result(OFF, id="off", on_conflict="supersede")
    assert result.action == "superseded"
    assert [existing(store, id).superseded_by for id in ("on", "again")] == ["off", "off"]
    assert sorted(link.to for link in existing(store, "off").links) == ["again", "on"]
    store.undo()
    assert [existing(store, id) for id in ("on", "again")] == before


def test_an_unknown_policy_is_refused_before_anything_is_kept(store: MemoryStore) -> None:
    with pytest.raises(UnknownName, match="'supersede'"):
        store.remember(ON, on_conflict="superseed")
    assert store.count() == 0


def test_the_policy_of_the_store_holds_unless_the_call_says_otherwise(clock: Ticking, embedder: Likened) -> None:
    with MemoryStore(":memory:", embedder=embedder, clock=clock, on_conflict="raise") as store:
        store.remember(ON)
        with pytest.raises(ConflictError):
            store.remember(OFF)
        assert store.remember(OFF, on_conflict="note").links
        assert len(store.remember_many([OFF, ON])) == 2


def test_a_custom_function_is_asked_only_where_the_rules_see_no_contradiction(store: MemoryStore) -> None:
    asked: list[tuple[str, str]] = []

    def always(a: Memory, b: Memory) -> bool:
        asked.append((a.text, b.text))
        return True

    store.remember(ON, id="on")
    result = store.remember_result(OFF, contradiction_fn=always)
    assert told(result.conflicts) == [("on", "contradiction", "conflict_model")]
    store.remember(OFFICE, id="office", on_conflict="ignore", tags=["place"])
    asked.clear()
    result = store.remember_result(SAME_OFFICE, contradiction_fn=always, tags=["place"])
    assert ("office", "contradiction", "custom_fn") in told(result.conflicts)
    assert (SAME_OFFICE, OFFICE) in asked


def test_a_custom_function_that_sees_none_leaves_the_duplicate(store: MemoryStore) -> None:
    store.remember(OFFICE, id="office")
    result = store.remember_result(SAME_OFFICE, contradiction_fn=lambda _, __: False)
    assert told(result.conflicts) == [("office", "duplicate", "conflict_model")]


def test_a_custom_function_may_be_given_with_the_store(clock: Ticking, embedder: Likened) -> None:
    with MemoryStore(":memory:", embedder=embedder, clock=clock, contradiction_fn=lambda _, __: True) as store:
        store.remember(OFFICE, id="office")
        assert told(store.remember_result(SAME_OFFICE).conflicts) == [("office", "contradiction", "custom_fn")]


def test_opposite_polarity_contradicts_before_any_other_rule(store: MemoryStore) -> None:
    store.remember(ON, id="on", polarity=1)
    assert told(store.remember_result(OFF, polarity=-1).conflicts) == [("on", "contradiction", "polarity")]


@pytest.mark.parametrize("cosine", [0.79, 0.5])
def test_below_the_threshold_opposite_polarity_contradicts_only_what_says_the_same(
    store: MemoryStore, embedder: Likened, cosine: float
) -> None:
    other = "The tram stops at the harbour"
    embedder.cosines = {**embedder.cosines, SAME_OFFICE: cosine, other: cosine}
    store.remember(OFFICE, id="office", polarity=1)
    assert store.remember_result(other, polarity=-1).conflicts == ()
    assert told(store.remember_result(SAME_OFFICE, polarity=-1).conflicts) == [("office", "contradiction", "polarity")]


def test_without_a_conflict_model_the_threshold_says_what_is_the_same(clock: Ticking, embedder: Likened) -> None:
    embedder.cosines = {**embedder.cosines, SAME_OFFICE: 0.85}
    for threshold, found in ((0.8, 1), (0.9, 0)):
        known = Settings(store=":memory:", conflict_judge="rules")
        with MemoryStore(embedder=embedder, clock=clock, conflict_threshold=threshold, settings=known) as store:
            kept = store.remember(OFFICE)
            assert len(store.remember_result(SAME_OFFICE).conflicts) == found
            assert len(store.find_conflicts(kept.id, threshold=0.84)) == 1
            assert store.find_conflicts(kept.id, threshold=0.86) == []


@pytest.mark.parametrize(
    ("one", "other", "compared"),
    [((), (), True), (("x",), (), True), ((), ("x",), True), (("x", "y"), ("y", "z"), True), (("x",), ("y",), False)],
)
def test_tags_keep_two_memories_apart_only_where_both_have_some_and_share_none(
    store: MemoryStore, one: tuple[str, ...], other: tuple[str, ...], compared: bool
) -> None:
    store.remember(ON, tags=one)
    assert bool(store.remember_result(OFF, tags=other).conflicts) == compared


def test_different_types_may_conflict_and_nothing_is_superseded_for_it(store: MemoryStore) -> None:
    store.remember(ON, id="on", type="procedural")
    (conflict,) = store.remember_result(OFF, type="semantic", on_conflict="supersede").conflicts
    assert (conflict.b.id, conflict.sure, existing(store, "on").superseded_by) == ("on", False, "")
    store.remember(OFF, type="working")
    assert len(store.review(kinds="conflict")) == 1


def test_the_same_words_are_a_duplicate_whatever_the_type(store: MemoryStore) -> None:
    store.remember(ON, id="on", type="procedural")
    assert told(store.remember_result(ON, type="semantic").conflicts) == [("on", "duplicate", "identical text")]


@pytest.mark.parametrize("fields", [{"tags": ["reflection"]}, {"links": [Link("on", "derived_from")]}])
def test_what_was_made_of_a_memory_repeats_it_at_most(store: MemoryStore, fields: dict[str, Any]) -> None:
    store.remember(ON, id="on")
    result = store.remember_result(OFF, **fields)
    assert told(result.conflicts) == [("on", "duplicate", "similarity")]


@pytest.mark.parametrize("hide", ["trash", "supersede", "expire"])
def test_what_no_longer_stands_does_not_conflict(store: MemoryStore, hide: str) -> None:
    store.remember(ON, id="on", expires_at=1_000_003.0 if hide == "expire" else None)
    store.remember("Something else entirely", id="other")
    if hide == "trash":
        store.forget("on")
    elif hide == "supersede":
        store.supersede("on", "other")
    else:
        for _ in range(5):
            store._clock()
    assert store.remember_result(OFF).conflicts == ()


@pytest.mark.parametrize("fields", [{"type": "working"}, {"type": "sensory"}, {"session": "s", "role": "user"}])
def test_turns_of_a_conversation_and_passing_impressions_state_nothing(
    store: MemoryStore, fields: dict[str, Any]
) -> None:
    store.remember(ON, **fields)
    assert store.remember_result(OFF, **fields).conflicts == ()


def test_another_space_does_not_conflict(tmp_path: Path, embedder: Likened) -> None:
    with (
        MemoryStore(tmp_path / "s.db", space="one", embedder=embedder) as one,
        MemoryStore(tmp_path / "s.db", space="two", embedder=embedder) as two,
    ):
        one.remember(ON)
        assert two.remember_result(OFF).conflicts == ()


def test_without_the_model_words_alone_are_compared(store: MemoryStore, embedder: Likened) -> None:
    store.remember("The port of the main server is 80", id="old")
    embedder.well = False
    result = store.remember_result("The port of the main server is 90")
    assert told(result.conflicts) == [("old", "update", "conflict_model")]


def test_one_memory_or_the_whole_space_is_looked_through_without_changing_anything(store: MemoryStore) -> None:
    store.remember_many([{"text": text, "id": id} for id, text in (("on", ON), ("off", OFF), ("x", "Unlike the rest"))])
    before = store.journal(limit=None)
    for id in ("off", "on"):
        assert told(store.find_conflicts(id)) == [("on", "contradiction", "conflict_model")]  # the older of both
    assert store.find_conflicts("x") == []
    (pair,) = store.find_conflicts()
    assert (pair.a.id, pair.b.id, pair.kind) == ("off", "on", "contradiction")
    assert store.journal(limit=None) == before
    with pytest.raises(MemoryNotFound):
        store.find_conflicts("nobody")


def test_looking_through_the_space_compares_as_writing_did(store: MemoryStore) -> None:
    store.remember(ON, id="on")
    (written,) = store.remember_result(OFF, id="off", on_conflict="note").conflicts
    (pair,) = store.find_conflicts()
    assert pair.similarity == pytest.approx(written.similarity, abs=1e-3)
    assert (pair.kind, pair.reason, pair.words) == (written.kind, written.reason, written.words)


def test_memories_that_wait_for_their_vectors_are_looked_through_by_their_words(
    store: MemoryStore, embedder: Moody
) -> None:
    embedder.well = False
    store.remember_many([{"text": ON, "id": "on"}, {"text": OFF, "id": "off"}], on_conflict="ignore")
    assert [(pair.a.id, pair.b.id) for pair in store.find_conflicts()] == [("off", "on")]


def test_a_memory_is_never_compared_with_itself(store: MemoryStore) -> None:
    kept = store.remember(ON)
    assert store.find_conflicts(kept.id) == store.find_conflicts() == []


@pytest.mark.parametrize(
    "settle",
    [
        lambda store: store.link("off", "on", "distinct_from"),
        lambda store: store.link("on", "off", "contradicts"),
        lambda store: store.supersede("on", "off"),
    ],
)
def test_pairs_that_were_decided_are_passed_over(store: MemoryStore, settle: Callable[[MemoryStore], object]) -> None:
    store.remember_many([{"text": ON, "id": "on"}, {"text": OFF, "id": "off"}])
    assert len(store.find_conflicts()) == 1
    settle(store)
    assert store.find_conflicts() == store.find_conflicts("on") == store.find_conflicts("off") == []


def test_a_conflict_that_only_waits_is_still_found(store: MemoryStore) -> None:
    store.remember_many([{"text": ON, "id": "on"}, {"text": OFF, "id": "off"}])
    store.note_conflicts(store.find_conflicts())
    assert len(store.find_conflicts()) == 1
    assert store.note_conflicts(store.find_conflicts()) == 0


def test_found_conflicts_are_noted_once_in_one_act(store: MemoryStore) -> None:
    store.remember_many([{"text": text, "id": f"m{n}"} for n, text in enumerate((ON, OFF, "Use tabs", "Use tabs"))])
    found = store.find_conflicts()
    assert len(found) == 2
    before = acts(store)
    assert store.note_conflicts(found) == 2
    assert acts(store) == ["note_conflicts", *before]
    assert store.note_conflicts(found) == 0
    assert acts(store) == ["note_conflicts", *before]
    assert {item.id for item in store.review(kinds="conflict")} == {"m1:m0", "m3:m2"}
    store.undo()
    assert store.review(kinds="conflict") == []


def test_the_scan_reports_its_progress_from_the_first_memory_on(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.engine.review.PAGE", 4)
    monkeypatch.setattr("nacre.engine.review.REPORTED", 2)
    store.remember_many([f"number {n}" for n in range(6)])
    steps: list[tuple[int, int]] = []
    store.find_conflicts(progress=lambda done, total, _: steps.append((done, total)))
    assert steps == [(0, 6), (2, 6), (4, 6), (6, 6)]


def test_supersede_only_notes_what_is_not_sure(store: MemoryStore, embedder: Likened) -> None:
    vague, new = "The cache is enabled", "The cache was turned off"
    embedder.cosines = {**embedder.cosines, vague: 0.97, new: 0.97}
    store.remember(vague, id="vague")
    result = store.remember_result(new, id="new", on_conflict="supersede")
    assert [(conflict.b.id, conflict.sure) for conflict in result.conflicts] == [("vague", False)]
    assert result.action == "stored"
    assert existing(store, "vague").superseded_by == ""
    assert [item.kind for item in store.review()] == ["conflict"]


def test_an_edit_of_the_text_keeps_conflicts_that_were_linked_by_hand(store: MemoryStore) -> None:
    store.remember("The saw is blue", id="other")
    store.remember(ON, id="on")
    store.remember(OFF, id="off")
    for source, target in (("off", "other"), ("other", "off")):
        store.link(source, target, "conflicts")
    edited = store.edit("off", text="The boat sails at noon")
    assert [link.to for link in edited.links] == ["other"]
    assert [link.to for link in existing(store, "other").links] == ["off"]
