"""H12, H13 and H16: decay, reflection, and the clock that drives them."""

from __future__ import annotations

import math
import os
import threading
from pathlib import Path

import pytest

from nacre.compat.ai_houkai import DecayEngine, Memory, MemoryStore, ReflectionEngine
from nacre.compat.ai_houkai.maintenance import daemon, scheduler
from nacre.compat.ai_houkai.maintenance.durations import format_duration, parse_duration
from nacre.compat.ai_houkai.maintenance.scheduler import MaintenanceScheduler, TickResult
from nacre.compat.ai_houkai.maintenance.state import MaintenanceState
from tests.waiting import wait_for

DAY = 86_400.0
NOW = 1_000_000_000.0


def aged(store: MemoryStore, importance: float, days: float, type: str = "semantic") -> Memory:
    memory = store.remember(f"worth {importance} and {days} days old", type=type, importance=importance)
    memory.last_accessed = NOW - days * DAY
    store.collection.update(ids=[memory.id], metadatas=[memory.to_metadata()])
    return memory


def episodes(store: MemoryStore) -> list[Memory]:
    return [
        store.remember("deployed the api to production", type="episodic", tags=["api"], importance=0.6),
        store.remember("deployed the api to production again", type="episodic", tags=["prod"], importance=0.9),
        store.remember("met anna for lunch", type="episodic"),
    ]


@pytest.mark.accepts("H12.3", "H12.6")
@pytest.mark.parametrize(
    ("importance", "days", "score"), [(0.9, 1, 0.81), (0.9, 7, 0.45), (0.9, 30, 0.04), (0.5, 1, 0.45), (0.1, 7, 0.05)]
)
def test_a_score_falls_with_the_days_since_the_last_use(
    store: MemoryStore, importance: float, days: float, score: float
) -> None:
    memory = Memory("x", "t", importance=importance, last_accessed=NOW - days * DAY)
    assert DecayEngine(store).score(memory, now=NOW) == pytest.approx(score, abs=0.006)


@pytest.mark.accepts("H12.7")
@pytest.mark.parametrize(("rate", "days"), [(0.01, 69), (0.05, 14), (0.1, 7), (0.2, 3.5)])
def test_half_is_left_after_the_half_life(store: MemoryStore, rate: float, days: float) -> None:
    memory = Memory("x", "t", importance=1.0, last_accessed=NOW - days * DAY)
    assert DecayEngine(store, decay_rate=rate).score(memory, NOW) == pytest.approx(0.5, abs=0.01)


@pytest.mark.accepts("H12.4")
def test_all_are_scored_the_superseded_too_and_the_strongest_first(store: MemoryStore) -> None:
    weak, strong = aged(store, 0.1, 30), aged(store, 0.9, 1)
    store.supersede(weak.id, strong.id)
    assert [memory.id for memory, _ in DecayEngine(store).score_all(NOW)] == [strong.id, weak.id]


@pytest.mark.accepts("H12.5", "H12.6")
def test_pruning_deletes_what_has_faded_but_not_the_protected(store: MemoryStore) -> None:
    faded, kept, rule = aged(store, 0.1, 60), aged(store, 0.9, 1), aged(store, 0.1, 60, "procedural")
    engine = DecayEngine(store)
    assert [memory.id for memory in engine.prune(dry_run=True, now=NOW)] == [faded.id]
    assert store.count() == 3
    assert [memory.id for memory in engine.prune(now=NOW)] == [faded.id]
    assert {memory.id for memory in store.list_recent()} == {kept.id, rule.id}
    assert [(entry.op, entry.actor) for entry in store.journal.read(op="decay")] == [("decay", "decay")]


@pytest.mark.accepts("H12.5")
def test_what_is_just_at_the_threshold_stays(store: MemoryStore) -> None:
    aged(store, 0.5, 0)
    assert DecayEngine(store, min_score=0.5).prune(now=NOW) == []


