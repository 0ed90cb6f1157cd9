"""M2, M3 and M7, consolidation: what has earned it moves from the short term to the long."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nacre import Link, Memory, MemoryStore
from nacre.lifecycle.consolidation import ConsolidationConfig, Consolidator, worth
from tests.lifecycle.aged import DAY, NOW, Turned
from tests.lifecycle.placed import AS_LETTERS, Angles, acts, recalled, whole
from tests.overtaken import Overtaken
from tests.samples import existing, ids

HOUR = 3_600.0


def kept(store: MemoryStore, id: str, angle: int = 0, uses: int = 10, **fields: object) -> None:
    """Used ten times and a day old: worth 0.4 · 0.5 + 0.3 + 0.3, less a day. Its text has no number and no word that
    would tell it apart from others."""
    given = {"id": id, "created_at": NOW - DAY, "access_count": uses, **fields}
    word = f"x{id}".replace(" ", "").translate(AS_LETTERS)
    store.remember(f"{word} happened @{str(angle).translate(AS_LETTERS)}", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("felt", "days", "uses", "expected"),
    [
        ((None, None), 0, 0, 0.4 * 0.5 + 0.3),
        ((None, None), 0, 10, 0.8),
        ((None, None), 0, 500, 0.8),
        ((None, None), 365, 0, 0.2),
        ((None, None), 3_650, 0, 0.2),
        ((None, None), 73, 5, 0.2 + 0.3 * 0.8 + 0.15),
        ((0.0, 0.0), 0, 0, 0.4 * 0.5 + 0.3),
        ((1.0, 1.0), 0, 0, 0.7),
        ((-1.0, -1.0), 0, 0, 0.7),
        ((0.5, None), 0, 0, 0.4 * (0.7 * 0.5 + 0.3 * 0.75) + 0.3),
        ((0.2, 0.8), 0, 10, 0.4 * (0.7 * 0.9 + 0.3 * 0.6) + 0.3 + 0.3),
    ],
)
def test_worth_is_what_was_felt_what_is_new_and_what_is_used(
    felt: tuple[float | None, float | None], days: float, uses: int, expected: float
) -> None:
    """M3: .4 · salience (.5 if none) + .3 · max(0, 1 - age/365) + .3 · min(1, uses/10)."""
    memory = Memory("m", "x", valence=felt[0], arousal=felt[1], created_at=NOW - days * DAY, access_count=uses)
    assert worth(memory, NOW) == pytest.approx(expected)


def test_a_clock_that_ran_ahead_makes_nothing_worth_more_than_new() -> None:
    assert worth(Memory("m", "x", created_at=NOW + 900 * DAY), NOW) == pytest.approx(0.5)


def test_candidates_are_old_enough_short_term_and_live_the_worthiest_first(store: MemoryStore) -> None:
    kept(store, "weak", uses=1)
    kept(store, "strong", uses=9)
    kept(store, "middle", uses=5)
    kept(store, "young", created_at=NOW - HOUR + 1)
    kept(store, "old enough", created_at=NOW - HOUR, uses=0)
    kept(store, "long", status="long_term")
    kept(store, "underway", status="consolidating", uses=4)
    kept(store, "archived", status="archived")
    kept(store, "trashed")
    store.forget("trashed")
    found = Consolidator(store).candidates()
    assert ids(found) == ["strong", "middle", "underway", "weak", "old enough"]
    assert [memory.salience for memory in found] == [pytest.approx(worth(memory, NOW)) for memory in found]
    assert ids(Consolidator(store, ConsolidationConfig(max_batch_size=2)).candidates()) == ["strong", "middle"]
    assert "young" in ids(Consolidator(store).candidates(now=NOW + 1))


@pytest.mark.parametrize(
    ("waiting", "wanted", "text"),
    [
        (2, False, "Buffer size (2) below threshold (3)"),
        (3, True, "Buffer size (3) exceeds threshold (3)"),
        (4, True, "Buffer size (4) exceeds threshold (3)"),
    ],
)
def test_the_buffer_decides_when_it_is_time(store: MemoryStore, waiting: int, wanted: bool, text: str) -> None:
    for number in range(waiting):
        kept(store, f"m{number}")
    kept(store, "long", status="long_term")
    consolidator = Consolidator(store, ConsolidationConfig(buffer_threshold=3))
    assert consolidator.should_consolidate() == (wanted, text)


def test_clusters_follow_the_running_centre_and_everyone_is_in_one(store: MemoryStore, embedder: Angles) -> None:
    """cos 31.8° = 0.85."""
    kept(store, "a", 0, uses=9)
    kept(store, "b", 30, uses=8, type="episodic")
    kept(store, "c", 45, uses=7, type="episodic")
    kept(store, "far", 120, uses=6)
    embedder.well = False
    kept(store, "waiting", 0, uses=5)
    kept(store, "waiting too", 0, uses=4)
    consolidator = Consolidator(store)
    found = consolidator.clusters(consolidator.candidates())
    assert [ids(each.memories) for each in found] == [["a", "b", "c"], ["far"], ["waiting"], ["waiting too"]]
    mean = sum(worth(existing(store, id), NOW) for id in "abc") / 3
    assert found[0].avg_importance == pytest.approx(mean)
    assert consolidator.clusters([]) == []


def test_the_worthiest_of_a_cluster_is_promoted_and_the_others_stand_behind_it(
    store: MemoryStore, clock: Turned
) -> None:
    kept(store, "second", uses=8)
    kept(store, "first", uses=9)
    kept(store, "third", uses=7)
    vectors = store.vectors(["first"])["first"]
    before = whole(store)
    clock.at += HOUR
    report = Consolidator(store).consolidate()
    heir = existing(store, "first")
    assert (heir.status, heir.text) == ("long_term", "xfirst happened @a")
    assert heir.salience == pytest.approx(worth(heir, clock()))
    assert [link.to for link in heir.links if link.rel == "derived_from"] == ["second", "third"]
    assert {existing(store, id).superseded_by for id in ("second", "third")} == {"first"}
    assert (store.vectors(["first"])["first"] == vectors).all()
    assert recalled(store) == ["first"]
    assert (report.memories_promoted, report.memories_archived, report.memories_skipped) == (1, 2, 0)
    entries = store.journal(operation="consolidate")
    assert {(entry.operation.actor, entry.memory_id) for entry in entries} == {
        ("consolidation", id) for id in ("first", "second", "third")
    }
    store.undo()
    assert whole(store) == before


def test_hard_removes_the_others_and_undo_has_them_back(store: MemoryStore, clock: Turned) -> None:
    store.remember("held before @0", id="former", status="long_term")
    kept(store, "first", uses=9)
    kept(store, "second", uses=8)
    store.supersede("former", "second")
    before = whole(store)
    clock.at += HOUR
    Consolidator(store, hard=True).consolidate()
    assert store.get("second") is None
    assert [link.to for link in existing(store, "first").links if link.rel == "derived_from"] == ["second"]
    assert existing(store, "former").superseded_by == "first"
    store.undo()
    assert whole(store) == before


def test_a_summary_that_is_promoted_with_its_own_sources_names_each_once(store: MemoryStore, clock: Turned) -> None:
    kept(store, "first", uses=9)
    kept(store, "second", uses=8)
    store.link("first", "second", "derived_from")
    before = whole(store)
    clock.at += HOUR
    Consolidator(store).consolidate()
    assert [link.to for link in existing(store, "first").links if link.rel == "derived_from"] == ["second"]
    store.undo()
    assert whole(store) == before


@pytest.mark.parametrize("hard", [False, True])
def test_a_pinned_member_stays_in_sight(store: MemoryStore, hard: bool) -> None:
    kept(store, "first", uses=9)
    kept(store, "second", uses=8, pinned=True)
    report = Consolidator(store, hard=hard).consolidate()
    assert (report.memories_promoted, report.memories_archived, report.memories_skipped) == (1, 0, 1)
    assert set(ids(store.list_recent())) == {"first", "second"}
    assert existing(store, "first").status == "long_term"


def test_one_that_has_earned_it_is_promoted_alone_unless_company_is_asked_for(store: MemoryStore) -> None:
    kept(store, "alone", 0)
    kept(store, "other", 90)
    pairs = Consolidator(store, ConsolidationConfig(min_cluster_size=2))
    assert pairs.plan() == []
    assert pairs.consolidate().memories_skipped == 2
    assert Consolidator(store).consolidate().memories_promoted == 2
    assert {memory.status for memory in store.iterate()} == {"long_term"}
    assert all(not memory.links for memory in store.iterate())


def test_a_memory_without_a_vector_is_promoted_by_itself(store: MemoryStore, embedder: Angles) -> None:
    embedder.well = False
    kept(store, "waiting")
    assert Consolidator(store).consolidate().memories_promoted == 1
    assert existing(store, "waiting").status == "long_term"


def test_the_mean_of_a_cluster_must_reach_the_threshold_and_equality_does(store: MemoryStore) -> None:
    kept(store, "a", uses=10)
    kept(store, "b", uses=0)
    [found] = Consolidator(store).clusters(Consolidator(store).candidates())
    at = Consolidator(store, ConsolidationConfig(importance_threshold=found.avg_importance))
    above = Consolidator(store, ConsolidationConfig(importance_threshold=found.avg_importance + 1e-9))
    assert len(at.plan()) == 1
    assert above.plan() == []
    report = above.consolidate()
    assert (report.clusters_formed, report.memories_promoted, report.memories_skipped) == (1, 0, 2)


def test_a_neutral_memory_is_promoted_once_it_has_been_used_enough(store: MemoryStore) -> None:
    """Decision 2.15: in the reference a memory without a feeling never reached the threshold."""
    kept(store, "m", uses=0)
    consolidator = Consolidator(store)
    uses = 0
    while existing(store, "m").status == "short_term":
        assert uses <= 10
        consolidator.consolidate()
        store.backend.touch(store.space, ["m"], NOW)
        uses += 1
    assert (uses - 1, existing(store, "m").access_count) == (4, 5)


def test_a_cluster_with_a_member_that_changed_or_left_is_untouched(store: MemoryStore, clock: Turned) -> None:
    for name, angle in (
        ("edited", 0),
        ("forgotten", 50),
        ("purged", 100),
        ("moved", 150),
        ("begins", 200),
        ("left", 250),
    ):
        kept(store, name, angle, uses=10)
        kept(store, f"{name}2", angle, uses=9)
    consolidator = Consolidator(store)
    plan = consolidator.plan()
    assert len(plan) == 6
    clock.at += 60
    store.edit("edited2", text="other words @0")
    store.edit("begins2", valid_from=clock() + DAY)
    store.forget("forgotten")
    store.purge("purged2")
    store.edit("moved", status="long_term")
    before = whole(store)
    assert [each.memories[0].id for each in consolidator.apply(plan)] == ["left"]
    assert {id: told for id, told in whole(store).items() if not id.startswith("left")} == {
        id: told for id, told in before.items() if not id.startswith("left")
    }
    assert existing(store, "left2").superseded_by == "left"


def test_a_use_since_the_plan_stands_in_nobodys_way(store: MemoryStore) -> None:
    kept(store, "a")
    plan = Consolidator(store).plan()
    store.backend.touch(store.space, ["a"], NOW + 5)
    assert len(Consolidator(store).apply(plan)) == 1
    assert existing(store, "a").access_count == 11


def test_a_dry_run_reports_and_changes_nothing(store: MemoryStore) -> None:
    kept(store, "a", uses=9)
    kept(store, "b", uses=8)
    kept(store, "weak", 90, uses=0)
    before = whole(store)
    dry = Consolidator(store).consolidate(dry_run=True)
    assert (whole(store), acts(store)) == (before, ["remember"] * 3)
    done = Consolidator(store).consolidate()
    assert done.duration_seconds > 0
    assert replace(done, duration_seconds=0.0) == replace(dry, duration_seconds=0.0)
    assert (done.clusters_formed, done.total_processed) == (2, 3)
    assert (done.memories_promoted, done.memories_archived, done.memories_skipped) == (1, 1, 1)
    mean = sum(worth(existing(store, id), NOW) for id in "ab") / 2
    assert done.cluster_summaries == [
        {"promoted_id": "a", "source_ids": ["a", "b"], "cluster_size": 2, "avg_importance": pytest.approx(mean)}
    ]
    again = Consolidator(store).consolidate()
    assert (again.total_processed, again.memories_promoted) == (1, 0)


def test_an_empty_store_has_nothing_to_consolidate(store: MemoryStore) -> None:
    report = Consolidator(store).consolidate()
    assert (report.clusters_formed, report.total_processed, report.cluster_summaries) == (0, 0, [])
    assert acts(store) == []


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("The key of service A rotates every 30 days", "The key of service B rotates every 90 days", False),
        ("The VPN of site 1 uses 10.0.1.1", "The VPN of site 2 uses 10.0.2.1", False),
        ("The invoice was paid by Ada", "The invoice was paid by Bob", False),
        ("Ada likes tea", "Bob likes tea", False),
        ("The room has three chairs", "The room has five chairs", False),
        ("Backups of staging run at night", "Backups of production run at night", False),
        ("We deploy with Helm on Fridays", "On Fridays we deploy with Helm", True),
        ("Always run the tests first", "Run the tests first, always", True),
    ],
)
def test_memories_with_other_names_or_numbers_stay_apart(
    store: MemoryStore, one: str, other: str, together: bool
) -> None:
    """All texts without an angle lie at the same place."""
    for text in (one, other):
        store.remember(text, created_at=NOW - DAY, access_count=10)
    report = Consolidator(store).consolidate()
    assert (report.memories_promoted, report.memories_archived) == ((1, 1) if together else (2, 0))


def test_a_noted_conflict_keeps_its_memories_apart(store: MemoryStore) -> None:
    kept(store, "a")
    kept(store, "b", links=[Link("a", "conflicts", data={"kind": "contradiction"})])
    assert Consolidator(store).consolidate().memories_archived == 0


def test_a_conflict_that_was_noted_since_the_plan_keeps_its_memories_apart(store: MemoryStore) -> None:
    for id in ("a", "b"):
        kept(store, id)
    plan = Consolidator(store).plan()
    assert [len(each.memories) for each in plan] == [2]
    store.link("b", "a", "conflicts", data={"kind": "contradiction"})
    before = whole(store)
    assert Consolidator(store).apply(plan) == []
    assert whole(store) == before
    assert [item.id for item in store.review(kinds="conflict")] == ["b:a"]


def test_a_conflict_that_is_noted_while_a_plan_is_applied_keeps_its_memories_apart(store: MemoryStore) -> None:
    for id in ("a", "b"):
        kept(store, id)
    slow = store.as_actor("slow")
    below = Overtaken(store.backend, lambda: store.link("b", "a", "conflicts", data={"kind": "contradiction"}))
    slow._engine = replace(slow._engine, store=below)  # type: ignore[arg-type]
    assert Consolidator(slow).consolidate().memories_archived == 0
    assert [existing(store, id).superseded_by for id in ("a", "b")] == ["", ""]


@pytest.mark.parametrize(
    "fields",
    [
        {"expires_at": NOW + DAY}, {"valid_until": NOW + DAY}, {"valid_from": NOW + DAY}, {"trust": 0.2},
        {"agent": "ada"}, {"agent": "ada", "session": "one"},
    ],
)  # fmt: skip
def test_a_memory_replaces_only_what_the_same_readers_see_for_as_long(
    store: MemoryStore, fields: dict[str, Any]
) -> None:
    kept(store, "lasting", uses=8)
    kept(store, "other", uses=10, **fields)
    kept(store, "another", uses=9, **fields)
    Consolidator(store).consolidate()
    successors = {id: existing(store, id).superseded_by for id in ("lasting", "other", "another")}
    assert successors == {"lasting": "", "other": "", "another": "other"}


def test_what_is_promoted_has_what_those_had_that_it_replaces(store: MemoryStore) -> None:
    kept(store, "used", uses=10, importance=0.2)
    kept(store, "rule", uses=9, importance=0.95, tags=["order"], title="Rule one", anti_contexts=["night"])
    kept(store, "pinned", uses=8, importance=1.0, pinned=True)
    store.remember("a remark @90", id="remark", links=[Link("rule", "refines")])
    before = whole(store)
    Consolidator(store).consolidate()
    promoted = existing(store, "used")
    assert (promoted.status, promoted.importance, promoted.pinned) == ("long_term", 0.95, False)
    assert (promoted.tags, promoted.title, promoted.anti_contexts) == (("order",), "Rule one", ("night",))
    assert existing(store, "remark").links == (Link("used", "refines"),)
    assert [hit.memory.id for hit in store.recall("order", strategy="keyword")] == ["used"]
    store.undo(any_actor=True)
    assert whole(store) == before


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("linked", ["first", "second"])
def test_clusters_that_are_linked_are_promoted_whole_and_stay_linked(
    store: MemoryStore, hard: bool, linked: str
) -> None:
    links = {linked: [Link("far second", "refines")]}
    kept(store, "far first", 120, uses=8)
    kept(store, "far second", 120, uses=7)
    kept(store, "first", uses=10, links=links.get("first", []))
    kept(store, "second", uses=9, tags=["order"], links=links.get("second", []))
    store.remember("a remark @200", id="remark", links=[Link("second", "refines"), Link("far second", "refines")])
    before = whole(store)
    report = Consolidator(store, hard=hard).consolidate()
    assert (report.memories_promoted, report.memories_archived) == (2, 2)
    promoted = existing(store, "first")
    assert (promoted.status, promoted.tags) == ("long_term", ("order",))
    assert [link.to for link in promoted.links if link.rel == "refines"] == ["far first"]
    assert {link.to for link in existing(store, "remark").links} == {"first", "far first"}
    left = store.get_many(["second", "far second"])
    assert [memory.superseded_by for memory in left] == ([] if hard else ["first", "far first"])
    store.undo(any_actor=True)
    assert whole(store) == before
