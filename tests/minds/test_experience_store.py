"""Experiences are kept, found, compressed, and leave when there are too many or they are too old."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import apsw
import pytest

from nacre.access.capabilities import AgentCapabilities, ScopeLevel
from nacre.errors import AccessDenied, InvalidInput, QuotaExceeded
from nacre.memory_store import MemoryStore
from nacre.minds.experience import Experience, ExperienceType
from nacre.minds.experience_store import ExperienceStore
from tests.minds.experience_factory import AGENT, Clock, make_experience, opened
from tests.overtaken import Overtaken
from tests.prepared_stores import empty_store
from tests.torture.crowd import at_once


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=[pytest.param("memory", marks=pytest.mark.slow), "file"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return ":memory:" if request.param == "memory" else str(empty_store(tmp_path / "garden.db"))


def contexts(results: list[Experience]) -> list[str]:
    return [each.context for each in results]


def test_what_is_added_is_found_again_whole(path: str, clock: Clock) -> None:
    store = opened(path, clock)
    one = make_experience(tags=["trees"], kilos=31)
    assert store.add(one) == one.experience_id
    (matches,) = store.search("apple")
    assert vars(matches) == vars(one)
    assert vars(store.get_experience(one.experience_id) or one) == vars(one)


@pytest.mark.parametrize("timestamp", [datetime.min, datetime.max.replace(tzinfo=timezone(timedelta(hours=-9)))])
def test_a_time_beyond_the_calendar_is_refused_with_the_remedy(path: str, clock: Clock, timestamp: datetime) -> None:
    store = opened(path, clock)
    with pytest.raises(InvalidInput, match="time"):
        store.add(Experience(ExperienceType.SUCCESS, "The gate was open", "Nobody left", 0.5, timestamp))
    assert store.search("") == []


def test_no_words_mean_all_and_the_newest_come_first(path: str, clock: Clock) -> None:
    store = opened(path, clock)
    for days in (3, 1, 2):
        store.add(make_experience(f"day {days}", days_ago=days))
    assert contexts(store.search("")) == ["day 1", "day 2", "day 3"]
    assert contexts(store.search("", limit=2)) == ["day 1", "day 2"]
    assert store.search("", limit=0) == []


def test_words_are_found_in_any_form_in_context_and_outcome(path: str, clock: Clock) -> None:
    store = opened(path, clock)
    store.add(make_experience("missing labels in seed boxes", "sorted them"))
    store.add(make_experience("watered", "the labelling ran"))
    store.add(make_experience("dug", "found a stone"))
    assert set(contexts(store.search("label"))) == {"missing labels in seed boxes", "watered"}
    assert contexts(store.search("labelled boxes")) == ["missing labels in seed boxes"]
    assert store.search("label stone") == []


def test_type_and_confidence_narrow_a_search(path: str, clock: Clock) -> None:
    store = opened(path, clock)
    for sure in (0.5, 0.8, 0.95):
        store.add(make_experience(f"case {sure}", confidence=sure))
    store.add(make_experience("case of failure", type=ExperienceType.FAILURE, confidence=0.9))
    assert contexts(store.search("case", ExperienceType.FAILURE)) == ["case of failure"]
    assert len(store.search("case", min_confidence=0.8)) == 3
    with pytest.raises(ValueError, match="from 0 to 1"):
        store.search("case", min_confidence=2)


@pytest.mark.slow
def test_common_words_still_give_exactly_the_newest_that_hold_them_all(clock: Clock) -> None:
    store = opened(":memory:", clock)
    drafts = [
        make_experience(f"weeding bed {n}", "roses" if n in (7, 300) else "herbs", days_ago=n / 100) for n in range(450)
    ]
    store.store.write("import", new=[store._draft(each) for each in drafts])
    assert contexts(store.search("weeding bed", limit=3)) == ["weeding bed 0", "weeding bed 1", "weeding bed 2"]
    assert contexts(store.search("weeding roses")) == ["weeding bed 7", "weeding bed 300"]
    assert len(store.search("weeding herbs", limit=449)) == 448


def test_other_memories_of_the_agent_are_no_experiences(path: str, clock: Clock) -> None:
    store = opened(path, clock)
    store.store.remember("the apple tree is old")
    store.add(make_experience())
    assert len(store.search("apple")) == len(store.search("")) == store.get_statistics()["total_experiences"] == 1


@pytest.mark.accepts("A5.4")
def test_equal_texts_are_reported_and_both_stored(path: str, clock: Clock) -> None:
    store = opened(path, clock)
    first = store.add_result(make_experience(days_ago=1))
    second = store.add_result(make_experience())
    assert first.duplicates == () and second.duplicates == (first.experience_id,)
    assert len(store.search("apple")) == 2
    assert store.find_duplicates(make_experience()) == store.search("")[1:]


def test_an_equal_text_of_another_type_or_another_end_is_no_duplicate(path: str, clock: Clock) -> None:
    store = opened(path, clock)
    store.add(make_experience())
    assert store.add_result(make_experience(type=ExperienceType.FAILURE)).duplicates == ()
    assert store.add_result(make_experience(outcome="it bore half as much")).duplicates == ()


@pytest.mark.accepts("A5.4")
def test_with_dedup_the_standing_one_is_given_back(path: str, clock: Clock) -> None:
    store = opened(path, clock, dedup=True)
    first = store.add(make_experience("!!!", "???", days_ago=2))
    again = store.add_result(make_experience("!!!", "???"))
    assert (again.experience_id, again.stored) == (first, False)
    assert len(store.search("")) == 1


def test_the_same_experience_twice_is_one(path: str, clock: Clock) -> None:
    store = opened(path, clock)
    assert store.add(make_experience()) == store.add(make_experience())
    assert store.add_result(make_experience()).stored is False
    assert len(store.search("")) == 1


def test_two_that_share_an_id_are_kept_under_two(path: str, clock: Clock) -> None:
    store = opened(path, clock)
    one, other = make_experience(), make_experience("sowed late", "nothing came")
    other.experience_id = one.experience_id
    assert store.add(other) != store.add(one)
    assert len(store.search("")) == 2


def test_only_the_newest_stay_and_the_rest_can_be_brought_back(path: str, clock: Clock) -> None:
    store = opened(path, clock, max_experiences=3)
    for days in (5, 4, 3):
        store.add(make_experience(f"day {days}", days_ago=days))
    done = store.add_result(make_experience("day 2", days_ago=2))
    assert contexts(store.search("")) == ["day 2", "day 3", "day 4"]
    assert [store.store.get(id).title for id in done.left] == ["day 5"]  # type: ignore[union-attr]
    assert [store.store.get(id).status for id in done.left] == ["trashed"]  # type: ignore[union-attr]
    store.store.undo()
    assert contexts(store.search("")) == ["day 2", "day 3", "day 4", "day 5"]


def test_one_that_is_older_than_all_that_may_stay_goes_to_the_trash_itself(path: str, clock: Clock) -> None:
    store = opened(path, clock, max_experiences=1)
    store.add(make_experience("new"))
    done = store.add_result(make_experience("old", days_ago=9))
    assert done.left == (done.experience_id,)
    assert contexts(store.search("")) == ["new"]


def test_what_has_grown_too_old_leaves(path: str, clock: Clock) -> None:
    store = opened(path, clock, max_age_days=30)
    store.add(make_experience("old", days_ago=10))
    store.add(make_experience("new"))
    clock.pass_days(25)
    store.add(make_experience("newest"))
    assert set(contexts(store.search(""))) == {"new", "newest"}


def test_one_that_was_too_old_from_the_start_is_not_seen(path: str, clock: Clock) -> None:
    store = opened(path, clock, max_age_days=30)
    store.add(make_experience("new"))
    store.add(make_experience("too old", days_ago=31))
    assert contexts(store.search("")) == ["new"]


@pytest.mark.parametrize("bounds", [{"max_experiences": 2}, {"max_age_days": 30}])
def test_a_sure_pattern_outlives_the_bounds_and_a_doubtful_one_does_not(
    path: str, clock: Clock, bounds: dict[str, int]
) -> None:
    store = opened(path, clock, **bounds)
    store.add(make_experience("sure", type=ExperienceType.PATTERN, confidence=0.8, days_ago=60))
    store.add(make_experience("doubtful", type=ExperienceType.PATTERN, confidence=0.79, days_ago=60))
    for n in range(3):
        store.add(make_experience(f"day {n}", days_ago=n))
    assert "sure" in contexts(store.search("")) and "doubtful" not in contexts(store.search(""))


def test_clean_up_does_all_that_is_due_in_one_operation(path: str, clock: Clock) -> None:
    store = opened(path, clock)
    for n in range(4):
        store.add(make_experience(f"day {n}", "word " * 150, days_ago=n))
    clock.pass_days(31)
    store.max_age_days = 33
    done = store.clean_up()
    assert (len(done.leaving), len(done.compressing)) == (1, 3)
    assert len(store.clean_up().leaving) == 0
    store.store.undo()
    assert len(store.search("")) == 4


@pytest.mark.accepts("A5.2")
def test_old_ones_are_flagged_take_less_room_and_read_as_before(tmp_path: Path, clock: Clock) -> None:
    store = opened(tmp_path / "garden.db", clock)
    long = make_experience("old", "the same again " * 60, days_ago=31)
    store.add(long)
    store.add(make_experience("growing old", "and again " * 90, days_ago=29))
    store.add(make_experience("new"))
    assert store.get_statistics()["compressed_experiences"] == 1
    clock.pass_days(2)
    store.add(make_experience("newest"))
    assert store.get_statistics()["compressed_experiences"] == 2
    assert vars(store.search("same")[0]) == vars(long)
    with store._records._connected() as connection:  # type: ignore[attr-defined]
        sql = "SELECT typeof(text) FROM memory JOIN version USING (key) JOIN content ON number = content WHERE id = ?"
        assert {*connection.execute(sql, [long.experience_id])} == {("blob",)}


def test_without_auto_compress_nothing_is_flagged(path: str, clock: Clock) -> None:
    store = opened(path, clock, auto_compress=False)
    store.add(make_experience(days_ago=99))
    store.clean_up()
    assert store.get_statistics()["compressed_experiences"] == 0


def test_the_statistics_count_by_type(path: str, clock: Clock) -> None:
    store = opened(path, clock)
    for n, type in enumerate([ExperienceType.SUCCESS, ExperienceType.SUCCESS, ExperienceType.INSIGHT]):
        store.add(make_experience(f"case {n}", type=type))
    result = store.get_statistics()
    assert result["total_experiences"] == 3
    assert result["by_type"] == {"success": 2, "failure": 0, "pattern": 0, "insight": 1}
    assert result["storage_size_kb"] > 0  # type: ignore[operator]


def test_beyond_the_quota_nothing_is_kept(path: str, clock: Clock) -> None:
    store = opened(path, clock, max_memory_mb=0.02)
    with pytest.raises(QuotaExceeded, match=r"0\.02 MB"):
        for n in range(100):
            store.add(make_experience(f"case {n}", "y" * 800))
    held = store.get_statistics()
    assert 3 < held["total_experiences"] < 10  # type: ignore[operator]
    assert held["storage_size_kb"] <= 20  # type: ignore[operator]
    store.store.forget(store.search("")[0].experience_id)
    store.add(make_experience("case 101", "y" * 800))


def test_what_another_store_wrote_counts_towards_the_quota(tmp_path: Path, clock: Clock) -> None:
    one, other = (opened(tmp_path / "garden.db", clock, max_memory_mb=0.02) for _ in range(2))
    one.add(make_experience("first"))
    for n in range(3):
        other.add(make_experience(f"case {n}", "y" * 900))
    with pytest.raises(QuotaExceeded):
        for n in range(3):
            one.add(make_experience(f"more {n}", "y" * 900))


@pytest.mark.slow
def test_the_measure_of_room_is_near_to_what_the_file_takes(tmp_path: Path, clock: Clock) -> None:
    store = opened(tmp_path / "garden.db", clock)
    words = [f"{a}{b}" for a in "kelmnoprst" for b in ("andra", "ollin", "ustero", "imba", "evaro")]
    before = file_bytes(store)
    for n in range(300):
        store.add(make_experience(f"case {n}", " ".join(words[(n * 7 + i * 3) % 50] for i in range(120))))
    grown = file_bytes(store) - before
    measured = store.get_statistics()["storage_size_kb"] * 1_000  # type: ignore[operator]
    assert 0.4 < measured / grown < 2.5


def file_bytes(store: ExperienceStore) -> int:
    connection = apsw.Connection(str(store._records.path))  # type: ignore[attr-defined]
    size = int(connection.pragma("page_count")) * int(connection.pragma("page_size"))
    connection.close()
    return size


@pytest.mark.slow
def test_four_threads_may_write_at_once(tmp_path: Path, clock: Clock) -> None:
    store = opened(tmp_path / "garden.db", clock, max_experiences=30)

    def write(thread: int) -> int:
        return sum(store.add_result(make_experience(f"thread {thread} case {n}", days_ago=n)).stored for n in range(10))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(write, range(4))) == [10, 10, 10, 10]
    store.clean_up()
    assert store.get_statistics()["total_experiences"] == len(store.search("", limit=50)) == 30


def overtaken(store: ExperienceStore, meanwhile: Callable[[], object]) -> ExperienceStore:
    """Another writer is faster at the store's next transaction."""
    store.store._engine = replace(store.store._engine, store=Overtaken(store.store.backend, meanwhile))  # type: ignore[arg-type]
    return store