@pytest.mark.accepts("H13.2", "H13.3")
def test_similar_episodes_are_grouped_without_a_write(store: MemoryStore) -> None:
    first, second, _ = episodes(store)
    groups = ReflectionEngine(store).clusters()
    assert [[memory.id for memory in group] for group in groups] == [[second.id, first.id]]
    assert store.count() == 3
    assert ReflectionEngine(store, min_cluster_size=3).clusters() == []
    assert ReflectionEngine(store, similarity_threshold=0.999).clusters() == []


@pytest.mark.accepts("H13.5", "H13.6", "H13.9")
def test_a_reflection_is_a_semantic_memory_linked_to_its_sources(store: MemoryStore) -> None:
    first, second, _ = episodes(store)
    (made,) = ReflectionEngine(store).reflect()
    assert made.text == f"[Reflection ×2] {second.text} | {first.text}"
    assert (made.type, made.source, made.importance) == ("semantic", "reflection", 0.75)
    assert made.tags[0] == "reflection" and set(made.tags) == {"reflection", "api", "prod"}
    assert {(link.to, link.rel) for link in made.links} == {(each.id, "derived_from") for each in (first, second)}
    assert store.count() == 4


@pytest.mark.accepts("H13.4", "H13.5")
def test_a_dry_run_writes_nothing_and_says_so(store: MemoryStore) -> None:
    episodes(store)
    (made,) = ReflectionEngine(store).reflect(dry_run=True)
    assert (made.source, store.count()) == ("reflection/dry-run", 3)


@pytest.mark.accepts("H13.6")
def test_a_long_reflection_is_cut_at_512_characters(store: MemoryStore) -> None:
    for end in ("alpha", "beta"):
        store.remember("many words " * 60 + end, type="episodic")
    (made,) = ReflectionEngine(store).reflect()
    assert len(made.text) == 512


@pytest.mark.accepts("H13.4", "H13.8")
def test_consolidating_hides_the_sources_and_hard_deletes_them(store: MemoryStore) -> None:
    first, *_ = episodes(store)
    (made,) = ReflectionEngine(store).reflect(consolidate=True)
    hidden = store._get_by_id(first.id)
    assert hidden is not None and hidden.superseded_by == made.id
    store.restore(first.id)
    store.remember("deployed the api to production", type="episodic")
    ReflectionEngine(store).reflect(consolidate="hard")
    assert store._get_by_id(first.id) is None


@pytest.mark.accepts("H13.7")
def test_ones_own_summarizer_gets_the_memories(store: MemoryStore) -> None:
    episodes(store)
    values: list[Memory] = []

    def summarize(memories: list[Memory]) -> str:
        values.extend(memories)
        return "the api was deployed twice"

    (made,) = ReflectionEngine(store, summarizer=summarize).reflect()
    assert made.text == "the api was deployed twice"
    assert len(values) == 2 and all(isinstance(each, Memory) for each in values)


@pytest.mark.accepts("H16.1")
def test_durations_are_read_and_written() -> None:
    assert [parse_duration(text) for text in ("30s", "30m", "24h", "7d", "1w", "1.5h")] == [
        30, 1800, 86_400, 604_800, 604_800, 5400,
    ]  # fmt: skip
    assert [format_duration(seconds) for seconds in (45, 3661, 90_000)] == ["45s", "1h 1m", "1d 1h"]
    for wrong in ("", "100", "5x"):
        with pytest.raises(ValueError):
            parse_duration(wrong)


@pytest.mark.accepts("H16.2")
def test_a_state_is_kept_in_a_file_and_unknown_keys_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "state.json"
    MaintenanceState(last_decay_at=1.0, total_reflected=5).save(file)
    file.write_text(file.read_text().replace("{", '{"of_tomorrow": 1, ', 1))
    assert MaintenanceState.load(file) == MaintenanceState(last_decay_at=1.0, total_reflected=5)
    assert MaintenanceState.load(tmp_path / "none.json") == MaintenanceState()
    file.write_text("null", "utf-8")
    assert MaintenanceState.load(file) == MaintenanceState()
    assert MaintenanceState.next_run_at(None, 60, now=NOW) < NOW
    assert MaintenanceState.next_run_at(NOW, 60) == NOW + 60


