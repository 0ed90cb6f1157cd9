"""Scopes, types, spaces, cost and quota hold in the engine, whichever method is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.access.capabilities import AgentCapabilities, ScopeLevel
from nacre.access.view import BASE, NO_LIMIT, ORDERED
from nacre.errors import AccessDenied, InvalidInput, QueryCostExceeded, QuotaExceeded, UndoRefused, UnknownName
from nacre.model import Filter
from nacre.settings import Settings

Open = Callable[..., MemoryStore]
MINE, MY_OTHER, HERS = "mine", "my_other", "hers"


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("capabilities") / "store.db"
    with MemoryStore(path, settings=Settings(embedder="hashing")) as store:  # not those of the user
        store.remember("Ada writes in session one", id=MINE, agent="ada", session="one")
        store.remember("Ada writes in session two", id=MY_OTHER, agent="ada", session="two", type="procedural")
        store.remember("Bea writes in session one", id=HERS, agent="bea", session="one")
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "store.db"
    path.touch(mode=0o600)
    path.write_bytes(content)
    return path


def opened(path: Path, scope: ScopeLevel, *, session: str = "one", **limits: object) -> MemoryStore:
    can = AgentCapabilities(scope, **limits)  # type: ignore[arg-type]
    return MemoryStore(path, embedder="hashing", agent="ada", session=session, capabilities=can)


READS = {
    ScopeLevel.SESSION_ONLY: {MINE},
    ScopeLevel.CROSS_SESSION_READ: {MINE, MY_OTHER},
    ScopeLevel.CROSS_SESSION_WRITE: {MINE, MY_OTHER},
    ScopeLevel.GLOBAL_READ: {MINE, MY_OTHER, HERS},
    ScopeLevel.GLOBAL_WRITE: {MINE, MY_OTHER, HERS},
}
WRITES = {
    ScopeLevel.SESSION_ONLY: {MINE},
    ScopeLevel.CROSS_SESSION_READ: {MINE},
    ScopeLevel.CROSS_SESSION_WRITE: {MINE, MY_OTHER},
    ScopeLevel.GLOBAL_READ: {MINE, MY_OTHER},
    ScopeLevel.GLOBAL_WRITE: {MINE, MY_OTHER, HERS},
}


@pytest.mark.parametrize("scope", list(ScopeLevel))
def test_a_scope_says_what_is_seen(path: Path, scope: ScopeLevel) -> None:
    store = opened(path, scope)
    assert {memory.id for memory in store.list_recent()} == READS[scope]
    assert {hit.memory.id for hit in store.recall("who writes in a session", 9)} == READS[scope]
    assert {id for id in (MINE, MY_OTHER, HERS) if store.get(id)} == READS[scope]


@pytest.mark.parametrize("scope", list(ScopeLevel))
def test_a_scope_says_what_may_be_changed(path: Path, scope: ScopeLevel) -> None:
    store = opened(path, scope)
    for id in READS[scope]:
        if id in WRITES[scope]:
            assert store.edit(id, title="changed").title == "changed"
        else:
            with pytest.raises(AccessDenied, match="nothing was changed"):
                store.edit(id, title="changed")
            assert store.get(id).title == ""  # type: ignore[union-attr]


def test_scopes_include_each_other_in_order() -> None:
    levels = list(ScopeLevel)
    for at, level in enumerate(levels):
        assert [AgentCapabilities(level).can_access_scope(other) for other in levels] == [n <= at for n in range(5)]


def test_what_an_agent_writes_is_signed_with_its_name_and_session(path: Path) -> None:
    kept = opened(path, ScopeLevel.SESSION_ONLY).remember("Signed by whoever opened the store")
    assert (kept.agent, kept.session) == ("ada", "one")


@pytest.mark.parametrize("claim", [{"agent": "bea"}, {"session": "two"}])
def test_an_agent_cannot_write_in_anothers_name_or_into_another_session(path: Path, claim: dict[str, str]) -> None:
    store = opened(path, ScopeLevel.SESSION_ONLY)
    with pytest.raises(AccessDenied):
        store.remember("Planted", **claim)  # type: ignore[arg-type]
    with pytest.raises(AccessDenied):
        store.edit(MINE, **claim)  # type: ignore[arg-type]


def test_a_narrowed_agent_does_not_choose_ids_or_the_name_it_acts_under(path: Path) -> None:
    store = opened(path, ScopeLevel.SESSION_ONLY)
    with pytest.raises(AccessDenied, match="choose an id"):
        store.remember("Mine", id="unheard-of")
    assert store.remember("Mine", id_prefix="sem_").id.startswith("sem_")
    store.acting_as("somebody").change(store.space, [MINE], "edit", lambda memory: memory, why="")
    store.pin(MINE)
    assert {entry.operation.actor for entry in store.journal(MINE, operation="pin")} == {"ada"}


def test_allowed_types_are_all_that_is_seen_and_written(path: Path) -> None:
    store = opened(path, ScopeLevel.GLOBAL_WRITE, allowed_types=("procedural",))
    assert [memory.id for memory in store.list_recent()] == [MY_OTHER]
    with pytest.raises(AccessDenied):
        store.remember("A fact", type="semantic")
    assert store.remember("A procedure", type="procedural").type == "procedural"


def test_another_space_is_refused_and_does_not_show(path: Path) -> None:
    MemoryStore(path, space="vault", embedder="hashing").remember("Behind the door")
    with pytest.raises(AccessDenied, match="'vault'"):
        MemoryStore(
            path, space="vault", embedder="hashing", agent="ada", session="one",
            capabilities=AgentCapabilities(ScopeLevel.GLOBAL_WRITE, allowed_spaces=("default",)),
        )  # fmt: skip
    assert opened(path, ScopeLevel.GLOBAL_WRITE, allowed_spaces=("default",)).spaces() == {"default": 3}


def test_experiences_and_patterns_that_are_not_allowed_are_not_seen(path: Path) -> None:
    with MemoryStore(path, embedder="hashing") as store:
        for kind in ("success", "failure", "pattern"):
            store.remember(f"It was a {kind}", id=kind, agent="ada", session="one", metadata={"experience_type": kind})
        store.remember("Recognised", id="known", agent="ada", session="one", metadata={"kind": "pattern"})
    few = opened(path, ScopeLevel.SESSION_ONLY, allowed_experience_types=("success",))
    assert {memory.id for memory in few.list_recent()} == {MINE, "success"}
    plain = opened(path, ScopeLevel.SESSION_ONLY, can_access_patterns=False)
    assert {memory.id for memory in plain.list_recent()} == {MINE, "success", "failure"}


def test_a_question_that_costs_too_much_is_refused_and_a_narrower_one_is_not(path: Path) -> None:
    store = opened(path, ScopeLevel.GLOBAL_READ, max_query_cost=BASE + ORDERED + NO_LIMIT - 1)
    with pytest.raises(QueryCostExceeded, match="narrow it down"):
        list(store.iterate())
    assert store.list_recent(2, where=Filter.where(agent="bea"))
    assert store.recall("who writes", 3)


def test_a_quota_bounds_what_an_agent_holds_and_refuses_the_whole_act(path: Path) -> None:
    store = opened(path, ScopeLevel.CROSS_SESSION_WRITE, memory_quota_mb=0.001)
    kept = store.remember("x" * 600)
    with pytest.raises(QuotaExceeded, match=r"0\.001 MB"):
        store.remember("y" * 600)
    with pytest.raises(QuotaExceeded):
        store.remember_many(["short", "z" * 900])
    assert store.count() == 3
    store.purge(kept.id)
    assert store.remember("y" * 600)


@pytest.mark.parametrize("scope", list(ScopeLevel))
def test_an_undo_after_the_agents_own_purge_says_that_it_cannot_be_undone(path: Path, scope: ScopeLevel) -> None:
    store = opened(path, scope)
    kept, gone = store.remember("The gate is green"), store.remember("Nina keeps the spare key")
    store.edit(kept.id, text="The gate is blue")
    store.purge(gone.id)
    with pytest.raises(UndoRefused, match="The last operation \\(purge"):
        store.undo()
    (purge,) = store.journal(limit=1)
    assert (purge.operation.name, purge.memory_id) == ("purge", gone.id)
    with pytest.raises(UndoRefused, match="A purge cannot be undone"):
        store.undo(purge.operation.batch)
    assert [memory.text for memory in store.get_many([kept.id])] == ["The gate is blue"]


def test_an_agent_bound_to_a_session_does_not_learn_what_it_purged_in_another_one(path: Path) -> None:
    here, there = (opened(path, ScopeLevel.SESSION_ONLY, session=session) for session in ("one", "two"))
    kept, gone = here.remember("The gate is green"), there.remember("Nina keeps the spare key")
    here.edit(kept.id, text="The gate is blue")
    before = here.journal()
    there.purge(gone.id)
    assert here.journal() == before
    here.undo()
    assert [memory.text for memory in here.get_many([kept.id])] == ["The gate is green"]


def test_what_another_process_wrote_in_the_agents_name_counts_too(path: Path) -> None:
    store = opened(path, ScopeLevel.CROSS_SESSION_WRITE, memory_quota_mb=0.001)
    store.remember("a few words")
    opened(path, ScopeLevel.CROSS_SESSION_WRITE).remember("x" * 900)
    with pytest.raises(QuotaExceeded):
        store.remember("y" * 500)


@pytest.mark.parametrize("scope", [ScopeLevel.SESSION_ONLY, ScopeLevel.CROSS_SESSION_READ])
def test_a_scope_that_is_bound_to_a_session_needs_one(path: Path, scope: ScopeLevel) -> None:
    with pytest.raises(InvalidInput, match="give its name as `session`"):
        MemoryStore(path, embedder="hashing", agent="ada", capabilities=AgentCapabilities(scope))
    with pytest.raises(InvalidInput, match="give its name as `agent`"):
        MemoryStore(path, embedder="hashing", session="one", capabilities=AgentCapabilities(scope))


def test_the_settings_can_narrow_every_door(path: Path) -> None:
    known = Settings(store=str(path), embedder="hashing", agent="ada", session="one", scope="session_only")
    assert [memory.id for memory in MemoryStore(settings=known).list_recent()] == [MINE]
    with pytest.raises(UnknownName, match="did you mean 'session_only'"):
        MemoryStore(settings=Settings(store=str(path), embedder="hashing", agent="ada", scope="sesion_only"))


@pytest.mark.slow
def test_the_settings_limit_the_quota_too(path: Path) -> None:
    known = Settings(store=str(path), embedder="hashing", agent="ada", session="one", scope="session_only")
    with MemoryStore(settings=replace(known, scope_quota_mb=0.01)) as store, pytest.raises(QuotaExceeded):
        store.remember("word " * 10_000)


@pytest.mark.parametrize("limits", [{"max_query_cost": 0}, {"memory_quota_mb": -1}])
def test_limits_of_nothing_are_refused(limits: dict[str, float]) -> None:
    with pytest.raises(InvalidInput):
        AgentCapabilities(ScopeLevel.GLOBAL_READ, **limits)  # type: ignore[arg-type]


def test_a_memory_that_changed_hands_shows_nothing_of_its_earlier_life(path: Path) -> None:
    with MemoryStore(path, embedder="hashing") as store:
        store.edit(HERS, text="Bea hides the treasure", why="hers alone")
        store.edit(HERS, text="Handed over to Ada", agent="ada")
    ada = opened(path, ScopeLevel.SESSION_ONLY)
    assert ada.get(HERS).text == "Handed over to Ada"  # type: ignore[union-attr]
    told = f"{ada.journal(HERS)} {ada.history(HERS)} {ada.get(HERS, as_of=ada.now() - 100)}"
    assert "treasure" not in told and "hers alone" not in told and "Bea writes" not in told
    assert "treasure" not in str(ada.list_recent(as_of=ada.now() - 100))


def test_an_act_that_touched_others_too_cannot_be_taken_back_in_part(path: Path) -> None:
    with MemoryStore(path, embedder="hashing") as store:
        store.pin(MINE, HERS)
        batch = store.journal(MINE, limit=1)[0].operation.batch
    ada = opened(path, ScopeLevel.SESSION_ONLY)
    with pytest.raises(RuntimeError, match="no such operation"):
        ada.undo(batch)
    ada.edit(MINE, title="later")
    ada.undo()
    assert ada.get(MINE).pinned and ada.get(MINE).title == ""  # type: ignore[union-attr]


def test_an_agent_of_one_space_learns_nothing_of_the_terms_of_another(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "s.db", space="mine", embedder="hashing")
    store.create_space("vault", "what nobody should know")
    store.create_space("mine", "its own")
    store.remember("Ann and A. Ann", entities=["Ann"])
    can = AgentCapabilities(ScopeLevel.GLOBAL_READ, allowed_spaces=("mine",))
    ada = MemoryStore(tmp_path / "s.db", space="mine", embedder="hashing", agent="ada", capabilities=can)
    assert [(note.name, note.description) for note in ada.space_notes()] == [("mine", "its own")]
    assert ada.vocabulary("entity") == store.vocabulary("entity")


def test_an_agent_that_is_bound_to_a_space_does_not_rename_it(tmp_path: Path) -> None:
    can = AgentCapabilities(ScopeLevel.GLOBAL_WRITE)
    ada = MemoryStore(tmp_path / "s.db", embedder="hashing", agent="ada", capabilities=can)
    ada.remember("The crane is green")
    with pytest.raises(AccessDenied):
        ada.rename_space("yours")
    assert ada.count() == 1