@pytest.mark.parametrize("days_ago", [0, 1])
def test_what_another_writer_stores_meanwhile_is_not_stored_again(path: str, clock: Clock, days_ago: float) -> None:
    own = opened(path, clock, dedup=True)
    other = ExperienceStore(AGENT, store=own.store.as_actor("other"), dedup=True)
    added = list[str]()
    overtaken(own, lambda: added.append(other.add(make_experience())))
    result = own.add_result(make_experience(days_ago=days_ago))
    assert (result.stored, result.experience_id) == (False, added[0])
    assert own.get_statistics()["total_experiences"] == 1


def test_what_another_writer_stores_meanwhile_is_stored_where_duplicates_are_wanted(path: str, clock: Clock) -> None:
    own = opened(path, clock)
    other = ExperienceStore(AGENT, store=own.store.as_actor("other"))
    overtaken(own, lambda: other.add(make_experience()))
    assert own.add_result(make_experience(days_ago=1)).stored
    assert own.get_statistics()["total_experiences"] == 2


def test_two_that_make_room_at_once_remove_no_more_than_needed(
    path: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = opened(path, clock)
    for days in range(5):
        first.add(make_experience(f"day {days}", days_ago=days))
    own, other = (
        ExperienceStore(AGENT, store=first.store.as_actor(name), max_experiences=3) for name in ("own", "other")
    )
    count, meanwhile = own._count, [lambda: other.add(make_experience("newest"))]

    def count_before_another_writes() -> int:
        counted = count()
        if meanwhile:
            meanwhile.pop()()
        return counted

    monkeypatch.setattr(own, "_count", count_before_another_writes)
    own.clean_up()
    assert contexts(own.search("")) == ["newest", "day 0", "day 1"]


@pytest.mark.slow
def test_processes_that_add_the_same_at_once_store_it_once(tmp_path: Path) -> None:
    path = str(tmp_path / "garden.db")
    with opened(path, Clock()):
        pass
    results = at_once([(add_same, (path, number)) for number in range(4)])
    with opened(path, Clock()) as store:
        assert len(store.search("", limit=100)) == SAME
    assert sum(results) == SAME


SAME = 10


def add_same(path: str, number: int) -> int:
    """In a process of its own; returns how many it stored."""
    with opened(path, Clock(), dedup=True) as store:
        return sum(store.add_result(make_experience(f"case {n}", days_ago=number)).stored for n in range(SAME))


def test_what_was_added_is_there_after_reopening(tmp_path: Path, clock: Clock) -> None:
    with opened(tmp_path / "garden.db", clock) as store:
        store.add(make_experience())
    assert len(opened(tmp_path / "garden.db", clock).search("apple")) == 1


def test_a_secret_is_not_kept(path: str, clock: Clock) -> None:
    store = opened(path, clock)
    secret = "hunter" + "-" + "9281x"
    store.add(make_experience(f"logged in with password: {secret}"))
    (matches,) = store.search("logged")
    assert secret not in matches.context and "[REDACTED:password]" in matches.context


@pytest.mark.parametrize("bounds", [{"max_age_days": 0}, {"max_experiences": -1}, {"max_memory_mb": 0}])
def test_a_bound_of_nothing_is_refused(clock: Clock, bounds: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        opened(":memory:", clock, **bounds)


def test_what_is_no_experience_or_was_spoilt_is_refused(path: str, clock: Clock) -> None:
    store = opened(path, clock)
    with pytest.raises(TypeError):
        store.add("pruned the tree")  # type: ignore[arg-type]
    spoilt = make_experience()
    spoilt.confidence = 7
    with pytest.raises(ValueError, match="confidence"):
        store.add(spoilt)
    assert isinstance(store, ExperienceStore) and store.search("") == []


def restricted(path: Path, can: AgentCapabilities, session: str = "one") -> ExperienceStore:
    store = MemoryStore(path, space=AGENT, embedder="hashing", agent=AGENT, session=session, capabilities=can)
    return ExperienceStore(AGENT, auto_compress=False, store=store)


def able(scope: ScopeLevel = ScopeLevel.CROSS_SESSION_WRITE, **more: object) -> AgentCapabilities:
    return AgentCapabilities(scope, **more)  # type: ignore[arg-type]


def test_types_that_are_not_allowed_are_neither_stored_nor_returned(tmp_path: Path, clock: Clock) -> None:
    file = tmp_path / "garden.db"
    opened(file, clock).add(make_experience("seen before", type=ExperienceType.INSIGHT))
    opened(file, clock).add(make_experience("blight recurs", type=ExperienceType.PATTERN))
    store = restricted(file, able(allowed_experience_types=[ExperienceType.SUCCESS]))
    store.add(make_experience("mine"))
    assert contexts(store.search("")) == ["mine"] and store.search("seen before") == []
    assert store.get_statistics()["total_experiences"] == 1
    with pytest.raises(AccessDenied):
        store.add(make_experience(type=ExperienceType.INSIGHT))
    assert restricted(file, able(can_access_patterns=False)).search("blight") == []
    assert len(restricted(file, able()).search("blight")) == 1


def test_a_session_of_its_own_sees_no_other(tmp_path: Path) -> None:
    file, session = tmp_path / "garden.db", able(ScopeLevel.SESSION_ONLY)
    restricted(file, session, "first").add(make_experience("in the first"))
    second = restricted(file, session, "second")
    assert second.search("first") == [] and second.search("") == []
    assert second.add_result(make_experience("in the first", days_ago=1)).duplicates == ()
    assert len(restricted(file, session, "first").search("first")) == 1


def test_the_quota_of_the_capabilities_holds_beneath_that_of_the_store(tmp_path: Path) -> None:
    store = restricted(tmp_path / "garden.db", able(memory_quota_mb=0.005))
    with pytest.raises(QuotaExceeded):
        for n in range(20):
            store.add(make_experience(f"case {n}", "y" * 900))


def test_an_agent_that_may_not_count_can_still_write(tmp_path: Path) -> None:
    store = restricted(tmp_path / "garden.db", able(max_query_cost=20))
    store.add(make_experience("within the means"))
    assert len(store.search("means")) == 1
