"""L8 4.1 and 4.8: certainty that nobody renews fades; audits and reviews find what to look at again."""

from __future__ import annotations

import pytest

from nacre import MemoryStore
from nacre.lifecycle.decay import CONFIDENCE_FLOOR, ConfidenceDecay, audit
from tests.lifecycle.aged import DAY, NOW, Turned
from tests.lifecycle.placed import acts, whole
from tests.samples import existing, ids

YEAR = 365 * DAY


def kept(store: MemoryStore, id: str, years: float = 0.0, **fields: object) -> None:
    given = {"id": id, "created_at": NOW - years * YEAR, **fields}
    store.remember(f"text of {id}", **given)  # type: ignore[arg-type]


def faded(store: MemoryStore, now: float | None = None) -> dict[str, float]:
    decay = ConfidenceDecay(store)
    decay.apply(decay.plan(now), now)
    return {memory.id: memory.confidence for memory in store.iterate()}


def test_certainty_halves_in_a_year(store: MemoryStore) -> None:
    kept(store, "m", 1)
    kept(store, "half sure", 2, confidence=0.8)
    kept(store, "new")
    assert faded(store) == {"m": 0.5, "half sure": 0.2, "new": 1.0}


def test_the_half_life_may_be_another(store: MemoryStore) -> None:
    kept(store, "m", 1)
    [fading] = ConfidenceDecay(store, half_life_days=182.5).plan()
    assert fading.confidence == pytest.approx(0.25)
    assert ConfidenceDecay(store, half_life_days=36_500).plan() == ()


def test_doubt_is_not_disproof(store: MemoryStore) -> None:
    kept(store, "m", 50)
    kept(store, "doubted", 50, confidence=0.05)
    assert faded(store) == {"m": CONFIDENCE_FLOOR, "doubted": 0.05}
    assert ConfidenceDecay(store, floor=0.4).current_confidence(existing(store, "doubted"), NOW) == 0.05


def test_a_loss_too_small_to_notice_is_no_act(store: MemoryStore) -> None:
    kept(store, "m", 26 / 365)
    kept(store, "older", 28 / 365)
    assert ids([each.memory for each in ConfidenceDecay(store).plan()]) == ["older"]


def test_events_do_not_become_less_certain(store: MemoryStore) -> None:
    for type in ("episodic", "emotional", "sensory"):
        kept(store, type, 5, type=type)
    kept(store, "feedback", 5, type="feedback")
    kept(store, "procedural", 5, type="procedural")
    assert {id for id, confidence in faded(store).items() if confidence < 1} == {"feedback", "procedural"}


def test_a_validation_begins_the_time_again(store: MemoryStore, clock: Turned) -> None:
    kept(store, "m", 3)
    store.validate("m")
    assert ConfidenceDecay(store).plan() == ()
    clock.at += YEAR
    assert faded(store) == {"m": 0.5}
    store.validate("m", confidence=0.9)
    assert ConfidenceDecay(store).plan() == ()
    clock.at += YEAR
    assert faded(store) == {"m": 0.45}


def test_many_runs_take_no_more_than_one(store: MemoryStore, clock: Turned) -> None:
    kept(store, "often")
    for _ in range(73):
        clock.at += 10 * DAY
        decay = ConfidenceDecay(store)
        decay.apply(decay.plan())
        decay.apply(decay.plan())
    exact = 0.5 ** (730 / 365)
    assert existing(store, "often").confidence == pytest.approx(exact, abs=0.05)
    assert existing(store, "often").confidence >= exact - 0.001


def test_who_changes_the_confidence_is_believed_from_then_on(store: MemoryStore, clock: Turned) -> None:
    kept(store, "m", 3)
    store.edit("m", confidence=0.9)
    assert ConfidenceDecay(store).plan() == ()
    clock.at += YEAR
    assert faded(store) == {"m": 0.45}


def test_an_undo_of_the_fading_stands(store: MemoryStore, clock: Turned) -> None:
    kept(store, "m", 3)
    clock.at += DAY
    assert faded(store) == {"m": pytest.approx(0.125, abs=0.001)}
    store.undo()
    assert existing(store, "m").confidence == 1.0
    assert faded(store) == {"m": 1.0}


def test_metadata_that_is_replaced_does_not_make_it_fade_twice(store: MemoryStore, clock: Turned) -> None:
    kept(store, "m", 1, metadata={"page": 3})
    assert faded(store) == {"m": 0.5}
    assert existing(store, "m").metadata["page"] == 3
    clock.at += 60
    store.edit("m", metadata={})
    assert faded(store) == {"m": 0.5}


