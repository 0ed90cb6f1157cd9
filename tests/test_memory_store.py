"""The native face: ids, scopes, types, spaces, statistics."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from nacre import Filter, MemoryStore, factory
from nacre.errors import AmbiguousId, InvalidInput, MemoryNotFound, UnknownName
from nacre.model import validate
from nacre.model.instants import Instant, seconds
from nacre.settings import Settings
from tests.embedders import WordBag


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as opened:
        yield opened


def texts(store: MemoryStore, **scope: Any) -> list[str]:
    return sorted(found.text for found in store.list_recent(**scope))


def test_a_context_manager_closes_what_it_opened(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as store:
        store.remember("kept")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["s.db"]
    with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as store:
        assert texts(store) == ["kept"]


def test_the_settings_decide_where_nothing_is_said(tmp_path: Path) -> None:
    settings = Settings(store=str(tmp_path / "s.db"), space="mine", embedder="hashing")
    with MemoryStore(settings=settings) as store:
        assert (store.space, store.embedder.identity) == ("mine", "hashing-384")
        store.remember("x")
    assert (tmp_path / "s.db").is_file()


def test_any_function_from_texts_to_rows_is_an_embedder() -> None:
    with MemoryStore(":memory:", embedder=lambda given: [[float(len(text)), 1.0] for text in given]) as store:
        kept = store.remember("four")
        assert store.recall("five", strategy="semantic")[0].memory.id == kept.id


def test_an_id_is_found_by_its_beginning(store: MemoryStore) -> None:
    for id in ("abc1", "abc2", "abd", "abc"):
        store.remember("x", id=id)
    assert store.resolve_id("abd") == "abd"
    assert store.resolve_id("abc") == "abc"
    with pytest.raises(AmbiguousId, match="abc1"):
        store.resolve_id("ab")
    for nothing in ("zzz", "", "ABD", "%"):
        with pytest.raises(MemoryNotFound):
            store.resolve_id(nothing)


def test_each_scope_narrows_to_what_it_says(store: MemoryStore) -> None:
    store.remember(
        "a", type="episodic", tags=["x", "y"], importance=0.9, session="s1", agent="me", created_at="2026-01-01"
    )
    store.remember(
        "b", tags=["x"], contexts=["work"], confidence=0.2, source="book", role="user", created_at="2026-02-01"
    )
    store.remember("c", tags=["z"], status="long_term", created_at="2026-03-01")
    assert texts(store) == ["a", "b", "c"]
    assert texts(store, type="episodic") == texts(store, type=["episodic", "working"]) == ["a"]
    assert texts(store, tag="x") == ["a", "b"]
    assert texts(store, tags=["y", "z"]) == ["a", "c"]
    assert texts(store, all_tags=["x", "y"]) == texts(store, all_tags=["x"], tag="y") == ["a"]
    assert texts(store, all_tags="x") == ["a", "b"]
    assert texts(store, context="work") == texts(store, source="book") == texts(store, role="user") == ["b"]
    assert texts(store, session="s1") == texts(store, agent="me") == texts(store, min_importance=0.9) == ["a"]
    assert texts(store, min_confidence=0.5) == ["a", "c"]
    assert texts(store, since="2026-02-01") == ["b", "c"]
    assert texts(store, until="2026-02-01") == ["a", "b"]
    assert texts(store, status="long_term") == texts(store, where=Filter.where(status="long_term")) == ["c"]
    assert store.count(tag="x") == 2
    assert [m.text for m in store.iterate(tag="x")] == ["a", "b"]


def check_refused_as_space(store: MemoryStore, folder: Path, name: str, sentence: str) -> None:
    for attempt in (
        lambda: store.in_space(name),
        lambda: store.create_space(name),
        lambda: store.copy_space(name),
        lambda: store.rename_space(name),
        lambda: MemoryStore(folder / "s.db", space=name, embedder=WordBag()),
    ):
        with pytest.raises(InvalidInput, match=sentence):
            attempt()


@pytest.mark.parametrize("name", [".", ".."])
def test_a_space_cannot_have_a_name_that_means_a_folder(store: MemoryStore, tmp_path: Path, name: str) -> None:
    check_refused_as_space(store, tmp_path, name, "means a folder in an address; give another name")


@pytest.mark.parametrize("name", ["Personal@ada", "PERSONAL@", "per\u017fonal@ada"])
def test_a_space_cannot_look_like_a_personal_one(store: MemoryStore, tmp_path: Path, name: str) -> None:
    check_refused_as_space(store, tmp_path, name, "write 'personal@' in small letters, or give another name")
    assert store.in_space("personal@Ada").count() == store.in_space("Personal").count() == 0


def test_a_space_that_looks_like_a_personal_one_already_can_be_read_and_renamed(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(factory, "is_look_alike", lambda _: False)
        store.in_space("Personal@ada").remember("The pier is closed.")
    old = store.in_space("Personal@ada")
    old.rename_space("personal@ada")
    assert texts(store.in_space("personal@ada")) == ["The pier is closed."]


def test_what_already_has_such_a_name_can_be_read_and_renamed(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(factory, "PATH_DOTS", ())
        before.setitem(validate.CHECKS, "id", validate.required_label)
        store.in_space("..").remember("The pier is closed.", id="..")
    old = store.in_space("..")
    assert old.get_many([".."])[0].text == "The pier is closed."
    old.edit("..", text="The pier is open.")
    old.rename_space("pier")
    assert texts(store.in_space("pier")) == ["The pier is open."]


@pytest.mark.parametrize("day", ["2026-11-10", date(2026, 11, 10), "10 November 2026", "10.11.2026"])
def test_until_a_day_includes_it_and_nothing_of_the_next(store: MemoryStore, day: str | date) -> None:
    store.remember("The ferry leaves in the evening.", created_at="2026-11-10T19:00:00Z")
    store.remember("The next ferry leaves at noon.", created_at="2026-11-11")
    assert texts(store, since=day, until=day) == ["The ferry leaves in the evening."]
    assert [hit.memory.text for hit in store.recall("ferry", until=day)] == ["The ferry leaves in the evening."]


@pytest.mark.parametrize("day", ["2026-11-10", date(2026, 11, 10), "10 November 2026"])
def test_as_of_a_day_is_what_was_known_when_it_ended(tmp_path: Path, day: str | date) -> None:
    now = seconds("2026-11-10T19:00:00Z")
    with MemoryStore(tmp_path / "s.db", embedder=WordBag(), clock=lambda: now) as store:
        store.remember("The pier is closed.", id="pier")
        store.remember("The pier opens again at ten.", id="short", expires_at="2026-11-10T22:00:00Z")
        now = seconds("2026-11-10T20:00:00Z")
        assert {each.id for each in store.list_recent(as_of=day)} == {"pier", "short"}  # the day has not ended
        assert store.journal(since=day, until=day) == store.journal()
        now = seconds("2026-11-11T08:00:00Z")
        store.edit("pier", text="The pier is open.")
        assert [each.text for each in store.list_recent(as_of=day)] == ["The pier is closed."]
        assert [entry.operation.name for entry in store.journal(until=day)] == ["remember", "remember"]
        known = store.get("pier", as_of=day)
        assert known is not None and known.text == "The pier is closed."
        assert {each.id for each in store.diff(day, day).added} == {"pier", "short"}


@pytest.mark.parametrize("today", ["2026-11-10", "2026-11-11", date(2026, 11, 11), "today"])
def test_as_of_todays_date_in_any_part_of_the_world_is_what_is_known_now(tmp_path: Path, today: str | date) -> None:
    now = seconds("2026-11-10T19:00:00Z")
    with MemoryStore(tmp_path / "s.db", embedder=WordBag(), clock=lambda: now) as store:
        store.remember("The pier opens again at ten.", expires_at="2026-11-10T22:00:00Z")
        assert texts(store, as_of=today) == ["The pier opens again at ten."]


@pytest.mark.parametrize(
    "later", ["2026-11-12", "2026-11-10T19:05:00Z", seconds("2026-11-12"), date(2026, 11, 12), "tomorrow", "next week"]
)
def test_what_will_be_known_cannot_be_asked(tmp_path: Path, later: Instant) -> None:
    now = seconds("2026-11-10T19:00:00Z")
    with MemoryStore(tmp_path / "s.db", embedder=WordBag(), clock=lambda: now) as store:
        for ask in (
            lambda: store.recall("pier", as_of=later),
            lambda: store.list_recent(as_of=later),
            lambda: store.get("pier", as_of=later),
            lambda: store.diff("7d", later),
        ):
            with pytest.raises(InvalidInput, match="is still to come; ask for what was known at an earlier time"):
                ask()


def test_a_clock_that_is_a_little_ahead_asks_for_what_is_known_now(store: MemoryStore) -> None:
    store.remember("The pier is closed.")
    assert texts(store, as_of=store.now() + 5) == ["The pier is closed."]


def test_nothing_lies_between_a_time_and_an_earlier_one(store: MemoryStore) -> None:
    for ask in (
        lambda: store.list_recent(since="2d", until="3d"),
        lambda: store.recall("pier", since="2026-02-01", until="2026-01-01"),
        lambda: store.journal(since="2026-02-01", until="2026-01-01"),
        lambda: store.timeline(since="2026-02-01", until="2026-01-01"),
    ):
        with pytest.raises(InvalidInput, match="since is later than until, so nothing can match; swap them"):
            ask()


def test_the_trashed_the_superseded_and_the_expired_are_shown_only_when_asked_for(store: MemoryStore) -> None:
    ids = {text: store.remember(text).id for text in ("live", "trashed", "superseded")}
    store.remember("expired", expires_at="2020-01-01")
    store.forget(ids["trashed"])
    store.supersede(ids["superseded"], ids["live"])
    assert texts(store) == ["live"]
    assert texts(store, include_trashed=True) == ["live", "trashed"]
    assert texts(store, status="trashed") == texts(store, status=iter(["trashed"])) == ["trashed"]
    assert texts(store, include_superseded=True) == ["live", "superseded"]
    assert texts(store, include_expired=True) == ["expired", "live"]


@pytest.mark.parametrize(
    "scope",
    [{"tpye": "x"}, {"type": "epsodic"}, {"status": "gone"}, {"since": "soon"}, {"until": []}, {"since": 10**400},
     {"min_importance": "high"}, {"min_importance": float("nan")}, {"tags": [["x"]]}],
)  # fmt: skip
def test_a_scope_that_means_nothing_is_refused_everywhere(store: MemoryStore, scope: dict[str, Any]) -> None:
    for call in (lambda: store.list_recent(**scope), lambda: store.recall("x", **scope), lambda: store.count(**scope)):
        with pytest.raises(InvalidInput):
            call()


def test_a_new_type_is_open_to_all_spaces_once_registered(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(UnknownName):
        store.remember("x", type="omen")
    store.register_type(" Omen ")
    assert store.remember("x", type="omen").type == "omen"
    with MemoryStore(tmp_path / "s.db", space="other", embedder=WordBag()) as other:
        assert other.remember("x", type="omen").type == "omen"
        assert other.list_recent(type="omen")
    for nothing in ("", "  "):
        with pytest.raises(InvalidInput):
            store.register_type(nothing)
    assert store.types().count("omen") == 1


def test_a_built_in_type_is_not_registered_again(store: MemoryStore) -> None:
    store.register_type("Semantic")
    assert not store.journal(), "an export of it could not be read back"


def test_spaces_do_not_see_each_other(store: MemoryStore, tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "s.db", space="other", embedder=WordBag()) as other:
        mine, theirs = store.remember("shared words", id="same"), other.remember("shared words too", id="same")
        assert store.get("same") == mine
        assert other.get("same") == theirs
        assert [hit.memory.text for hit in store.recall("shared words")] == ["shared words"]
        assert {found.b.text for found in store.remember_result("shared words too").conflicts} <= {mine.text}
        store.purge("same")
        assert other.get("same") == theirs
        with pytest.raises(Exception, match="no such operation"):
            store.undo(other.journal()[0].operation.batch)
        assert store.spaces() == {"default": 1, "other": 1}


def test_statistics_count_what_there_is(store: MemoryStore) -> None:
    ids = [store.remember(f"m{i}", type="episodic" if i else "semantic", tags=["x"] * i).id for i in range(4)]
    store.forget(ids[0])
    store.supersede(ids[1], ids[2])
    stats = store.stats()
    assert (stats.total, stats.active, stats.superseded, stats.trashed) == (4, 2, 1, 1)
    assert stats.by_type == {"episodic": 2}
    assert stats.top_tags == {"x": 2}
    assert (stats.waiting_for_model, stats.embedder) == (0, "wordbag-64")
    assert stats.bytes_on_disk > 0


@pytest.mark.slow
def test_remembering_many_tells_its_progress_and_keeps_the_order(store: MemoryStore) -> None:
    told: list[tuple[int, int]] = []
    kept = store.remember_many(
        [f"m{i}" for i in range(300)], progress=lambda done, total, _: told.append((done, total))
    )
    assert told == [(256, 300), (300, 300)]
    assert [m.text for m in store.iterate()] == [m.text for m in kept] == [f"m{i}" for i in range(300)]
    assert store.remember_many([]) == []