@pytest.mark.accepts("H16.2", "H16.3", "H16.4")
def test_a_tick_does_what_is_due_and_notes_it(store: MemoryStore, tmp_path: Path) -> None:
    aged(store, 0.1, 60)
    state = tmp_path / "state.json"
    work = MaintenanceScheduler(store, reflect_every=None, state_path=state)
    first = work.tick(now=NOW)
    assert (first.ran_decay, first.decayed, first.ran_reflect) == (True, 1, False)
    assert "1" in first.summary() and "decay" in first.summary()
    assert work.tick(now=NOW + 60) == TickResult()
    assert TickResult().summary() == "nothing to do"
    assert (MaintenanceState.load(state).last_decay_at, MaintenanceState.load(state).total_decayed) == (NOW, 1)


@pytest.mark.accepts("H16.3")
def test_a_reflection_that_is_only_tried_leaves_the_schedule_alone(store: MemoryStore, tmp_path: Path) -> None:
    episodes(store)
    state = tmp_path / "state.json"
    work = MaintenanceScheduler(store, decay_every=None, state_path=state, min_cluster_size=2)
    assert (work.tick().reflected, store.count()) == (1, 3)
    assert MaintenanceState.load(state).last_reflect_at is None
    work.reflect_apply = True
    assert (work.tick().reflected, store.count()) == (1, 4)
    assert MaintenanceState.load(state).last_reflect_at is not None
    assert MaintenanceScheduler(store).min_cluster_size == 3


@pytest.mark.accepts("H16.3", "H16.4")
def test_a_job_that_fails_does_not_keep_the_other_from_running(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        def __init__(self, *_: object) -> None: ...

        def prune(self, **_: object) -> list[Memory]:
            raise RuntimeError("the disk is gone")

    monkeypatch.setattr(scheduler, "DecayEngine", Broken)
    result = MaintenanceScheduler(store, state_path=tmp_path / "state.json").tick()
    assert (result.ran_decay, result.decay_error, result.ran_reflect) == (True, "the disk is gone", True)
    assert "FAILED" in result.summary()
    assert MaintenanceState.load(tmp_path / "state.json").last_decay_at is None


@pytest.mark.accepts("H16.3")
def test_running_forever_ends_on_the_stop_event(store: MemoryStore, tmp_path: Path) -> None:
    stop = threading.Event()
    work = MaintenanceScheduler(store, tick_interval=60, state_path=tmp_path / "state.json")
    running = threading.Thread(target=work.run_forever, args=(stop,))
    running.start()
    wait_for((tmp_path / "state.json").exists, "the first round")
    stop.set()
    running.join(60)
    assert not running.is_alive()


@pytest.mark.accepts("H16.5")
def test_the_pid_file_names_the_process(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "daemon.pid"
    assert (daemon.get_pid(file), daemon.is_alive(file), daemon.stop_daemon(file)) == (None, False, False)
    daemon.write_pid(file, os.getpid())
    assert (file.read_text(), daemon.get_pid(file), daemon.is_alive(file)) == (str(os.getpid()), os.getpid(), True)
    daemon.write_pid(file, 999_999_999)
    assert daemon.is_alive(file) is False
    daemon.remove_pid(file)
    daemon.remove_pid(file)
    assert daemon.get_pid(file) is None


@pytest.mark.accepts("H12.2")
def test_the_formula_is_importance_times_an_exponential(store: MemoryStore) -> None:
    memory = Memory("x", "t", importance=0.9, last_accessed=NOW - 10 * DAY)
    assert DecayEngine(store).score(memory, NOW) == pytest.approx(0.9 * math.exp(-1.0), rel=1e-9)


@pytest.mark.accepts("H16.3")
def test_a_reflection_that_cannot_read_its_episodes_does_not_keep_the_scheduler_from_decay(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**asked: object) -> dict[str, object]:
        raise RuntimeError(f"the disk is full: {asked}")

    monkeypatch.setattr(store.collection, "get", broken)
    scheduler = MaintenanceScheduler(store, decay_every=1, reflect_every=1, state_path=tmp_path / "state.json")
    result = scheduler.tick()
    assert result.ran_decay and result.decay_error is None
    assert result.reflect_error is not None and "disk is full" in result.reflect_error