def test_what_is_pinned_or_out_of_sight_stays(store: MemoryStore) -> None:
    kept(store, "pinned", 3, pinned=True)
    kept(store, "trashed", 3)
    kept(store, "replaced", 3)
    kept(store, "archived", 3, status="archived")
    store.forget("trashed")
    store.supersede("replaced", "pinned")
    assert ConfidenceDecay(store).plan() == ()


def test_what_was_validated_or_changed_since_the_plan_keeps_its_confidence(store: MemoryStore, clock: Turned) -> None:
    for id in ("validated", "changed", "edited", "pinned", "trashed", "purged", "used", "left"):
        kept(store, id, 1)
    decay = ConfidenceDecay(store)
    plan = decay.plan()
    assert len(plan) == 8
    clock.at += 60
    store.validate("validated")
    store.edit("changed", confidence=0.7)
    store.edit("edited", text="other words")
    store.edit("pinned", pinned=True)
    store.forget("trashed")
    store.purge("purged")
    store.backend.touch(store.space, ["used"], clock())
    before = whole(store)
    assert decay.apply(plan) == 2
    assert {id for id, told in whole(store).items() if told != before[id]} == {"used", "left"}


def test_fading_is_one_act_and_undo_takes_it_back(store: MemoryStore, clock: Turned) -> None:
    for id in ("a", "b"):
        kept(store, id, 1)
    before = whole(store)
    clock.at += DAY
    decay = ConfidenceDecay(store)
    assert decay.apply(decay.plan(), why="yearly") == 2
    entries = store.journal(operation="fade")
    assert {(entry.operation.actor, entry.operation.why) for entry in entries} == {("confidence", "yearly")}
    assert len({entry.operation.batch for entry in entries}) == 1
    store.undo()
    assert whole(store) == before
    assert decay.apply(()) == 0
    assert acts(store)[-1] == "undo"


def test_an_audit_finds_what_is_held_more_firmly_than_its_evidence_bears(store: MemoryStore) -> None:
    """L8 4.1: audit --confidence high --source inferred."""
    kept(store, "bold", confidence=0.9, source="inferred")
    kept(store, "modest", confidence=0.4, source="inferred")
    kept(store, "tested", confidence=0.9, source="tested")
    kept(store, "confirmed", confidence=0.9, source="inferred", last_validated_at=NOW)
    assert ids(list(audit(store, min_confidence=0.8, source="inferred"))) == ["bold", "confirmed"]
    assert ids(list(audit(store, min_confidence=0.8, source="inferred", validated=False))) == ["bold"]
    assert ids(list(audit(store, validated=True))) == ["confirmed"]
    assert ids(list(audit(store, max_confidence=0.4))) == ["modest"]
    assert ids(list(audit(store, min_confidence=0.9, max_confidence=0.9))) == ["bold", "tested", "confirmed"]
    assert len(list(audit(store))) == 4


def test_the_review_asks_about_what_nobody_confirmed_for_long(store: MemoryStore) -> None:
    """L8 4.8: review --stale-days 365."""
    kept(store, "stale", 2)
    kept(store, "once confirmed", 5, last_validated_at=NOW - 1.5 * YEAR)
    kept(store, "confirmed", 5, last_validated_at=NOW - DAY)
    kept(store, "new")
    kept(store, "event", 5, type="episodic")
    kept(store, "pinned", 5, pinned=True)
    waiting = store.review(kinds="stale", stale_days=365)
    assert {item.id: item.why for item in waiting} == {
        "stale": "not confirmed for 730 days",
        "once confirmed": "not confirmed for 548 days",
    }
    assert store.review(kinds="stale", stale_days=1_000) == []
    store.decide(waiting[0], "validate")
    assert len(store.review(kinds="stale", stale_days=365)) == 1


def test_what_faded_into_doubt_waits_for_somebodys_word(store: MemoryStore) -> None:
    kept(store, "m", 2)
    assert store.review(kinds="unvalidated") == []
    faded(store)
    assert [item.id for item in store.review(kinds="unvalidated")] == ["m"]


def test_a_text_that_was_written_anew_is_as_certain_as_it_was(store: MemoryStore) -> None:
    kept(store, "m", 2)
    store.edit("m", text="another text of m")
    assert faded(store) == {"m": 1.0}
    assert faded(store, NOW + YEAR) == {"m": 0.5}
