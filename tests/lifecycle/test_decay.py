"""H12, decay: what fades, what never does, and that letting go is one operation that can be taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import exp, log
from pathlib import Path

import apsw
import pytest

from nacre import Conflict, Memory, MemoryStore
from nacre.errors import UnknownName
from nacre.lifecycle import decay
from nacre.lifecycle.decay import DecayEngine
from nacre.lifecycle.reflection import ReflectionEngine
from nacre.model import Link
from nacre.storage.sqlite.rows import Row, from_row
from tests.lifecycle.aged import DAY, NOW, Turned
from tests.lifecycle.placed import acts, opened, whole
from tests.samples import existing, ids


def kept(store: MemoryStore, id: str, days: float = 100.0, **fields: object) -> str:
    at = NOW - days * DAY
    given = {"id": id, "created_at": at, "last_accessed": at, **fields}
    return store.remember(f"text of {id}", **given).id  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("importance", "days", "score", "pruned"),
    [(0.9, 1, 0.81, False), (0.9, 7, 0.45, False), (0.9, 30, 0.04, True), (0.5, 1, 0.45, False), (0.1, 7, 0.05, True)],
)
def test_the_table_of_the_reference(
    store: MemoryStore, importance: float, days: float, score: float, pruned: bool
) -> None:
    kept(store, "m", days, importance=importance)
    engine = DecayEngine(store)
    assert round(engine.score(existing(store, "m")), 2) == score
    assert engine.score(existing(store, "m")) == pytest.approx(importance * exp(-0.1 * days))
    assert ids(engine.prune()) == (["m"] if pruned else [])


@pytest.mark.parametrize(("rate", "days"), [(0.01, 69), (0.05, 14), (0.1, 7), (0.2, 3.5)])
def test_the_half_lives_of_the_reference(store: MemoryStore, rate: float, days: float) -> None:
    fading = Memory("m", "x", importance=1.0, last_accessed=NOW - days * DAY)
    assert DecayEngine(store, rate).score(fading) == pytest.approx(0.5, abs=0.005)


def test_what_stands_exactly_at_the_least_score_stays(store: MemoryStore) -> None:
    kept(store, "at", 0, importance=0.25)
    kept(store, "below", 0, importance=0.2499)
    assert ids(DecayEngine(store, min_score=0.25).prune()) == ["below"]


def test_now_may_be_any_time(store: MemoryStore) -> None:
    kept(store, "m", 0, importance=1.0)
    engine = DecayEngine(store)
    assert engine.score(existing(store, "m")) == 1.0
    assert engine.score(existing(store, "m"), now=NOW + 10 * DAY) == pytest.approx(exp(-1))
    assert engine.prune(dry_run=True) == []
    assert ids(engine.prune(dry_run=True, now=NOW + 40 * DAY)) == ["m"]
    assert [score for _, score in engine.score_all(now=NOW + 10 * DAY)] == [pytest.approx(exp(-1))]
    assert ids(engine.prune(now=NOW + 40 * DAY)) == ["m"]


def test_a_use_in_the_future_makes_nothing_stronger_than_new(store: MemoryStore) -> None:
    kept(store, "m", -50, importance=0.7)
    assert DecayEngine(store).score(existing(store, "m")) == 0.7


def test_protected_types_and_pinned_memories_are_never_let_go(store: MemoryStore) -> None:
    kept(store, "how", type="procedural")
    kept(store, "said", type="feedback")
    kept(store, "pinned", pinned=True)
    kept(store, "old")
    assert ids(DecayEngine(store, protect_types=("procedural", "feedback")).prune(dry_run=True)) == ["old"]
    assert set(ids(DecayEngine(store, protect_types=()).prune(dry_run=True))) == {"how", "said", "old"}
    assert set(ids(DecayEngine(store).prune())) == {"said", "old"}
    assert existing(store, "pinned").status == existing(store, "how").status == "short_term"


def test_what_ties_lead_to_stays_unless_told_otherwise(store: MemoryStore) -> None:
    for id in ("target", "doubted", "replaced", "condensed"):
        kept(store, id)
    rels = {"target": "needs", "doubted": "contradicts", "condensed": "derived_from", "replaced": "distinct_from"}
    kept(store, "source", links=[Link(*each) for each in rels.items()])
    assert set(ids(DecayEngine(store).prune(dry_run=True))) == {"source", "doubted", "replaced", "condensed"}
    assert "target" in ids(DecayEngine(store, protect_linked=False).prune())


def test_all_scores_come_the_strongest_first_and_only_of_what_lives(store: MemoryStore) -> None:
    for number in range(7):
        kept(store, f"m{number}", 3, importance=(number * 3 % 7) / 10)
    kept(store, "gone", importance=1.0)
    store.forget("gone")
    scored = list(DecayEngine(store).score_all())
    scores = [score for _, score in scored]
    assert scores == sorted(scores, reverse=True)
    assert {memory.id for memory, _ in scored} == {f"m{number}" for number in range(7)}
    assert all(score == pytest.approx(memory.importance * exp(-0.3)) for memory, score in scored)


def test_scores_are_streamed_a_page_at_a_time(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decay, "PAGE", 2)
    for number in range(5):
        kept(store, f"m{number}", 1, importance=number / 10)
    stream = DecayEngine(store).score_all()
    assert next(stream)[0].id == "m4"
    store.purge("m0")
    assert [memory.id for memory, _ in stream] == ["m3", "m2", "m1"]


def test_a_dry_run_names_the_weakest_first_and_changes_nothing(store: MemoryStore) -> None:
    kept(store, "weak", 100, importance=0.1)
    kept(store, "weaker", 200, importance=0.1)
    before = whole(store)
    assert ids(DecayEngine(store).prune(dry_run=True)) == ["weaker", "weak"]
    assert whole(store) == before
    assert acts(store) == ["remember", "remember"]


def test_a_plan_builds_no_records_and_the_act_only_those_that_go(
    kept_store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        kept(kept_store, f"m{number}", 100 if number < 2 else 0)
    built: list[str] = []

    def counted(row: Row) -> Memory:
        memory = from_row(row)
        built.append(memory.id)
        return memory

    for module in ("store", "transaction"):
        monkeypatch.setattr(f"nacre.storage.sqlite.{module}.from_row", counted)
    engine = DecayEngine(kept_store)
    plan = engine.plan()
    assert ([each.memory.id for each in plan], built) == (["m0", "m1"], [])
    assert ids(engine.apply(plan)) == ["m0", "m1"]
    assert set(built) == {"m0", "m1"}


@pytest.mark.parametrize(("column", "value"), [("importance", "'much'"), ("updated_at", "-1e300")])
def test_a_plan_leaves_out_a_record_that_is_damaged(
    kept_store: MemoryStore, tmp_path: Path, column: str, value: str
) -> None:
    kept(kept_store, "sound")
    kept(kept_store, "damaged")
    connection = apsw.Connection(str(tmp_path / "kept.db"))
    of_it = "(SELECT key FROM memory WHERE id = 'damaged')"
    connection.execute(f"UPDATE version SET {column} = {value} WHERE key = {of_it}")
    connection.close()
    assert [each.memory.id for each in DecayEngine(kept_store).plan()] == ["sound"]


@pytest.fixture
def kept_store(tmp_path: Path, clock: Turned) -> Iterator[MemoryStore]:
    with opened(tmp_path / "kept.db", clock) as store:
        yield store


def test_letting_go_is_one_act_of_its_own_actor_and_undo_brings_all_back(store: MemoryStore, clock: Turned) -> None:
    for number in range(4):
        kept(store, f"m{number}")
    before = whole(store)
    clock.at += DAY
    gone = DecayEngine(store).prune()
    assert {memory.status for memory in gone} == {"short_term"}
    assert (store.count(), store.count(status="trashed")) == (0, 4)
    entries = store.journal(operation="decay")
    assert {entry.operation.actor for entry in entries} == {"decay"}
    assert len({entry.operation.batch for entry in entries}) == 1
    store.undo()
    assert whole(store) == before


def test_what_was_used_changed_or_left_between_the_plan_and_the_act_stays(store: MemoryStore, clock: Turned) -> None:
    for id in ("used", "edited", "pinned", "trashed", "purged", "tied", "replaced", "left"):
        kept(store, id)
    engine = DecayEngine(store)
    plan = engine.plan()
    assert len(plan) == 8
    clock.at += 60
    store.backend.touch(store.space, ["used"], clock())
    store.edit("edited", importance=0.6)
    store.edit("pinned", pinned=True)
    store.forget("trashed")
    store.purge("purged")
    store.link("edited", "tied", "needs")
    store.supersede("replaced", "edited")
    at_rest = whole(store)
    assert ids(engine.apply(plan, why="night")) == ["left"]
    assert {id: told for id, told in whole(store).items() if id != "left"} == {
        id: told for id, told in at_rest.items() if id != "left"
    }
    assert [entry.operation.why for entry in store.journal(operation="decay")] == ["night"]
    store.undo()
    assert whole(store) == at_rest


def test_what_somebody_links_to_while_the_plan_is_carried_out_stays(clock: Turned) -> None:
    linking = False

    def now() -> float:
        nonlocal linking
        if linking:  # while the changes are made, before they are written
            linking = False
            store.link("friend", "m", "needs")
        return clock()

    store = MemoryStore(":memory:", embedder="hashing", clock=now, on_conflict="ignore")
    kept(store, "m")
    kept(store, "gone")
    kept(store, "friend", 0, importance=1.0)
    engine = DecayEngine(store)
    plan = engine.plan()
    assert len(plan) == 2
    linking = True
    assert ids(engine.apply(plan)) == ["gone"]
    assert existing(store, "m").status == "short_term"


def test_pinned_in_the_very_moment_of_planning_stays_too(store: MemoryStore) -> None:
    kept(store, "m", created_at=NOW)
    engine = DecayEngine(store)
    plan = engine.plan()
    store.edit("m", pinned=True)
    assert engine.apply(plan) == []
    assert engine.apply([]) == []
    assert acts(store) == ["remember", "edit"]


def test_the_model_is_chosen_by_name_and_an_unknown_one_is_an_error(store: MemoryStore) -> None:
    kept(store, "used", 30, importance=0.5, access_count=20)
    assert ids(DecayEngine(store, model="simple").prune(dry_run=True)) == ["used"]
    assert DecayEngine(store, model="strength").prune(dry_run=True) == []
    with pytest.raises(UnknownName, match="did you mean 'strength'"):
        DecayEngine(store, model="strenght").prune()


def test_ties_count_into_a_score_by_strength(store: MemoryStore) -> None:
    kept(store, "m", 10, importance=0.3)
    kept(store, "other")
    engine = DecayEngine(store, model="strength")
    alone = engine.score(existing(store, "m"))
    store.link("other", "m", "needs")
    assert engine.score(existing(store, "m")) > alone == pytest.approx(0.3 * exp(-1))
    assert log(engine.score(existing(store, "m")) / 0.3) == pytest.approx(-1 / 1.25)
    assert {memory.id: score for memory, score in engine.score_all()}["m"] == engine.score(existing(store, "m"))


BROUGHT_BACK: dict[str, Callable[[MemoryStore], object]] = {
    "restored": lambda store: store.restore("m"),
    "the decay undone": lambda store: store.undo(),
    "taken out of the archive": lambda store: (store.undo(), store.archive("m"), store.unarchive("m")),
    "restored, the restoring undone and done again": lambda store: (store.restore("m"), store.undo(store.undo()[0])),
}
CHANGED: dict[str, Callable[[MemoryStore], object]] = {
    "edited": lambda store: store.edit("m", text="another text of m"),
    "tagged": lambda store: store.tag("m", add=["kept"]),
    "worth more": lambda store: store.bump("m", by=0.01),
    "an edit taken back": lambda store: (store.edit("m", text="another text of m"), store.undo()),
    "unpinned": lambda store: (store.pin("m"), store.unpin("m")),
}


@pytest.mark.parametrize("model", ["simple", "strength"])
@pytest.mark.parametrize("way", BROUGHT_BACK)
def test_what_somebody_brought_back_is_as_good_as_used_then(
    store: MemoryStore, clock: Turned, way: str, model: str
) -> None:
    kept(store, "m", 400, importance=0.2)
    kept(store, "other", 400, importance=0.2)
    engine = DecayEngine(store, model=model)
    assert len(engine.prune()) == 2
    clock.at += DAY
    BROUGHT_BACK[way](store)
    clock.at += DAY
    assert {memory.id for memory in store.list_recent()} == ({"m"} if way.startswith("restored") else {"m", "other"})
    assert engine.plan() == ()
    assert engine.score(existing(store, "m")) == pytest.approx(0.2 * exp(-0.1), rel=1e-6)
    assert {memory.id: score for memory, score in engine.score_all()}["m"] == engine.score(existing(store, "m"))
    clock.at += 30 * DAY
    assert "m" in ids(engine.prune())  # nobody has used it since


@pytest.mark.parametrize("way", CHANGED)
def test_what_somebody_changed_is_as_good_as_used_then(store: MemoryStore, clock: Turned, way: str) -> None:
    kept(store, "m")
    kept(store, "left")
    CHANGED[way](store)
    clock.at += DAY
    engine = DecayEngine(store)
    assert ids(engine.prune()) == ["left"]
    clock.at += 60 * DAY
    assert ids(engine.prune()) == ["m"]


def test_what_maintenance_and_other_memories_did_to_it_is_no_use(store: MemoryStore, clock: Turned) -> None:
    for id in ("faded", "noted", "linked"):
        kept(store, id)
    kept(store, "new", 0, links=[Link("linked", "contradicts")])
    clock.at += DAY
    fading = decay.ConfidenceDecay(store, half_life_days=10)
    assert fading.apply([each for each in fading.plan() if each.memory.id == "faded"]) == 1
    store.note_conflicts([Conflict(existing(store, "noted"), existing(store, "new"), 0.9, "contradiction", "because")])
    assert [existing(store, id).updated_at for id in ("faded", "noted")] == [clock.at, clock.at]
    assert set(ids(DecayEngine(store).prune())) == {"faded", "noted", "linked"}


def test_what_was_let_go_and_brought_back_between_the_plan_and_the_act_stays(store: MemoryStore) -> None:
    kept(store, "m")
    engine = DecayEngine(store)
    plan = engine.plan()
    store.forget("m")
    store.undo()
    assert engine.apply(plan) == []
    assert existing(store, "m").status == "short_term"


def test_a_compacted_journal_no_longer_says_who_changed_it_and_it_stays_all_the_same(
    store: MemoryStore, clock: Turned
) -> None:
    kept(store, "m")
    kept(store, "left")
    store.edit("m", text="another text of m")
    clock.at += DAY
    assert store.compact(older_than_days=0) > 0
    assert ids(DecayEngine(store).prune()) == ["left"]


@pytest.mark.parametrize("model", ["simple", "strength"])
@pytest.mark.parametrize("field", ["valid_from", "occurred_at"])
def test_what_begins_later_fades_from_then_on(store: MemoryStore, model: str, field: str) -> None:
    kept(store, "begins", importance=0.3, **{field: NOW + 100 * DAY})
    engine = DecayEngine(store, model=model)
    for days in (0, 100):
        assert engine.plan(NOW + days * DAY) == ()
    assert [each.memory.id for each in engine.plan(NOW + 200 * DAY)] == ["begins"]


def test_the_episodes_of_a_reflection_that_fades_come_back(store: MemoryStore, clock: Turned) -> None:
    for id in ("a", "b", "trashed"):
        kept(store, id, type="episodic", importance=0.3)
    reflections = ReflectionEngine(store)
    [summary] = reflections.apply(reflections.plan(), "soft")
    store.forget("trashed")
    kept(store, "former")
    kept(store, "newer", importance=0.3)
    store.supersede("former", "newer")
    clock.at += 400 * DAY
    before = whole(store)
    assert set(ids(DecayEngine(store).prune())) == {summary.id, "newer"}
    assert set(ids(store.list_recent())) == {"a", "b"}
    assert existing(store, "a").valid_until is None
    assert existing(store, "trashed").status == "trashed" and existing(store, "former").superseded_by == "newer"
    store.undo(any_actor=True)
    assert whole(store) == before
