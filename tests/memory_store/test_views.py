"""Views of an open store: another space or another actor, built anew from the settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre import MaintenanceScheduler, MemoryStore
from nacre.access.capabilities import AgentCapabilities, ScopeLevel
from nacre.errors import AccessDenied, SecretRefused
from nacre.settings import Settings
from tests.cli.aged_memories import remember_faded
from tests.command_line import CommandLine
from tests.embedders import WordBag

SECRET = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PER_SPACE = {"keep": {"decay_protect": "semantic", "secrets": "refuse", "on_conflict": "ignore"}}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path / "s.db", embedder=WordBag(), settings=Settings(spaces=PER_SPACE)) as opened:
        yield opened


def test_a_view_of_another_space_has_the_settings_of_that_space(store: MemoryStore) -> None:
    keep = store.in_space("keep")
    assert (keep.space, keep.settings.decay_protect) == ("keep", "semantic")
    assert store.settings.decay_protect != "semantic"
    with pytest.raises(SecretRefused):
        keep.remember(f"The token is {SECRET}")
    assert SECRET not in store.remember(f"The token is {SECRET}").text
    back = keep.in_space("default")
    assert back.settings == store.settings and back.count() == 1


def test_a_view_shares_the_open_store_and_its_memories(store: MemoryStore) -> None:
    keep = store.in_space("keep")
    keep.remember("The lighthouse is white", id="a")
    assert keep.embedder is store.embedder
    assert store.spaces() == {"keep": 1} and store.get("a") is None


def test_operations_of_a_view_are_journaled_under_its_actor(store: MemoryStore) -> None:
    store.as_actor("night").in_space("keep").remember("The lighthouse is white")
    store.remember("The harbour is blue")
    assert [entry.operation.actor for entry in store.in_space("keep").journal()] == ["night"]
    assert [entry.operation.actor for entry in store.journal()] == ["lib"]


def test_a_restricted_agent_stays_restricted_in_every_view(tmp_path: Path) -> None:
    can = AgentCapabilities(ScopeLevel.CROSS_SESSION_WRITE, allowed_spaces=("default", "keep"))
    with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as owner:
        owner.in_space("keep").remember("Seen by the owner alone", id="hidden")
        with MemoryStore(tmp_path / "s.db", embedder=WordBag(), agent="ann", capabilities=can) as agent:
            view = agent.as_actor("somebody").in_space("keep")
            assert view.get("hidden") is None
            view.remember("The cat sleeps")
            assert [entry.operation.actor for entry in view.journal()] == ["ann"]
            with pytest.raises(AccessDenied, match="no access to the space"):
                agent.in_space("other")


def test_a_renamed_space_goes_on_under_the_settings_of_its_new_name(store: MemoryStore) -> None:
    store.remember("The lighthouse is white")
    store.rename_space("keep")
    assert store.settings.decay_protect == "semantic"
    store.undo()
    assert store.space == "default" and store.settings.decay_protect != "semantic"


def test_maintenance_of_all_spaces_follows_the_settings_of_each(tmp_path: Path) -> None:
    settings = Settings(embedder="hashing", store=str(tmp_path / "s.db"), spaces=PER_SPACE)
    with MemoryStore(settings=settings) as store:
        for space in ("default", "keep"):
            old = {"created_at": 1.0, "last_accessed": 1.0, "importance": 0.1}
            store.in_space(space).remember("An old note", id="old", **old)  # type: ignore[arg-type]
        MaintenanceScheduler(store, store.settings, all_spaces=True).tick(jobs=["decay"])
        assert store.count() == 0 and store.in_space("keep").count() == 1


def test_prune_follows_the_settings_of_the_space(nacre: CommandLine) -> None:
    with MemoryStore(nacre.store, embedder="hashing") as opened:
        old = {"created_at": 1.0, "last_accessed": 1.0, "importance": 0.1}
        opened.in_space("keep").remember("An old note", id="old", **old)  # type: ignore[arg-type]
    remember_faded(nacre, 1)
    nacre.ok("config", "set", "spaces.keep.decay_protect", "semantic")
    assert nacre.json("prune", "--space", "keep") == []
    assert [each["id"] for each in nacre.json("prune", "--space", "default")] == ["faded-0"]
